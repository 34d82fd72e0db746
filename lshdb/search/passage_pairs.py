"""All pairs of documents that share passages.

Two documents are a pair if they share a window whose fingerprint at most `common` documents have:
the pairs of such windows grow linearly with the collection. lshdb.search.passage_joins finds them;
here their runs become passages, with texts and shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain, islice, pairwise, repeat
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.model import CopiedPassage, PassagePair
from lshdb.search.limits import COMMON
from lshdb.search.passage_joins import Runs, all_runs
from lshdb.search.passage_texts import (
    Mask,
    base_windows,
    bridged,
    common_windows,
    least_of,
    run_of,
)
from lshdb.search.passage_windows import StoredWindows, slots_of
from lshdb.shingling.arrays import Numbers, offsets_of, parts_of
from lshdb.shingling.passages import Run
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_PAIRS: Final = 1 << 10
"""Pairs that become objects at once."""
_WORDS: Final = 2
"""The place of `words` among the values of a pair."""


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
    """The same as values, which a command writes without an object for each passage.

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
    with closing(_windows(reader, query)) as windows:
        for runs in all_runs(windows, run):
            long = runs.units[:, 1] - runs.units[:, 0] >= least
            yield from _shown(reader, windows, runs.take(long), query)


def _windows(reader: StoreReader, query: PairsQuery) -> StoredWindows:
    shared, hot = reader.shared_fingerprints(query.common)
    left_out = [common_windows(reader, hot), *base_windows(query.base, reader.settings)]
    slots = slots_of(shared)
    del shared  # 8 bytes each
    return StoredWindows(reader, slots, hot, left_out)


def _shown(
    reader: StoreReader, windows: StoredWindows, runs: Runs, query: PairsQuery
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
        places: int32[p, 8], as in `Runs`.
        words: int64[p], how many words of each are shared.
        similarities: float64[p].
        sizes: int64[pairs], how many each pair has.
    """

    places: Numbers
    words: Numbers
    similarities: npt.NDArray[np.float64]
    sizes: Numbers


def _passages(runs: Runs, sizes: Numbers, gap: int) -> _Passages:
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
