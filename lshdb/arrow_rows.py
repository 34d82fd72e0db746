"""Tables of Parquet and Arrow: read batch by batch, and made documents where these are signed.

The reader hands on record batches of about a megabyte as Arrow's own bytes, with no object of
Python for a row; whoever signs makes documents of them. Needs pyarrow, the extra `arrow`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO, Final, Literal

from lshdb.errors import InputError
from lshdb.model import Document
from lshdb.records import Failure, Lines, RecordParser, array_of

_BLOCK: Final = 1_000_000
"""About how many bytes of rows a block has."""
_MOST_ROWS: Final = 4_000
_FILE_MAGIC: Final = b"ARROW1"


def blocks(
    file: BinaryIO, name: str, format: Literal["parquet", "arrow"], parser: RecordParser
) -> Iterator[Lines]:
    """Cut a file into blocks of rows, with only the columns that are wanted.

    Memory is bounded by a page of each column of Parquet, and by the largest record batch that
    is in an Arrow file.

    Raises:
        InputError: no such file, a damaged one, or one without the columns that are needed.
    """
    pa = _pyarrow()
    try:
        batches = _of_parquet(file, parser) if format == "parquet" else _of_arrow(file, parser)
        first = 1
        for batch in batches:
            for start, data in _streams(batch):
                yield Lines(name, first + start, len(data[0]), data[1], "table")
            first += len(batch)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # also in columns' names
        if isinstance(error, OSError) and error.errno is not None:
            raise
        kind = "Parquet" if format == "parquet" else "Arrow"
        reason = next(iter(str(error).splitlines()), "")
        raise InputError(f"not {kind}, or damaged: {reason}") from error


def documents(lines: Lines, parser: RecordParser) -> Iterator[tuple[int, Document | Failure]]:
    """The documents of a block of rows, each with its place in it, from 0."""
    table = _pyarrow().ipc.open_stream(lines.data).read_all()
    names = table.column_names
    columns = [_values(column) for column in table.columns]
    field = parser.content_field
    for place, row in enumerate(zip(*columns, strict=True)):
        where = f"{lines.name}:{lines.first + place}"
        record = dict(zip(names, row, strict=True))
        try:
            content = record[field]
            if isinstance(content, bytes):
                content = record[field] = parser.decoded(content)
            if parser.of_sets and isinstance(content, str):
                record[field] = array_of(content, field)
            yield place, parser.of_record(record, where)
        except InputError as error:
            yield place, Failure(where, str(error))


def _values(column: Any) -> list[Any]:
    """The values of a column; None for those that Python has not, as dates beyond the year 9999."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (ValueError, OverflowError):
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return None


def _of_parquet(file: BinaryIO, parser: RecordParser) -> Iterator[Any]:
    """The record batches of a Parquet file, each of about a block."""
    parquet = import_module("pyarrow.parquet")
    if not file.seekable():
        raise InputError("Parquet is read from its end, so it cannot come from a pipe")
    # Column chunks are read in pieces: a row group may be larger than memory.
    with parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as source:
        wanted = _wanted(source.schema_arrow, parser)
        for number in range(source.num_row_groups):
            group = source.metadata.row_group(number)
            rows = _BLOCK * group.num_rows // max(1, group.total_byte_size)
            yield from source.iter_batches(
                batch_size=min(max(1, rows), _MOST_ROWS), row_groups=[number], columns=wanted
            )


def _of_arrow(file: BinaryIO, parser: RecordParser) -> Iterator[Any]:
    """The record batches of an Arrow IPC file, or stream, as they are in it."""
    ipc = import_module("pyarrow.ipc")
    if file.seekable() and file.read(len(_FILE_MAGIC)) == _FILE_MAGIC:
        with ipc.open_file(file) as source:
            wanted = _wanted(source.schema, parser)
            for number in range(source.num_record_batches):
                yield source.get_batch(number).select(wanted)
        return
    if file.seekable():
        file.seek(0)
    with ipc.open_stream(file) as source:
        wanted = _wanted(source.schema, parser)
        for batch in source:
            yield batch.select(wanted)


def _wanted(schema: Any, parser: RecordParser) -> list[str]:
    """The names of the columns that are read; InputError where one has a type that cannot be."""
    types = _pyarrow().types
    wanted = parser.wanted(schema.names)
    for name in wanted:
        found = schema.field(name).type
        plain = found.value_type if types.is_dictionary(found) else found
        text = _is_text(plain)
        if name == parser.content_field:
            elements = plain.value_type if _is_list(plain) else None
            if parser.of_sets:
                legal = text or _is_text(elements) or types.is_integer(elements)
                needed = "lists of strings or integers"
            else:
                legal, needed = text or _is_binary(plain), "strings"
        elif name == parser.key_field:
            legal, needed = text or types.is_integer(plain), "strings or integers"
        else:
            continue
        if not legal and not types.is_null(plain):
            raise InputError(f"column {name!r} has {found}, not {needed}")
    return wanted


def _streams(batch: Any) -> Iterator[tuple[int, tuple[Any, bytes]]]:
    """A batch in pieces of about a block: where each begins, the piece, and it as a stream."""
    pa = _pyarrow()
    # Offsets beyond the data would be read from memory that is not the file's. This finds texts
    # that are no UTF-8 too, and takes a fraction of what reading takes.
    batch.validate(full=True)
    schema = pa.schema([(field.name, _plain(field.type)) for field in batch.schema])
    rows = len(batch)
    if batch.nbytes > 2 * _BLOCK:
        rows = max(1, _BLOCK * rows // batch.nbytes)
    for start in range(0, len(batch), max(1, min(rows, _MOST_ROWS))):
        piece = batch.slice(start, max(1, min(rows, _MOST_ROWS)))
        if piece.schema.types != schema.types:
            # Unsafe only in that nanoseconds are cut: Python's own times have none.
            piece = pa.table(piece.columns, names=schema.names).cast(schema, safe=False)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, piece.schema) as stream:
            stream.write(piece)
        yield start, (piece, sink.getvalue().to_pybytes())


def _plain(found: Any) -> Any:
    """The type in which a column goes to Python: no dictionaries, no views, no nanoseconds."""
    pa = _pyarrow()
    types = pa.types
    if types.is_dictionary(found):
        return _plain(found.value_type)
    if types.is_timestamp(found) and found.unit == "ns":
        return pa.timestamp("us", found.tz)
    if types.is_duration(found) and found.unit == "ns":
        return pa.duration("us")
    if types.is_time64(found) and found.unit == "ns":
        return pa.time64("us")
    if types.is_large_list(found):
        return pa.large_list(_plain(found.value_type))
    if types.is_list(found):
        return pa.list_(_plain(found.value_type))
    if types.is_struct(found):
        return pa.struct([(field.name, _plain(field.type)) for field in found])
    return found


def _is_text(found: Any) -> bool:
    types = _pyarrow().types
    return found is not None and bool(
        types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)
    )


def _is_binary(found: Any) -> bool:
    types = _pyarrow().types
    return bool(
        types.is_binary(found) or types.is_large_binary(found) or types.is_binary_view(found)
    )


def _is_list(found: Any) -> bool:
    types = _pyarrow().types
    return bool(
        types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found)
    )


@cache
def _pyarrow() -> Any:
    """The package; it takes longer to load than most queries, and most need none of it."""
    try:
        module = import_module("pyarrow")
    except ImportError as error:
        raise InputError("Parquet and Arrow take pyarrow: pip install 'lshdb[arrow]'") from error
    import_module("pyarrow.ipc")
    return module
