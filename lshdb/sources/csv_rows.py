"""CSV and TSV: read and written.

The dialect is that of RFC 4180 and of spreadsheets: fields in double quotes may hold delimiters,
newlines and doubled quotes. TSV is the same with tabs. The first record names the columns; if it
has semicolons or tabs and no comma, these delimit the fields of CSV. A line before it may name the
delimiter, as Excel writes it: sep=;
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Self, cast

from lshdb.errors import InputError
from lshdb.json_text import without_surrogates
from lshdb.sources import batch, inputs, json_rows, paths, records, sinks

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_OTHER_DELIMITERS = ";\t"
"""Delimiters of CSV: spreadsheets use semicolons where a comma is the decimal mark."""
_NAMED = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(.)"?[\r\n]*', re.IGNORECASE)
"""A line that names the delimiter."""
_QUOTED = re.compile(rb'"[^"]*"?')
_LONGEST_FIELD = (1 << 31) - 1
"""Disables the limit of the module csv."""
_OBJECTS = 200
"""Bytes of a document's objects besides its characters."""
_PLAIN = frozenset((int, float, NoneType))
"""Types that the module csv writes well."""


def read(source: inputs.Input, format: str) -> Iterator[batch.Batch]:
    """The documents of a file, in batches of the rows that end in a chunk of it.

    Raises:
        InputError: no heading, or one without the columns of documents; a record of several
            lines that is too long, which may have no end.
    """
    options = source.options
    lines = _Lines(source, format)
    schema = _heading(lines)
    if options.whole:
        yield batch.Batch(origin=batch.Origin(source.name, (), rows_of([], schema)))
    reader = _reader(lines, schema)
    while lines.read():
        before, numbers, texts, problem = lines.bytes_taken, list[int](), list[bytes](), None
        documents = records.Collector(options, batch.Origin(source.name, numbers))
        while lines.waiting:
            number, index = lines.number, len(numbers)
            try:
                row = _row(reader, lines)
            except InputError as error:
                problem = error
                break
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
                (documents.take_invalid_utf8 if lines.is_invalid_utf8 else documents.take)(
                    index, record
                )
        if numbers:
            size = (lines.bytes_taken - before) * (1 + options.whole) + _OBJECTS * len(numbers)
            yield documents.batch(size, rows_of(texts, schema) if options.whole else None)
        if problem is not None:
            raise problem


def _row(reader: Iterator[list[str]], lines: "_Lines") -> list[str] | str | None:
    """The fields of the next record, why it cannot be read, or None for a blank one."""
    lines.begin_record()
    if lines.waiting[-1] is None:
        lines.skip()
        return records.longer_than(lines.largest)
    try:
        row = next(reader)
    except csv.Error as error:
        return _reason(error, lines.format)  # reading goes on with the next line
    return row if len(row) > 1 or (row and row[0].strip()) else None


def _heading(lines: "_Lines") -> batch.TableSchema:
    options = lines.source.options
    csv.field_size_limit(_LONGEST_FIELD)  # for the whole process, as the module has it
    chosen_delimiter, before = options.delimiter, b""
    while lines.read():
        lines.begin_record()
        first = lines.waiting[-1] or b""
        named = _NAMED.fullmatch(first) if lines.format == "csv" else None
        if named is not None or (first and json_rows.is_blank(first)):
            chosen_delimiter = chosen_delimiter or (named and named[1].decode("latin-1"))
            before += first
            lines.skip()
            continue
        delimiter = chosen_delimiter or _delimiter(first, lines.format)
        number = lines.number
        schema = batch.TableSchema((), delimiter=delimiter, escape=options.escape)
        try:
            names = next(_reader(lines, schema))
        except csv.Error as error:
            raise InputError(f"line {number}: {_reason(error, lines.format)}") from error
        columns = tuple(records.distinct_names([*map(_name_of, names)]))
        options.check_columns(columns)
        return replace(schema, columns=columns, heading=before + bytes(lines.record))
    raise InputError("empty: the first line must name the columns")


def _reason(error: csv.Error, format: str) -> str:
    # Without its advice for programmers; it has the delimiter, which may be a tab.
    return f"not {format.upper()}: {paths.escaped(str(error).partition(' - ')[0])}"


def _delimiter(first: bytes, format: str) -> str:
    """The delimiter of fields, from the first line."""
    unquoted = _QUOTED.sub(b"", first).decode("latin-1")
    usual = _DELIMITERS[format]
    if format != "csv" or usual in unquoted:
        return usual
    return max(usual + _OTHER_DELIMITERS, key=unquoted.count)


def sink(target: sinks.Target, head: batch.TableSchema | None) -> sinks.Sink:
    """A writer of rows."""
    delimiter = _DELIMITERS[target.format]
    if (
        target.format == "csv"
        and head is not None
        and head.delimiter not in ("", *_DELIMITERS.values())
    ):
        delimiter = head.delimiter
    return _CsvSink(target, head, batch.TableSchema((), delimiter=delimiter))


@dataclass(eq=False)
class _Lines:
    """An iterator over the lines of a text.

    Attributes:
        source: the file.
        format: `csv` or `tsv`.
        number: of the next line, from 1.
        waiting: the lines that were read but not taken, the last one first; None for one that is
            too long.
        bytes_taken: of lines so far.
        record: the lines taken since it began, as they are in the file.
        is_invalid_utf8: whether there were bytes that are not UTF-8; they become lone surrogates.
        largest: bytes of a line, and of a record.
    """

    source: inputs.Input
    format: str

    def __post_init__(self) -> None:
        self.number = 1
        self.waiting: list[bytes | None] = []
        self.bytes_taken = 0
        self.is_invalid_utf8 = False
        self.largest = self.source.options.limits.largest_row
        self._blocks = json_rows.line_blocks(_with_newlines(self.source.text), self.largest)
        self.begin_record()

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
        if not self.waiting and (block := next(self._blocks, b"")) != b"":
            self.waiting += [None] if block is None else reversed(json_rows.lines_in(block))
        return bool(self.waiting)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if not self.read():
            raise StopIteration
        line = self.waiting.pop()
        if line is None or len(self.record) + len(line) > self.largest:
            raise InputError(f"line {self._first}: a record {records.longer_than(self.largest)}")
        self.number += 1
        self.bytes_taken += len(line)
        self.record += line
        text = line.decode("utf-8", "surrogateescape")
        self.is_invalid_utf8 |= without_surrogates(text) is not text
        return text.removeprefix("\ufeff") if self.number == 2 else text


def _with_newlines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of a file; with newlines if its first chunk has only carriage returns."""
    replace: bool | None = None
    for chunk in chunks:
        if replace is None:
            replace = b"\r" in chunk[:-1] and b"\n" not in chunk
        yield chunk.replace(b"\r", b"\n") if replace else chunk


def _reader(lines: Iterable[str], schema: batch.TableSchema) -> Iterator[list[str]]:
    return csv.reader(lines, strict=True, delimiter=schema.delimiter, escapechar=schema.escape)


def _name_of(column: str) -> str:
    return column.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def rows_of(texts: list[bytes], schema: batch.TableSchema) -> records.TextRows:
    """Rows as they are in the file."""

    def record_of(text: bytes) -> batch.Record:
        lines = [text.decode("utf-8", "surrogateescape")]
        (row,) = _reader(lines, schema)
        return dict(zip(schema.columns, row, strict=True))

    def text_of(record: batch.Record) -> bytes:
        values = [[*record.values()]]
        return next(csv_lines(values, schema))

    return records.TextRows(texts, record_of, text_of, schema)


# writing


def csv_lines(
    rows: sinks.RowValues, dialect: batch.TableSchema, newline: str = "", *, screen: bool = False
) -> Iterator[bytes]:
    """Rows as a table writes them; on a screen, what is not printable is escaped, but newlines."""
    shown = _shown if screen else cell
    writer = csv.writer(
        _Returned(),
        delimiter=dialect.delimiter,
        lineterminator=newline,
        escapechar=dialect.escape,
    )
    lines = (cast(str, writer.writerow(map(shown, row))) for row in rows)
    return map(str.encode, lines)


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
    if kind is bool:
        return "true" if value else "false"
    return json_rows.json_of(value).decode().strip('"')  # times are in quotes, no others


def _shown(value: object) -> object:
    return (
        "\n".join(map(paths.escaped, value.split("\n"))) if isinstance(value, str) else cell(value)
    )


class _CsvSink(sinks.LineSink):
    """Rows of CSV with the same columns are written as they are in their file."""

    def __init__(
        self, target: sinks.Target, head: batch.TableSchema | None, dialect: batch.TableSchema
    ) -> None:
        self._dialect = dialect
        super().__init__(target, head)

    def _begin(self, head: batch.TableSchema) -> None:
        super()._begin(head)
        self._dialect = replace(head, delimiter=self._dialect.delimiter)
        if head.heading and head.delimiter == self._dialect.delimiter:
            if head.heading.endswith(b"\r\n"):
                self._newline = b"\r\n"
            self._put_lines([head.heading])
        elif head.columns and head.has_heading:
            self.put([head.columns])

    def _write(self, rows: batch.Rows, indices: Sequence[int]) -> None:
        schema, dialect = rows.schema, self._dialect
        if (
            schema is not None
            and schema.delimiter == dialect.delimiter
            and schema.escape == dialect.escape
            and schema.columns == dialect.columns
        ):
            self._put_lines(rows.lines(indices))
        else:
            self._put_values(rows, indices)

    def put(self, rows: sinks.RowValues) -> None:
        newline = self._newline.decode()
        self._put_lines(csv_lines(rows, self._dialect, newline, screen=self._screen))
