"""The runs of windows that pairs of documents share, from where they begin to where they end.

Two documents are a pair if they share a window whose fingerprint leads to pairs. Those of the other
windows, whose fingerprints too many documents have, are searched in these pairs only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import Cut, limits_noted, warn_of_limit
from lshdb.search.limits import pair_cut
from lshdb.search.passage_joins import Edges, joined
from lshdb.search.passage_texts import (
    Compared,
    Located,
    Mask,
    counting,
    is_in,
    preferred_runs,
    shown,
    window_hashes,
)
from lshdb.search.passage_windows import MANY, StoredWindows
from lshdb.search.spilled import Part, Rows, SpilledRows, in_parts
from lshdb.shingling.arrays import Numbers, parts_of, places_of
from lshdb.shingling.hashing import Hashes
from lshdb.workers import Job

_KNOWN: Final = 1 << 20
"""Windows of texts that are searched one by one in memory, with their places some 30 bytes each."""
_32: Final = 32
_LOW: Final = (1 << _32) - 1
_SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")

RUN: Final = np.dtype(
    [
        ("pair", "i8"),  # the numbers of the documents a, in the high 32 bits, and b
        ("places", "i4", (8,)),  # in characters and lines of both, as `CopiedPassage` has them
        ("units", "i4", (4,)),  # the first unit and the last + 1 in a, then in b
    ]
)
Runs: TypeAlias = npt.NDArray[Any]
"""Runs of windows, as RUN has them. `take` and `compress` are many times as fast as an index."""


class SharedRuns(SpilledRows):
    """The runs of all pairs on disk, in the order of pairs, by the cells of their documents a.

    Attributes:
        characters: float64[cells], how long those of each cell are in all.
    """

    def __init__(self, windows: StoredWindows, least: int) -> None:
        """Find the runs.

        Args:
            windows: of all documents.
            least: the units of the shortest run that is wanted.
        """
        super().__init__(RUN, windows.document_cells)
        self.characters = np.zeros(windows.document_cells)
        begins, ends = joined(windows)
        windows.by_hash.close()  # the largest of the files
        with closing(begins), closing(ends):
            job = _Pairing(windows, least, begins, ends)
            files = [windows.hot, windows.texts, begins, ends]
            # With as many ends, some 200 bytes each.
            parts = begins.parts(windows.limits.passage_windows // 2)
            for _, (runs, cuts) in in_parts(job, parts, files, windows.limits):
                for cut in cuts:
                    warn_of_limit(cut)
                cells = windows.cells_of(numbers_of(runs["pair"])[0])
                self.append(runs, cells)
                lengths = runs["places"][:, 1] - runs["places"][:, 0]
                self.characters += np.bincount(cells, lengths, len(self.sizes))


def numbers_of(pairs: Numbers) -> tuple[Numbers, Numbers]:
    """The numbers of both documents of pairs, int64[n] each."""
    return pairs >> _32, pairs & _LOW


@dataclass(frozen=True, slots=True)
class _Pairing(Job[Part, tuple[Runs, list[Cut]]]):
    """Finds the runs of the pairs whose documents a are in some cells, and what limits cut.

    Attributes:
        windows: of all documents.
        least: the units of the shortest run that is wanted.
        begins: where runs begin.
        ends: where they end.
    """

    windows: StoredWindows
    least: int
    begins: SpilledRows
    ends: SpilledRows

    @property
    def _run(self) -> int:
        """Units of a window."""
        return self.windows.settings.passages

    def run(self, part: Part) -> tuple[Runs, list[Cut]]:
        """Find the runs, in the order of pairs and of the first text."""
        begins, ends = self.begins.read(part), self.ends.read(part)
        repeating = np.unique(_pairs(begins.compress(begins[:, 2] < 0, axis=0)))
        if len(repeating):
            begins, ends = (
                one.compress(~is_in(_pairs(one), repeating), axis=0) for one in (begins, ends)
            )
        runs = self._between(begins, ends)
        for hot, its_repeating in self._hot_runs(part, runs["pair"]):
            repeating = np.append(repeating, its_repeating)
            some = is_in(runs["pair"].copy(), np.unique(hot["pair"]))
            merged = self._merged(np.concatenate([runs.compress(some), hot]))
            runs = np.concatenate([runs.compress(~some), merged])
        repeating = np.unique(repeating)
        runs = self._preferred(runs.compress(~is_in(runs["pair"], repeating)))
        runs = runs.compress(runs["units"][:, 1] - runs["units"][:, 0] >= self.least)
        with limits_noted() as cuts:
            rank = np.arange(len(runs)) - np.searchsorted(runs["pair"], runs["pair"])
            most = self.windows.limits.passages
            if (rank >= most).any():
                warn_of_limit(pair_cut(most))
                runs = runs.compress(rank < most)
            if len(repeating):
                runs = np.concatenate([runs, *self._searched(repeating)])
                runs = runs.take(np.argsort(runs["pair"], kind="stable"))
        return runs, cuts

    def _between(self, begins: Edges, ends: Edges) -> Runs:
        """The runs from where they begin to where they end, which are as many."""
        begins, ends = (
            one.take(_diagonally(_pairs(one), one[:, 2:4]), axis=0) for one in (begins, ends)
        )
        runs = np.empty(len(begins), dtype=RUN)
        runs["pair"] = _pairs(begins)
        for edges, first, more in ((begins, 0, 0), (ends, 1, self._run)):
            runs["units"][:, first::2] = edges[:, 2:4] + more
            runs["places"][:, first::2] = edges[:, 4:]
        return runs

    def _hot_runs(self, part: Part, pairs: Numbers) -> Iterator[tuple[Runs, Numbers]]:
        """The hot windows that pairs share, each a run, and the pairs that repeat one very often.

        Args:
            part: the cells of the documents a.
            pairs: int64[n], in order.
        """
        pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
        own = self.windows.hot.read(part)
        if not len(own):
            return
        hashes, rank = np.unique(own["hash"], return_inverse=True)
        keys = own["document"].astype(np.int64) << _32 | rank
        order = np.argsort(keys)
        own, keys = own.take(order), keys[order]
        a, b = numbers_of(pairs)
        cells = self.windows.cells_of(b)
        most = self.windows.limits.passage_windows
        for its_part in self.windows.hot.parts(2 * most):
            its = self.windows.hot.read(its_part)
            its = its.compress(is_in(its["hash"], hashes))
            rank = np.searchsorted(hashes, its["hash"])
            some = np.flatnonzero((cells >= its_part[0]) & (cells < its_part[1]))
            first, last = (np.searchsorted(its["document"], b[some], side) for side in _SIDES)
            for piece in parts_of(last - first, most):
                count = (last - first)[piece]
                at = places_of(first[piece], count)
                pair = np.repeat(some[piece], count)
                wanted = a[pair] << _32 | rank[at]
                left, right = (np.searchsorted(keys, wanted, side) for side in _SIDES)
                found = right > left
                pair, at, left, times = (one[found] for one in (pair, at, left, right - left))
                often = (own["flags"][left] & its["flags"][at] & MANY) > 0
                times[often] = 0
                rows = own.take(places_of(left, times)), its.take(np.repeat(at, times))
                yield self._single(pairs[np.repeat(pair, times)], *rows), pairs[pair[often]]

    def _single(self, pairs: Numbers, own: Rows, its: Rows) -> Runs:
        """Windows that pairs share as runs."""
        runs = np.empty(len(pairs), dtype=RUN)
        runs["pair"] = pairs
        for side, rows in enumerate((own, its)):
            for column, name in enumerate(("start", "end", "line", "end_line")):
                runs["places"][:, 4 * side + column] = rows[name]
            runs["units"][:, 2 * side] = rows["unit"]
            runs["units"][:, 2 * side + 1] = rows["unit"] + self._run
        return runs

    def _merged(self, runs: Runs) -> Runs:
        """The runs, of which those that follow each other in both texts become one."""
        runs = runs.take(_diagonally(runs["pair"], runs["units"][:, 0::2]))
        first, last = runs["units"][:, 0], runs["units"][:, 1] - (self._run - 1)
        new = np.ones(len(runs), dtype=np.bool_)
        new[1:] = (np.diff(runs["pair"]) != 0) | (first[1:] != last[:-1])
        new[1:] |= np.diff(runs["units"][:, 2] - first) != 0
        begin = np.flatnonzero(new)
        end = np.append(begin[1:], len(new))[: len(begin)] - 1
        merged = runs.take(begin)
        for name in ("units", "places"):
            merged[name][:, 1::2] = runs[name][end, 1::2]
        return merged

    def _preferred(self, runs: Runs) -> Runs:
        """The runs that some window prefers, in the order of pairs and of the first text."""
        first = runs["units"][:, 0].astype(np.int64)
        length = runs["units"][:, 1] - first - (self._run - 1)
        pairs = runs["pair"].copy()
        order = np.lexsort((first, pairs))
        pairs, begin, end = pairs[order], first[order], (first + length)[order]
        # Usually no window is in two runs.
        both = (pairs[1:] == pairs[:-1]) & (begin[1:] < end[:-1])
        some = np.flatnonzero(is_in(runs["pair"].copy(), np.unique(pairs[1:][both])))
        kept = np.ones(len(runs), dtype=np.bool_)
        number = np.unique(runs["pair"][some], return_inverse=True)[1]
        other = runs["units"][some, 2].astype(np.int64)
        kept[some] = preferred_runs(number, first[some], other, length[some])
        return runs.take(order[kept[order]])

    def _searched(self, pairs: Numbers) -> Iterator[Runs]:
        """The runs of pairs, one by one."""
        run = self._run
        known: dict[int, _Text] = {}
        for a, group in groupby(pairs.tolist(), key=lambda pair: pair >> _32):
            own = self._text(a, known)
            compared = Compared(own.windows, own.counts)
            for pair in group:
                its = self._text(pair & _LOW, known)
                found = compared.runs_in_repeating(its.windows, its.counts)
                found = shown(found, self.least - run + 1, self.windows.limits.passages)
                first, second, length = np.array(found, dtype=np.int64).reshape(-1, 3).T
                ends = length + run - 1
                runs = np.empty(len(found), dtype=RUN)
                runs["pair"] = pair
                runs["units"] = np.stack((first, first + ends, second, second + ends), axis=1)
                spans = *own.spans(first, first + ends), *its.spans(second, second + ends)
                runs["places"] = np.array(spans).T
                yield runs

    def _text(self, number: int, known: dict[int, _Text]) -> _Text:
        """The text of a document; families of copies come again and again."""
        if number not in known:
            if sum(len(one.windows) for one in known.values()) > _KNOWN:
                known.clear()
            text = self.windows.texts.read(number)
            hashes, offsets = window_hashes([text], self.windows.settings, self.windows.seed)
            counts = counting(hashes, offsets, self.windows.left_out, self._run)
            known[number] = _Text(hashes, counts, Located.of(text, self.windows.settings).spans)
        return known[number]


class _Text(NamedTuple):
    """The windows of a text, uint64[n], which count, and where units are (see Located.spans)."""

    windows: Hashes
    counts: Mask
    spans: Callable[[Numbers, Numbers], tuple[list[int], ...]]


def _pairs(edges: Edges) -> Numbers:
    """The pair of each edge, int64[n]."""
    return edges[:, 0].astype(np.int64) << _32 | edges[:, 1]


def _diagonally(pairs: Numbers, units: Edges) -> Numbers:
    """The order in which what runs along both texts of a pair stands together, int64[n].

    Args:
        pairs: int64[n].
        units: int32[n, 2], in both texts.
    """
    first = units[:, 0].astype(np.int64)
    order: Numbers = np.lexsort(((units[:, 1] - first) << _32 | first, pairs))
    return order
