"""Cutting a stream of documents into parts, which are signed in one go, and these into batches.

Band rows are spread over the whole table, so that a batch touches each of its pages: the larger
the batch, the fewer times. Batches therefore grow with the file. They need not be in memory:
parts of files are read while those before them are written.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from lshdb.errors import ContentError, InputError
from lshdb.ingest.parts import Part, SignedPart
from lshdb.ingest.workers import Pending, Workers
from lshdb.model import Content, Document, FileState, Settings
from lshdb.shingling.content import cleaned
from lshdb.sources.metadata import to_json
from lshdb.sources.records import Block, Failure, Lines, RecordParser, Rows, TextFile, key_fault
from lshdb.store.store import Store

Item: TypeAlias = Document | TextFile | tuple[str, Content] | Mapping[str, object] | Block | Failure
"""What is added: documents, also as pairs of key and content or as records, or blocks; failures are
counted."""

_BATCH_DOCUMENTS: Final = 16_000
_BATCH_SHARE: Final = 5
"""Documents of a batch: so many, or one for each five of the file if that is more. Larger batches
save CPU time, smaller ones leave less to write when the last part is signed."""
_BATCH_BYTES: Final = 240_000_000
"""Of documents and band rows: as long is the log that a batch leaves."""
_BATCH_SECONDS: Final = 5.0
"""How long a batch is read: a document of a slow stream waits no longer for others."""
_AHEAD: Final = 60_000_000
_AHEAD_OF_FILES: Final = 20_000_000
"""Bytes of documents in memory: read, being signed, or signed and not written yet. Files are read
on whenever a part was written, so that they need only what is signed during a COMMIT."""
_BAND_ROW: Final = 64
"""Bytes that a band row takes in memory and in the log, about."""
_PART_BYTES: Final = 1_000_000
"""Of documents that are signed in one go."""
_OBJECTS: Final = 200
"""Bytes that the objects of a document take beside its characters."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part that is being signed: its block if that is kept, about its documents and bytes."""

    block: Block | None
    pending: Pending
    documents: int
    size: int


class Stream:
    """The batches of a stream of documents: while `read_ahead()`, take the parts of `batch()`.

    An error of the stream (a document that cannot be read or taken, Ctrl-C) ends it, so that what
    was read before can be written; it is then in `error`.

    Attributes:
        sign: whether parts are signed as they are read. Else they are only digested: most likely
            they are stored already.
    """

    def __init__(
        self,
        store: Store,
        items: Iterable[Item],
        pool: Workers,
        *,
        prompt: bool,
        keep_blocks: bool,
        most: int | None = None,
    ) -> None:
        """Read items for a store, to be signed by `pool`.

        Args:
            store: what they are added to.
            items: documents.
            pool: by whom they are signed.
            prompt: whether reading never waits for anybody, so that a batch may be read while it
                is written. Else all of it is read before, and in memory.
            keep_blocks: whether parts shall come with the blocks that documents are made of.
            most: documents of a batch; None for what suits the size of the file.
        """
        self.error: BaseException | None = None
        self.sign = True
        self._pool = pool
        self._prompt = prompt
        self._keep_blocks = keep_blocks
        self._fixed = most
        self._stored = store.last_doc_id()
        self._band_rows = _BAND_ROW * store.settings.construction.bands
        self._source = _parts(items, store.settings)
        self._ahead: deque[_Part] = deque()
        self._ahead_size = self._ahead_documents = 0
        self._over = False

    def read_ahead(self) -> bool:
        """Read what is written next, and what is signed meanwhile; False if there is no more."""
        begun = time.monotonic()
        while self._read():
            if time.monotonic() - begun > _BATCH_SECONDS:
                break
        return bool(self._ahead)

    def batch(self) -> Iterator[tuple[Block | None, SignedPart]]:
        """The parts of a batch, each when it is signed, and the block of each if that is kept."""
        most = self._most()
        begun = time.monotonic()
        documents = size = 0
        while self._ahead:
            full = (
                documents >= most
                or size + documents * self._band_rows >= _BATCH_BYTES
                or (size >= _AHEAD // 2 and not self._prompt)
                or (size and self._prompt and time.monotonic() - begun > _BATCH_SECONDS)
            )
            # A small rest is written with this batch: alone it would touch as many pages.
            if full and not (self._over and 2 * self._ahead_documents < documents):
                break
            part = self._ahead.popleft()
            self._ahead_size -= part.size
            self._ahead_documents -= part.documents
            documents += part.documents
            size += part.size
            self._stored += part.documents
            yield part.block, self._pool.result(part.pending)
            while self._prompt and self._read():
                pass

    def _most(self) -> int:
        """Documents of a batch."""
        if self._fixed is not None:
            return self._fixed
        return max(_BATCH_DOCUMENTS, self._stored // _BATCH_SHARE)

    def _read(self) -> bool:
        """Read a part, and have it signed; False if there is none, or no room for it."""
        batches = 2 if self._pool.count else 1  # one is written while the other is signed
        if (
            self._over
            or self._ahead_size >= (_AHEAD_OF_FILES if self._prompt else _AHEAD) // 2 * batches
            or self._ahead_documents >= self._most() * batches
        ):
            return False
        try:
            item, documents, size = next(self._source, (None, 0, 0))
            if item is None:
                self._over = True
                return False
            if isinstance(item, Failure):
                pending = Pending(Part(), signed=SignedPart([], [], [], None, [item], 0))
            else:
                pending = self._pool.submit(replace(item, sign=self.sign))
            block = item.block if self._keep_blocks and isinstance(item, Part) else None
            if isinstance(block, Rows):
                block = block.without_values()
            self._ahead.append(_Part(block, pending, documents, size))
            self._ahead_size += size
            self._ahead_documents += documents
        except BaseException as error:
            self.error, self._over = error, True
            if not isinstance(error, Exception):
                self._ahead.clear()  # interrupted: what is being signed is not waited for
        return not self._over


def _parts(items: Iterable[Item], settings: Settings) -> Iterator[tuple[Part | Failure, int, int]]:
    """Cut a stream into parts; each with its number of documents and about its bytes."""
    documents: list[tuple[str, Content]] = []
    metadata: list[str | None] = []
    files: list[tuple[str, FileState]] = []
    size = 0
    begun = time.monotonic()
    for item in items:
        alone = isinstance(item, Lines | Rows | Failure)
        if documents and (
            alone
            or size >= _PART_BYTES
            or len(documents) >= _BATCH_DOCUMENTS
            or time.monotonic() - begun > _BATCH_SECONDS
        ):
            yield _part(documents, metadata, files), len(documents), size
            documents, metadata, files, size = [], [], [], 0
        if isinstance(item, Lines | Rows):
            yield Part(block=item), item.count, item.size
        elif isinstance(item, Failure):
            yield item, 0, _OBJECTS
        else:
            if not documents:
                begun = time.monotonic()
            if isinstance(item, TextFile):
                files.append((item.document.key, item.state))
                item = item.document
            key, content, other = _checked(item, settings)
            documents.append((key, content))
            metadata.append(other)
            size += _memory(content) + len(other or "") + _OBJECTS
    if documents:
        yield _part(documents, metadata, files), len(documents), size


def _part(
    documents: list[tuple[str, Content]],
    metadata: list[str | None],
    files: list[tuple[str, FileState]],
) -> Part:
    return Part(documents, metadata=metadata if any(metadata) else (), files=files)


def _memory(content: Content) -> int:
    """About how many bytes a document takes, an element of a set counted as 100."""
    return content.__sizeof__() if isinstance(content, str) else 100 * len(content)


def _checked(item: object, settings: Settings) -> tuple[str, Content, str | None]:
    """A document's key, cleaned content and metadata as stored; ContentError names the key."""
    if isinstance(item, Mapping):
        item = _of_record(dict(item), settings.shingling.of_sets)
    if not isinstance(item, Document) and (not isinstance(item, tuple | list) or len(item) != 2):
        raise ContentError(
            f"among the documents, {item!r:.100} is neither a lshdb.Document nor a pair of a key "
            "and a content nor a dict with both"
        )
    document = item if isinstance(item, Document) else Document(*item)
    key = checked_key(document.key)
    try:
        return key, cleaned(document.content, settings.shingling), to_json(document.metadata)
    except ContentError as error:
        raise ContentError(f"{key!r}: {error}") from error


def _of_record(record: dict[str, object], of_sets: bool) -> Document:
    """The document of a dict, by the rules for records of files; its key is `key`, or else `id`."""
    key, content = "key" if "key" in record else "id", "set" if of_sets else "text"
    for name, called in ((key, "'key' or 'id'"), (content, repr(content))):
        if name not in record:
            raise ContentError(f"among the documents, {record!r:.100} has no field {called}")
    elements = record[content]
    if of_sets and isinstance(elements, Collection) and not isinstance(elements, str | Mapping):
        record[content] = list(elements)
    parser = RecordParser(of_sets, key, "text", "set", strict=False, auto_key=False)
    try:
        return parser.of_record(record, "")
    except InputError as error:
        raise ContentError(f"among the documents, {record!r:.100}: {error}") from error


def checked_key(key: str) -> str:
    """The key itself; ContentError if it is none."""
    fault = key_fault(key) if isinstance(key, str) else "is not a string"
    if fault:
        raise ContentError(f"key {key!r} {fault}")
    return key
