"""Writing rows of files to files: unchanged if the format stays, else with the same values.

JSON lines and CSV keep their bytes, Parquet and Arrow their record batches. Other formats get the
values: JSON as in metadata (lshdb.sources.metadata), CSV with texts as they are and other values as
JSON, null as an empty field. JSON lines have no columns, so for a table they wait in a temporary
file until all columns are known.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TypeAlias

from lshdb.errors import InputError, UsageError
from lshdb.exchange.tables import arrow
from lshdb.ingest.add import Outcome
from lshdb.json_text import dumps, without_surrogates
from lshdb.model import Line
from lshdb.sources.compression import compression_of
from lshdb.sources.paths import escaped, format_of, is_database, printable_path
from lshdb.sources.readers import Reader
from lshdb.sources.records import BOM, Block, CsvText, Head, Lines, RecordParser, Rows
from lshdb.sources.text_rows import DELIMITERS, line_blocks

if TYPE_CHECKING:
    import pyarrow as pa

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
"""Bytes in memory for a row group of Parquet, or a batch of Arrow, before it is written."""
_BLOCK: Final = 1 << 20

Record: TypeAlias = dict[str, Any]


class RowFile(Protocol):
    """A file that rows are written to."""

    def write(self, block: Block, places: Sequence[int]) -> None:
        """Write the lines or rows of a block at some places, ascending."""

    def finish(self) -> None:
        """Write the end of the format; the file stays open."""


def row_file(
    file: BinaryIO,
    format: str,
    head: Head | None,
    *,
    of_lines: bool = False,
    beside: Path | None = None,
) -> RowFile:
    """The writer of rows to a file.

    Args:
        file: opened for writing.
        format: one of `KIND`.
        head: of the tables that the rows are from; None if it is unknown before the rows.
        of_lines: whether the rows are JSON lines.
        beside: the directory of a temporary file for lines; None for the system's.

    Raises:
        UsageError: the format cannot have such columns.
    """
    if format == "jsonl":
        return _JsonLines(file)
    if format == "json":
        return _JsonArray(file)
    if of_lines:
        return _Spooled(beside, lambda head: _table(file, format, head), format)
    return _table(file, format, head)


def _table(file: BinaryIO, format: str, head: Head | None) -> RowFile:
    if format in DELIMITERS:
        delimiter = DELIMITERS[format]
        if format == "csv" and head is not None and head.delimiter == ";":
            delimiter = head.delimiter
        return _Csv(file, delimiter, head)
    return _Arrow(file, format, head)


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


def common_head(reader: Reader, paths: Sequence[str], format: str) -> Head | None:
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


def _combined(heads: Sequence[tuple[str, Head]]) -> Head:
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
    return Head(head.columns, schema, head.heading, head.delimiter, head.compression, several)


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
    if isinstance(block, Lines):
        data = block.data.split(b"\n")
        last = len(data) - 1
        return [data[place] + b"\n" if place < last else data[place] for place in places]
    return [f"{_json(record)}\n".encode() for record in records(block, places)]


def numbered_lines(outcomes: Iterable[Outcome]) -> Iterator[Line]:
    """The rows of blocks as JSON lines, and whether they are kept; see Database.dedup."""
    for outcome in outcomes:
        block = outcome.block
        if block is None:
            continue
        lines = lines_of(block, outcome.places)
        of_rows = zip(outcome.keys, outcome.places, lines, outcome.skipped, strict=True)
        for key, place, line, skipped in of_rows:
            yield Line(key, block.name, block.number(place), line, skipped)


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


def _cell(value: object) -> str:
    """A value as CSV has it."""
    if value is None:
        return ""
    if not isinstance(value, str):
        text = _json(value)
        return text.strip('"')  # of a time, which has no others
    return without_surrogates(value)


def _json(value: object) -> str:
    """A value as JSON; InputError if there is none."""
    try:
        return dumps(value)
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"a value that JSON does not support: {error}") from error


# formats


class _JsonLines:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._is_open_line = False

    def write(self, block: Block, places: Sequence[int]) -> None:
        lines = lines_of(block, places)
        if not lines:
            return
        if self._is_open_line:
            self._file.write(b"\n")
        self._file.write(b"".join(lines))
        self._is_open_line = not lines[-1].endswith(b"\n")

    def finish(self) -> None:
        """Nothing to do: a last line without a newline stays so."""


class _JsonArray:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._before = b"[\n"

    def write(self, block: Block, places: Sequence[int]) -> None:
        for line in lines_of(block, places):
            self._file.write(self._before + line.strip().removeprefix(BOM))
            self._before = b",\n"

    def finish(self) -> None:
        self._file.write(b"\n]\n" if self._before == b",\n" else b"[]\n")


class _Csv:
    """Rows of CSV with the same columns are written as they are in their file."""

    def __init__(self, file: BinaryIO, delimiter: str, head: Head | None) -> None:
        self._file = file
        self._delimiter = delimiter
        self._columns: tuple[str, ...] | None = None
        self._ended = True
        self._newline = b"\n"
        if head is not None:
            self._begin(head)

    def write(self, block: Block, places: Sequence[int]) -> None:
        if self._columns is None:
            self._begin(_head_of(block))
        columns = self._columns or ()
        _check_columns(block, columns)
        if (
            isinstance(block, Rows)
            and isinstance(block.source, CsvText)
            and block.source.delimiter == self._delimiter
            and block.columns == columns
        ):
            for place in places:
                self._put(block.source.rows[place])
        else:
            for record in records(block, places):
                self._put(self._row(_cell(record.get(name)) for name in columns))

    def _begin(self, head: Head) -> None:
        self._columns = head.columns
        if head.heading and head.delimiter == self._delimiter:
            self._put(head.heading)
            if head.heading.endswith(b"\r\n"):
                self._newline = b"\r\n"
        elif head.columns:
            self._put(self._row(head.columns))

    def _row(self, cells: Iterable[str]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self._delimiter, lineterminator="").writerow(cells)
        return text.getvalue().encode() + self._newline

    def _put(self, row: bytes) -> None:
        if not self._ended:
            self._file.write(self._newline)
        self._file.write(row)
        self._ended = row.endswith(b"\n")

    def finish(self) -> None:
        """Nothing to do: a last row without a newline stays so."""


class _Arrow:
    """Parquet with the schema, the metadata and the compression of its rows' file, or Arrow."""

    def __init__(self, file: BinaryIO, format: str, head: Head | None) -> None:
        self._pa = arrow()
        self._file = file
        self._format = format
        self._schema: pa.Schema | None = None
        self._writer: Any = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0
        if head is not None:
            self._begin(head)

    def _begin(self, head: Head) -> None:
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
        from lshdb.sources.arrow_rows import bytes_of

        if self._schema is None:
            self._begin(_head_of(block))
        assert self._schema is not None
        _check_columns(block, self._schema.names)
        if not places:
            return
        source = block.source if isinstance(block, Rows) else None
        if source is None or isinstance(source, CsvText):
            batches = [_from_records(list(records(block, places)), self._schema)]
        else:
            batches = _taken(source, places)
        for batch in batches:
            fitted = _fitted(batch, self._schema)
            self._waiting.append(fitted)
            self._bytes += bytes_of(fitted)
            self._rows += fitted.num_rows
        if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        table = self._pa.Table.from_batches(self._waiting, self._schema)
        self._waiting, self._bytes, self._rows = [], 0, 0
        try:
            self._writer.write_table(table, max(1, table.num_rows))
        except self._pa.ArrowException as error:
            raise InputError(f"rows that cannot be written: {_first_line(error)}") from error

    def finish(self) -> None:
        if self._schema is None:
            self._begin(Head(()))
        if self._waiting:
            self._write_group()
        self._writer.close()


class _Spooled:
    """JSON lines in a temporary file until their columns are known, then in a table."""

    def __init__(self, beside: Path | None, make: Callable[[Head], RowFile], format: str) -> None:
        self._spool = TemporaryFile(buffering=_BLOCK, dir=beside)  # noqa: SIM115  # see finish
        self._lines = _JsonLines(self._spool)
        self._make = make
        self._typed = format not in DELIMITERS
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
            found = _type_of([row.get(name) for row in rows])
            self._types[name] = _merged(self._types.get(name, pa.null()), found)

    def finish(self) -> None:
        schema = None
        if self._typed:
            schema = arrow().schema(list(self._types.items()))
        table = self._make(Head(tuple(self._types), schema))
        self._spool.seek(0)
        for block in line_blocks(iter(lambda: self._spool.read(_BLOCK), b""), "lines"):
            assert isinstance(block, Lines)
            filled = [i for i, line in enumerate(block.data.split(b"\n")) if line]
            table.write(block, filled)
        table.finish()
        self._spool.close()


def _head_of(block: Block) -> Head:
    """The head of a table, from some of its rows."""
    assert isinstance(block, Rows), "of lines of JSON the columns come from all of them"
    if isinstance(block.source, CsvText):
        return Head(block.columns, heading=block.source.heading, delimiter=block.source.delimiter)
    if block.source is None:
        return Head(block.columns)
    return Head(tuple(block.source.schema.names), block.source.schema)


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


def _from_records(rows: list[Record], schema: pa.Schema) -> pa.RecordBatch:
    pa = arrow()
    arrays = [_array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    pa = arrow()
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        if pa.types.is_string(kind):
            return pa.array([None if one is None else _cell(one) for one in values], kind)
        if pa.types.is_floating(kind):  # integers that floats cannot hold
            return pa.array([None if one is None else float(one) for one in values], kind)
        raise


def _type_of(values: list[Any]) -> pa.DataType:
    """The type of a column with these JSON values: text if they have several types."""
    pa = arrow()
    try:
        return pa.array(values).type
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.string()


def _merged(kind: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the values of both: text if there is no other."""
    pa = arrow()
    if kind == other:
        return kind
    try:
        schemas = [pa.schema([("", one)]) for one in (kind, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowException, TypeError):
        return pa.string()


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
