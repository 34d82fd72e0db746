"""Schemas of Arrow of rows that are written: of several tables, of JSON, and for Parquet.

Needs pyarrow, the extra `arrow`.
"""

import contextlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lshdb.errors import InputError, UsageError
from lshdb.read.arrow_rows import (
    WITHOUT_VIEW,
    decoded,
    first_line,
    plain,
    with_values,
    without_view,
)
from lshdb.read.batch import TableSchema
from lshdb.read.records import note_columns
from lshdb.text.arrays import Mask

_UTC_NAMES = {"+00:00": "UTC", "Z": "UTC", "Etc/UTC": "UTC"}
"""Other names of the zone UTC."""
_TEXTS = (pa.string(), pa.large_string(), pa.string_view())
_SCHEMA = b"ARROW:schema"
"""The key of Parquet's metadata that has the schema itself."""
_SIZES = re.compile(r"\b(u?int|decimal|time)\d+|\[[mun]?s\b|\(\d+, -?\d+\)")
"""In the name of a type: how large or exact its values are."""


def taken(rows: Any, mask: Mask) -> Any:
    """The rows of a table or a record batch that a mask selects."""
    try:
        return rows.filter(pa.array(mask))
    except pa.ArrowNotImplementedError:  # of views and run ends: runs of rows share their values
        edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
        parts = [rows.slice(start, end - start) for start, end in edges.tolist()]
        join = pa.concat_tables if isinstance(rows, pa.Table) else pa.concat_batches
        return join([rows.slice(0, 0), *parts])


def with_values_at(batch: pa.RecordBatch, field: str, texts: Mapping[int, str]) -> pa.RecordBatch:
    """A record batch with other texts in some rows of a column; UsageError without it."""
    if field not in batch.schema.names:
        raise UsageError(f"{field!r} is not a column: texts can be cut in one column only")
    index = batch.schema.get_field_index(field)
    old = batch.column(index)
    values = old.to_pylist()
    for row, text in texts.items():
        if isinstance(values[row], list):
            raise UsageError(f"{field!r} is a list: texts can be cut in one field only")
        values[row] = text
    changed = pa.array(values, plain(old).type).cast(old.type)
    return batch.set_column(index, batch.schema[index], changed)


def head_of_parquet(head: TableSchema, path: str) -> TableSchema:
    """The head of a file, with its compression and what other programs put beside the schema."""
    metadata = pa.parquet.read_metadata(path)
    beside = {name: text for name, text in (metadata.metadata or {}).items() if name != _SCHEMA}
    schema = head.schema.with_metadata(beside | (head.schema.metadata or {}))
    if not (metadata.num_row_groups and metadata.num_columns):
        return replace(head, schema=schema)
    name = metadata.row_group(0).column(0).compression.lower()
    compression = "none" if name == "uncompressed" else name
    return replace(head, schema=schema, compression=compression)


def writable(head: TableSchema, format: str) -> TableSchema:
    """The head of a table as a format can have it; a note names columns that get another type.

    Raises:
        UsageError: the format has no type for a column.
    """
    schema = head.schema
    if schema is None:
        schema = pa.schema([(name, pa.string()) for name in head.columns])
    if format == "parquet":
        schema = _parquet_schema(schema)
    elif format == "arrow" and head.replaces_dictionaries:  # which a file of Arrow cannot do
        fields = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in schema
        ]
        schema = pa.schema(fields, schema.metadata)
    return replace(head, schema=schema)


def _parquet_schema(schema: pa.Schema) -> pa.Schema:
    """The schema as Parquet can have it; a note names columns that get another type.

    Raises:
        UsageError: Parquet has no type for a column.
    """
    plain, changed = list[pa.Field](), {}
    for field in schema:
        # A type that pyarrow writes to Parquet: without run ends, and inner views.
        kind = field.type.value_type if pa.types.is_run_end_encoded(field.type) else field.type
        kind = kind if kind in WITHOUT_VIEW else with_values(kind, without_view)
        plain.append(written := field.with_type(kind))
        file = io.BytesIO()
        try:
            pa.parquet.ParquetWriter(file, pa.schema([written])).close()
        except (pa.ArrowException, TypeError, OSError) as error:
            raise UsageError(
                f"Parquet cannot have column {field.name!r} of type {field.type}: write .arrow, "
                f".jsonl or .csv ({first_line(error)})"
            ) from error
        read = pa.parquet.read_schema(file).field(0).type
        if read != field.type:
            changed[field.name] = f"{field.type} as {read}"
    note_columns("Parquet has the values of these columns in another type", changed)
    return pa.schema(plain, schema.metadata)


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types of a schema, and the columns in its order; null for missing ones."""
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        column = pa.nulls(batch.num_rows, field.type) if index < 0 else batch.column(index)
        try:
            # A cast would lose where a part of run ends begins.
            is_same = column.type == field.type
            columns.append(column if is_same else decoded(column).cast(field.type))
        except (pa.ArrowException, ValueError) as error:
            raise InputError(_no_type(field.name, column.type, field.type, error)) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def common_schema(schema: pa.Schema, other: pa.Schema, name: str) -> pa.Schema:
    """The schema of the rows of two tables; columns that only the other one has come last.

    Raises:
        InputError: no type has all values of a column; the other table has this name.
    """
    fields = dict(zip(schema.names, schema, strict=True))
    for field in other:
        earlier = fields.get(field.name, field.with_type(pa.null()).with_nullable(True))
        wider = _wider(earlier.type, field.type)
        if wider is None:
            raise InputError(f"{name}: {_no_type(field.name, field.type, earlier.type)}")
        is_nullable = field.nullable or earlier.nullable
        fields[field.name] = earlier.with_type(wider).with_nullable(is_nullable)
    return pa.schema(fields.values(), schema.metadata)


def _no_type(column: str, kind: pa.DataType, earlier: pa.DataType, error: object = "") -> str:
    """Why the values of a column of two types cannot be in one table."""
    reason = f" ({first_line(error)})" if isinstance(error, Exception) else ""
    return (
        f"column {column!r} is {kind} here and {earlier} in earlier rows, and no type has the "
        f"values of both{reason}: -o DIRECTORY writes a file for each table"
    )


def _wider(kind: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that has all values of two types; None for types that differ in more than size.

    Integers of one sign, decimals, texts, and times, whose values must fit the finer unit.
    """
    for one, another in ((kind, other), (other, kind)):
        if another in (one, pa.null()):
            return one
    kind, other = with_values(kind, _usual), with_values(other, _usual)
    is_widened = _SIZES.sub(r"\1", str(kind)) == _SIZES.sub(r"\1", str(other))
    return _unified(kind, other) if is_widened else None


def _usual(kind: pa.DataType) -> pa.DataType:
    """One type for all types of text, also of a dictionary; and UTC under that name."""
    if kind in _TEXTS or (pa.types.is_dictionary(kind) and kind.value_type in _TEXTS):
        return pa.large_string()
    is_time = pa.types.is_timestamp(kind)
    return pa.timestamp(kind.unit, _UTC_NAMES.get(kind.tz, kind.tz)) if is_time else kind


def _unified(kind: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that pyarrow makes of two types; None if it makes none."""
    schemas = [pa.schema([("", kind)]), pa.schema([("", other)])]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


class JsonColumn:
    """The type of a column of JSON values, as they come: one that has all of them exactly.

    Attributes:
        type: the type; None if no type has all values, so that their texts are written.
    """

    def __init__(self) -> None:
        self.type: pa.DataType | None = pa.null()
        self._numbers: list[int | float] = []  # that decide about the type of all numbers so far

    def add(self, values: Sequence[Any]) -> None:
        """Add values; None for a missing one."""
        seen = [*self._numbers, *values]
        kind = _json_type(seen)
        if kind is None or self.type is None:
            self.type = None
            return
        self.type = kind if self._numbers else _unified(self.type, kind)
        integers = sorted(value for value in seen if type(value) is int)
        floats = [value for value in seen if type(value) is float]
        self._numbers = [*integers[:1], *integers[-1:], *floats[:1]]


def _json_type(values: Sequence[Any]) -> pa.DataType | None:
    """The type that has these values of JSON exactly; None if there is none."""
    kinds = {*map(type, values)} - {type(None)}
    if kinds >= {bool, float}:  # which pyarrow takes for numbers
        return None
    for wanted in (None, pa.uint64()) if kinds == {int} else (None,):
        with contextlib.suppress(pa.ArrowException, TypeError, OverflowError):
            kind = pa.array(values, wanted).type
            return None if "decimal" in str(kind) else kind
    return None
