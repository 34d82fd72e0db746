"""A file that is read: its bytes, its text in UTF-8 in chunks, or all of it as one text."""

import codecs
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

from lshdb.errors import InputError
from lshdb.sources import paths, records

_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16's, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, and their encodings."""
_LONGEST_BOM = 4
_BINARY_PROBE = 8192


class Skipped(InputError):
    """What is skipped in a directory, and a failure where it is named.

    Attributes:
        kind: the reason, as lshdb.sources.walking counts it.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


@dataclass(slots=True)
class Input:
    """A file that is read.

    Attributes:
        file: opened for reading.
        name: as printed.
        options: how rows become documents.
        on_read: called with the number of bytes, each time that some are read.
        text: the text in UTF-8, in chunks of the available bytes, up to about a block.
        torn: how many texts so far have bytes that are not in the encoding.
    """

    file: BinaryIO
    name: str
    options: records.RecordOptions
    on_read: Callable[[int], None]
    text: Iterator[bytes] = field(init=False, repr=False)
    torn: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.text = self._chunks()

    @property
    def size(self) -> int:
        """Bytes of the file; 0 if unknown."""
        try:
            return os.fstat(self.file.fileno()).st_size
        except OSError:
            return 0

    def one_text(self) -> str:
        """All of the file as one text; InputError if it is binary or too large."""
        limits = self.options.limits
        data = bytearray()
        for chunk in self.text:
            data += chunk
            start = bytes(data[:_BINARY_PROBE])
            kind = paths.binary_kind(start) or ("it has NUL bytes" if b"\0" in start else None)
            if kind is not None:
                raise Skipped("binary", f"a binary file ({kind})")
            if len(data) > limits.largest_document:
                break
        largest = limits.largest_document if data.isascii() else limits.largest_text
        if len(data) > largest:
            raise InputError(f"larger than {largest:,} bytes, the limit: split it")
        text, is_torn = self.options.decoded(data)
        self.torn += is_torn
        return text

    def _chunks(self) -> Iterator[bytes]:
        chunks = iter(self._some, b"")
        start = b""
        while len(start) < _LONGEST_BOM and (chunk := next(chunks, b"")):
            start += chunk
        if start:
            chunks = chain((start,), chunks)
        encoding = self._encoding_of(start)
        yield from chunks if encoding is None else self._to_utf8(chunks, encoding)

    def _encoding_of(self, start: bytes) -> str | None:
        """The encoding of a text by its first bytes; None for UTF-8."""
        if self.options.encoding is not None:
            return self.options.encoding
        return next((name for bom, name in _ENCODINGS.items() if start.startswith(bom)), None)

    def _to_utf8(self, chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)()
        for chunk in chain(chunks, (b"",)):
            before = decoder.getstate()
            try:
                text = decoder.decode(chunk, not chunk)
            except UnicodeDecodeError as error:
                if self.options.strict:
                    raise InputError(f"not {encoding.upper()}") from error
                self.torn += 1
                decoder.setstate(before)
                decoder.errors = "replace"
                text = decoder.decode(chunk, not chunk)
            if text:
                yield text.encode("utf-8", "surrogatepass")

    def _some(self) -> bytes:
        """The next available bytes, at most a block; empty at the end."""
        # A pipe returns what is available: a slow stream does not wait until a block is full.
        read = getattr(self.file, "read1", self.file.read)
        data: bytes = read(self.options.limits.block_bytes)
        self.on_read(len(data))
        return data
