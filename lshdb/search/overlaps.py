"""How much many pairs of sets share: exactly, and by a bound that is never too low.

Sets are distinct 64-bit hashes. The bound takes some nanoseconds a pair whatever the sizes, the
exact count some microseconds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.model import Shingles
from lshdb.shingling.hashing import Hashes

Counts = npt.NDArray[np.int64]
Parities = npt.NDArray[np.uint64]

_CELLS: Final = 1 << 22
"""Cells of parities made in one go, in bytes."""
_PAIRS: Final = 1 << 14
"""Pairs bounded in one go: their parities stay in the processor's cache."""
_SLOT_BITS: Final = 16
_LARGE: Final = 1 << 12
"""A set with more hashes than this would leave too few slots free."""
_FEW: Final = 3
"""Pairs of one set from which on a table is worth the filling."""
_AT_ONCE: Final = 1 << 17
"""Hashes looked up in one go."""
_SHIFT: Final = np.uint64(64 - _SLOT_BITS)
# No hash that belongs to slot i equals what an empty slot i holds.
_EMPTY: Final = ~(np.arange(1 << _SLOT_BITS, dtype=np.uint64) << _SHIFT)


def parities(shingles: Shingles, words: int) -> Parities:
    """For each of n sets and each of 64 w cells whether it holds an odd number of the hashes.

    Args:
        shingles: n sets, hashes distinct in each.
        words: w, a power of two.

    Returns:
        uint64[n, w].
    """
    cells = 64 * words
    shift = np.uint64(64 - (cells.bit_length() - 1))
    made = np.empty((len(shingles), words), dtype=np.uint64)
    at_once = max(1, _CELLS // cells)
    for start in range(0, len(shingles), at_once):
        offsets = shingles.offsets[start : start + at_once + 1]
        count = len(offsets) - 1
        cell = (shingles.hashes[offsets[0] : offsets[-1]] >> shift).view(np.int64)
        cell += np.repeat(np.arange(0, count * cells, cells), np.diff(offsets))
        odd = np.zeros(count * cells, dtype=np.uint8)
        np.add.at(odd, cell, np.uint8(1))
        odd &= 1
        made[start : start + count] = np.packbits(odd).view(np.uint64).reshape(count, words)
    return made


def most_shared(sizes: Counts, table: Parities, one: Counts, other: Counts) -> Counts:
    """An upper bound on how many hashes pairs of sets share.

    A cell whose parities differ holds a hash of just one of the two, so that |A xor B| is at least
    the number of such cells, and |A and B| = (|A| + |B| - |A xor B|) / 2 (the bitmap filter of
    Sandes, Teodoro, Melo, 2020).

    Args:
        sizes: int64[m], of all sets.
        table: uint64[m, w], their parities.
        one: int64[c], the one of each pair.
        other: int64[c], the other.

    Returns:
        int64[c].
    """
    bound: Counts = np.minimum(sizes[one], sizes[other])
    both = sizes[one] + sizes[other]
    for start in range(0, len(one), _PAIRS):
        part = slice(start, start + _PAIRS)
        differ = np.bitwise_count(table[one[part]] ^ table[other[part]])
        both[part] -= differ.sum(axis=1, dtype=np.int64)
    both >>= 1
    np.minimum(bound, both, out=bound)
    return bound


def runs(numbers: Counts) -> tuple[Counts, Counts]:
    """Where runs of equal numbers, int64[n] and none below 0, begin and end: int64[r] both."""
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    return begins, np.append(begins, len(numbers))[1:]


def shared(hashes: Hashes, starts: Counts, sizes: Counts, one: Counts, other: Counts) -> Counts:
    """How many hashes pairs of sets share.

    Args:
        hashes: uint64[any], the hashes of all sets, sorted and distinct in each.
        starts: int64[m], where each set begins.
        sizes: int64[m], how many hashes it has.
        one: int64[c], the one of each pair; pairs with the same stand together.
        other: int64[c], the other.

    Returns:
        int64[c].
    """
    counts = np.zeros(len(one), dtype=np.int64)
    begins, ends = runs(one)
    table = _EMPTY.copy()
    firsts = one[begins]
    spans = zip(
        begins.tolist(),
        ends.tolist(),
        starts[firsts].tolist(),
        (starts[firsts] + sizes[firsts]).tolist(),
        strict=True,
    )
    for begin, end, low, high in spans:
        own = hashes[low:high]
        if not len(own):
            continue
        largest = sizes[other[begin:end]].max()
        if end - begin < _FEW or len(own) > _LARGE or largest > _AT_ONCE:
            for place in range(begin, end):
                start = starts[other[place]]
                counts[place] = _both(own, hashes[start : start + sizes[other[place]]])
        else:
            its = other[begin:end]
            counts[begin:end] = _shared_with_one(own, hashes, starts[its], sizes[its], table)
    return counts


def _both(larger: Hashes, smaller: Hashes) -> int:
    if len(larger) < len(smaller):
        larger, smaller = smaller, larger
    place = larger.searchsorted(smaller)
    return int(np.count_nonzero(larger.take(place, mode="clip") == smaller))


def _shared_with_one(
    own: Hashes, hashes: Hashes, starts: Counts, sizes: Counts, table: Hashes
) -> Counts:
    """How many hashes of one set are in each of some; `table` is empty before and after."""
    slots = (own >> _SHIFT).view(np.int64)
    table[slots] = own
    hidden = own[table[slots] != own]  # another one took its slot
    counts = np.empty(len(sizes), dtype=np.int64)
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        begun = ends[first] - sizes[first]
        last = max(first + 1, int(np.searchsorted(ends, begun + _AT_ONCE, side="right")))
        own_ends = ends[first:last] - begun
        at = np.repeat(starts[first:last] - own_ends + sizes[first:last], sizes[first:last])
        at += np.arange(len(at))
        its = hashes[at]
        there = table[(its >> _SHIFT).view(np.int64)] == its
        if len(hidden):
            there |= hidden.take(hidden.searchsorted(its), mode="clip") == its
        running = np.zeros(len(there) + 1, dtype=np.int64)
        np.cumsum(there, out=running[1:])
        counts[first:last] = running[own_ends] - running[own_ends - sizes[first:last]]
        first = last
    table[slots] = _EMPTY[slots]
    return counts
