"""Writing rows to files: one class per format, in a table by the names of formats.

Rows come as a reader gave them, or as values. Those of a reader go out as they were if the format
stays: JSON lines and CSV byte for byte, Parquet and Arrow as record batches. Otherwise their values
go out: JSON as in metadata (lshdb.sources.metadata), CSV with texts as they are and other values as
JSON, null as an empty field. JSON lines have no columns, so for a table they wait in a temporary
file until all columns are known.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from json.encoder import encode_basestring_ascii
from pathlib import Path
from tempfile import TemporaryFile
from types import NoneType
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

from lshdb.errors import InputError, LshdbError, UsageError
from lshdb.json_text import encode, without_surrogates
from lshdb.sources.compression import compression_of
from lshdb.sources.outputs import Output
from lshdb.sources.paths import escaped, format_of, is_database, printable_path
from lshdb.sources.records import BOM, Block, CsvText, Lines, RecordParser, Rows, TableSchema
from lshdb.sources.text_rows import DELIMITERS, line_blocks

if TYPE_CHECKING:
    import pyarrow as pa

    from lshdb.sources.readers import Reader

Columns: TypeAlias = Mapping[str, type]
"""Names and types: str, int, float, bool, bytes; list for JSON arrays and objects, which are JSON
text in CSV and Parquet; object for any value of SQLite or JSON. Every value may be None."""
Values: TypeAlias = Iterable[Sequence[object]]
"""Rows, of a value for each column."""
Record: TypeAlias = dict[str, Any]

KIND: Final[Mapping[str, str]] = {
    "jsonl": "json",
    "json": "json",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "columns",
    "arrow": "columns",
    "arrows": "columns",
}
"""The formats of rows, where `arrow` is an Arrow file and `arrows` an Arrow stream. Between formats
of one kind nothing is lost."""
_STREAM: Final = ".arrows"
_GROUP_BYTES: Final = 32_000_000
_GROUP_ROWS: Final = 1 << 20
"""Bytes and rows that wait for a row group of Parquet or a batch of Arrow."""
_BATCH: Final = 10_000
"""Rows of a record batch."""
_BLOCK: Final = 1 << 20
_NOT_ASCII: Final = re.compile("[^\\x00-\\x7f]+")
_PLAIN: Final = frozenset((int, float, NoneType))
"""Types that the module csv writes well."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows are written to, and how.

    Attributes:
        file: opened for writing.
        format: one of `KIND`.
        screen: whether a terminal may show the values of `put`: control characters are escapes.
        beside: the directory of a temporary file for lines; None for the system's.
    """

    file: Output | IO[bytes]
    format: str
    screen: bool = False
    beside: Path | None = None


class Sink:
    """Rows that are written to a file in one format."""

    def __init__(self, target: Target, head: TableSchema | None) -> None:
        self._file = target.file
        self._screen = target.screen
        self._columns = head.columns if head else ()

    def write(self, block: Block, places: Sequence[int]) -> None:
        """Write the lines or rows of a block at some places, ascending."""
        raise NotImplementedError

    def put(self, rows: Values) -> None:
        """Write rows as they come, of a value for each column of the head."""
        raise NotImplementedError

    def flush(self) -> None:
        """Pass buffered output to the system."""
        self._file.flush()

    def finish(self) -> None:
        """Write the end of the format; the file stays open."""

    def abandon(self) -> None:
        """Write no more."""


@contextmanager
def sink(
    target: Target, head: TableSchema | None, *, of_lines: bool = False, keep: bool = False
) -> Iterator[Sink]:
    """The writer of rows to a file; the end of the format is written where the context ends.

    Args:
        target: the file.
        head: of the tables that the rows are from; None if it is unknown before the rows.
        of_lines: whether the rows are JSON lines.
        keep: whether the end is written after an error, too.

    Raises:
        UsageError: the format cannot have such columns.
    """
    rows = _sink(target, head, of_lines)
    try:
        yield rows
    except BaseException:
        with suppress(LshdbError, OSError):
            (rows.finish if keep else rows.abandon)()
        raise
    rows.finish()


def _sink(target: Target, head: TableSchema | None, of_lines: bool = False) -> Sink:
    if of_lines and KIND[target.format] != "json":
        return _Spooled(target)
    return _SINKS[target.format](target, head)


def table_schema_of(columns: Columns, format: str, *, has_heading: bool = True) -> TableSchema:
    """The head of a table of results in a format."""
    schema = schema_of(columns, nullable=True) if KIND[format] == "columns" else None
    return TableSchema(tuple(columns), schema, has_heading=has_heading)


def arrow() -> Any:
    """The module pyarrow; UsageError if it is not installed."""
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyarrow"):
            raise
        raise UsageError("tables need pyarrow: pip install 'lshdb[arrow]'") from None
    return pyarrow


def output_format(path: str, default: str) -> str:
    """The format of a file to be written: by its suffix, else the default, but no JSON array.

    Raises:
        UsageError: rows cannot be written in this format, or the file is a database.
    """
    format: str = format_of(path)
    if format == "text":
        format = "jsonl" if default == "json" else default
    if format == "arrow" and path.lower().endswith(_STREAM):
        format = "arrows"
    if KIND[format] == "columns":
        if compression_of(path):
            raise UsageError(f"{path}: {format} is compressed inside: leave out the last suffix")
        arrow()
    if is_database(path):
        raise UsageError(f"{path} is a database, and would be lost: name another file")
    return format


def common_schema(reader: Reader, paths: Sequence[str], format: str) -> TableSchema | None:
    """The head of one file in this format for the rows of several; None if it is not known.

    Raises:
        UsageError: JSON and tables would go to a table.
        InputError: the tables have different columns, or of different types.
    """
    # A pipe can be read only once.
    heads = [(path, reader.head(path) if os.path.isfile(path) else None) for path in paths]
    if KIND[format] == "json":
        return None
    kinds = [KIND[reader.format_of(path)] for path in paths]
    if len(set(kinds)) > 1:
        other = next(path for path, kind in zip(paths, kinds, strict=True) if kind != kinds[0])
        raise UsageError(
            f"{paths[0]} and {other} are of different kinds, and a table has the columns of one: "
            "write JSON lines, or to a directory"
        )
    known = [(printable_path(path), head) for path, head in heads if head is not None]
    return _combined(known) if known else None


def _combined(heads: Sequence[tuple[str, TableSchema]]) -> TableSchema:
    """The common head of several tables, in the order of the first.

    Args:
        heads: one or more, each with the name of its table.

    Raises:
        InputError: they have different columns, or of different types.
    """
    name, head = heads[0]
    for other_name, other in heads[1:]:
        missing = [one for one in head.columns if one not in other.columns]
        more = [one for one in other.columns if one not in head.columns]
        if missing or more:
            differ = [f"it has no {missing[0]!r}"] if missing else []
            differ += [f"it has also {more[0]!r}"] if more else []
            raise InputError(
                f"{other_name}: its columns are not those of {name}: {' and '.join(differ)}; "
                "a directory as output, or JSON lines, may have both"
            )
    schema = head.schema
    for other_name, other in heads[1:]:
        if schema is not None and other.schema is not None:
            schema = _common_schema(schema, other.schema, name, other_name)
    several = len(heads) > 1 or head.replaces_dictionaries
    return replace(head, schema=schema, replaces_dictionaries=several)


def _common_schema(schema: pa.Schema, other: pa.Schema, name: str, other_name: str) -> pa.Schema:
    pa = arrow()
    fields = []
    for field in schema:
        its = other.field(field.name)
        try:
            # Only a column without values takes the type of the other.
            one, another = pa.schema([field]), pa.schema([its])
            merged = pa.unify_schemas([one, another]).field(0)
        except (pa.ArrowException, TypeError) as error:
            raise InputError(
                f"{other_name}: column {field.name!r} is {its.type}, and {field.type} in {name}; "
                "a directory as output, or JSON lines, may have both"
            ) from error
        fields.append(merged.with_metadata(field.metadata))
    return pa.schema(fields, metadata=schema.metadata)


# rows in other forms


def lines_of(block: Block, places: Sequence[int]) -> list[bytes]:
    """Lines or rows of a block as JSON lines; those that are stay byte for byte.

    All have a newline, except perhaps the last.
    """
    if isinstance(block, Rows):
        return [_json(record) + b"\n" for record in records(block, places)]
    if block.count == 1:  # it may have hundreds of megabytes
        return [block.data] if places else []
    data = block.data.split(b"\n")
    last = len(data) - 1
    return [data[place] + b"\n" if place < last else data[place] for place in places]


def records(block: Block, places: Sequence[int]) -> Iterator[Record]:
    """Lines or rows of a block by the names of their fields."""
    if isinstance(block, Lines):
        parser = RecordParser(of_sets=False)
        for line in lines_of(block, places):
            yield parser.record_of(line)[0]
    elif isinstance(block.source, CsvText | None):
        for place in places:
            yield dict(zip(block.columns, block.rows[place][1], strict=True))
    else:
        from lshdb.sources import arrow_rows

        for batch in _taken(block.source, places):
            yield from arrow_rows.records(batch)


def _taken(batch: pa.RecordBatch, places: Sequence[int]) -> list[pa.RecordBatch]:
    """The rows of a batch at some places, ascending."""
    pa = arrow()
    if not places:
        return []
    if len(places) == batch.num_rows:
        return [batch]
    try:
        return [batch.take(pa.array(places, pa.int64()))]
    except pa.ArrowNotImplementedError:  # Arrow cannot take single rows of this type: runs of rows
        ends = [i for i, (a, b) in enumerate(pairwise(places), 1) if b != a + 1]
        runs = pairwise([0, *ends, len(places)])
        return [batch.slice(places[low], high - low) for low, high in runs]


def json_lines(columns: Iterable[str], rows: Values) -> Iterator[bytes]:
    """Rows as JSON objects, each on a line."""
    names = tuple(columns)
    return (_json(dict(zip(names, row, strict=True))) + b"\n" for row in rows)


def in_ascii(data: bytes) -> bytes:
    """JSON in ASCII, so that a terminal obeys nothing in it."""
    if data.isascii():
        return data
    escapes = _NOT_ASCII.sub(lambda run: encode_basestring_ascii(run[0])[1:-1], data.decode())
    return escapes.encode()


def csv_lines(
    rows: Values, delimiter: str = ",", newline: str = "\n", *, screen: bool = False
) -> Iterator[bytes]:
    """Rows of CSV; on a screen, text is escaped unless all but its newlines are printable."""
    cell = _shown if screen else _cell
    writer = csv.writer(_Returned(), delimiter=delimiter, lineterminator=newline)
    lines = (cast(str, writer.writerow(map(cell, row))) for row in rows)
    return map(str.encode, lines)


class _Returned:
    """A file for csv.writer, whose writerow then returns the line."""

    def write(self, text: str) -> str:
        return text


def _cell(value: object) -> object:
    """A value as CSV has it."""
    kind = type(value)
    if kind is str:
        return without_surrogates(cast(str, value))
    if kind in _PLAIN:
        return value
    if kind is bool:
        return "true" if value else "false"
    return _json(value).decode().strip('"')  # times are in quotes, no others


def _shown(value: object) -> object:
    return "\n".join(map(escaped, value.split("\n"))) if isinstance(value, str) else _cell(value)


def _json(value: object) -> bytes:
    """A value as JSON; InputError if there is none."""
    try:
        return encode(value)
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"a value that JSON does not support: {error}") from error


# formats


class _JsonLines(Sink):
    _is_open_line = False

    def write(self, block: Block, places: Sequence[int]) -> None:
        if lines := lines_of(block, places):
            if self._is_open_line:
                self._file.write(b"\n")
            self._is_open_line = not lines[-1].endswith(b"\n")
            self._file.write(lines[0] if len(lines) == 1 else b"".join(lines))

    def put(self, rows: Values) -> None:
        for line in json_lines(self._columns, rows):
            self._file.write(in_ascii(line) if self._screen else line)


class _JsonArray(Sink):
    _before = b"[\n"

    def write(self, block: Block, places: Sequence[int]) -> None:
        self._put(lines_of(block, places))

    def put(self, rows: Values) -> None:
        self._put(json_lines(self._columns, rows))

    def _put(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._file.write(self._before + line.strip().removeprefix(BOM))
            self._before = b",\n"

    def finish(self) -> None:
        self._file.write(b"\n]\n" if self._before == b",\n" else b"[]\n")


class _Csv(Sink):
    """Rows of CSV with the same columns are written as they are in their file."""

    def __init__(self, target: Target, head: TableSchema | None) -> None:
        super().__init__(target, head)
        self._delimiter = DELIMITERS[target.format]
        if target.format == "csv" and head is not None and head.delimiter == ";":
            self._delimiter = head.delimiter
        self._begun = False
        self._ended = True
        self._newline = "\n"
        if head is not None:
            self._begin(head)

    def write(self, block: Block, places: Sequence[int]) -> None:
        if not self._begun:
            self._begin(_head_of(block))
        columns = self._columns
        _check_columns(block, columns)
        if (
            isinstance(block, Rows)
            and isinstance(block.source, CsvText)
            and block.source.delimiter == self._delimiter
            and block.columns == columns
        ):
            self._put(map(block.source.rows.__getitem__, places))
        else:
            self.put([*map(record.get, columns)] for record in records(block, places))

    def put(self, rows: Values) -> None:
        self._put(csv_lines(rows, self._delimiter, self._newline, screen=self._screen))

    def _begin(self, head: TableSchema) -> None:
        self._columns, self._begun = head.columns, True
        if head.heading and head.delimiter == self._delimiter:
            if head.heading.endswith(b"\r\n"):
                self._newline = "\r\n"
            self._put([head.heading])
        elif head.columns and head.has_heading:
            self.put([head.columns])

    def _put(self, rows: Iterable[bytes]) -> None:
        for row in rows:
            self._file.write(row if self._ended else self._newline.encode() + row)
            self._ended = row.endswith(b"\n")


class ArrowSink(Sink):
    """Parquet with the schema, the metadata and the compression of its rows' file, or Arrow."""

    def __init__(self, target: Target, head: TableSchema | None) -> None:
        super().__init__(target, head)
        self._pa = arrow()
        self._format = target.format
        self._schema: pa.Schema | None = None
        self._writer: Any = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0
        if head is not None:
            self._begin(head)

    def _begin(self, head: TableSchema) -> None:
        pa = self._pa
        schema = head.schema
        if schema is None:
            schema = pa.schema([(name, pa.string()) for name in head.columns])
        import pyarrow.ipc
        import pyarrow.parquet

        try:
            if self._format == "parquet":
                self._writer = pyarrow.parquet.ParquetWriter(
                    self._file, schema, compression=_compression(head.compression)
                )
            elif self._format == "arrows":
                self._writer = pyarrow.ipc.new_stream(self._file, schema)
            else:
                if head.replaces_dictionaries:  # which a file of Arrow cannot do
                    schema = pa.schema([_decoded(field) for field in schema], schema.metadata)
                self._writer = pyarrow.ipc.new_file(self._file, schema)
        except (pa.ArrowException, TypeError) as error:
            raise UsageError(
                f"{self._format.capitalize()} cannot have such columns: {_first_line(error)}"
            ) from error
        self._schema = schema

    def write(self, block: Block, places: Sequence[int]) -> None:
        """As Sink.write."""
        if self._schema is None:
            self._begin(_head_of(block))
        assert self._schema is not None
        _check_columns(block, self._schema.names)
        source = block.source if isinstance(block, Rows) else None
        if isinstance(source, CsvText | None):
            names = self._schema.names
            self.put([*map(record.get, names)] for record in records(block, places))
        else:
            self.put_batches(_taken(source, places))

    def put(self, rows: Values) -> None:
        """As Sink.put."""
        assert self._schema is not None, "values have the columns of a head"
        self.put_batches(row_batches(self._schema, rows))

    def put_batches(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Write record batches, with the types of the head; how many rows."""
        from lshdb.sources.arrow_rows import bytes_of

        count = 0
        for batch in batches:
            count += batch.num_rows
            fitted = _fitted(batch, self._schema)
            self._waiting.append(fitted)
            self._bytes += bytes_of(fitted)
            self._rows += fitted.num_rows
            if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
                self._write_group()
        return count

    def _write_group(self) -> None:
        table = self._pa.Table.from_batches(self._waiting, self._schema)
        self._waiting, self._bytes, self._rows = [], 0, 0
        try:
            self._writer.write_table(table, max(1, table.num_rows))
        except self._pa.ArrowException as error:
            raise InputError(f"rows that cannot be written: {_first_line(error)}") from error

    def finish(self) -> None:
        """As Sink.finish."""
        if self._schema is None:
            self._begin(TableSchema(()))
        if self._waiting:
            self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        """As Sink.abandon; Parquet's writer would write its end when it is freed."""
        if self._writer is not None:
            self._writer.is_open = False


_SINKS: Final[Mapping[str, Callable[[Target, TableSchema | None], Sink]]] = {
    "jsonl": _JsonLines,
    "json": _JsonArray,
    "csv": _Csv,
    "tsv": _Csv,
    "parquet": ArrowSink,
    "arrow": ArrowSink,
    "arrows": ArrowSink,
}


class _Spooled(Sink):
    """JSON lines in a temporary file until their columns are known, then in a table."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, None)
        self._target = target
        self._spool = TemporaryFile(buffering=_BLOCK, dir=target.beside)  # noqa: SIM115
        self._lines = _JsonLines(Target(self._spool, "jsonl"), None)
        self._typed = KIND[target.format] == "columns"
        self._types: dict[str, Any] = {}

    def write(self, block: Block, places: Sequence[int]) -> None:
        self._lines.write(block, places)
        self._look_at(list(records(block, places)))

    def _look_at(self, rows: list[Record]) -> None:
        names = dict.fromkeys(name for row in rows for name in row)
        if not self._typed:
            self._types |= names
            return
        pa = arrow()
        for name in names:
            values = [row.get(name) for row in rows]
            try:  # text if no type holds all values
                schemas = [
                    pa.schema([(name, kind)])
                    for kind in (self._types.get(name, pa.null()), pa.array(values).type)
                ]
                found = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
            except (pa.ArrowException, TypeError, OverflowError):
                found = pa.string()
            self._types[name] = found

    def finish(self) -> None:
        schema = None
        if self._typed:
            schema = arrow().schema(list(self._types.items()))
        table = _sink(self._target, TableSchema(tuple(self._types), schema))
        self._spool.seek(0)
        for block in line_blocks(iter(lambda: self._spool.read(_BLOCK), b""), "lines"):
            assert isinstance(block, Lines)
            filled = [i for i, line in enumerate(block.data.split(b"\n")) if line]
            table.write(block, filled)
        table.finish()
        self._spool.close()


def _head_of(block: Block) -> TableSchema:
    """The head of a table, from some of its rows."""
    assert isinstance(block, Rows), "of lines of JSON the columns come from all of them"
    if isinstance(block.source, CsvText):
        return TableSchema(
            block.columns, heading=block.source.heading, delimiter=block.source.delimiter
        )
    if block.source is None:
        return TableSchema(block.columns)
    return TableSchema(tuple(block.source.schema.names), block.source.schema)


def _check_columns(block: Block, columns: Sequence[str]) -> None:
    """InputError if the rows of a table have other columns than those written before."""
    if isinstance(block, Lines):
        return
    own = _head_of(block).columns
    if differ := set(own) ^ set(columns):
        raise InputError(
            f"{block.name}: its columns differ from those of earlier rows: {min(differ)!r} is only "
            f"in {'this one' if min(differ) in own else 'those'}"
        )


# Arrow


def schema_of(columns: Columns, *, nullable: bool = False) -> pa.Schema:
    """Arrow columns for names and Python's types; those of any values are text."""
    pa = arrow()
    kinds = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        bytes: pa.binary(),
        list: pa.string(),
        object: pa.string(),
    }
    return pa.schema([pa.field(name, kinds[kind], nullable) for name, kind in columns.items()])


def row_batches(schema: pa.Schema, rows: Values) -> Iterator[pa.RecordBatch]:
    """Rows, of a value for each column, as record batches."""
    rows = iter(rows)
    while some := list(islice(rows, _BATCH)):
        yield record_batch(schema, zip(*some, strict=True))


def record_batch(schema: pa.Schema, columns: Iterable[Any]) -> pa.RecordBatch:
    """Columns of values, or arrays, as a record batch.

    Raises:
        UsageError: a column has values of several types.
    """
    pa = arrow()
    arrays = [
        column if isinstance(column, pa.Array) else _array(column, field)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    pa = arrow()
    kind = field.type
    try:
        if pa.types.is_integer(kind) and float in map(type, values):
            raise TypeError("Arrow would cut off the digits")
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
        if pa.types.is_string(kind):
            return pa.array([None if one is None else str(_cell(one)) for one in values], kind)
        if pa.types.is_floating(kind):  # integers that floats cannot hold
            return pa.array([None if one is None else float(one) for one in values], kind)
        raise several_types(field.name) from error


def several_types(column: str) -> UsageError:
    """The error of a column that has values of several types."""
    return UsageError(
        f"column {column} has values of several types, which Parquet cannot hold: write .csv or "
        ".jsonl, or use CAST in SQL"
    )


def _compression(of_columns: Mapping[str, str]) -> str | dict[str, str]:
    """The argument of pyarrow for the compression of columns; its default if unknown."""
    names = {name: name.lower() for name in of_columns.values()} | {"UNCOMPRESSED": "none"}
    if len(found := {*of_columns.values()}) == 1:
        return names[found.pop()]
    return {path: names[name] for path, name in of_columns.items()} or "snappy"


def _decoded(field: pa.Field) -> pa.Field:
    """The column with values in place of a dictionary's numbers."""
    kind = field.type
    return field.with_type(kind.value_type) if arrow().types.is_dictionary(kind) else field


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types of a schema, and the columns in its order."""
    pa = arrow()
    if batch.schema.equals(schema):
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    try:
        columns = [batch.column(field.name).cast(field.type) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    except (pa.ArrowException, KeyError) as error:
        raise InputError(f"rows of other types than earlier rows: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return escaped((str(error).strip() or type(error).__name__).splitlines()[0])
