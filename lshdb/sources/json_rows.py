"""JSON lines and JSON arrays: read and written."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring_ascii
from tempfile import TemporaryFile
from typing import IO, cast

from lshdb.errors import InputError
from lshdb.json_text import encode, loads, repaired
from lshdb.sources.batch import Batch, Origin, Record, TableSchema
from lshdb.sources.inputs import Input
from lshdb.sources.records import (
    BOM,
    Collector,
    RecordOptions,
    json_reason,
    kind_of,
    longer_than,
    with_value,
)
from lshdb.sources.sinks import Sink, Target, Values, rows_of

LONG = 1 << 20
"""Bytes of a line that is a block by itself."""
_LARGE = 16 << 20
"""Bytes of a line that waits in a file: to write its document takes three times as much memory."""
_OBJECTS = 200
"""Bytes of a document's objects besides its characters."""
_ELEMENT = json.JSONDecoder()
"""orjson cannot read an element of an array whose end is not read yet."""
_BLANKS = re.compile(r"[ \t\n\r]*")
_LONGEST_TOKEN = 12
"""Longest token, besides strings, that JSON's parser reports by its start: a pair of escapes."""
_FOLLOWING = {
    ("[", "["): "value or ]",
    (", or ]", ","): "value",
    (", or ]", "]"): "nothing more",
    ("value or ]", "]"): "nothing more",
}
"""What is expected in an array after a sign, by what was expected before it."""
_NO_ARRAY = "not an array of objects: format jsonl reads lines of JSON, format text all as one text"
_NOT_PRINTED = re.compile("[^\\x00-\\x7e]+")


class NotAnArray(InputError):
    """JSON of another kind, such as a program's settings; in a directory such files are skipped."""


@dataclass(eq=False)
class JsonRows:
    """Lines of JSON as they were read.

    Attributes:
        data: whole lines, each with its newline, except perhaps the last.
        count: how many.
    """

    data: bytes
    count: int

    schema: TableSchema | None = None

    def __post_init__(self) -> None:
        self._file: IO[bytes] | None = None
        if len(self.data) >= _LARGE:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  # closed when it is freed
            self._file.write(self.data)
            self.data = b""

    def lines(self, indices: Sequence[int]) -> list[bytes]:
        """Some lines, ascending, byte for byte."""
        if not indices:
            return []
        data = self.data
        if self._file is not None:
            self._file.seek(0)
            data = self._file.read()
        if self.count == 1:  # it may have a hundred megabytes
            return [data]
        lines = data.split(b"\n")
        last = len(lines) - 1
        return [lines[index] + b"\n" if index < last else lines[index] for index in indices]

    def records(self, indices: Sequence[int]) -> Iterator[Record]:
        """Some lines, ascending, by the names of their fields."""
        options = RecordOptions(of_sets=False)
        return (_record_of(line, options)[0] for line in self.lines(indices))

    def with_texts(self, texts: Mapping[int, str], field: str) -> "JsonRows":
        """The same with other texts in a field of some rows."""
        lines = self.lines(range(self.count))
        records = self.records([*texts])
        for (index, text), record in zip(texts.items(), records, strict=True):
            end = b"\n" if lines[index].endswith(b"\n") else b""
            lines[index] = json_of(with_value(record, field, text)) + end
        return JsonRows(b"".join(lines), self.count)


# reading


class JsonLines:
    """Objects of JSON, each on a line."""

    def __init__(self, format: str) -> None:
        """Take the name of the format."""

    def read(self, source: Input) -> Iterator[Batch]:
        """The documents of a file, in batches of the lines that end in a chunk of it."""
        number, largest = 1, source.options.limits.largest_document
        for block in line_blocks(source.text, largest):
            found = [block]
            del block
            batch = _batch(found, number, source)
            number += batch.count
            yield batch
            del batch  # before another is read: a line may have a hundred megabytes

    def sink(self, target: Target, head: TableSchema | None) -> Sink:
        """A writer of rows."""
        return _LineSink(target, head)


class JsonArray(JsonLines):
    """One array of objects."""

    def read(self, source: Input) -> Iterator[Batch]:
        """The documents of a file, in batches of the elements that end in a chunk of it.

        Raises:
            InputError: it is not a complete array; the elements before the error are given first.
        """
        number = 1
        for lines in _array_blocks(source):
            batch = _batch(lines, number, source)
            number += batch.count
            yield batch
            del batch

    def sink(self, target: Target, head: TableSchema | None) -> Sink:
        """A writer of rows."""
        return _ArraySink(target, head)


def line_blocks(chunks: Iterable[bytes], largest: int) -> Iterator[bytes | None]:
    """Cut lines, given in chunks, into blocks of whole lines; None for one that is too long.

    A block is not held here while it is used.
    """
    # The beginning of a line: pieces of a long one would leave as much unusable.
    block = bytearray()
    skipping = False
    for chunk in chunks:
        while chunk:
            is_long = skipping or len(block) > LONG  # a block by itself, which is not copied
            end = (chunk.find(b"\n") if is_long else chunk.rfind(b"\n")) + 1
            piece, chunk = (chunk[:end], chunk[end:]) if end else (chunk, b"")
            if not skipping:
                block += piece
            if end and not skipping:
                found: list[bytes | None]
                found = [cast(bytes, block) if is_long else bytes(block)]
                if is_long and len(block) > largest + 1:  # with its newline
                    found = [None]
                block = bytearray()
                yield found.pop()
            elif end:
                skipping = False
            elif len(block) > largest:
                block, skipping = bytearray(), True
                yield None
    if block:
        found = [cast(bytes, block)]
        block = bytearray()
        yield found.pop()


def _batch(found: list[bytes | None], number: int, source: Input) -> Batch:
    """The documents of a block of lines, the first of which has this number; empties `found`."""
    data, options = found.pop(), source.options
    largest, size = options.limits.largest_document, len(data or b"")
    count = 1 if data is None else data.count(b"\n") + (not data.endswith(b"\n"))
    rows = JsonRows(data, count) if source.options.whole and data is not None else None
    documents = Collector(options, Origin(source.name, range(number, number + count), rows))
    if data is None:
        documents.fail(0, longer_than(largest))
    if data is None or source.options.only_rows:
        return documents.batch(size)
    # A single line is not copied.
    lines = [data] if count == 1 else data.split(b"\n")
    del data
    for index, line in enumerate(lines):
        if not line or line.isspace():
            continue
        if reason := options.too_long(line):
            documents.fail(index, reason)
            continue
        try:
            record, is_torn = _record_of(line, options)
        except InputError as error:
            if not is_blank(line):
                documents.fail(index, str(error))
        else:
            documents.take(index, record, is_torn=is_torn)
    return documents.batch(size * (2 if source.options.whole else 1) + _OBJECTS * count)


def _record_of(line: bytes, options: RecordOptions) -> tuple[Record, bool]:
    """The record of a line of JSON, and whether U+FFFD replaces what is not Unicode in it.

    Raises:
        InputError: it is not a JSON object; or, if strict, not Unicode.
    """
    is_torn, reason = False, ""
    try:
        record = loads(line)
    except (ValueError, RecursionError) as error:
        reason = json_reason(error)  # the error has a copy of the text
    if reason and (clean := repaired(options.decoded(line)[0])) != line:
        is_torn = clean != line.removeprefix(BOM)
        try:
            record, reason = loads(clean), ""
        except (ValueError, RecursionError) as error:
            reason = json_reason(error)
    if reason:
        raise InputError(f"not JSON: {reason}")
    if not isinstance(record, dict):
        raise InputError(f"not a JSON object but {kind_of(record)}")
    if is_torn and options.strict:
        raise InputError("a lone surrogate, which is not Unicode text")
    return record, is_torn


def is_blank(line: bytes) -> bool:
    """Whether a line is blank, without even an invalid record."""
    return not line or line.isspace() or (line.startswith(BOM) and not line[len(BOM) :].strip())


def _array_blocks(source: Input) -> Iterator[list[bytes | None]]:
    """Cut a JSON array into blocks of lines, one element each."""
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    largest = source.options.limits.largest_row
    number, wanted, expected, text = 1, 0, "[", ""
    for chunk in chain(source.text, (b"",)):
        text += decode(chunk, not chunk)
        # Parsed when it has doubled: otherwise a long element is parsed again and again.
        if chunk and len(text) < wanted:
            continue
        if expected == "[":
            text = text.removeprefix("\ufeff")
        lines: list[str] = []
        problem, at = "", 0
        while not problem and (at := _blanks_end(text, at)) < len(text):
            if (expected, text[at]) in _FOLLOWING:
                at, expected = at + 1, _FOLLOWING[expected, text[at]]
            elif expected.startswith("value"):
                try:
                    _, end = _ELEMENT.raw_decode(text, at)
                except (ValueError, RecursionError) as error:
                    if chunk and _may_be_cut(error, text):
                        break
                    problem = f"element {number + len(lines)}: not JSON: {json_reason(error, at)}"
                    continue
                if chunk and text[at] not in '{["' and end > len(text) - _LONGEST_TOKEN:
                    break  # a number may go on
                # A newline is a blank here: within a string it is not valid JSON.
                lines.append(text[at:end].replace("\n", " "))
                at, expected = end, ", or ]"
            elif expected == "[":
                raise NotAnArray(_NO_ARRAY)
            else:
                problem = (
                    f"behind element {number + len(lines) - 1}: not JSON: expecting {expected}"
                )
        text = text[at:]
        wanted = min(2 * len(text), largest + 1)
        if lines:
            number += len(lines)
            data = "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")
            found: list[bytes | None] = [data]
            del data, lines
            yield found
        if problem:
            raise InputError(problem)
        if len(text) > largest:
            raise InputError(f"element {number}: {longer_than(largest)}")
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


# writing


def json_of(value: object) -> bytes:
    """A value as JSON; InputError if there is none."""
    try:
        return encode(value)
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"a value that JSON does not support: {error}") from error


def lines_of(origin: Origin, indices: Sequence[int]) -> list[bytes]:
    """Rows as JSON lines; those that are stay byte for byte.

    All have a newline, except perhaps the last.
    """
    rows = rows_of(origin)
    if isinstance(rows, JsonRows):
        return rows.lines(indices)
    return [json_of(record) + b"\n" for record in rows.records(indices)]


def json_lines(columns: Iterable[str], rows: Values) -> Iterator[bytes]:
    """Rows as JSON objects, each on a line."""
    names = tuple(columns)
    return (json_of(dict(zip(names, row, strict=True))) + b"\n" for row in rows)


def in_ascii(data: bytes) -> bytes:
    """JSON in ASCII without DEL, so that a terminal obeys nothing in it."""
    if data.isascii() and b"\x7f" not in data:
        return data
    escapes = _NOT_PRINTED.sub(lambda run: encode_basestring_ascii(run[0])[1:-1], data.decode())
    return escapes.encode()


class _LineSink(Sink):
    _is_open_line = False

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        if lines := lines_of(origin, indices):
            if self._is_open_line:
                self._file.write(b"\n")
            self._is_open_line = not lines[-1].endswith(b"\n")
            self._file.write(lines[0] if len(lines) == 1 else b"".join(lines))

    def put(self, rows: Values) -> None:
        for line in json_lines(self._columns, rows):
            self._file.write(in_ascii(line) if self._screen else line)


class _ArraySink(Sink):
    _before = b"[\n"

    def write(self, origin: Origin, indices: Sequence[int]) -> None:
        self._put(lines_of(origin, indices))

    def put(self, rows: Values) -> None:
        self._put(json_lines(self._columns, rows))

    def _put(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._file.write(self._before + line.strip().removeprefix(BOM))
            self._before = b",\n"

    def finish(self) -> None:
        self._file.write(b"\n]\n" if self._before == b",\n" else b"[]\n")
