"""Parquet and Arrow, of rows that are values.

Needs pyarrow, the extra `arrow`.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from lshdb.columns import Columns
from lshdb.errors import InputError, UsageError
from lshdb.read import csv_rows, formats, sinks
from lshdb.read.arrow_rows import bytes_of, first_line
from lshdb.read.batch import TableSchema

_GROUP_BYTES = 32_000_000
_GROUP_ROWS = 1 << 20
"""Bytes and rows that wait for a row group of Parquet or a batch of Arrow."""
_BATCH = 10_000
"""Rows of a record batch."""
_FIRST_ROWS = 1_000
"""Rows whose values say the types of columns of any values."""
_NESTED = (list, tuple, dict)


def write_table(target: sinks.Target, columns: Columns, rows: Iterable[Sequence[Any]]) -> None:
    """Write the rows of results to a file.

    Raises:
        UsageError: a column has values of several types.
    """
    rows = iter(rows)
    first = [*itertools.islice(rows, _FIRST_ROWS)] if object in columns.values() else []
    schema = schema_of(_typed(columns, first))
    with formats.completed(ArrowSink(target, TableSchema((*columns,), schema))) as sink:
        sink.put(itertools.chain(first, rows))


class ArrowSink:
    """Parquet or Arrow with a schema, in row groups of tens of megabytes."""

    def __init__(self, target: sinks.Target, head: TableSchema) -> None:
        self._file, self._schema = target.file, head.schema
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0
        if target.format == "parquet":
            self._writer: Any = pa.parquet.ParquetWriter(
                self._file, self._schema, compression=head.compression
            )
        else:
            new = pa.ipc.new_stream if target.format == "arrows" else pa.ipc.new_file
            self._writer = new(self._file, self._schema)

    def put(self, rows: sinks.RowValues) -> None:
        """As Sink.put."""
        self.put_batches(row_batches(self._schema, rows))

    def put_batches(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write record batches, which have the types of the head."""
        for batch in batches:
            self._waiting.append(batch)
            self._bytes += bytes_of(batch)
            self._rows += batch.num_rows
            if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
                self._write_group()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._waiting, self._schema)
        self._waiting, self._bytes, self._rows = [], 0, 0
        try:
            self._writer.write_table(table, max(1, table.num_rows))
        except pa.ArrowException as error:
            raise InputError(f"rows that cannot be written: {first_line(error)}") from error

    def flush(self) -> None:
        """As Sink.flush."""
        self._file.flush()

    def finish(self) -> None:
        """As Sink.finish."""
        if self._waiting:
            self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        """As Sink.abandon; Parquet's writer would write its end when it is freed."""
        self._writer.is_open = False


def schema_of(columns: Columns) -> pa.Schema:
    """Arrow columns for names and Python's types; those of any values are text."""
    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), bytes: pa.binary()}
    return pa.schema([(name, kinds.get(kind, pa.string())) for name, kind in columns.items()])


def row_batches(schema: pa.Schema, rows: sinks.RowValues) -> Iterator[pa.RecordBatch]:
    """Rows, of a value for each column, as record batches.

    Raises:
        UsageError: a column has values of several types.
    """
    rows = iter(rows)
    while values := list(itertools.islice(rows, _BATCH)):
        arrays = [*map(_array, zip(*values, strict=True), schema)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    kind = field.type
    try:
        if pa.types.is_integer(kind) and float in map(type, values):
            raise TypeError("Arrow would cut off the digits")
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
        if pa.types.is_string(kind):
            return pa.array(
                [None if value is None else str(csv_rows.cell(value)) for value in values], kind
            )
        if pa.types.is_floating(kind):  # integers that floats cannot hold
            return pa.array([None if value is None else float(value) for value in values], kind)
        raise _several_types(field.name) from error


def _typed(columns: Columns, rows: Sequence[Sequence[object]]) -> Columns:
    """The columns with types for those of any values, by the types in the first rows.

    Raises:
        UsageError: a column has several.
    """
    types = dict(columns)
    for index, name in enumerate(columns):
        if columns[name] is object:
            values = [row[index] for row in rows if row[index] is not None]
            kinds = {str if isinstance(value, _NESTED) else type(value) for value in values}
            if kinds == {int, float}:
                kinds = {float}
            if len(kinds) > 1:
                raise _several_types(name)
            types[name] = next(iter(kinds), str)
    return types


def _several_types(column: str) -> UsageError:
    """The error of a column that has values of several types."""
    return UsageError(
        f"column {column} has values of several types, which Parquet cannot hold: write .csv or "
        ".jsonl, or use CAST in SQL"
    )
