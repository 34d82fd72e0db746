"""Writing documents: a batch is signed, compared with what is stored, and written whole.

Batches are read and written by the caller's thread, in parts; these are parsed and signed by
other processes (lshdb.signers), so that one batch is signed while the next is read and the one
before is written. They are written in order, each in one transaction, and nothing is read within
one: a slow stream keeps no other process from writing.

Band rows are spread over the whole table, so that a batch touches each of its pages: the larger
the batch, the fewer times. Batches therefore grow with the file, as far as memory allows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.banding import bucket_keys
from lshdb.content import cleaned, from_stored
from lshdb.errors import ContentError, KeyNotFound
from lshdb.hashing import reuse_freed_memory
from lshdb.model import AddReport, Content, Document, Settings
from lshdb.parts import Part, SignedPart
from lshdb.records import Failure, Lines, RecordParser
from lshdb.signers import Signers
from lshdb.signing import Signed, sign
from lshdb.store import DocumentValues, KnownDocument, Store

Item: TypeAlias = Document | tuple[str, Content] | Lines | Failure
"""What is added: documents, also as pairs of key and content, or lines; failures are counted."""

_BATCH_DOCUMENTS: Final = 4_000
_BATCH_SHARE: Final = 8
"""A batch takes at least one document for so many that the file has."""
_BATCH_BYTES: Final = 44_000_000
"""Memory that the documents of a batch take at the most; two batches are under way at once."""
_BATCH_SECONDS: Final = 5.0
"""How long a document of a slow stream waits at the most for others, when one more comes."""
_PART_BYTES: Final = 1_000_000
"""Memory of the documents that are signed in one go."""


@dataclass(slots=True)
class _Batch:
    """Parts that are written together, signed or being signed."""

    parts: deque[Future[SignedPart]] = field(default_factory=deque)
    documents: int = 0
    size: int = 0
    begun: float = field(default_factory=time.monotonic)

    def is_full(self, stored: int) -> bool:
        """Whether it is time to write it; the file has `stored` documents."""
        return bool(self.parts) and (
            self.documents >= max(_BATCH_DOCUMENTS, stored // _BATCH_SHARE)
            or self.size >= _BATCH_BYTES
            or time.monotonic() - self.begun > _BATCH_SECONDS
        )


def add_documents(
    store: Store,
    items: Iterable[Item],
    on_batch: Callable[[AddReport], None],
    workers: int,
    parser: RecordParser | None = None,
    on_failure: Callable[[Failure], None] = lambda _: None,
) -> AddReport:
    """Add documents in batches; see Database.add_many and add_files."""
    total = AddReport()
    reuse_freed_memory()
    with (
        Signers(store.settings, parser, workers) as signers,
        store.checkpoints() as checkpoints,
    ):
        stream = _Stream(store, items, signers)
        while (batch := next(stream, None)) is not None:
            checkpoints.before_begin()
            with store.writing():
                writer = _Writer(store)
                # The first parts are written while the last ones are still being signed.
                while batch.parts:
                    part = batch.parts.popleft().result()
                    for failure in part.failures:
                        on_failure(failure)
                    writer.write(part)
                writer.finish()
                checkpoints.before_commit()
            checkpoints.after_commit()
            report = writer.report
            stream.sign = report.unchanged < report.documents or not report.documents
            total += report
            on_batch(report)
    if stream.error is not None:
        raise stream.error
    return total


class _Stream:
    """The batches of a stream of documents, each when it is read and its signing has begun.

    An error of the stream (a document that cannot be read or taken, Ctrl-C) ends it, so that what
    was read before can be written; it is then in `error`.

    Attributes:
        sign: whether parts are signed as they come. Else they are only digested: most likely
            they are stored already.
    """

    def __init__(self, store: Store, items: Iterable[Item], signers: Signers) -> None:
        self.error: BaseException | None = None
        self.sign = True
        self._signers = signers
        self._stored = store.last_doc_id()
        self._source = _parts(items, store.settings)
        self._next: tuple[Part | Failure, int, int] | None = None
        self._under_way: deque[_Batch] = deque()

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> _Batch:
        ahead = 1 if self._signers.workers else 0
        while self.error is None and len(self._under_way) <= ahead:
            try:
                batch = self._read()
                if not batch.parts:
                    break
                self._under_way.append(batch)
                self._stored += batch.documents
            except Exception as error:
                self.error = error
            except BaseException as error:
                # Interrupted: what is being signed is not waited for.
                self.error = error
                self._under_way.clear()
        if not self._under_way:
            raise StopIteration
        return self._under_way.popleft()

    def _read(self) -> _Batch:
        batch = _Batch()
        for part, documents, size in self._source:
            if isinstance(part, Failure):
                done: Future[SignedPart] = Future()
                done.set_result(SignedPart([], [], [], None, [part], 0))
                batch.parts.append(done)
            else:
                batch.parts.append(self._signers.submit(replace(part, sign=self.sign)))
            batch.documents += documents
            batch.size += size
            if batch.is_full(self._stored):
                break
        return batch


def _parts(items: Iterable[Item], settings: Settings) -> Iterator[tuple[Part | Failure, int, int]]:
    """Cut a stream into parts; each with its number of documents and about its bytes."""
    documents: list[tuple[str, Content]] = []
    size = 0
    begun = time.monotonic()
    for item in items:
        alone = isinstance(item, Lines | Failure)
        if documents and (
            alone
            or size >= _PART_BYTES
            or len(documents) >= _BATCH_DOCUMENTS
            or time.monotonic() - begun > _BATCH_SECONDS
        ):
            yield Part(documents), len(documents), size
            documents, size = [], 0
        if isinstance(item, Lines):
            yield Part(lines=item), item.count, len(item.data)
        elif isinstance(item, Failure):
            yield item, 0, 0
        else:
            if not documents:
                begun = time.monotonic()
            document = item if isinstance(item, Document) else Document(*item)
            documents.append(_checked(document, settings))
            size += _memory(documents[-1][1])
    if documents:
        yield Part(documents), len(documents), size


def remove(store: Store, keys: Sequence[str]) -> None:
    """Remove documents in one transaction; KeyNotFound, and none removed, if a key is not there."""
    with store.writing():
        known = store.known(keys)
        for key in keys:
            if key not in known:
                raise KeyNotFound(f"no document has the key {key!r}")
        doc_ids = sorted({document.doc_id for document in known.values()})
        _unindex(store, doc_ids)
        store.delete(doc_ids)


def _memory(content: Content) -> int:
    """About how many bytes a document takes, an element of a set counted as 100."""
    return content.__sizeof__() if isinstance(content, str) else 100 * len(content)


def _checked(document: Document, settings: Settings) -> tuple[str, Content]:
    """A document's key and cleaned content; ContentError tells the key."""
    key = document.key
    if not isinstance(key, str) or not key or "\0" in key:
        raise ContentError(f"key {key!r} is not a string of at least one character without NUL")
    try:
        if not key.isascii():
            key.encode()
        return key, cleaned(document.content, settings.shingling)
    except UnicodeEncodeError as error:
        raise ContentError(f"key {key!r} has a lone surrogate") from error
    except ContentError as error:
        raise ContentError(f"{key!r}: {error}") from error


class _Writer:
    """Writes the parts of a batch, within the transaction that the caller has begun.

    Attributes:
        report: what became of the documents so far.
    """

    def __init__(self, store: Store) -> None:
        self.report = AddReport()
        self._store = store
        self._next_id = store.last_doc_id() + 1
        self._first_id = self._next_id
        self._updated: set[int] = set()
        self._doc_ids: list[npt.NDArray[np.int64]] = []
        self._bucket_keys: list[npt.NDArray[np.int64]] = []

    def write(self, part: SignedPart) -> None:
        """Write documents and signatures; their band rows wait for those of the other parts."""
        store = self._store
        latest = {key: place for place, key in enumerate(part.keys)}
        known = store.known(list(latest))
        added, updated, unchanged = _count(part, known)
        places = [
            place
            for key, place in latest.items()
            if key not in known or known[key].digest != part.digests[place]
        ]
        old = [known[key].doc_id for key in (part.keys[place] for place in places) if key in known]
        if any(doc_id >= self._first_id or doc_id in self._updated for doc_id in old):
            self.finish()  # a key that an earlier part has: its band rows are to go again
        _unindex(store, old)
        empty = self._write(part, places, known)
        self._updated.update(old)
        self.report += AddReport(
            added, updated, unchanged, len(part.failures), empty, part.replaced
        )

    def finish(self) -> None:
        """Write the band rows."""
        if self._doc_ids:
            doc_ids, keys = np.concatenate(self._doc_ids), np.concatenate(self._bucket_keys)
            self._doc_ids, self._bucket_keys = [], []
            self._store.insert_bands(doc_ids, keys)

    def _write(self, part: SignedPart, places: list[int], known: dict[str, KnownDocument]) -> int:
        """Write the documents at some places of a part; how many have no shingle."""
        signed = _signatures(part, places, self._store.settings)
        shingles = signed.shingles.tolist()
        stored = part.stored if self._store.settings.content else [None] * len(part.keys)
        new: list[DocumentValues] = []
        updates: list[DocumentValues] = []
        doc_ids: list[int] = []
        for row, place in enumerate(places):
            key = part.keys[place]
            if key in known:
                rows, doc_id = updates, known[key].doc_id
            else:
                rows, doc_id = new, self._next_id
                self._next_id += 1
            rows.append((doc_id, key, shingles[row], part.digests[place], stored[place]))
            doc_ids.append(doc_id)
        self._store.insert(new)
        self._store.update(updates)
        filled = np.flatnonzero(signed.shingles)
        filled_ids = np.array(doc_ids, dtype=np.int64)[filled]
        self._store.insert_signatures(filled_ids, signed.signatures[filled])
        self._doc_ids.append(filled_ids)
        self._bucket_keys.append(signed.bucket_keys[filled])
        return len(places) - len(filled)


def _signatures(part: SignedPart, places: list[int], settings: Settings) -> Signed:
    """The signatures of the documents at some places, made now if they were not wanted before."""
    if part.signed is None:
        return sign([from_stored(part.stored[i], settings.shingling) for i in places], settings)
    if len(places) == len(part.keys):
        return part.signed
    return part.signed.take(np.array(places, dtype=np.int64))


def _count(part: SignedPart, known: dict[str, KnownDocument]) -> tuple[int, int, int]:
    """How many are added, updated and unchanged, as if they came one by one."""
    now = {key: document.digest for key, document in known.items()}
    added = updated = unchanged = 0
    for key, digest in zip(part.keys, part.digests, strict=True):
        before = now.get(key)
        if before is None:
            added += 1
        elif before == digest:
            unchanged += 1
        else:
            updated += 1
        now[key] = digest
    return added, updated, unchanged


def _unindex(store: Store, doc_ids: Sequence[int]) -> None:
    """Delete the signatures and band rows of documents, found again from the signatures."""
    with_signature, signatures = store.signatures(np.array(doc_ids, dtype=np.int64))
    keys = bucket_keys(signatures, store.settings.construction, store.settings.seed)
    store.unindex(with_signature, keys)
