"""JSON lines and JSON arrays: read and written."""

import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import Any, cast

from lshdb import json_text
from lshdb.errors import InputError
from lshdb.limits import OBJECT_BYTES
from lshdb.read import inputs, sinks
from lshdb.read.batch import Batch, Origin, Record, TableSchema
from lshdb.read.records import (
    BOM,
    Collector,
    RecordOptions,
    json_reason,
    kind_of,
    longer_than,
)

LONG = 1 << 20
"""Bytes of a line that is a block by itself."""
_IN_STRING = re.compile(rb'"|\\.', re.DOTALL)
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BETWEEN_STRINGS = re.compile(
    rb'\{(?:[^][{}"]++|%b)*+\}|%b|[][{},"]|[^][{},":\s]+' % (_STRING, _STRING), re.DOTALL
)
"""What decides where an element of an array ends: signs, and what is passed as a whole, such as an
object without others in it."""
_SIGNS = frozenset((b"[", b"]", b"{", b"}", b","))
_NO_ARRAY = "not an array of objects: format jsonl reads lines of JSON, format text all as one text"
_ANY = RecordOptions(of_sets=False)
_NOT_PRINTED = re.compile("[^\\x00-\\x7e]+")


def read(source: inputs.Input, format: str) -> Iterator[Batch]:
    """The documents of a file, in batches of the lines or elements that end in a chunk of it.

    Raises:
        InputError: it is not a complete array; the elements before the error are given first. Or
            no row of its first megabyte has the fields of documents.
    """
    number, largest = 1, source.options.limits.largest_document
    is_array = format == "json"
    chunks = iter(source.text)
    text = chain((next(chunks, b"").removeprefix(BOM),), chunks)
    lines = _element_lines(text) if is_array else text
    for block in _checked(line_blocks(lines, largest), source.options):
        batch = _batch(block, number, source, is_array)
        number += batch.count
        yield batch
        del batch, block  # before another is read: a line may have a hundred megabytes


def line_blocks(chunks: Iterable[bytes], largest: int) -> Iterator[bytes]:
    """Cut lines, given in chunks, into blocks of whole lines; empty for one that is too long."""
    # The beginning of a line: pieces of a long one would leave as much unusable.
    block, skipping = bytearray(), False
    for chunk in chunks:
        while chunk:
            is_long = skipping or len(block) > LONG  # a block by itself, which is not copied
            end = (chunk.find(b"\n") if is_long else chunk.rfind(b"\n")) + 1
            block += memoryview(chunk)[:end] if end else chunk
            chunk = chunk[end:] if end else b""
            if skipping:
                block, skipping = bytearray(), not end
            elif (is_long or not end) and len(block) > largest + bool(end):
                block, skipping = bytearray(), not end
                yield b""
            elif end:
                yield cast(bytes, block)
                block = bytearray()
    if block:
        yield cast(bytes, block)


def _checked(blocks: Iterator[bytes], options: RecordOptions) -> Iterator[bytes]:
    """The blocks; InputError if rows begin them, and none of these has the fields of documents."""
    held = deque[bytes]()

    def records() -> Iterator[Record]:
        size = 0
        for block in blocks:
            held.append(block)
            for line in lines_in(block):
                if size > LONG:
                    return
                size += len(line)
                with suppress(InputError):
                    yield record_of(line)

    options.check_records(records())
    while held:
        yield held.popleft()
    yield from blocks


def lines_in(block: bytes) -> list[bytes]:
    """The lines of a block; a single one is not copied."""
    is_single = block.find(b"\n") + 1 in (0, len(block))
    return [block] if is_single else io.BytesIO(block).readlines()


def _batch(data: bytes, number: int, source: inputs.Input, is_array: bool) -> Batch:
    """The documents of a block of lines, the first of which has this number."""
    options = source.options
    size, lines = len(data), lines_in(data)
    numbers = range(number, number + len(lines))
    documents = Collector(options, Origin(source.name, numbers))
    largest = options.limits.largest_text
    for index, line in enumerate([] if options.only_rows else lines):
        if line.isspace():
            continue
        if not line:
            documents.fail(index, longer_than(options.limits.largest_document))
            continue
        try:
            if len(line) > largest and (reason := options.too_long(line)):
                raise InputError(reason)
            documents.take(index, *_record_of(line, options))
        except InputError as error:
            if not is_blank(line):
                documents.fail(index, str(error))
    rows = None
    if options.whole:
        rows = [line.replace(b"\r", b" ") for line in lines] if is_array else lines
    return documents.batch(size * (1 + options.whole) + OBJECT_BYTES * len(numbers), rows)


def record_of(line: bytes) -> Record:
    """The record of a line of JSON; InputError if it is none."""
    return _record_of(line, _ANY)[0]


def _record_of(line: bytes, options: RecordOptions) -> tuple[Record, bool, bool]:
    """The record of a line of JSON, and what is so of it.

    Returns:
        The record, whether U+FFFD replaces what is not Unicode in it, and whether it may have
        numbers of many digits.

    Raises:
        InputError: it is not a JSON object; or, if strict, not Unicode.
    """
    is_invalid_utf8 = False
    try:
        record, has_large = _parsed(line)
    except InputError:
        if (clean := json_text.repaired(options.decoded(line)[0])) == line:
            raise
        is_invalid_utf8 = clean != line.removeprefix(BOM)
        record, has_large = _parsed(clean)
    if not isinstance(record, dict):
        raise InputError(f"not a JSON object but {kind_of(record)}")
    if is_invalid_utf8 and options.strict:
        raise InputError("a lone surrogate, which is not Unicode text")
    return record, is_invalid_utf8, has_large


def _parsed(line: bytes) -> tuple[Any, bool]:
    """What `loads_exactly` gives; InputError if a line is not JSON."""
    try:
        return json_text.loads_exactly(line)
    except (ValueError, RecursionError) as error:
        reason = json_reason(error)  # the error has a copy of the text
    raise InputError(f"not JSON: {reason}")


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
    start = next(filter(None, map(bytes.lstrip, text)), b"")
    if not start.startswith(b"["):
        raise inputs.Skipped("tables", _NO_ARRAY)
    number, depth, last, in_string, unread = 1, 1, b"[", False, b""
    for chunk in chain((start[1:],), text):
        data, position = bytearray(unread + chunk.replace(b"\n", b"\r")), 0
        while depth and (
            match := (_IN_STRING if in_string else _BETWEEN_STRINGS).search(data, position)
        ):
            before, last, position = last, match[0], match.end()
            if last == b'"':
                in_string = not in_string
            elif in_string or last not in _SIGNS:
                continue
            elif (before == b"," and last in b",]}") or before + last == b"[,":
                yield bytes(data[: position - 1])
                raise InputError(f"element {number}: not JSON: expecting value")
            elif last != b",":
                depth += 1 if last in b"[{" else -1
            elif depth == 1:
                data[position - 1 : position] = b"\n"
                number += 1
        if not depth:
            yield bytes(data[: position - 1])
            if last != b"]" or data[position:].strip() or any(map(bytes.strip, text)):
                yield b"\n"
                raise InputError(f"behind element {number}: not JSON: expecting nothing more")
            return
        # A backslash belongs to what follows it.
        end = len(data) - (in_string and position < len(data) and data.endswith(b"\\"))
        unread = bytes(data[end:])
        yield bytes(data[:end])
    if depth == 1 and not in_string:
        yield b"\n"
        raise InputError(f"cut off behind element {number}")


# writing


def json_of(value: object) -> bytes:
    """A value as JSON; InputError if JSON has no such value."""
    try:
        return json_text.encode(value)
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"a value that JSON does not support: {error}") from error


def in_ascii(data: bytes) -> bytes:
    """JSON in ASCII without DEL, so that a terminal obeys nothing in it."""
    if data.isascii() and b"\x7f" not in data:
        return data
    escapes = _NOT_PRINTED.sub(lambda run: encode_basestring_ascii(run[0])[1:-1], data.decode())
    return escapes.encode()


class JsonSink(sinks.LineSink):
    """Lines of JSON, or an array with an element on each."""

    _before = b"[\n"

    def __init__(self, target: sinks.Target, head: TableSchema | None) -> None:
        super().__init__(target)
        self._columns = () if head is None else head.columns
        self._is_array = target.format == "json"

    def put(self, rows: sinks.RowValues) -> None:
        """Write rows, of a value for each column."""
        lines = (json_of(dict(zip(self._columns, row, strict=True))) + b"\n" for row in rows)
        self.put_lines(map(in_ascii, lines) if self.screen else lines)

    def put_lines(self, lines: Iterable[bytes]) -> None:
        """As LineSink.put_lines."""
        if not self._is_array:
            super().put_lines(lines)
            return
        for line in lines:
            self._file.write(self._before + line.strip().removeprefix(BOM))
            self._before = b",\n"

    def finish(self) -> None:
        """As LineSink.finish."""
        if self._is_array:
            self._file.write(b"\n]\n" if self._before == b",\n" else b"[]\n")


sink = JsonSink
