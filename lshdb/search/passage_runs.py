"""The runs of windows that pairs of texts share, and the passages that they are.

Equal hashes of windows, under the secret seed of the process, lead to runs; one is shown if the
folded units of both texts are equal. So no hash decides which runs are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.errors import warn_of_limit
from lshdb.model import CopiedPassage
from lshdb.search import cut_notes, passage_windows
from lshdb.shingling import hashing
from lshdb.shingling.arrays import IntArray, Mask, chunks_of, expand_ranges, offsets_of, runs
from lshdb.shingling.positions import page_at
from lshdb.shingling.shared_runs import longest_runs

_AT_ONCE = 1 << 20
"""Windows of other texts that are compared at once."""
_MAX_MATCHES = 1 << 21
"""Matches of windows that are compared, in some 100 bytes each."""
_MANY_TIMES = 16
"""All occurrences of a window are compared with all in another text if that makes no more matches
than this many times their units; else both texts are sorted (see longest_runs)."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of texts to compare.

    Attributes:
        texts: the texts.
        a: int64[p], the number of the one text of each pair; ascending.
        b: int64[p], that of the other.
    """

    texts: passage_windows.Texts
    a: IntArray
    b: IntArray


@dataclass(frozen=True, slots=True)
class Criteria:
    """Which passages are wanted.

    Attributes:
        run: units of a window.
        min_units: units of the shortest run.
        gap: maximum units between runs that make one passage, in either text.
        max_runs: runs of a pair; there is a warning if it has more.
    """

    run: int
    min_units: int
    gap: int
    max_runs: int


class Runs(NamedTuple):
    """Runs of windows, in the order of pairs, then of the first text.

    Attributes:
        pair: int64[r], the number of the pair of each.
        a: int64[r], the index of its first window in the one text.
        b: int64[r], that in the other.
        length: int64[r], how many windows it has.
    """

    pair: IntArray
    a: IntArray
    b: IntArray
    length: IntArray

    def some(self, chosen: Mask | IntArray) -> Runs:
        """Some of the runs."""
        return Runs(*(column[chosen] for column in self))


Choose = Callable[[IntArray, IntArray, IntArray, IntArray], IntArray]
"""Gives the indices int64[any] of the runs that count, by pair, then by a: see preferred."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What two texts share.

    Attributes:
        pair: the number of the pair.
        words: how many units of the first text are in passages.
        coverage, b_coverage: the share of the units of each text that are, without those of base
            texts.
        longest: the units of the longest run.
        passages: in the order of the first text.
    """

    pair: int
    words: int
    coverage: float
    b_coverage: float
    longest: int
    passages: tuple[CopiedPassage, ...]


def shared_passages(pairs: Pairs, criteria: Criteria) -> Iterator[Shared]:
    """The pairs of texts that share runs which count, in their order."""
    shared_windows = shared_runs(pairs, criteria)
    begins, _ = runs(shared_windows.pair)
    if not len(begins):
        return
    texts = pairs.texts
    units = shared_windows.length + (criteria.run - 1)
    a, b = (
        texts.windows["unit"][first].astype(np.int64)
        for first in (shared_windows.a, shared_windows.b)
    )
    number = shared_windows.pair[begins]
    words, b_words = (_covered(first, units, begins) for first in (a, b))
    shares = words / texts.counted[pairs.a[number]], b_words / texts.counted[pairs.b[number]]
    longest = np.maximum.reduceat(units, begins)
    totals = zip(*(column.tolist() for column in (number, words, *shares, longest)), strict=True)
    pair, a, a_last, b, b_last, shared = np.array(_merged(shared_windows, a, b, criteria)).T
    a_span, a_size = _spans(texts.windows, a, a_last, criteria.run)
    b_span, b_size = _spans(texts.windows, b, b_last, criteria.run)
    scores = zip(shared.tolist(), (shared / np.maximum(a_size, b_size)).tolist(), strict=True)
    values = zip(np.concatenate([a_span, b_span], axis=1).tolist(), scores, strict=True)
    counts = np.diff(np.searchsorted(pair, np.append(number, len(pairs.a)))).tolist()
    for (number, covered, share, b_share, longest_run), count in zip(totals, counts, strict=True):
        text, other = texts.contents[pairs.a[number]], texts.contents[pairs.b[number]]
        passages = tuple(
            passage_at(text, other, span, *score) for span, score in islice(values, count)
        )
        yield Shared(number, covered, share, b_share, longest_run, passages)


def passage_at(
    text: str,
    other: str,
    spans: Sequence[int],
    words: int,
    similarity: float,
    kind: str = "copied",
    score: float | None = None,
) -> CopiedPassage:
    """The passage of two texts at some places: first character, last + 1 and lines in both."""
    pages = page_at(text, spans[0]), page_at(other, spans[4])
    passage = text[spans[0] : spans[1]]
    values: list[Any] = [*spans, words, similarity, passage, kind, score, None, None, *pages]
    return CopiedPassage(*values)


def _spans(
    windows: passage_windows.Windows, first: IntArray, last: IntArray, run: int
) -> tuple[npt.NDArray[np.int32], IntArray]:
    """Where passages are from their first and last windows, int32[n, 4]; their units, int64[n]."""
    spans = windows["span"][last]
    spans[:, ::2] = windows["span"][first, ::2]
    return spans, windows["unit"][last].astype(np.int64) - windows["unit"][first] + run


def shared_runs(pairs: Pairs, criteria: Criteria) -> Runs:
    """The runs that pairs of texts share, if one has a window that leads to documents.

    Every shared window is in a run, each as long as possible (see preferred). Runs may overlap.
    """
    candidates = every_run(pairs, preferred)
    leading = offsets_of(pairs.texts.windows["leads"])
    leads = leading[candidates.a + candidates.length] > leading[candidates.a]
    long = candidates.length > criteria.min_units - criteria.run
    candidates = candidates.some(np.isin(candidates.pair, candidates.pair[leads]) & long)
    rank = np.arange(len(candidates.pair)) - np.searchsorted(candidates.pair, candidates.pair)
    for _ in np.flatnonzero(rank == criteria.max_runs).tolist():
        warn_of_limit(cut_notes.pair_cut(criteria.max_runs))
    candidates = candidates.some(rank < criteria.max_runs)
    return candidates.some(_equal(pairs.texts, candidates))


def every_run(pairs: Pairs, choose: Choose | None = None) -> Runs:
    """The runs that pairs of texts share, in the order of pairs.

    Args:
        pairs: the pairs.
        choose: gives the indices of the runs that count, by pair, then by a; None for all.
    """
    batches, repeating = _matched(pairs, choose)
    batches += [_searched(pairs, number, choose) for number in repeating]
    ordered = Runs(*map(np.concatenate, zip(*batches, strict=True)))
    return ordered.some(np.argsort(ordered.pair, kind="stable"))


def _equal(texts: passage_windows.Texts, candidates: Runs) -> Mask:
    """Which runs are of the same units in both texts, bool[r]."""
    bounds = []
    for first in (candidates.a, candidates.b):
        bounds += [
            texts.windows["begin"][first],
            texts.windows["end"][first + candidates.length - 1],
        ]
    folded = texts.folded
    values = zip(*(bound.tolist() for bound in bounds), strict=True)
    same = (folded[i:j] == folded[k:m] for i, j, k, m in values)
    return np.fromiter(same, dtype=np.bool_, count=len(candidates.pair))


def _matched(pairs: Pairs, choose: Choose | None) -> tuple[list[Runs], list[int]]:
    """The runs of pairs, and the pairs that repeat windows too often to try each match."""
    texts = pairs.texts
    hashes, unit = texts.windows["hash"].copy(), texts.windows["unit"].astype(np.int64)
    # So the windows of one text differ from those of others, and nobody can make equal ones.
    apart = np.arange(len(texts.units)).astype(np.uint64) * hashing.constants(
        hashing.secret_seed(), "texts", 1
    )
    keys = hashes + np.repeat(apart, np.diff(texts.offsets))
    by_key = np.argsort(keys, kind="stable")
    keys = keys[by_key]
    sizes = np.diff(texts.offsets)[pairs.b]
    max_matches = np.minimum(
        _MANY_TIMES * (texts.units[pairs.a] + texts.units[pairs.b]), _MAX_MATCHES
    )
    batches = [Runs(*np.empty((4, 0), dtype=np.int64))]
    repeating: list[int] = []
    for part in chunks_of(sizes, _AT_ONCE):
        b = expand_ranges(texts.offsets[pairs.b[part]], sizes[part])
        wanted = hashes[b] + np.repeat(apart[pairs.a[part]], sizes[part])
        first = np.searchsorted(keys, wanted)
        times = np.searchsorted(keys, wanted, "right") - first
        which = np.flatnonzero(times)
        b, first, times = b[which], first[which], times[which]
        bounds = np.searchsorted(which, offsets_of(sizes[part]))
        matches = np.diff(offsets_of(times)[bounds])
        often = matches > max_matches[part]
        repeating += (np.flatnonzero(often) + part.start).tolist()
        times[np.repeat(often, np.diff(bounds))] = 0
        pair = np.repeat(np.arange(part.start, part.stop), np.diff(bounds))
        for block in chunks_of(matches * ~often, _MAX_MATCHES):
            positions = slice(bounds[block.start], bounds[block.stop])
            # Each position of a window of the one text with each of the other.
            a = by_key[expand_ranges(first[positions], times[positions])]
            b_windows = np.repeat(b[positions], times[positions])
            diagonal = (
                np.repeat(pair[positions] << 32, times[positions]) + unit[b_windows] - unit[a]
            )
            order = np.argsort(diagonal, kind="stable")
            a, b_windows, diagonal = a[order], b_windows[order], diagonal[order]
            new = np.ones(len(a), dtype=np.bool_)
            new[1:] = (np.diff(diagonal) != 0) | (np.diff(unit[b_windows]) != 1)
            begins = np.flatnonzero(new)
            a, b_windows = a[begins], b_windows[begins]
            length = np.diff(begins, append=len(order))
            number = (diagonal[begins] + (1 << 31)) >> 32
            batch = Runs(number, a, b_windows, length)
            if choose is not None:
                batch = batch.some(choose(number, unit[a], unit[b_windows], length))
            batches.append(batch)
    return batches, repeating


def _searched(pairs: Pairs, number: int, choose: Choose | None) -> Runs:
    """The runs of a pair, in the time of sorting.

    Its runs are the same, but where several positions are as good, any of them.
    """
    texts, units, begins = [], [], []
    for filler, text in enumerate((pairs.a[number], pairs.b[number])):
        begin, end = pairs.texts.offsets[text : text + 2].tolist()
        windows = pairs.texts.windows[begin:end]
        # What does not count is equal to nothing of the other text.
        hashes = np.full(int(windows["unit"].max(initial=-1)) + 1, filler, dtype=np.uint64)
        hashes[windows["unit"]] = windows["hash"]
        texts.append(hashes)
        units.append(windows["unit"].copy())
        begins.append(begin)
    a, b, length = longest_runs(*texts)
    chosen = np.arange(len(a))
    if choose is not None:
        chosen = choose(np.zeros(len(a), dtype=np.int64), a, b, length)
    a = begins[0] + units[0].searchsorted(a)
    b = begins[1] + units[1].searchsorted(b)
    return Runs(np.full(len(a), number), a, b, length).some(chosen)


def preferred(pair: IntArray, a: IntArray, b: IntArray, length: IntArray) -> IntArray:
    """The runs that some window of the first text prefers, int64[any], by pair, then by a.

    It prefers the longest run that has it; of equally long ones that with the nearest positions in
    both texts, then the first.

    Args:
        pair: int64[r], the number of the pair of each run.
        a: int64[r], the position in the first text where it begins.
        b: int64[r], that in the second one.
        length: int64[r], its windows.
    """
    # All windows between two edges where runs begin or end are in the same runs.
    begins = pair * int((a + length).max(initial=0)) + a
    edges = hashing.distinct(np.append(begins, begins + length))
    first = np.searchsorted(edges, begins)
    count = np.searchsorted(edges, begins + length) - first
    best = np.full(len(edges), -1)
    order = np.lexsort((np.abs(b - a), -length))[::-1]
    for part in chunks_of(count[order], _AT_ONCE):
        block = order[part]
        best[expand_ranges(first[block], count[block])] = np.repeat(
            block, count[block]
        )  # the last stays
    kept = np.unique(best[best >= 0])
    return kept[np.lexsort((a[kept], pair[kept]))]


def _merged(matches: Runs, a: IntArray, b: IntArray, criteria: Criteria) -> Iterable[Sequence[int]]:
    """Passages: runs, of which those that follow each other in both texts within a gap are joined.

    Args:
        matches: runs of windows.
        a: int64[r], the first unit of each in the first text.
        b: int64[r], that in the second one.
        criteria: the gap.

    Returns:
        For each passage the number of the pair, the indices of its first and its last window in
        both texts, and how many of its units in the first text are shared.
    """
    units = matches.length + (criteria.run - 1)
    last = matches.length - 1
    rows = np.stack(
        [matches.pair, matches.a, matches.a + last, matches.b, matches.b + last, units], axis=1
    )
    if not criteria.gap:
        return rows
    passages: list[list[int]] = []
    bounds: list[int] = []
    for row, a_first, b_first, size in zip(
        rows.tolist(), a.tolist(), b.tolist(), units.tolist(), strict=True
    ):
        if passages and passages[-1][0] == row[0]:
            passage, (begin, end, b_begin, b_end) = passages[-1], bounds
            a_ahead, b_ahead = a_first - end, b_first - b_end
            near = -size < a_ahead <= criteria.gap and -size < b_ahead <= criteria.gap
            if near and a_first >= begin and b_first >= b_begin:
                passage[5] += size + min(a_ahead, 0)
                passage[2], passage[4] = max(passage[2], row[2]), max(passage[4], row[4])
                bounds = [begin, max(end, a_first + size), b_begin, max(b_end, b_first + size)]
                continue
        passages.append(row)
        bounds = [a_first, a_first + size, b_first, b_first + size]
    return passages


def _covered(first: IntArray, sizes: IntArray, begins: IntArray) -> IntArray:
    """How many units the runs of each pair cover, int64[pairs].

    Args:
        first: int64[r], the first unit of each run.
        sizes: int64[r], its units.
        begins: int64[pairs], where the runs of each pair begin.
    """
    # The units of each pair follow those of the earlier pairs.
    pair = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(first)))
    first = first + pair * int((first + sizes).max())
    order = np.argsort(first, kind="stable")
    first, end = first[order], (first + sizes)[order]
    done = np.append(0, np.maximum.accumulate(end)[:-1])
    return np.add.reduceat(np.maximum(end - np.maximum(first, done), 0), begins)
