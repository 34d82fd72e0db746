"""Writing documents: a batch is signed, compared with what is stored, and written whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.banding import bucket_keys
from lshdb.content import Canonical, canonical
from lshdb.errors import ContentError, KeyNotFound
from lshdb.model import AddReport, Content, Document, Settings
from lshdb.signing import sign
from lshdb.store import KnownDocument, NewDocument, Store, UpdatedDocument

_BATCH_DOCUMENTS: Final = 10_000
_BATCH_CHARACTERS: Final = 16_000_000

_Signatures: TypeAlias = dict[str, tuple[npt.NDArray[np.uint32], int]]
"""Signature and shingle count of each document, by key."""


def batches(documents: Iterable[Document | tuple[str, Content]]) -> Iterator[list[Document]]:
    """Cut a stream of documents into batches bounded in number and in characters."""
    batch: list[Document] = []
    size = 0
    for given in documents:
        document = given if isinstance(given, Document) else Document(*given)
        batch.append(document)
        size += len(document.content) if hasattr(document.content, "__len__") else 0
        if len(batch) >= _BATCH_DOCUMENTS or size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def add_batch(store: Store, batch: Sequence[Document]) -> AddReport:
    """Add documents in one transaction; how many were added, updated, unchanged and empty."""
    ready = [_checked(document, store.settings) for document in batch]
    latest = dict(ready)
    # Sign before the write lock is taken, and only what is not stored already.
    signed = _sign(_changed(latest, store.known(list(latest))), store.settings)
    with store.writing():
        known = store.known(list(latest))
        report = _count(ready, {key: one.digest for key, one in known.items()})
        changed = _changed(latest, known)
        # Another process may have changed a document in the meantime.
        missed = {key: one for key, one in changed.items() if key not in signed}
        signed |= _sign(missed, store.settings)
        updated = [known[key].doc_id for key in changed if key in known]
        _unindex(store, updated)
        empty = _write(store, changed, signed, {k: d.doc_id for k, d in known.items()})
    return AddReport(report.added, report.updated, report.unchanged, empty)


def _changed(
    documents: dict[str, Canonical], known: dict[str, KnownDocument]
) -> dict[str, Canonical]:
    """Those of the documents that are not stored, or not with this content."""
    return {
        key: one
        for key, one in documents.items()
        if key not in known or known[key].digest != one.digest
    }


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


def _sign(documents: dict[str, Canonical], settings: Settings) -> _Signatures:
    """Signature and shingle count of each document."""
    signed = sign([one.content for one in documents.values()], settings)
    pairs = zip(signed.signatures, signed.shingles.tolist(), strict=True)
    return dict(zip(documents, pairs, strict=True))


def _write(
    store: Store, documents: dict[str, Canonical], signed: _Signatures, known: dict[str, int]
) -> int:
    """Write new and changed documents; how many of them have no shingle."""
    new: list[NewDocument] = []
    updates: list[UpdatedDocument] = []
    indexed: list[int] = []
    signatures: list[npt.NDArray[np.uint32]] = []
    next_id = store.last_doc_id() + 1
    for key, one in documents.items():
        signature, shingles = signed[key]
        stored = one.stored if store.settings.content else None
        doc_id = known.get(key)
        if doc_id is None:
            doc_id, next_id = next_id, next_id + 1
            new.append(NewDocument(doc_id, key, shingles, one.digest, stored))
        else:
            updates.append(UpdatedDocument(doc_id, shingles, one.digest, stored))
        if shingles:
            indexed.append(doc_id)
            signatures.append(signature)
    store.insert(new)
    store.update(updates)
    if indexed:
        matrix = np.stack(signatures)
        store.index(np.array(indexed), matrix, _bucket_keys(store, matrix))
    return len(documents) - len(indexed)


def _unindex(store: Store, doc_ids: Sequence[int]) -> None:
    """Delete the signatures and band rows of documents, found again from the signatures."""
    with_signature, signatures = store.signatures(np.array(doc_ids, dtype=np.int64))
    store.unindex(with_signature, _bucket_keys(store, signatures))


def _bucket_keys(store: Store, signatures: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    return bucket_keys(signatures, store.settings.construction, store.settings.seed)


def _checked(document: Document, settings: Settings) -> tuple[str, Canonical]:
    """A document's key and stored form; ContentError tells the key."""
    key = document.key
    if not isinstance(key, str) or not key or "\0" in key:
        raise ContentError(f"key {key!r} is not a string of at least one character without NUL")
    try:
        key.encode()
        return key, canonical(document.content, settings.shingling)
    except UnicodeEncodeError as error:
        raise ContentError(f"key {key!r} has a lone surrogate") from error
    except ContentError as error:
        raise ContentError(f"{key!r}: {error}") from error


def _count(ready: Sequence[tuple[str, Canonical]], known: dict[str, bytes]) -> AddReport:
    """What becomes of each document of a batch, as if they came one by one."""
    added = updated = unchanged = 0
    for key, one in ready:
        digest = known.get(key)
        if digest is None:
            added += 1
        elif digest == one.digest:
            unchanged += 1
        else:
            updated += 1
        known[key] = one.digest
    return AddReport(added, updated, unchanged)
