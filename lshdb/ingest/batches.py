"""Cutting a stream of documents into parts, which are signed together, and these into batches.

Band rows are spread over the whole table, so that each batch touches all of its pages: larger
batches do so less often. Batches therefore grow with the file. They need not be in memory: parts of
files are read while earlier ones are written.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from lshdb.errors import ContentError, InputError
from lshdb.ingest.parts import Part, SignedPart, Signing
from lshdb.limits import Limits
from lshdb.model import Content, Document, Failure, FileState, Settings
from lshdb.shingling.content import cleaned
from lshdb.shingling.hashing import reuse_freed_memory
from lshdb.sources.metadata import to_json
from lshdb.sources.records import (
    Block,
    Lines,
    Origin,
    RecordParser,
    Rows,
    TextFile,
    key_fault,
)
from lshdb.store.store import Store
from lshdb.workers import Pending, Workers, default_workers

Item: TypeAlias = Document | TextFile | tuple[str, Content] | Mapping[str, object] | Block | Failure
"""An item to add: a document, also as a pair of key and content or a record, a block, or a failure,
which is counted."""

_BAND_ROW: Final = 64
"""About the bytes of a band row in memory and in the log."""
_OBJECTS: Final = 200
"""Bytes of a document's objects besides its characters."""
_PARTS: Final = 40
"""Parts of documents of `batch_bytes`."""
_LONGEST: Final = 6
"""A batch that need not be in memory may have this many times `batch_bytes`, band rows included,
which bounds the log that it leaves."""
_LARGE_FILE: Final = 80_000
"""A file of n times this number of documents takes batches n times as long."""


@dataclass(frozen=True, slots=True)
class Job:
    """How documents are read and signed.

    Attributes:
        store: the file that they go to, or are compared with; it gives the size of batches.
        parser: makes documents of blocks.
        workers: processes that sign documents beside this one; None for the usual number.
        on_failure: called with each line, row or file that gives no document.
        local: whether reading items never blocks, so that a batch may be read while it is written.
            Otherwise all of it is read before, into memory.
        numbered: whether keys may be repeated: they are stored with a number before them, in a
            file that only this process uses.
    """

    store: Store
    parser: RecordParser | None = None
    workers: int | None = None
    on_failure: Callable[[Failure], object] | None = None
    local: bool = False
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A part that is being signed: its block if that is kept, its documents and bytes (about)."""

    block: Block | None
    origin: Origin | None
    pending: Pending[Part, SignedPart]
    documents: int
    size: int


class Stream:
    """The batches of a stream of documents: iterators of signed parts, to be taken in order.

    All that is read ahead is decided here, by three limits. A part is signed when a batch is as
    long as that: of `batch_documents`, or of `batch_bytes` with those that are read for the next
    one, or when it took `batch_seconds`.

    An error of the stream (a document that cannot be read or taken, Ctrl-C) ends it, so that
    earlier documents can be written; it is then in `error`.

    Attributes:
        sign: whether parts are signed as they are read. Otherwise they are only digested, as
            they are probably stored already.
    """

    def __init__(
        self, job: Job, items: Iterable[Item], pool: Workers[Part, SignedPart], *, keep_blocks: bool
    ) -> None:
        """Read items, to be signed by `pool`; see `signed`."""
        store = job.store
        self.error: BaseException | None = None
        self.sign = True
        self._pool = pool
        self._job = job
        self._keep_blocks = keep_blocks
        self._stored = store.last_doc_id()
        self._limits = limits = store.limits
        half = max(2, limits.batch_bytes // 2)
        self._longest = _LONGEST * limits.batch_bytes if job.local else half
        self._band_rows = _BAND_ROW * store.settings.construction.bands if job.local else 0
        self._batches = 2 if pool.count else 1  # one is written while the other is signed
        self._room = (half // 2 if job.local else half) * self._batches
        self._source = _parts(items, store.settings, limits)
        self._ahead: deque[_Ahead] = deque()
        self._ahead_size = self._ahead_documents = 0
        self._over = False

    def __iter__(self) -> Iterator[Iterator[SignedPart]]:
        """The batches. Parts are signed while the ones before them are taken."""
        while True:
            begun = time.monotonic()
            while self._read():
                if time.monotonic() - begun > self._limits.batch_seconds:
                    break
            if not self._ahead:
                return
            yield self._batch()

    def _batch(self) -> Iterator[SignedPart]:
        """The parts of a batch, each when it is signed."""
        most, begun = self._most(), time.monotonic()
        documents = size = 0
        while self._ahead:
            full = (
                documents >= most
                or size >= self._longest
                or (size and time.monotonic() - begun > self._limits.batch_seconds)
            )
            # A small rest is written with this batch: alone it would touch as many pages.
            if full and not (self._over and 2 * self._ahead_documents < documents):
                break
            part = self._ahead.popleft()
            self._ahead_size -= part.size
            self._ahead_documents -= part.documents
            documents += part.documents
            size += part.size + part.documents * self._band_rows
            self._stored += part.documents
            signed = self._pool.result(part.pending)
            if self._job.on_failure is not None:
                for failure in signed.failures:
                    self._job.on_failure(failure)
            yield replace(signed, block=part.block, origin=part.origin)
            while self._job.local and self._read():
                pass

    def _most(self) -> int:
        """Documents of a batch."""
        return self._limits.batch_documents * max(1, self._stored // _LARGE_FILE)

    def _read(self) -> bool:
        """Read a part and submit it for signing; False if there is none, or no room for it."""
        if (
            self._over
            or self._ahead_size >= self._room
            or self._ahead_documents >= self._most() * self._batches
        ):
            return False
        try:
            item, documents, size = next(self._source, (None, 0, 0))
            if item is None:
                self._over = True
                return False
            pending: Pending[Part, SignedPart]
            block: Block | None = None
            origin: Origin | None = None
            if isinstance(item, Failure):
                pending = Pending(None, done=(SignedPart([], [], [], None, [item], 0),))
            else:
                block = item.block
                if block is not None:
                    origin = block.origin
                if isinstance(block, Rows):
                    item = replace(item, block=replace(block, source=None))  # which stays here
                    block = block.without_values()
                pending = self._pool.submit(replace(item, sign=self.sign))
            kept = block if self._keep_blocks else None
            self._ahead.append(_Ahead(kept, origin, pending, documents, size))
            self._ahead_size += size
            self._ahead_documents += documents
        except BaseException as error:
            self.error, self._over = error, True
            if not isinstance(error, Exception):
                self._ahead.clear()  # interrupted: do not wait for parts that are being signed
        return not self._over


@contextmanager
def signed(
    job: Job, items: Iterable[Item], settings: Settings | None = None, *, keep_blocks: bool = False
) -> Iterator[Stream]:
    """The documents of a stream in batches, signed here and in a pool of worker processes.

    Args:
        job: how they are read and signed.
        items: documents, or blocks of them.
        settings: by which they are signed; None for those of the store.
        keep_blocks: whether parts come with the blocks that documents are made of.

    Raises:
        ContentError: the signatures of the store are made elsewhere.
    """
    settings, limits = settings or job.store.settings, job.store.limits
    if settings.shingling.foreign:
        cleaned("", settings.shingling)  # raises once, and not for each document
    reuse_freed_memory()
    count = default_workers() if job.workers is None else job.workers
    signing = Signing(settings, job.parser, limits)
    with Workers(signing, count, alone=limits.workers_from - 1) as pool:
        stream = Stream(job, items, pool, keep_blocks=keep_blocks)
        yield stream
        if stream.error is not None:
            raise stream.error


def _parts(
    items: Iterable[Item], settings: Settings, limits: Limits
) -> Iterator[tuple[Part | Failure, int, int]]:
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
            or size >= limits.batch_bytes // _PARTS
            or len(documents) >= limits.batch_documents
            or time.monotonic() - begun > limits.batch_seconds
        ):
            yield Part(documents, metadata=metadata, files=files), len(documents), size
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
            key, content, other = _checked(item, settings, limits)
            documents.append((key, content))
            metadata.append(other)
            size += _memory(content) + len(other or "") + _OBJECTS
    if documents:
        yield Part(documents, metadata=metadata, files=files), len(documents), size


def _memory(content: Content) -> int:
    """About the bytes of a document, with 100 per element of a set."""
    return content.__sizeof__() if isinstance(content, str) else 100 * len(content)


def _checked(item: object, settings: Settings, limits: Limits) -> tuple[str, Content, str | None]:
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
        content = cleaned(document.content, settings.shingling, limits.largest_document)
        return key, content, to_json(document.metadata)
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
    """The key itself; ContentError if it is not a valid key."""
    fault = key_fault(key) if isinstance(key, str) else "is not a string"
    if fault:
        raise ContentError(f"key {key!r} {fault}")
    return key
