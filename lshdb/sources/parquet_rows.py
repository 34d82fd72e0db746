"""Rows of Parquet files, read by their places where they are signed.

Decompressing and decoding then falls to the process that has time for it, and of the rows only
what goes into the database is sent between processes. Needs pyarrow, the extra `arrow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet

from lshdb.errors import InputError
from lshdb.sources.arrow_rows import BLOCK, MOST_ROWS, blocks, plain, readable, wanted_columns
from lshdb.sources.records import Lines, RecordParser
from lshdb.sources.row_files import RowFile, Stretch

_UNREADABLE: Final = "not Parquet, or damaged"
_FEW: Final = 64
"""Rows read at once of which it is not known how long they are."""


def stretches(
    file: BinaryIO,
    path: str | None,
    name: str,
    parser: RecordParser,
    on_read: Callable[[float], None],
) -> Iterator[Lines]:
    """Cut a Parquet file into stretches of rows, each of about a block.

    Args:
        file: opened for reading.
        path: where it can be opened again; None where only `file` can be read on.
        name: as printed.
        parser: says which columns are wanted.
        on_read: called now and then with the share of the file that was read, 0 to 1.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    with readable(_UNREADABLE), _source(file) as source:
        metadata = source.metadata
        parser.check_columns(source.schema_arrow.names)  # whose messages name the options
        groups = range(metadata.num_row_groups)
        # Repeated values take next to nothing in the file: what rows take is told by some of them.
        least = _bytes_of_rows(source, parser)
        wanted = _column_chunks(source, parser)
        own = RowFile.of(file, path) if path else RowFile("", ())
        number = 1
        for group, rows in ((group, metadata.row_group(group)) for group in groups):
            stored = sum(rows.column(i).total_uncompressed_size for i in wanted)
            each = max(1, least, stored // max(1, rows.num_rows))
            at_once = max(1, min(MOST_ROWS, BLOCK // each))
            for start in range(0, rows.num_rows, at_once):
                if own.broken:
                    return
                count = min(at_once, rows.num_rows - start)
                stretch = Stretch(own, group, start, count * each)
                yield Lines(name, number, count, b"", "parquet", (), stretch)
                number += count
                on_read(min(1.0, number / max(1, metadata.num_rows)))


def _source(file: BinaryIO) -> pa.parquet.ParquetFile:
    """A file of Parquet, read in pieces: a row group may be larger than memory."""
    return pa.parquet.ParquetFile(file, buffer_size=BLOCK, pre_buffer=False)


def _bytes_of_rows(source: pa.parquet.ParquetFile, parser: RecordParser) -> int:
    """How many bytes each of the first rows has, in the mean."""
    names = list(wanted_columns(source.schema_arrow, parser))
    for batch in source.iter_batches(batch_size=_FEW, columns=names, use_threads=False):
        return int(plain(batch, parser).nbytes // max(1, batch.num_rows))
    return 0


def _column_chunks(source: pa.parquet.ParquetFile, parser: RecordParser) -> list[int]:
    """The numbers of the columns of Parquet, which has several for a nested one, that are read."""
    names = tuple(wanted_columns(source.schema_arrow, parser))
    paths = [source.schema.column(i).path for i in range(len(source.schema))]
    nested = tuple(f"{name}." for name in names)
    return [i for i, path in enumerate(paths) if path in names or path.startswith(nested)]


class ParquetRows:
    """Reads stretches; keeps the file open that it read last, and its place in it, until `close`.

    Stretches of a file that come in order are read in one go; what lies between is passed over.

    Args:
        given: the file, if it cannot be opened again; it stays open.
    """

    def __init__(self, given: BinaryIO | None = None) -> None:
        self._given = given
        self._file: _File | None = None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self, lines: Lines, parser: RecordParser) -> pa.RecordBatch:
        """The rows of a stretch as one batch of plain columns (lshdb.sources.arrow_rows).

        Raises:
            InputError: they cannot be read, or have many more bytes than was expected.
        """
        with readable(_UNREADABLE):
            parts, size = [], 0
            for batch in self._batches(lines, parser, lines.count):
                parts.append(plain(batch, parser))
                size += parts[-1].nbytes
                if size > 2 * BLOCK and lines.count > 1:
                    raise InputError("rows of many bytes")
            if len(parts) == 1:
                return parts[0]
            (whole,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
            return whole

    def blocks(self, lines: Lines, parser: RecordParser, at_once: int = _FEW) -> Iterator[Lines]:
        """The rows of a stretch in blocks that have them, as many as it takes.

        Args:
            lines: the stretch.
            parser: says which columns are wanted.
            at_once: rows that are read at once.

        Raises:
            InputError: they cannot be read.
        """
        batches = self._batches(lines, parser, at_once)
        yield from blocks(batches, parser, lines.name, _UNREADABLE, lines.first)

    def _batches(
        self, lines: Lines, parser: RecordParser, at_once: int
    ) -> Iterator[pa.RecordBatch]:
        assert lines.stretch is not None
        try:
            if self._file is None or self._file.row_file != lines.stretch.file:
                self.close()
                self._file = _File(lines.stretch.file, self._given, parser)
            yield from self._file.batches(lines.stretch, lines.count, at_once)
        except GeneratorExit:
            raise
        except BaseException:
            self.close()  # its place is not known
            raise


class _File:
    """An open file of Parquet and a place in it."""

    def __init__(self, row_file: RowFile, given: BinaryIO | None, parser: RecordParser) -> None:
        self.row_file = row_file
        self._own = None if given else row_file.opened()
        file = given or self._own
        assert file is not None
        try:
            self._source = _source(file)
            self._columns = list(wanted_columns(self._source.schema_arrow, parser))
        except BaseException:
            self.close()
            raise
        self._group = -1
        self._at = 0  # the place in the group of the rows that come next
        self._next: pa.RecordBatch | None = None
        self._rest: Iterator[pa.RecordBatch] = iter(())

    def close(self) -> None:
        if self._own is not None:
            self._own.close()

    def batches(self, stretch: Stretch, count: int, at_once: int) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch."""
        if stretch.group != self._group or stretch.start < self._at:
            self._group, self._at, self._next = stretch.group, 0, None
            self._rest = self._source.iter_batches(
                batch_size=at_once,
                row_groups=[stretch.group],
                columns=self._columns,
                use_threads=False,
            )
        end = stretch.start + count
        while self._at < end:
            batch = next(self._rest, None) if self._next is None else self._next
            if batch is None:
                raise InputError(f"row group {stretch.group} has fewer rows than it tells")
            begin, stop = stretch.start - self._at, end - self._at
            if stop < batch.num_rows:
                self._next = batch
            else:
                self._next, self._at = None, self._at + batch.num_rows
            if begin < batch.num_rows:
                yield batch.slice(max(0, begin), stop - max(0, begin))
            if self._next is not None:
                return
