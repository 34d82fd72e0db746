"""Files that a command writes: whole under their names, or not at all."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from lshdb import errors
from lshdb.cli import running
from lshdb.read import paths
from lshdb.read.outputs import STDOUT, Output, is_stdout


def output_to(path: str) -> Output:
    """A file to be written, see Output; from now on Ctrl-C leaves no half of it."""
    if not is_stdout(path):
        running.clear_away_on_interrupt()
    return Output(path)


def check_distinct(inputs: Iterable[str], outputs: Iterable[str]) -> None:
    """UsageError if a file, or a log of a database, would be read and written, or written twice."""
    names = (  # SQLite keeps its logs beside a database
        name + end
        for path in inputs
        for name in (os.path.realpath(path), path)
        for end in ("", "-wal", "-shm")
    )
    seen: dict[object, str] = {_identity(path, 0): path for path in names}
    for path in outputs:
        identity = _identity(path, 1)
        if identity is not None and identity in seen:
            raise errors.UsageError(
                f"{path} is the same file as {seen[identity]}: give the output another name"
            )
        seen[identity] = path


def _identity(path: str, stream: int) -> object:
    """What distinguishes files, also those to be made; None for a device or a pipe."""
    try:
        status = os.fstat(stream) if path == STDOUT else os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def entries_of(path: str, *, null: bool) -> Iterator[str]:
    """The names that a file or `-` lists, one per line or each followed by a NUL byte."""
    try:
        with paths.opened(path, stdin()) as file:
            names = file.read().split(b"\0") if null else (line.rstrip(b"\n") for line in file)
            yield from map(os.fsdecode, filter(None, names))
    except errors.InputError as error:
        raise errors.InputError(f"{paths.printable_path(path)}: {error}") from error


def stdin() -> BinaryIO | None:
    """Standard input; None if it is closed."""
    return sys.stdin.buffer if sys.stdin else None
