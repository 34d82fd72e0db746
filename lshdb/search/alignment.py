"""The words that two texts have in common: runs in the same order, and runs that moved.

Words are numbers here. Runs of words that both texts have once are aligned first, the longest
ascending series of them, as in patience diff (B. Cohen); between them a longest common subsequence
is computed. The time is bounded for all texts: n log n to find such runs, and one operation on a
large integer per word between them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

import numpy as np

from lshdb.shingling.arrays import IntArray, Mask

_CELLS = 100_000_000
"""Pairs of words aligned at once, a bit each; longer ranges are cut into parts."""
_FEW = 1_000_000
"""Pairs of words that are aligned without a search for runs that both texts have once: a
millisecond."""
_LENGTHS = (16, 4)
"""Words of these runs, the longer ones first: they are surely where they belong."""
_CLEANED = 20
"""For this many changed words of both texts, one equal word that says nothing may be changed, in
each text."""
_SLID = 200
"""Maximum number of words by which a change is moved to the start of a line."""


class Run(NamedTuple):
    """Equal words: the indices of the first in A and in B, and how many there are."""

    a: int
    b: int
    size: int


def aligned(a: IntArray, b: IntArray, known: Sequence[Run] = ()) -> list[Run]:
    """Runs of equal words, ascending in both texts: nearly as many words as can be.

    Args:
        a: int64[n], the words of one text, from 0; equal words have equal numbers.
        b: int64[m], the words of the other.
        known: runs that are aligned in any case, ascending.
    """
    runs = joined(known)
    gaps = [(*gap, 0) for gap in _between(runs, len(a), len(b))]
    while gaps:
        start, end, b_start, b_end, level = gaps.pop()
        head = _equal(a[start:end], b[b_start:b_end])
        runs.append(Run(start, b_start, head))
        start, b_start = start + head, b_start + head
        tail = _equal(a[start:end][::-1], b[b_start:b_end][::-1])
        end, b_end = end - tail, b_end - tail
        runs.append(Run(end, b_end, tail))
        cells, anchors = (end - start) * (b_end - b_start), list[Run]()
        while level < len(_LENGTHS) and cells > _FEW and not anchors:
            anchors = common_once(a[start:end], b[b_start:b_end], _LENGTHS[level])
            level += 1
        if anchors:
            runs += (Run(start + i, b_start + j, size) for i, j, size in anchors)
            for low, high, b_low, b_high in _between(anchors, end - start, b_end - b_start):
                gaps.append((start + low, start + high, b_start + b_low, b_start + b_high, level))
        elif cells:
            runs += _in_parts(a, b, (start, end), (b_start, b_end))
    return joined(sorted(runs))


def _between(runs: Sequence[Run], count: int, b_count: int) -> Iterator[tuple[int, int, int, int]]:
    """The ranges before, between and behind runs that are not empty in both texts."""
    for run, behind in pairwise([Run(0, 0, 0), *runs, Run(count, b_count, 0)]):
        if _end(run) < behind.a and _b_end(run) < behind.b:
            yield _end(run), behind.a, _b_end(run), behind.b


def joined(runs: Iterable[Run]) -> list[Run]:
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


def _equal(a: IntArray, b: IntArray) -> int:
    """The number of equal words at the beginning."""
    size = min(len(a), len(b))
    differing = (a[:size] != b[:size]).nonzero()[0]
    return int(differing[0]) if len(differing) else size


def _grams(a: IntArray, b: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """The runs of `size` words, a power of two, that begin at each word: equal ones by a number."""
    ranks = np.concatenate([a, b])
    step = 1
    while step < size:
        ranks = ranks[:-step] * (int(ranks.max(initial=0)) + 1) + ranks[step:]
        ranks = np.unique(ranks, return_inverse=True)[1].astype(np.int64)
        step *= 2
    return ranks[: max(len(a) - size + 1, 0)], ranks[len(a) :]


def common_once(a: IntArray, b: IntArray, size: int) -> list[Run]:
    """Runs of at least `size` words, each part of which both texts have once, ascending in both."""
    if min(len(a), len(b)) < size:
        return []
    once = []
    for grams in _grams(a, b, size):
        values, indices, counts = np.unique(grams, return_index=True, return_counts=True)
        once.append((values[counts == 1], indices[counts == 1]))
    (a_values, a_indices), (b_values, b_indices) = once
    _, in_a, in_b = np.intersect1d(a_values, b_values, assume_unique=True, return_indices=True)
    order = np.argsort(a_indices[in_a])
    starts, b_starts = a_indices[in_a][order], b_indices[in_b][order]
    kept = _longest_ascending(b_starts)
    anchors: list[Run] = []
    for i, j in zip(starts[kept].tolist(), b_starts[kept].tolist(), strict=True):
        last = anchors[-1] if anchors else Run(0, 0, 0)
        if i - j == last.a - last.b and i <= _end(last):
            anchors[-1:] = [Run(last.a, last.b, i + size - last.a)]
        elif i >= _end(last) and j >= _b_end(last):
            anchors.append(Run(i, j, size))
    return anchors


def _longest_ascending(numbers: IntArray) -> IntArray:
    """The indices of a longest ascending series of different numbers."""
    if (numbers[1:] > numbers[:-1]).all():
        return np.arange(len(numbers))
    ends: list[int] = []  # of series of each length the smallest last number
    last: list[int] = []
    before: list[int] = []
    for index, number in enumerate(numbers.tolist()):
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        last[length : length + 1] = [index]
        before.append(last[length - 1] if length else -1)
    series = [last[-1]]
    while (previous := before[series[-1]]) >= 0:
        series.append(previous)
    return np.array(series[::-1])


def _in_parts(a: IntArray, b: IntArray, *ranges: tuple[int, int]) -> Iterator[Run]:
    """The runs of a longest common subsequence of two ranges; of long ones part by part."""
    sizes = [end - start for start, end in ranges]
    parts = isqrt(sizes[0] * sizes[1] // _CELLS) + 1
    cuts = [
        [start + size * part // parts for part in range(parts + 1)]
        for (start, _), size in zip(ranges, sizes, strict=True)
    ]
    for (low, high), (b_low, b_high) in zip(*map(pairwise, cuts), strict=True):
        pairs = longest_common(a[low:high].tolist(), b[b_low:b_high].tolist())
        yield from (Run(low + i, b_low + j, 1) for i, j in pairs)


def longest_common(a: Sequence[object], b: Sequence[object]) -> list[tuple[int, int]]:
    """Indices of a longest common subsequence, ascending in both.

    The table of its lengths has a row for each of A and a column for each of B. The lengths of a
    row grow by 0 or 1 from column to column, so a row is one integer with a bit for each column:
    1 where the length stays. See H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004.
    """
    columns: dict[object, int] = {}
    for j, item in enumerate(b):
        columns[item] = columns.get(item, 0) | 1 << j
    every = (1 << len(b)) - 1
    rows = [row := every]
    for item in a:
        if (equal := row & columns.get(item, 0)) != 0:
            row = (row + equal | row - equal) & every
        rows.append(row)
    pairs = []
    i, j = len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif rows[i] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return pairs[::-1]


def cleaned(
    runs: Sequence[Run], a_lengths: IntArray, b_lengths: IntArray, words: tuple[Mask, Mask]
) -> list[Run]:
    """The runs without those that say nothing: a short word or sign between two longer changes.

    As in the semantic cleanup of diff-match-patch (N. Fraser) a run goes if it is not longer than
    the changes before and after it, in both texts; but of runs with words the shortest go first,
    and so few that changed words become more by a tenth at most.

    Args:
        runs: of an alignment, ascending.
        a_lengths: int64[n], the characters of the words of A.
        b_lengths: int64[m], the same of B.
        words: bool[n] and bool[m], which words of each text are no signs.
    """
    count, b_count = len(a_lengths), len(b_lengths)
    a_to, b_to = (np.concatenate([[0], np.cumsum(each)]) for each in (a_lengths, b_lengths))
    inner: list[tuple[int, int]] = []
    around = pairwise([Run(0, 0, 0), *runs, Run(count, b_count, 0)])
    changes = [
        min(a_to[behind.a] - a_to[_end(run)], b_to[behind.b] - b_to[_b_end(run)])
        for run, behind in around
    ]
    for index, run in enumerate(runs):
        length = int(a_to[_end(run)] - a_to[run.a])
        if length <= min(changes[index], changes[index + 1]):
            inner.append((length, index))
    words_to = np.concatenate([[0], np.cumsum(words[0])])
    sizes = [int(words_to[_end(run)] - words_to[run.a]) for run in runs]
    budget = (sum(int(each.sum()) for each in words) - 2 * sum(sizes)) // _CLEANED
    gone = set[int]()
    for _, index in sorted(inner):
        if sizes[index] <= budget or not sizes[index]:
            budget -= sizes[index]
            gone.add(index)
    return [run for index, run in enumerate(runs) if index not in gone]


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
    return joined(moved)


def moved_runs(runs: Sequence[Run], a: IntArray, b: IntArray, shortest: int) -> list[Run]:
    """Runs of equal words that are not aligned: at least `shortest` words, each in one run.

    Args:
        runs: of an alignment, ascending.
        a: int64[n], the words of A; b: int64[m], those of B.
        shortest: a power of two.
    """
    alone = []
    for words, starts in ((a, [run.a for run in runs]), (b, [run.b for run in runs])):
        alone.append(words.copy())
        for start, run in zip(starts, runs, strict=True):
            alone[-1][start : start + run.size] = -1
    left, right = alone
    if min(len(left), len(right)) < shortest or left.max() < 0 or right.max() < 0:
        return []
    grams, b_grams = _grams(a, b, shortest)
    free, b_free = (_all_free(each, shortest) for each in alone)
    _, first = np.unique(b_grams[b_free], return_index=True)
    places = dict(zip(b_grams[b_free][first].tolist(), b_free[first].tolist(), strict=True))
    found: list[Run] = []
    end = 0
    for i in free[np.isin(grams[free], b_grams[b_free])].tolist():
        j = places[int(grams[i])]
        if i < end or (right[j : j + shortest] < 0).any():
            continue
        size = shortest
        while i + size < len(a) and j + size < len(b) and left[i + size] == right[j + size] >= 0:
            size += 1
        right[j : j + size] = -1
        found.append(Run(i, j, size))
        end = i + size
    return found


def _all_free(words: IntArray, size: int) -> IntArray:
    """Where runs of `size` words begin of which none is negative."""
    taken = np.concatenate([[0], np.cumsum(words < 0)])
    free: IntArray = (taken[size:] == taken[:-size]).nonzero()[0]
    return free
