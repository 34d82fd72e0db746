"""A file that is read: its bytes, its text in UTF-8 in chunks, or all of it as one text."""

import os
from _blake2 import blake2b
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from lshdb.errors import ContentError, InputError
from lshdb.keys import key_fault
from lshdb.read import kinds, records
from lshdb.read.batch import Batch, Record
from lshdb.read.counts import ReadCounts
from lshdb.read.files import File
from lshdb.read.metadata import to_json
from lshdb.read.paths import printable_path
from lshdb.text.content import normalized

_LONGEST_BOM = 4
_BINARY_PROBE = 8192


class Skipped(InputError):
    """A file that is skipped in a directory, and a failure where the user names it.

    Attributes:
        kind: the reason, as lshdb.read.walking counts it.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


@dataclass
class Input:
    """A file that is read.

    Attributes:
        stream: opened for reading.
        file: what it is.
        options: how rows become documents.
        counts: those of the bytes that are read, and of what is special about documents.
        name: of the file, as printed.
        text: the text, in chunks of the available bytes, up to about a block; in UTF-8, or in the
            encoding that it is in where the app for documents is missing.
        invalid_texts: how many texts so far have bytes that are not in the encoding.
        guessed: the text of bytes that are not UTF-8, with what guessed the encoding; None if there
            is no guess, or nothing that guesses.
        hasher: gets the bytes as they are read; None if no digest of them is wanted.
    """

    stream: BinaryIO
    file: File
    options: records.RecordOptions
    counts: ReadCounts
    name: str = field(init=False)
    text: Iterator[bytes] = field(init=False, repr=False)
    invalid_texts: int = field(default=0, init=False)
    hasher: blake2b | None = field(default=None, init=False, repr=False)
    guessed: "Callable[[Input, bytearray], tuple[str, str | None] | None]" = field(
        default=lambda *_: None, init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.name = printable_path(self.file.path)
        self.text = self._chunks()

    @property
    def size(self) -> int:
        """Bytes of the file; 0 if unknown."""
        try:
            return os.fstat(self.stream.fileno()).st_size
        except OSError:
            return 0

    def document(
        self,
        text: str,
        digest: bytes,
        extracted: str | None,
        metadata: Record | None = None,
        name: str | None = None,
    ) -> Batch:
        """The batch of a document that is the file, or in it.

        Args:
            text: as it was taken out of the file.
            digest: of the bytes of the file.
            extracted: what took it out, as in its `FileState`.
            metadata: its fields; None if there are none.
            name: in the file; None if the document is the file.

        Raises:
            InputError: the document cannot be stored.
        """
        key = self.file.key if name is None else f"{self.file.key}#{name}"
        if fault := key_fault(key):
            raise InputError(f"its key {fault}")
        options, stored = self.options, None
        try:
            content = options.content_of(text)
            clean = normalized(content, options.limits.largest_document, options.of_sets)
            if metadata and options.metadata:
                stored = to_json(options.kept(metadata))
        except ContentError as error:
            raise InputError(str(error)) from error
        is_replaced = content is text and clean is not text
        if is_replaced and options.strict:
            raise InputError("its text has a lone surrogate, which is not Unicode text")
        state = self.file.state(extracted, digest)
        return Batch(
            [key],
            [clean],
            [stored],
            states=() if state is None else [(key, state)],
            replaced=is_replaced,
            size=text.__sizeof__() + len(key),
        )

    def whole_text(self) -> tuple[str, str | None]:
        """All of the file as one text, and what took it out, as in its `FileState`.

        Raises:
            InputError: it is binary or too large.
        """
        limits = self.options.limits
        data = bytearray()
        for chunk in self.text:
            data += chunk
            start = bytes(data[:_BINARY_PROBE])
            if kind := kinds.binary_kind(start) or (b"\0" in start and "it has NUL bytes"):
                raise Skipped("binary", f"a binary file ({kind})")
            if len(data) > limits.largest_document:
                break
        largest = limits.largest_document if data.isascii() else limits.largest_text
        if len(data) > largest:
            raise InputError(f"larger than {largest:,} bytes, the limit: split it")
        text, is_invalid_utf8 = self.options.decoded(data)
        if is_invalid_utf8 and (guessed := self.guessed(self, data)):
            return guessed
        self.invalid_texts += is_invalid_utf8
        return text, None

    def _chunks(self) -> Iterator[bytes]:
        """The blocks of the file; the first one has all of a byte order mark."""
        chunks, start = iter(self._next_block, b""), b""
        while len(start) < _LONGEST_BOM and (chunk := next(chunks, b"")):
            start += chunk
        if start:
            yield start
        yield from chunks

    def _next_block(self) -> bytes:
        """The next available bytes, at most a block; empty at the end."""
        # A pipe returns what is available: a slow stream does not wait until a block is full.
        read = getattr(self.stream, "read1", self.stream.read)
        data: bytes = read(self.options.limits.block_bytes)
        self.counts.bytes_read += len(data)
        if self.hasher is not None:
            self.hasher.update(data)
        return data
