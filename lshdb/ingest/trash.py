"""Moves the files of dropped documents aside, with a log from which they come back.

Each run has a directory N, and a log N.jsonl beside it that is on the disk before the first file is
moved. So a file is always at one of the two paths that its line names, or at both, whatever
interrupts the run. No file is deleted, and none replaced, but a hard link by the file itself.

With hard links a file moves aside, too; then its old name becomes another one of the kept file. An
interruption between the two leaves the file aside, and no file at its old name.

A log may come from a stranger. So files come back only to a directory that the user names, through
no symbolic link, and only from the directory of the log.
"""

from __future__ import annotations

import dataclasses
import filecmp
import json
import os
import stat
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lshdb import errors
from lshdb.ingest import sync
from lshdb.ingest.kept_copies import KeptCopies, KeptCopy
from lshdb.ingest.storing_decisions import undo_chosen
from lshdb.model import Decision
from lshdb.search.decisions import dropped_contents
from lshdb.sources.counts import reason
from lshdb.sources.identity import is_same_file
from lshdb.sources.paths import key_of, printable_path
from lshdb.store import partial_files

if TYPE_CHECKING:
    from lshdb.store.store import Store

_IGNORE = ".lshdbignore"
_IGNORED = "# lshdb trash moves files here: they are not read again.\n*\n"
_MODE = ("st_mode", "st_uid", "st_gid")


@dataclasses.dataclass(frozen=True)
class MovedFile:
    """What happens to the file of a dropped document; also a line of the log.

    Attributes:
        action: `moved`, `linked`, `restored`, or `left` if the file stays where it is.
        path: where the file was before it was moved aside; in the log absolute.
        aside: where it is, or was, aside: the path from that directory.
        size: the bytes that deleting it would free; 0 if it has other hard links.
        reason: why it is left.
        key: of the document.
        kept: the file that holds a kept copy of the document, if one was needed; in the log of a
            link absolute.
    """

    action: str
    path: str
    aside: str | None = None
    size: int = 0
    reason: str | None = None
    key: str | None = None
    kept: str | None = None


class _LeftError(errors.InputError):
    """Why a file is left where it is."""


@dataclasses.dataclass
class _Chosen:
    """A file to move: its status when it was read, the copy that is kept, and its line."""

    status: os.stat_result
    copy: KeptCopy | None
    line: MovedFile


def move_aside(
    store: Store,
    directory: str,
    root: str | None,
    *,
    dry_run: bool,
    without_copy: bool = False,
    link: bool = False,
) -> Iterator[MovedFile]:
    """Move the files of dropped documents to a directory, if they have not changed since.

    Args:
        store: the database.
        directory: a new or empty directory, or that of earlier runs.
        root: the directory that keys are relative to, None for the current one; files outside of
            it are left.
        dry_run: move nothing.
        without_copy: also move files of documents of which no other file holds a copy.
        link: put a hard link to an identical kept file in their place.

    Raises:
        UsageError: the directory has files of others.
        OSError: the log cannot be written; nothing is moved.
    """
    aside = Path(os.path.realpath(directory))
    logs = _logs(aside)
    before = {text for line in _lines(logs) for text in (line.path, line.key)}
    number = str(int(logs[-1].stem) + 1 if logs else 1)
    chosen: list[_Chosen] = []
    for choice in _choices(
        store, aside, root, number, before, without_copy=without_copy, link=link
    ):
        if isinstance(choice, MovedFile):
            yield choice
        else:
            chosen.append(choice)
    holders = {file.copy.status.st_ino: file.copy for file in chosen if file.copy is not None}
    for file in list(chosen):
        holder = holders.get(file.status.st_ino)
        if holder is not None and is_same_file(holder.path, file.line.path):
            chosen.remove(file)
            obstacle = f"the same file as {holder.key}, which stays"
            yield _shown(file.line, action="left", aside=None, size=0, reason=obstacle)
    if chosen and not dry_run:
        _log(aside, number, chosen)
    for file in chosen:
        target = os.path.join(aside, str(file.line.aside))
        try:
            _check_unchanged(file, link=link)
            if not dry_run:
                _move(file.line.path, target)
                if link:
                    _put_link(file, target)
        except (OSError, _LeftError) as error:
            yield _shown(file.line, action="left", reason=reason(error))
        else:
            yield _shown(file.line)


def _choices(
    store: Store,
    aside: Path,
    root: str | None,
    number: str,
    before: Container[str | None],
    *,
    without_copy: bool,
    link: bool,
) -> Iterator[_Chosen | MovedFile]:
    """The files of dropped documents to move; the line of each that is left."""
    base = os.path.realpath(root or os.curdir)
    device = next(path for path in (aside, *aside.parents) if path.exists()).stat().st_dev
    copies = KeptCopies(store, root)
    for dropped in sync.files_of_dropped(store, root):
        real = os.path.realpath(dropped.path)
        if dropped.reason == sync.NO_FILE and (real in before or dropped.key in before):
            continue
        obstacle, copy = dropped.reason or _obstacle(dropped.path, base, device), None
        if not obstacle:
            copy, obstacle = _copy_of(dropped, copies, aside, link=link)
            if copy is None and without_copy and not link:
                obstacle = ""
        if obstacle or dropped.status is None:
            yield _left(dropped, obstacle)
            continue
        status = dropped.status
        name = os.path.join(number, os.path.relpath(real, base))
        size = status.st_size if status.st_nlink == 1 else 0
        kept = None if copy is None else os.path.realpath(copy.path)
        action = "linked" if link else "moved"
        line = MovedFile(action, real, name, size, None, dropped.key, kept)
        yield _Chosen(status, copy, line)


def _log(aside: Path, number: str, chosen: Sequence[_Chosen]) -> None:
    """Write which files a run moves, before it does."""
    aside.mkdir(parents=True, exist_ok=True)
    (aside / _IGNORE).write_text(_IGNORED, "utf-8")
    log = partial_files.PartialFile(aside / f"{number}.jsonl")
    try:
        # In ASCII: names may have bytes that are not UTF-8.
        log.file.writelines(
            json.dumps(dataclasses.asdict(file.line)).encode() + b"\n" for file in chosen
        )
        log.take_name(replace=False, sync=True)
    finally:
        log.discard()


def files_without_copy(
    store: Store, files: Iterable[sync.DroppedFile], root: str | None
) -> list[sync.DroppedFile]:
    """The files to drop of which no other file holds a kept copy.

    Args:
        store: the database.
        files: as from `files_of_dropped`.
        root: as for `move_aside`.
    """
    copies = KeptCopies(store, root)
    return [
        dropped for dropped in files if dropped.status is not None and not any(copies.of(dropped))
    ]


def _left(dropped: sync.DroppedFile, obstacle: str) -> MovedFile:
    return MovedFile("left", printable_path(dropped.path), reason=obstacle, key=dropped.key)


def _shown(line: MovedFile, **changes: Any) -> MovedFile:
    """A line with these changes, as people and programs read it: paths like keys."""
    line = dataclasses.replace(line, **changes)
    aside = None if line.aside is None else printable_path(line.aside)
    kept = None if line.kept is None else key_of(line.kept)
    return dataclasses.replace(line, path=key_of(line.path), aside=aside, kept=kept)


def _obstacle(path: str, base: str, device: int) -> str:
    """Why a file cannot be moved, wherever its copies are; empty if it can."""
    if not Path(os.path.realpath(path)).is_relative_to(base):
        return f"not below {printable_path(base)}: --root DIR takes the files below DIR"
    above = os.path.abspath(path)
    while os.path.realpath(above) != base and above != os.path.dirname(above):
        if os.path.islink(above):
            is_last = above == os.path.abspath(path)
            return "a symbolic link" if is_last else "a symbolic link is on the way to it"
        above = os.path.dirname(above)
    if os.stat(path).st_dev != device:
        return "on another file system: give --move-to a directory there"
    return ""


def _copy_of(
    dropped: sync.DroppedFile, copies: KeptCopies, aside: Path, *, link: bool
) -> tuple[KeptCopy | None, str]:
    """A kept copy of a file to be moved, or None and why there is none."""
    obstacle = "no other file holds a kept copy of it: --yes moves it all the same"
    if link:
        obstacle = "no other file that is kept has the same bytes"
    for copy in copies.of(dropped):
        if Path(os.path.realpath(copy.path)).is_relative_to(aside):
            continue  # which the user may delete
        if not link:
            return copy, ""
        try:
            dropped_status, copy_status = os.stat(dropped.path), os.stat(copy.path)
            if os.path.samestat(dropped_status, copy_status):
                return None, f"already a hard link of {copy.key}"
            if not copy.is_file or dropped_status.st_size != copy_status.st_size:
                continue
            if dropped_status.st_dev != copy_status.st_dev:
                obstacle = f"on another file system than {copy.key}"
            elif any(getattr(dropped_status, name) != getattr(copy_status, name) for name in _MODE):
                obstacle = (
                    f"other permissions or another owner than {copy.key}, which a link would have"
                )
            elif filecmp.cmp(dropped.path, copy.path, shallow=False):
                return copy, ""
        except OSError as error:
            obstacle = reason(error)
    return None, obstacle


def _check_unchanged(file: _Chosen, *, link: bool) -> None:
    """_LeftError if a file, or the copy that stays, has changed since it was read."""
    current, read_status = os.lstat(file.line.path), file.status
    if not os.path.samestat(current, read_status) or current.st_mtime_ns != read_status.st_mtime_ns:
        raise _LeftError("it is changing")
    if file.copy is not None and not file.copy.is_unchanged():
        raise _LeftError(f"{file.copy.key} is changing")
    if link and file.copy is not None:
        filecmp.clear_cache()
        if not filecmp.cmp(file.line.path, file.copy.path, shallow=False):
            raise _LeftError(f"{file.copy.key} is changing")


def _move(path: str, target: str) -> None:
    """Move a file aside; _LeftError if a symbolic link leads away from there."""
    directory = os.path.dirname(target)
    os.makedirs(directory, exist_ok=True)
    if os.path.realpath(directory) != directory:
        raise _LeftError("a symbolic link leads out of that directory")
    partial_files.rename_new(path, target)


def _put_link(file: _Chosen, target: str) -> None:
    """Make the old name of a file that was moved to `target` a hard link of the kept file."""
    try:
        os.link(str(file.line.kept), file.line.path)
    except OSError:
        partial_files.rename_new(target, file.line.path)
        raise


def put_back(directory: str, root: str | None = None, *, dry_run: bool) -> Iterator[MovedFile]:
    """Move files back, the latest first, but never over another file.

    A hard link to the kept file at the old path of a file is replaced.

    Args:
        directory: where they were moved.
        root: files come back only below this directory; None for the current one.
        dry_run: move nothing.

    Raises:
        InputError: no file was moved there, or a file is not a log.
    """
    aside, base = Path(os.path.realpath(directory)), os.path.realpath(root or os.curdir)
    lines = _lines(_logs(aside))
    if not lines:
        raise errors.InputError(f"{printable_path(directory)}: no file was moved there")
    for line in reversed(lines):
        source = os.path.join(aside, str(line.aside))
        try:
            if not os.path.lexists(source):
                continue
            _check_source(source, aside)
            _check_old_path(line.path, base)
            if not dry_run:
                _put_back(source, line, aside)
        except (OSError, _LeftError) as error:
            yield _shown(line, action="left", reason=reason(error))
            continue
        yield _shown(line, action="restored")
        if not dry_run:
            with suppress(OSError):  # those that are not empty stay
                os.removedirs(os.path.dirname(source))


def _check_source(source: str, aside: Path) -> None:
    """_LeftError if what a log names is not a file that was moved aside."""
    if os.path.realpath(source) != source or not Path(source).is_relative_to(aside):
        raise _LeftError(f"not below {printable_path(str(aside))}, or through a symbolic link")
    if not stat.S_ISREG(os.lstat(source).st_mode) or os.path.dirname(source) == str(aside):
        raise _LeftError("not a file that was moved there")


def _check_old_path(path: str, base: str) -> None:
    """_LeftError if the old path of a file does not lead below a directory by real paths."""
    if not os.path.isabs(path) or os.path.normpath(path) != path or path == base:
        raise _LeftError("the log names no place for it")
    if not Path(path).is_relative_to(base):
        raise _LeftError(
            f"not below {printable_path(base)}: --root DIR restores the files below DIR"
        )
    directory = os.path.dirname(path)
    if os.path.realpath(directory) != directory:
        raise _LeftError("a symbolic link is on the way to its old place")


def _put_back(source: str, line: MovedFile, aside: Path) -> None:
    """Give a file its old name; FileExistsError if another one has it."""
    os.makedirs(os.path.dirname(line.path), exist_ok=True)
    if (
        line.action == "linked"
        and line.kept is not None
        and not Path(os.path.realpath(line.kept)).is_relative_to(aside)
        and partial_files.is_second_name(line.path, line.kept)
        and not os.path.samefile(line.path, source)
    ):
        os.replace(source, line.path)  # what it held stays under the name of the kept file
    else:
        partial_files.rename_new(source, line.path)


def undo_decisions(store: Store, directory: str, root: str | None = None) -> list[Decision]:
    """Undo the decisions to drop the documents whose files are back at their places.

    Args:
        store: the database, open for writing.
        directory: where the files were.
        root: as for `put_back`.
    """
    aside, base = Path(os.path.realpath(directory)), os.path.realpath(root or os.curdir)
    restored_keys = {
        line.key
        for line in _lines(_logs(aside))
        if Path(line.path).is_relative_to(base)
        and os.path.isfile(line.path)
        and not os.path.lexists(aside / str(line.aside))
    }

    def chosen(decisions: list[Decision]) -> list[Decision]:
        dropped = dropped_contents(store)
        return [
            decision
            for decision in decisions
            if decision.verdict == "drop" and decision.keys[0] in restored_keys
            if (decision.keys[0], bytes.fromhex(decision.digests[0])) in dropped
        ]

    return undo_chosen(store, chosen)


def _logs(aside: Path) -> list[Path]:
    """The logs in a directory, the oldest first; UsageError if other files are there."""
    ignore = aside / _IGNORE
    rules = ignore.read_text("utf-8", "replace") if ignore.is_file() else None
    # A run that was killed may have left the beginning of these rules, and nothing else.
    is_incomplete = rules is not None and _IGNORED.startswith(rules)
    others = (path for path in aside.iterdir() if not (is_incomplete and path == ignore))
    if rules != _IGNORED and aside.exists() and any(others):
        raise errors.UsageError(f"{aside} has other files: name a new or empty directory")
    logs = (log for log in aside.glob("*.jsonl") if log.stem.isdecimal() and log.is_file())
    return sorted(logs, key=lambda log: int(log.stem))


def _lines(logs: Iterable[Path]) -> list[MovedFile]:
    """The moved files that the logs name, in the order of the moves."""
    lines = []
    for log in logs:
        try:
            lines += [MovedFile(**json.loads(text)) for text in log.read_bytes().splitlines()]
            if not all(map(_is_line, lines)):
                raise ValueError
        except (RecursionError, TypeError, ValueError):
            raise errors.InputError(f"{log} is not a log of lshdb trash") from None
    return lines


def _is_line(line: MovedFile) -> bool:
    """Whether the values of a line that was read are of their types."""
    for text in (line.path, line.aside, line.key, line.kept):
        if text is not None and (not isinstance(text, str) or b"\0" in os.fsencode(text)):
            return False
    return (
        (line.action == "moved" or (line.action == "linked" and line.kept is not None))
        and line.path is not None
        and line.aside is not None
        and type(line.size) is int
        and line.reason is None
    )
