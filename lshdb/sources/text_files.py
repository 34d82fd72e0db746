"""Text files: each is a document, or has several, such as the messages of a mailbox."""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lshdb.errors import InputError
from lshdb.model import Failure
from lshdb.sources import inputs
from lshdb.sources.archives import Archives
from lshdb.sources.batch import Batch
from lshdb.sources.counts import ReadCounts
from lshdb.sources.documents.kinds import PROBE
from lshdb.sources.extracting import Extracted, Extractor
from lshdb.sources.paths import ZIP, binary_kind, printable_path
from lshdb.sources.session_options import SessionOptions
from lshdb.store.rows import FileState

_SETTLED = 2_000_000_000
"""Nanoseconds after which a change gives a file another time, even in FAT."""


@dataclass(frozen=True, eq=False)
class TextFiles:
    """Reads text files.

    Attributes:
        options: how texts become documents.
        counts: of the session.
        extractor: takes the text out of documents such as PDF.
        archives: reads members of archives.
    """

    options: SessionOptions
    counts: ReadCounts
    extractor: Extractor
    archives: Archives

    def read(self, source: inputs.Input, path: str, key: str) -> Iterator[Batch]:
        """The batch of a text file, or one for each document in a PDF, a mailbox and the like."""
        state = state_of(self.archives.status(path))
        peek = getattr(source.file, "peek", lambda _: b"")
        kind = self.extractor.kind_of(path, peek(PROBE)) if state else None
        if kind is None or self.options.of_sets:
            yield self.whole(source, key, state)
            return
        assert state is not None
        first: list[tuple[str, FileState]] = []
        is_whole = True
        try:
            with self.archives.on_disk(path, source.file) as copy:
                for document in self.extractor.documents(copy, kind):
                    if isinstance(document, Extracted):
                        batch = self._extracted(document, path, key, state)
                    else:
                        batch = _unread(path, key, document.name, document.reason)
                    first = first or [*batch.states]
                    is_whole &= not batch.unread
                    yield batch
        except InputError as error:
            if kind == "zip":
                why = f"a binary file ({binary_kind(ZIP)})"
                raise inputs.Skipped("binary", why) from error
            yield _to_read_again(first)
            raise
        if not is_whole:
            yield _to_read_again(first)
        self.counts.bytes_read += source.size

    def whole(self, source: inputs.Input, key: str, state: FileState | None) -> Batch:
        """The batch of a text as one document."""
        text = source.whole_text(lambda: self.options.stored_guess(key))
        if self.options.of_sets:
            raise InputError("a text, and this database holds sets: give JSON lines")
        text, _, _ = self.options.text_document(key, text, None)
        if self.note_guess(source):
            state = state and replace(state, extracted=source.guess)
        states = () if state is None else [(key, state)]
        return Batch([key], [text], states=states, size=text.__sizeof__() + len(key))

    def note_guess(self, source: inputs.Input) -> bool:
        """Count a text whose encoding was guessed; return whether it was."""
        if source.guess is None:
            return False
        guess = inputs.encoding_of(source.guess)
        self.counts.skipped.add("guessed", source.name, f"read as {guess}, a guess")
        return True

    def _extracted(self, document: Extracted, path: str, key: str, state: FileState) -> Batch:
        """The batch of a document that was taken out of a file, by the rules for all documents."""
        whole_key = key if document.name is None else f"{key}#{document.name}"
        try:
            text, metadata, replaced = self.options.text_document(
                whole_key, document.text, document.metadata
            )
        except InputError as error:
            if document.name is None:
                raise
            return _unread(path, key, document.name, str(error))
        if document.metadata.get("scanned"):
            self.counts.skipped.add("scanned", path, "a PDF of pictures: it has no text")
        if damaged := document.metadata.get("damaged"):
            why = f"read without {len(damaged):,} damaged: {damaged[0]}"
            self.counts.skipped.add("damaged", path, why)
        return Batch(
            [whole_key],
            [text],
            [metadata],
            states=[(whole_key, replace(state, extracted=document.extracted))],
            replaced=replaced,
            size=text.__sizeof__() + len(whole_key),
        )


def _unread(path: str, key: str, name: str, reason: str) -> Batch:
    """The batch of a message that cannot be read."""
    failure = Failure(f"{printable_path(path)}#{name}", reason)
    return Batch(failures=[(0, failure)], unread=[f"{key}#{name}"])


def _to_read_again(states: list[tuple[str, FileState]]) -> Batch:
    """The batch without documents that says: a file was not read whole, as if it had changed."""
    return Batch(states=[(key, replace(state, mtime_ns=None)) for key, state in states])


def state_of(status: os.stat_result) -> FileState | None:
    """The state of a file; None if it is not a regular file."""
    if not stat.S_ISREG(status.st_mode):
        return None
    settled = time.time_ns() - status.st_mtime_ns > _SETTLED
    return FileState(status.st_size, status.st_mtime_ns if settled else None)
