"""Tables in Arrow's columns: cut into blocks, whose rows become documents where they are signed.

A block is a record batch of about a megabyte as Arrow's own stream of bytes (IPC), so that it goes
to another process as it is. Of the columns only the key's and the content's are in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lshdb.errors import InputError
from lshdb.model import Content, Document
from lshdb.records import Failure, Lines, RecordParser

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK: Final = 1 << 20
"""Bytes of a block; a row that is longer is a block of its own."""
_FIRST_ROWS: Final = 64
"""Rows of the first block, before it is known how long rows are."""
_MOST_ROWS: Final = 4_000
_TYPE_SHOWN: Final = 60
"""Characters of a column's type in a message: that of nested columns has no end."""


def check_columns(schema: pa.Schema, parser: RecordParser) -> None:
    """InputError if a table of this schema lacks a column that the parser needs.

    A key is a string or an integer, a text a string, a set a list of strings or of integers;
    each may be encoded as a dictionary.
    """
    for name, is_key in _wanted(schema, parser):
        _target(schema, name, is_key=is_key, of_sets=parser.of_sets)


def blocks(batches: Iterable[pa.RecordBatch], parser: RecordParser, name: str) -> Iterator[Lines]:
    """Cut record batches into blocks, each of some rows.

    Raises:
        InputError: a batch lacks a column, or has it in another type; see `check_columns`.
    """
    number, at_once = 1, _FIRST_ROWS
    for batch in batches:
        wanted = _wanted(batch.schema, parser)
        # Encodings that share buffers among rows are resolved: a block would take all of them.
        targets = [
            _target(batch.schema, column, is_key=is_key, of_sets=parser.of_sets)
            for column, is_key in wanted
        ]
        start = 0
        while start < batch.num_rows:
            some = batch.slice(start, at_once)
            start += some.num_rows
            plain = _cast(some, [column for column, _ in wanted], targets)
            at_once = max(1, min(_MOST_ROWS, some.num_rows * _BLOCK // max(1, plain.nbytes)))
            for part in _halved(plain):
                yield Lines(name, number, part.num_rows, _packed(part), "arrow")
                number += part.num_rows


def numbered(rows: Lines, parser: RecordParser) -> Iterator[tuple[int, Document | Failure]]:
    """The documents of a block, and a Failure for each row that is none, with their places in it.

    What is not UTF-8 is replaced and counted in the parser, or refused if that is strict.
    """
    import pyarrow as pa

    batch = pa.ipc.open_stream(rows.data).read_next_batch()
    count = len(batch)
    content_name = parser.set_field if parser.of_sets else parser.text_field
    contents = _values(batch.column(content_name))
    keys: list[Any] = [None] * count
    if parser.key_field in batch.schema.names:
        keys = _values(batch.column(parser.key_field))
    for place in range(count):
        where = f"{rows.name}:{rows.first + place}"
        replaced = parser.replaced
        try:
            key = _key(keys[place], where, parser)
            document = Document(key, _content(contents[place], content_name, parser))
        except InputError as error:
            yield place, Failure(where, str(error))
        else:
            parser.replaced = min(parser.replaced, replaced + 1)  # a document counts once
            yield place, document


def _wanted(schema: pa.Schema, parser: RecordParser) -> list[tuple[str, bool]]:
    """The names of the columns that documents are made of, and whether each is the key's."""
    content = parser.set_field if parser.of_sets else parser.text_field
    if parser.auto_key and parser.key_field not in schema.names:
        return [(content, False)]
    return [(parser.key_field, True), (content, False)]


def _target(schema: pa.Schema, name: str, *, is_key: bool, of_sets: bool) -> pa.DataType:
    """The plain type of a column; InputError if it is not there, or of no type that serves."""
    places = schema.get_all_field_indices(name)
    if len(places) != 1:
        there = ", ".join(map(repr, schema.names)) or "none"
        how = "no column" if not places else f"{len(places)} columns"
        raise InputError(f"{how} {name!r} in the table; it has {there}")
    kind = schema.field(places[0]).type
    if of_sets and not is_key:
        element = _element(kind)
        plain = None if element is None else _plain(element, integers=True)
        wanted = "lists of strings or integers"
        if plain is not None:
            import pyarrow as pa

            return pa.large_list(plain)
    else:
        plain = _plain(kind, integers=is_key)
        wanted = "strings or integers" if is_key else "strings"
        if plain is not None:
            return plain
    shown = str(kind)
    if len(shown) > _TYPE_SHOWN:
        shown = shown[:_TYPE_SHOWN] + "\N{HORIZONTAL ELLIPSIS}"
    raise InputError(f"column {name!r} has the type {shown}, not {wanted}")


def _plain(kind: pa.DataType, *, integers: bool) -> pa.DataType | None:
    """What values of a type are cast to: strings or integers; None if they are neither."""
    import pyarrow as pa

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    while types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return pa.large_string()
    if types.is_null(kind):
        return pa.large_string()
    return kind if integers and types.is_integer(kind) else None


def _element(kind: pa.DataType) -> pa.DataType | None:
    """The type of a list's elements; None if it is no list."""
    import pyarrow as pa

    types = pa.types
    if types.is_null(kind):
        return kind
    lists = [types.is_list, types.is_large_list, types.is_fixed_size_list]
    lists += [types.is_list_view, types.is_large_list_view]
    return kind.value_type if any(is_list(kind) for is_list in lists) else None


def _cast(batch: pa.RecordBatch, names: list[str], targets: list[pa.DataType]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [
        _decoded(batch.column(name)).cast(target)
        for name, target in zip(names, targets, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _decoded(column: pa.Array) -> pa.Array:
    """A column in an encoding that can be cast."""
    import pyarrow as pa

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_run_end_encoded(column.type):
        import pyarrow.compute as pc

        return pc.run_end_decode(column)
    if pa.types.is_list_view(column.type) or pa.types.is_large_list_view(column.type):
        # Not cast: of a view with nulls Arrow's cast makes offsets that are not in order.
        nulls = column.is_null()
        sizes = np.where(nulls, 0, column.sizes).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return pa.LargeListArray.from_arrays(offsets, column.flatten(), mask=nulls)
    return column


def _halved(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in pieces that are no longer than a block, or one row."""
    waiting = [batch]
    while waiting:
        part = waiting.pop()
        if part.num_rows > 1 and part.nbytes > 2 * _BLOCK:
            middle = part.num_rows // 2
            waiting += [part.slice(middle), part.slice(0, middle)]
        else:
            yield part


def _packed(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _values(column: pa.Array) -> list[Any]:
    """The values of a column; strings as bytes if one of them is not UTF-8."""
    import pyarrow as pa

    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        to_bytes = pa.large_binary()
        if pa.types.is_large_list(column.type):
            to_bytes = pa.large_list(to_bytes)
        return list(column.cast(to_bytes).to_pylist())


def _key(value: str | bytes | int | None, where: str, parser: RecordParser) -> str:
    name = parser.key_field
    if value is None:
        if parser.auto_key:
            return where
        raise InputError(f"column {name!r} is null")
    if isinstance(value, int):
        return str(value)
    key = _text(value, name, parser)
    if not key:
        raise InputError(f"column {name!r} is empty")
    if "\0" in key:
        raise InputError(f"column {name!r} has a NUL character")
    return key


def _content(value: Any, name: str, parser: RecordParser) -> Content:
    if value is None:
        raise InputError(f"column {name!r} is null")
    if not parser.of_sets:
        return _text(value, name, parser)
    elements: list[Any] = value
    kinds = set(map(type, elements))
    if type(None) in kinds:
        raise InputError(f"element {elements.index(None) + 1} of column {name!r} is null")
    if bytes in kinds:
        return [_text(element, name, parser) for element in elements]
    return elements


def _text(value: str | bytes, name: str, parser: RecordParser) -> str:
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        if parser.strict:
            raise InputError(f"column {name!r} is not UTF-8 at byte {error.start + 1}") from error
        parser.replaced += 1
        return value.decode("utf-8", "replace")
