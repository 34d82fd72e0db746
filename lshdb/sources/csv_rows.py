"""CSV and TSV: cut into blocks of whole records where they are read, parsed where they are signed.

The dialect is that of RFC 4180 and of spreadsheets: fields in double quotes may hold delimiters,
newlines and doubled quotes. TSV is the same with tabs. The first record names the columns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from lshdb.errors import InputError
from lshdb.model import Document
from lshdb.shingling.content import LARGEST
from lshdb.sources.records import Failure, Lines, RecordParser, RowFormat, array_of

_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
_NEWLINE: Final = 10
_LONGEST_FIELD: Final = (1 << 31) - 1
"""No limit of the module's own."""


def blocks(
    chunks: Iterable[bytes], name: str, format: RowFormat, parser: RecordParser
) -> Iterator[Lines | Failure]:
    """Cut a file, which comes in chunks, into blocks of whole records.

    A record may go on over many lines, so that only parsing tells where it ends; what follows a
    chunk's last whole record is put before the next one.

    Raises:
        InputError: a heading without the columns that documents are made of, or none.
    """
    columns: tuple[str, ...] = ()
    number, waiting, wanted = 1, b"", 0
    more: list[bytes] = []
    stream = iter(chunks)
    last = False
    while not last:
        chunk = next(stream, b"")
        last = not chunk
        more.append(chunk)
        size = len(waiting) + sum(map(len, more))
        if size - len(chunk) > LARGEST:
            raise InputError(f"line {number}: a record longer than {LARGEST:,} bytes, the limit")
        # Joined and parsed when it has doubled: a long record is else gone over and over.
        if not size or (size < wanted and not last):
            continue
        waiting, more = b"".join([waiting, *more]), []
        if not columns:
            heading, length, lines = _heading(waiting, format, last=last)
            if heading:
                columns = _checked(heading, parser)
            waiting, number = waiting[length:], number + lines
        if columns and waiting:
            length, lines = _whole(waiting, format, last=last)
            if length:
                yield Lines(name, number, lines, waiting[:length], format, columns)
            waiting, number = waiting[length:], number + lines
        wanted = 2 * len(waiting)
    if not columns:
        raise InputError("empty: the first line must name the columns")


def documents(lines: Lines, parser: RecordParser) -> Iterator[tuple[int, Document | Failure]]:
    """The documents of a block of records, each with the place of its first line, from 0."""
    try:
        text = lines.data.decode()
    except UnicodeDecodeError:
        text = lines.data.decode("utf-8", "surrogateescape")
    columns, field = lines.columns, parser.content_field
    for place, row in _records(text, lines.format):
        where = f"{lines.name}:{lines.first + place}"
        if isinstance(row, csv.Error):
            yield place, Failure(where, f"not {lines.format.upper()}: {row}")
            continue
        try:
            if len(row) != len(columns):
                raise InputError(f"{len(row)} fields, and the heading names {len(columns)}")
            record: dict[str, object] = dict(zip(columns, row, strict=True))
            if not text.isascii():
                _clean(record, parser)
            if parser.of_sets:
                record[field] = array_of(str(record[field]), field)
            yield place, parser.of_record(record, where)
        except InputError as error:
            yield place, Failure(where, str(error))


def _records(text: str, format: RowFormat) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """The records of a text that are not blank, each with the number of lines before it."""
    csv.field_size_limit(_LONGEST_FIELD)  # for the whole process, as the module has it
    lines = io.StringIO(text, newline="\n")
    reader = csv.reader(lines, strict=True, delimiter=_DELIMITERS[format])
    while True:
        before = reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield before, error  # reading goes on with the next line
            continue
        if len(row) > 1 or (row and row[0].strip()):
            yield before, row


def _whole(data: bytes, format: RowFormat, *, last: bool) -> tuple[int, int]:
    """How many bytes and lines of `data`, which begins with a record, are whole records."""
    end = len(data) if last else data.rfind(b"\n") + 1
    if b'"' in data[:end] and not last:
        end = _end_of_last(data[:end], format)
    count = int(np.count_nonzero(np.frombuffer(data, np.uint8, end) == _NEWLINE))
    return end, count + (last and not data.endswith(b"\n"))


def _end_of_last(data: bytes, format: RowFormat) -> int:
    """Where the last whole record of whole lines ends.

    The delimiters are ASCII, so Latin-1 will do, in which every byte is a character.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    lines = data.decode("latin-1").split("\n")[:-1]
    ended = False

    def fed() -> Iterator[str]:
        nonlocal ended
        for line in lines:
            yield line + "\n"
        ended = True

    reader = csv.reader(fed(), strict=True, delimiter=_DELIMITERS[format])
    before = 0
    while True:
        try:
            next(reader)
        except StopIteration:
            return len(data)
        except csv.Error:
            if ended:  # in the middle of a record
                return sum(map(len, lines[:before])) + before
        before = reader.line_num


def _heading(data: bytes, format: RowFormat, *, last: bool) -> tuple[list[str], int, int]:
    """The names of the columns if they are all there, and their bytes and lines."""
    end, _ = _whole(data, format, last=last)
    text = data[:end].decode("utf-8", "replace")
    first = next(_records(text.removeprefix("\ufeff"), format), None)
    if first is None:
        return [], end, data.count(b"\n", 0, end)
    place, row = first
    if isinstance(row, csv.Error):
        raise InputError(f"line {place + 1}: not {format.upper()}: {row}")
    lines = place + 1 + sum(name.count("\n") for name in row)
    pieces = data[:end].split(b"\n", lines)
    return row, end - len(pieces[lines]) if len(pieces) > lines else end, lines


def _checked(heading: list[str], parser: RecordParser) -> tuple[str, ...]:
    parser.check_columns(heading)
    return tuple(heading)


def _clean(record: dict[str, object], parser: RecordParser) -> None:
    """Replace or refuse the bytes that are no UTF-8, escaped as lone surrogates."""
    replaced = False
    for name, value in record.items():
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            if parser.strict:
                raise InputError(f"not UTF-8 in field {name!r}") from error
            record[name] = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            replaced = True
    parser.replaced += replaced
