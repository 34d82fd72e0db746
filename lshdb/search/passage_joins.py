"""The runs of windows that documents share, for all pairs of documents.

The windows of some documents, in the order of their hashes, are joined with those of all later
documents; windows that follow each other in both are a run. Two documents are a pair if they share
a window whose fingerprint leads to pairs. Others may be in all documents: they are searched in
these pairs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from lshdb.errors import Cut, limits_noted, warn_of_limit
from lshdb.search.limits import PASSAGES, pair_cut
from lshdb.search.passage_texts import (
    Mask,
    WindowIndex,
    are_few,
    is_in,
    runs_between,
    runs_of_matches,
    unused,
)
from lshdb.search.passage_windows import (
    AGAIN,
    CAN_SHARE,
    COUNTS,
    HOT,
    PROCESSES,
    REPEATED,
    Rows,
    StoredWindows,
)
from lshdb.shingling.arrays import Numbers, parts_of, places_of
from lshdb.shingling.hashing import Hashes
from lshdb.workers import Job, Workers, default_workers

_AHEAD: Final = 3
"""Parts under way: one in the worker, the next one, and one that this process may do."""
_OWN: Final = 3 << 18
"""Windows of the first documents of pairs in memory, some 70 bytes each. All other
documents are read once for these. One document may have more."""
_RUNS: Final = 1 << 19
"""Runs of some first documents in memory, 64 bytes each, and as much again to put them in order;
where there are more, there are fewer first documents."""
_MATCHES: Final = 1 << 19
"""Windows that pairs share in memory, some 100 bytes each; one document may have more."""
_32: Final = 32
_LOW: Final = (1 << _32) - 1


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of windows that pairs share, those of a pair one after the other.

    Attributes:
        a, b: int64[r], numbers of documents.
        places: int32[r, 8], the places of the run in both as `CopiedPassage` has them.
        units: int32[r, 4], first unit and last + 1 in a, then in b.
    """

    a: Numbers
    b: Numbers
    places: Numbers
    units: Numbers

    def take(self, rows: Numbers | Mask | slice) -> Runs:
        """Some of the runs."""
        return Runs(self.a[rows], self.b[rows], self.places[rows], self.units[rows])


_NONE: Final = np.empty(0, dtype=np.int64)
_NO_RUNS: Final = Runs(_NONE, _NONE, np.empty((0, 8), np.int32), np.empty((0, 4), np.int32))


def all_runs(windows: StoredWindows, run: int) -> Iterator[Runs]:
    """All runs, in the order of pairs; a worker process finds the next while some are written."""
    job = _Joining(windows, run)
    parts = [(part.start, part.stop) for part in parts_of(windows.sizes, _OWN)]
    count = min(default_workers(), PROCESSES) if len(parts) > 1 and CAN_SHARE else 0
    files = [windows.descriptor] if count else []
    with Workers(job, count, alone=0, files=files) as pool:
        for part, found in zip(parts, pool.results(parts, _AHEAD), strict=True):
            yield from job.complete(part, found)


Joined: TypeAlias = tuple[Runs | None, list[Cut]]
"""The runs in the order of pairs, or None if they are too many at once; and what limits cut."""


@dataclass(frozen=True, slots=True)
class _Joining(Job[tuple[int, int], Joined]):
    """Finds the runs that some documents, from a first to a last + 1, share with later ones."""

    windows: StoredWindows
    units: int

    def run(self, part: tuple[int, int]) -> Joined:
        """Find the runs."""
        with limits_noted() as cuts:
            return self._joined(*part), cuts

    def complete(self, part: tuple[int, int], found: Joined) -> Iterator[Runs]:
        """The runs of a part, whose halves are joined here if there are too many."""
        runs, cuts = found
        if runs is None:
            middle = sum(part) // 2
            for half in ((part[0], middle), (middle, part[1])):
                yield from self.complete(half, self.run(half))
        else:
            for cut in cuts:
                warn_of_limit(cut)
            yield runs

    def _joined(self, first: int, end: int) -> Runs | None:
        windows = self.windows
        own = _Own(windows, first, end)
        found = [_NO_RUNS]
        count = 0
        batches = windows.batches[np.searchsorted(windows.batches, first, "right") - 1 :]
        for begin, last in pairwise(batches.tolist()):
            its = _Batch(windows, begin, last)
            for runs in own.runs_with(its, self.units):
                found.append(runs)
                count += len(runs.a)
            if count > _RUNS and end > first + 1:
                return None
        runs = Runs(
            np.concatenate([one.a for one in found]),
            np.concatenate([one.b for one in found]),
            np.concatenate([one.places for one in found]),
            np.concatenate([one.units for one in found]),
        )
        return runs.take(np.argsort(runs.a << _32 | runs.b, kind="stable"))


class _Side:
    """The windows of some documents that follow each other.

    Attributes:
        rows: their windows, n.
        hashes, units, flags: columns of these.
        document: int64[n], the number of the document of each.
        first: the number of the first document.
        begins: int64[documents + 1], where the windows of each begin.
        windows_of: int64[documents], how many windows each has, with those that none shares.
    """

    def __init__(self, windows: StoredWindows, first: int, end: int) -> None:
        sizes = windows.sizes[first:end]
        self.rows = windows.read(first, end)
        self.hashes = np.ascontiguousarray(self.rows["hash"])
        self.units = np.ascontiguousarray(self.rows["unit"])
        self.flags = np.ascontiguousarray(self.rows["flags"])
        self.windows_of = windows.counts[first:end]
        self.first = first
        self.document = np.repeat(np.arange(first, end), sizes)
        self.begins = np.append(0, np.cumsum(sizes))

    def of(self, number: int) -> Rows:
        """The windows of a document."""
        return self.rows[self.begins[number - self.first] : self.begins[number - self.first + 1]]

    def row_of(self, document: Numbers, unit: Numbers) -> Numbers:
        """The rows at which windows begin, by document and first unit: int64[n]."""
        rows: Numbers = np.searchsorted(self._keys, document << _32 | unit)
        return rows

    @cached_property
    def _keys(self) -> Numbers:
        keys: Numbers = self.document << _32 | self.units
        return keys


class _Batch(_Side):
    """The windows of a batch of documents, in which those of others are looked for.

    Attributes:
        by_hash: int32[n], the rows in the order of their hashes.
    """

    def __init__(self, windows: StoredWindows, first: int, end: int) -> None:
        super().__init__(windows, first, end)
        self.by_hash = np.ascontiguousarray(self.rows["by_hash"])

    def times(self, rows: Numbers) -> Numbers:
        """How often the window of each row stands in its document, int64[n] -> int64[n].

        Args:
            rows: of windows that do not stand in their documents before.
        """
        times = np.ones(len(rows), dtype=np.int64)
        repeated = (self.flags[rows] & REPEATED) > 0
        firsts, _, counts, _ = self._repetitions
        times[repeated] = counts[np.searchsorted(firsts, rows[repeated])]
        return times

    def everywhere(self, rows: Numbers, times: Numbers) -> Numbers:
        """All rows of the same windows in the same documents, int64[sum of times]."""
        found = np.repeat(rows, times)
        repeated = (self.flags[rows] & REPEATED) > 0
        firsts, begins, counts, order = self._repetitions
        which = np.searchsorted(firsts, rows[repeated])
        found[np.repeat(repeated, times)] = order[places_of(begins[which], counts[which])]
        return found

    @cached_property
    def _repetitions(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """The rows of the windows that their documents repeat.

        Returns:
            firsts, begins and counts int64[n], and order: firsts[i] is the first row of a window
            in its document, and order[begins[i]:begins[i] + counts[i]] are all.
        """
        order = self.by_hash[(self.flags[self.by_hash] & (REPEATED | AGAIN)) > 0]
        begins = np.flatnonzero((self.flags[order] & AGAIN) == 0)
        counts = np.diff(begins, append=len(order))
        by_row = np.argsort(order[begins])
        return order[begins][by_row], begins[by_row], counts[by_row], order


class _Own(_Side):
    """The windows of the first documents of pairs, made ready to be looked for in others."""

    def __init__(self, windows: StoredWindows, first: int, end: int) -> None:
        super().__init__(windows, first, end)
        counts = (self.flags & COUNTS) > 0
        hot = (self.flags & HOT) > 0
        self._index = WindowIndex(self.hashes, np.flatnonzero(counts & ~hot))
        rows = np.flatnonzero(counts & hot)
        self._hot, ranks = np.unique(self.hashes[rows], return_inverse=True)
        keys = self.document[rows] << _32 | ranks
        order = np.argsort(keys, kind="stable")
        self._hot_order, self._hot_keys = rows[order], keys[order]

    def runs_with(self, its: _Batch, run: int) -> Iterator[Runs]:
        """The runs that they share with others."""
        rows = its.by_hash[(its.flags[its.by_hash] & (HOT | AGAIN)) == 0]
        found, left, count = self._index.find(its.hashes[rows])
        rows = rows[found]
        order = np.argsort(rows, kind="stable")
        rows, left, count = rows[order], left[order], count[order]
        bounds = np.searchsorted(rows, its.begins)
        matches = np.diff(np.append(0, np.cumsum(count))[bounds])
        for part in parts_of(matches, _MATCHES):
            some = slice(bounds[part.start], bounds[part.stop])
            b = np.repeat(rows[some], count[some])
            a = self._index.order[places_of(left[some], count[some])]
            later = self.document[a] < its.document[b]
            a, b = a[later], b[later]
            pairs = np.unique(self.document[a] << _32 | its.document[b])
            matched = [(a, b), *self._hot_matches(its, pairs >> _32, pairs & _LOW)]
            a, b = (np.concatenate(sides) for sides in zip(*matched, strict=True))
            if len(a):
                yield from _runs_of_matches(self, its, a, b, run)

    def _hot_matches(
        self, its: _Batch, one: Numbers, other: Numbers
    ) -> Iterator[tuple[Numbers, Numbers]]:
        """The rows int64[n] and int64[n] in which pairs share windows with a hot fingerprint."""
        rows = np.flatnonzero((its.flags & (HOT | AGAIN)) == HOT)
        rows = rows[is_in(its.hashes[rows], self._hot)]
        rank = np.searchsorted(self._hot, its.hashes[rows])
        begins = np.searchsorted(rows, its.begins)
        begin, end = begins[other - its.first], begins[other - its.first + 1]
        for part in parts_of(end - begin, _MATCHES):
            count = (end - begin)[part]
            at = places_of(begin[part], count)
            keys = np.repeat(one[part], count) << _32 | rank[at]
            left = np.searchsorted(self._hot_keys, keys)
            times = np.searchsorted(self._hot_keys, keys, "right") - left
            yield self._hot_order[places_of(left, times)], np.repeat(rows[at], times)


def _runs_of_matches(own: _Side, its: _Batch, a: Numbers, b: Numbers, run: int) -> Iterator[Runs]:
    """The runs of matches of windows.

    Where no window stands in a text twice, they are what follows each other in both texts. The
    other pairs take the longest runs (runs_of_matches).

    Args:
        own: the windows of the first documents.
        its: those of the second ones.
        a: int64[m], rows of `own`.
        b: int64[m], rows of `its`; of a window that a document repeats the first.
        run: units of a window.
    """
    order = np.argsort(its.document[b] * len(own.rows) + a, kind="stable")
    a, b = a[order], b[order]
    i, j = own.units[a], its.units[b]
    new = np.ones(len(a), dtype=np.bool_)
    new[1:] = np.diff(own.document[a]) != 0
    new[1:] |= np.diff(its.document[b]) != 0
    first = np.flatnonzero(new)
    several = np.logical_or.reduceat((its.flags[b] & REPEATED) > 0, first)
    pair = np.cumsum(new) - 1
    new[1:] |= (np.diff(i) != 1) | (np.diff(j) != 1)
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(a)) - 1
    simple = ~several[pair[begin]]
    begin, end = begin[simple], end[simple]
    rank = np.arange(len(begin)) - np.searchsorted(pair[begin], pair[begin])
    if (rank >= PASSAGES).any():
        warn_of_limit(pair_cut(PASSAGES))
        begin, end = begin[rank < PASSAGES], end[rank < PASSAGES]
    yield _located(own, its, (a[begin], a[end], b[begin], b[end]), run)
    if several.any():
        for part in parts_of(np.add.reduceat(its.times(b), first) * several, _MATCHES):
            rows = several[pair] & (pair >= part.start) & (pair < part.stop)
            yield from _of_repeated(own, its, a[rows], b[rows], run)


def _of_repeated(own: _Side, its: _Batch, a: Numbers, b: Numbers, run: int) -> Iterator[Runs]:
    """The same of pairs with a window that the second document repeats."""
    first = np.flatnonzero(
        np.diff(own.document[a], prepend=-1) | np.diff(its.document[b], prepend=-1)
    )
    pair = np.repeat(np.arange(len(first)), np.diff(first, append=len(a)))
    times = its.times(b)
    matches = np.add.reduceat(times, first)
    few = are_few(matches, its.windows_of[its.document[b[first]] - its.first])
    part_a, part_b, part_pair, times = (one[few[pair]] for one in (a, b, pair, times))
    i = own.units[np.repeat(part_a, times)].astype(np.int64)
    j = its.units[its.everywhere(part_b, times)].astype(np.int64)
    found = runs_of_matches(
        np.repeat(part_pair, times), i, j, int(own.units.max()) + 1, int(its.units.max()) + 1
    )
    rank = np.arange(len(found[0])) - np.searchsorted(found[0], found[0])
    if (rank >= PASSAGES).any():
        warn_of_limit(pair_cut(PASSAGES))
    columns = [[one[rank < PASSAGES] for one in found]]
    for number in np.flatnonzero(~few).tolist():
        at = first[number]
        runs = runs_between(*_whole(own.of(own.document[a[at]]), its.of(its.document[b[at]])))
        columns.append([np.full(len(runs), number), *np.array(runs, dtype=np.int64).T])
    numbers, i, j, length = (np.concatenate(one) for one in zip(*columns, strict=True))
    numbers = first[numbers]
    own_document, its_document = own.document[a[numbers]], its.document[b[numbers]]
    ends = (
        own.row_of(own_document, i),
        own.row_of(own_document, i + length - 1),
        its.row_of(its_document, j),
        its.row_of(its_document, j + length - 1),
    )
    yield _located(own, its, ends, run)


def _whole(own: Rows, its: Rows) -> tuple[Hashes, Hashes]:
    """The windows of two documents, others than are here being such that agree with none."""
    nothing = unused(np.append(own["hash"], its["hash"]))
    own = own[(own["flags"] & COUNTS) > 0]
    filled = []
    for rows, value in ((own, nothing), (its, ~nothing)):
        filled.append(np.full(int(rows["unit"].max()) + 1, value))
        filled[-1][rows["unit"]] = rows["hash"]
    return filled[0], filled[1]


def _located(own: _Side, its: _Batch, ends: Sequence[Numbers], run: int) -> Runs:
    """Runs, from their first and last rows in both: int64[r] each."""
    a, a_last, b, b_last = ends
    columns = []
    for side, first, last in ((own, a, a_last), (its, b, b_last)):
        begun, ended = side.rows[first], side.rows[last]
        columns += [begun["start"], ended["end"], begun["line"], ended["end_line"]]
    units = [own.units[a], own.units[a_last] + run, its.units[b], its.units[b_last] + run]
    return Runs(
        own.document[a],
        its.document[b],
        np.stack(columns, axis=1),
        np.stack(units, axis=1),
    )
