"""Star clusters: every member is similar to the kept document itself."""

import numpy as np

from lshdb.search.candidates import SharedBuckets
from lshdb.search.pairs import COMPARED, Join, warn_of_cut
from lshdb.text.arrays import IntArray, Shares, runs

_BITS = 32
"""Of each number of a pair in 64 bits."""
_LOW = (1 << _BITS) - 1
"""The bits of a pair of numbers that have the second one."""


def stars(join: Join, order: IntArray) -> tuple[IntArray, Shares]:
    """In order, each document takes the similar ones that are not taken yet.

    Documents get their index in the order as numbers. Of several with one content the first is
    compared with others, and the rest follow it.

    Args:
        join: has the m documents and their buckets.
        order: int64[m], the documents, the most preferred first.

    Returns:
        For each document the kept one of its cluster, int64[m], and the similarity to it.
    """
    count = len(join)
    number = np.empty(count, dtype=np.int64)
    number[order] = np.arange(count)
    first = np.full(count, count)
    np.minimum.at(first, join.merged, number)
    numbers = first[join.merged]  # the number of each document
    limit = join.limits.clusters
    buckets = join.buckets.of_rows((numbers == number)[join.buckets.members])
    buckets = join.thin(buckets, join.merged, limit.whole)
    bucket = np.repeat(np.arange(len(buckets.sizes)), buckets.sizes)
    members = np.sort(bucket << _BITS | number[buckets.members]) & _LOW
    buckets = SharedBuckets(members.astype(np.int32), buckets.offsets)
    taken = np.full(count, -1)
    scores = np.ones(count)
    free = np.ones(count, dtype=np.bool_)
    for a, b in buckets.pairs(count, limit, free, chunk=join.limits.pairs_chunk):
        join.progress(int(a[0]), count, COMPARED)
        left, right, similarities = join.similar(order[a], order[b], join.threshold)
        takers, others = number[left], number[right]
        # All pairs of a smaller taker are in this chunk or were in an earlier one.
        begins, ends = runs(takers)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            if taken[takers[begin]] < 0:
                pairs = begin + np.flatnonzero(taken[others[begin:end]] < 0)
                taken[others[pairs]] = takers[begin]
                scores[others[pairs]] = similarities[pairs]
        np.less(taken, 0, out=free)
    taker = np.where(free, np.arange(count), taken)
    warn_of_cut(buckets, limit, taker, free)
    return order[taker[numbers]], scores[numbers]
