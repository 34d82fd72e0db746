"""Files that a command writes: whole under their names, or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from lshdb.cli.messages import message, warn
from lshdb.errors import UsageError
from lshdb.sources.compression import check_available, compression_of, packed
from lshdb.store.partial_files import PartialFile, left_over

STDOUT: Final = "-"


class Output:
    """A file to be written, or standard output. Use as a context manager.

    Writes to a file beside it, NAME.N.partial, which takes its name at the end: an interrupted
    command leaves no file that looks complete. A device or a pipe is written directly.

    Args:
        path: the file's path, or `-`.
        keep: whether the other file stays if the command fails and it is `filled`, because a
            database has the documents, so that another run would drop them. A message names it.

    Attributes:
        filled: whether there is anything in it worth keeping.
    """

    def __init__(self, path: str, *, keep: bool = False) -> None:
        self._path = path
        self._keep = keep
        self._partial: PartialFile | None = None
        self.filled = False
        suffix = compression_of(path)
        if suffix is not None:
            check_available(suffix)  # before the file is written
        if path == STDOUT:
            self._file: BinaryIO = sys.stdout.buffer
        elif os.path.exists(path) and not os.path.isfile(path):
            self._file = open(path, "wb")  # noqa: SIM115  # closed by __exit__
        else:
            if os.path.exists(path) and not os.access(path, os.W_OK):
                raise PermissionError(13, "permission denied", path)
            for left in left_over(os.path.realpath(path)):
                message(
                    f"lshdb: {left} was left by a killed run; delete it if its lines are not needed"
                )
            with self.named():
                self._partial = PartialFile(path)
            self._file = self._partial.file
        self._raw = self._file
        if suffix is not None:
            self._file = packed(self._raw, suffix)

    def __enter__(self) -> Output:
        return self

    def write(self, text: str) -> None:
        """Write a text."""
        try:  # without the cost of `named`, for millions of lines
            self._file.write(text.encode())
        except OSError as error:
            self._name(error)
            raise

    def flush(self) -> None:
        """Pass buffered output to the system; a compressed file is left as it is."""
        if self._file is self._raw:
            with self.named():
                self._file.flush()

    def close(self) -> None:
        """Close the file, and release what the system holds for it."""
        with self.named():
            if self._file is not self._raw:
                self._file.close()
            if self._path != STDOUT:
                self._raw.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
            with self.named():
                if self._partial is not None and kind is None:
                    self._partial.take_name()
        except OSError:
            self._discard()
            if kind is None:
                raise
        else:
            if kind is not None:
                self._discard()

    def _discard(self) -> None:
        if self._partial is None:
            return
        if self._keep and self.filled:
            warn(f"lshdb: the lines kept so far, now in the database: {self._partial.path}")
        else:
            self._partial.discard()

    @property
    def file(self) -> BinaryIO:
        """The file for output that is not lines, for use within `named`."""
        return self._file

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the file in errors of the block."""
        try:
            yield
        except OSError as error:
            self._name(error)
            raise

    def _name(self, error: OSError) -> None:
        if self._path != STDOUT:
            error.filename = self._path


def check_distinct(inputs: Iterable[str], outputs: Iterable[str]) -> None:
    """UsageError if a file would be read and written, or written twice."""
    seen: dict[tuple[int, int] | str, str] = {}
    for path in inputs:
        if (identity := _identity(path, 0)) is not None:
            seen[identity] = path
    for path in outputs:
        found = _identity(path, 1) or (None if path == STDOUT else os.path.realpath(path))
        if found is None or found == os.path.realpath(os.devnull):
            continue
        if found in seen:
            raise UsageError(
                f"{path} is the same file as {seen[found]}: give the output another name"
            )
        seen[found] = path


def _identity(path: str, stream: int) -> tuple[int, int] | None:
    """What distinguishes files; None for anything else, or a file that does not exist yet."""
    try:
        status = os.fstat(stream) if path == STDOUT else os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def stdin() -> BinaryIO | None:
    """Standard input; None if it is closed."""
    return sys.stdin.buffer if sys.stdin else None


def directory_beside(path: str) -> Path | None:
    """The directory of an output file; None if it is not a file in one."""
    if path == STDOUT or (os.path.exists(path) and not os.path.isfile(path)):
        return None
    return Path(os.path.realpath(path)).parent
