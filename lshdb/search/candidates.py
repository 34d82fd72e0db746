"""Candidate pairs of a self-join: documents that share a bucket, each pair once.

Documents are named by their numbers: a document's place, from 0, among all that share a bucket
with another. Pairs come in that order, in chunks, as they are asked for: one bucket may hold all
documents, and its pairs are then more than anyone can keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.int64]
"""Numbers of documents."""
Mask: TypeAlias = npt.NDArray[np.bool_]

_CHUNK: Final = 1 << 20
"""Candidates in a chunk, a pair counted once for each bucket that has both."""
_FIRST_CHUNK: Final = 1 << 14
"""The same for the first chunk; each is twice as large as the one before."""
_32: Final = 32
_LOW: Final = (1 << _32) - 1


@dataclass(frozen=True, slots=True)
class Limit:
    """With how many that follow it in a bucket a document is compared.

    Attributes:
        whole: in buckets of at most so many documents, with all.
        first: in larger ones, the first so many documents are compared with all that follow.
        others: each of the others with so many.
    """

    whole: int
    first: int
    others: int


@dataclass(frozen=True, slots=True)
class SharedBuckets:
    """B buckets of at least two documents each, one after the other, R members in all.

    Attributes:
        members: int32[R], numbers of documents, ascending in each bucket.
        offsets: int64[B+1], bucket i has members[offsets[i]:offsets[i+1]].
    """

    members: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def collect(
        cls, rows: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
    ) -> tuple[npt.NDArray[np.int64], SharedBuckets]:
        """Collect the rows of buckets, some at a time: bucket sizes int64[n], doc_ids int64[n].

        Every row tells the size of its bucket, and a bucket's doc_ids ascend.

        Returns:
            The doc_ids int64[m] of the m documents, ascending, and the buckets.
        """
        sizes, ids = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for some_sizes, some_ids in rows:
            sizes.append(some_sizes.astype(np.int32))
            ids.append(some_ids.copy())  # a part of a table would keep all of it in memory
        flat = np.concatenate(ids)
        ids.clear()
        documents = np.unique(flat)
        members = np.empty(len(flat), dtype=np.int32)
        for start in range(0, len(flat), _CHUNK):
            some = flat[start : start + _CHUNK]
            members[start : start + _CHUNK] = np.searchsorted(documents, some)
        return documents, cls(members, _offsets(np.concatenate(sizes)))

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many members each bucket has, int64[B]."""
        return np.diff(self.offsets)

    def only(self, documents: Mask) -> SharedBuckets:
        """The buckets with only these documents, bool[m]; those with fewer than two go."""
        kept = documents[self.members]
        return self.of_rows(kept)

    def have_several(self, labels: Numbers) -> Mask:
        """Which of the buckets have members with different labels, int64[m]: bool[B]."""
        if not len(self.members):
            return np.zeros(0, dtype=np.bool_)
        own = labels[self.members]
        other = own != np.repeat(own[self.offsets[:-1]], self.sizes)
        several: Mask = np.logical_or.reduceat(other, self.offsets[:-1])
        return several

    def mixed(self, labels: Numbers) -> SharedBuckets:
        """Those of the buckets whose members' labels, int64[m], are not all the same."""
        return self.of_rows(np.repeat(self.have_several(labels), self.sizes))

    def joined(self, others: SharedBuckets) -> SharedBuckets:
        """These buckets and others of the same documents."""
        offsets = [self.offsets, others.offsets[1:] + len(self.members)]
        return SharedBuckets(np.append(self.members, others.members), np.concatenate(offsets))

    def renumbered(self, numbers: Numbers) -> SharedBuckets:
        """The same buckets where document i has the number numbers[i], int64[m]."""
        bucket = np.repeat(np.arange(len(self.offsets) - 1), self.sizes)
        keys = np.sort(bucket << _32 | numbers[self.members])
        return SharedBuckets((keys & _LOW).astype(np.int32), self.offsets)

    def of_rows(self, rows: Mask) -> SharedBuckets:
        """The buckets with only some of their members, bool[R]; those of fewer than two go."""
        if not len(self.members):
            return self
        sizes = np.add.reduceat(rows, self.offsets[:-1], dtype=np.int64)
        rows = rows & np.repeat(sizes > 1, self.sizes)
        return SharedBuckets(self.members[rows], _bounds(sizes[sizes > 1]))

    def pairs(
        self,
        documents: int,
        limit: Limit | None = None,
        waiting: Mask | None = None,
        shared: int = 1,
    ) -> Iterator[tuple[Numbers, Numbers]]:
        """The candidate pairs among m documents, in order, in chunks.

        A pair is in one chunk, once, however many buckets have both. Without a limit the pairs
        are all; with one they are those that it allows in one bucket at least.

        Args:
            documents: m.
            limit: how many pairs of a bucket are wanted.
            waiting: bool[m], which documents still want to be compared; the caller may change it
                from chunk to chunk.
            shared: in how many buckets a pair must be; more than 1 only without a limit.

        Yields:
            int64[c] and int64[c]: pairs (a, b) with a < b, sorted by a, then by b.
        """
        place = np.arange(len(self.members))
        later = (np.repeat(self.offsets[1:], self.sizes) - 1 - place).astype(np.int32)
        if limit is not None:
            place -= np.repeat(self.offsets[:-1], self.sizes)
            cut = (place >= limit.first) & np.repeat(self.sizes > limit.whole, self.sizes)
            np.minimum(later, limit.others, out=later, where=cut)
            del cut
        del place
        order = np.argsort(self.members, kind="stable")
        first = _bounds(np.bincount(self.members, minlength=documents))
        work = np.cumsum(np.bincount(self.members, weights=later, minlength=documents))
        a, size = 0, _FIRST_CHUNK
        while a < documents:
            done = work[a - 1] if a else 0.0
            end = max(a + 1, int(np.searchsorted(work, done + size, side="right")))
            rows = order[first[a] : first[end]]
            if waiting is not None:
                rows = rows[waiting[self.members[rows]]]
            if end == a + 1 and work[a] - done > _CHUNK:
                yield from self._pairs_of_one(a, rows, later[rows], waiting, documents, shared)
            else:
                some = later[rows].astype(np.int64)
                one, other = self._pairs_of_some(rows, some, waiting, shared)
                if len(one):
                    yield one, other
            a, size = end, min(2 * size, _CHUNK)

    def _pairs_of_some(
        self, rows: Numbers, later: npt.NDArray[np.int64], waiting: Mask | None, shared: int
    ) -> tuple[Numbers, Numbers]:
        """The pairs of the members at some places with so many that follow them."""
        ends = np.cumsum(later)
        at = np.repeat(rows + 1 - ends + later, later)
        at += np.arange(len(at))
        keys = np.repeat(self.members[rows].astype(np.int64) << _32, later)
        keys |= self.members[at]
        if waiting is not None:
            keys = keys[waiting[keys & _LOW]]
        keys = _distinct(keys, shared)
        return keys >> _32, keys & _LOW

    def _pairs_of_one(
        self,
        a: int,
        rows: Numbers,
        later: npt.NDArray[np.int32],
        waiting: Mask | None,
        documents: int,
        shared: int,
    ) -> Iterator[tuple[Numbers, Numbers]]:
        """The same for one document whose candidates would make too large a chunk."""
        seen = np.zeros(documents, dtype=np.uint16)
        for row, count in zip(rows.tolist(), later.tolist(), strict=True):
            seen[self.members[row + 1 : row + 1 + count]] += 1
        if waiting is not None:
            seen *= waiting
        others = np.flatnonzero(seen >= shared)
        for start in range(0, len(others), _CHUNK):
            some = others[start : start + _CHUNK]
            yield np.full(len(some), a), some

    def left_out(self, limit: Limit, labels: Numbers, asking: Mask) -> tuple[int, int]:
        """What a limit leaves out of the pairs that have different labels.

        Args:
            limit: the limit.
            labels: int64[m], of the documents.
            asking: bool[m]; only pairs count whose first document is one of these.

        Returns:
            The number of buckets that are cut, and of their pairs that are left out; a pair
            counts in each such bucket.
        """
        bucket = np.repeat(np.arange(len(self.offsets) - 1), self.sizes)
        rows = np.flatnonzero((self.sizes > limit.whole)[bucket])
        bucket, own = bucket[rows], labels[self.members[rows]]
        order = np.lexsort((rows, own, bucket))
        rows, bucket, own = rows[order], bucket[order], own[order]
        # A run is the members of one bucket with one label, in order.
        new = np.ones(len(rows), dtype=np.bool_)
        new[1:] = (np.diff(bucket) != 0) | (np.diff(own) != 0)
        run = np.cumsum(new) - 1
        keys = run * (len(self.members) + 1) + rows
        end_of_run = np.append(np.flatnonzero(new), len(rows))[run + 1]
        beyond = np.maximum(self.offsets[bucket + 1] - 1 - rows - limit.others, 0)
        # The keys of other runs are farther away than any place in a bucket.
        same = end_of_run - np.searchsorted(keys, keys + limit.others, side="right")
        cut = beyond - np.maximum(same, 0)
        cut[(rows - self.offsets[bucket] < limit.first) | ~asking[self.members[rows]]] = 0
        return len(np.unique(bucket[cut > 0])), int(cut.sum())


def _offsets(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Where buckets begin and end, from rows that each tell the size of their bucket."""
    row = np.arange(len(sizes))
    changed = np.ones(len(sizes), dtype=np.bool_)
    changed[1:] = sizes[1:] != sizes[:-1]
    # Among buckets of one size, each begins so many rows after the one before.
    since = row - np.maximum.accumulate(np.where(changed, row, 0))
    begins = np.flatnonzero(since % np.maximum(sizes, 1) == 0)
    return np.append(begins, len(sizes))


def _bounds(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds


def _distinct(keys: npt.NDArray[np.int64], least: int) -> npt.NDArray[np.int64]:
    """The distinct keys that come at least so many times, sorted."""
    keys = np.sort(keys)
    new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    if least > 1:
        new[len(keys) - least + 1 :] = False
        new[: len(keys) - least + 1] &= keys[: len(keys) - least + 1] == keys[least - 1 :]
    return keys[new]
