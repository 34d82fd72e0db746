"""Finding the stored documents similar to one: candidates, estimates, verification, ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.banding import BucketKeys, bucket_keys
from lshdb.content import cleaned, from_stored
from lshdb.errors import KeyNotFound, UsageError
from lshdb.jaccard import similarities
from lshdb.minhash import estimates
from lshdb.model import Content, Match
from lshdb.signing import distinct_shingles, sign
from lshdb.store import DocumentRow, Store

_VERIFY_AT_ONCE: Final = 4_000_000
"""Characters of candidates verified at once."""
_MARGIN: Final = 5.0
"""Standard errors below the threshold at which an exhaustive query still verifies."""


@dataclass(frozen=True, slots=True)
class Query:
    """What `Database.query` was asked; see there. Illegal ones raise UsageError."""

    content: Content | None
    key: str | None
    top: int | None
    threshold: float
    estimate: bool
    exhaustive: bool

    def __post_init__(self) -> None:
        if (self.content is None) == (self.key is None):
            raise UsageError("a query takes either a document or a key")
        if self.top is not None and self.top < 1:
            raise UsageError(f"top {self.top} is not at least 1")
        if not 0 < self.threshold <= 1:
            raise UsageError(f"threshold {self.threshold:g} is not above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Documents to be ranked: doc_ids int64[c], bands int64[c], estimates float64[c]."""

    doc_ids: npt.NDArray[np.int64]
    bands: npt.NDArray[np.int64]
    estimates: npt.NDArray[np.float64]


def search(store: Store, query: Query) -> list[Match]:
    """The matches of a query, best first."""
    exact = store.settings.content and not query.estimate
    least = query.threshold
    with store.reading():
        document, signature, own_id = _query_document(store, query, exact)
        if signature is None:
            return []
        compare = _compare_with_all if query.exhaustive else _compare_with_candidates
        found = compare(store, signature)
        chosen = found.doc_ids != own_id
        if not exact:
            chosen &= found.estimates >= least
        elif query.exhaustive:
            error = np.sqrt(least * (1 - least) / store.settings.permutations)
            chosen &= found.estimates >= least - _MARGIN * error
        found = _Candidates(found.doc_ids[chosen], found.bands[chosen], found.estimates[chosen])
        scores = found.estimates
        if document is not None:
            scores = _verify(store, document, found.doc_ids)
        order = np.lexsort((found.doc_ids, -found.estimates, -scores))
        order = order[scores[order] >= least][: query.top]
        rows = store.documents(found.doc_ids[order].tolist())
    return [
        Match(row.key, float(scores[i]), exact, float(found.estimates[i]), int(found.bands[i]))
        for row, i in zip(rows, order.tolist(), strict=True)
    ]


def row_of_key(store: Store, key: str) -> DocumentRow:
    """The stored document of a key; KeyNotFound if there is none."""
    row = store.document(key)
    if row is None:
        raise KeyNotFound(f"no document has the key {key!r}")
    return row


def buckets_of(store: Store, signature: npt.NDArray[np.uint32]) -> BucketKeys:
    """The bucket keys int64[b] of a signature uint32[k]."""
    keys: BucketKeys = _bucket_keys(store, signature[np.newaxis])[0]
    return keys


def _bucket_keys(store: Store, signatures: npt.NDArray[np.uint32]) -> BucketKeys:
    return bucket_keys(signatures, store.settings.construction, store.settings.seed)


def _query_document(
    store: Store, query: Query, exact: bool
) -> tuple[Content | None, npt.NDArray[np.uint32] | None, int]:
    """The query's content (if verified), signature (if not empty) and doc_id (or -1)."""
    shingling = store.settings.shingling
    if query.key is not None:
        row = row_of_key(store, query.key)
        stored = from_stored(row.content, shingling) if exact and row.content else None
        return stored, row.signature, row.doc_id
    assert query.content is not None
    document = cleaned(query.content, shingling)
    signed = sign([document], store.settings)
    signature = signed.signatures[0] if signed.shingles[0] else None
    return (document if exact else None), signature, -1


def _compare_with_candidates(store: Store, signature: npt.NDArray[np.uint32]) -> _Candidates:
    """The documents that share a bucket."""
    found, bands = store.candidates(buckets_of(store, signature))
    doc_ids, signatures = store.signatures(found)
    bands = bands[np.searchsorted(found, doc_ids)]
    return _Candidates(doc_ids, bands, estimates(signature, signatures))


def _compare_with_all(store: Store, signature: npt.NDArray[np.uint32]) -> _Candidates:
    """All documents that have a signature."""
    own = buckets_of(store, signature)
    doc_ids = [np.empty(0, dtype=np.int64)]
    bands = [np.empty(0, dtype=np.int64)]
    estimated = [np.empty(0)]
    for some_ids, some in store.all_signatures():
        doc_ids.append(some_ids)
        bands.append((_bucket_keys(store, some) == own).sum(axis=1))
        estimated.append(estimates(signature, some))
    return _Candidates(np.concatenate(doc_ids), np.concatenate(bands), np.concatenate(estimated))


def _verify(
    store: Store, document: Content, doc_ids: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Exact Jaccard similarity of a document to stored ones, float64[n]."""
    shingling, seed = store.settings.shingling, store.settings.seed
    query = distinct_shingles([document], shingling, seed).hashes
    scores = [np.empty(0)]
    scores += (
        similarities(query, distinct_shingles(contents, shingling, seed))
        for contents in _contents(store, doc_ids.tolist())
    )
    return np.concatenate(scores)


def _contents(store: Store, doc_ids: list[int]) -> Iterator[list[Content]]:
    """The contents of stored documents, in order, a bounded number of characters at once."""
    at_once = 64
    for start in range(0, len(doc_ids), at_once):
        waiting: list[Content] = []
        size = 0
        for row in store.documents(doc_ids[start : start + at_once]):
            stored = row.content or ""
            waiting.append(from_stored(stored, store.settings.shingling))
            size += len(stored)
            if size > _VERIFY_AT_ONCE:
                yield waiting
                waiting, size = [], 0
        if waiting:
            yield waiting
