"""Moves the files of dropped documents aside, and back.

Each run has a directory N, in which files have the paths that they have below the database's root.
So a file is at one of two places, or at both, whatever interrupts the run; N.jsonl, which is on the
disk before the first file moves, says what moves, and why. A file is moved before what stays is
read: if that is gone, it comes back. No file is deleted, and none replaced, but by a hard link to a
file with the same bytes.

The directory may come from a stranger. So files come back only below the root, through no symbolic
link.
"""

import dataclasses
import filecmp
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from lshdb import errors
from lshdb.apps.ignoring.rules import IGNORE_FILE
from lshdb.apps.review.decisions import Decision, dropped_contents
from lshdb.apps.review.dropped_files import dropped_files
from lshdb.apps.review.storing_decisions import undo_chosen
from lshdb.read.counts import reason
from lshdb.read.paths import printable_path
from lshdb.read.proof import (
    LeftFile,
    Proof,
    ProvedFile,
    UnprovedError,
    path_of,
    proof_of,
    stays_not,
)
from lshdb.store import partial_files
from lshdb.store.store import Store

_IGNORED = "# lshdb trash moves files here: they are not read again.\n*\n"
_TEMPORARY = ".lshdb-link"
_OTHER_BYTES = "no other file that is kept has the same bytes"
_MODE = ("st_mode", "st_uid", "st_gid")


@dataclasses.dataclass(frozen=True)
class MovedFile:
    """What happens to the file of a dropped document; also a line of the log.

    Attributes:
        action: `moved`, `linked` or `restored`.
        key: of the document, which is the path of the file from the database's root.
        aside: where it is, or was, aside: the path from that directory.
        size: the bytes that deleting it would free; 0 if it has other hard links.
        kept: the key of the document that stays for it, if one was needed.
    """

    action: str
    key: str
    aside: str | None = None
    size: int = 0
    kept: str | None = None


def move_aside(
    store: Store,
    directory: str,
    *,
    dry_run: bool,
    without_copy: bool = False,
    link: bool = False,
) -> Iterator[MovedFile | LeftFile]:
    """Move the files of dropped documents to a directory, if they have not changed since.

    Args:
        store: the database; files outside of its root are left.
        directory: a new or empty directory, or that of earlier runs.
        dry_run: move nothing.
        without_copy: also move files of documents of which no other file holds a copy.
        link: put a hard link to an identical kept file in their place, and move nothing.

    Raises:
        UsageError: the directory has files of others.
        OSError: the log cannot be written; nothing is moved.
    """
    aside, root = os.path.realpath(directory), store.root
    number = str(max(_runs(aside), default=0) + 1)
    proofs = proof_of(store, [aside])
    chosen: list[tuple[ProvedFile, str, MovedFile]] = []
    for file in dropped_files(store, proofs, without_copy=without_copy, identical=link):
        if isinstance(file, LeftFile):
            yield file
            continue
        try:
            path = _path_below(root, file, None if link else aside)
            if link:
                if file.stays is None or path_of(file.stays) != file.stays_path:
                    raise UnprovedError(_OTHER_BYTES)
                _check_link(file, file.stays_path)
        except (OSError, UnprovedError) as error:
            yield LeftFile(file.key, reason(error))
            continue
        size = file.status.st_size if file.status.st_nlink == 1 else 0
        place = None if link else f"{number}/{printable_path(path)}"
        kept = file.stays and file.stays.key
        line = MovedFile("linked" if link else "moved", file.key, place, size, kept)
        chosen.append((file, path, line))
    if chosen and not (dry_run or link):
        _log(aside, number, [line for _, _, line in chosen])
    for file, path, line in chosen:
        try:
            if link and not dry_run:
                _link(file)
            elif not dry_run:
                _move(proofs, file, os.path.join(root, path), os.path.join(aside, number, path))
        except (OSError, UnprovedError) as error:
            yield LeftFile(file.key, reason(error))
        else:
            yield line


def _path_below(root: str, file: ProvedFile, aside: str | None) -> str:
    """The path of a file from the root.

    Raises:
        UnprovedError: it is not below that, or cannot be moved to the directory `aside`.
    """
    path = os.path.relpath(os.path.abspath(file.path), os.path.abspath(root))
    directory = os.path.realpath(os.path.dirname(os.path.abspath(file.path)))
    real = os.path.join(directory, os.path.basename(file.path))
    if os.path.islink(file.path):
        raise UnprovedError("a symbolic link")
    if not Path(real).is_relative_to(root):
        raise UnprovedError(f"not below {printable_path(root)}, the database's root")
    if os.path.join(root, path) != real:
        raise UnprovedError("a symbolic link is on the way to it")
    if aside is not None:
        above = next(place for place in (Path(aside), *Path(aside).parents) if place.exists())
        if file.status.st_dev != above.stat().st_dev:
            raise UnprovedError("on another file system: give --move-to a directory there")
    return path


def _log(aside: str, number: str, lines: Sequence[MovedFile]) -> None:
    """Write which files a run moves, before it does."""
    os.makedirs(aside, exist_ok=True)
    Path(aside, IGNORE_FILE).write_text(_IGNORED, "utf-8")
    log = partial_files.PartialFile(Path(aside, f"{number}.jsonl"))
    try:
        log.file.writelines(json.dumps(dataclasses.asdict(line)).encode() + b"\n" for line in lines)
        log.take_name(replace=False, sync=True)
    finally:
        log.discard()


def rename(path: str, target: str) -> None:
    """Give a file a new name, which no other file has; FileExistsError if one has it.

    Where the new name is proved to be a second name of this file, as after an interruption, only
    the first name is removed. A symbolic link is no second name.
    """
    try:
        partial_files.rename_new(path, target)
    except FileExistsError:
        if not is_second_name(path, target):
            raise
        os.unlink(path)


def is_second_name(path: str, other: str) -> bool:
    """Whether two paths are two hard links of one regular file, so that one can be removed."""
    try:
        status, other_status = os.lstat(path), os.lstat(other)
        parent, other_parent = (os.stat(os.path.dirname(link) or ".") for link in (path, other))
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode) or not os.path.samestat(status, other_status):
        return False
    if status.st_ino == 0 or status.st_nlink < 2:  # inode 0, as of some network file systems
        return False
    # One name in one directory, reached by two paths, is one name.
    name, other_name = (os.path.basename(link).casefold() for link in (path, other))
    return name != other_name or not os.path.samestat(parent, other_parent)


def _move(proofs: Proof, file: ProvedFile, path: str, target: str) -> None:
    """Move a file aside, and back if it, or what stays for it, has changed.

    Raises:
        UnprovedError: the same, or a symbolic link leads away from there.
    """
    directory = os.path.dirname(target)
    os.makedirs(directory, exist_ok=True)
    if os.path.realpath(directory) != directory:
        raise UnprovedError("a symbolic link leads out of that directory")
    rename(path, target)
    try:
        proofs.reread(file.document, target)
        if file.stays is not None:
            try:
                proofs.read_now(file.stays)
            except UnprovedError as error:
                raise UnprovedError(stays_not(file.stays, error)) from None
    except BaseException:
        rename(target, path)
        with suppress(OSError):
            os.removedirs(directory)
        raise


def _check_link(file: ProvedFile, stays_path: str) -> None:
    """UnprovedError if a link to what stays would not be the same file as this."""
    key = file.stays and file.stays.key
    status, stays_status = os.stat(file.path), os.stat(stays_path)
    if status.st_dev != stays_status.st_dev:
        raise UnprovedError(f"on another file system than {key}")
    if any(getattr(status, name) != getattr(stays_status, name) for name in _MODE):
        raise UnprovedError(f"other permissions or another owner than {key}, which a link has")
    filecmp.clear_cache()
    if not filecmp.cmp(file.path, stays_path, shallow=False):
        raise UnprovedError(_OTHER_BYTES)


def _link(file: ProvedFile) -> None:
    """Put a hard link to what stays in the place of a file."""
    temporary = file.path + _TEMPORARY
    if is_second_name(temporary, file.stays_path):  # of a killed run
        os.unlink(temporary)
    os.link(os.path.realpath(file.stays_path), temporary)
    try:
        _check_link(file, temporary)
        if not os.path.samestat(os.lstat(file.path), file.status):
            raise UnprovedError("it is changing")
        os.replace(temporary, file.path)
    except BaseException:
        os.unlink(temporary)
        raise


def put_back(store: Store, directory: str, *, dry_run: bool) -> Iterator[MovedFile | LeftFile]:
    """Move files back, the latest first, but never over another file.

    Args:
        store: the database; files come back below its root.
        directory: where they were moved.
        dry_run: move nothing.

    Raises:
        InputError: no file was moved there.
    """
    aside, root = os.path.realpath(directory), store.root
    runs = _runs(aside)
    if not runs:
        raise errors.InputError(f"{printable_path(directory)}: no file was moved there")
    for number in sorted(runs, reverse=True):
        start = os.path.join(aside, str(number))
        for above, _, names in sorted(os.walk(start)):
            for name in sorted(names):
                source = os.path.join(above, name)
                path = os.path.relpath(source, start)
                key = printable_path(path)
                try:
                    status = os.lstat(source)
                    if os.path.realpath(above) != above or not stat.S_ISREG(status.st_mode):
                        raise UnprovedError("not a file that was moved there")
                    target = os.path.join(root, path)
                    if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
                        raise UnprovedError("a symbolic link is on the way to its old place")
                    if not dry_run:
                        os.makedirs(os.path.dirname(target), exist_ok=True)
                        rename(source, target)
                except (OSError, UnprovedError) as error:
                    yield LeftFile(key, reason(error))
                    continue
                yield MovedFile("restored", key, f"{number}/{key}", status.st_size)
            if not dry_run:
                with suppress(OSError):  # those that are not empty stay
                    os.removedirs(above)


def undo_decisions(store: Store, keys: Sequence[str]) -> list[Decision]:
    """Undo the decisions in force to drop the documents with some keys.

    Args:
        store: the database, open for writing.
        keys: of the documents whose files are back at their places.
    """

    def chosen(decisions: list[Decision]) -> list[Decision]:
        dropped = dropped_contents(store)
        return [
            decision
            for decision in decisions
            if decision.verdict == "drop" and decision.state != "spent"
            if decision.keys[0] in keys
            if (decision.keys[0], bytes.fromhex(decision.digests[0])) in dropped
        ]

    return undo_chosen(store, chosen)


def _runs(aside: str) -> list[int]:
    """The numbers of the runs that have a log or a directory; UsageError if others' files are."""
    names = os.listdir(aside) if os.path.isdir(aside) else []
    ignore = Path(aside, IGNORE_FILE)
    rules = ignore.read_text("utf-8", "replace") if ignore.is_file() else None
    # A run that was killed may have left the beginning of these rules, and nothing else.
    is_incomplete = rules is not None and _IGNORED.startswith(rules)
    if rules != _IGNORED and [
        name for name in names if not (is_incomplete and name == IGNORE_FILE)
    ]:
        raise errors.UsageError(f"{aside} has other files: name a new or empty directory")
    stems = {name.removesuffix(".jsonl") for name in names}
    return [int(stem) for stem in stems if stem.isdecimal() and stem.isascii()]
