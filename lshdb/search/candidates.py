"""Candidate pairs of a self-join: pairs of documents that share a bucket, each once.

`SharedBuckets` gives the pairs of buckets, `prefix_filtered` fewer of them if buckets are large.

Documents have numbers: a document's index, from 0, among all that share a bucket with another.
Pairs come in that order, in chunks, on demand: one bucket may hold all documents, and then has too
many pairs to hold in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb import limits
from lshdb.search.similarity import ROUNDING, Exact
from lshdb.text.arrays import IntArray, Mask, chunks, expand_ranges, is_new, offsets_of, runs
from lshdb.text.hashing import Hashes, distinct
from lshdb.text.shingling import Shingles

_AT_ONCE = 1 << 19
"""Rows of buckets, about 60 bytes each, that are numbered or paired at once."""
_32 = 32
_LOW = (1 << _32) - 1
_SLOT_BITS = 24
"""Holders of shingles are counted in at most 2^24 slots, 64 MB: of a million, few share one."""


@dataclass(frozen=True, slots=True)
class SharedBuckets:
    """B buckets of at least two documents each, one after another, R members in all.

    Attributes:
        members: int32[R], numbers of documents, ascending in each bucket.
        offsets: int64[B+1], bucket i has members[offsets[i]:offsets[i+1]].
    """

    members: npt.NDArray[np.int32]
    offsets: IntArray

    @classmethod
    def collect(cls, rows: Iterable[tuple[IntArray, IntArray]]) -> tuple[IntArray, SharedBuckets]:
        """Collect the rows of buckets, some at a time: buckets int64[n], doc_ids int64[n].

        The rows of a bucket are adjacent, and its doc_ids ascend.

        Returns:
            The doc_ids int64[m] of the m documents, ascending, and the buckets.
        """
        new = [np.empty(0, dtype=np.bool_)]
        ids: list[npt.NDArray[Any]] = [np.empty(0, dtype=np.int32)]
        last = None
        for buckets, doc_ids in rows:
            if len(buckets):
                new.append(np.append(buckets[0] != last, buckets[1:] != buckets[:-1]))
                small = doc_ids.astype(np.int32)  # half of the memory, unless ids are huge
                ids.append(small if np.array_equal(small, doc_ids) else doc_ids.copy())
                last = buckets[-1]
        flat: npt.NDArray[Any] = np.concatenate(ids)
        ids.clear()
        documents = distinct(flat)
        members = flat.astype(np.int32, copy=False)
        for part in chunks(len(flat), _AT_ONCE):
            members[part] = np.searchsorted(documents, flat[part])
        begins = np.flatnonzero(np.concatenate(new))
        return documents.astype(np.int64), cls(members, np.append(begins, len(flat)))

    @classmethod
    def of(cls, keys: Hashes) -> SharedBuckets:
        """A bucket for each high half of keys, uint64[n], that several low halves, documents, have.

        The keys are sorted in place.
        """
        keys.sort()
        once = is_new(keys)
        members = keys.astype(np.int32)[once]
        keys >>= np.uint64(_32)
        begins = np.flatnonzero(is_new(keys)[once])
        buckets = cls(members, np.append(begins, len(members)))
        return buckets.of_rows(np.ones(len(members), dtype=np.bool_))

    @property
    def sizes(self) -> IntArray:
        """How many members each bucket has, int64[B]."""
        return np.diff(self.offsets)

    def mixed(self, labels: IntArray) -> SharedBuckets:
        """Those of the buckets whose members' labels, int64[m], are not all the same."""
        differ = is_new(labels[self.members])
        differ[self.offsets[:-1]] = False
        several = np.logical_or.reduceat(differ, self.offsets[:-1])
        return self.of_rows(np.repeat(several, self.sizes))

    def of_rows(self, rows: Mask) -> SharedBuckets:
        """The buckets with some of their members, bool[R]; those of fewer than two are left out."""
        if not len(self.members):
            return self
        sizes = np.add.reduceat(rows, self.offsets[:-1], dtype=np.int64)
        rows = rows & np.repeat(sizes > 1, self.sizes)
        return SharedBuckets(self.members[rows], offsets_of(sizes[sizes > 1]))

    def pairs(
        self,
        documents: int,
        limit: limits.Limit | None = None,
        waiting: Mask | None = None,
        shared: int = 1,
        chunk: int = limits.DEFAULTS.pairs_chunk,
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """The candidate pairs among m documents, in order, in chunks.

        A pair comes once, however many buckets have both. Without a limit all pairs come, with one
        those that it allows in at least one bucket.

        Args:
            documents: m.
            limit: on the pairs of a bucket.
            waiting: bool[m], which documents still have to be compared; the caller may change
                it from chunk to chunk.
            shared: in how many buckets a pair must be; more than 1 only without a limit.
            chunk: candidates in a chunk. The first chunks are smaller, each twice as large as the
                one before.

        Yields:
            int64[c] and int64[c]: pairs (a, b) with a < b, sorted by a, then by b.
        """
        size = max(1, chunk >> 6)
        together = 1 + documents * _AT_ONCE // max(1, len(self.members))
        for some in chunks(documents, together):
            rows, later = self._rows_of(some, limit)
            begins, ends = runs(self.members[rows])
            candidates = np.add.reduceat(later, begins).cumsum()
            first = done = 0
            while first < len(begins):
                last = max(first + 1, int(candidates.searchsorted(done + size, "right")))
                part = slice(begins[first], ends[last - 1])
                keys = self._pairs_of(rows[part], later[part], waiting, shared)
                for some_keys in (keys[piece] for piece in chunks(len(keys), chunk)):
                    yield some_keys >> _32, some_keys & _LOW
                first, done, size = last, candidates[last - 1], min(2 * size, chunk)

    def _rows_of(self, documents: slice, limit: limits.Limit | None) -> tuple[IntArray, IntArray]:
        """The rows of documents that are paired with later ones of their buckets.

        Returns:
            The rows int64[n], by document, and with how many members after it each is paired.
        """
        in_range = (self.members >= documents.start) & (self.members < documents.stop)
        (rows,) = in_range.nonzero()
        bucket = self.offsets.searchsorted(rows, "right") - 1
        end = self.offsets[bucket + 1]
        later = end - 1 - rows
        if limit is not None:
            begin = self.offsets[bucket]
            cut = (rows - begin >= limit.first) & (end - begin > limit.whole)
            np.minimum(later, limit.others, out=later, where=cut)
        (paired,) = later.nonzero()
        order = paired[np.argsort(self.members[rows[paired]], kind="stable")]
        return rows[order], later[order]

    def _pairs_of(
        self, rows: IntArray, later: IntArray, waiting: Mask | None, shared: int
    ) -> IntArray:
        """The pairs of the members at some rows with a number of members after each.

        Returns:
            int64[c], ascending, the first document of a pair in the high 32 bits.
        """
        if waiting is not None:
            chosen = waiting[self.members[rows]]
            rows, later = rows[chosen], later[chosen]
        keys = np.repeat(self.members[rows].astype(np.int64) << _32, later)
        keys |= self.members[expand_ranges(rows + 1, later)]
        if waiting is not None:
            keys = keys[waiting[keys & _LOW]]
        return _distinct(keys, shared)

    def cut_by(self, limit: limits.Limit, labels: IntArray, asking: Mask) -> int:
        """How many buckets have pairs with different labels that a limit leaves out.

        Args:
            limit: the limit.
            labels: int64[m], of the documents.
            asking: bool[m]; only pairs whose first document is one of these count.
        """
        cut = 0
        for bucket in np.flatnonzero(self.sizes > limit.whole).tolist():
            members = self.members[self.offsets[bucket] + limit.first : self.offsets[bucket + 1]]
            # Document i is not compared with those from i + others + 1 on, which have one label
            # from the last change of labels on.
            member_labels, free = labels[members], asking[members]
            changes = np.flatnonzero(member_labels[1:] != member_labels[:-1])
            last_change = int(changes[-1]) + 1 if len(changes) else 0
            first = np.arange(max(0, len(member_labels) - limit.others - 1))
            several = (first + limit.others + 1 < last_change) | (
                member_labels[first] != member_labels[-1:]
            )
            cut += bool((several & free[first]).any())
        return cut


def _distinct(keys: IntArray, min_count: int) -> IntArray:
    """The distinct keys that occur at least `min_count` times, sorted."""
    keys = np.sort(keys)
    new = is_new(keys)
    if min_count > 1:
        last = max(len(keys) - min_count + 1, 0)
        new[last:] = False
        new[:last] &= keys[:last] == keys[min_count - 1 :]
    return keys[new]


# fewer candidates in hot buckets


def prefix_filtered(
    buckets: SharedBuckets, exact: Exact, labels: IntArray, threshold: float, whole: int | None
) -> SharedBuckets | None:
    """Buckets that have all pairs of the given ones with a minimum similarity, if that is quicker.

    They may have pairs that no given bucket has, and few other pairs. A bucket that many documents
    share by a common part (a header, a licence) has a pair for every two of them, of which almost
    none is similar. There, documents are paired by the shingles that few of them have, as in
    prefix filters (Chaudhuri, Ganti, Kaushik, ICDE 2006; Bayardo, Ma, Srikant, WWW 2007). Order
    all shingles by how many documents of hot buckets have them. Two sets A and B of Jaccard
    similarity t or more share at least t / (1 + t) (|A| + |B|) shingles; if none of these were
    among the first |A| - that + 1 of A, too few would be left. So both have a shingle in common
    among their first ones. If one of the first has more than `rare_holders`, a document is still
    paired by its buckets.

    Args:
        buckets: the given ones.
        exact: reads documents.
        labels: int64[m]; buckets whose documents all have one label stay as they are.
        threshold: the similarity.
        whole: maximum size of buckets of which all pairs are compared otherwise; None for any.

    Returns:
        None if there is nothing to gain.
    """
    sizes = buckets.sizes
    # A pair of a bucket takes about as long as a shingle here.
    large = 2 * int(exact.sizes.sum()) // max(1, len(exact.sizes))
    is_large = sizes > (large if whole is None else min(large, whole))
    hot = buckets.of_rows(np.repeat(is_large, sizes)).mixed(labels)
    if not len(hot.members):
        return None
    read = np.zeros(len(exact.sizes), dtype=np.bool_)
    read[hot.members] = True
    by_rare_shingles = _by_rare_shingles(exact, np.flatnonzero(read), threshold)
    if by_rare_shingles is None:
        return None
    rare_buckets, frequent = by_rare_shingles
    if _pairs(rare_buckets.sizes) > _pairs(hot.sizes):
        return None
    paired = np.logical_and.reduceat(read[buckets.members], buckets.offsets[:-1])
    compared = ~np.repeat(paired, sizes) | frequent[buckets.members]
    kept = buckets.of_rows(compared)
    offsets = np.append(kept.offsets, rare_buckets.offsets[1:] + len(kept.members))
    return SharedBuckets(np.append(kept.members, rare_buckets.members), offsets)


def _by_rare_shingles(
    exact: Exact, documents: IntArray, threshold: float
) -> tuple[SharedBuckets, Mask] | None:
    """The buckets of documents that have one of their first shingles in common.

    Returns:
        The buckets, and bool[m], which documents have a first shingle that too many have; None if
        there are too many rows.
    """
    limits, shingles = exact.limits, int(exact.sizes[documents].sum())
    bits = min(shingles.bit_length() + 1, _SLOT_BITS)  # fewer slots fit in the processor's cache
    known = [*exact.public_sets(documents)] if shingles <= limits.rare_rows else None
    # How many sets have a shingle, or another in the same slot.
    counts, min_size = np.zeros(1 << bits, dtype=np.uint32), shingles
    for _, sets in known or exact.public_sets(documents):
        np.add.at(counts, _slots(sets.hashes, bits), np.uint32(1))
        min_size = min(min_size, int(np.diff(sets.offsets).min()))
    frequent = np.zeros(len(exact.sizes), dtype=np.bool_)
    keys = [np.empty(0, np.uint64)]
    rows = 0
    for batch, sets in known or exact.public_sets(documents):
        count = counts[_slots(sets.hashes, bits)]
        first, of_set = _first_shingles(sets, count, min_size, threshold)
        holder, count = batch[of_set], count[first]
        frequent[holder[count > limits.rare_holders]] = True
        rare = count <= limits.rare_holders
        # Half of a hash: a few more candidates, which are verified as all are.
        keys.append(sets.hashes[first[rare]] << np.uint64(_32) | holder[rare].astype(np.uint64))
        rows += len(keys[-1])
        if rows > limits.rare_rows:
            return None
    rare_keys = np.concatenate(keys)
    keys.clear()
    return SharedBuckets.of(rare_keys), frequent


def _first_shingles(
    sets: Shingles, count: npt.NDArray[np.uint32], min_size: int, threshold: float
) -> tuple[IntArray, IntArray]:
    """The first shingles of sets, of which two similar ones have one in common.

    Args:
        sets: n sets, hashes ascending in each.
        count: uint32[any], how many sets have each of their hashes.
        min_size: of the smallest set.
        threshold: the similarity.

    Returns:
        int64[r], indices of hashes, and int64[r], of the sets that have them.
    """
    sizes = np.diff(sets.offsets)
    others = np.maximum(min_size, threshold * sizes)
    shared = threshold / (1 + threshold) * (sizes + others)
    length = sizes + 1 - np.ceil(shared - ROUNDING).astype(np.int64)
    # A shingle of one set only is among its first, and pairs it with none.
    (several,) = (count > 1).nonzero()
    of_set = np.repeat(np.arange(len(sizes)), sizes)[several]
    length -= sizes - np.bincount(of_set, minlength=len(sizes))
    further = length[of_set] > 0
    several, of_set = several[further], of_set[further]
    # Hashes are sorted, so that those with equal counts have the same order in all documents.
    order = np.argsort(of_set << 32 | count[several], kind="stable")
    inside = np.arange(len(order)) - of_set.searchsorted(of_set) < length[of_set]
    return several[order[inside]], of_set[inside]


def _pairs(sizes: IntArray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _slots(hashes: npt.NDArray[np.uint64], bits: int) -> IntArray:
    return (hashes >> np.uint64(64 - bits)).view(np.int64)
