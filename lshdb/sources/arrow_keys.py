"""Keys of Arrow's columns, by the rule of lshdb.keys: the same for one id whatever it is read from.

Python's values would not do: they have no nanoseconds, and one precision for all floats.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

from lshdb.errors import InputError
from lshdb.keys import float_fault, key_of_duration, key_of_id, key_of_instant, kind_of_id

Keys = list[str | InputError | None]
"""Keys of rows: None for a missing one, or why the id gives none."""
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def keys_of_column(column: pa.Array) -> tuple[Keys, str]:
    """The keys that a column of ids gives, and the kind of the ids (see `kind_of_id`).

    >>> import pyarrow
    >>> keys_of_column(pyarrow.array([1.0, 2.0, None]))
    (['1', '2', None], 'a number')
    """
    types, column = pa.types, decoded(column)
    kind = column.type
    if types.is_integer(kind):
        return column.cast(pa.string()).to_pylist(), "a number"
    if types.is_floating(kind):
        bits = {16: 11, 32: 24, 64: 53}[kind.bit_width]
        return [_of_float(value, bits) for value in column.to_pylist()], "a number"
    if types.is_timestamp(kind):
        zone = "Z" if kind.tz else ""
        texts = column.view(pa.timestamp(kind.unit)).cast(pa.string()).to_pylist()
        return [text and key_of_instant(text + zone) for text in texts], "a timestamp"
    if types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.string()).to_pylist(), "a date"
    if types.is_time(kind):
        texts = column.cast(pa.string()).to_pylist()
        return [text and key_of_instant(text) for text in texts], "a time"
    if types.is_duration(kind):
        nanoseconds = _NANOSECONDS[kind.unit]
        numbers = column.cast(pa.int64()).to_pylist()
        keys: Keys = [None if n is None else key_of_duration(n * nanoseconds) for n in numbers]
        return keys, "a duration"
    values = column.to_pylist()
    return [*map(_of_value, values)], next((kind_of_id(v) for v in values if v is not None), "")


def column_of_field(batch: pa.RecordBatch, path: Sequence[str]) -> pa.Array | None:
    """The column of a field, perhaps in a struct; None if it is in none, or holds texts."""
    name, *inner_names = path
    if name not in batch.schema.names:
        return None
    column = decoded(batch.column(name))
    for name in inner_names:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            return None
        column = decoded(pa.compute.struct_field(column, name))
    kind = column.type
    types = pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return None if is_text else column


def decoded(column: pa.Array) -> pa.Array:
    """The column itself, without a dictionary and run ends."""
    if pa.types.is_run_end_encoded(column.type):
        column = pa.compute.run_end_decode(column)
    if pa.types.is_dictionary(column.type):
        values = decoded(column.dictionary)
        if pa.types.is_string_view(values.type):  # which pyarrow cannot take
            values = values.cast(pa.large_string())
        elif pa.types.is_binary_view(values.type):
            values = values.cast(pa.large_binary())
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    return column


def _of_value(value: Any) -> str | InputError | None:
    try:
        return key_of_id(value)
    except InputError as error:
        return error


def _of_float(value: float | None, bits: int) -> str | InputError | None:
    if value is None or value != value:
        return None
    fault = float_fault(float(value), bits)
    return InputError(fault) if fault else str(int(value))
