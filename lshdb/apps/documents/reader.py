"""The reader of documents: a batch for each in a PDF, a mailbox and the like; rows of a sheet."""

import codecs
import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain
from shutil import copyfileobj

from lshdb.apps.documents.extracting import Extracted, Extractor
from lshdb.apps.documents.extraction import guessing
from lshdb.apps.documents.extraction.kinds import LIBRARIES
from lshdb.errors import InputError, UsageError
from lshdb.model import Failure
from lshdb.read import encodings, inputs, json_rows, records
from lshdb.read.batch import Batch, Record
from lshdb.read.files import digest_of
from lshdb.read.kinds import KINDS
from lshdb.read.session import SessionOptions
from lshdb.store.partial_files import temporary_directory
from lshdb.store.rows import FileState


class DocumentReader(Extractor):
    """See lshdb.read.formats.Reader."""

    @staticmethod
    def lacks_library(kind: str) -> bool:
        """Whether the library that reads a kind is not installed."""
        return find_spec(LIBRARIES[kind].name.replace("-", "_") or "email") is None

    def read(self, source: inputs.Input, kind: str) -> Iterator[Batch]:
        """The batch of each document.

        What is read by other programs is hashed before: if it changes meanwhile, its digest is of
        bytes that it has no longer, and never of others than those that were read.
        """
        first: list[tuple[str, FileState]] = []
        is_whole = True
        try:
            with _on_disk(source) as (copy, digest):
                for document in self.documents(copy, kind):
                    batch = _batch(document, source, digest)
                    first = first or [*batch.states]
                    is_whole &= not batch.unread
                    yield batch
        except InputError as error:
            if kind == "zip":
                why = f"a binary file ({KINDS[kind].name})"
                raise inputs.Skipped("binary", why) from error
            yield _to_read_again(first)
            raise
        if not is_whole:
            yield _to_read_again(first)
        source.counts.bytes_read += source.size

    def __init__(self, options: SessionOptions) -> None:
        super().__init__(options)
        if options.encoding is not None:
            try:
                "".encode(options.encoding)
            except (LookupError, ValueError) as error:
                raise UsageError(f"encoding {options.encoding!r} is not known to Python") from error

    def in_utf8(self, source: inputs.Input, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """See lshdb.read.formats.Reader."""
        start = next(chunks, b"")
        encoding = encodings.of_mark(start)
        if encoding in (None, "utf-8-sig"):  # UTF-8 is not decoded
            encoding = source.options.encoding
        if encoding is None:
            source.guessed = _guessed
            yield start
            yield from chunks
        else:
            yield from _to_utf8(source, chain((start,), chunks), encoding)

    def batches(self, source: inputs.Input, format: str, start: bytes) -> Iterator[Batch] | None:
        """See lshdb.read.formats.Reader."""
        if format == "xlsx":
            source.text = self._rows(source)
            return json_rows.read(source, "jsonl")
        file, kind = source.file, self.kind_of(source.file.path, start)
        if kind != "mbox" and file.status and not file.status.st_size:
            kind = None  # an empty file of any kind is an empty text
        return self.read(source, kind) if kind and not source.options.of_sets else None

    def _rows(self, source: inputs.Input) -> Iterator[bytes]:
        """The rows of a sheet as lines of JSON, by the names in its first row.

        Whole numbers are integers, dates and times are texts as ISO 8601 writes them, and blank
        cells are null. Lines are blank for the header and what is before it, and for blank rows.
        """
        with _on_disk(source) as (copy, _):
            cells = self.cells(copy, source.file.sheet)
        source.counts.bytes_read += source.size
        first, *rows = map(json.loads, cells.splitlines())
        if not rows:
            raise InputError("an empty sheet: its first row must name the columns")
        names = records.distinct_names(["" if cell is None else str(cell) for cell in rows[0]])
        source.options.check_columns(names)
        yield b"\n" * (first[0] + 1)
        for row in rows[1:]:
            cells_by_name = zip(names, row, strict=True)
            record: Record = {
                name: cell for name, cell in cells_by_name if name or cell is not None
            }
            is_blank = all(cell is None for cell in row)
            yield (b"" if is_blank else json_rows.json_of(record)) + b"\n"


def _to_utf8(source: inputs.Input, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for chunk in chain(chunks, (b"",)):
        before = decoder.getstate()
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            if source.options.strict:
                raise InputError(f"not {encoding.upper()}") from error
            source.invalid_texts += 1
            decoder.setstate(before)
            decoder.errors = "replace"
            text = decoder.decode(chunk, not chunk)
        if text:
            yield text.encode("utf-8", "surrogatepass")


def _guessed(source: inputs.Input, data: bytearray) -> tuple[str, str | None] | None:
    """A text in the encoding that was guessed last or is guessed now; see Input.guessed."""
    extracted = source.options.stored_guess(source.file.key)
    encoding = _encoding_of(extracted)
    try:
        text = data.decode(encoding or "")
    except (UnicodeDecodeError, LookupError):  # or none was guessed before
        if (guess := guessing.guess(data)) is None:
            return None
        text, encoding = guess.text, guess.encoding
        extracted = json.dumps({"by": guess.by, "encoding": encoding})
    source.counts.skipped.add("guessed", source.file.path, f"read as {encoding}, a guess")
    return text, extracted


def _encoding_of(extracted: str | None) -> str | None:
    """The guessed encoding of a text, from the stored state of its file; None if not guessed."""
    if not extracted:
        return None
    with contextlib.suppress(ValueError, AttributeError):
        encoding = json.loads(extracted).get("encoding")
        return encoding if isinstance(encoding, str) else None
    return None


@contextlib.contextmanager
def _on_disk(source: inputs.Input) -> Iterator[tuple[str, bytes]]:
    """The path of an open file, or of a copy of a member, and the digest of its bytes."""
    if not source.file.member:
        yield source.file.place, digest_of(source.stream)
        return
    with temporary_directory(None) as directory:
        copy = os.path.join(directory, f"member{os.path.splitext(source.file.path)[1]}")
        with open(copy, "w+b") as target:
            copyfileobj(source.stream, target)
            target.seek(0)
            digest = digest_of(target)
        yield copy, digest


def _batch(document: Extracted, source: inputs.Input, digest: bytes) -> Batch:
    """The batch of a document that was taken out of a file, by the rules for all documents."""
    skipped, path = source.counts.skipped, source.file.path
    name, about = document.name, document.metadata
    try:
        if document.reason:
            raise InputError(document.reason)
        batch = source.document(document.text, digest, document.extracted, about, name)
    except InputError as error:
        if name is None:
            raise
        failure = Failure(f"{source.name}#{name}", str(error))
        return Batch(failures=[(0, failure)], unread=[f"{source.file.key}#{name}"])
    if about.get("scanned"):
        skipped.add("scanned", path, "a PDF of pictures: it has no text")
    if damaged := about.get("damaged"):
        why = f"read without {len(damaged):,} damaged: {damaged[0]}"
        skipped.add("damaged", path, why)
    return batch


def _to_read_again(states: list[tuple[str, FileState]]) -> Batch:
    """The batch without documents that says: a file was not read whole, as if it had changed."""
    again = [(key, dataclasses.replace(state, mtime_ns=None, digest=None)) for key, state in states]
    return Batch(states=again)
