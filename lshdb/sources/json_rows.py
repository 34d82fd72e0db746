"""JSON lines and JSON arrays: read and written."""

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
    with_texts,
)
from lshdb.sources.sinks import Sink, Target, Values, rows_of

LONG = 1 << 20
"""Bytes of a line that is a block by itself."""
_LARGE = 16 << 20
"""Bytes of a line that waits in a file: to write its document takes three times as much memory."""
_OBJECTS = 200
"""Bytes of a document's objects besides its characters."""
_IN_STRING = re.compile(rb'"|\\.', re.DOTALL)
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BETWEEN_STRINGS = re.compile(
    rb'\{(?:[^][{}"]++|%b)*+\}|%b|[][{},"]|[^][{},":\s]+' % (_STRING, _STRING), re.DOTALL
)
"""What decides where an element of an array ends: signs, and what is passed as a whole, such as an
object without others in it."""
_SIGNS = frozenset((b"[", b"]", b"{", b"}", b","))
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
        return JsonRows(b"".join(with_texts(self, self.count, texts, field, json_of)), self.count)


# reading


@dataclass(eq=False)
class Json:
    """Objects of JSON: each on a line, or all in one array.

    Attributes:
        format: `jsonl` or `json`.
    """

    format: str

    def read(self, source: Input) -> Iterator[Batch]:
        """The documents of a file, in batches of the lines or elements that end in a chunk of it.

        Raises:
            InputError: it is not a complete array; the elements before the error are given first.
        """
        number, largest = 1, source.options.limits.largest_document
        is_array = self.format == "json"
        text = _element_lines(source.text) if is_array else source.text
        for block in line_blocks(text, largest):
            found = [block]
            del block
            batch = _batch(found, number, source, is_array)
            number += batch.count
            yield batch
            del batch  # before another is read: a line may have a hundred megabytes

    def sink(self, target: Target, head: TableSchema | None) -> Sink:
        """A writer of rows."""
        return (_ArraySink if self.format == "json" else _LineSink)(target, head)


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


def _batch(found: list[bytes | None], number: int, source: Input, is_array: bool) -> Batch:
    """The documents of a block of lines, the first of which has this number; empties `found`."""
    data, options = found.pop(), source.options
    largest, size = options.limits.largest_document, len(data or b"")
    count = 1 if data is None else data.count(b"\n") + (not data.endswith(b"\n"))
    rows = None
    if source.options.whole and data is not None:
        rows = JsonRows(data.replace(b"\r", b" ") if is_array else data, count)
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


def _element_lines(text: Iterator[bytes]) -> Iterator[bytes]:
    """The text of a JSON array with each element on a line, in chunks.

    Newlines become carriage returns, which JSON allows in the same places.

    Raises:
        InputError: it is not a complete array; the elements before the error are given first, and
            what is wrong within one is left to its reader.
    """
    chunks = (chunk.removeprefix(BOM).lstrip() for chunk in text)
    start = next(filter(None, chunks), b"")
    if not start.startswith(b"["):
        raise NotAnArray(_NO_ARRAY)
    number, depth, last, in_string, rest = 1, 1, b"[", False, b""
    for chunk in chain((start[1:],), text):
        data, at = bytearray(rest + chunk.replace(b"\n", b"\r")), 0
        while depth and (found := (_IN_STRING if in_string else _BETWEEN_STRINGS).search(data, at)):
            before, last, at = last, found[0], found.end()
            if last == b'"':
                in_string = not in_string
            elif in_string or last not in _SIGNS:
                continue
            elif (before == b"," and last in b",]}") or before + last == b"[,":
                yield bytes(data[: at - 1])
                raise InputError(f"element {number}: not JSON: expecting value")
            elif last != b",":
                depth += 1 if last in b"[{" else -1
            elif depth == 1:
                data[at - 1 : at] = b"\n"
                number += 1
        if not depth:
            yield bytes(data[: at - 1])
            if last != b"]" or data[at:].strip() or any(map(bytes.strip, text)):
                yield b"\n"
                raise InputError(f"behind element {number}: not JSON: expecting nothing more")
            return
        # A backslash belongs to what follows it.
        end = len(data) - (in_string and at < len(data) and data.endswith(b"\\"))
        rest = bytes(data[end:])
        yield bytes(data[:end])
    if depth == 1 and not in_string:
        yield b"\n"
        raise InputError(f"cut off behind element {number}")


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
