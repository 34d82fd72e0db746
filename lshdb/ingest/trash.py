"""Moves the files of dropped documents aside, with a log from which they come back.

Each run has a directory N, and a log N.jsonl beside it that is on the disk before the first file is
moved. So a file is always at one of the two paths that its line names, or at both, whatever
interrupts the run. No file is deleted or replaced.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lshdb.errors import InputError, KeyNotFound, UsageError
from lshdb.ingest.deciding import now
from lshdb.ingest.sync import NO_FILE, DroppedFile, files_of_dropped
from lshdb.json_text import encode, loads
from lshdb.sources.paths import key_of
from lshdb.sources.readers import reason
from lshdb.store.partial_files import PartialFile, rename_new
from lshdb.store.store import Store

_IGNORE = ".lshdbignore"
_IGNORED = "# lshdb trash moves files here: they are not read again.\n*\n"
_CHANGED = "st_ino", "st_size", "st_mtime_ns"
"""What differs if a file was changed or replaced."""


@dataclass(frozen=True, slots=True)
class MovedFile:
    """What happens to the file of a dropped document.

    Attributes:
        action: `left` if the file stays where it is.
        path: where the file was before it was moved aside.
        aside: where it is, or was, aside.
        size: the bytes that deleting it would free; 0 if it has other hard links.
        reason: why it is left.
    """

    action: Literal["moved", "restored", "left"]
    path: str
    aside: str | None = None
    size: int = 0
    reason: str | None = None


def move_aside(
    store: Store, directory: str, root: str | None, keys: Collection[str], *, dry_run: bool
) -> Iterator[MovedFile]:
    """Move the files of dropped documents to a directory, if they are as they were then.

    Args:
        store: the database.
        directory: a new or empty directory, or that of earlier runs.
        root: the directory that keys are relative to, None for the current one; files outside of
            it are left.
        keys: of which documents; all if there are none.
        dry_run: move nothing.

    Raises:
        KeyNotFound: one of these documents is not to be dropped.
        UsageError: the directory has files of others.
        OSError: the log cannot be written; nothing is moved.
    """
    base, aside = os.path.realpath(root or os.curdir), Path(os.path.realpath(directory))
    logs = _logs(aside)
    before = {one["from"] for one in _lines(logs)}
    number = str(int(logs[-1].stem) + 1 if logs else 1)
    device = next(one for one in (aside, *aside.parents) if one.exists()).stat().st_dev
    dropped = [*files_of_dropped(store, root)]
    if unknown := set(keys) - {one.key for one in dropped}:
        raise KeyNotFound(f"{min(unknown)!r} is not decided to be dropped: see lshdb decisions")
    chosen: list[tuple[DroppedFile, dict[str, Any]]] = []
    for one in dropped:
        real = os.path.realpath(one.path)
        if (keys and one.key not in keys) or (one.reason == NO_FILE and real in before):
            continue
        why = one.reason
        if os.path.islink(one.path):
            why = "a symbolic link"
        elif not Path(real).is_relative_to(base):
            why = f"not below {base}: --root DIR takes the files below DIR"
        elif one.status and one.status.st_dev != device:
            why = "on another file system: give --move-to a directory there"
        if why or one.status is None:
            yield MovedFile("left", one.path, reason=why)
            continue
        name = os.path.join(number, os.path.relpath(real, base))
        line: dict[str, Any] = {"key": one.key, "from": real, "to": name, "moved": now()}
        chosen.append((one, line | {"size": one.status.st_size}))
    if chosen and not dry_run:
        _write_log(aside, number, [line for _, line in chosen])
    for one, line in chosen:
        target = os.path.join(aside, line["to"])
        try:
            status = os.stat(line["from"])
            if any(getattr(status, name) != getattr(one.status, name) for name in _CHANGED):
                yield MovedFile("left", one.path, reason="it is changing")
                continue
            if not dry_run:
                _move(line["from"], target)
        except OSError as error:
            yield MovedFile("left", one.path, reason=reason(error))
        else:
            size = status.st_size if status.st_nlink == 1 else 0
            yield MovedFile("moved", one.path, os.path.join(directory, line["to"]), size)


def put_back(directory: str, keys: Collection[str], *, dry_run: bool) -> Iterator[MovedFile]:
    """Move files back, the latest first, but never over another file.

    Args:
        directory: where they were moved.
        keys: of which documents; all if there are none.
        dry_run: move nothing.

    Raises:
        InputError: no file was moved there, or a log is not one.
        KeyNotFound: none was moved of one of these documents.
    """
    aside = Path(os.path.realpath(directory))
    lines = _lines(_logs(aside))
    if not lines:
        raise InputError(f"{directory}: no file was moved there")
    if unknown := set(keys) - {one["key"] for one in lines}:
        raise KeyNotFound(f"no file of {min(unknown)!r} was moved to {directory}")
    for line in reversed(lines):
        path, target = line["from"], os.path.realpath(os.path.join(aside, line["to"]))
        names = key_of(path), os.path.join(directory, line["to"])
        if keys and line["key"] not in keys:
            continue
        if not Path(target).is_relative_to(aside):
            yield MovedFile("left", *names, reason=f"not below {directory}")
        elif not os.path.lexists(target):
            if not os.path.lexists(path):
                yield MovedFile("left", *names, reason="no longer there")
        else:
            try:
                if not dry_run:
                    _move(target, path)
                    with suppress(OSError):  # the others are not empty
                        os.removedirs(os.path.dirname(target))
            except OSError as error:
                yield MovedFile("left", *names, reason=reason(error))
            else:
                yield MovedFile("restored", *names, line["size"])


def _logs(aside: Path) -> list[Path]:
    """The logs in a directory, the first first; UsageError if other files are there."""
    ignore = aside / _IGNORE
    own = ignore.is_file() and ignore.read_text("utf-8", "replace") == _IGNORED
    if not own and aside.exists() and any(aside.iterdir()):
        raise UsageError(f"{aside} has other files: name a new or empty directory")
    logs = (one for one in aside.glob("*.jsonl") if one.stem.isdecimal())
    return sorted(logs, key=lambda one: int(one.stem))


def _lines(logs: Collection[Path]) -> list[dict[str, Any]]:
    """What was moved, the first first."""
    found = []
    for log in logs:
        try:
            for text in log.read_bytes().splitlines():
                line = loads(text)
                key, path, to, size = (line[name] for name in ("key", "from", "to", "size"))
                if not (f"{key}{path}{to}" == key + path + to and os.path.isabs(path)):
                    raise ValueError
                found.append({"key": key, "from": path, "to": to, "size": int(size)})
        except (KeyError, TypeError, ValueError, RecursionError):
            raise InputError(f"{log} is not a log of lshdb trash") from None
    return found


def _write_log(aside: Path, number: str, lines: list[dict[str, Any]]) -> None:
    """Write what will be moved, so that it survives a power cut from then on."""
    aside.mkdir(parents=True, exist_ok=True)
    (aside / _IGNORE).write_text(_IGNORED, "utf-8")
    log = PartialFile(aside / f"{number}.jsonl")
    try:
        log.file.writelines(encode(line) + b"\n" for line in lines)
        log.take_name(replace=False, sync=True)
    finally:
        log.discard()


def _move(path: str, target: str) -> None:
    """Give a file another name, but not that of another file."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        rename_new(path, target)
    except FileExistsError:
        # An interrupted run may have given it both names.
        if not os.path.samefile(path, target):
            raise
    with suppress(FileNotFoundError):
        if os.path.samefile(path, target):
            os.unlink(path)
