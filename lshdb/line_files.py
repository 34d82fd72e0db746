"""Files of lines, cut into blocks by their newlines, and read where the lines are parsed."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

import numpy as np

from lshdb.content import LARGEST
from lshdb.errors import InputError
from lshdb.records import Failure, Lines, too_long
from lshdb.row_files import RowFile, Stretch

_BLOCK: Final = 1 << 20
"""Bytes of lines in a block; a longer line is a block of its own."""
_NEWLINE: Final = 10


def can_be_cut(file: BinaryIO) -> bool:
    """Whether a file, and this system, can be read at any place."""
    return hasattr(os, "preadv") and stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def stretches(
    file: BinaryIO, path: str, name: str, on_read: Callable[[int], None]
) -> Iterator[Lines | Failure]:
    """Cut a file into stretches of lines, each of about a block.

    Args:
        file: one that can be cut.
        path: where it can be opened again.
        name: as printed.
        on_read: called with how many bytes more were read.
    """
    source = RowFile.of(file, path, may_grow=True)
    # One buffer for all: in new memory for each block reading takes four times as long.
    buffer = bytearray(_BLOCK)
    octets = np.frombuffer(buffer, dtype=np.uint8)
    begin = at = 0  # of the block, and of what is read next
    number, skipping = 1, False
    while not source.broken and (size := os.preadv(file.fileno(), [buffer], at)):
        end = buffer.rfind(b"\n", 0, size) + 1
        if not end:
            at += size
            on_read(size)
            if not skipping and at - begin > LARGEST:
                yield too_long(f"{name}:{number}")
                skipping = True
            continue
        on_read(end)
        first = 0
        if skipping:
            first, skipping = buffer.find(b"\n") + 1, False
            begin, number = at + first, number + 1
        at += end
        if count := int(np.count_nonzero(octets[first:end] == _NEWLINE)):
            yield Lines(
                name, number, count, b"", "jsonl", (), Stretch(source, 0, begin, at - begin)
            )
        number += count
        begin = at
    if at > begin and not skipping:
        yield Lines(name, number, 1, b"", "jsonl", (), Stretch(source, 0, begin, at - begin))


class LineRows:
    """Reads stretches; keeps the file open that it read last, until `close`."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._source: RowFile | None = None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self, lines: Lines) -> Lines:
        """A stretch with its lines; InputError if they are not there any more."""
        assert lines.stretch is not None
        source, start, size = lines.stretch.file, lines.stretch.start, lines.stretch.size
        if self._file is None or self._source != source:
            self.close()
            self._file, self._source = source.opened(), source
        data = os.pread(self._file.fileno(), size, start)
        if len(data) < size:
            raise InputError("changed while it was being read")
        return dataclasses.replace(lines, data=data, stretch=None)
