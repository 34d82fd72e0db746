"""Runs of consecutive shingles that two texts share."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lshdb.shingling.arrays import parts_of
from lshdb.shingling.hashing import Hashes, Offsets

_FIRST_WIDTH: Final = 8
_CELLS: Final = 1 << 20
"""Shingles compared at once."""


class Run(NamedTuple):
    """A run of shingles: a[a_first:a_first + length] equals b[b_first:b_first + length]."""

    a_first: int
    b_first: int
    length: int


def longest_runs(a: Hashes, b: Hashes) -> tuple[Offsets, Offsets, Offsets]:
    """The longest runs of shingles that two texts share, none within another one of the first text.

    All suffixes of both texts are sorted, by prefixes that double in length (Manber, Myers: Suffix
    arrays, 1993). The longest match of a suffix of the one text is then beside it: the nearest
    suffix of the other before it or behind it. Only matches that cannot begin one shingle earlier
    are measured; those are few or short, n log n shingles in all (Kasai et al., 2001; Kärkkäinen et
    al., Permuted longest-common-prefix array, 2009). So the time is that of log n sorts, however
    often the texts repeat a shingle.

    Args:
        a: uint64[n], the hashes of all shingles of the one text, in its order.
        b: uint64[m], those of the other.

    Returns:
        Where each begins in a and in b, and its length, int64[r] each, in the order of a. Every
        shingle that both texts have is in the longest of its runs; of several places in b one is
        taken, which does not depend on the hashes.
    """
    values, at, border = _joined(a, b)
    rank = _suffix_ranks(values)
    order = np.argsort(rank)
    in_b = order > border
    own = np.flatnonzero(~in_b)
    index = np.arange(len(order))
    before = np.maximum.accumulate(np.where(in_b, index, -1))[own]
    behind = np.minimum.accumulate(np.where(in_b, index, len(order))[::-1])[::-1][own]
    suffix = order[own]
    found = []
    for beside, is_there in ((before, before >= 0), (behind, behind < len(order))):
        i, j = suffix[is_there], order[beside[is_there]]
        # What precedes the first values of the texts is unique.
        longest = (values[i] == values[j]) & (values[i - 1] != values[j - 1])
        i, j = i[longest], j[longest]
        found.append((i, j, _lengths(values, i, j)))
    i, j, length = map(np.concatenate, zip(*found, strict=True))
    first, other = at[i], at[j]
    order = np.lexsort((np.abs(other - first), -length, first))
    first, other, length = first[order], other[order], length[order]
    ends = np.maximum.accumulate(first + length)
    outer = np.ones(len(first), dtype=np.bool_)
    outer[1:] = ends[1:] > ends[:-1]
    return first[outer], other[outer], length[outer]


def _joined(a: Hashes, b: Hashes) -> tuple[Offsets, Offsets, int]:
    """Both texts as one, each stretch of shingles that only one has as one value of its own.

    Returns:
        The values, int64[v]: equal for equal shingles, and the same whatever their hashes are. The
        first one, the last one, and one between the texts are unique.
        For each value its place in its text, int64[v].
        The place of the value between the texts.
    """
    _, first, number = np.unique(np.concatenate([a, b]), return_index=True, return_inverse=True)
    last = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(last, number, np.arange(len(number)))
    values = first[number]
    shared = (values < len(a)) & (last[number] >= len(a))
    parts: list[Offsets] = []
    places: list[Offsets] = []
    for separator, begin, end in ((-1, 0, len(a)), (-2, len(a), len(values))):
        some = shared[begin:end]
        kept = begin + np.flatnonzero(some | np.append(True, some[:-1])[: len(some)])
        alone = np.where(shared[kept], values[kept], len(values) + kept)
        parts += [np.array([separator]), alone]
        places += [np.array([-1]), kept - begin]
    border = 1 + len(parts[1])
    return np.concatenate([*parts, np.array([-3])]), np.append(np.concatenate(places), -1), border


def _suffix_ranks(values: Offsets) -> Offsets:
    """The place of each suffix of values int64[v] among all in order, int64[v].

    The last value is unique.
    """
    rank = np.unique(values, return_inverse=True)[1]
    width = 1
    while len(rank) and int(rank.max()) < len(rank) - 1:
        key = rank * (len(rank) + 1)
        key[:-width] += rank[width:] + 1
        order = np.argsort(key, kind="stable")
        key = key[order]
        rank[order] = np.append(0, np.cumsum(key[1:] != key[:-1]))
        width *= 2
    return rank


def _lengths(values: Offsets, i: Offsets, j: Offsets) -> Offsets:
    """How many values from i and j on are equal, int64[n]; the last value is unique."""
    lengths = np.empty(len(i), dtype=np.int64)
    left, done, width = np.arange(len(i)), 0, _FIRST_WIDTH
    while len(left):
        more = []
        for part in parts_of(np.full(len(left), width), _CELLS):
            some = left[part]
            at = np.arange(done, done + width)
            one = values.take(i[some, np.newaxis] + at, mode="clip")
            other = values.take(j[some, np.newaxis] + at, mode="clip")
            # The first difference ends the run; there is one behind the block if in none in it.
            differ = np.append(one != other, np.ones((len(some), 1), np.bool_), axis=1)
            count = differ.argmax(axis=1)
            lengths[some] = done + count
            more.append(some[count == width])
        left = np.concatenate(more)
        done += width
        width = min(2 * width, _CELLS)
    return lengths
