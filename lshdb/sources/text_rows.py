"""JSON lines and CSV: bytes to blocks of whole lines or rows, and lines of JSON to documents.

The dialect of CSV is that of RFC 4180 and of spreadsheets: fields in double quotes may hold
delimiters, newlines and doubled quotes. TSV is the same with tabs. The first record names the
columns; if it has semicolons or tabs and no comma, these delimit the fields of CSV.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import numpy as np

from lshdb.errors import InputError
from lshdb.json_text import has_large_float, rounded
from lshdb.model import Document, Failure
from lshdb.shingling.content import LARGEST
from lshdb.sources.paths import escaped
from lshdb.sources.records import (
    BOM,
    CsvText,
    Lines,
    Parsed,
    RecordParser,
    Rows,
    Values,
    json_reason,
)

DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
_OTHER_DELIMITERS: Final = ";\t"
"""Delimiters of CSV: spreadsheets use semicolons where a comma is the decimal mark."""
_QUOTED: Final = re.compile(r'"[^"]*"?')
_LONGEST_FIELD: Final = (1 << 31) - 1
"""Disables the limit of the module csv."""
_NEWLINE: Final = 10
_LONG: Final = 1 << 20
"""Bytes of a line that is a block by itself."""
_ELEMENT: Final = json.JSONDecoder()
"""orjson cannot read an element of an array whose end is not read yet."""
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_LONGEST_TOKEN: Final = 12
"""Longest token, besides strings, that JSON's parser reports by its start: a pair of escapes."""
_FOLLOWING: Final = {
    ("[", "["): "value or ]",
    (", or ]", ","): "value",
    (", or ]", "]"): "nothing more",
    ("value or ]", "]"): "nothing more",
}
"""What is expected in an array after a sign, by what was expected before it."""
_NO_ARRAY: Final = (
    "not an array of objects: format jsonl reads lines of JSON, format text all as one text"
)


class NotAnArray(InputError):
    """JSON of another kind, such as a program's settings; in a directory such files are skipped."""


def line_blocks(
    chunks: Iterable[bytes], name: str, largest: int = LARGEST
) -> Iterator[Lines | Failure]:
    """Cut a file of lines, given in chunks, into blocks of whole lines.

    While a block is used nothing of it is held here: a line may have hundreds of megabytes.
    """
    number = 1
    # The beginning of a line: pieces of one of hundreds of megabytes would leave as much unusable.
    waiting = bytearray()
    skipping = False
    for chunk in chunks:
        if skipping or len(waiting) > _LONG:  # a block by itself, which is not copied
            rest, newline, chunk = chunk.partition(b"\n")
            if not skipping:
                waiting += rest + newline
            if newline:
                found = [Lines(name, number, 1, waiting)] if waiting else []
                number += len(found)
                waiting, skipping = bytearray(), False
                while found:
                    yield found.pop()
        end = chunk.rfind(b"\n") + 1
        if end:
            block = b"".join((waiting, memoryview(chunk)[:end]))
            # Ten times as fast as bytes.count, which takes as long as reading. None waits.
            count = int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == _NEWLINE))
            found = [Lines(name, number, count, block)]
            waiting, block = bytearray(), b""
            yield found.pop()
            number += count
        waiting += memoryview(chunk)[end:]
        if len(waiting) > largest:
            yield _too_long(f"{name}:{number}", largest)
            number += 1
            waiting, skipping = bytearray(), True
    if waiting:
        found = [Lines(name, number, 1, waiting)]
        waiting = bytearray()
        yield found.pop()


def json_array_blocks(chunks: Iterable[bytes], name: str, largest: int) -> Iterator[Lines]:
    """Cut a JSON array, given in chunks, into blocks of lines, one element each, from 1.

    Raises:
        InputError: it is not a complete array; the elements before the error are given first.
    """
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    number, wanted, expected = 1, 0, "["
    waiting: list[str] = []  # what is not cut yet, in pieces
    for chunk in chain(chunks, (b"",)):
        waiting.append(decode(chunk, not chunk))
        # Joined and parsed when it has doubled: otherwise a long element is parsed again and again.
        if chunk and sum(map(len, waiting)) < wanted:
            continue
        text = "".join(waiting)
        if expected == "[":
            text = text.removeprefix("\ufeff")
        lines: list[str] = []
        problem, at = "", 0
        while not problem and (at := _blanks_end(text, at)) < len(text):
            found = text[at]
            if (expected, found) in _FOLLOWING:
                at, expected = at + 1, _FOLLOWING[expected, found]
            elif expected.startswith("value"):
                try:
                    _, end = _ELEMENT.raw_decode(text, at)
                except (ValueError, RecursionError) as error:
                    if chunk and _may_be_cut(error, text):
                        break
                    problem = f"element {number + len(lines)}: not JSON: {json_reason(error, at)}"
                    continue
                if chunk and found not in '{["' and end > len(text) - _LONGEST_TOKEN:
                    break  # a number may go on
                # A newline is a blank here: within a string it is not valid JSON.
                element = text[at:end]
                lines.append(element.replace("\n", " ") if "\n" in element else element)
                at, expected = end, ", or ]"
            elif expected == "[":
                raise NotAnArray(_NO_ARRAY)
            else:
                problem = (
                    f"behind element {number + len(lines) - 1}: not JSON: expecting {expected}"
                )
        waiting = [text[at:]]
        wanted = 2 * len(waiting[0])
        if lines:
            count, text, element = len(lines), "", ""
            lines = ["\n".join([*lines, ""])]
            yield Lines(name, number, count, lines.pop().encode("utf-8", "surrogateescape"))
            number += count
        if problem:
            raise InputError(problem)
        if wanted > 2 * largest:
            raise InputError(f"element {number}: longer than {largest:,} bytes, the limit")
    if expected == "[":
        raise NotAnArray(_NO_ARRAY)
    if expected != "nothing more":
        raise InputError(f"cut off behind element {number - 1}")


def _blanks_end(text: str, start: int) -> int:
    """The end of the blanks at a place."""
    found = _BLANKS.match(text, start)
    assert found is not None
    return found.end()


def _may_be_cut(error: ValueError | RecursionError, text: str) -> bool:
    """Whether a text may be invalid JSON only because its end is missing."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= len(text) - _LONGEST_TOKEN


def json_documents(lines: Lines, parser: RecordParser) -> Iterator[tuple[int, Parsed]]:
    """The documents or failures of a block's non-blank lines, each with its place, from 0."""
    largest = parser.limits.largest_document
    key_field, text_field = parser.key_field, parser.text_field
    may_be_pair = not parser.of_sets and key_field != text_field
    # A single line, which may have hundreds of megabytes, is not copied.
    data = [lines.data] if lines.count == 1 else lines.data.split(b"\n")
    for place, line in enumerate(data):
        if not line or line.isspace():
            continue
        if len(line) > largest and len(line) - line.endswith(b"\n") > largest:
            yield place, _too_long(lines.where(place), largest)
            continue
        try:
            record = rounded(line)
        except (RecursionError, ValueError):
            record = None
        if type(record) is dict and may_be_pair and (len(record) == 2 or not parser.metadata):
            # Most lines are like this.
            key, text = record.get(key_field), record.get(text_field)
            if type(key) is str and type(text) is str and key and "\0" not in key:
                yield place, (key, text)
                continue
        if (document := _quickly(record, lines.where(place), parser)) is not None:
            yield place, document
            continue
        try:
            yield place, parser.of_json(line, lines.where(place))
        except InputError as error:
            if not is_blank(line):
                yield place, Failure(lines.where(place), str(error))


def _quickly(record: object, where: str, parser: RecordParser) -> Document | None:
    """The document of a record; None if it has an error, or may have lost digits."""
    if not isinstance(record, dict):
        return None
    try:
        document = parser.of_record(record, where)
    except InputError:
        return None
    return None if has_large_float(document.metadata) else document


def is_blank(line: bytes) -> bool:
    """Whether a line is blank, without even an invalid record."""
    return not line or line.isspace() or (line.startswith(BOM) and not line[len(BOM) :].strip())


def _too_long(where: str, largest: int) -> Failure:
    """The failure of a line that is too long."""
    return Failure(where, f"longer than {largest:,} bytes, the limit")


def csv_blocks(
    chunks: Iterable[bytes],
    name: str,
    format: str,
    parser: RecordParser,
    *,
    whole: bool = False,
) -> Iterator[Rows]:
    """Cut a file of CSV, given in chunks, into blocks: the rows that end in a chunk.

    With `whole`, blocks also have the rows as they are in the file; the first block may then have
    no rows, so that the heading is known.

    Raises:
        InputError: no heading, or one without the columns of documents; a record that is too
            long.
    """
    csv.field_size_limit(_LONGEST_FIELD)  # for the whole process, as the module has it
    largest = parser.limits.largest_document
    lines = _TextLines(line_blocks(_with_newlines(chunks), name, largest), largest)
    delimiter = DELIMITERS[format]
    columns: tuple[str, ...] = ()
    heading = b""
    while lines.read(pass_over_empty=True):
        rows: list[tuple[int, Values]] = []
        texts: list[bytes] = []
        before = lines.characters
        is_first = not columns
        if is_first:
            delimiter = _delimiter(lines.waiting, format)
            reader = csv.reader(lines, strict=True, delimiter=delimiter)
        for number, values in _csv_records(reader, lines, format):
            if columns:
                rows.append((number, values))
                if whole:
                    texts.append(lines.record())
            elif isinstance(values, str):
                raise InputError(f"line {number}: {values}")
            else:
                columns = tuple(map(_name_of, values))
                parser.check_columns(columns)
                heading = lines.bom + lines.record()
        if rows or (whole and is_first and columns):
            size = (lines.characters - before) * (2 if whole else 1)
            source = CsvText(heading, texts, delimiter) if whole else None
            yield Rows(name, columns, rows, size, lines.invalid_utf8, source)
    if not columns:
        raise InputError("empty: the first line must name the columns")


def _with_newlines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of a file; with newlines if its first chunk has only carriage returns."""
    replace: bool | None = None
    for chunk in chunks:
        if replace is None:
            replace = b"\r" in chunk[:-1] and b"\n" not in chunk
        yield chunk.replace(b"\r", b"\n") if replace else chunk


def _delimiter(waiting: list[str], format: str) -> str:
    """The delimiter of fields, from the heading: the first of `lines`, which is in reverse."""
    first = next((line for line in reversed(waiting) if line.strip()), "")
    unquoted = _QUOTED.sub("", first)
    usual = DELIMITERS[format]
    if format != "csv" or usual in unquoted:
        return usual
    return max(usual + _OTHER_DELIMITERS, key=unquoted.count)


def _csv_records(
    reader: Iterator[list[str]], lines: _TextLines, format: str
) -> Iterator[tuple[int, list[str] | str]]:
    """The records that begin before the end of a chunk and are not blank, with their numbers."""
    while lines.waiting:
        lines.begin_record()
        number = lines.number
        try:
            row = next(reader)
        except csv.Error as error:
            # Without its advice for programmers; it has the delimiter, which may be a tab.
            reason = escaped(str(error).partition(" - ")[0])
            yield number, f"not {format.upper()}: {reason}"  # reading goes on with the next line
            continue
        if len(row) > 1 or (row and row[0].strip()):
            yield number, row


class _TextLines:
    """An iterator over the lines of a text, given in blocks of bytes.

    Attributes:
        number: of the next line, from 1.
        waiting: the lines that were read but not taken, the last one first.
        characters: how many were taken.
        torn: whether there were bytes that are not UTF-8; they become lone surrogates.
        bom: the byte order mark at the start of the text, or empty.
    """

    def __init__(self, blocks: Iterator[Lines | Failure], largest: int) -> None:
        self.number = 1
        self.waiting: list[str] = []
        self.characters = 0
        self.invalid_utf8 = False
        self.bom = b""
        self._blocks, self._largest = blocks, largest
        self._record = (1, 0)  # the number of its line, and the characters before it
        self._lines: list[str] = []  # of the record

    def begin_record(self) -> None:
        """Start counting the length of a record, which is limited, at the next line."""
        self._record = self.number, self.characters
        self._lines = []

    def record(self) -> bytes:
        """The lines taken since a record began, as they are in the file."""
        return "".join(self._lines).encode("utf-8", "surrogateescape")

    def read(self, *, pass_over_empty: bool = False) -> bool:
        """Read until lines wait; False at the end."""
        while not self.waiting:
            block = next(self._blocks, None)
            if block is None:
                return False
            if isinstance(block, Failure):
                raise self._too_long()
            data = block.data
            # A file may have millions of empty lines.
            if pass_over_empty and data[0] in b"\r\n":
                filled = len(data) - len(data.lstrip(b"\r\n"))
                end = data.rfind(b"\n", 0, filled) + 1
                self.number += data.count(b"\n", 0, end)
                data = data[end:]
                if not data:
                    continue
            self.waiting = io.StringIO(self._text(data), newline="\n").readlines()[::-1]
        return True

    def __iter__(self) -> _TextLines:
        return self

    def __next__(self) -> str:
        if not self.waiting and not self.read():
            raise StopIteration
        line = self.waiting.pop()
        self.characters += len(line)
        self._lines.append(line)
        if self.characters - self._record[1] > self._largest:
            raise self._too_long()
        self.number += 1
        return line

    def _text(self, data: bytes) -> str:
        if self.number == 1 and data.startswith(BOM):
            self.bom = BOM
            data = data.removeprefix(BOM)
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.invalid_utf8 = True
            return data.decode("utf-8", "surrogateescape")

    def _too_long(self) -> InputError:
        number = self._record[0]
        return InputError(f"line {number}: a record longer than {self._largest:,} bytes, the limit")


def _name_of(column: str) -> str:
    return column.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
