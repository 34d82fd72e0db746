"""Cutting a stream of documents into parts, which are signed together, and these into batches.

Band rows are spread over the whole table, so that each batch touches all of its pages: larger
batches do so less often. Batches therefore grow with the file, as far as they fit into memory: one
is read, and signed by a pool, while the one before it is written.
"""

import functools
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from lshdb import keys
from lshdb.errors import ContentError, InputError
from lshdb.limits import OBJECT_BYTES, Limits
from lshdb.model import Document, Failure
from lshdb.options import OnConflict
from lshdb.progress import Progress, silent
from lshdb.read.batch import Batch
from lshdb.read.metadata import to_json
from lshdb.read.records import RecordOptions
from lshdb.sketch.settings import Settings
from lshdb.sketch.signing import Digested, digested
from lshdb.store.store import Store
from lshdb.text.content import cleaned
from lshdb.text.hashing import reuse_freed_memory
from lshdb.text.shingling import Content, OfSets
from lshdb.workers import Pending, Workers, default_workers
from lshdb.write.doc_ids import DocIds
from lshdb.write.parts import SignedPart, part_of

Addable = Document | tuple[object, Content] | Mapping[str, object] | Batch | SignedPart
"""An item to add: a document, also as a pair of key and content or a record, or a batch of them,
which may have its signatures."""
_Pending = tuple[SignedPart, Pending[Digested] | None]
"""Documents, and their future signatures; None if there is nothing to sign."""

_BATCH_SECONDS = 5.0
"""Seconds to read a batch: a document of a slow stream waits no longer for others."""
PARTS = 40
"""Parts of documents of `batch_bytes`."""
_LARGE_FILE = 80_000
"""A file of n times this number of documents takes batches n times as long."""


@dataclass(frozen=True)
class Job:
    """How documents are read and signed.

    Attributes:
        store: the file that they go to, or are compared with; it gives the size of batches.
        workers: processes that sign documents beside this one; None for the usual number.
        on_failure: called with each line, row or file that gives no document.
        late: whether the band rows of a large addition may be written later, all at once.
        progress: called with the documents that were read, and the band rows written later.
        on_conflict: what happens to a document whose key has another one; None if it replaces
            that, and such keys are not counted.
        of_run: the documents that the run has written so far, or found unchanged.
    """

    store: Store
    workers: int | None = None
    on_failure: Callable[[Failure], object] | None = None
    late: bool = False
    progress: Progress = silent
    on_conflict: OnConflict | None = None
    of_run: DocIds = field(default_factory=DocIds)


@dataclass(eq=False)
class Stream:
    """The batches of a stream of documents: iterators of signed parts, to be taken in order.

    All that is read ahead is decided here, by three limits. A batch ends with `batch_documents`,
    with half of `batch_bytes`, or after some seconds; then the one before it is written.

    Attributes:
        job: how documents are read and signed.
        items: what is read.
        pool: signs the documents.
        settings: by which they are signed.
        sign: whether parts are signed as they are read. Otherwise they are only digested, as
            they are probably stored already.
    """

    job: Job
    items: Iterable[Addable]
    pool: Workers[tuple[Sequence[Content], bool], Digested]
    settings: Settings
    sign: bool = True

    def __iter__(self) -> Iterator[Iterator[SignedPart]]:
        """The batches; an error of the stream is raised after those before it."""
        limits, stored = self.job.store.limits, self.job.store.last_doc_id()
        earlier, now = deque[_Pending](), deque[_Pending]()
        documents = size = 0
        begun, error = time.monotonic(), None
        parts = _parts(self.items, self.settings, limits)
        while True:
            try:
                part = next(parts, None)
                if part is None:
                    break
                part = part if isinstance(part, SignedPart) else SignedPart(part)
                batch, item = part.batch, (part.batch.contents, self.sign)
                to_sign = batch.keys and part.signed is None
                now.append((part, self.pool.submit(item) if to_sign else None))
            except Exception as raised:
                error = raised
                break
            documents, size = documents + batch.count, size + batch.size
            del batch, item, part  # a line may have a hundred megabytes
            slow = time.monotonic() - begun > _BATCH_SECONDS
            longest = limits.batch_documents * max(1, stored // _LARGE_FILE)
            if not slow and documents < longest and 2 * size < limits.batch_bytes:
                continue
            if earlier:
                yield self._signed(earlier)
            if slow or not self.pool.count:
                yield self._signed(now)
            earlier, now = now, deque()
            stored, documents, size, begun = stored + documents, 0, 0, time.monotonic()
        for batches_left in filter(None, (earlier, now)):
            yield self._signed(batches_left)
        if error is not None:
            raise error

    def _signed(self, parts: deque[_Pending]) -> Iterator[SignedPart]:
        """The parts of a batch, each when it is signed."""
        while parts:
            part, future = parts.popleft()
            for _, failure in part.batch.failures:
                if self.job.on_failure is not None:
                    self.job.on_failure(failure)
            yield part if future is None else part_of(part.batch, self.pool.result(future))


@contextmanager
def signed(
    job: Job, items: Iterable[Addable], settings: Settings | None = None
) -> Iterator[Stream]:
    """The documents of a stream in batches, signed here and in a pool of worker processes.

    Args:
        job: how they are read and signed.
        items: documents, or batches of them.
        settings: by which they are signed; None for those of the store.
    """
    settings = settings or job.store.settings
    reuse_freed_memory()
    count = default_workers() if job.workers is None else job.workers
    alone = job.store.limits.workers_from - 1
    with Workers(functools.partial(digested, settings), count, alone) as pool:
        yield Stream(job, items, pool, settings)


def _parts(
    items: Iterable[Addable], settings: Settings, limits: Limits
) -> Iterator[Batch | SignedPart]:
    """The batches of a stream; documents and text files are joined to batches of a part."""
    joinable: list[Batch] = []
    size, begun = 0, time.monotonic()
    for item in items:
        if isinstance(item, SignedPart):
            yield item
            continue
        if settings.shingling.foreign:  # raises once, and not for each document
            cleaned("", settings.shingling)
        batch = item if isinstance(item, Batch) else batch_of(item, settings, limits)
        is_rows = batch.origin is not None or not batch.keys
        if joinable and (is_rows or time.monotonic() - begun > _BATCH_SECONDS):
            yield Batch.joined(joinable)
            joinable, size = [], 0
        if is_rows:
            yield batch
            continue
        if not joinable:
            begun = time.monotonic()
        joinable.append(batch)
        size += batch.size
        # At once, so that an error of the next document does not cost these.
        if size >= limits.batch_bytes // PARTS or len(joinable) >= limits.batch_documents:
            yield Batch.joined(joinable)
            joinable, size = [], 0
    if joinable:
        yield Batch.joined(joinable)


def batch_of(item: object, settings: Settings, limits: Limits) -> Batch:
    """A document in columns; ContentError, with the key, for one that cannot be."""
    if isinstance(item, tuple | list) and len(item) == 2:
        item = Document(*item)
    content: Content
    if isinstance(item, Mapping):
        key, content, metadata = _of_record(dict(item), settings.shingling.of_sets, limits)
    elif isinstance(item, Document):
        key = checked_key(item.key)
        try:
            content = cleaned(item.content, settings.shingling, limits.largest_document)
            metadata = to_json(item.metadata)
        except ContentError as error:
            raise ContentError(f"{key!r}: {error}") from error
    else:
        raise ContentError(
            f"among the documents, {item!r:.100} is neither a lshdb.Document nor a pair of a key "
            "and a content nor a dict with both"
        )
    # In memory, with about 100 bytes per element of a set.
    size = content.__sizeof__() if isinstance(content, str) else 100 * len(content)
    size += len(metadata or "") + OBJECT_BYTES
    return Batch([key], [content], [metadata], size=size)


def _of_record(
    record: dict[str, object], of_sets: OfSets, limits: Limits
) -> tuple[str, Content, str | None]:
    """The key, content and metadata of a dict, as of a record of a file; its key: `key` or `id`."""
    key, content = "key" if "key" in record else "id", "set" if of_sets else "text"
    if of_sets == "bag" and "bag" in record:
        content = "bag"
    for name, called in ((key, "'key' or 'id'"), (content, repr(content))):
        if name not in record:
            raise ContentError(f"among the documents, {record!r:.100} has no field {called}")
    elements = record[content]
    if of_sets and isinstance(elements, Collection) and not isinstance(elements, str | Mapping):
        record[content] = list(elements)
    try:
        *document, _ = RecordOptions(of_sets, key, limits=limits).document(record)
    except (ContentError, InputError) as error:
        raise ContentError(f"among the documents, {record!r:.100}: {error}") from error
    return cast("tuple[str, Content, str | None]", tuple(document))


def checked_key(value: object) -> str:
    """The key that a document's id gives; ContentError without one."""
    try:
        key = keys.key_of_id(value)
    except InputError as error:
        raise ContentError(f"key {keys.shown(value)} {error}") from error
    if key is None:
        raise ContentError(f"key {keys.shown(value)} is missing, and a document needs a key")
    return key
