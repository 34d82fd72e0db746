"""Rows as they were read: as records, with other texts, with further columns.

The others stay as they are: byte for byte in JSON lines and CSV, with their types in Arrow.
"""

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from lshdb.apps.tab_quotes.tab_fields import fields_of
from lshdb.columns import Columns
from lshdb.errors import UsageError
from lshdb.json_text import encode
from lshdb.read import csv_rows, json_rows
from lshdb.read.batch import Origin, Record, TableSchema
from lshdb.read.metadata import field_value
from lshdb.read.records import field_paths

RowValues = Sequence[Sequence[Any]]
"""Of each row, one value for each column."""
ANNOTATED: Columns = {"cluster": int, "kept": str, "similarity": float, "exact": bool}
"""The columns that annotated rows have besides their own."""


@dataclass(frozen=True)
class Rows(ABC):
    """Rows as they were read, with all of their columns.

    Attributes:
        origin: where they are from, with the rows themselves.
    """

    origin: Origin

    def lines(self, indices: Sequence[int]) -> Sequence[bytes]:
        """Some rows, ascending, as JSON lines; all have a newline, except perhaps the last."""
        return [json_rows.json_of(record) + b"\n" for record in self.records(indices)]

    @abstractmethod
    def records(self, indices: Sequence[int]) -> Iterator[Record]:
        """Some rows, ascending, by the names of their fields."""

    @abstractmethod
    def with_texts(self, texts: Mapping[int, str], field: str) -> Origin:
        """The rows with other texts in a field of some of them; UsageError without such a field."""

    @abstractmethod
    def with_columns(self, indices: Sequence[int], values: RowValues, columns: Columns) -> Origin:
        """Some rows with further columns.

        Args:
            indices: of m rows, ascending.
            values: of each of the m rows, one for each column.
            columns: the names and types.

        Raises:
            UsageError: a row has such a column.
        """

    def with_partition(self, indices: Sequence[int], partition: Mapping[str, str | None]) -> Origin:
        """Some rows with the columns that the names of their directories have, after their own."""
        schema = self.origin.schema
        assert schema is not None
        new = {n: value for n, value in partition.items() if n not in schema.columns}
        return self.with_columns(indices, [[*new.values()]] * len(indices), dict.fromkeys(new, str))

    def _changed(self, indices: Sequence[int], rows: object, columns: Columns) -> Origin:
        """The origin of some rows with further columns."""
        origin, schema = self.origin, self.origin.schema
        numbers = [origin.numbers[index] for index in indices]
        schema = None if schema is None else head_with(schema, columns)
        return replace(origin, numbers=numbers, rows=rows, schema=schema)


class _Json(Rows):
    """JSON lines: further fields come last."""

    def lines(self, indices: Sequence[int]) -> Sequence[bytes]:
        return [self.origin.rows[index] for index in indices]

    def records(self, indices: Sequence[int]) -> Iterator[Record]:
        return map(json_rows.record_of, self.lines(indices))

    def with_texts(self, texts: Mapping[int, str], field: str) -> Origin:
        lines = [*self.origin.rows]
        for index, text in texts.items():
            record = _with_value(json_rows.record_of(lines[index]), field, text)
            lines[index] = _with_newline_of(lines[index], encode(record, numbers=True))
        return replace(self.origin, rows=lines)

    def with_columns(self, indices: Sequence[int], values: RowValues, columns: Columns) -> Origin:
        lines, marks = list[bytes](), [*map(encode, columns)]
        for line, row in zip(self.lines(indices), values, strict=True):
            record: Record | None = None
            if line.rstrip()[:-1].rstrip().endswith(b"{") or any(map(line.__contains__, marks)):
                record = json_rows.record_of(line)
                check_new(record, columns)
            lines.append(_with_fields(line, dict(zip(columns, row, strict=True)), record == {}))
        return self._changed(indices, lines, columns)

    def with_partition(self, indices: Sequence[int], partition: Mapping[str, str | None]) -> Origin:
        lines = list[bytes]()
        for line in self.lines(indices):
            record = json_rows.record_of(line)
            new = {n: value for n, value in partition.items() if n not in record}
            lines.append(_with_fields(line, new, not record) if new else line)
        return self._changed(indices, lines, {})


def _with_fields(line: bytes, fields: Record, is_empty: bool) -> bytes:
    """A line of JSON with further fields; `is_empty` if it has none."""
    begun = line.rstrip()[:-1].rstrip()
    return _with_newline_of(line, begun + (b"" if is_empty else b",") + encode(fields)[1:])


def _with_value(record: Record, name: str, value: object) -> Record:
    """The record with another value of a field, which may be in an object.

    Raises:
        UsageError: the name is of several fields, of none, or of a list.
    """
    (path, *others) = field_paths(name, record)
    old = field_value(record, path)
    if others or old is None or isinstance(old, list):
        raise UsageError(f"{name!r} is not one field: texts can be cut in one field only")
    outer_name, *inner_path = path
    inner = _with_value(record[outer_name], ".".join(inner_path), value) if inner_path else value
    return record | {outer_name: inner}


class _Csv(Rows):
    """Rows of CSV: further cells come last."""

    def records(self, indices: Sequence[int]) -> Iterator[Record]:
        schema = _schema_of(self.origin)
        return (_record_of(self.origin.rows[index], schema) for index in indices)

    def with_texts(self, texts: Mapping[int, str], field: str) -> Origin:
        rows, schema = [*self.origin.rows], _schema_of(self.origin)
        for index, record in zip(texts, self.records([*texts]), strict=True):
            values = [*_with_value(record, field, texts[index]).values()]
            rows[index] = _with_newline_of(rows[index], next(csv_rows.csv_lines([values], schema)))
        return replace(self.origin, rows=rows)

    def with_columns(self, indices: Sequence[int], values: RowValues, columns: Columns) -> Origin:
        schema, rows = _schema_of(self.origin), list[bytes]()
        for index, cells in zip(indices, values, strict=True):
            row = self.origin.rows[index]
            rows.append(_with_newline_of(row, row.rstrip(b"\r\n") + _cells(cells, schema)))
        return self._changed(indices, rows, columns)


def _record_of(row: bytes, schema: TableSchema) -> Record:
    """A row of CSV by the names of its fields."""
    line = row.decode("utf-8", "replace")
    if schema.quoting == "tab":
        fields = fields_of(line, len(schema.columns))
    else:
        (fields,) = csv.reader([line], strict=True, **csv_rows.dialect_of(schema))
    return dict(zip(schema.columns, fields, strict=True))


def _schema_of(origin: Origin) -> TableSchema:
    assert origin.schema is not None
    return origin.schema


def _with_newline_of(row: bytes, text: bytes) -> bytes:
    """A text in the place of a row, with its newline."""
    return text + row[len(row.rstrip(b"\r\n")) :]


def _cells(values: Sequence[object], schema: TableSchema) -> bytes:
    """Cells of CSV behind others."""
    lines = csv_rows.csv_lines([values], schema)
    return schema.delimiter.encode() + next(lines) if values else b""


class ArrowRows(Rows):
    """A record batch: further arrays come last."""

    def records(self, indices: Sequence[int]) -> Iterator[Record]:
        """As Rows.records; what is not UTF-8 as lone surrogates."""
        from lshdb.read import arrow_rows

        batches = map(arrow_rows.plain_batch, [self.batch_of(indices)] if indices else [])
        return chain.from_iterable(arrow_rows.records_of(batch)[0] for batch in batches)

    def batch_of(self, indices: Sequence[int]) -> Any:
        """Some rows, ascending, as a record batch."""
        from lshdb.apps.dedup.arrow_tables import taken

        batch = self.origin.rows
        if len(indices) == batch.num_rows:
            return batch
        mask = np.zeros(batch.num_rows, dtype=bool)
        mask[[*indices]] = True
        return taken(batch, mask)

    def with_texts(self, texts: Mapping[int, str], field: str) -> Origin:
        """As Rows.with_texts."""
        from lshdb.apps.dedup.arrow_tables import with_values_at

        return replace(self.origin, rows=with_values_at(self.origin.rows, field, texts))

    def with_columns(self, indices: Sequence[int], values: RowValues, columns: Columns) -> Origin:
        """As Rows.with_columns."""
        import pyarrow as pa

        from lshdb.apps.tables.arrow_files import schema_of

        if not indices:
            return self._changed(indices, None, columns)
        batch, schema = self.batch_of(indices), schema_of(columns)
        new = [
            pa.array(column, field.type)
            for column, field in zip(zip(*values, strict=True), schema, strict=True)
        ]
        fields = pa.schema([*batch.schema, *schema], batch.schema.metadata)
        changed = pa.RecordBatch.from_arrays([*batch.columns, *new], schema=fields)
        return self._changed(indices, changed, columns)


def rows_of(origin: Origin) -> Rows:
    """The rows of an origin whose reader was asked for them."""
    if origin.schema is None:
        return _Json(origin)
    return (_Csv if origin.schema.schema is None else ArrowRows)(origin)


def head_with(head: TableSchema, columns: Columns) -> TableSchema:
    """The head of a table with further columns; UsageError if it has one of them."""
    check_new(head.columns, columns)
    schema, heading = head.schema, head.heading
    if schema is not None:
        from lshdb.apps.tables.arrow_files import schema_of

        for field in schema_of(columns):
            schema = schema.append(field)
    if heading:
        heading = _with_newline_of(heading, heading.rstrip(b"\r\n") + _cells([*columns], head))
    return replace(head, columns=(*head.columns, *columns), schema=schema, heading=heading)


def check_new(names: Iterable[str], columns: Columns) -> None:
    """UsageError if a row with fields of these names has one of the columns."""
    for name in names:
        if name in columns:
            raise UsageError(f"the rows have a column {name!r} already: rename it, or leave it out")
