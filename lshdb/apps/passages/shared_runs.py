"""The runs of windows that texts share: one search, which finds the same from both sides.

Windows that stand in one text only are left out at once. The others are cut into segments: windows
that follow each other wherever one of them is, so that each run that two texts share begins and
ends with a segment. A text of 1,000 words that was copied once is a segment; one that repeats a
line is a segment for each time.

What a text shares with another one is its segments that are in the other one, too: two texts need
one look into a table for each segment, however often both repeat it. For each segment the longest
run that begins with it follows from the order of all segments of a pair by what comes after them
(Manber, Myers: Suffix arrays, 1993), in the time of sorting. So nothing is left out where texts
repeat themselves, and no place of one text is compared with each place of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lshdb.apps.passages.passage_windows import Texts
from lshdb.text.arrays import (
    NO_NUMBERS,
    IntArray,
    Mask,
    chunks_of,
    expand_ranges,
    is_in,
    is_new,
    offsets_of,
    runs,
    sizes_of,
)

_AT_ONCE = 1 << 20
"""Segments of pairs that are compared at once, some 200 bytes each."""
_CELLS = 1 << 24
"""Bytes of a table that says which texts have which segments, unless it is for one text.

Without the table `dedup --rule copied:13` of 400 rows of two words at random takes twice the CPU
time (`scripts/bench alike`)."""
_LOOK = 16
"""Bytes of such a table that take as much memory as a look into it."""


class Hits(NamedTuple):
    """Segments of the one text of each of p pairs that are in the other, in their order.

    Attributes:
        pair: int64[h], the index of the pair.
        segment: int64[h], the index of the segment.
    """

    pair: IntArray
    segment: IntArray

    def chosen(self, mask: Mask) -> Hits:
        """Some of the hits."""
        return Hits(self.pair[mask], self.segment[mask])


class Runs(NamedTuple):
    """Runs of windows that pairs of texts share, in the order of pairs, then of the first text.

    Attributes:
        pair: int64[r], the index of the pair of each.
        a: int64[r], the index of its first window in the one text, among those of Segments.texts.
        b: int64[r], that in the other.
        length: int64[r], how many windows it has.
    """

    pair: IntArray
    a: IntArray
    b: IntArray
    length: IntArray

    def chosen(self, indices: IntArray | Mask) -> Runs:
        """Some of the runs."""
        return Runs(*(column[indices] for column in self))


class SharedPairs(NamedTuple):
    """What p pairs of texts share.

    Attributes:
        runs: all runs that are as long as they can be: each unit of either text that is in a run is
            in one of these, the longest of the runs in which a segment begins.
        a_units, b_units: int64[p], how many units of each text are in a run.
    """

    runs: Runs
    a_units: IntArray
    b_units: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """The windows that texts share, in segments.

    Attributes:
        texts: n texts and those of their windows that others have.
        run: units of a window.
        numbers: int64[s], the same for segments of the same windows.
        first: int64[s], the index of the first window of each.
        length: int64[s], how many windows it has.
        begin, end: int64[s], its first unit in its text, and its last + 1.
        follows: whether the window before its first one is in the segment before.
        common: bool[s], whether its windows are common.
        leads: bool[s], whether its windows lead to documents.
        offsets: int64[n+1], where the segments of each text begin.
        arrangements: int64[n], the same for texts of the same segments, with as much between.
    """

    texts: Texts
    run: int
    numbers: IntArray
    first: IntArray
    length: IntArray
    begin: IntArray
    end: IntArray
    follows: Mask
    common: Mask
    leads: Mask
    offsets: IntArray
    arrangements: IntArray

    @classmethod
    def of(cls, texts: Texts, run: int, with_themselves: IntArray) -> Segments:
        """The segments of texts.

        Args:
            texts: the texts.
            run: units of a window.
            with_themselves: int64[any], the texts that are compared with themselves, too.
        """
        count = len(texts.units)
        text = np.repeat(np.arange(count), sizes_of(texts.offsets))
        windows, numbers, by_number, groups = _shared_windows(texts, text, with_themselves)
        # The others, most of them, are forgotten.
        text = text[windows]
        offsets = text.searchsorted(np.arange(count + 1))
        texts = replace(texts, windows=texts.windows.take(windows), offsets=offsets)
        first = _segment_begins(texts, text, numbers, by_number, groups)
        length, numbers = np.diff(first, append=len(windows)), numbers[first]
        is_used = np.zeros(len(groups), dtype=np.bool_)
        is_used[numbers] = True
        numbers = (np.cumsum(is_used) - 1)[numbers]
        text = text[first]
        begin = texts.windows["unit"].take(first).astype(np.int64)
        follows = np.zeros(len(first), dtype=np.bool_)
        follows[1:] = (np.diff(text) == 0) & (begin[1:] == begin[:-1] + length[:-1])
        leads = texts.windows["leads"].take(first)
        offsets = text.searchsorted(np.arange(count + 1))
        return cls(
            texts,
            run,
            numbers,
            first,
            length,
            begin,
            begin + length + (run - 1),
            follows,
            texts.windows["common"].take(first),
            leads,
            offsets,
            _arrangements(numbers * 2 + leads, begin, offsets),
        )

    def between(self, a: IntArray, b: IntArray, min_units: int) -> SharedPairs:
        """What pairs of texts, int64[p] both, share in runs of at least `min_units` units."""
        first, pair_of, sizes = self._distinct(a, b)
        parts = [
            self._between(a[first[part]], b[first[part]], min_units, part.start)
            for part in chunks_of(sizes, _AT_ONCE)
        ]
        rows = np.concatenate([np.empty((4, 0), dtype=np.int64), *(part[0] for part in parts)], 1)
        values = np.concatenate([np.empty((2, 0), dtype=np.int64), *(part[1] for part in parts)], 1)
        # The runs of the first texts of an arrangement are those of all of them.
        bounds = rows[0].searchsorted(np.arange(len(first) + 1))
        counts = sizes_of(bounds)[pair_of]
        number, a_first, b_first, count = rows[:, expand_ranges(bounds[pair_of], counts)]
        pair = np.repeat(np.arange(len(a)), counts)
        number = first[number]
        a_first += self.offsets[a[pair]] - self.offsets[a[number]]
        b_first += self.offsets[b[pair]] - self.offsets[b[number]]
        length = self.end[a_first + count - 1] - self.begin[a_first] - (self.run - 1)
        runs_of_pairs = Runs(pair, self.first[a_first], self.first[b_first], length)
        return SharedPairs(runs_of_pairs, *values[:, pair_of])

    def covered(self, texts: IntArray, others: IntArray) -> IntArray:
        """How many units of texts are in windows of others, common or not: int64[p]."""
        first, pair_of, sizes = self._distinct(texts, others)
        parts = [NO_NUMBERS]
        for part in chunks_of(sizes, _AT_ONCE):
            hits = self.hits(texts[first[part]], others[first[part]])
            spans = self.begin[hits.segment], self.end[hits.segment]
            parts.append(_units_of(hits.pair, *spans, part.stop - part.start))
        return np.concatenate(parts)[pair_of]

    def hits(self, texts: IntArray, others: IntArray) -> Hits:
        """The segments of texts that others have, of pairs int64[p]."""
        sizes, width = sizes_of(self.offsets), int(self.numbers.max(initial=-1)) + 1
        order = np.argsort(others, kind="stable")
        others = others[order]
        targets, rows = np.unique(others, return_inverse=True)
        parts = [(NO_NUMBERS, NO_NUMBERS)]
        costs = is_new(others) * width + sizes[texts[order]] * _LOOK
        for part in chunks_of(costs, _CELLS) if width else ():
            first, last = int(rows[part.start]), int(rows[part.stop - 1]) + 1
            size = sizes[targets[first:last]]
            table = np.zeros((last - first) * width, dtype=np.bool_)
            present = expand_ranges(self.offsets[targets[first:last]], size)
            table[np.repeat(np.arange(last - first) * width, size) + self.numbers[present]] = True
            pairs = order[part]
            size = sizes[texts[pairs]]
            segment = expand_ranges(self.offsets[texts[pairs]], size)
            cells = np.repeat((rows[part] - first) * width, size)
            cells += self.numbers.take(segment)
            (hit,) = table.take(cells).nonzero()
            parts.append((np.repeat(pairs, size)[hit], segment[hit]))
        pair, segment = map(np.concatenate, zip(*parts, strict=True))
        order = np.argsort(pair, kind="stable")
        return Hits(pair[order], segment[order])

    def _distinct(self, a: IntArray, b: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The first pairs of each two arrangements, int64[any].

        Returns:
            Their indices, which of them each pair is like, int64[p], and how many segments the
            texts of each of the first ones have.
        """
        both = self.arrangements[a] * len(self.arrangements) + self.arrangements[b]
        _, first, pair_of = np.unique(both, return_index=True, return_inverse=True)
        sizes = sizes_of(self.offsets)
        return first, pair_of, sizes[a[first]] + sizes[b[first]]

    def _between(
        self, a: IntArray, b: IntArray, min_units: int, before: int
    ) -> tuple[IntArray, IntArray]:
        """The runs of p pairs, by their segments.

        Returns:
            int64[4, r]: for each run the pair, counted from `before`, the first segments in both
            texts, and how many it has; int64[2, p]: the units of both texts in runs. Pairs without
            a shared window that leads from both texts have none.
        """
        sides = self._without_common(self.hits(a, b), self.hits(b, a))
        width = int(self.numbers.max(initial=0)) + 1
        leading = (hits.chosen(self.leads[hits.segment]) for hits in sides)
        keys, b_keys = (hits.pair * width + self.numbers[hits.segment] for hits in leading)
        leads = np.zeros(len(a), dtype=np.bool_)
        leads[keys[is_in(keys, np.sort(b_keys))] // width] = True
        sides = sides[0].chosen(leads[sides[0].pair]), sides[1].chosen(leads[sides[1].pair])
        first, other, size = self._longest(*sides)
        pair, segment = (np.concatenate(columns) for columns in zip(*sides, strict=True))
        begins, ends = self.begin[segment[first]], self.end[segment[first] + size - 1]
        in_a = first < len(sides[0].pair)
        units = []
        for side in (in_a, ~in_a):
            side &= ends - begins >= min_units
            units.append(_units_of(pair[first[side]], begins[side], ends[side], len(a)))
        long = ends - begins >= min_units
        first, other, size, in_a = (column[long] for column in (first, other, size, in_a))
        places = segment[np.where(in_a, first, other)], segment[np.where(in_a, other, first)]
        rows = np.stack([pair[first], *places, size])
        rows = rows[:, np.lexsort((rows[2], -rows[3], rows[1], rows[0]))]
        new = np.ones(rows.shape[1], dtype=np.bool_)
        new[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
        rows[0] += before
        return rows[:, new], np.stack(units)

    def _without_common(self, a: Hits, b: Hits) -> tuple[Hits, Hits]:
        """The hits of both sides that share no unit with a common window that both texts have."""
        if not self.common[a.segment].any():
            return a, b
        a, b = (hits.chosen(self._is_apart(hits)) for hits in (a, b))
        width = int(self.numbers.max()) + 1
        a_keys, b_keys = (hits.pair * width + self.numbers[hits.segment] for hits in (a, b))
        return a.chosen(is_in(a_keys, np.sort(b_keys))), b.chosen(is_in(b_keys, np.sort(a_keys)))

    def _is_apart(self, hits: Hits) -> Mask:
        """Which hits share no unit with a common one of their pair, bool[h]."""
        common = self.common[hits.segment]
        before_pair = hits.pair * (int(self.end.max()) + 1)
        begin, end = before_pair + self.begin[hits.segment], before_pair + self.end[hits.segment]
        last_end = np.maximum.accumulate(np.where(common, end, -1))
        next_begin = np.minimum.accumulate(np.where(common, begin, end[-1:])[::-1])[::-1]
        return (begin >= last_end) & (end <= next_begin) & ~common

    def _longest(self, a: Hits, b: Hits) -> tuple[IntArray, IntArray, IntArray]:
        """The longest runs from the hits of both texts on, of which none is within another there.

        The n-th place of a run in the one text is beside its n-th or last one in the other, if it
        is the longest there, too; else beside one of its places there.

        Returns:
            For each run the index of its first hit, first those of a, then those of b, the index
            of the same hit of the other text, and how many hits it has: int64[r] each.
        """
        total, (pair, segment) = len(a.pair), map(np.concatenate, zip(a, b, strict=True))
        count = len(pair)
        follows = np.zeros(count, dtype=np.bool_)
        follows[1:] = (np.diff(segment) == 1) & (np.diff(pair) == 0)
        follows &= self.follows[segment]
        follows[total : total + 1] = False
        begins, ends = runs(np.cumsum(~follows))
        index = np.arange(count)
        reach = np.repeat(ends, ends - begins) - index
        ranks = self._ranks(pair, segment, reach, total)
        keys = pair * (count + 2) + ranks[-1]
        longest, chosen = np.zeros((2, count), dtype=np.int64)
        for query, target in ((index[:total], index[total:]), (index[total:], index[:total])):
            order = target[np.argsort(keys[target], kind="stable")]
            behind = keys[order].searchsorted(keys[query])
            for neighbour in (behind - 1, behind):
                other = order.take(neighbour, mode="clip") if len(query) else query
                length = np.zeros(len(query), dtype=np.int64)
                for level, rank in reversed([*enumerate(ranks)]):
                    fits = length < np.minimum(reach[query], reach[other])
                    ahead = np.where(fits, length, 0)
                    fits &= rank[query + ahead] == rank[other + ahead]
                    length += fits.astype(np.int64) << level
                better = length > longest[query]
                longest[query[better]], chosen[query[better]] = length[better], other[better]
        # No run ends before one that begins earlier.
        is_first = ~follows
        is_first[1:] |= np.diff(longest) >= 0
        (first,) = is_first.nonzero()
        return first, _beside(ranks, first, longest[first], chosen[first], total), longest[first]

    def _ranks(
        self, pair: IntArray, segment: IntArray, reach: IntArray, total: int
    ) -> list[IntArray]:
        """The ranks of the runs of 1, 2, 4, ... hits from each on, int64[h] each.

        Equal runs of a pair have the same rank; in the last array no run of one text is as long as
        what the other one has.

        Args:
            pair, segment: int64[h], of the hits of the one texts, then of the other ones.
            reach: int64[h], how many hits follow each other from each on.
            total: how many are of the one texts.
        """
        count = len(pair)
        # The order of places, not that of secret hashes, decides between runs of one length.
        content = pair * (len(self.numbers) + 1) + self.numbers[segment]
        _, first, distinct = np.unique(content, return_index=True, return_inverse=True)
        ranks = [first[distinct]]
        side = (np.arange(count) >= total).astype(np.int64)
        longest = min(int(reach[:total].max(initial=0)), int(reach[total:].max(initial=0)))
        size = 1
        while size < longest:
            (whole,) = (reach > size).nonzero()
            next_rank = side.copy()
            next_rank[whole] = ranks[-1][whole + size] + 2
            joined = ranks[-1] * (count + 2) + next_rank
            ranks.append(np.unique(joined, return_inverse=True)[1])
            size *= 2
        return ranks


def _beside(
    ranks: Sequence[IntArray], first: IntArray, size: IntArray, other: IntArray, total: int
) -> IntArray:
    """Where runs are in the other text: see Segments._longest.

    Args:
        ranks: of hits.
        first: int64[r], the first hit of each run; ascending.
        size: int64[r], its hits.
        other: int64[r], a place in the other text.
        total: how many hits are of the first texts.
    """
    if not len(first):
        return other
    # Two runs of one length are equal if their beginnings and their ends are.
    level = np.frexp(size.astype(np.float64))[1] - 1
    begin_rank, end_rank = np.zeros((2, len(first)), dtype=np.int64)
    for number, ranks_of_level in enumerate(ranks):
        (at_level,) = (level == number).nonzero()
        begins = first[at_level]
        begin_rank[at_level] = ranks_of_level[begins]
        end_rank[at_level] = ranks_of_level[begins + size[at_level] - (1 << number)]
    count = len(ranks[0]) + 1
    _, ends_alike = np.unique(begin_rank * count + end_rank, return_inverse=True)
    _, run = np.unique(ends_alike * count + size, return_inverse=True)
    side = first >= total
    here, there = run * 2 + side, run * 2 + ~side
    order = np.argsort(here, kind="stable")
    ordered = here[order]
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first)) - ordered.searchsorted(ordered)
    begins, ends = ordered.searchsorted(there), ordered.searchsorted(there, side="right")
    place = first[order.take(np.minimum(begins + rank, ends - 1), mode="clip")]
    return np.where(begins < ends, place, other)


def _shared_windows(
    texts: Texts, text: IntArray, with_themselves: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The windows that more than one text has, and all those of texts compared with themselves.

    Returns:
        The indices of w windows, in their order, and the number of each, int64[w] both; these by
        number, int64[w], and where each of g numbers begins there, int64[g].
    """
    hashes = texts.windows["hash"].copy()
    order = np.argsort(hashes)
    begins, ends = runs(hashes[order].view(np.int64))
    ordered = text[order]
    shared = np.minimum.reduceat(ordered, begins) != np.maximum.reduceat(ordered, begins)
    shared |= np.isin(ordered[begins], with_themselves)
    sizes = (ends - begins)[shared]
    by_number = order[expand_ranges(begins[shared], sizes)]
    numbers = np.full(len(hashes), -1)
    numbers[by_number] = np.repeat(np.arange(len(sizes)), sizes)
    is_shared = numbers >= 0
    (windows,) = is_shared.nonzero()
    index = np.cumsum(is_shared) - 1
    return windows, numbers[windows], index[by_number], offsets_of(sizes)[:-1]


def _segment_begins(
    texts: Texts,
    text: IntArray,
    numbers: IntArray,
    by_number: IntArray,
    groups: IntArray,
) -> IntArray:
    """Where segments begin, int64[s]: the indices of their first windows among the shared ones.

    A window that has units of a common one, and is none, is a segment of its own.
    """
    windows = texts.windows
    if not len(windows):
        return NO_NUMBERS
    unit, common, leads = windows["unit"], windows["common"], windows["leads"]
    beside = windows["beside"] & ~common
    follows = np.zeros(len(windows), dtype=np.bool_)
    follows[1:] = (np.diff(unit) == 1) & (np.diff(text) == 0)
    follows[1:] &= ~beside[1:] & ~beside[:-1] & (common[1:] == common[:-1])
    follows[1:] &= leads[1:] == leads[:-1]

    def is_same(neighbours: IntArray) -> Mask:
        """Whether all windows of each number have the same neighbour, bool[g]."""
        ordered = neighbours[by_number]
        least = np.minimum.reduceat(ordered, groups)
        same: Mask = (least == np.maximum.reduceat(ordered, groups)) & (least >= 0)
        return same

    before, behind = np.full((2, len(windows)), -1)
    (second,) = follows.nonzero()
    before[second], behind[second - 1] = numbers[second - 1], numbers[second]
    follows &= is_same(before)[numbers]
    follows[1:] &= is_same(behind)[numbers[:-1]]
    (begins,) = (~follows).nonzero()
    return begins


def _units_of(pair: IntArray, begins: IntArray, ends: IntArray, pairs: int) -> IntArray:
    """How many units spans cover in each of some pairs, int64[pairs].

    Args:
        pair: int64[r], the index of the pair of each span, ascending.
        begins, ends: int64[r], the first unit and the last + 1; both ascending in a pair.
        pairs: how many there are.
    """
    covered_ends = ends.copy()
    (next_in_pair,) = (np.diff(pair) == 0).nonzero()
    covered_ends[next_in_pair] = np.minimum(ends[next_in_pair], begins[next_in_pair + 1])
    return sizes_of(offsets_of(covered_ends - begins)[pair.searchsorted(np.arange(pairs + 1))])


def _arrangements(numbers: IntArray, begin: IntArray, offsets: IntArray) -> IntArray:
    """The same number for texts whose segments are the same, with as much between: int64[n]."""
    known: dict[bytes, int] = {}
    bounds = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    values = (numbers[i:j].tobytes() + (begin[i:j] - begin[i : i + 1]).tobytes() for i, j in bounds)
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
