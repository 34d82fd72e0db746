"""Rows with further columns: the others stay as they are, byte for byte in JSON lines and CSV."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lshdb.columns import Columns
from lshdb.errors import UsageError
from lshdb.json_text import encode
from lshdb.read import csv_rows, records
from lshdb.read.batch import Record, Rows, TableSchema

ColumnValues = Sequence[Sequence[Any]]
"""Of each column, one value for each row."""
ANNOTATED: Columns = {"cluster": int, "kept": str, "similarity": float, "exact": bool}
"""The columns that annotated rows have besides their own."""


def with_columns(
    rows: Rows, indices: Sequence[int], values: ColumnValues, columns: Columns = ANNOTATED
) -> Rows:
    """Some rows with further columns.

    Args:
        rows: as they were read.
        indices: of m of them, ascending.
        values: of each column, one for each of the m rows.
        columns: the names and types.

    Returns:
        The m rows alone.

    Raises:
        UsageError: a row has such a column.
    """
    if not isinstance(rows, records.TextRows):
        return _with_arrays(rows, indices, values, columns)
    add = _with_fields if rows.schema is None else _with_cells
    return add(rows, indices, values, columns)


def head_with(head: TableSchema, columns: Columns = ANNOTATED) -> TableSchema:
    """The head of a table with further columns; UsageError if it has one of them."""
    check_new(head.columns, columns)
    schema, heading = head.schema, head.heading
    if schema is not None:
        from lshdb.read import arrow_rows

        for field in arrow_rows.schema_of(columns):
            schema = schema.append(field)
    if heading:
        text = heading.rstrip(b"\r\n")
        heading = text + _cells([*columns], head) + heading[len(text) :]
    return replace(head, columns=(*head.columns, *columns), schema=schema, heading=heading)


def check_new(names: Iterable[str], columns: Columns = ANNOTATED) -> None:
    """UsageError if a row with fields of these names has one of the columns."""
    for name in names:
        if name in columns:
            raise UsageError(f"the rows have a column {name!r} already: rename it, or leave it out")


def with_partition(rows: Rows, indices: Sequence[int], partition: Mapping[str, str | None]) -> Rows:
    """Some rows with the columns that the names of their directories have.

    Args:
        rows: as they were read; their own columns count first.
        indices: of m of them, ascending.
        partition: the value of each column.

    Returns:
        The m rows alone.
    """
    if isinstance(rows, records.TextRows) and rows.schema is None:
        lines = list[bytes]()
        for line in rows.lines(indices):
            record = rows.record_of(line)
            fields = {name: partition[name] for name in partition if name not in record}
            lines.append(_with_line_fields(line, fields, is_empty=not record))
        return replace(rows, texts=lines)
    assert rows.schema is not None
    new = {name: [value] * len(indices) for name, value in partition.items()}
    for name in rows.schema.columns:
        new.pop(name, None)
    return with_columns(rows, indices, [*new.values()], dict.fromkeys(new, str))


def _with_fields(
    rows: records.TextRows, indices: Sequence[int], values: ColumnValues, columns: Columns
) -> Rows:
    """Lines of JSON: the fields come last."""
    lines = list[bytes]()
    marks = [*map(encode, columns)]
    for line, *row in zip(rows.lines(indices), *values, strict=True):
        record: Record | None = None
        if line.rstrip()[:-1].rstrip().endswith(b"{") or any(map(line.__contains__, marks)):
            record = rows.record_of(line)
            check_new(record, columns)
        fields = dict(zip(columns, row, strict=True))
        lines.append(_with_line_fields(line, fields, is_empty=record == {}))
    return replace(rows, texts=lines)


def _with_line_fields(line: bytes, fields: Record, *, is_empty: bool) -> bytes:
    """A line of JSON with further fields; `is_empty` if it has none."""
    if not fields:
        return line
    text = line.rstrip()
    begun = text[:-1].rstrip()
    return begun + (b"" if is_empty else b",") + encode(fields)[1:] + line[len(text) :]


def _with_cells(
    rows: records.TextRows, indices: Sequence[int], values: ColumnValues, columns: Columns
) -> Rows:
    """Rows of CSV: the cells come last."""
    assert rows.schema is not None
    lines = list[bytes]()
    for line, *row in zip(rows.lines(indices), *values, strict=True):
        text = line.rstrip(b"\r\n")
        lines.append(text + _cells(row, rows.schema) + line[len(text) :])
    return csv_rows.rows_of(lines, head_with(rows.schema, columns))


def _cells(values: Sequence[object], schema: TableSchema) -> bytes:
    """Cells of CSV behind others."""
    lines = csv_rows.csv_lines([values], schema)
    return schema.delimiter.encode() + next(lines) if values else b""


def _with_arrays(rows: Any, indices: Sequence[int], values: ColumnValues, columns: Columns) -> Rows:
    """Record batches: the arrays come last."""
    import pyarrow as pa

    from lshdb.read import arrow_rows

    table = pa.Table.from_batches(
        rows.batches_of(indices), rows.schema.schema if not indices else None
    )
    for field, column in zip(arrow_rows.schema_of(columns), values, strict=True):
        table = table.append_column(field, pa.array(column, field.type))
    batches = table.combine_chunks().to_batches()
    return arrow_rows.ArrowRows(head_with(rows.schema, columns), batches[0] if batches else None)
