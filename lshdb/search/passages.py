"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (lshdb.shingling.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.model import CopiedPassage, Passages, Source
from lshdb.options import CopiedOptions, PassagesOptions
from lshdb.search import passage_runs, passage_windows, similarity, weights
from lshdb.search.lookup import FingerprintCodes, members
from lshdb.search.query import row_of_key
from lshdb.search.reworded import find_reworded
from lshdb.search.shared_windows import MAX_CELLS, SharedWindows
from lshdb.shingling import content, winnowing
from lshdb.shingling.arrays import NO_NUMBERS, IntArray, int_array, runs
from lshdb.sketching.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_TOGETHER = 4
"""Characters of texts that are compared at once, for each window."""
_KEPT = 4
"""Parts of a block whose windows are kept: some 50 MB each, besides their tables."""


def criteria_of(query: CopiedOptions, settings: Settings, limits: Limits) -> passage_runs.Criteria:
    """The passages that a query wants; UsageError if its index may miss such runs."""
    run = passage_windows.run_of(settings)
    min_words = run if query.min_words is None else query.min_words
    if min_words < run:
        raise UsageError(
            f"min_words {min_words} is below {run}, the shortest run that this index finds: ask "
            f"for {run} or more, or rebuild the index with `lshdb reindex --passages "
            f"{max(min_words, 3)}`"
        )
    return passage_runs.Criteria(run, min_words, query.runs.gap, limits.passages)


def find_passages(store: Store, query: PassagesOptions) -> Passages:
    """The stored documents that share passages with a text, or with the document of a key."""
    find = find_reworded if query.search.reworded else _find
    with store.reading():
        if query.key is None:
            text = str(content.cleaned(query.text or "", store.settings.shingling))
            return find(store, query, text, -1)
        row = row_of_key(store, query.key)
        return find(store, query, row.content or "", row.doc_id)


def _find(store: StoreReader, request: PassagesOptions, text: str, own_id: int) -> Passages:
    query, settings = request.search, store.settings
    criteria = criteria_of(query.copied, settings, store.limits)
    limit = query.copied.runs.common or store.limits.common
    prints = winnowing.fingerprints([text], settings.shingling, criteria.run, settings.seed)
    if not len(prints):
        return Passages(0, criteria.run, unit_of(settings), (), ())
    index, doc_ids = members(store, FingerprintCodes(prints.values), limit + 1)
    many = np.bincount(index, minlength=len(prints)) > limit
    hot = prints.values[many]
    common = passage_windows.common_windows(store, hot)
    others = doc_ids != own_id
    shared = prints.values[np.unique(index[others])]
    every = passage_windows.Counting.of(settings, hot)
    own = every.windows_of([text])
    counting = replace(every, left_out=(common,), shared=shared).with_base(query.copied.base)
    candidates = np.unique(doc_ids[others & ~many[index]])
    found: list[tuple[int, int, passage_runs.Shared]] = []
    waiting = iter(candidates.tolist())
    for batch in similarity.batches_of_text(store, candidates):
        texts = counting.windows_of([text, *batch])
        numbers = np.arange(len(batch))
        ids = [*islice(waiting, len(batch))]
        shown = passage_runs.shared_passages(
            passage_runs.Pairs(texts, np.zeros_like(numbers), numbers + 1), criteria
        )
        found += ((ids[one.pair], int(texts.units[one.pair + 1]), one) for one in shown)
    found.sort(key=lambda each: (-each[2].words, -each[2].longest, each[1], each[0]))
    if not query.weighted.sort and query.weighted.min_weighted is None:
        found = found[: query.top]
    doc_ids = int_array(doc_id for doc_id, _, _ in found)
    weighted = _weighted(store, text, doc_ids, query.copied.base)
    sources = (
        Source(key, one.coverage, one.b_coverage, one.words, one.passages, *shares)
        for key, (_, _, one), shares in zip(store.keys_of(doc_ids), found, weighted, strict=True)
    )
    runs = passage_windows.common_passages(text, own.windows, common, criteria.run)
    units = int(own.units[0])
    ranked = weights.ranked(sources, query.weighted, query.top)
    return Passages(units, criteria.run, unit_of(settings), tuple(ranked), tuple(runs))


def _weighted(
    store: StoreReader, text: str, doc_ids: IntArray, base: Sequence[str]
) -> Iterable[tuple[float, float]]:
    """How similar documents int64[n] are to a text, weighted by rarity."""
    contents = lambda numbers: [text, *store.contents(doc_ids[numbers[1:] - 1])]  # noqa: E731
    sizes = np.append(len(text), store.sizes(doc_ids)[0])
    other = np.arange(1, len(sizes))
    one = np.zeros_like(other)
    return zip(*weights.weigh(store, contents, sizes, one, other, base), strict=True)


def unit_of(settings: Settings) -> str:
    """What a unit is called."""
    return {"word": "word", "code": "token"}.get(settings.shingling.kind, "character")


@dataclass(eq=False, slots=True)
class _Part:
    """Pairs whose windows fit together, and these as long as there is room for them."""

    one: IntArray
    other: IntArray
    windows: SharedWindows | None

    @property
    def cells(self) -> int:
        """Cells of the table."""
        return 0 if self.windows is None else self.windows.cells


@dataclass(eq=False)
class Copied:
    """What texts copy from others: the share of their words that both have in runs.

    Attributes:
        contents: gives the texts of documents, by ascending numbers int64[n].
        lengths: int64[m], of the text of each document, by its number.
        settings: of the documents.
        limits: on what is read at once, and listed.
        min_words: words of the shortest run.
    """

    contents: Callable[[IntArray], Sequence[str]]
    lengths: IntArray
    settings: Settings
    limits: Limits
    min_words: int

    def __post_init__(self) -> None:
        settings = replace(self.settings, passages=self.min_words)
        self._counting = passage_windows.Counting.of(settings, NO_NUMBERS)
        self._parts: list[_Part] = []  # those whose windows were found last are the last
        self._of_pairs: dict[tuple[int, int], tuple[CopiedPassage, ...]] = {}

    @property
    def passages(self) -> PassagesOfPairs:
        """The passages of pairs."""
        return PassagesOfPairs(self)

    def scores(self, one: IntArray, other: IntArray, _minimum: float) -> similarity.Shares:
        """The share of the words of the one of each pair that are in passages: float64[n].

        Args:
            one: int64[n], the one of each pair.
            other: int64[n], the other.
        """
        found = np.zeros(len(one))
        order = np.argsort(one, kind="stable")
        one, other = one[order], other[order]
        for pairs, windows in self._windows(one, other):
            for begin, end in zip(*runs(one[pairs]), strict=True):
                some = pairs[begin:end]
                found[order[some]] = windows.shares(int(one[some[0]]), other[some])
        return found

    def covering(self, one: int, others: Sequence[int]) -> list[tuple[int, CopiedPassage]]:
        """Passages of a text that cover all that others have, with the indices of the others.

        A text has all of itself; otherwise see SharedWindows.covering.
        """
        if one in others:
            index = others.index(one)
            return [(index, passage) for passage in self.passages[one, one]]
        other = int_array(others)
        found: list[tuple[int, CopiedPassage]] = []
        for pairs, windows in self._windows(np.full_like(other, one), other):
            some = windows.covering(one, other[pairs])
            found += ((int(pairs[index]), passage) for index, passage in some)
        return found

    def of_pair(self, one: int, other: int) -> tuple[CopiedPassage, ...]:
        """All passages of a text that another one has, in its order."""
        ((_, windows),) = self._windows(int_array([one]), int_array([other]))
        return windows.passages(one, other, self.limits.passages)

    def _windows(self, one: IntArray, other: IntArray) -> Iterator[tuple[IntArray, SharedWindows]]:
        """The windows that pairs share, with the indices of the pairs, some at a time.

        Those of pairs of many texts are kept, and found again where they did not fit together.

        Args:
            one: int64[n], the one of each pair; ascending.
            other: int64[n], the other.
        """
        if not len(one):
            return
        many = one[0] != one[-1]
        if many:
            self._parts = []
        elif (known := self._known(one, other)) is not None:
            yield np.arange(len(one)), known
            return
        waiting = [slice(0, len(one))]
        while waiting:
            part = waiting.pop()
            windows = self._fitting(one[part], other[part])
            if windows is None:
                middle = (part.start + part.stop) // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                continue
            if many:
                self._parts.append(_Part(one[part], other[part], windows))
                self._bound()
            yield np.arange(part.start, part.stop), windows

    def _known(self, one: IntArray, other: IntArray) -> SharedWindows | None:
        """The windows of pairs of one text, if they are part of those of many."""
        if (one == other).any():
            return None
        for part in self._parts:
            if not part.one[0] <= one[0] <= part.one[-1]:
                continue
            if part.windows is None and np.isin(other, part.other).all():
                part.windows = self._fitting(part.one, part.other)
                self._parts.sort(key=lambda other: other is part)
                self._bound()
            if part.windows is not None and part.windows.has(one, other):
                return part.windows
        return None

    def _bound(self) -> None:
        """Forget the windows of parts that were found first, until the others fit into memory."""
        kept = [part for part in self._parts if part.windows is not None]
        while len(kept) > _KEPT or (len(kept) > 1 and sum(part.cells for part in kept) > MAX_CELLS):
            kept.pop(0).windows = None

    def _fitting(self, one: IntArray, other: IntArray) -> SharedWindows | None:
        """The windows that pairs share; None if there are more pairs than one, and too much."""
        numbers = np.unique([one, other])
        together = self.limits.passage_windows * _TOGETHER
        if len(one) > 1 and self.lengths[numbers].sum() > together:
            return None
        texts = self._counting.windows_of(self.contents(numbers))
        windows = SharedWindows(texts, numbers, self.min_words, one, other)
        if len(one) > 1 and not windows.fits:
            return None
        windows.fill()
        return windows


@dataclass(frozen=True, slots=True)
class PassagesOfPairs:
    """The passages of pairs of texts, found when they are asked for."""

    copied: Copied

    def __getitem__(self, pair: tuple[int, int]) -> tuple[CopiedPassage, ...]:
        known = self.copied._of_pairs
        if pair not in known:
            known[pair] = self.copied.of_pair(*pair)
        return known[pair]

    def get(self, pair: tuple[int, int], _default: object = None) -> tuple[CopiedPassage, ...]:
        """The passages of a pair; empty if there is none."""
        return self[pair]
