"""Writing documents: a batch is signed, compared with what is stored, and written whole.

Batches are read and written by the caller's thread; in between they are signed by other
processes (lshdb.worker), so that one batch is signed while the next is read and the one before is
written. They are written in order, each in one transaction, and nothing is read within one: a
slow stream keeps no other process from writing.

Band rows are spread over the whole table, so that a batch touches each of its pages: the larger
the batch, the fewer times. Batches therefore grow with the file, as far as memory allows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.banding import bucket_keys
from lshdb.content import digest, stored_form
from lshdb.errors import ContentError, KeyNotFound
from lshdb.hashing import reuse_freed_memory
from lshdb.model import AddReport, Content, Document, Settings
from lshdb.store import KnownDocument, NewDocument, Store, UpdatedDocument
from lshdb.worker import SignedBatch, Signers, sign_here

_BATCH_DOCUMENTS: Final = 4_000
_BATCH_SHARE: Final = 8
"""A batch takes at least one document for so many that the file has."""
_BATCH_BYTES: Final = 48_000_000
"""Memory that the documents of a batch take at the most; two batches are under way at once."""
_BATCH_SECONDS: Final = 5.0
"""How long a document of a slow stream waits at the most for others, when one more comes."""
_CHUNK_BYTES: Final = 8_000_000
"""Memory of the documents that are signed in one go."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch under way; documents are in their stored form.

    Attributes:
        ready: its keys and documents in their order, keys repeated as they are.
        latest: the last document of each key.
        fresh: those of the keys that were not stored, or with other content, when it was read.
        signed: their signatures, in their order, in any number of parts.
    """

    ready: list[tuple[str, str]]
    latest: dict[str, str]
    fresh: list[str]
    signed: list[Future[SignedBatch]]

    def take_signed(self) -> SignedBatch:
        """The signatures, when they are done; once, for the batch does not keep them."""
        parts = [part.result() for part in self.signed]
        self.signed.clear()
        return SignedBatch.joined(parts)


def add_documents(
    store: Store,
    documents: Iterable[Document | tuple[str, Content]],
    on_batch: Callable[[AddReport], None],
    workers: int,
) -> AddReport:
    """Add documents in batches; see Database.add_many."""
    total = AddReport()
    reuse_freed_memory()
    with Signers(store.settings, workers) as signers, store.checkpoints() as checkpoints:
        stream = _Stream(store, documents, signers)
        while (batch := next(stream, None)) is not None:
            signed = batch.take_signed()
            checkpoints.before_begin()
            with store.writing():
                report = _write_batch(store, batch, signed)
                checkpoints.before_commit()
            del batch, signed  # while the next ones are read
            checkpoints.after_commit()
            total += report
            on_batch(report)
    if stream.error is not None:
        raise stream.error
    return total


class _Stream:
    """The batches of a stream of documents, each when its signatures are done or being made.

    An error of the stream (a document that cannot be read or taken, Ctrl-C) ends it, so that what
    was read before can be written; it is then in `error`.
    """

    def __init__(
        self,
        store: Store,
        documents: Iterable[Document | tuple[str, Content]],
        signers: Signers,
    ) -> None:
        self.error: BaseException | None = None
        self._store = store
        self._signers = signers
        self._source = _batches(documents, store.last_doc_id())
        self._under_way: deque[_Batch] = deque()

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> _Batch:
        ahead = 1 if self._signers.workers else 0
        while self.error is None and len(self._under_way) <= ahead:
            try:
                documents, last = next(self._source)
                self._under_way.append(
                    _begin_batch(self._store, documents, self._signers, alone=last)
                )
            except StopIteration:
                break
            except Exception as error:
                self.error = error
            except BaseException as error:
                # Interrupted: what is being signed is not waited for.
                self.error = error
                self._under_way.clear()
        if not self._under_way:
            raise StopIteration
        return self._under_way.popleft()


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


def _batches(
    documents: Iterable[Document | tuple[str, Content]], stored: int
) -> Iterator[tuple[list[Document], bool]]:
    """Cut a stream into batches bounded in number, size and time; whether it is the last.

    The bound on their number grows with the documents that the file has: `stored` at first.
    """
    batch: list[Document] = []
    size = 0
    begun = time.monotonic()
    for given in documents:
        document = given if isinstance(given, Document) else Document(*given)
        if batch and (
            len(batch) >= max(_BATCH_DOCUMENTS, stored // _BATCH_SHARE)
            or size >= _BATCH_BYTES
            or time.monotonic() - begun > _BATCH_SECONDS
        ):
            yield batch, False
            stored += len(batch)
            batch, size, begun = [], 0, time.monotonic()
        batch.append(document)
        size += _memory(document.content)
    if batch:
        yield batch, True


def _memory(content: Content) -> int:
    """About how many bytes a document takes, an element of a set counted as 100."""
    if isinstance(content, str):
        return content.__sizeof__()
    return 100 * len(content) if hasattr(content, "__len__") else 0


def _begin_batch(
    store: Store, documents: Sequence[Document], signers: Signers, *, alone: bool
) -> _Batch:
    """Bring documents to their stored form and have signed what is not stored already."""
    ready = [_checked(document, store.settings) for document in documents]
    latest = dict(ready)
    known = store.known(list(latest))
    fresh = [key for key, stored in latest.items() if not _is_stored(stored, known.get(key))]
    signed: list[Future[SignedBatch]] = []
    chunk: list[str] = []
    size = 0
    for key in fresh:
        if size >= _CHUNK_BYTES:
            signed.append(signers.submit(chunk, alone=False))
            chunk, size = [], 0
        chunk.append(latest[key])
        size += latest[key].__sizeof__()
    signed.append(signers.submit(chunk, alone=alone))
    return _Batch(ready, latest, fresh, signed)


def _is_stored(stored: str, known: KnownDocument | None) -> bool:
    return known is not None and known.digest == digest(stored.encode())


def _write_batch(store: Store, batch: _Batch, signed: SignedBatch) -> AddReport:
    """Write a batch into the transaction that the caller has begun."""
    digests = dict(zip(batch.fresh, signed.digests, strict=True))
    known = store.known(list(batch.latest))
    # What was stored with the same content when the batch was read may have changed since.
    missed = [
        key
        for key, stored in batch.latest.items()
        if key not in digests and not _is_stored(stored, known.get(key))
    ]
    fresh = batch.fresh
    if missed:
        also = sign_here([batch.latest[key] for key in missed], store.settings)
        digests |= zip(missed, also.digests, strict=True)
        fresh, signed = [*fresh, *missed], SignedBatch.joined([signed, also])
    report = _count(batch, {key: one.digest for key, one in known.items()}, digests)
    places = [
        place
        for place, key in enumerate(fresh)
        if key not in known or known[key].digest != digests[key]
    ]
    _unindex(store, [known[fresh[place]].doc_id for place in places if fresh[place] in known])
    empty = _write(store, batch.latest, fresh, places, signed, known)
    return AddReport(report.added, report.updated, report.unchanged, empty)


def _write(
    store: Store,
    documents: dict[str, str],
    keys: Sequence[str],
    places: list[int],
    batch: SignedBatch,
    known: dict[str, KnownDocument],
) -> int:
    """Write the documents at some places of a signed batch; how many have no shingle."""
    signed = batch.signed
    keep = store.settings.content
    new: list[NewDocument] = []
    updates: list[UpdatedDocument] = []
    doc_ids = np.empty(len(places), dtype=np.int64)
    next_id = store.last_doc_id() + 1
    shingles = signed.shingles.tolist()
    for row, place in enumerate(places):
        key = keys[place]
        content = documents[key] if keep else None
        stored = known.get(key)
        if stored is None:
            doc_id = next_id
            next_id += 1
            new.append(NewDocument(doc_id, key, shingles[place], batch.digests[place], content))
        else:
            doc_id = stored.doc_id
            updates.append(UpdatedDocument(shingles[place], batch.digests[place], content, doc_id))
        doc_ids[row] = doc_id
    store.insert(new)
    store.update(updates)
    chosen = np.array(places, dtype=np.int64)
    filled = signed.shingles[chosen] > 0
    chosen, doc_ids = chosen[filled], doc_ids[filled]
    order = np.argsort(doc_ids)
    chosen, doc_ids = chosen[order], doc_ids[order]
    store.insert_signatures(doc_ids, signed.signatures[chosen])
    store.insert_bands(doc_ids, signed.bucket_keys[chosen])
    return len(places) - len(chosen)


def _unindex(store: Store, doc_ids: Sequence[int]) -> None:
    """Delete the signatures and band rows of documents, found again from the signatures."""
    with_signature, signatures = store.signatures(np.array(doc_ids, dtype=np.int64))
    store.unindex(with_signature, _bucket_keys(store, signatures))


def _bucket_keys(store: Store, signatures: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    return bucket_keys(signatures, store.settings.construction, store.settings.seed)


def _checked(document: Document, settings: Settings) -> tuple[str, str]:
    """A document's key and stored form; ContentError tells the key."""
    key = document.key
    if not isinstance(key, str) or not key or "\0" in key:
        raise ContentError(f"key {key!r} is not a string of at least one character without NUL")
    try:
        if not key.isascii():
            key.encode()
        return key, stored_form(document.content, settings.shingling)
    except UnicodeEncodeError as error:
        raise ContentError(f"key {key!r} has a lone surrogate") from error
    except ContentError as error:
        raise ContentError(f"{key!r}: {error}") from error


def _count(batch: _Batch, known: dict[str, bytes], digests: dict[str, bytes]) -> AddReport:
    """What becomes of each document of a batch, as if they came one by one.

    `digests` has those of the documents in `latest` that are not stored as they are.
    """
    added = updated = unchanged = 0
    repeated = len(batch.ready) > len(batch.latest)
    for key, stored in batch.ready:
        before = known.get(key)
        own = digest(stored.encode()) if repeated else digests.get(key, before)
        assert own is not None
        if before is None:
            added += 1
        elif before == own:
            unchanged += 1
        else:
            updated += 1
        known[key] = own
    return AddReport(added, updated, unchanged)
