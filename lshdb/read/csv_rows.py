"""CSV and TSV: read and written.

The dialect is that of RFC 4180 and of spreadsheets: fields in double quotes may hold delimiters,
newlines and doubled quotes. The first record names the columns; if it has semicolons or tabs and no
comma, these delimit the fields of CSV. A line before it may name the delimiter, as Excel writes it:
sep=;

Fields between tabs are written by the rules of CSV, and as they are: what quotes mean there, the
app tab_quotes says.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import NoneType
from typing import Any, Self, cast

from lshdb import offers
from lshdb.errors import InputError, UsageError
from lshdb.formatting import counted
from lshdb.json_text import without_surrogates
from lshdb.limits import OBJECT_BYTES
from lshdb.read import batch, inputs, json_rows, paths, records, sinks

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_OTHER_DELIMITERS = ";\t"
"""Delimiters of CSV: spreadsheets use semicolons where a comma is the decimal mark."""
_NAMED = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(.)"?[\r\n]*', re.IGNORECASE)
"""A line that names the delimiter."""
_QUOTED = re.compile(rb'"[^"]*"?')
_LONGEST_FIELD = (1 << 31) - 1
"""Disables the limit of the module csv."""
_PLAIN = frozenset((int, float, NoneType))
"""Types that the module csv writes well."""


def read(source: inputs.Input, format: str) -> Iterator[batch.Batch]:
    """The documents of a file, in batches of the rows that end in a chunk of it.

    Raises:
        InputError: no heading, or one without the columns of documents; a record of several
            lines that is too long, which may have no end.
    """
    options = source.options
    lines = Lines(source, format)
    schema = _heading(lines)
    if options.whole:
        yield batch.Batch(origin=batch.Origin(source.name, (), schema=schema))
    reader = _reader(lines, schema)
    while lines.read():
        size, numbers, texts, problem = 0, list[int](), list[bytes](), None
        origin = batch.Origin(source.name, numbers, schema=schema)
        documents = records.Collector(options, origin)
        while lines.waiting:
            number, index = lines.number, len(numbers)
            try:
                row = _row(reader, lines, schema)
            except InputError as error:
                problem = error
                break
            size += len(lines.record)
            if row is None and not options.whole:
                continue
            numbers.append(number)
            if options.whole:
                texts.append(bytes(lines.record))
            if len(lines.record) > json_rows.LONG:  # frees its buffer of eight times as much
                reader = _reader(lines, schema)
            if row is None:  # a blank line, which only stands among the rows
                continue
            if isinstance(row, str):
                documents.fail(index, row)
            elif len(row) != len(schema.columns):
                named = len(schema.columns)
                documents.fail(index, f"{len(row)} fields, and the heading names {named}")
            elif not options.only_rows:
                record = dict(zip(schema.columns, row, strict=True))
                is_invalid_utf8 = not records.is_utf8(lines.record)
                documents.take(index, record, is_invalid_utf8, has_texts=False)
        if numbers:
            size = size * (1 + options.whole) + OBJECT_BYTES * len(numbers)
            yield documents.batch(size, texts if options.whole else None)
        if problem is not None:
            raise problem


def _row(
    reader: Iterator[list[str]], lines: "Lines", schema: batch.TableSchema
) -> list[str] | str | None:
    """The fields of the next record, why it cannot be read, or None for a blank one."""
    lines.begin_record()
    first = lines.waiting[-1]
    if not first or len(first) > lines.largest:
        lines.skip()
        return records.longer_than(lines.largest)
    try:
        row = next(reader)
    except csv.Error as error:
        return _reason(error, lines.format) + _without_first_line(lines, schema)
    except _TooLong as error:
        if _without_first_line(lines, schema):
            raise InputError(f"{error}; the lines after it were not read") from error
        return f"a record {records.longer_than(lines.largest)}"
    return row if len(row) > 1 or (row and row[0].strip()) else None


def _without_first_line(lines: "Lines", schema: batch.TableSchema) -> str:
    """Give the lines after a quote that never closes back if they are rows; else say their count.

    They are rows if each has the header's number of fields. Lines of a text that is cut off have
    not.
    """
    others = json_rows.lines_in(bytes(lines.record))[1:]
    try:
        rows = csv.reader(map(_text_of, others), **dialect_of(schema))
        if all(len(row) == len(schema.columns) or not any(row) for row in rows):
            lines.give_back()
            return ""
    except csv.Error:
        pass
    return f"; {counted(len(others), 'line after it was', 'lines after it were')} not read"


def _heading(lines: "Lines") -> batch.TableSchema:
    options = lines.source.options
    csv.field_size_limit(_LONGEST_FIELD)  # for the whole process, as the module has it
    chosen_delimiter, before = options.delimiter, b""
    while lines.read():
        lines.begin_record()
        first = lines.waiting[-1]
        named = _NAMED.fullmatch(first) if lines.format == "csv" else None
        if named is not None or (first and json_rows.is_blank(first)):
            chosen_delimiter = chosen_delimiter or (named and named[1].decode("latin-1"))
            before += first
            lines.skip()
            continue
        delimiter = chosen_delimiter or _delimiter(first, lines.format)
        number = lines.number
        is_by_rule = delimiter == "\t" and options.escape is None
        schema = batch.TableSchema(
            (),
            delimiter=delimiter,
            escape=options.escape,
            quoting=options.quoting or ("tab" if is_by_rule else "csv"),
        )
        try:
            names = next(_reader(lines, schema))
        except csv.Error as error:
            raise InputError(f"line {number}: {_reason(error, lines.format)}") from error
        columns = tuple(records.distinct_names(names))
        options.check_columns(columns)
        return replace(schema, columns=columns, heading=before + bytes(lines.record))
    raise InputError("empty: the first line must name the columns")


def _reason(error: csv.Error, format: str) -> str:
    # Without its advice for programmers; it has the delimiter, which may be a tab.
    if str(error) == "unexpected end of data":
        return f"not {format.upper()}: a quote that is not closed"
    return f"not {format.upper()}: {paths.escaped(str(error).partition(' - ')[0])}"


def _delimiter(first: bytes, format: str) -> str:
    """The delimiter of fields, from the first line."""
    unquoted = _QUOTED.sub(b"", first).decode("latin-1")
    usual = _DELIMITERS[format]
    if format != "csv" or usual in unquoted:
        return usual
    return max(usual + _OTHER_DELIMITERS, key=unquoted.count)


class _TooLong(InputError):
    """A record has more bytes than it may have."""


@dataclass(eq=False)
class Lines:
    """An iterator over the lines of a text.

    Attributes:
        source: the file.
        format: `csv` or `tsv`.
        number: of the next line, from 1.
        waiting: the lines that were read but not taken, the last one first; empty for one that is
            too long.
        record: the lines taken since it began, as they are in the file.
        largest: bytes of a line, and of a record.
    """

    source: inputs.Input
    format: str

    def __post_init__(self) -> None:
        self.number = 1
        self.waiting: list[bytes] = []
        self.largest = self.source.options.limits.largest_row
        self._blocks = json_rows.line_blocks(_with_newlines(self.source.text), self.largest)
        self.begin_record()

    @cached_property
    def tab_quotes(self) -> Any:
        """What reads a line with quotes and further ones, if tabs delimit fields."""
        try:
            return offers.offered(offers.READERS, "quotes between tabs")(self)
        except UsageError as error:  # costs the file, and not the others
            raise InputError(str(error)) from error

    def begin_record(self) -> None:
        """Begin a record, whose length is limited, at the next line."""
        # Not a list: to join a million lines takes a hundred bytes more for each.
        self._first, self.record = self.number, bytearray()

    def skip(self) -> None:
        """Leave out the next line."""
        self.waiting.pop()
        self.number += 1

    def read(self) -> bool:
        """Read until lines wait; False at the end."""
        if not self.waiting and (block := next(self._blocks, None)) is not None:
            self.waiting += reversed(json_rows.lines_in(block))
        return bool(self.waiting)

    def give_back(self) -> None:
        """Make the first line of the record all of it; the others are read again."""
        first, *others = json_rows.lines_in(bytes(self.record))
        self.record = bytearray(first)
        self.waiting += reversed(others)
        self.number -= len(others)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if not self.read():
            raise StopIteration
        line = self.waiting[-1]
        if not line or len(self.record) + len(line) > self.largest:
            raise _TooLong(f"line {self._first}: a record {records.longer_than(self.largest)}")
        self.waiting.pop()
        self.number += 1
        self.record += line
        text = _text_of(line)
        return text.removeprefix("\ufeff") if self.number == 2 else text


def _with_newlines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of a file; with newlines if its first chunk has only carriage returns."""
    replace: bool | None = None
    for chunk in chunks:
        if replace is None:
            replace = b"\r" in chunk[:-1] and b"\n" not in chunk
        yield chunk.replace(b"\r", b"\n") if replace else chunk


def _text_of(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _reader(lines: Lines, schema: batch.TableSchema) -> Iterator[list[str]]:
    if schema.quoting == "tab":
        return _between_tabs(lines, len(schema.columns))
    return csv.reader(lines, strict=True, **dialect_of(schema))


def _between_tabs(lines: Lines, count: int) -> Iterator[list[str]]:
    """The fields of rows between tabs; `count` is the header's, 0 for the header itself."""
    for line in lines:
        if '"' in line:
            yield lines.tab_quotes.fields(line, count)
        else:
            yield line.removesuffix("\n").removesuffix("\r").split("\t")


def dialect_of(schema: batch.TableSchema) -> dict[str, Any]:
    """The arguments of the module csv."""
    is_quoted = schema.quoting != "none"
    return {
        "delimiter": schema.delimiter,
        "escapechar": schema.escape,
        "quotechar": '"' if is_quoted else None,
        "quoting": csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
    }


# writing


def csv_lines(
    rows: sinks.RowValues, dialect: batch.TableSchema, newline: str = "", *, screen: bool = False
) -> Iterator[bytes]:
    """Rows as a table writes them; on a screen, what is not printable is escaped, but newlines.

    Raises:
        InputError: a value has a delimiter or a newline, and no fields are quoted.
    """
    shown = _shown if screen else cell
    # The newline is one that quotes a field: what it is in the file is written behind the row.
    writer = csv.writer(_Returned(), lineterminator="\r\n", **dialect_of(dialect))
    try:
        for row in rows:
            line = cast(str, writer.writerow(map(shown, row)))
            yield (line.removesuffix("\r\n") + newline).encode()
    except csv.Error as error:
        raise InputError(f"a value cannot be written without quotes: {error}") from error


class _Returned:
    """A file for csv.writer, whose writerow then returns the line."""

    def write(self, text: str) -> str:
        return text


def cell(value: object) -> object:
    """A value as CSV has it."""
    kind = type(value)
    if kind is str:
        return without_surrogates(cast(str, value))
    if kind in _PLAIN:
        return value
    if kind is bool:  # each pair has some: by JSON, writing all pairs takes a tenth longer
        return "true" if value else "false"
    return json_rows.json_of(value).decode().strip('"')  # times are in quotes, no others


def _shown(value: object) -> object:
    return (
        "\n".join(map(paths.escaped, value.split("\n"))) if isinstance(value, str) else cell(value)
    )


class CsvSink(sinks.LineSink):
    """Rows of CSV, with the delimiter of a head of CSV unless that is a tab.

    Attributes:
        dialect: how rows are written.
    """

    def __init__(self, target: sinks.Target, head: batch.TableSchema) -> None:
        super().__init__(target)
        delimiter = _DELIMITERS[target.format]
        if target.format == "csv" and head.delimiter not in "\t":
            delimiter = head.delimiter
        self.dialect = head
        if head.delimiter != delimiter:
            self.dialect = replace(head, delimiter=delimiter, quoting="csv", heading=b"")
        if heading := self.dialect.heading:
            if heading.endswith(b"\r\n"):
                self.newline = b"\r\n"
            self.put_lines([heading])
        elif head.columns and head.has_heading:
            self.put([head.columns])

    def put(self, rows: sinks.RowValues) -> None:
        """Write rows, of a value for each column."""
        newline = self.newline.decode()
        self.put_lines(csv_lines(rows, self.dialect, newline, screen=self.screen))


sink = CsvSink
