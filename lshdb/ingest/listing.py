"""Which kept documents of a bucket new ones are compared with: the first LISTED of it.

Where documents come in order and each is kept or not, the kept ones of a bucket are listed until
there are LISTED. A bucket that a common header fills would else make every document a candidate
of every other. What is listed depends on the order of documents only, not on how they are cut
into batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

LISTED: Final = 128
"""Kept documents of a bucket that others are compared with."""

Numbers: TypeAlias = npt.NDArray[np.int64]
"""Numbers of documents: 0 to n - 1 are new ones in their order, the others are stored."""
Mask: TypeAlias = npt.NDArray[np.bool_]
StoredMembers: TypeAlias = Callable[[int, Numbers, int], tuple[Numbers, Numbers]]
"""For a band, keys of buckets int64[any], sorted, and how many are wanted of each: the documents
int64[r] in them, in this order, and in which of the buckets each is, int64[r]; the latter first."""

_32: Final = 32
_NONE: Final = np.empty(0, dtype=np.int64)


class Listing:
    """The listed documents of the buckets of n new documents.

    Attributes:
        doc_ids: int64[s], of the stored ones, ascending; the i-th has the number n + i.
        bucket: int32[n, b], the bucket of a document in each band; -1 where it is alone in it.
        listed: int64[B], how many documents of each bucket are listed so far.
        may_overflow: whether a bucket may come to hold more than are listed.
    """

    def __init__(
        self,
        bucket_keys: npt.NDArray[np.int64],
        filled: Mask,
        stored: StoredMembers,
    ) -> None:
        """Look up the stored members.

        Args:
            bucket_keys: int64[n, b], of the new documents.
            filled: bool[n], which of them have shingles; the others are in no bucket.
            stored: tells the first LISTED + 1 stored documents of each of some buckets.
        """
        n, bands = bucket_keys.shape
        self.bucket = np.full((n, bands), -1, dtype=np.int32)
        rows = np.flatnonzero(filled)
        sizes, of_stored = [_NONE], [_NONE]
        owner, member = [_NONE], [_NONE]
        known = 0
        for band in range(bands):
            keys, of_row, count = np.unique(
                bucket_keys[rows, band], return_inverse=True, return_counts=True
            )
            of_found, found = stored(band, keys, LISTED + 1)
            there = np.bincount(of_found, minlength=len(keys))
            shared = (count > 1) | (there > 0)
            number = np.where(shared, np.cumsum(shared) - 1 + known, -1)
            self.bucket[rows, band] = number[of_row]
            owner.append(number[of_found])
            member.append(found)
            sizes.append(count[shared])
            of_stored.append(there[shared])
            known += int(np.count_nonzero(shared))
        self._all = np.concatenate(of_stored)  # LISTED + 1 stands for any larger number
        new = np.concatenate(sizes)
        self.may_overflow = bool((self._all + new > LISTED).any())
        room = np.minimum(self._all + new, LISTED)
        self._starts = np.cumsum(room) - room
        self._members = np.empty(int(room.sum()), dtype=np.int32)
        self.listed = np.minimum(self._all, LISTED)
        self.doc_ids, numbers = np.unique(np.concatenate(member), return_inverse=True)
        # A bucket's own stand together and in order, so that the first of them are listed.
        owners = np.concatenate(owner)
        place = np.arange(len(owners)) - (np.cumsum(self._all) - self._all)[owners]
        inside = place < LISTED
        at = self._starts[owners[inside]] + place[inside]
        self._members[at] = numbers[inside] + n

    def candidates(self, documents: Numbers) -> Numbers:
        """The pairs of new documents int64[d] and listed ones that share a bucket.

        Returns:
            int64[c], distinct and sorted: the new one's number << 32, or the other's.
        """
        bucket = self.bucket[documents]
        row, band = np.nonzero(bucket >= 0)
        buckets = bucket[row, band]
        count = self.listed[buckets]
        ends = np.cumsum(count)
        at = np.repeat(self._starts[buckets] - ends + count, count)
        at += np.arange(len(at))
        keys = np.repeat(documents[row] << _32, count)
        keys |= self._members[at]
        return distinct(keys)

    def candidates_among(self, documents: Numbers, sources: Mask) -> Numbers:
        """The pairs among new documents int64[d], of which none is listed yet, as above.

        Of each pair the second comes first, is one of the sources bool[d], and may be listed in a
        bucket of both.
        """
        bucket = self.bucket[documents]
        row, band = np.nonzero(bucket >= 0)
        buckets = bucket[row, band]
        has_room = self.listed[buckets] < LISTED
        row, buckets = row[has_room], buckets[has_room]
        order = np.argsort(buckets, kind="stable")
        row, buckets = row[order], buckets[order]
        # The sources of the row's bucket that come before it.
        is_source = sources[row]
        before: Numbers = np.cumsum(is_source) - is_source
        begins = np.flatnonzero(np.diff(buckets, prepend=-1))
        lengths = np.diff(np.append(begins, len(buckets)))
        first: Numbers = np.repeat(before[begins], lengths)
        count = before - first
        source = documents[row[is_source]]
        ends = np.cumsum(count)
        at = np.repeat(first - ends + count, count)
        at += np.arange(len(at))
        keys = np.repeat(documents[row] << _32, count)
        keys |= source[at]
        return distinct(keys)

    def filling(self, documents: Numbers) -> Mask:
        """Of which buckets the last place may be taken by one of these, bool[B]."""
        if not self.may_overflow:
            return np.zeros(len(self.listed), dtype=np.bool_)
        bucket = self.bucket[documents]
        more = np.bincount(bucket[bucket >= 0], minlength=len(self.listed))
        filling: Mask = (self.listed < LISTED) & (self.listed + more > LISTED)
        return filling

    def add(self, documents: Numbers) -> tuple[Mask, Mask]:
        """List kept documents int64[d], in order.

        Returns:
            bool[d], which of them are in a bucket that held more than were listed when they came;
            bool[d], which of them are listed nowhere though there are documents like them.
        """
        bucket = self.bucket[documents]
        row, band = np.nonzero(bucket >= 0)
        buckets = bucket[row, band]
        order = np.argsort(buckets, kind="stable")
        row, buckets = row[order], buckets[order]
        begins = np.flatnonzero(np.diff(buckets, prepend=-1))
        lengths = np.diff(np.append(begins, len(buckets)))
        rank = np.arange(len(buckets)) - np.repeat(begins, lengths)
        cut = np.zeros(len(documents), dtype=np.bool_)
        cut[row[self._all[buckets] + rank > LISTED]] = True
        place = self.listed[buckets] + rank
        fits = place < LISTED
        self._members[self._starts[buckets[fits]] + place[fits]] = documents[row[fits]]
        somewhere = np.zeros(len(documents), dtype=np.bool_)
        somewhere[row[fits]] = True
        self._all[buckets[begins]] += lengths
        self.listed[buckets[begins]] = np.minimum(self.listed[buckets[begins]] + lengths, LISTED)
        alone = np.ones(len(documents), dtype=np.bool_)
        alone[row] = False
        return cut, ~(somewhere | alone)


def distinct(keys: Numbers) -> Numbers:
    """The distinct ones of numbers, sorted."""
    keys.sort()
    new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys[new]
