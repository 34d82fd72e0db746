"""What a text copies from each of many others, by a table of the windows that they share.

Rows of a table that repeat a line share windows with all rows that have it, and each window many
times. So no window of one text is compared with each of another: a table has, for each other text
and each distinct window, where it is. A text that repeats no window has each of its runs there.
Texts that repeat some are compared once for each arrangement of their shared windows: all rows that
consist of one line have the same. `scripts/bench dedup` measures that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.errors import warn_of_limit
from lshdb.model import CopiedPassage
from lshdb.search import cut_notes, passage_runs
from lshdb.search.passage_windows import Texts
from lshdb.shingling.arrays import (
    IntArray,
    Mask,
    chunks,
    covering_spans,
    offsets_of,
    runs,
    sizes_of,
)

MAX_CELLS = 1 << 25
"""Cells of a table, 4 bytes each, unless it is for one pair."""
_GRID = 1 << 22
"""Units that are marked at once, a byte each."""


class _SharedRuns(NamedTuple):
    """Runs of windows that two texts share, in the order of the first.

    Attributes:
        a: int64[r], the first window, by its index among the shared ones of the first text.
        b: int64[r], that of the second text, in the same way.
        length: int64[r], its windows.
    """

    a: IntArray
    b: IntArray
    length: IntArray

    def chosen(self, indices: IntArray | slice) -> _SharedRuns:
        """The runs with these indices."""
        return _SharedRuns(*(column[indices] for column in self))


@dataclass(eq=False, slots=True)
class _Arrangement:
    """The runs of two texts that repeat windows, wherever their first shared windows are.

    Attributes:
        runs: of units; no run is within another one in the first text.
        ahead: how many units later the first shared window is in the second text.
        preferred: the runs that count then.
    """

    runs: _SharedRuns
    ahead: int | None = None
    preferred: _SharedRuns | None = None

    def preferred_runs(self, ahead: int) -> _SharedRuns:
        """The runs that count: the nearest of equally long ones that overlap."""
        if self.preferred is None or ahead != self.ahead:
            a, b, length = self.runs
            self.ahead = ahead
            self.preferred = self.runs.chosen(
                passage_runs.preferred(np.zeros_like(a), a, b + ahead, length)
            )
        return self.preferred


class SharedWindows:
    """The windows that texts, the copies, share with others, their sources.

    Attributes:
        texts: n texts and their windows.
        numbers: int64[n], those by which the caller names the texts; ascending.
        run: units of a window.
    """

    def __init__(
        self, texts: Texts, numbers: IntArray, run: int, copies: IntArray, sources: IntArray
    ) -> None:
        """Find them.

        Args:
            texts: the texts.
            numbers: of them.
            run: units of a window.
            copies: int64[p], the number of the copying text of each pair.
            sources: int64[p], the number of the text that it may copy.
        """
        self.texts, self.numbers, self.run = texts, numbers, run
        copies, sources = np.searchsorted(numbers, copies), np.searchsorted(numbers, sources)
        sizes = sizes_of(texts.offsets)
        count = len(sizes)
        roles = np.zeros(count, dtype=np.uint8)
        roles[copies] |= 1
        roles[sources] |= 2
        with_itself = np.zeros(count, dtype=np.bool_)
        with_itself[copies[copies == sources]] = True
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
        self._arrangements: dict[int, _Arrangement] = {}

    @property
    def fits(self) -> bool:
        """Whether the table is small enough."""
        return self.cells <= MAX_CELLS

    def fill(self) -> None:
        """Make the table: the unit of each window in each source, + 2; 0 if it lacks the window."""
        self._table = np.zeros(self.cells, dtype=np.int32)
        row = np.repeat(self._row, sizes_of(self._offsets))
        chosen = row < self.cells // max(self._width, 1) - 1
        cells = row[chosen] * self._width + self._column[chosen]
        self._table[cells] = self._unit[chosen] + 2

    def has(self, copies: IntArray, sources: IntArray) -> bool:
        """Whether the texts of pairs int64[m] are known with all windows that they share.

        The windows that a text shares with itself are found only if it was compared with itself.
        """
        for numbers, role in ((copies, 1), (sources, 2)):
            index = np.searchsorted(self.numbers, numbers)
            is_known = self.numbers.take(index, mode="clip") == numbers
            if not (is_known & (self._roles.take(index, mode="clip") & role > 0)).all():
                return False
        return not (copies == sources).any()

    def _index(self, number: int) -> int:
        """The index of a text."""
        return int(np.searchsorted(self.numbers, number))

    def _slice(self, text: int) -> slice:
        """Where the shared windows of a text are."""
        return slice(self._offsets[text], self._offsets[text + 1])

    def _positions(self, copy: int, sources: IntArray) -> npt.NDArray[np.int32]:
        """Where sources have the shared windows of a copy: int32[m, s], as in the table."""
        rows = self._row[sources] * self._width
        return self._table.take(rows[:, np.newaxis] + self._column[self._slice(copy)])

    def shares(self, copy: int, sources: IntArray) -> npt.NDArray[np.float64]:
        """The share of a copy's units that are in windows of each source: float64[m]."""
        copy, sources = self._index(copy), np.searchsorted(self.numbers, sources)
        units = int(self.texts.units[copy])
        words = np.zeros(len(sources), dtype=np.int64)
        starts = self._unit[self._slice(copy)]
        if not len(starts):
            return words / max(units, 1)
        firsts, shape_of = self._first_of_shapes(sources)
        sources, words = sources[firsts], words[: len(firsts)]
        # Only from the first to the last shared window.
        size = int(starts[-1] - starts[0]) + self.run
        starts = starts - starts[0]
        for part in chunks(len(sources), max(1, _GRID // size)):
            marks = np.zeros((len(sources[part]), size), dtype=np.bool_)
            marks[:, starts] = self._positions(copy, sources[part]) > 0
            width = 1
            while width < self.run:
                step = min(width, self.run - width)
                marks[:, step:] |= marks[:, :-step].copy()
                width += step
            words[part] = np.add.reduce(marks.view(np.uint8), axis=1, dtype=np.int64)
        return words[shape_of] / units

    def covering(self, copy: int, sources: IntArray) -> list[tuple[int, CopiedPassage]]:
        """Few passages that cover all that a copy shares with sources, with the sources' indices.

        They come from few sources, so that not all runs of all are found: as long as windows are
        in no chosen source, the source that has most of these is chosen, of equal ones the first.
        Windows of three units or more that follow each other overlap, so it does not matter in
        which source each is found.

        Args:
            copy: the number of the text.
            sources: int64[m], the numbers of the others, the preferred ones first.
        """
        copy, sources = self._index(copy), np.searchsorted(self.numbers, sources)
        firsts = np.sort(self._first_of_shapes(sources)[0])
        shared = self._positions(copy, sources[firsts]) > 0
        passages, uncovered = list[tuple[int, CopiedPassage]](), shared.any(axis=0)
        while uncovered.any():
            best = int((shared & uncovered).sum(axis=1).argmax())
            uncovered &= ~shared[best]
            index = int(firsts[best])
            source = int(sources[index])
            shared_runs = self._runs(copy, source)
            windows = self._windows[self._slice(copy)]
            span = self.texts.windows["span"]
            start = span[windows[shared_runs.a], 0]
            end = span[windows[shared_runs.a + shared_runs.length - 1], 1]
            covering_runs = shared_runs.chosen(covering_spans(start, end))
            passages += ((index, passage) for passage in self._shown(copy, source, covering_runs))
        return passages

    def passages(self, copy: int, source: int, max_runs: int) -> tuple[CopiedPassage, ...]:
        """All passages that a copy shares with a source, in its order, up to a limit."""
        copy, source = self._index(copy), self._index(source)
        shared_runs = self._runs(copy, source)
        if len(shared_runs.a) > max_runs:
            warn_of_limit(cut_notes.pair_cut(max_runs))
        return tuple(self._shown(copy, source, shared_runs.chosen(slice(max_runs))))

    def _runs(self, copy: int, source: int) -> _SharedRuns:
        """The runs that two texts share."""
        position = self._positions(copy, np.array([source]))[0]
        (shared,) = position.nonzero()
        if self._repeats[source] and len(shared):
            return self._repeating(copy, source, shared)
        position, unit = position[shared], self._unit[self._slice(copy)][shared]
        new = np.ones(len(shared), dtype=np.bool_)
        new[1:] = (np.diff(position) != 1) | (np.diff(unit) != 1)
        (begins,) = new.nonzero()
        b = np.searchsorted(self._unit[self._slice(source)], position[begins] - 2)
        return _SharedRuns(shared[begins], b, np.diff(begins, append=len(shared)))

    def _repeating(self, copy: int, source: int, shared: IntArray) -> _SharedRuns:
        """The runs if the source repeats windows: found once for each arrangement of windows.

        Args:
            copy: the index of the copy.
            source: the index of the source.
            shared: int64[s], the indices of the copy's windows that the source has.
        """
        first = self._windows_of(copy)[shared]
        is_in_copy = np.zeros(self._width, dtype=np.bool_)
        is_in_copy[self._column[first]] = True
        second = self._windows_of(source)
        second = second[is_in_copy[self._column[second]]]
        shape = self._number(*self._relative(first), *self._relative(second))
        if shape not in self._arrangements:
            self._arrangements[shape] = self._arranged(first, second)
        begin, source_begin = int(self._unit[first[0]]), int(self._unit[second[0]])
        a, b, length = self._arrangements[shape].preferred_runs(source_begin - begin)
        return _SharedRuns(
            np.searchsorted(self._unit[self._slice(copy)], a + begin),
            np.searchsorted(self._unit[self._slice(source)], b + source_begin),
            length,
        )

    def _windows_of(self, text: int) -> IntArray:
        """The shared windows of a text, by their numbers among all."""
        return np.arange(self._offsets[text], self._offsets[text + 1])

    def _first_of_shapes(self, texts: IntArray) -> tuple[IntArray, IntArray]:
        """The first texts of each arrangement of shared windows, whatever precedes these.

        Returns:
            int64[any], the index of the first one of each; int64[n], which of these each text has.
        """
        for text in texts[self._shape_of[texts] < 0].tolist():
            self._shape_of[text] = self._number(*self._relative(self._windows_of(text)))
        _, first, inverse = np.unique(self._shape_of[texts], return_index=True, return_inverse=True)
        return first, inverse

    def _relative(self, windows: IntArray) -> tuple[bytes, bytes]:
        """The windows of a text, and their distances from the first: both as bytes."""
        units = self._unit[windows]
        return self._column[windows].tobytes(), (units - units[:1]).tobytes()

    def _number(self, *values: bytes) -> int:
        """The same number for the same values."""
        return self._shapes.setdefault(b"".join(values), len(self._shapes))

    def _arranged(self, first: IntArray, second: IntArray) -> _Arrangement:
        """The runs of two texts, from the windows that both have."""
        sizes = np.array([len(first), len(second)])
        windows = self.texts.windows.take(self._windows[np.concatenate([first, second])])
        unit = windows["unit"].astype(np.int64)
        units = unit[[len(first) - 1, -1]] + self.run
        texts = Texts(windows, offsets_of(sizes), units, b"", (), units)
        shared_runs = passage_runs.every_run(
            passage_runs.Pairs(texts, np.array([0]), np.array([1]))
        )
        shared_runs = shared_runs.some(_maximal(shared_runs))
        a, b = unit[shared_runs.a] - unit[0], unit[shared_runs.b] - unit[len(first)]
        return _Arrangement(_SharedRuns(a, b, shared_runs.length))

    def _shown(self, copy: int, source: int, shared_runs: _SharedRuns) -> Iterator[CopiedPassage]:
        """The passages of some runs, if both texts have the same units there."""
        texts, last = self.texts, shared_runs.length - 1
        spans, folded = [], []
        for text, first in ((copy, shared_runs.a), (source, shared_runs.b)):
            windows = self._windows[self._offsets[text] + first]
            begin, end = texts.windows.take(windows), texts.windows.take(windows + last)
            spans.append(end["span"])
            spans[-1][:, ::2] = begin["span"][:, ::2]
            folded += [begin["begin"].tolist(), end["end"].tolist()]
        words = (shared_runs.length + (self.run - 1)).tolist()
        values = zip(np.concatenate(spans, axis=1).tolist(), words, *folded, strict=True)
        for span, count, i, j, k, m in values:
            if texts.folded[i:j] == texts.folded[k:m]:
                yield passage_runs.passage_at(
                    texts.contents[copy], texts.contents[source], span, count, 1.0
                )


def _maximal(shared_runs: passage_runs.Runs) -> Mask:
    """Which runs are within no other one of their pair in the first text, bool[r]."""
    span = int((shared_runs.a + shared_runs.length).max(initial=0)) + 1
    begin = shared_runs.pair * span + shared_runs.a
    order = np.lexsort((-shared_runs.length, begin))
    begin, end = begin[order], (begin + shared_runs.length)[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = end[1:] > np.maximum.accumulate(end)[:-1]
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (begin[1:] == begin[:-1]) & (end[1:] == end[:-1])
    # Equal runs are as good as the first of them.
    leader = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
    mask = np.empty(len(order), dtype=np.bool_)
    mask[order] = new[leader]
    return mask
