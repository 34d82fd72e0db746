"""Fewer candidates in hot buckets, with no similar pair lost.

A bucket that many documents share by a common part (a letterhead, a licence) has a pair for every
two of them, of which next to none is similar. There, documents are paired by the shingles that
few of them have, by the reasoning of prefix filters (Chaudhuri, Ganti, Kaushik, ICDE 2006; Bayardo,
Ma, Srikant, WWW 2007): similar sets share so much that rare shingles must be among it.

Order all shingles by how many documents of hot buckets have them. Two sets A and B of Jaccard
similarity t or more share at least t / (1 + t) (|A| + |B|) shingles; were none of these among the
first |A| - that + 1 of A, too few would be left. So both have a shingle in common among their
first ones. Documents are paired by those; only where one of the first has more than RARE holders,
a document is still paired by its buckets.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.search.candidates import Numbers, SharedBuckets
from lshdb.search.overlaps import runs
from lshdb.search.verifying import Exact

RARE: Final = 32
"""Documents that have a shingle by which documents are paired, at the most."""
_SLOT_BITS: Final = 24
_MOST: Final = 16_000_000
"""Documents by rare shingles, beyond which the buckets stay as they are."""
_ROUNDING: Final = 1e-6


def thinned(
    buckets: SharedBuckets, exact: Exact, labels: Numbers, threshold: float, whole: int
) -> SharedBuckets | None:
    """Buckets that have all pairs of the given ones with at least a similarity.

    They may have pairs that no given bucket has, and few of the others.

    Args:
        buckets: the given ones.
        exact: reads documents.
        labels: int64[m]; buckets whose documents all have one label stay as they are.
        threshold: the similarity.
        whole: buckets of at most so many documents stay as they are.

    Returns:
        None where there is nothing to gain.
    """
    hot = (buckets.sizes > whole) & buckets.have_several(labels)
    if not hot.any():
        return None
    of_hot = np.repeat(hot, buckets.sizes)
    documents = np.unique(buckets.members[of_hot]).astype(np.int64)
    counts = _count(exact, documents)
    least = exact.sizes[documents].min()
    frequent = np.zeros(len(exact.sizes), dtype=np.bool_)
    hashes, holders = [np.empty(0, np.uint64)], [np.empty(0, np.int32)]
    rows = 0
    for some, sets in exact.sets(documents):
        count = counts[_slots(sets.hashes)]
        sizes = np.diff(sets.offsets)
        shared = threshold / (1 + threshold) * (sizes + np.maximum(least, threshold * sizes))
        length = sizes + 1 - np.ceil(shared - _ROUNDING).astype(np.int64)
        of_set = np.repeat(np.arange(len(some)), sizes)
        # Hashes are sorted, so that those with equal counts stay in an order that is everyone's.
        order = np.argsort(of_set << 32 | count, kind="stable")
        inside = np.arange(len(order)) - sets.offsets[of_set] < length[of_set]
        first, holder = order[inside], some[of_set[inside]]
        count = count[first]
        frequent[holder[count > RARE]] = True
        rare = (count > 1) & (count <= RARE)
        hashes.append(sets.hashes[first[rare]])
        holders.append(holder[rare].astype(np.int32))
        rows += len(hashes[-1])
        if rows > _MOST:
            return None
    rare_buckets = _buckets(np.concatenate(hashes), np.concatenate(holders))
    if _pairs(rare_buckets.sizes) > _pairs(buckets.sizes[hot]):
        return None
    return buckets.of_rows(~of_hot | frequent[buckets.members]).joined(rare_buckets)


def _pairs(sizes: npt.NDArray[np.int64]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _count(exact: Exact, documents: Numbers) -> npt.NDArray[np.uint32]:
    """How many of the documents have a shingle, or another one of the same slot."""
    counts = np.zeros(1 << _SLOT_BITS, dtype=np.uint32)
    for _, sets in exact.sets(documents):
        np.add.at(counts, _slots(sets.hashes), np.uint32(1))
    return counts


def _slots(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    return (hashes >> np.uint64(64 - _SLOT_BITS)).view(np.int64)


def _buckets(hashes: npt.NDArray[np.uint64], holders: npt.NDArray[np.int32]) -> SharedBuckets:
    """A bucket for each hash that two documents or more hold."""
    order = np.lexsort((holders, hashes))
    hashes, holders = hashes[order], holders[order]
    number = np.zeros(len(hashes), dtype=np.int64)
    np.cumsum(hashes[1:] != hashes[:-1], out=number[1:])
    begins, _ = runs(number)
    return SharedBuckets(holders, np.append(begins, len(holders))).of_rows(
        np.ones(len(holders), dtype=np.bool_)
    )
