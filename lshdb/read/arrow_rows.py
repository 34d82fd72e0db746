"""Parquet, Arrow and tables of other libraries: read.

Documents are made of Python's values: that takes a hundredth of the time of writing them. Needs
pyarrow, the extra `arrow`.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet

from lshdb import json_text
from lshdb.errors import InputError
from lshdb.read import inputs, kinds, paths
from lshdb.read.batch import Batch, Category, Origin, Record, TableSchema
from lshdb.read.compression import compression_of
from lshdb.read.records import Collector, RecordOptions, distinct_names, longer_than

_BLOCK = 1 << 20
"""Bytes of a block; a longer row is a block by itself."""
_MAX_ROWS = 1_000
"""Rows read at once: the size of a file does not show how much memory repeated values take."""
_FIRST_ROWS = 64
"""Rows of Parquet read at once while their length is unknown."""
_FILE_MAGIC = kinds.KINDS["arrow"].starts[0]
_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
"""The type of the same layout with bytes for strings."""
WITHOUT_VIEW = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds of each unit of time."""


def read(source: inputs.Input, format: str) -> Iterator[Batch]:
    """The documents of a file.

    Memory is bounded by a page of each column of Parquet, and by the largest record batch of an
    Arrow file.

    Raises:
        InputError: a file without the columns that are needed, or damaged, or of another format.
    """
    with readable(f"not {kinds.KINDS[format].name}, or damaged"), _opened(source, format) as reader:
        head = _head(reader)
        columns = source.options.wanted_columns(head.columns)
        if source.options.whole:
            yield Batch(origin=Origin(source.name, (), schema=head))
        batches = reader
        if isinstance(reader, pa.parquet.ParquetFile):
            is_whole = source.options.whole or head.columns != names_of(reader.schema_arrow)
            batches = _of_parquet(reader, None if is_whole else columns)
        elif isinstance(reader, pa.ipc.RecordBatchFileReader):
            batches = map(reader.get_batch, range(reader.num_record_batches))
        yield from document_batches(
            _counted(batches, source),
            source.name,
            source.options,
            head=head if source.options.whole else None,
            in_file=True,
        )


def _opened(source: inputs.Input, format: str) -> Any:
    """A reader of Parquet, or of an Arrow file or stream, to be closed."""
    file = source.stream
    if compression_of(source.name):
        raise InputError(f"a compressed {format} file: unpack it first")
    if format == "parquet":
        if not file.seekable():
            raise InputError("Parquet is read from its end, so it cannot come from a pipe")
        return pa.parquet.ParquetFile(file, buffer_size=_BLOCK, pre_buffer=False)
    if not file.seekable():
        return pa.ipc.open_stream(file)
    start = file.read(len(_FILE_MAGIC))
    file.seek(0)
    return pa.ipc.open_file(file) if start == _FILE_MAGIC else pa.ipc.open_stream(file)


def _head(reader: Any) -> TableSchema:
    """The columns, with their types."""
    is_parquet = isinstance(reader, pa.parquet.ParquetFile)
    schema = reader.schema_arrow if is_parquet else reader.schema
    names = distinct_names(names_of(schema))
    fields = [field.with_name(name) for field, name in zip(schema, names, strict=True)]
    return TableSchema(
        tuple(names),
        pa.schema(fields, schema.metadata),
        replaces_dictionaries=not isinstance(reader, pa.ipc.RecordBatchFileReader),
    )


def names_of(schema: pa.Schema) -> tuple[str, ...]:
    """The names of the columns; InputError for those that are not UTF-8."""
    try:
        return tuple(schema.names)
    except UnicodeDecodeError as error:
        raise InputError("the names of the columns are not UTF-8") from error


def _counted(batches: Iterable[pa.RecordBatch], source: inputs.Input) -> Iterator[pa.RecordBatch]:
    """The batches; says how much of their file is read."""
    read = 0
    for batch in batches:
        now = max(read, source.stream.tell()) if source.size else 0
        source.counts.bytes_read += now - read
        read = now
        yield batch
    source.counts.bytes_read += source.size - read


def _of_parquet(
    source: pa.parquet.ParquetFile, columns: list[str] | None
) -> Iterator[pa.RecordBatch]:
    # In pieces: a row group may be larger than memory.
    metadata = source.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # Repeated values take almost no room in the file: the first rows show their size in memory.
    first = next(source.iter_batches(_FIRST_ROWS, columns=columns, use_threads=False), None)
    sizes = [first.nbytes // max(1, first.num_rows)] if first is not None else []
    sizes += [group.total_byte_size // max(1, group.num_rows) for group in groups]
    rows = min(_MAX_ROWS, _BLOCK // max(1, *sizes, 1))
    rows_read = 0
    for number in range(len(groups)):  # rows before a damaged one are read
        options = {"row_groups": [number], "columns": columns, "use_threads": False}
        for batch in source.iter_batches(max(1, rows), **options):
            yield batch
            rows_read += batch.num_rows
    if rows_read < metadata.num_rows:
        raise InputError(f"it has {rows_read:,} rows, and says that it has {metadata.num_rows:,}")


@contextlib.contextmanager
def readable(unreadable: str) -> Iterator[None]:
    """Raise InputError, with a message that begins with `unreadable`, for Arrow's own errors."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{unreadable}: {first_line(error)}") from error


def document_batches(
    batches: Iterable[pa.RecordBatch],
    name: str,
    options: RecordOptions,
    *,
    head: TableSchema | None = None,
    in_file: bool = False,
) -> Iterator[Batch]:
    """The documents of record batches, whose rows are numbered from 1.

    Args:
        batches: may come from files and from other programs: their offsets are checked for values
            outside of their data.
        name: of the file or table, as printed.
        options: how rows become documents.
        head: of the table, if rows are wanted with all of their columns.
        in_file: whether they are from a file.

    Raises:
        InputError: a batch lacks a column that is wanted.
        pa.ArrowException, OSError, UnicodeDecodeError: a batch cannot be read.
    """
    number, largest = 1, options.limits.largest_row
    for given in batches:
        names = distinct_names(names_of(given.schema))
        table_batch = given.rename_columns(names)
        batch = table_batch.select(options.wanted_columns(names))
        for column in (batch if head is None else table_batch).columns:
            column.validate()
            # Bad UTF-8 costs its row, later; some encodings have no such view.
            with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
                kind = with_values(column.type, lambda kind: _BYTES.get(kind, kind))
                column = column.view(kind)
            column.validate(full=True)
        first = number
        for part in _cut(batch, largest):
            numbers, offset = range(number, number + part.num_rows), number - first
            number = numbers.stop
            size, rows = part.nbytes, None
            if head is not None:
                rows = table_batch.slice(offset, part.num_rows)
                size += bytes_of(rows)
            documents = Collector(options, Origin(name, numbers, in_file=in_file, schema=head))
            if part.num_rows == 1 and part.nbytes > largest:
                documents.fail(0, longer_than(largest))
            elif not options.only_rows:
                in_types = batch.slice(offset, part.num_rows)
                documents.order_values = _categories(in_types, options.order_field)
                records, bad = records_of(part)
                for index, record in enumerate(records):
                    documents.take(index, record, index in bad)
            yield documents.batch(size, rows)


def decoded(column: pa.Array) -> pa.Array:
    """The column itself, without a dictionary and run ends."""
    if pa.types.is_run_end_encoded(column.type):
        column = pa.compute.run_end_decode(column)
    if pa.types.is_dictionary(column.type):
        values = plain(column.dictionary)  # pyarrow cannot take views
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    return column


def _categories(batch: pa.RecordBatch, name: str) -> list[Category | None]:
    """The values of a column of ordered categories; empty if there is none of this name."""
    column = batch.column(name) if name in batch.schema.names else None
    if not isinstance(column, pa.DictionaryArray) or not column.type.ordered:
        return []
    names = tuple(map(str, column.dictionary.to_pylist()))
    codes = column.indices.to_pylist()
    return [None if code is None else Category(code, names) for code in codes]


def records_of(batch: pa.RecordBatch) -> tuple[Iterable[Record], Set[int]]:
    """The rows as Python's values, and the indices of those with texts that are not UTF-8."""
    columns, bad = [], set[int]()
    for column in batch.columns:
        kind = with_values(column.type, _in_microseconds)
        try:
            # Python has no nanoseconds; pyarrow would leave them out of times of the day.
            column = column if kind == column.type else column.cast(kind)
            columns.append([*map(_value, column)] if "[ns" in str(kind) else column.to_pylist())
        except (ValueError, OverflowError):
            bad.update(index for index, value in enumerate(column) if not _is_utf8(value))
            columns.append([*map(_value, column)])
    names = batch.schema.names
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)), bad


def _is_utf8(scalar: pa.Scalar) -> bool:
    """Whether all texts in a value are UTF-8."""
    try:
        scalar.as_py()
    except UnicodeDecodeError:
        return False
    except (ValueError, OverflowError):
        pass
    return True


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    """The type of the same times without nanoseconds."""
    if getattr(kind, "unit", "") != "ns":
        return kind
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")


def with_values(kind: pa.DataType, changed: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with other types of the innermost values, and of dictionaries of them."""
    types = pa.types
    if types.is_dictionary(kind):
        values = with_values(kind.value_type, changed)
        kind = pa.dictionary(kind.index_type, values, kind.ordered)
    if types.is_list(kind):
        return pa.list_(with_values(kind.value_type, changed))
    if types.is_large_list(kind):
        return pa.large_list(with_values(kind.value_type, changed))
    if types.is_struct(kind):
        return pa.struct([(field.name, with_values(field.type, changed)) for field in kind])
    return changed(kind)


def _cut(batch: pa.RecordBatch, largest: int) -> Iterator[pa.RecordBatch]:
    """A batch in pieces about as long as a block; rows alone if some may be too long."""
    for start in range(0, batch.num_rows, _MAX_ROWS):
        rows = plain_batch(batch.slice(start, _MAX_ROWS))
        max_rows = (
            1 if rows.nbytes > largest else max(1, rows.num_rows * _BLOCK // (rows.nbytes + 1))
        )
        for row in range(0, rows.num_rows, max_rows):
            yield rows.slice(row, max_rows)


def bytes_of(batch: pa.RecordBatch) -> int:
    """The bytes of a batch's values: `nbytes` counts all that views share with other rows."""
    return int(plain_batch(batch).nbytes)


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with columns as `plain` gives them."""
    return pa.RecordBatch.from_arrays(list(map(plain, batch.columns)), batch.schema.names)


def plain(column: pa.Array) -> pa.Array:
    """A column without encodings and views, so that its size is known."""
    column = decoded(column)
    target = with_values(column.type, without_view)
    return column if target == column.type else column.cast(target)


def _value(scalar: pa.Scalar) -> Any:
    """A value of Python, in which bytes that are not UTF-8 are U+FFFD.

    Times that Python lacks are texts, as in ISO 8601; durations that it lacks, in seconds.
    """
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.StructScalar):
        return {name: _value(value) for name, value in scalar.items()}
    if isinstance(scalar, pa.MapScalar):
        return [tuple(map(_value, entry.values())) for entry in scalar.values]
    if isinstance(scalar, pa.ListScalar):
        return [*map(_value, scalar.values)]
    kind = scalar.type
    try:
        wanted = _in_microseconds(kind)
        return (scalar if wanted == kind else scalar.cast(wanted)).as_py()
    except UnicodeDecodeError:
        if hasattr(scalar, "as_buffer"):
            return scalar.as_buffer().to_pybytes().decode("utf-8", "replace")
        return _value(scalar.value)
    except (ValueError, OverflowError):
        zone = getattr(kind, "tz", None)
        unit: Any = getattr(kind, "unit", "D")
        if pa.types.is_duration(kind):
            text = json_text.seconds_of(scalar.value * _UNITS[unit])
        elif pa.types.is_time(kind):
            text = scalar.cast(pa.string()).as_py()
        elif zone and unit == "ns":
            text = pa.compute.strftime(scalar, "%Y-%m-%dT%H:%M:%S%Ez").as_py()
        else:  # where pyarrow's texts may be wrong, or none
            scalar = scalar.cast(pa.date32()) if pa.types.is_date64(kind) else scalar
            text = f"{np.datetime64(scalar.value, unit)}{'+00:00' if zone else ''}"
        return json_text.Exact(text)


def without_view(kind: pa.DataType) -> pa.DataType:
    """The type of the same values that is no view."""
    return WITHOUT_VIEW.get(kind, kind)


def first_line(error: Exception) -> str:
    """What an error of Arrow says."""
    return paths.escaped((str(error).strip() or type(error).__name__).splitlines()[0])
