"""All pairs of documents that share passages.

Two documents are a pair if they share a window whose fingerprint at most `common` documents have:
the pairs of such windows grow linearly with the collection. Their windows are sorted by hash
(lshdb.search.passage_windows), where runs begin and end is found in that order (passage_joins) and
put in the order of pairs (passage_runs); here runs become passages, with texts and shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain, islice, pairwise
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.limits import DEFAULTS
from lshdb.model import CommonPassage, CopiedPassage, PassagePair
from lshdb.search.passage_runs import Runs, SharedRuns, numbers_of
from lshdb.search.passage_texts import Mask, Places, bridged, least_of, run_of
from lshdb.search.passage_windows import StoredWindows
from lshdb.search.spilled import Part, in_parts
from lshdb.shingling.arrays import Numbers, offsets_of, parts_of
from lshdb.shingling.passages import Run
from lshdb.store.store import Store
from lshdb.workers import Job

T = TypeVar("T")

_AHEAD: Final = 6
"""Parts that are written or wait: these are short, and a worker that waits for one does nothing."""
_PASSAGE: Final = 200
"""Characters of a passage but its text, as a line."""
_WORDS: Final = 2
"""The place of `words` among the values of a pair."""


@dataclass(frozen=True, slots=True)
class PairsQuery:
    """The arguments of `Database.passage_pairs`; see there. Invalid ones raise UsageError."""

    least: int | None = None
    top: int | None = None
    gap: int = 0
    common: int = DEFAULTS.common
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


FoundPair: TypeAlias = tuple[tuple[str, str, int, float, float], list[tuple[Any, ...]]]
"""The values of a `PassagePair` but its passages, and those of each `CopiedPassage`."""

Noted: TypeAlias = list[tuple[str, CommonPassage]]
"""Common runs, with the key of a document that has each."""


def passage_pairs(store: Store, query: PairsQuery, common: Noted) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition."""
    for found in found_pairs(store, query, common, list):
        for totals, passages in found:
            yield PassagePair(*totals, tuple(CopiedPassage(*one) for one in passages))


def passage_rows(store: Store, query: PairsQuery, common: Noted) -> Iterator[tuple[Any, ...]]:
    """The same as a row for each passage: what the pair has in common, and the passage."""
    for found in found_pairs(store, query, common, list):
        for totals, passages in found:
            for passage in passages:
                yield totals + passage


def found_pairs(
    store: Store, query: PairsQuery, common: Noted, form: Callable[[Iterable[FoundPair]], T]
) -> Iterator[T]:
    """The same as values, some pairs at a time, each in some form.

    In memory are the fingerprints that documents share, 8 bytes each, and a bounded number of
    windows and runs; the others are in temporary files, up to six times the size of the texts.

    Args:
        store: the file.
        query: what is asked.
        common: gets the longest common runs, before the first pair.
        form: makes something of pairs, perhaps in a worker process; a function of a module.
    """
    with store.beside() as reader:
        least = least_of(query.least, run_of(reader.settings))
        windows = StoredWindows(reader, query.common, query.base)
    common[:] = windows.common
    with closing(windows), closing(SharedRuns(windows, least)) as runs:
        if query.top is None:
            yield from _formed(windows, runs, query, form)
        else:
            pairs = chain.from_iterable(_formed(windows, runs, query, list))
            yield form(nlargest(query.top, pairs, key=lambda pair: pair[0][_WORDS]))


def _formed(
    windows: StoredWindows,
    runs: SharedRuns,
    query: PairsQuery,
    form: Callable[[Iterable[FoundPair]], T],
) -> Iterator[T]:
    job = _Showing(windows, runs, query, form)
    sizes = (runs.characters + _PASSAGE * runs.sizes).astype(np.int64)
    limits = windows.limits
    parts = [(part.start, part.stop) for part in parts_of(sizes, limits.passage_windows << 4)]
    for _, some in in_parts(job, parts, [windows.texts, windows.keys, runs], limits, _AHEAD):
        yield some


@dataclass(frozen=True, slots=True)
class _Showing(Job[Part, T]):
    """Makes something of the pairs whose documents a are in some cells.

    Attributes:
        windows: of all documents.
        runs: of all pairs.
        query: what is asked.
        form: see found_pairs.
    """

    windows: StoredWindows
    runs: SharedRuns
    query: PairsQuery
    form: Callable[[Iterable[FoundPair]], T]

    def run(self, part: Part) -> T:
        """Make it."""
        return self.form(self._shown(self.runs.read(part)))

    def _shown(self, runs: Runs) -> Iterator[FoundPair]:
        """The pairs of documents that share runs, which are in the order of pairs."""
        windows, query = self.windows, self.query
        new = np.diff(runs["pair"], prepend=-1) != 0
        words = _covered(runs["units"][:, :2], new)
        if query.top is not None and len(words) > query.top:
            best = np.argsort(-words, kind="stable")[: query.top]
            yield from self._shown(runs.compress(np.isin(np.cumsum(new) - 1, best)))
            return
        begins = np.flatnonzero(new)
        a, b = numbers_of(runs["pair"][begins])
        shares = words / windows.units[a], _covered(runs["units"][:, 2:], new) / windows.units[b]
        keys = {one: windows.keys.read(one) for one in np.unique(np.append(a, b)).tolist()}
        passages = _passages(runs, np.diff(begins, append=len(runs)), query.gap)
        columns = [*passages.places.T.tolist(), passages.words.tolist()]
        texts = []
        last, text = -1, ""
        for own, start, end in zip(
            np.repeat(a, passages.sizes).tolist(), *columns[:2], strict=True
        ):
            if own != last:
                last, text = own, windows.texts.read(own)
            texts.append(text[start:end])
        rows = zip(*columns, passages.similarities.tolist(), texts, strict=True)
        totals = zip(*(one.tolist() for one in (a, b, words, *shares)), strict=True)
        for (one, other, *total), size in zip(totals, passages.sizes.tolist(), strict=True):
            yield (keys[one], keys[other], *total), list(islice(rows, size))


@dataclass(frozen=True, slots=True)
class _Passages:
    """The passages of some pairs, those of a pair one after the other.

    Attributes:
        places: int32 or int64[p, 8], as in `Runs`.
        words: int64[p], how many words of each are shared.
        similarities: float64[p].
        sizes: int64[pairs], how many each pair has.
    """

    places: npt.NDArray[Any]
    words: Numbers
    similarities: npt.NDArray[np.float64]
    sizes: Numbers


def _passages(runs: Runs, sizes: Numbers, gap: int) -> _Passages:
    """The passages of pairs that have some numbers of runs, int64[pairs]."""
    if not gap:
        words = np.diff(runs["units"][:, :2])[:, 0].astype(np.int64)
        return _Passages(runs["places"], words, np.ones(len(words)), sizes)
    joined: list[list[int]] = []
    counts = []
    spans, places = runs["units"].tolist(), runs["places"].tolist()
    for begin, end in pairwise(offsets_of(sizes).tolist()):
        passages = _bridged(spans[begin:end], places[begin:end], gap)
        joined += passages
        counts.append(len(passages))
    columns = np.array(joined, dtype=np.int64).reshape(-1, 10)
    words = columns[:, 8]
    return _Passages(columns[:, :8], words, words / columns[:, 9], np.array(counts, dtype=np.int64))


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


def _covered(units: Places, new: Mask) -> Numbers:
    """How many units the runs of each pair cover, int64[pairs].

    Args:
        units: int32[r, 2], the first unit of each run, and the last + 1.
        new: bool[r], where a pair begins.
    """
    if not len(new):
        return np.empty(0, dtype=np.int64)
    # The units of each pair stand behind those of the pairs before.
    behind = (np.cumsum(new) - 1) * int(units.max())
    first, end = units.T.astype(np.int64) + behind
    order = np.argsort(first, kind="stable")
    first, end = first[order], end[order]
    done = np.append(0, np.maximum.accumulate(end)[:-1])
    covered = np.maximum(end - np.maximum(first, done), 0)
    return np.add.reduceat(covered, np.flatnonzero(new))
