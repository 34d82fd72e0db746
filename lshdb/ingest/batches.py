"""Cutting a stream of documents into parts, which are signed together, and these into batches.

Band rows are spread over the whole table, so that each batch touches all of its pages: larger
batches do so less often. Batches therefore grow with the file. They need not be in memory: parts of
files are read while earlier ones are written.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

from lshdb.errors import ContentError, InputError
from lshdb.ingest.parts import Part, Signatures, SignedPart, Signing
from lshdb.ingest.workers import Pending, Workers, default_workers
from lshdb.limits import Limits
from lshdb.model import Document, Failure
from lshdb.shingling.content import cleaned
from lshdb.shingling.hashing import reuse_freed_memory
from lshdb.shingling.shingling import Content, OfSets
from lshdb.sketching.settings import Settings
from lshdb.sources.batch import Batch
from lshdb.sources.metadata import to_json
from lshdb.sources.records import RecordOptions, key_fault
from lshdb.store.rows import FileState
from lshdb.store.store import Store

Item = Document | tuple[str, Content] | Mapping[str, object] | Batch
"""An item to add: a document, also as a pair of key and content or a record, or a batch of them."""

_BAND_ROW = 64
"""About the bytes of a band row in memory and in the log."""
_OBJECTS = 200
"""Bytes of a document's objects besides its characters."""
_PARTS = 40
"""Parts of documents of `batch_bytes`."""
_LONGEST = 6
"""A batch that need not be in memory may have this many times `batch_bytes`, band rows included,
which bounds the log that it leaves."""
_LARGE_FILE = 80_000
"""A file of n times this number of documents takes batches n times as long."""


@dataclass(frozen=True, slots=True)
class Job:
    """How documents are read and signed.

    Attributes:
        store: the file that they go to, or are compared with; it gives the size of batches.
        workers: processes that sign documents beside this one; None for the usual number.
        on_failure: called with each line, row or file that gives no document.
        local: whether reading items never blocks, so that a batch may be read while it is written.
            Otherwise all of it is read before, into memory.
        late: whether the band rows of a large addition may be written later, all at once.
        numbered: whether keys may be repeated: they are stored with a number before them, in a
            file that only this process uses.
    """

    store: Store
    workers: int | None = None
    on_failure: Callable[[Failure], object] | None = None
    local: bool = False
    numbered: bool = False
    late: bool = False


@dataclass(eq=False)
class Stream:
    """The batches of a stream of documents: iterators of signed parts, to be taken in order.

    All that is read ahead is decided here, by three limits. A part is signed when a batch is as
    long as that: of `batch_documents`, or of `batch_bytes` with those that are read for the next
    one, or when it took `batch_seconds`.

    An error of the stream (a document that cannot be read or taken, Ctrl-C) ends it, so that
    earlier documents can be written; it is then in `error`.

    Attributes:
        job: how documents are read and signed.
        items: what is read.
        pool: signs the documents.
        settings: by which they are signed.
        sign: whether parts are signed as they are read. Otherwise they are only digested, as
            they are probably stored already.
    """

    job: Job
    items: Iterable[Item]
    pool: Workers[Part, Signatures]
    settings: Settings

    def __post_init__(self) -> None:
        store = self.job.store
        self.error: BaseException | None = None
        self.sign = True
        self._stored = store.last_doc_id()
        self._limits = limits = store.limits
        half = max(2, limits.batch_bytes // 2)
        self._longest = _LONGEST * limits.batch_bytes if self.job.local else half
        self._band_rows = _BAND_ROW * store.settings.construction.bands if self.job.local else 0
        self._batches = 2 if self.pool.count else 1  # one is written while the other is signed
        self._room = (half // 2 if self.job.local else half) * self._batches
        self._source = _batches(self.items, self.settings, limits)
        self._ahead: deque[tuple[Batch, Pending[Part, Signatures]]] = deque()
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
        max_documents, begun = self._max_documents(), time.monotonic()
        documents = size = 0
        while self._ahead:
            full = (
                documents >= max_documents
                or size >= self._longest
                or (size and time.monotonic() - begun > self._limits.batch_seconds)
            )
            # A small rest is written with this batch: alone it would touch as many pages.
            if full and not (self._over and 2 * self._ahead_documents < documents):
                break
            batch, pending = self._ahead.popleft()
            self._ahead_size -= batch.size
            self._ahead_documents -= batch.count
            documents += batch.count
            size += batch.size + batch.count * self._band_rows
            self._stored += batch.count
            if self.job.on_failure is not None:
                for _, failure in batch.failures:
                    self.job.on_failure(failure)
            yield self._signed(batch, self.pool.result(pending))
            del batch, pending  # a line may have a hundred megabytes
            while self.job.local and self._read():
                pass

    def _signed(self, batch: Batch, made: Signatures) -> SignedPart:
        """A batch with its signatures."""
        stored, settings = made.stored, self.settings
        if not settings.shingling.of_sets and (settings.content or made.signed is None):
            stored = cast("Sequence[str]", batch.contents)
        return SignedPart(replace(batch, contents=()), stored, made.digests, made.signed)

    def _max_documents(self) -> int:
        """Documents of a batch."""
        return self._limits.batch_documents * max(1, self._stored // _LARGE_FILE)

    def _read(self) -> bool:
        """Read a part and submit it for signing; False if there is none, or no room for it."""
        if (
            self._over
            or self._ahead_size >= self._room
            or self._ahead_documents >= self._max_documents() * self._batches
        ):
            return False
        try:
            batch = next(self._source, None)
            if batch is None:
                self._over = True
                return False
            pending: Pending[Part, Signatures] = Pending(None, done=(Signatures((), None),))
            if batch.keys:
                pending = self.pool.submit(Part(batch.contents, self.sign))
            self._ahead.append((batch, pending))
            self._ahead_size += batch.size
            self._ahead_documents += batch.count
        except BaseException as error:
            self.error, self._over = error, True
            if not isinstance(error, Exception):
                self._ahead.clear()  # interrupted: do not wait for parts that are being signed
        return not self._over


@contextmanager
def signed(job: Job, items: Iterable[Item], settings: Settings | None = None) -> Iterator[Stream]:
    """The documents of a stream in batches, signed here and in a pool of worker processes.

    Args:
        job: how they are read and signed.
        items: documents, or batches of them.
        settings: by which they are signed; None for those of the store.

    Raises:
        ContentError: the signatures of the store are made elsewhere.
    """
    settings = settings or job.store.settings
    if settings.shingling.foreign:
        cleaned("", settings.shingling)  # raises once, and not for each document
    reuse_freed_memory()
    count = default_workers() if job.workers is None else job.workers
    with Workers(Signing(settings), count, alone=job.store.limits.workers_from - 1) as pool:
        stream = Stream(job, items, pool, settings)
        yield stream
        if stream.error is not None:
            raise stream.error


def _batches(items: Iterable[Item], settings: Settings, limits: Limits) -> Iterator[Batch]:
    """The batches of a stream, where documents and text files are joined to some of a part."""
    keys: list[str] = []
    contents: list[Content] = []
    metadata: list[str | None] = []
    states: list[tuple[str, FileState]] = []
    size = replaced = 0
    begun = time.monotonic()

    def joined() -> Batch:
        others = metadata if any(metadata) else ()
        return Batch(keys, contents, others, states=states, replaced=replaced, size=size)

    for item in items:
        is_rows = isinstance(item, Batch) and (item.origin is not None or not item.keys)
        if keys and (
            is_rows
            or size >= limits.batch_bytes // _PARTS
            or len(keys) >= limits.batch_documents
            or time.monotonic() - begun > limits.batch_seconds
        ):
            yield joined()
            keys, contents, metadata, states, size, replaced = [], [], [], [], 0, 0
        if not keys:
            begun = time.monotonic()
        if not isinstance(item, Batch):
            key, content, other = _checked(item, settings, limits)
            keys.append(key)
            contents.append(content)
            metadata.append(other)
            size += _memory(content) + len(other or "") + _OBJECTS
        elif is_rows:
            yield item
        else:
            keys += item.keys
            contents += item.contents
            metadata += item.all_metadata()
            states += item.states
            replaced += item.replaced
            size += item.size
    if keys:
        yield joined()


def _memory(content: Content) -> int:
    """About the bytes of a document, with 100 per element of a set."""
    return content.__sizeof__() if isinstance(content, str) else 100 * len(content)


def _checked(item: object, settings: Settings, limits: Limits) -> tuple[str, Content, str | None]:
    """A document's key, cleaned content and metadata as stored; ContentError names the key."""
    if isinstance(item, Mapping):
        return _of_record(dict(item), settings.shingling.of_sets, limits)
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


def _of_record(
    record: dict[str, object], of_sets: OfSets, limits: Limits
) -> tuple[str, Content, str | None]:
    """The same for a dict, by the rules for records of files; its key is `key`, or else `id`."""
    key, content = "key" if "key" in record else "id", "set" if of_sets else "text"
    if of_sets == "bag" and "bag" in record:
        content = "bag"
    for name, called in ((key, "'key' or 'id'"), (content, repr(content))):
        if name not in record:
            raise ContentError(f"among the documents, {record!r:.100} has no field {called}")
    elements = record[content]
    if of_sets and isinstance(elements, Collection) and not isinstance(elements, str | Mapping):
        record[content] = list(elements)
    options = RecordOptions(of_sets, key, limits=limits)
    try:
        return options.document(record, "")[:3]
    except (ContentError, InputError) as error:
        raise ContentError(f"among the documents, {record!r:.100}: {error}") from error


def checked_key(key: str) -> str:
    """The key itself; ContentError if it is not a valid key."""
    fault = key_fault(key) if isinstance(key, str) else "is not a string"
    if fault:
        raise ContentError(f"key {key!r} {fault}")
    return key
