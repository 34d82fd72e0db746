"""Moves the files of dropped documents aside, with a log from which they come back.

Each run has a directory N, and a log N.jsonl beside it that is on the disk before the first file is
moved. So a file is always at one of the two paths that its line names, or at both, whatever
interrupts the run. No file is deleted or replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lshdb.errors import InputError, UsageError
from lshdb.ingest.sync import NO_FILE, files_of_dropped
from lshdb.json_text import encode, loads
from lshdb.sources.paths import key_of
from lshdb.sources.readers import reason
from lshdb.store.partial_files import PartialFile, rename_new

if TYPE_CHECKING:
    from lshdb.store.store import Store

_IGNORE = ".lshdbignore"
_IGNORED = "# lshdb trash moves files here: they are not read again.\n*\n"
_TYPES = [str, str, str, int, type(None)]


@dataclass(frozen=True, slots=True)
class MovedFile:
    """What happens to the file of a dropped document; also a line of the log.

    Attributes:
        action: `moved`, `restored`, or `left` if the file stays where it is.
        path: where the file was before it was moved aside; in the log absolute.
        aside: where it is, or was, aside: the path from that directory.
        size: the bytes that deleting it would free; 0 if it has other hard links.
        reason: why it is left.
    """

    action: str
    path: str
    aside: str | None = None
    size: int = 0
    reason: str | None = None


def move_aside(
    store: Store, directory: str, root: str | None, *, dry_run: bool
) -> Iterator[MovedFile]:
    """Move the files of dropped documents to a directory, if they are as they were then.

    Args:
        store: the database.
        directory: a new or empty directory, or that of earlier runs.
        root: the directory that keys are relative to, None for the current one; files outside of
            it are left.
        dry_run: move nothing.

    Raises:
        UsageError: the directory has files of others.
        OSError: the log cannot be written; nothing is moved.
    """
    base, aside = os.path.realpath(root or os.curdir), Path(os.path.realpath(directory))
    logs = _logs(aside)
    before = {one.path for one in _lines(logs)}
    number = str(int(logs[-1].stem) + 1 if logs else 1)
    device = next(one for one in (aside, *aside.parents) if one.exists()).stat().st_dev
    chosen = []
    for _, path, status, why in files_of_dropped(store, root):
        real = os.path.realpath(path)
        if why == NO_FILE and real in before:
            continue
        if os.path.islink(path):
            why = "a symbolic link"
        elif not Path(real).is_relative_to(base):
            why = f"not below {base}: --root DIR takes the files below DIR"
        elif status and status.st_dev != device:
            why = "on another file system: give --move-to a directory there"
        if why or status is None:
            yield MovedFile("left", path, reason=why)
        else:
            name = os.path.join(number, os.path.relpath(real, base))
            size = status.st_size if status.st_nlink == 1 else 0
            chosen.append((path, status, MovedFile("moved", real, name, size)))
    if chosen and not dry_run:
        aside.mkdir(parents=True, exist_ok=True)
        (aside / _IGNORE).write_text(_IGNORED, "utf-8")
        log = PartialFile(aside / f"{number}.jsonl")
        try:
            log.file.writelines(encode(asdict(line)) + b"\n" for *_, line in chosen)
            log.take_name(replace=False, sync=True)
        finally:
            log.discard()
    for path, status, line in chosen:
        target = os.path.join(aside, str(line.aside))
        yield replace(_attempt(line, line.path, target, status, dry_run), path=path)


def put_back(directory: str, *, dry_run: bool) -> Iterator[MovedFile]:
    """Move files back, the latest first, but never over another file.

    Args:
        directory: where they were moved.
        dry_run: move nothing.

    Raises:
        InputError: no file was moved there, or a log is not one.
    """
    aside = Path(os.path.realpath(directory))
    lines = _lines(_logs(aside))
    if not lines:
        raise InputError(f"{directory}: no file was moved there")
    for line in reversed(lines):
        source = Path(os.path.realpath(aside / str(line.aside)))
        one = replace(line, action="restored", path=key_of(line.path))
        if not source.is_relative_to(aside):
            yield replace(one, action="left", reason=f"not below {directory}")
        elif os.path.lexists(source):
            yield _attempt(one, str(source), line.path, None, dry_run)
            with suppress(OSError):  # those that are not empty stay
                os.removedirs(source.parent)


def _logs(aside: Path) -> list[Path]:
    """The logs in a directory, the first first; UsageError if other files are there."""
    ignore = aside / _IGNORE
    own = ignore.is_file() and ignore.read_text("utf-8", "replace") == _IGNORED
    if not own and aside.exists() and any(aside.iterdir()):
        raise UsageError(f"{aside} has other files: name a new or empty directory")
    logs = (one for one in aside.glob("*.jsonl") if one.stem.isdecimal())
    return sorted(logs, key=lambda one: int(one.stem))


def _lines(logs: list[Path]) -> list[MovedFile]:
    """What was moved, the first first."""
    lines = []
    for log in logs:
        try:
            lines += [MovedFile(**loads(text)) for text in log.read_bytes().splitlines()]
            if any([*map(type, astuple(line))] != _TYPES for line in lines):
                raise ValueError
        except (RecursionError, TypeError, ValueError):
            raise InputError(f"{log} is not a log of lshdb trash") from None
    return lines


def _attempt(
    line: MovedFile, path: str, target: str, status: os.stat_result | None, dry_run: bool
) -> MovedFile:
    """Give a file another name, unless it has changed; the line, or that it is left, and why."""
    try:
        if status is not None and os.stat(path).st_mtime_ns != status.st_mtime_ns:
            raise OSError("it is changing")
        if not dry_run:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            rename_new(path, target)
    except OSError as error:
        return replace(line, action="left", reason=reason(error))
    return line
