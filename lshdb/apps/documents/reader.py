"""The reader of documents: a batch for each in a PDF, a mailbox and the like; rows of a sheet."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from shutil import copyfileobj

from lshdb.apps.documents.extracting import Extracted, Extractor
from lshdb.apps.documents.extraction import guessing
from lshdb.apps.documents.extraction.kinds import LIBRARIES
from lshdb.errors import InputError
from lshdb.model import Failure
from lshdb.read import inputs, json_rows, records
from lshdb.read.batch import Batch, Record
from lshdb.read.files import digest_of
from lshdb.read.kinds import KINDS
from lshdb.store.partial_files import temporary_directory
from lshdb.store.rows import FileState


class DocumentReader(Extractor):
    """See lshdb.read.formats.DocumentReader."""

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

    def guessed(self, data: bytes | bytearray, stored: str | None) -> tuple[str, str | None] | None:
        """See lshdb.read.formats.DocumentReader."""
        if encoding := inputs.encoding_of(stored):
            with contextlib.suppress(UnicodeDecodeError, LookupError):
                return data.decode(encoding), stored
        if (guess := guessing.guess(data)) is None:
            return None
        return guess.text, json.dumps({"by": guess.by, "encoding": guess.encoding})

    def rows(self, source: inputs.Input) -> Iterator[bytes]:
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
