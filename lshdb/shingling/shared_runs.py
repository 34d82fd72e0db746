"""Runs of consecutive shingles that two texts share."""

import numpy as np
import numpy.typing as npt

from lshdb.shingling.hashing import Hashes, Offsets


def longest_runs(a: Hashes | Offsets, b: Hashes | Offsets) -> tuple[Offsets, Offsets, Offsets]:
    """The longest runs of shingles that two texts share, none within another one of the first text.

    All suffixes of both texts are sorted, by prefixes that double in length (Manber, Myers: Suffix
    arrays, 1993). The longest match of a suffix of the one text is then beside it: the nearest
    suffix of the other before it or behind it. How long it is follows from the places in the order
    of prefixes, the longest first. So the time is that of log n sorts, however often the texts
    repeat a shingle, and the memory 4 log n bytes a shingle.

    Args:
        a: uint64[n] or int64[n], the hashes (or numbers) of all shingles of a text, in its order.
        b: uint64[m] or int64[m], those of the other.

    Returns:
        Where each begins in a and in b, and its length, int64[r] each, in the order of a. Every
        shingle that both texts have is in the longest of its runs; of several places in b one is
        taken, which does not depend on the hashes.
    """
    _, first, number = np.unique(np.concatenate([a, b]), return_index=True, return_inverse=True)
    # Two values that are there once end both texts.
    values = np.insert(np.append(first[number], -2), len(a), -1)
    ranks = _prefix_ranks(values)
    order = np.argsort(ranks[-1])
    in_b = order > len(a)
    own = np.flatnonzero(~in_b)
    index = np.arange(len(order))
    before = np.maximum.accumulate(np.where(in_b, index, -1))[own]
    behind = np.minimum.accumulate(np.where(in_b, index, len(order))[::-1])[::-1][own]
    lengths, others = np.zeros((2, len(a) + 1), dtype=np.int64)
    for beside in (before, behind):
        is_there = (beside >= 0) & (beside < len(order))
        i, j = order[own[is_there]], order[beside[is_there]]
        length = np.zeros(len(i), dtype=np.int64)
        for level, rank in reversed(list(enumerate(ranks))):
            length += (rank[i + length] == rank[j + length]).astype(np.int64) << level
        other = j - len(a) - 1
        nearer = np.abs(other - i) < np.abs(others[i] - i)
        better = (length > lengths[i]) | ((length == lengths[i]) & nearer)
        lengths[i[better]], others[i[better]] = length[better], other[better]
    lengths = lengths[:-1]
    # No run ends before one that begins earlier.
    begins = np.flatnonzero((lengths > 0) & (np.diff(lengths, prepend=0) >= 0))
    return begins, others[begins], lengths[begins]


def _prefix_ranks(values: Offsets) -> list[npt.NDArray[np.int32]]:
    """The places of the first 1, 2, 4, ... values from each on in the order of all, int32[v] each.

    Equal ones have the same place; the last list has none, as the last value is there once.
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
