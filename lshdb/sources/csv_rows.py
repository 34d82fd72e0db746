"""CSV and TSV: read and written.

The dialect is that of RFC 4180 and of spreadsheets: fields in double quotes may hold delimiters,
newlines and doubled quotes. TSV is the same with tabs. The first record names the columns; if it
has semicolons or tabs and no comma, these delimit the fields of CSV.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import cast

from lshdb.errors import InputError
from lshdb.json_text import without_surrogates
from lshdb.sources import inputs, json_rows, paths, sinks
from lshdb.sources.batch import Batch, Origin, Record, TableSchema
from lshdb.sources.records import BOM, Collector, longer_than, with_texts

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_OTHER_DELIMITERS = ";\t"
"""Delimiters of CSV: spreadsheets use semicolons where a comma is the decimal mark."""
_QUOTED = re.compile(r'"[^"]*"?')
_LONGEST_FIELD = (1 << 31) - 1
"""Disables the limit of the module csv."""
_OBJECTS = 200
"""Bytes of a document's objects besides its characters."""
_PLAIN = frozenset((int, float, NoneType))
"""Types that the module csv writes well."""


@dataclass(eq=False)
class CsvRows:
    """Rows of CSV as they are in the file.

    Attributes:
        schema: the head of the file.
        texts: the rows in UTF-8, each with its newline, if it has one.
    """

    schema: TableSchema

    def __post_init__(self) -> None:
        self.texts: list[bytes] = []

    def records(self, indices: Sequence[int]) -> Iterator[Record]:
        """Some rows, ascending, by the names of their fields."""
        texts = (self.texts[index].decode("utf-8", "surrogateescape") for index in indices)
        for text in texts:
            (row,) = csv.reader([text], strict=True, delimiter=self.schema.delimiter)
            yield dict(zip(self.schema.columns, row, strict=True))

    def lines(self, indices: Sequence[int]) -> list[bytes]:
        """Some rows, byte for byte."""
        return [self.texts[index] for index in indices]

    def with_texts(self, texts: Mapping[int, str], field: str) -> CsvRows:
        """The same with other texts in a column of some rows."""

        def line_of(record: Record) -> bytes:
            return next(csv_lines([[*record.values()]], self.schema.delimiter, ""))

        rows = CsvRows(self.schema)
        rows.texts = with_texts(self, len(self.texts), texts, field, line_of)
        return rows


@dataclass(eq=False)
class Csv:
    """Rows of fields between delimiters.

    Attributes:
        format: `csv` or `tsv`.
    """

    format: str

    def read(self, source: inputs.Input) -> Iterator[Batch]:
        """The documents of a file, in batches of the rows that end in a chunk of it.

        Raises:
            InputError: no heading, or one without the columns of documents; a record of several
                lines that is too long, which may have no end.
        """
        lines = _TextLines(source)
        schema = self._heading(lines, source)
        reader = csv.reader(lines, strict=True, delimiter=schema.delimiter)
        if source.options.whole:
            yield Batch(origin=Origin(source.name, (), CsvRows(schema)))
        while lines.read():
            before, numbers, problem = lines.characters, list[int](), None
            rows = CsvRows(schema) if source.options.whole else None
            documents = Collector(source.options, Origin(source.name, numbers, rows))
            take = documents.take_torn if lines.is_torn else documents.take
            while lines.waiting:
                number, index = lines.number, len(numbers)
                try:
                    row = self._row(reader, lines)
                except InputError as error:
                    problem = error
                    break
                if row is None:
                    continue
                numbers.append(number)
                if rows is not None:
                    rows.texts.append(lines.record())
                if lines.length > json_rows.LONG:  # frees its buffer, of eight bytes a character
                    reader = csv.reader(lines, strict=True, delimiter=schema.delimiter)
                if isinstance(row, str):
                    documents.fail(index, row)
                elif len(row) != len(schema.columns):
                    named = len(schema.columns)
                    documents.fail(index, f"{len(row)} fields, and the heading names {named}")
                elif not source.options.only_rows:
                    take(index, dict(zip(schema.columns, row, strict=True)))
            if numbers:
                size = (lines.characters - before) * (2 if source.options.whole else 1)
                yield documents.batch(size + _OBJECTS * len(numbers))
            if problem is not None:
                raise problem

    def _row(self, reader: Iterator[list[str]], lines: _TextLines) -> list[str] | str | None:
        """The fields of the next record, why it cannot be read, or None for a blank one."""
        lines.begin_record()
        if lines.waiting[-1] is None:
            lines.skip()
            return longer_than(lines.largest)
        try:
            row = next(reader)
        except csv.Error as error:
            return self._reason(error)  # reading goes on with the next line
        return row if len(row) > 1 or (row and row[0].strip()) else None

    def _heading(self, lines: _TextLines, source: inputs.Input) -> TableSchema:
        csv.field_size_limit(_LONGEST_FIELD)  # for the whole process, as the module has it
        while lines.read():
            if lines.waiting[-1] is not None and not lines.waiting[-1].strip():
                lines.skip()
                continue
            lines.begin_record()
            delimiter = self._delimiter(lines.waiting[-1] or "")
            number = lines.number
            try:
                names = next(csv.reader(lines, strict=True, delimiter=delimiter))
            except csv.Error as error:
                raise InputError(f"line {number}: {self._reason(error)}") from error
            columns = tuple(map(_name_of, names))
            source.options.check_columns(columns)
            return TableSchema(columns, heading=lines.bom + lines.record(), delimiter=delimiter)
        raise InputError("empty: the first line must name the columns")

    def _reason(self, error: csv.Error) -> str:
        # Without its advice for programmers; it has the delimiter, which may be a tab.
        return f"not {self.format.upper()}: {paths.escaped(str(error).partition(' - ')[0])}"

    def _delimiter(self, first: str) -> str:
        """The delimiter of fields, from the first line."""
        unquoted = _QUOTED.sub("", first)
        usual = _DELIMITERS[self.format]
        if self.format != "csv" or usual in unquoted:
            return usual
        return max(usual + _OTHER_DELIMITERS, key=unquoted.count)

    def sink(self, target: sinks.Target, head: TableSchema | None) -> sinks.Sink:
        """A writer of rows."""
        delimiter = _DELIMITERS[self.format]
        if self.format == "csv" and head is not None and head.delimiter == ";":
            delimiter = head.delimiter
        return _CsvSink(target, head, delimiter)


@dataclass(eq=False)
class _TextLines:
    """An iterator over the lines of a text.

    Attributes:
        source: the file.
        number: of the next line, from 1.
        waiting: the lines that were read but not taken, the last one first; None for one that is
            too long.
        characters: how many were taken.
        length: characters of the record.
        is_torn: whether there were bytes that are not UTF-8; they become lone surrogates.
        bom: the byte order mark at the start of the text, or empty.
        largest: bytes of a line, and characters of a record.
    """

    source: inputs.Input

    def __post_init__(self) -> None:
        self.number = 1
        self.waiting: list[str | None] = []
        self.characters = 0
        self.is_torn = False
        self.bom = b""
        self.largest = self.source.options.limits.largest_row
        self._blocks = json_rows.line_blocks(_with_newlines(self.source.text), self.largest)
        self._record: list[str] = []
        self._first, self.length = 1, 0  # the first line of the record

    def begin_record(self) -> None:
        """Start counting the length of a record, which is limited, at the next line."""
        self._first, self.length, self._record = self.number, 0, []

    def record(self) -> bytes:
        """The lines taken since a record began, as they are in the file."""
        return "".join(self._record).encode("utf-8", "surrogateescape")

    def skip(self) -> None:
        """Leave out the next line."""
        self.waiting.pop()
        self.number += 1

    def read(self) -> bool:
        """Read until lines wait, past empty ones between records; False at the end."""
        while not self.waiting:
            block = next(self._blocks, b"")
            if block is None:
                self.waiting = [None]
            elif not block:
                return False
            elif block.find(b"\n") + 1 in (0, len(block)):
                self.waiting = [self._text(block)]  # a single line is not copied
            else:
                self.waiting += io.StringIO(self._text(block), newline="\n").readlines()[::-1]
        return True

    def __iter__(self) -> _TextLines:
        return self

    def __next__(self) -> str:
        if not self.read():
            raise StopIteration
        line = self.waiting.pop()
        self.length += len(line or "")
        if line is None or self.length > self.largest:
            raise InputError(f"line {self._first}: a record {longer_than(self.largest)}")
        self.number += 1
        self.characters += len(line)
        self._record.append(line)
        return line

    def _text(self, data: bytes) -> str:
        if self.number == 1 and data.startswith(BOM):
            self.bom = BOM
            data = data.removeprefix(BOM)
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.is_torn = True
            return data.decode("utf-8", "surrogateescape")


def _with_newlines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of a file; with newlines if its first chunk has only carriage returns."""
    replace: bool | None = None
    for chunk in chunks:
        if replace is None:
            replace = b"\r" in chunk[:-1] and b"\n" not in chunk
        yield chunk.replace(b"\r", b"\n") if replace else chunk


def _name_of(column: str) -> str:
    return column.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# writing


def csv_lines(
    rows: sinks.Values, delimiter: str = ",", newline: str = "\n", *, screen: bool = False
) -> Iterator[bytes]:
    """Rows of CSV; on a screen, text is escaped unless all but its newlines are printable."""
    shown = _shown if screen else cell
    writer = csv.writer(_Returned(), delimiter=delimiter, lineterminator=newline)
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


class _CsvSink(sinks.Sink):
    """Rows of CSV with the same columns are written as they are in their file."""

    def __init__(self, target: sinks.Target, head: TableSchema | None, delimiter: str) -> None:
        super().__init__(target, head)
        self._delimiter = delimiter
        self._begun = False
        self._ended = True
        self._newline = "\n"
        if head is not None:
            self._begin(head)

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        rows = sinks.rows_of(origin)
        schema = rows.schema
        if not self._begun and schema is not None:
            self._begin(schema)
        columns = self._columns
        sinks.check_columns(origin.name, schema, columns)
        if (
            isinstance(rows, CsvRows)
            and rows.schema.delimiter == self._delimiter
            and rows.schema.columns == columns
        ):
            self._put(map(rows.texts.__getitem__, indices))
        else:
            self.put(sinks.values(rows, indices, columns))

    def put(self, rows: sinks.Values) -> None:
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
