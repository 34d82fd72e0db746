"""What a text copies from each of many others, by a table of the windows that they share.

Rows of a table that repeat a line share windows with all rows that have it, and each window many
times. So no window of one text is compared with each of another: a table has, for each other text
and each distinct window, where it is. A text that repeats no window has each of its runs there.
Texts that repeat some are compared once for each arrangement of their shared windows: all rows that
consist of one line have the same. `scripts/bench repetitive` measures that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.errors import warn_of_limit
from lshdb.model import CopiedPassage
from lshdb.search import limits
from lshdb.search.passage_runs import Criteria, Pairs, Runs, every_run, passage_at, preferred
from lshdb.search.passage_windows import Texts
from lshdb.shingling.arrays import (
    IntArray,
    Mask,
    chunks,
    int_array,
    lengths_of,
    offsets_of,
    runs,
    sizes_of,
)

_MAX_CELLS = 1 << 25
"""Cells of a table, 4 bytes each, unless it is for one pair."""
_GRID = 1 << 22
"""Units that are marked at once, a byte each."""


class _Passages(NamedTuple):
    """Runs of windows that a text shares with others.

    Attributes:
        other: int64[r], the index of the other text in the order of the caller.
        a: int64[r], the first window, by its index among the shared ones of the text.
        b: int64[r], the first window of the other text, in the same way.
        length: int64[r], its windows.
    """

    other: IntArray
    a: IntArray
    b: IntArray
    length: IntArray

    def some(self, chosen: Mask | IntArray) -> _Passages:
        """Some of the runs."""
        return _Passages(*(column[chosen] for column in self))


@dataclass(frozen=True, slots=True)
class _Arrangement:
    """The runs of two texts that repeat windows, whatever precedes their first shared windows.

    Attributes:
        a: int64[r], their first windows in the one text; no run is within another one there.
        b: int64[r], those in the other text.
        length: int64[r], their windows.
        is_placed: whether where both texts have them decides which count: the nearest of equally
            long ones that overlap.
        known: the latest result of `at`.
    """

    a: IntArray
    b: IntArray
    length: IntArray
    is_placed: bool
    known: dict[int, tuple[IntArray, IntArray, IntArray]] = field(default_factory=dict)

    def at(self, ahead: int) -> tuple[IntArray, IntArray, IntArray]:
        """The runs that count: int64[any] for each of a, b and length.

        Args:
            ahead: how many units later the first shared window is in the other text.
        """
        if ahead not in self.known:
            self.known.clear()
            chosen = preferred(np.zeros_like(self.a), self.a, self.b + ahead, self.length)
            self.known[ahead] = self.a[chosen], self.b[chosen], self.length[chosen]
        return self.known[ahead]


class SharedWindows:
    """The windows that some texts, the ones, share with others.

    Attributes:
        texts: n texts and their windows.
        numbers: int64[n], those by which the caller names the texts; ascending.
        run: units of a window.
    """

    def __init__(
        self, texts: Texts, numbers: IntArray, run: int, one: IntArray, other: IntArray
    ) -> None:
        """Find them.

        Args:
            texts: the texts.
            numbers: of them.
            run: units of a window.
            one: int64[p], the number of the one text of each pair.
            other: int64[p], that of the other.
        """
        self.texts, self.numbers, self.run = texts, numbers, run
        one, other = np.searchsorted(numbers, one), np.searchsorted(numbers, other)
        sizes = sizes_of(texts.offsets)
        count = len(sizes)
        roles = np.zeros(count, dtype=np.uint8)
        roles[one] |= 1
        roles[other] |= 2
        with_itself = np.zeros(count, dtype=np.bool_)
        with_itself[one[one == other]] = True
        hashes = texts.windows["hash"].copy()
        order = np.argsort(hashes, kind="stable")
        documents = np.repeat(np.arange(count), sizes)
        text, hashes = documents[order], hashes[order]
        begins, ends = runs(hashes.view(np.int64))
        first, last = text[begins], text[ends - 1]
        shared = (first != last) | with_itself[first]
        if len(begins):
            shared &= np.bitwise_or.reduceat(roles[text], begins) == 3
        columns = np.where(shared, np.cumsum(shared) - 1, -1)
        column = np.empty(len(order), dtype=np.int64)
        column[order] = np.repeat(columns, ends - begins)
        again = (text[1:] == text[:-1]) & (hashes[1:] == hashes[:-1]) & (column[order[1:]] >= 0)
        self._repeats = np.zeros(count, dtype=np.bool_)
        self._repeats[text[1:][again]] = True
        self._windows = np.flatnonzero(column >= 0)
        self._column, self._unit = column[self._windows], texts.windows["unit"][self._windows]
        self._offsets = np.searchsorted(documents[self._windows], np.arange(count + 1))
        self._width = int(shared.sum())
        self._roles = roles
        # Texts without shared windows have a row of zeros.
        rows = np.flatnonzero((sizes_of(self._offsets) > 0) & (roles > 1))
        self._row = np.full(count, len(rows))
        self._row[rows] = np.arange(len(rows))
        self.cells = (len(rows) + 1) * self._width
        self._shapes: dict[bytes, int] = {}
        self._shape_of = np.full(count, -1)
        self._arrangements: dict[tuple[int, int], _Arrangement] = {}

    @property
    def fits(self) -> bool:
        """Whether the table is small enough."""
        return self.cells <= _MAX_CELLS

    def fill(self) -> None:
        """Make the table: where each other text has each window, its unit + 2; 0 if it has not."""
        self._table = np.zeros(self.cells, dtype=np.int32)
        row = np.repeat(self._row, sizes_of(self._offsets))
        chosen = row < self.cells // max(self._width, 1) - 1
        cells = row[chosen] * self._width + self._column[chosen]
        self._table[cells] = self._unit[chosen] + 2

    def has(self, one: IntArray, other: IntArray) -> bool:
        """Whether all texts of pairs int64[m] are there, and nothing is missing of their windows.

        The windows that a text shares with itself are found only if it was compared with itself.
        """
        for numbers, role in ((one, 1), (other, 2)):
            index = np.searchsorted(self.numbers, numbers)
            there = self.numbers.take(index, mode="clip") == numbers
            if not (there & (self._roles.take(index, mode="clip") & role > 0)).all():
                return False
        return not (one == other).any()

    def _index(self, number: int) -> int:
        """The index of a text."""
        return int(np.searchsorted(self.numbers, number))

    def _slice(self, text: int) -> slice:
        """Where the shared windows of a text are."""
        return slice(self._offsets[text], self._offsets[text + 1])

    def _positions(self, one: int, others: IntArray) -> npt.NDArray[np.int32]:
        """Where others have the shared windows of a text: int32[m, s], as in the table."""
        rows = self._row[others] * self._width
        return self._table.take(rows[:, np.newaxis] + self._column[self._slice(one)])

    def shares(self, one: int, others: IntArray) -> npt.NDArray[np.float64]:
        """The share of the units of a text that are in windows of each other one: float64[m]."""
        one, others = self._index(one), np.searchsorted(self.numbers, others)
        units = int(self.texts.units[one])
        words = np.zeros(len(others), dtype=np.int64)
        starts = self._unit[self._slice(one)]
        if not len(starts):
            return words / max(units, 1)
        firsts, shape_of = self._first_of_shapes(others)
        others, words = others[firsts], words[: len(firsts)]
        # Only from the first to the last shared window.
        size = int(starts[-1] - starts[0]) + self.run
        starts = starts - starts[0]
        for part in chunks(len(others), max(1, _GRID // size)):
            marks = np.zeros((len(others[part]), size), dtype=np.bool_)
            marks[:, starts] = self._positions(one, others[part]) > 0
            width = 1
            while width < self.run:
                step = min(width, self.run - width)
                marks[:, step:] |= marks[:, :-step].copy()
                width += step
            words[part] = np.add.reduce(marks.view(np.uint8), axis=1, dtype=np.int64)
        return words[shape_of] / units

    def covering(
        self, one: int, others: IntArray, criteria: Criteria
    ) -> list[tuple[int, CopiedPassage]]:
        """Passages that cover all that a text shares with others, with the indices of these.

        They are in the order of the text, and none is within those before it; of equal ones the
        first counts.

        Args:
            one: the text.
            others: int64[m], in the order in which they count.
            criteria: which passages are wanted.
        """
        one, others = self._index(one), np.searchsorted(self.numbers, others)
        found = self._runs(one, others, criteria)
        windows = self._windows[self._slice(one)]
        start = self.texts.windows["span"][:, 0][windows[found.a]]
        end = self.texts.windows["span"][:, 1][windows[found.a + found.length - 1]]
        order = np.lexsort((found.a, found.other, end, start))
        ends = end[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = ends[1:] > np.maximum.accumulate(ends)[:-1]
        return [*self._shown(one, others, found.some(order[new]))]

    def passages(self, one: int, other: int, criteria: Criteria) -> tuple[CopiedPassage, ...]:
        """All passages that a text shares with another one, in its order."""
        one, others = self._index(one), np.array([self._index(other)])
        found = self._runs(one, others, criteria)
        return tuple(passage for _, passage in self._shown(one, others, found))

    def _runs(self, one: int, others: IntArray, criteria: Criteria) -> _Passages:
        """The runs that a text shares with others, by the others, then by the text."""
        repeats = self._repeats[others]
        some = [self._once(one, others, np.flatnonzero(~repeats))]
        if repeats.any():
            some.append(self._repeating(one, others, np.flatnonzero(repeats)))
        found = _Passages(*map(np.concatenate, zip(*some, strict=True)))
        found = found.some(np.lexsort((found.a, found.other)))
        rank = np.arange(len(found.other)) - np.searchsorted(found.other, found.other)
        for _ in np.flatnonzero(rank == criteria.max_runs).tolist():
            warn_of_limit(limits.pair_cut(criteria.max_runs))
        return found.some(rank < criteria.max_runs)

    def _once(self, one: int, others: IntArray, chosen: IntArray) -> _Passages:
        """The runs of others that repeat no window."""
        found = []
        starts = self._unit[self._slice(one)]
        for part in chunks(len(chosen), max(1, _GRID // max(len(starts), 1))):
            at = self._positions(one, others[chosen[part]])
            both = at > 0
            goes_on = both[:, 1:] & (np.diff(at, axis=1) == 1) & (np.diff(starts) == 1)
            begins, ends = both.copy(), both
            begins[:, 1:] &= ~goes_on
            ends[:, :-1] &= ~goes_on
            row, a = np.nonzero(begins)
            other = chosen[part][row]
            b = self._ordinals(others[other], at[row, a] - 2)
            found.append((other, a, b, np.nonzero(ends)[1] - a + 1))
        empty = np.empty((4, 0), dtype=np.int64)
        return _Passages(*map(np.concatenate, zip(empty, *found, strict=True)))

    def _ordinals(self, texts: IntArray, units: npt.NDArray[np.int32]) -> IntArray:
        """Which of the shared windows of texts int64[r] begin at units int32[r]: int64[r]."""
        low, high = self._offsets[texts], self._offsets[texts + 1]
        begins = low.copy()
        while (low < high).any():  # a binary search in all texts at once
            middle = (low + high) >> 1
            below = self._unit[np.minimum(middle, len(self._unit) - 1)] < units
            below &= low < high
            low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        return low - begins

    def _repeating(self, one: int, others: IntArray, chosen: IntArray) -> _Passages:
        """The runs of others that repeat windows; of others with the same ones the first counts.

        Where the windows that both share differ only in what is before them, the runs are the same.
        """
        firsts, shape_of = self._first_of_shapes(others[chosen])
        positions = self._positions(one, others[chosen[firsts]]) > 0
        both = np.flatnonzero(positions.any(axis=1))
        if not len(both):
            return _Passages(*np.empty((4, 0), dtype=np.int64))
        # The windows that the text shares with these others, and they with the text.
        some = others[chosen[firsts[both]]]
        mine = self._windows_of(one)[positions.any(axis=0)]
        of_one = np.zeros(self._width, dtype=np.bool_)
        of_one[self._column[mine]] = True
        shared = [mine]
        for text in some.tolist():
            windows = self._windows_of(text)
            shared.append(windows[of_one[self._column[windows]]])
        shapes = [self._number(*self._relative(windows)) for windows in shared]
        self._arrange(np.append(one, some), shared, shapes)
        first, later = self._unit[mine[0]], []
        for shape, windows, its in zip(both.tolist(), shared[1:], shapes[1:], strict=True):
            index = int(chosen[firsts[shape]])
            inner = int(self._unit[windows[0]]) - self._first(int(others[index]))
            is_placed = self._arrangements[shapes[0], its].is_placed
            indices = chosen[shape_of == shape].tolist() if is_placed else [index]
            later += [(index, its, inner, is_placed) for index in indices]
        found, seen = [], set[tuple[int, int | None]]()
        for index, its, inner, is_placed in sorted(later):
            begin = self._first(int(others[index])) + inner
            ahead = int(begin - first)
            key = its, ahead if is_placed else None
            if key not in seen:
                seen.add(key)
                a, b, length = self._arrangements[shapes[0], its].at(ahead)
                a = np.searchsorted(self._unit[self._slice(one)], a + first)
                b = np.searchsorted(self._unit[self._slice(int(others[index]))], b + begin)
                found.append(_Passages(np.full(len(a), index), a, b, length))
        return _Passages(*map(np.concatenate, zip(*found, strict=True)))

    def _windows_of(self, text: int) -> IntArray:
        """The shared windows of a text, by their numbers among all."""
        return np.arange(self._offsets[text], self._offsets[text + 1])

    def _first(self, text: int) -> int:
        """The unit of the first shared window of a text; 0 if it has none."""
        begin, end = self._offsets[text : text + 2].tolist()
        return int(self._unit[begin]) if begin < end else 0

    def _first_of_shapes(self, texts: IntArray) -> tuple[IntArray, IntArray]:
        """The first texts of each arrangement of shared windows, whatever precedes these.

        Returns:
            int64[any], the indices of the first ones, ascending; int64[n], for each text which of
            these has its arrangement.
        """
        for text in texts[self._shape_of[texts] < 0].tolist():
            if self._shape_of[text] < 0:
                self._shape_of[text] = self._number(*self._relative(self._windows_of(text)))
        _, first, inverse = np.unique(self._shape_of[texts], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return first[order], rank[inverse]

    def _relative(self, windows: IntArray) -> tuple[bytes, bytes]:
        """What some windows of a text are, and where they are after the first of them."""
        units = self._unit[windows]
        return self._column[windows].tobytes(), (units - units[:1]).tobytes()

    def _number(self, *values: bytes) -> int:
        """The same number for the same values."""
        return self._shapes.setdefault(b"".join(values), len(self._shapes))

    def _arrange(self, texts: IntArray, shared: list[IntArray], shapes: list[int]) -> None:
        """Find the arrangements of the first of some texts with each of the others.

        Args:
            texts: int64[n], the texts.
            shared: the windows of each that the others have.
            shapes: of these.
        """
        missing = {its: index for index, its in enumerate(shapes) if index}
        some = [i for its, i in missing.items() if (shapes[0], its) not in self._arrangements]
        if not some:
            return
        parts = [shared[index] for index in (0, *some)]
        windows = self.texts.windows.take(self._windows[np.concatenate(parts)])
        units = self.texts.units[texts[[0, *some]]]
        reduced = Texts(windows, offsets_of(lengths_of(parts)), units, self.texts.folded, ())
        pairs = Pairs(reduced, np.zeros(len(some), dtype=np.int64), np.arange(1, len(parts)))
        found = every_run(pairs)
        found = found.some(_maximal(found))
        firsts = int_array(int(self._unit[part[0]]) for part in parts)
        unit = windows["unit"].astype(np.int64)
        a, b = unit[found.a] - firsts[0], unit[found.b] - firsts[1:][found.pair]
        bounds = np.searchsorted(found.pair, np.arange(len(parts))).tolist()
        chosen = preferred(found.pair, a, b + (firsts[1:] - firsts[0])[found.pair], found.length)
        ends = np.searchsorted(found.pair[chosen], np.arange(len(parts))).tolist()
        placed = _placed(found, len(some)).tolist()
        for pair, index in enumerate(some):
            part, best = slice(*bounds[pair : pair + 2]), chosen[slice(*ends[pair : pair + 2])]
            known = {int(firsts[pair + 1] - firsts[0]): (a[best], b[best], found.length[best])}
            runs_of = a[part], b[part], found.length[part]
            self._arrangements[shapes[0], shapes[index]] = _Arrangement(
                *runs_of, placed[pair], known
            )

    def _shown(
        self, one: int, others: IntArray, found: _Passages
    ) -> Iterator[tuple[int, CopiedPassage]]:
        """The passages of some runs, with the indices of the others."""
        texts = self.texts
        its = others[found.other]
        a = self._windows[self._offsets[one] + found.a]
        b = self._windows[self._offsets[its] + found.b]
        last = found.length - 1
        spans = []
        folded = []
        for first in (a, b):
            begin, end = texts.windows.take(first), texts.windows.take(first + last)
            spans.append(end["span"])
            spans[-1][:, ::2] = begin["span"][:, ::2]
            folded += [begin["begin"].tolist(), end["end"].tolist()]
        values = zip(
            found.other.tolist(),
            its.tolist(),
            np.concatenate(spans, axis=1).tolist(),
            (found.length + (self.run - 1)).tolist(),
            *folded,
            strict=True,
        )
        for index, text, span, words, *(i, j, k, m) in values:
            if texts.folded[i:j] == texts.folded[k:m]:
                contents = texts.contents[one], texts.contents[text]
                yield index, passage_at(*contents, span, words, 1.0)


def _maximal(found: Runs) -> Mask:
    """Which runs are within no other one of their pair in the first text, bool[r]."""
    span = int((found.a + found.length).max(initial=0)) + 1
    begin = found.pair * span + found.a
    order = np.lexsort((-found.length, begin))
    begin, end = begin[order], (begin + found.length)[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = end[1:] > np.maximum.accumulate(end)[:-1]
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (begin[1:] == begin[:-1]) & (end[1:] == end[:-1])
    # Equal runs are as good as the first of them.
    leader = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
    mask = np.empty(len(order), dtype=np.bool_)
    mask[order] = new[leader]
    return mask


def _placed(found: Runs, pairs: int) -> Mask:
    """Which pairs have equally long runs that overlap, and begin at different windows, bool[pairs].

    No run is within another one.
    """
    order = np.lexsort((found.a, found.length, found.pair))
    pair, a, length = found.pair[order], found.a[order], found.length[order]
    close = (pair[1:] == pair[:-1]) & (length[1:] == length[:-1])
    close &= (a[1:] > a[:-1]) & (a[1:] < a[:-1] + length[:-1])
    mask = np.zeros(pairs, dtype=np.bool_)
    mask[pair[1:][close]] = True
    return mask
