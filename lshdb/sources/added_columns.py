"""Rows with further columns: the others stay as they are, byte for byte in JSON lines and CSV."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from lshdb.columns import Columns
from lshdb.errors import UsageError
from lshdb.json_text import encode
from lshdb.sources import csv_rows, records
from lshdb.sources.batch import Rows, TableSchema

ColumnValues = Sequence[Sequence[Any]]
"""Of each column, one value for each row."""
ANNOTATED: Columns = {"cluster": int, "kept": str, "similarity": float, "exact": bool}
"""The columns that annotated rows have besides their own."""


def with_columns(rows: Rows, indices: Sequence[int], values: ColumnValues) -> Rows:
    """Some rows with the columns of ANNOTATED.

    Args:
        rows: as they were read.
        indices: of m of them, ascending.
        values: of each column, one for each of the m rows.

    Returns:
        The m rows alone.

    Raises:
        UsageError: a row has such a column.
    """
    if not isinstance(rows, records.TextRows):
        return _with_arrays(rows, indices, values)
    add = _with_fields if rows.schema is None else _with_cells
    return add(rows, indices, values)


def head_with(head: TableSchema) -> TableSchema:
    """The head of a table with the columns of ANNOTATED; UsageError if it has one of them."""
    check_new(head.columns)
    schema, heading = head.schema, head.heading
    if schema is not None:
        from lshdb.sources import arrow_rows

        for field in arrow_rows.schema_of(ANNOTATED):
            schema = schema.append(field)
    if heading:
        text = heading.rstrip(b"\r\n")
        heading = text + _cells([*ANNOTATED], head) + heading[len(text) :]
    return replace(head, columns=(*head.columns, *ANNOTATED), schema=schema, heading=heading)


def check_new(names: Iterable[str]) -> None:
    """UsageError if a row with fields of these names has one of ANNOTATED."""
    for name in names:
        if name in ANNOTATED:
            raise UsageError(f"the rows have a column {name!r} already: rename it, or leave it out")


def _with_fields(rows: records.TextRows, indices: Sequence[int], values: ColumnValues) -> Rows:
    """Lines of JSON: the fields come last."""
    lines = list[bytes]()
    marks = [*map(encode, ANNOTATED)]
    for line, *row in zip(rows.lines(indices), *values, strict=True):
        text = line.rstrip()
        begun = text[:-1].rstrip()
        is_empty = begun.endswith(b"{")
        if is_empty or any(map(line.__contains__, marks)):
            record = rows.record_of(line)
            is_empty = not record
            check_new(record)
        fields = encode(dict(zip(ANNOTATED, row, strict=True)))[1:]
        lines.append(begun + (b"" if is_empty else b",") + fields + line[len(text) :])
    return replace(rows, texts=lines)


def _with_cells(rows: records.TextRows, indices: Sequence[int], values: ColumnValues) -> Rows:
    """Rows of CSV: the cells come last."""
    assert rows.schema is not None
    lines = list[bytes]()
    for line, *row in zip(rows.lines(indices), *values, strict=True):
        text = line.rstrip(b"\r\n")
        lines.append(text + _cells(row, rows.schema) + line[len(text) :])
    return csv_rows.rows_of(lines, head_with(rows.schema))


def _cells(values: Sequence[object], schema: TableSchema) -> bytes:
    """Cells of CSV behind others."""
    lines = csv_rows.csv_lines([values], schema)
    return schema.delimiter.encode() + next(lines)


def _with_arrays(rows: Any, indices: Sequence[int], values: ColumnValues) -> Rows:
    """Record batches: the arrays come last."""
    import pyarrow as pa

    from lshdb.sources import arrow_rows

    table = pa.Table.from_batches(
        rows.batches_of(indices), rows.schema.schema if not indices else None
    )
    batches = arrow_rows.extended(table, ANNOTATED, values).combine_chunks().to_batches()
    return arrow_rows.ArrowRows(head_with(rows.schema), batches[0] if batches else None)
