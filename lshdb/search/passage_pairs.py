"""All pairs of documents that share passages.

The windows of some documents, in the order of their hashes, are joined with those of all later
documents; windows that follow each other in both are a run. Two documents are a pair if they share
a window whose fingerprint at most `common` documents have: the pairs of such windows grow linearly
with the collection. Other windows may be in all documents; they are searched in these pairs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from itertools import chain, islice, pairwise, repeat
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import Cut, UsageError, limits_noted, warn_of_limit
from lshdb.model import CopiedPassage, PassagePair
from lshdb.search.limits import COMMON, PASSAGES, pair_cut
from lshdb.search.passage_rows import (
    AGAIN,
    CAN_SHARE,
    COUNTS,
    HOT,
    PROCESSES,
    REPEATED,
    Rows,
    StoredWindows,
)
from lshdb.search.passage_texts import (
    Mask,
    WindowIndex,
    are_few,
    base_windows,
    bridged,
    common_windows,
    is_in,
    least_of,
    run_of,
    runs_between,
    runs_of_matches,
    unused,
)
from lshdb.shingling.arrays import Numbers, offsets_of, parts_of, places_of
from lshdb.shingling.hashing import Hashes
from lshdb.shingling.passages import Run
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store
from lshdb.workers import Job, Workers, default_workers

_OWN: Final = 1 << 20
"""Windows of the first documents of pairs in memory, some 70 bytes each. All other
documents are read once for these. One document may have more."""
_OTHERS: Final = 1 << 18
"""Windows of the other documents in memory, some 70 bytes each; one document may have more."""
_RUNS: Final = 1 << 19
"""Runs of some first documents in memory, 64 bytes each, and as much again to put them in order;
where there are more, there are fewer first documents."""
_MATCHES: Final = 1 << 19
"""Windows that pairs share in memory, some 100 bytes each; one document may have more."""
_PAIRS: Final = 1 << 10
"""Pairs that become objects at once."""
_WORDS: Final = 2
"""The place of `words` among the values of a pair."""
_32: Final = 32
_LOW: Final = (1 << _32) - 1


@dataclass(frozen=True, slots=True)
class PairsQuery:
    """The arguments of `Database.passage_pairs`; see there. Invalid ones raise UsageError."""

    least: int | None = None
    top: int | None = None
    gap: int = 0
    common: int = COMMON
    base: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_limits(self.top, self.gap, self.common)


def check_limits(top: int | None, gap: int, common: int) -> None:
    """UsageError for arguments that no query for passages can have."""
    if top is not None and top < 1:
        raise UsageError(f"top {top} is below 1")
    if gap < 0:
        raise UsageError(f"gap {gap} is below 0")
    if common < 1:
        raise UsageError(f"common {common} is below 1")


@dataclass(frozen=True, slots=True)
class _Runs:
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

    def take(self, rows: Numbers | Mask | slice) -> _Runs:
        """Some of the runs."""
        return _Runs(self.a[rows], self.b[rows], self.places[rows], self.units[rows])


_NONE: Final = np.empty(0, dtype=np.int64)
_NO_RUNS: Final = _Runs(_NONE, _NONE, np.empty((0, 8), np.int32), np.empty((0, 4), np.int32))


FoundPair: TypeAlias = tuple[tuple[str, str, int, float, float], list[tuple[Any, ...]]]
"""The values of a `PassagePair` but its passages, and those of each `CopiedPassage`."""


def passage_pairs(store: Store, query: PairsQuery) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition."""
    for totals, passages in found_pairs(store, query):
        found = tuple(CopiedPassage(*one) for one in passages)
        yield PassagePair(*totals, found)


def passage_rows(store: Store, query: PairsQuery) -> Iterator[tuple[Any, ...]]:
    """The same as a row for each passage: what the pair has in common, and the passage."""
    for totals, passages in found_pairs(store, query):
        for passage in passages:
            yield totals + passage


def found_pairs(store: Store, query: PairsQuery) -> Iterator[FoundPair]:
    """The same as values: objects would take as long as finding the passages.

    In memory are the fingerprints that documents share, 8 bytes each, and a bounded number of
    windows.
    """
    with store.beside() as reader:
        pairs = _pairs(reader, query)
        if query.top is None:
            yield from pairs
        else:
            yield from nlargest(query.top, pairs, key=lambda pair: pair[0][_WORDS])


def _pairs(reader: StoreReader, query: PairsQuery) -> Iterator[FoundPair]:
    run = run_of(reader.settings)
    least = least_of(query.least, run)
    hot = reader.common_fingerprints(query.common)
    left_out = [common_windows(reader, hot), *base_windows(query.base, reader.settings)]
    with closing(StoredWindows(reader, hot, left_out)) as windows:
        for runs in _all_runs(windows, run):
            long = runs.units[:, 1] - runs.units[:, 0] >= least
            yield from _shown(reader, windows, runs.take(long), query)


def _all_runs(windows: StoredWindows, run: int) -> Iterator[_Runs]:
    """All runs, in the order of pairs, found in a worker process while others are written here."""
    job = _Joining(windows, run)
    parts = [(part.start, part.stop) for part in parts_of(windows.sizes, _OWN)]
    count = min(default_workers(), PROCESSES) if len(parts) > 1 and CAN_SHARE else 0
    files = [windows.descriptor] if count else []
    with Workers(job, count, alone=0, helping=False, files=files) as pool:
        for part, found in zip(parts, pool.results(parts, ahead=1), strict=True):
            yield from job.complete(part, found)


Joined: TypeAlias = tuple[_Runs | None, list[Cut]]
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

    def complete(self, part: tuple[int, int], found: Joined) -> Iterator[_Runs]:
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

    def _joined(self, first: int, end: int) -> _Runs | None:
        windows = self.windows
        own = _Own(windows, first, end)
        found = [_NO_RUNS]
        count = 0
        for part in parts_of(windows.sizes[first:], _OTHERS):
            its = _Side(windows, first + part.start, first + part.stop)
            for runs in own.runs_with(its, self.units):
                found.append(runs)
                count += len(runs.a)
            if count > _RUNS and end > first + 1:
                return None
        runs = _Runs(
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
        order = np.flatnonzero((self.flags & (REPEATED | AGAIN)) > 0)
        order = order[np.argsort(self.hashes[order], kind="stable")]
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

    def runs_with(self, its: _Side, run: int) -> Iterator[_Runs]:
        """The runs that they share with others."""
        rows = np.flatnonzero((its.flags & (HOT | AGAIN)) == 0)
        found, left, count = self._index.find(its.hashes[rows])
        rows = rows[found]
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
                yield from _runs(self, its, a, b, run)

    def _hot_matches(
        self, its: _Side, one: Numbers, other: Numbers
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


def _runs(own: _Side, its: _Side, a: Numbers, b: Numbers, run: int) -> Iterator[_Runs]:
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


def _of_repeated(own: _Side, its: _Side, a: Numbers, b: Numbers, run: int) -> Iterator[_Runs]:
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


def _located(own: _Side, its: _Side, ends: Sequence[Numbers], run: int) -> _Runs:
    """Runs, from their first and last rows in both: int64[r] each."""
    a, a_last, b, b_last = ends
    columns = []
    for side, first, last in ((own, a, a_last), (its, b, b_last)):
        begun, ended = side.rows[first], side.rows[last]
        columns += [begun["start"], ended["end"], begun["line"], ended["end_line"]]
    units = [own.units[a], own.units[a_last] + run, its.units[b], its.units[b_last] + run]
    return _Runs(
        own.document[a],
        its.document[b],
        np.stack(columns, axis=1),
        np.stack(units, axis=1),
    )


def _shown(
    reader: StoreReader, windows: StoredWindows, runs: _Runs, query: PairsQuery
) -> Iterator[FoundPair]:
    """The pairs of documents that share runs, which are in the order of pairs."""
    new = (np.diff(runs.a, prepend=-1) != 0) | (np.diff(runs.b, prepend=-1) != 0)
    words = _covered(runs.units[:, 0], runs.units[:, 1], new)
    if query.top is not None and len(words) > query.top:
        best = np.argsort(-words, kind="stable")[: query.top]
        runs = runs.take(np.isin(np.cumsum(new) - 1, best))
        yield from _shown(reader, windows, runs, query)
        return
    units, doc_ids = windows.counts + run_of(reader.settings) - 1, windows.doc_ids
    begins = np.flatnonzero(new)
    a, b = runs.a[begins], runs.b[begins]
    shares = words / units[a], _covered(runs.units[:, 2], runs.units[:, 3], new) / units[b]
    documents = np.unique(np.append(a, b))
    keys = dict(zip(documents.tolist(), reader.keys_of(doc_ids[documents]), strict=True))
    own, first = np.unique(a, return_index=True)
    contents = reader.contents(doc_ids[own])
    bounds = np.append(begins, len(new))
    first = np.append(first, len(a))
    for part in parts_of(np.diff(first), _PAIRS):
        pairs = slice(first[part.start], first[part.stop])
        some = runs.take(slice(bounds[pairs.start], bounds[pairs.stop]))
        passages = _passages(some, np.diff(bounds[pairs.start : pairs.stop + 1]), query.gap)
        columns = [*passages.places.T.tolist(), passages.words.tolist()]
        at = (first[part.start : part.stop + 1] - pairs.start).tolist()
        sizes = passages.sizes.tolist()
        each_text = chain.from_iterable(
            repeat(text, sum(sizes[begin:end]))
            for (begin, end), text in zip(pairwise(at), contents, strict=False)
        )
        texts = [text[s:e] for text, s, e in zip(each_text, *columns[:2], strict=True)]
        rows = zip(*columns, passages.similarities.tolist(), texts, strict=True)
        totals = zip(*(one[pairs].tolist() for one in (a, b, words, *shares)), strict=True)
        for (one, other, total, a_share, b_share), size in zip(totals, sizes, strict=True):
            yield (keys[one], keys[other], total, a_share, b_share), list(islice(rows, size))


@dataclass(frozen=True, slots=True)
class _Passages:
    """The passages of some pairs, those of a pair one after the other.

    Attributes:
        places: int32[p, 8], as in `_Runs`.
        words: int64[p], how many words of each are shared.
        similarities: float64[p].
        sizes: int64[pairs], how many each pair has.
    """

    places: Numbers
    words: Numbers
    similarities: npt.NDArray[np.float64]
    sizes: Numbers


def _passages(runs: _Runs, sizes: Numbers, gap: int) -> _Passages:
    """The passages of pairs that have some numbers of runs, int64[pairs]."""
    if not gap:
        words = runs.units[:, 1] - runs.units[:, 0]
        return _Passages(runs.places, words, np.ones(len(words)), sizes)
    joined: list[list[int]] = []
    counts = []
    spans, places = runs.units.tolist(), runs.places.tolist()
    for begin, end in pairwise(offsets_of(sizes).tolist()):
        passages = _bridged(spans[begin:end], places[begin:end], gap)
        joined += passages
        counts.append(len(passages))
    columns = np.array(joined, dtype=np.int64).reshape(-1, 10)
    words = columns[:, 8]
    return _Passages(columns[:, :8], words, words / columns[:, 9], np.array(counts))


def _bridged(units: list[list[int]], places: list[list[int]], gap: int) -> list[list[int]]:
    """The passages of a pair, from the units and places of its runs.

    Returns:
        For each the places, how many words are shared, and the words of its longer side.
    """
    begun: dict[tuple[int, int], tuple[int, int]] = {}
    ended: dict[tuple[int, int], tuple[int, int]] = {}
    for each, place in zip(units, places, strict=True):
        for side in (0, 2):
            start, end, line, end_line = place[2 * side : 2 * side + 4]
            begun[side, each[side]] = start, line
            ended[side, each[side + 1]] = end, end_line
    passages = []
    runs = [Run(a, b, a_end - a) for a, a_end, b, _ in units]
    for a, a_end, b, b_end, words in bridged(runs, 1, gap):
        row: list[int] = []
        for side, first, last in ((0, a, a_end), (2, b, b_end)):
            (start, line), (end, end_line) = begun[side, first], ended[side, last]
            row += [start, end, line, end_line]
        passages.append([*row, words, max(a_end - a, b_end - b)])
    return passages


def _covered(first: Numbers, end: Numbers, new: Mask) -> Numbers:
    """How many units the runs of each pair cover, int64[pairs].

    Args:
        first: int64[r], the first unit of each run.
        end: int64[r], the last + 1.
        new: bool[r], where a pair begins.
    """
    if not len(new):
        return np.empty(0, dtype=np.int64)
    # The units of each pair stand behind those of the pairs before.
    behind = (np.cumsum(new) - 1) * int(end.max())
    order = np.argsort(first + behind, kind="stable")
    first, end = (first + behind)[order], (end + behind)[order]
    done = np.append(0, np.maximum.accumulate(end)[:-1])
    covered = np.maximum(end - np.maximum(first, done), 0)
    return np.add.reduceat(covered, np.flatnonzero(new))
