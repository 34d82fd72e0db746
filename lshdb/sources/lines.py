"""Files of lines, cut into blocks by their newlines, and read where the lines are parsed."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, Final

import numpy as np

from lshdb.errors import InputError
from lshdb.shingling.content import LARGEST
from lshdb.sources.records import Failure, Lines, too_long
from lshdb.sources.row_files import RowFile, Stretch

_BLOCK: Final = 1 << 20
"""Bytes of lines in a block; a longer line is a block of its own."""
_TAIL: Final = 1 << 16
"""Bytes at the end of a block that are looked at first."""
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
    buffer, tail = bytearray(_BLOCK), bytearray(min(_TAIL, _BLOCK))
    before = _BLOCK - len(tail)
    lines = looked = 0  # of which so many are in so many bytes
    numbers = LineNumbers()
    begin = at = 0  # of the block, and of what is read next
    skipping = False
    while not source.broken:
        # Most often the end of a block is enough to see where its last line ends.
        look = at == begin and not skipping
        size = os.preadv(file.fileno(), [tail], begin + before) if look else 0
        if size == len(tail) and (end := tail.rfind(b"\n") + 1):
            lines, looked = lines + _newlines(tail), looked + size
            end += before
            on_read(end)
            yield _stretch(source, name, begin, end, max(1, round(end * lines / looked)))
            begin = at = begin + end
            continue
        if not (size := os.preadv(file.fileno(), [buffer], at)):
            break
        end = buffer.rfind(b"\n", 0, size) + 1
        if not end:
            at += size
            on_read(size)
            if not skipping and at - begin > LARGEST:
                yield too_long(f"{name}:{numbers.at(file, begin)}")
                skipping = True
            continue
        on_read(end)
        first = 0
        if skipping:
            first, skipping = buffer.find(b"\n") + 1, False
            begin = at + first
        at += end
        if count := _newlines(memoryview(buffer)[first:end]):
            yield _stretch(source, name, begin, at - begin, count)
        begin = at
    if at > begin and not skipping:
        yield _stretch(source, name, begin, at - begin, 1)


def _stretch(source: RowFile, name: str, start: int, size: int, count: int) -> Lines:
    """Some lines of a file, about `count` of them, whose numbers are not known."""
    return Lines(name, 0, count, b"", "jsonl", (), Stretch(source, 0, start, size))


def _newlines(octets: bytearray | memoryview) -> int:
    return int(np.count_nonzero(np.frombuffer(octets, dtype=np.uint8) == _NEWLINE))


class LineNumbers:
    """Numbers of the lines of a file, which are counted only where they are asked for."""

    def __init__(self) -> None:
        self._at = 0
        self._number = 1

    def at(self, file: BinaryIO, start: int) -> int:
        """The number of the line that begins at a byte; the first one's is 1."""
        if start < self._at:
            self._at, self._number = 0, 1
        buffer = bytearray(_BLOCK)
        with suppress(OSError):  # it is only for a message, and was read a moment ago
            while part := memoryview(buffer)[: start - self._at]:
                size = os.preadv(file.fileno(), [part], self._at)
                if not size:
                    break
                self._number += _newlines(part[:size])
                self._at += size
        return self._number


class LineRows:
    """Reads stretches; keeps the file open that it read last, until `close`."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._source: RowFile | None = None
        self._numbers = LineNumbers()

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
            self._numbers = LineNumbers()
        data = os.pread(self._file.fileno(), size, start)
        if len(data) < size:
            raise InputError("changed while it was being read")
        return dataclasses.replace(lines, data=data, stretch=None)

    def first(self, lines: Lines) -> int:
        """The number of the first line of the stretch that was read last."""
        assert self._file is not None
        assert lines.stretch is not None
        return self._numbers.at(self._file, lines.stretch.start)
