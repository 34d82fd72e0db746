"""Rows with further columns: the others stay as they are, byte for byte in JSON lines and CSV."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import Any

from lshdb.columns import Columns
from lshdb.errors import UsageError
from lshdb.json_text import encode
from lshdb.sources import csv_rows, records
from lshdb.sources.batch import Rows, TableSchema

ColumnValues = Sequence[Sequence[Any]]
"""Of each column, one value for each row."""


def with_columns(
    rows: Rows, indices: Sequence[int], columns: Columns, values: ColumnValues
) -> Rows:
    """Some rows with further columns.

    Args:
        rows: as they were read.
        indices: of m of them, ascending.
        columns: the names and types of the others.
        values: of each column, one for each of the m rows.

    Returns:
        The m rows alone.

    Raises:
        UsageError: a row has such a column.
    """
    if isinstance(rows, records.TextRows):
        if rows.schema is None:
            return _with_fields(rows, indices, columns, values)
        return _with_cells(rows, rows.schema, indices, columns, values)
    return _with_arrays(rows, indices, columns, values)


def head_with(head: TableSchema | None, columns: Columns) -> TableSchema | None:
    """The head of a table with further columns; UsageError if it has one of them."""
    if head is None or not columns:
        return head
    check_new(columns, head.columns)
    schema, heading = head.schema, head.heading
    if schema is not None:
        from lshdb.sources.arrow_rows import schema_of

        for field in schema_of(columns):
            schema = schema.append(field)
    if heading:
        text = heading.rstrip(b"\r\n")
        heading = text + _cells([*columns], head) + heading[len(text) :]
    return replace(head, columns=(*head.columns, *columns), schema=schema, heading=heading)


def check_new(columns: Container[str], names: Iterable[str]) -> None:
    """UsageError if a row with fields of these names has one of the further columns."""
    for name in names:
        if name in columns:
            raise UsageError(f"the rows have a column {name!r} already: rename it, or leave it out")


def _with_fields(
    rows: records.TextRows, indices: Sequence[int], columns: Columns, values: ColumnValues
) -> records.TextRows:
    """Lines of JSON: the fields come last."""
    lines = list[bytes]()
    marks = [*map(encode, columns)]
    for line, *row in zip(rows.lines(indices), *values, strict=True):
        text = line.rstrip()
        begun = text[:-1].rstrip()
        is_empty = begun.endswith(b"{")
        if is_empty or any(map(line.__contains__, marks)):
            record = rows.record_of(line)
            is_empty = not record
            check_new(columns, record)
        fields = encode(dict(zip(columns, row, strict=True)))[1:]
        lines.append(begun + (b"" if is_empty else b",") + fields + line[len(text) :])
    return replace(rows, texts=lines)


def _with_cells(
    rows: records.TextRows,
    schema: TableSchema,
    indices: Sequence[int],
    columns: Columns,
    values: ColumnValues,
) -> Rows:
    """Rows of CSV: the cells come last."""
    lines = list[bytes]()
    for line, *row in zip(rows.lines(indices), *values, strict=True):
        text = line.rstrip(b"\r\n")
        lines.append(text + _cells(row, schema) + line[len(text) :])
    head = head_with(schema, columns)
    assert head is not None
    return csv_rows.rows_of(lines, head)


def _cells(values: Sequence[object], schema: TableSchema) -> bytes:
    """Cells of CSV behind others."""
    lines = csv_rows.csv_lines([values], schema.delimiter, "", escape=schema.escape)
    return schema.delimiter.encode() + next(lines)


def _with_arrays(rows: Any, indices: Sequence[int], columns: Columns, values: ColumnValues) -> Rows:
    """Record batches: the arrays come last."""
    import pyarrow as pa

    from lshdb.sources.arrow_rows import ArrowRows, extended

    head = head_with(rows.schema, columns)
    assert head is not None
    table = pa.Table.from_batches(
        rows.batches_of(indices), rows.schema.schema if not indices else None
    )
    batches = extended(table, columns, values).combine_chunks().to_batches()
    return ArrowRows(head, batches[0] if batches else None)
