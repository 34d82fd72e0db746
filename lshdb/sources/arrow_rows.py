"""Arrow's record batches cut into blocks, and their rows made into documents.

A block is a record batch of about a megabyte as Arrow's own stream of bytes (IPC), so that it goes
to another process as it is, with no Python object for a row; documents are made of it where they
are signed. Of the columns only those that are wanted are in it. Needs pyarrow, the extra `arrow`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from lshdb.errors import InputError
from lshdb.model import Content, Document
from lshdb.sources.records import Failure, Lines, RecordParser, array_of, set_of

BLOCK: Final = 1 << 20
"""Bytes of a block; a row that is longer is a block of its own."""
MOST_ROWS: Final = 4_000
_FIRST_ROWS: Final = 64
"""Rows of the first block, before it is known how long rows are."""
_TYPE_SHOWN: Final = 60
"""Characters of a column's type in a message: that of nested columns has no end."""
_INDEX_OF_PANDAS: Final = re.compile(r"__index_level_\d+__")


def wanted_columns(schema: pa.Schema, parser: RecordParser) -> dict[str, pa.DataType]:
    """The columns that documents are made of, and the plain types that they are sent in.

    A key is a string or an integer, a text a string or bytes of UTF-8, a set a list of strings or
    of integers, or a JSON array as a string. What is left is metadata, of any type, but for the
    numbers that pandas gives to rows without a name for them.

    Raises:
        InputError: a column is missing, comes twice, or has a type that does not serve.
    """
    try:
        names = schema.names
    except UnicodeDecodeError as error:
        raise InputError("the names of the columns are not UTF-8") from error
    content = parser.content_field
    own = [content] if parser.auto_key and parser.key_field not in names else None
    own = own or [parser.key_field, content]
    there = ", ".join(map(repr, names)) or "none"
    kept = set(parser.metadata_fields) if parser.metadata else set()
    if parser.metadata and not kept:
        kept = {name for name in names if not _INDEX_OF_PANDAS.fullmatch(name)}
    for name in own:
        if name not in names:
            raise InputError(f"no column {name!r} in the table; it has {there}")
    wanted = [name for name in names if name in own or name in kept]
    for name in wanted:
        if (count := wanted.count(name)) > 1:
            raise InputError(f"{count} columns {name!r} in the table; it has {there}")
    return {name: _target(schema.field(name), parser) for name in wanted}


def blocks(
    batches: Iterable[pa.RecordBatch],
    parser: RecordParser,
    name: str,
    unreadable: str,
    first: int = 1,
) -> Iterator[Lines]:
    """Cut record batches into blocks, each of some rows.

    Args:
        batches: may come from files and from other programs: they are looked through for offsets
            that lead out of their data.
        parser: says which columns are wanted.
        name: of the table, as printed.
        unreadable: what a message begins with if a batch cannot be read.
        first: the number of the first row.

    Raises:
        InputError: a batch lacks a column, or has it in another type (see `wanted_columns`), or
            it cannot be read.
    """
    with readable(unreadable):
        yield from _cut(batches, parser, name, first)


@contextmanager
def readable(unreadable: str) -> Iterator[None]:
    """InputError, a message that begins with `unreadable`, in place of Arrow's own errors."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{unreadable}: {reason}") from error


def _cut(
    batches: Iterable[pa.RecordBatch], parser: RecordParser, name: str, number: int
) -> Iterator[Lines]:
    at_once = _FIRST_ROWS
    for whole in batches:
        targets = wanted_columns(whole.schema, parser)
        batch = whole.select(list(targets))
        for column in batch.columns:
            _validate(column)
        start = 0
        while (left := batch.num_rows - start) > 0:
            # A few rows left behind would make a small block.
            some = batch.slice(start, left if 2 * left < 3 * at_once else at_once)
            start += some.num_rows
            cast = _all_cast(some, targets)
            at_once = max(1, min(MOST_ROWS, some.num_rows * BLOCK // max(1, cast.nbytes)))
            for part in _halved(cast):
                yield Lines(name, number, part.num_rows, _packed(part), "arrow")
                number += part.num_rows


def plain(batch: pa.RecordBatch, parser: RecordParser) -> pa.RecordBatch:
    """The wanted columns of a batch, looked through and in plain types (see `blocks`)."""
    targets = wanted_columns(batch.schema, parser)
    batch = batch.select(list(targets))
    for column in batch.columns:
        _validate(column)
    return _all_cast(batch, targets)


def _target(field: pa.Field, parser: RecordParser) -> pa.DataType:
    """The type in which a column is sent; InputError if it has none that serves."""
    types = pa.types
    plain = _plain(field.type)
    text = types.is_large_string(plain) or types.is_null(plain)
    if field.name == parser.content_field:
        if parser.of_sets:
            element = _plain(plain.value_type) if _is_list(plain) else None
            lists = element is not None and (
                types.is_large_string(element)
                or types.is_integer(element)
                or types.is_null(element)
            )
            legal, wanted = text or lists, "lists of strings or integers"
        else:
            legal, wanted = text or types.is_large_binary(plain), "strings"
    elif field.name == parser.key_field:
        legal, wanted = text or types.is_integer(plain), "strings or integers"
    else:
        return plain
    if not legal:
        shown = str(field.type)
        if len(shown) > _TYPE_SHOWN:
            shown = shown[:_TYPE_SHOWN] + "\N{HORIZONTAL ELLIPSIS}"
        raise InputError(f"column {field.name!r} has the type {shown}, not {wanted}")
    return plain


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type that a column is cast to.

    Encodings that share buffers among rows are resolved: a block would take all of them. What
    Python has no value for is cut: its times have no nanoseconds.
    """
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        # Of the others another process knows nothing.
        return kind if isinstance(kind, pa.UuidType) else _plain(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _plain(kind.value_type)
    if types.is_string(kind) or types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary(kind) or types.is_binary_view(kind):
        return pa.large_binary()
    if _is_list(kind):
        return pa.large_list(_plain(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, _plain(field.type)) for field in kind])
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if types.is_time64(kind) and kind.unit == "ns":
        return pa.time64("us")
    return kind


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    lists = [types.is_list, types.is_large_list, types.is_fixed_size_list]
    lists += [types.is_list_view, types.is_large_list_view]
    return any(is_list(kind) for is_list in lists)


def _validate(column: pa.Array) -> None:
    """ArrowInvalid if offsets lead out of a column's data, as in a damaged file.

    What is no UTF-8 passes: it costs at the most its row, and later.
    """
    column.validate()
    # Some encodings have no such view: they must be UTF-8.
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        column = column.view(_as_bytes(column.type))
    column.validate(full=True)


def _as_bytes(kind: pa.DataType) -> pa.DataType:
    """The type with the same layout that has bytes for strings."""
    types = pa.types
    if types.is_string(kind):
        return pa.binary()
    if types.is_large_string(kind):
        return pa.large_binary()
    if types.is_string_view(kind):
        return pa.binary_view()
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _as_bytes(kind.value_type), kind.ordered)
    if types.is_list(kind):
        return pa.list_(_as_bytes(kind.value_type))
    if types.is_large_list(kind):
        return pa.large_list(_as_bytes(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, _as_bytes(field.type)) for field in kind])
    return kind


def _all_cast(batch: pa.RecordBatch, targets: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    columns = zip(batch.columns, targets.values(), strict=True)
    return pa.RecordBatch.from_arrays(
        [_cast(column, target) for column, target in columns], names=list(targets)
    )


def _cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    column = _decoded(column, target)
    if column.type == target:
        return column
    try:
        # Unsafe only in that nanoseconds are cut, and that strings may be no UTF-8.
        return column.cast(target, safe=False)
    except pa.ArrowNotImplementedError:
        return column  # metadata in a rare encoding: Python's values are the same


def _decoded(column: pa.Array, target: pa.DataType) -> pa.Array:
    """A column in an encoding that can be cast."""
    if isinstance(column, pa.ExtensionArray) and column.type != target:
        column = column.storage
    if pa.types.is_run_end_encoded(column.type):
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
        if part.num_rows > 1 and part.nbytes > 2 * BLOCK:
            middle = part.num_rows // 2
            waiting += [part.slice(middle), part.slice(0, middle)]
        else:
            yield part


def _packed(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def documents(rows: Lines, parser: RecordParser) -> Iterator[tuple[int, Document | Failure]]:
    """The documents of a block, and a Failure for each row that is none, with their places in it.

    What is not UTF-8 is replaced and counted in the parser, or refused if that is strict.
    """
    return documents_of(pa.ipc.open_stream(rows.data).read_next_batch(), rows, parser)


def documents_of(
    batch: pa.RecordBatch, rows: Lines, parser: RecordParser
) -> Iterator[tuple[int, Document | Failure]]:
    """The same of a batch of plain columns (lshdb.sources.arrow_rows), the rows of a block."""
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
