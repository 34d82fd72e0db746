"""The candidates of a query: the stored documents that its signature is compared with.

A bucket may hold 100,000 documents: copies of one, or documents under one heading. Where only the
best matches are wanted, only the first of such a bucket are read, and of these only the most
promising are compared. What else the query shares a bucket with is never left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.sketching.banding import BucketKeys, bucket_keys
from lshdb.sketching.constructions import candidates_among, evaluate
from lshdb.sketching.minhash import estimates
from lshdb.store.store import Store

FIRST_OF_BUCKET: Final = 2_000
"""Documents of a bucket that are read where only the best matches are wanted."""
BEST_OF_LARGE: Final = 500
"""Documents that only larger buckets brought up, of which so many are ranked further."""
_AT_ONCE: Final = 10_000
"""Signatures in memory at once."""

DocIds = npt.NDArray[np.int64]
Keep: TypeAlias = Callable[[DocIds], npt.NDArray[np.bool_]]
"""Which of some documents, int64[n], may be candidates, bool[n]."""
Signature = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents to be ranked, in the order of their ids.

    Attributes:
        doc_ids: int64[c].
        bands: int64[c], in how many bands each shares a bucket with the query.
        estimates: float64[c], of its Jaccard similarity.
        cut: how many buckets were larger than what was read of them.
        read: how many documents of each of those were read.
    """

    doc_ids: DocIds
    bands: npt.NDArray[np.int64]
    estimates: npt.NDArray[np.float64]
    cut: int = 0
    read: int = 0

    def chosen(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Candidates:
        """Some of them."""
        chosen = self.doc_ids[which], self.bands[which], self.estimates[which]
        return Candidates(*chosen, self.cut, self.read)


def buckets_of(store: Store, signature: Signature) -> BucketKeys:
    """The bucket keys int64[b] of a signature uint32[k]."""
    keys: BucketKeys = _bucket_keys(store, signature[np.newaxis])[0]
    return keys


def candidate_ids(store: Store, signature: Signature) -> tuple[DocIds, npt.NDArray[np.int64]]:
    """All candidates, int64[c] ascending, and in how many bands each shares a bucket, int64[c]."""
    keys, construction = buckets_of(store, signature), store.settings.construction
    if construction.higher:
        return candidates_among(*store.members_by_band(keys), construction)
    return store.candidates(keys)


def all_in_buckets(store: Store, signature: Signature, keep: Keep | None = None) -> Candidates:
    """All candidates: documents that share a bucket, in a cascade those that make it true."""
    found, bands = candidate_ids(store, signature)
    if keep is not None:
        kept = keep(found)
        found, bands = found[kept], bands[kept]
    if len(found) <= _AT_ONCE:
        return _with_estimates(store, signature, found, bands)
    parts = [
        (doc_ids, estimates(signature, signatures))
        for start in range(0, len(found), _AT_ONCE)
        for doc_ids, signatures in [store.signatures(found[start : start + _AT_ONCE])]
    ]
    doc_ids = np.concatenate([part[0] for part in parts])
    bands = bands[np.searchsorted(found, doc_ids)]
    return Candidates(doc_ids, bands, np.concatenate([part[1] for part in parts]))


def best_in_buckets(store: Store, signature: Signature, top: int) -> Candidates:
    """The candidates, but of buckets that are too large only some.

    Of a bucket of more than FIRST_OF_BUCKET (or `top`) documents those added first are read. Of
    the documents in no smaller bucket, those that are in most of the larger ones are compared by
    signature, and the BEST_OF_LARGE (or `top`) by estimate are kept. Documents equal to the
    query are all in the same buckets, so of these the first `top` are always kept.
    """
    keys, construction = buckets_of(store, signature), store.settings.construction
    most = max(FIRST_OF_BUCKET, top)
    if construction.higher:
        band_nos, rows = store.members_by_band(keys, most + 1)
    else:
        rows = store.members(keys, most + 1)
    if len(rows) <= most:
        if construction.higher:
            doc_ids, bands = candidates_among(band_nos, rows, construction)
        else:
            doc_ids, bands = np.unique(rows, return_counts=True)
        return _with_estimates(store, signature, doc_ids, bands)
    members = [store.first_members(i, key, most + 1) for i, key in enumerate(keys.tolist())]
    sizes = np.array([len(own) for own in members])
    large = sizes > most
    rows = np.concatenate([own[:most] for own in members])
    of_large = np.repeat(large, np.minimum(sizes, most))
    if construction.higher:
        band_nos = np.repeat(np.arange(len(keys)), np.minimum(sizes, most))
        possible, _ = candidates_among(band_nos, rows, construction, unknown=large)
        may_be = np.isin(rows, possible)
        rows, of_large = rows[may_be], of_large[may_be]
    sure = np.unique(rows[~of_large])
    others, shared = np.unique(rows[of_large], return_counts=True)
    also = ~np.isin(others, sure, assume_unique=True)
    others, shared = others[also], shared[also]
    others = others[np.lexsort((others, -shared))[:most]]
    doc_ids, signatures = store.signatures(np.sort(np.concatenate([sure, others])))
    collided = _bucket_keys(store, signatures) == keys
    found = Candidates(
        doc_ids, collided.sum(axis=1), estimates(signature, signatures), int(large.sum()), most
    )
    if construction.higher:
        found = found.chosen(evaluate(collided, construction))
        doc_ids = found.doc_ids
    is_sure = np.isin(doc_ids, sure, assume_unique=True)
    order = np.lexsort((doc_ids, -found.estimates, is_sure))
    kept = order[: max(BEST_OF_LARGE, top)]
    return found.chosen(np.union1d(kept[~is_sure[kept]], np.flatnonzero(is_sure)))


def all_documents(store: Store, signature: Signature, keep: Keep | None = None) -> Candidates:
    """All documents that have a signature."""
    own = buckets_of(store, signature)
    doc_ids = [np.empty(0, dtype=np.int64)]
    bands = [np.empty(0, dtype=np.int64)]
    estimated = [np.empty(0)]
    for some_ids, some in store.all_signatures():
        if keep is not None:
            kept = keep(some_ids)
            some_ids, some = some_ids[kept], some[kept]
        doc_ids.append(some_ids)
        bands.append((_bucket_keys(store, some) == own).sum(axis=1))
        estimated.append(estimates(signature, some))
    return Candidates(np.concatenate(doc_ids), np.concatenate(bands), np.concatenate(estimated))


def _with_estimates(
    store: Store, signature: Signature, found: DocIds, bands: npt.NDArray[np.int64]
) -> Candidates:
    doc_ids, signatures = store.signatures(found)
    bands = bands[np.searchsorted(found, doc_ids)]
    return Candidates(doc_ids, bands, estimates(signature, signatures))


def _bucket_keys(store: Store, signatures: Signature) -> BucketKeys:
    return bucket_keys(signatures, store.settings.construction, store.settings.seed)
