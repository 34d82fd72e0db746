"""Parquet, Arrow and tables of other libraries: record batches, and their rows in blocks.

Rows are Python values: making them takes a hundredth of the time of writing a document. Needs
pyarrow, the extra `arrow`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from lshdb.errors import InputError, UsageError
from lshdb.sources.paths import escaped
from lshdb.sources.records import Path, RecordParser, Rows, TableSchema, Values, field_paths

_BLOCK: Final = 1 << 20
"""Bytes of a block; a longer row is a block by itself."""
_MAX_ROWS: Final = 1_000
"""Rows read at once: the size of a file does not show how much memory repeated values take."""
_FIRST_ROWS: Final = 64
"""Rows of Parquet read at once while their length is unknown."""
_FILE_MAGIC: Final = b"ARROW1"
_SCHEMA: Final = b"ARROW:schema"
"""The key of Parquet's metadata that has the schema itself."""
_TYPE_SHOWN: Final = 60
"""Characters of a column's type in a message: types of nested columns can be very long."""
_INDEX_OF_PANDAS: Final = re.compile(r"__index_level_\d+__")


def file_batches(
    file: BinaryIO,
    format: str,
    parser: RecordParser,
    on_read: Callable[[float], None],
    *,
    whole: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The record batches of a file of Parquet or Arrow, with only the wanted columns.

    Memory is bounded by a page of each column of Parquet, and by the largest record batch of an
    Arrow file.

    Args:
        file: opened for reading; one of Parquet must be able to seek.
        format: `parquet` or `arrow`.
        parser: says which columns are wanted.
        on_read: called now and then with the share of the file that was read, 0 to 1.
        whole: give all columns.

    Raises:
        InputError: a file without the columns that are needed, or not of that format.
        pyarrow.ArrowException: a damaged file.
    """
    with _opened(file, format) as source:
        if isinstance(source, pa.parquet.ParquetFile):
            wanted = _checked_columns(source.schema_arrow, parser)
            yield from _of_parquet(source, None if whole else wanted, on_read)
            return
        wanted = _checked_columns(source.schema, parser)
        if isinstance(source, pa.ipc.RecordBatchFileReader):
            count = source.num_record_batches
            for number in range(count):
                batch = source.get_batch(number)
                on_read((number + 1) / count)
                yield batch if whole else batch.select(wanted)
            return
        size = 0
        if file.seekable():
            place = file.tell()
            size = file.seek(0, os.SEEK_END)
            file.seek(place)
        for batch in source:
            if size:
                on_read(min(1.0, file.tell() / size))
            yield batch if whole else batch.select(wanted)


def file_head(file: BinaryIO, format: str, parser: RecordParser) -> TableSchema:
    """The head of a file of Parquet or Arrow; see `file_batches`.

    Raises:
        InputError: as `file_batches`, and for a file that is not of that format.
    """
    with _readable(_unreadable(format)), _opened(file, format) as source:
        if not isinstance(source, pa.parquet.ParquetFile):
            _checked_columns(source.schema, parser)
            is_stream = isinstance(source, pa.RecordBatchReader)
            return TableSchema(
                tuple(source.schema.names), source.schema, replaces_dictionaries=is_stream
            )
        schema, metadata = source.schema_arrow, source.metadata
        _checked_columns(schema, parser)
        compression = {}
        if metadata.num_row_groups:
            group = metadata.row_group(0)
            columns = map(group.column, range(group.num_columns))
            compression = {one.path_in_schema: one.compression for one in columns}
        # Also keeps what other programs put beside the schema.
        own = {name: text for name, text in (metadata.metadata or {}).items() if name != _SCHEMA}
        schema = schema.with_metadata(own | (schema.metadata or {}))
        return TableSchema(tuple(schema.names), schema, compression=compression)


def _unreadable(format: str) -> str:
    return f"not {format.capitalize()}, or damaged"


def _opened(file: BinaryIO, format: str) -> Any:
    """A reader of Parquet, or of an Arrow file or stream, to be closed; see `file_batches`."""
    if format == "parquet":
        if not file.seekable():
            raise InputError("Parquet is read from its end, so it cannot come from a pipe")
        return pa.parquet.ParquetFile(file, buffer_size=_BLOCK, pre_buffer=False)
    is_file = file.seekable() and file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
    if file.seekable():
        file.seek(0)
    return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)


def _of_parquet(
    source: pa.parquet.ParquetFile, wanted: list[str] | None, on_read: Callable[[float], None]
) -> Iterator[pa.RecordBatch]:
    # In pieces: a row group may be larger than memory.
    metadata = source.metadata
    # Repeated values take almost no room in the file: the first rows show their size in memory.
    first = next(source.iter_batches(_FIRST_ROWS, columns=wanted, use_threads=False), None)
    least = first.nbytes // max(1, first.num_rows) if first is not None else 1
    done = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        each = max(1, least, group.total_byte_size // max(1, group.num_rows))
        for batch in source.iter_batches(
            max(1, min(_MAX_ROWS, _BLOCK // each)),
            row_groups=[number],
            columns=wanted,
            use_threads=False,
        ):
            yield batch
            done += batch.num_rows
            on_read(min(1.0, done / max(1, metadata.num_rows)))
    if done < metadata.num_rows:
        raise InputError(f"it has {done:,} rows, and says that it has {metadata.num_rows:,}")


def table_batches(table: object, parser: RecordParser) -> Iterator[pa.RecordBatch]:
    """The record batches of a table, read lazily.

    Args:
        table: an object with the Arrow C stream interface (`__arrow_c_stream__`) or the C array
            interface, an iterable of such objects, or a Hugging Face dataset.
        parser: says which columns are wanted.

    Raises:
        UsageError: it is none of these.
        InputError: it lacks a column that is wanted, even if it has no rows.
        pyarrow.ArrowException: it cannot be read.
    """
    tables: Iterable[object] = [table]
    if not _is_table(table):
        if hasattr(table, "with_format") and hasattr(table, "iter"):
            # Iterating over a dataset makes Python objects, row by row.
            table = table.with_format("arrow").iter(batch_size=_MAX_ROWS)
        if not isinstance(table, Iterable) or isinstance(table, str | bytes | Mapping):
            raise _no_table(table)
        tables = table
    for one in tables:
        if not _is_table(one):
            raise _no_table(one)
        reader = table_reader(one)
        wanted_columns(reader.schema, parser)
        yield from reader


def _is_table(table: object) -> bool:
    return hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")


def _no_table(table: object) -> UsageError:
    return UsageError(
        f"{type(table).__name__} is not a table: give something with the Arrow C stream interface, "
        "such as a pyarrow Table or RecordBatchReader, or a pandas or Polars DataFrame"
    )


def table_reader(table: object) -> pa.RecordBatchReader:
    """A reader of a table with the Arrow C stream or array interface."""
    # pyarrow's own tables do not go through C: before 25 that fails with views that a cast made.
    if isinstance(table, pa.Table):
        return table.to_reader()
    if isinstance(table, pa.RecordBatchReader):
        return table
    try:
        if hasattr(table, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(table)
        batch = table if isinstance(table, pa.RecordBatch) else pa.record_batch(table)
    except UnicodeEncodeError as error:  # pandas makes Arrow's strings of Python's
        raise InputError(
            f"the table has {error.object[:50]!r}: a lone surrogate is not Unicode text"
        ) from error
    return pa.RecordBatchReader.from_batches(batch.schema, [batch])


def _checked_columns(schema: pa.Schema, parser: RecordParser) -> list[str]:
    with suppress(UnicodeDecodeError):  # reported by the other check
        parser.check_columns(schema.names)  # whose messages name the options
    return wanted_columns(schema, parser)


def wanted_columns(schema: pa.Schema, parser: RecordParser) -> list[str]:
    """The columns that documents are made of, in their order.

    A key is a string or an integer, a text a string or bytes of UTF-8, a set a list of strings or
    of integers, or a JSON array as a string. Other columns are metadata, of any type, except the
    unnamed index of pandas.

    Raises:
        InputError: a column is missing, repeated, or has a wrong type.
    """
    try:
        names = schema.names
    except UnicodeDecodeError as error:
        raise InputError("the names of the columns are not UTF-8") from error
    content = field_paths(parser.content_field, names)
    key = field_paths(parser.key_field, names)[0]
    paths = [key, *content] if key[0] in names or not parser.auto_key else content
    own = [path[0] for path in paths]
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
    for path in paths:
        _check_type(schema, path, parser, is_key=path not in content)
    return wanted


def _check_type(schema: pa.Schema, path: Path, parser: RecordParser, *, is_key: bool) -> None:
    """InputError if a column of keys or of documents has a wrong type."""
    types, field = pa.types, schema.field(path[0])
    for name in path[1:]:
        inside = _of_values(field.type)
        if not types.is_struct(inside) or inside.get_field_index(name) < 0:
            raise InputError(f"no field {name!r} in column {field.name!r}, which is {field.type}")
        field = inside.field(name)
    kind = _of_values(field.type)
    legal = _is_text(kind)
    if is_key:
        legal, wanted = legal or types.is_integer(kind), "strings or integers"
    elif not parser.of_sets:
        binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
        legal, wanted = legal or binary, "strings"
    else:
        if _is_list(kind):
            element = _of_values(kind.value_type)
            legal = _is_text(element) or types.is_integer(element)
        wanted = "lists of strings or integers"
    if not legal:
        shown = str(field.type)
        if len(shown) > _TYPE_SHOWN:
            shown = shown[:_TYPE_SHOWN] + "\N{HORIZONTAL ELLIPSIS}"
        raise InputError(f"column {'.'.join(path)!r} has the type {escaped(shown)}, not {wanted}")


def _of_values(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves, without their encoding."""
    if isinstance(kind, pa.BaseExtensionType):
        return _of_values(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _of_values(kind.value_type)
    return kind


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    texts = [types.is_string, types.is_large_string, types.is_string_view, types.is_null]
    return any(is_text(kind) for is_text in texts)


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    lists = [types.is_list, types.is_large_list, types.is_fixed_size_list]
    lists += [types.is_list_view, types.is_large_list_view]
    return any(is_list(kind) for is_list in lists)


@contextmanager
def _readable(unreadable: str) -> Iterator[None]:
    """Raise InputError, with a message that begins with `unreadable`, for Arrow's own errors."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{unreadable}: {escaped(reason)}") from error


def blocks(
    batches: Iterable[pa.RecordBatch],
    name: str,
    parser: RecordParser,
    format: str | None = None,
    *,
    keep_whole: bool = False,
) -> Iterator[Rows]:
    """The rows of record batches in blocks, numbered from 1.

    Args:
        batches: may come from files and from other programs: their offsets are checked for values
            outside of their data.
        name: of the table, as printed.
        parser: says which columns are wanted.
        format: of a file, `parquet` or `arrow`, for the message if a batch cannot be read.
        keep_whole: whether blocks include their batches, with all columns.

    Raises:
        InputError: a batch lacks a column, or has it in another type (see `wanted_columns`), or
            it cannot be read.
    """
    number, largest = 1, parser.limits.largest_document
    with _readable("the table cannot be read" if format is None else _unreadable(format)):
        for whole in batches:
            batch = whole.select(wanted_columns(whole.schema, parser))
            for column in (whole if keep_whole else batch).columns:
                _validate(column)
            done = 0
            for part in _cut(batch):
                size, source = part.nbytes, None
                rows: list[tuple[int, Values]]
                if part.num_rows == 1 and size > largest:
                    rows = [(number + done, f"longer than {largest:,} bytes, the limit")]
                    invalid_utf8 = False
                else:
                    columns, invalid_utf8 = _columns(part)
                    rows = list(enumerate(zip(*columns, strict=True), number + done))
                if keep_whole:
                    source = whole.slice(done, part.num_rows)
                    size += bytes_of(source)
                in_file = format is not None
                yield Rows(
                    name, tuple(part.schema.names), rows, size, invalid_utf8, source, in_file
                )
                done += part.num_rows
            number += done


def records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch as Python's values; bytes that are not UTF-8 become lone surrogates."""
    plain = pa.RecordBatch.from_arrays([_plain(one) for one in batch.columns], batch.schema.names)
    columns, _ = _columns(plain)
    names = plain.schema.names
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _columns(batch: pa.RecordBatch) -> tuple[list[list[Any]], bool]:
    """The columns as Python's values, and whether some are not UTF-8 (see `_value`)."""
    columns, invalid_utf8 = [], False
    for column in batch.columns:
        try:
            columns.append(column.to_pylist())
        except (ValueError, OverflowError):
            columns.append([_value(scalar) for scalar in column])
            invalid_utf8 = True
    return columns, invalid_utf8


def _validate(column: pa.Array) -> None:
    """ArrowInvalid if offsets are outside of a column's data, as in a damaged file.

    Bad UTF-8 is allowed here: it costs at most its row, later.
    """
    column.validate()
    # Some encodings have no such view: they must be UTF-8.
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        column = column.view(_with_values(column.type, _as_bytes))
    column.validate(full=True)


def _as_bytes(kind: pa.DataType) -> pa.DataType:
    """The type of the same layout with bytes for strings."""
    types = pa.types
    if types.is_string(kind):
        return pa.binary()
    if types.is_large_string(kind):
        return pa.large_binary()
    return pa.binary_view() if types.is_string_view(kind) else kind


def _with_values(kind: pa.DataType, changed: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with other types of the innermost values."""
    types = pa.types
    if types.is_dictionary(kind):
        values = _with_values(kind.value_type, changed)
        return pa.dictionary(kind.index_type, values, kind.ordered)
    if types.is_list(kind):
        return pa.list_(_with_values(kind.value_type, changed))
    if types.is_large_list(kind):
        return pa.large_list(_with_values(kind.value_type, changed))
    if types.is_struct(kind):
        return pa.struct([(field.name, _with_values(field.type, changed)) for field in kind])
    return changed(kind)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in pieces not much longer than a block, or of one row."""
    for start in range(0, batch.num_rows, _MAX_ROWS):
        some = batch.slice(start, _MAX_ROWS)
        columns = [_plain(column) for column in some.columns]
        waiting = [pa.RecordBatch.from_arrays(columns, names=some.schema.names)]
        while waiting:
            part = waiting.pop()
            if part.num_rows > 1 and part.nbytes > 2 * _BLOCK:
                middle = part.num_rows // 2
                waiting += [part.slice(middle), part.slice(0, middle)]
            else:
                yield part


def bytes_of(batch: pa.RecordBatch) -> int:
    """The bytes of a batch's values: `nbytes` counts all that views share with other rows."""
    return sum(_plain(column).nbytes for column in batch.columns)


def _plain(column: pa.Array) -> pa.Array:
    """A column without encodings and views, so that its size is known, and without nanoseconds.

    Python has no values for times of nanoseconds without pandas.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    target = _with_values(column.type, _as_plain)
    return column if target == column.type else column.cast(target, safe=False)


def _as_plain(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if types.is_time64(kind) and kind.unit == "ns":
        return pa.time64("us")
    return kind


def _value(scalar: pa.Scalar) -> Any:
    """A value of Python, in which bytes that are not UTF-8 are lone surrogates.

    None for values that Python does not have, as dates beyond the year 9999.
    """
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        if isinstance(scalar, pa.StructScalar):
            return {name: _value(value) for name, value in scalar.items()}
        if isinstance(scalar, pa.ListScalar):
            return [_value(value) for value in scalar.values]
        if hasattr(scalar, "as_buffer"):
            return scalar.as_buffer().to_pybytes().decode("utf-8", "surrogateescape")
        return _value(scalar.value) if hasattr(scalar, "value") else None
    except (ValueError, OverflowError):
        return None
