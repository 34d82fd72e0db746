"""Blocks of rows in Arrow's columns (lshdb.arrow_blocks) become documents, where these are signed.

Needs pyarrow, the extra `arrow`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from lshdb.errors import InputError
from lshdb.model import Content, Document
from lshdb.records import Failure, Lines, RecordParser, array_of, set_of


def documents(rows: Lines, parser: RecordParser) -> Iterator[tuple[int, Document | Failure]]:
    """The documents of a block, and a Failure for each row that is none, with their places in it.

    What is not UTF-8 is replaced and counted in the parser, or refused if that is strict.
    """
    return documents_of(pa.ipc.open_stream(rows.data).read_next_batch(), rows, parser)


def documents_of(
    batch: pa.RecordBatch, rows: Lines, parser: RecordParser
) -> Iterator[tuple[int, Document | Failure]]:
    """The same of a batch of plain columns (lshdb.arrow_blocks), the rows of a block."""
    names = batch.schema.names
    columns = dict(zip(names, map(_values, batch.columns), strict=True))
    keys = columns.get(parser.key_field, [None] * len(batch))
    contents = columns[parser.content_field]
    own = (parser.key_field, parser.content_field)
    kept = [name for name in parser.metadata_fields or names if name in columns and name not in own]
    if not parser.metadata:
        kept = []
    others = [columns[name] for name in kept]
    texts = [name for name in kept if pa.types.is_large_string(batch.schema.field(name).type)]
    for place in range(len(batch)):
        where = f"{rows.name}:{rows.first + place}"
        replaced = parser.replaced
        try:
            key = _key(keys[place], where, parser)
            content = _content(contents[place], parser)
            metadata = {name: column[place] for name, column in zip(kept, others, strict=True)}
            for name in texts:
                if isinstance(value := metadata[name], bytes):
                    metadata[name] = _text(value, name, parser)
        except InputError as error:
            yield place, Failure(where, str(error))
        else:
            parser.replaced = min(parser.replaced, replaced + 1)  # a document counts once
            yield place, Document(key, content, metadata or None)


def _values(column: pa.Array) -> list[Any]:
    """The values of a column; strings as bytes if one of them is not UTF-8.

    None for those that Python has not, as dates beyond the year 9999.
    """
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        to_bytes, kind = pa.large_binary(), column.type
        if pa.types.is_large_string(kind):
            return list(column.cast(to_bytes).to_pylist())
        if pa.types.is_large_list(kind) and pa.types.is_large_string(kind.value_type):
            return list(column.cast(pa.large_list(to_bytes)).to_pylist())
    except (ValueError, OverflowError):
        pass
    return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return None


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


def _content(value: Any, parser: RecordParser) -> Content:
    name = parser.content_field
    if value is None:
        raise InputError(f"column {name!r} is null")
    if not parser.of_sets:
        return _text(value, name, parser)
    if isinstance(value, str | bytes):
        return set_of(array_of(_text(value, name, parser), name), f"column {name!r}")
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
