"""Runs of consecutive shingles that two texts share."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lshdb.shingling.hashing import Hashes, Offsets

_PLACES: Final = 64
"""Places in the other text that are tried for a run: the nearest to the expected one."""
_WINDOW: Final = 1 << 14
"""Shingles compared at once at each place."""


class Run(NamedTuple):
    """A run of shingles: a[a_first:a_first + length] equals b[b_first:b_first + length]."""

    a_first: int
    b_first: int
    length: int


def shared_runs(a: Hashes, b: Hashes, most: int) -> list[Run]:
    """The runs of shingles of one text that another has, in the order of the first text.

    From left to right, each run begins at the first shingle that the other text has and is the
    longest from there; the next begins after it. Together they cover every shingle that both
    have. If the other text repeats a shingle, the 64 places nearest to the end of the last run are
    tried, so that even texts that repeat one shingle take linear time.

    Args:
        a: uint64[n], the hashes of all shingles of the one text, in its order.
        b: uint64[m], those of the other.
        most: maximum number of runs; the search ends there.
    """
    order = np.argsort(b, kind="stable")
    ordered = b[order]
    first = np.empty(len(a), dtype=np.int64)
    in_order = np.argsort(a)
    # Searching hashes in sorted order is several times as fast.
    first[in_order] = np.searchsorted(ordered, a[in_order])
    both = np.flatnonzero(ordered.take(first, mode="clip") == a) if len(b) else first[:0]
    runs: list[Run] = []
    next_one = 0
    ahead = 0
    while next_one < len(both) and len(runs) < most:
        i = int(both[next_one])
        places = order[first[i] : np.searchsorted(ordered, a[i], "right")]
        if len(places) > 1:
            places = _nearest(places, i + ahead)
        j, length = _longest(a, b, i, places)
        runs.append(Run(i, j, length))
        ahead = j - i
        next_one += length  # every shingle of a run is in both
    return runs


def _nearest(places: Offsets, expected: int) -> Offsets:
    """Some of the places, which are in order: those nearest to the expected one, nearest first."""
    if len(places) > _PLACES:
        middle = int(np.searchsorted(places, expected))
        first = min(max(middle - _PLACES // 2, 0), len(places) - _PLACES)
        places = places[first : first + _PLACES]
    return places[np.argsort(np.abs(places - expected), kind="stable")]


def _longest(a: Hashes, b: Hashes, i: int, places: Offsets) -> tuple[int, int]:
    """The place in b of the longest run of a from i on, and its length."""
    done, width = 1, 8
    while True:
        width = min(width, len(a) - i - done)
        at = places[:, np.newaxis] + np.arange(done, done + width)
        equal = b.take(at, mode="clip") == a[i + done : i + done + width]
        equal &= at < len(b)
        # The first difference ends the run; a column of False follows the last shingle.
        lengths = np.append(equal, np.zeros((len(places), 1), np.bool_), axis=1).argmin(axis=1)
        best = int(lengths.argmax())
        if lengths[best] < width or width == 0:
            return int(places[best]), done + int(lengths[best])
        places = places[lengths == width]
        done += width
        width = min(2 * width, _WINDOW)
