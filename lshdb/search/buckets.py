"""The candidates of a query: the stored documents that its signature is compared with.

A bucket may hold 100,000 documents: copies of one, or documents under one heading. If only the best
matches are wanted, only the first documents of such a bucket are read, and only the most promising
of these are compared. Documents in smaller buckets are never left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.search.similarity import estimates
from lshdb.shingling.arrays import chunks
from lshdb.sketching.banding import BucketKeys, bucket_keys
from lshdb.sketching.constructions import candidates_among, evaluate
from lshdb.store.lookups import StoreReader

DocIds = npt.NDArray[np.int64]
Keep: TypeAlias = Callable[[DocIds], npt.NDArray[np.bool_]]
"""Returns which of some documents, int64[n], may be candidates, bool[n]."""
Signature = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents to rank, in the order of their ids.

    Attributes:
        doc_ids: int64[c].
        bands: int64[c], in how many bands each shares a bucket with the query.
        estimates: float64[c], of its Jaccard similarity.
        cut: how many buckets were read in part.
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


def buckets_of(store: StoreReader, signature: Signature) -> BucketKeys:
    """The bucket keys int64[b] of a signature uint32[k]."""
    keys: BucketKeys = _bucket_keys(store, signature[np.newaxis])[0]
    return keys


def candidate_ids(store: StoreReader, signature: Signature) -> tuple[DocIds, npt.NDArray[np.int64]]:
    """All candidates, int64[c] ascending, and in how many bands each shares a bucket, int64[c]."""
    rows = store.members_by_band(buckets_of(store, signature))
    return candidates_among(*rows, store.settings.construction)


def all_in_buckets(
    store: StoreReader, signature: Signature, keep: Keep | None = None
) -> Candidates:
    """All candidates: documents that share a bucket, or enough of them for a cascade."""
    found, bands = candidate_ids(store, signature)
    if keep is not None:
        kept = keep(found)
        found, bands = found[kept], bands[kept]
    return _with_estimates(store, signature, found, bands)


def best_in_buckets(store: StoreReader, signature: Signature, top: int) -> Candidates:
    """The candidates, but only some from buckets that are too large.

    From a bucket of more than `query_first` (or `top`) documents, those added first are read. Of
    documents in no smaller bucket, those in most of the larger ones are compared by signature, and
    the best `query_best` (or `top`) by estimate are kept. Documents equal to the query are all in
    the same buckets, so the first `top` of these are always kept.
    """
    keys, construction = buckets_of(store, signature), store.settings.construction
    most = max(store.limits.query_first, top)
    band_nos, rows = store.members_by_band(keys, most + 1)
    if len(rows) <= most:
        doc_ids, bands = candidates_among(band_nos, rows, construction)
        return _with_estimates(store, signature, doc_ids, bands)
    members = [store.first_members(i, key, most + 1) for i, key in enumerate(keys.tolist())]
    large = np.array([len(own) > most for own in members])
    rows = np.concatenate([own[:most] for own in members])
    listed, shared = np.unique(rows, return_counts=True)
    # Not all members of a large bucket are known: any document may be in it.
    possible = shared + large.sum() >= construction.min_bands
    listed, shared = listed[possible], shared[possible]
    small = [own for own in members if len(own) <= most]
    kept = np.isin(listed, np.concatenate([listed[:0], *small]))
    others = np.flatnonzero(~kept)
    others = others[np.argsort(-shared[others], kind="stable")[:most]]
    read = np.union1d(np.flatnonzero(kept), others)
    doc_ids, kept = listed[read], kept[read]
    signatures = store.signatures_of(doc_ids)
    collided = _bucket_keys(store, signatures) == keys
    estimated = estimates(signature, signatures)
    true = evaluate(collided, construction)
    others = np.flatnonzero(true & ~kept)
    ranked = max(store.limits.query_best, top)
    others = others[np.argsort(-estimated[others], kind="stable")[:ranked]]
    kept &= true
    kept[others] = True
    found = Candidates(doc_ids, collided.sum(axis=1), estimated, int(large.sum()), most)
    return found.chosen(kept)


def all_documents(store: StoreReader, signature: Signature, keep: Keep | None = None) -> Candidates:
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


def with_others(
    store: StoreReader, signature: Signature, found: Candidates, ids: DocIds
) -> Candidates:
    """Candidates, and other documents int64[n] with a signature, found in another way."""
    ids = np.setdiff1d(ids, found.doc_ids)
    own = buckets_of(store, signature)
    bands, estimated = [found.bands], [found.estimates]
    for part in chunks(len(ids), store.limits.documents_read):
        some = store.signatures_of(ids[part])
        bands.append((_bucket_keys(store, some) == own).sum(axis=1))
        estimated.append(estimates(signature, some))
    doc_ids = np.concatenate([found.doc_ids, ids])
    columns = doc_ids, np.concatenate(bands), np.concatenate(estimated)
    return Candidates(*columns, found.cut, found.read).chosen(np.argsort(doc_ids))


def _with_estimates(
    store: StoreReader, signature: Signature, found: DocIds, bands: npt.NDArray[np.int64]
) -> Candidates:
    estimated = [np.empty(0)]
    for part in chunks(len(found), store.limits.documents_read):
        some = store.signatures_of(found[part])
        estimated.append(estimates(signature, some))
    return Candidates(found, bands, np.concatenate(estimated))


def _bucket_keys(store: StoreReader, signatures: Signature) -> BucketKeys:
    return bucket_keys(signatures, store.settings.construction, store.settings.seed)
