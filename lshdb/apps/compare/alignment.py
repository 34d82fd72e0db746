"""The words that two texts have in common: runs in the same order, and runs that moved.

Words are numbers here. rapidfuzz computes a longest common subsequence, so that as few words as can
be are marked. It takes a bit for each pair of words: 50 MB for windows of 20,000 words, to which
longer texts are cut where both have equal pieces.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lshdb.text.arrays import IntArray

WINDOW = 20_000
"""Maximum number of words of each text that are aligned at once."""
_MIXING = 0x9E3779B97F4A7C15
"""Longer texts are cut before one in 16 pairs of words, by their hashes: both at the same words."""
_SHORTEST_PIECE = 8
"""Words; shorter pieces are equal by chance."""
_SLID = 200
"""Maximum number of words by which a change is moved to the start of a line."""


class Run(NamedTuple):
    """Equal words: the indices of the first in A and in B, and how many there are."""

    a: int
    b: int
    size: int


def aligned(a: IntArray, b: IntArray) -> list[Run]:
    """Runs of equal words, ascending in both texts: as many words as can be, within windows.

    Args:
        a: int64[n], the words of one text, from 0; equal words have equal numbers.
        b: int64[m], the words of the other.
    """
    if max(len(a), len(b)) <= WINDOW:
        from rapidfuzz.distance import LCSseq  # 10 ms, which only comparing texts needs

        blocks = LCSseq.opcodes(a.tolist(), b.tolist()).as_matching_blocks()
        return [Run(*block) for block in blocks if block.size]
    pieces, b_pieces = _pieces(a), _pieces(b)
    edges = [(0, 0)]
    if 2 * len(pieces) < len(a) and 2 * len(b_pieces) < len(b):
        numbers = dict[bytes, int]()
        for i, j, size in aligned(
            _numbers(a, pieces, numbers, -1), _numbers(b, b_pieces, numbers, -2)
        ):
            edges += zip(pieces[i : i + size + 1], b_pieces[j : j + size + 1], strict=True)
    runs: list[Run] = []
    for (low, b_low), (high, b_high) in pairwise([*edges, (len(a), len(b))]):
        parts = max(high - low, b_high - b_low) // WINDOW + 1
        for part in range(parts):
            first, behind = (low + (high - low) * (part + end) // parts for end in (0, 1))
            b_first, b_behind = (b_low + (b_high - b_low) * (part + end) // parts for end in (0, 1))
            runs += (
                Run(first + i, b_first + j, size)
                for i, j, size in aligned(a[first:behind], b[b_first:b_behind])
            )
    return _joined(runs)


def _pieces(words: IntArray) -> list[int]:
    """Where the pieces of a long text begin, and where the last ends."""
    values = words.astype(np.uint64)
    mixed = (values[:-1] * np.uint64(31) + values[1:] + np.uint64(1)) * np.uint64(_MIXING)
    return [*(mixed >> np.uint64(60) == 0).nonzero()[0].tolist(), len(words)]


def _numbers(
    words: IntArray, pieces: Sequence[int], numbers: dict[bytes, int], short: int
) -> IntArray:
    """Numbers of pieces, the same for equal ones; `short` for short ones."""
    return np.array(
        [
            numbers.setdefault(words[start:end].tobytes(), len(numbers))
            if end - start >= _SHORTEST_PIECE
            else short
            for start, end in pairwise(pieces)
        ],
        dtype=np.int64,
    )


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Ascending runs without empty ones, those that touch as one."""
    whole: list[Run] = []
    for run in runs:
        if run.size and whole and (run.a, run.b) == (_end(whole[-1]), _b_end(whole[-1])):
            whole[-1] = whole[-1]._replace(size=whole[-1].size + run.size)
        elif run.size:
            whole.append(run)
    return whole


def _end(run: Run) -> int:
    return run.a + run.size


def _b_end(run: Run) -> int:
    return run.b + run.size


def settled(
    runs: Sequence[Run], a: IntArray, b: IntArray, a_begins: IntArray, b_begins: IntArray
) -> list[Run]:
    """The runs with words that only one text has moved to where a line or a sentence begins.

    Of `x y x y` beside `x y` the first two words may be new, or the last two, or those between.

    Args:
        runs: of an alignment, ascending.
        a: int64[n], the words of A; b: int64[m], those of B.
        a_begins: int64[n + 1], greater where more begins; b_begins: int64[m + 1].
    """
    moved = [*runs, Run(len(a), len(b), 0)]
    for index, (run, behind) in enumerate(pairwise(moved)):
        run = moved[index]
        end, b_end = _end(run), _b_end(run)
        if (end == behind.a) == (b_end == behind.b):
            continue
        only, begins, start, size = (
            (b, b_begins, b_end, behind.b - b_end)
            if end == behind.a
            else (a, a_begins, end, behind.a - end)
        )
        low = high = 0
        left, right = min(run.size, _SLID), min(behind.size, _SLID)
        while -low < left and only[start + low - 1] == only[start + low - 1 + size]:
            low -= 1
        while high < right and only[start + high] == only[start + high + size]:
            high += 1
        if low < high:
            slid = max(range(low, high + 1), key=lambda by: (begins[start + by], -abs(by)))
            moved[index] = run._replace(size=run.size + slid)
            moved[index + 1] = Run(behind.a + slid, behind.b + slid, behind.size - slid)
    return _joined(moved)


def moved_runs(runs: Sequence[Run], a: IntArray, b: IntArray, shortest: int) -> Iterator[Run]:
    """Runs of equal words that are not aligned: at least `shortest` words, each in one run.

    Args:
        runs: of an alignment, ascending.
        a: int64[n], the words of A; b: int64[m], those of B.
        shortest: number of words.
    """
    gaps, b_gaps = list[range](), list[range]()
    for run, behind in pairwise([Run(0, 0, 0), *runs, Run(len(a), len(b), 0)]):
        gaps.append(range(_end(run), behind.a))
        b_gaps.append(range(_b_end(run), behind.b))
    places: dict[bytes, tuple[int, int]] = {}
    for gap in b_gaps:
        for j in gap[: max(len(gap) - shortest + 1, 0)]:
            places.setdefault(b[j : j + shortest].tobytes(), (j, gap.stop))
    taken = np.zeros(len(b), dtype=np.bool_)
    for gap in gaps:
        end = gap.start
        for i in gap[: max(len(gap) - shortest + 1, 0)]:
            j, b_stop = places.get(a[i : i + shortest].tobytes(), (0, 0)) if i >= end else (0, 0)
            if not b_stop or taken[j : j + shortest].any():
                continue
            size, most = shortest, min(gap.stop - i, b_stop - j)
            while size < most and a[i + size] == b[j + size] and not taken[j + size]:
                size += 1
            taken[j : j + size] = True
            end = i + size
            yield Run(i, j, size)
