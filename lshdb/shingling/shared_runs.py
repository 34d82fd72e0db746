"""Runs of consecutive shingles that two texts share."""

import numpy as np
import numpy.typing as npt

from lshdb.shingling.hashing import Hashes, Offsets


def longest_runs(a: Hashes | Offsets, b: Hashes | Offsets) -> tuple[Offsets, Offsets, Offsets]:
    """The longest runs of shingles that two texts share; no run lies within another one of `a`.

    All suffixes of both texts are sorted, by prefixes that double in length (Manber, Myers: Suffix
    arrays, 1993). The suffix of `b` that matches a suffix of `a` longest is then the nearest one
    before or after it in that order. The length of the match follows from the ranks of the
    prefixes, the longest prefix first. So the time is that of log n sorts, however often the texts
    repeat a shingle, and the memory is 4 log n bytes per shingle.

    Args:
        a: uint64[n] or int64[n], the hashes (or numbers) of all shingles of a text, in order.
        b: uint64[m] or int64[m], the same of the other text.

    Returns:
        The index at which each run begins in a, the index in b, and its length, int64[r] each, in
        the order of a. Each shared shingle is in the longest run that contains it. If a run occurs
        several times in b, the choice between them does not depend on the hashes.
    """
    _, first, number = np.unique(np.concatenate([a, b]), return_index=True, return_inverse=True)
    # Two values that occur nowhere else end the texts.
    values = np.insert(np.append(first[number], -2), len(a), -1)
    ranks = _prefix_ranks(values)
    order = np.argsort(ranks[-1])
    in_b = order > len(a)
    in_a = np.flatnonzero(~in_b)
    index = np.arange(len(order))
    before = np.maximum.accumulate(np.where(in_b, index, -1))[in_a]
    behind = np.minimum.accumulate(np.where(in_b, index, len(order))[::-1])[::-1][in_a]
    lengths, starts_in_b = np.zeros((2, len(a) + 1), dtype=np.int64)
    for neighbours in (before, behind):
        has_neighbour = (neighbours >= 0) & (neighbours < len(order))
        i, j = order[in_a[has_neighbour]], order[neighbours[has_neighbour]]
        length = np.zeros(len(i), dtype=np.int64)
        for level, rank in reversed(list(enumerate(ranks))):
            length += (rank[i + length] == rank[j + length]).astype(np.int64) << level
        start_in_b = j - len(a) - 1
        nearer = np.abs(start_in_b - i) < np.abs(starts_in_b[i] - i)
        better = (length > lengths[i]) | ((length == lengths[i]) & nearer)
        lengths[i[better]], starts_in_b[i[better]] = length[better], start_in_b[better]
    lengths = lengths[:-1]
    # No run ends before one that begins earlier.
    begins = np.flatnonzero((lengths > 0) & (np.diff(lengths, prepend=0) >= 0))
    return begins, starts_in_b[begins], lengths[begins]


def _prefix_ranks(values: Offsets) -> list[npt.NDArray[np.int32]]:
    """The ranks of the runs of 1, 2, 4, ... values that begin at each value, int32[v] each.

    Equal runs have the same rank. In the last array all ranks differ, as the last value is unique.
    """
    ranks = [np.unique(values, return_inverse=True)[1].astype(np.int32)]
    width = 1
    while int(ranks[-1].max()) < len(values) - 1:
        rank = ranks[-1].astype(np.int64)
        key = rank * (len(rank) + 1)
        key[:-width] += rank[width:] + 1
        ranks.append(np.unique(key, return_inverse=True)[1].astype(np.int32))
        width *= 2
    return ranks
