"""Files whose rows are read where they are parsed: only their places go to another process."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import BinaryIO

from lshdb.errors import InputError


@dataclass(slots=True)
class RowFile:
    """A file of rows.

    Attributes:
        path: absolute, without links.
        identity: tells it from another one that takes its name: device and inode, and for one
            that is not to grow its size and the time of its last change.
        size: in bytes, when it was opened.
        broken: whether rows could not be read: then what comes behind them is left out.
    """

    path: str
    identity: tuple[int, ...]
    size: int = field(default=0, compare=False)
    broken: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, file: BinaryIO, path: str, *, may_grow: bool = False) -> RowFile:
        """An open file that can be opened again, also by a process to which /dev/fd is another."""
        identity = _identity(file)
        kept = identity[:2] if may_grow else identity
        return cls(os.path.realpath(path), kept, os.fstat(file.fileno()).st_size)

    def opened(self) -> BinaryIO:
        """The same file; InputError if it is gone or changed."""
        try:
            file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - stays open
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be opened again to be read on: {reason}") from error
        if _identity(file)[: len(self.identity)] != self.identity:
            file.close()
            raise InputError("changed while it was being read")
        return file


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some rows of a file.

    Attributes:
        file: that has them.
        group: of Parquet, the number of the row group that they are in.
        start: the first one's place: of Parquet in the group, of lines in bytes; from 0.
        size: how many bytes they take, of Parquet about.
    """

    file: RowFile
    group: int
    start: int
    size: int


def _identity(file: BinaryIO) -> tuple[int, ...]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
