"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (lshdb.shingling.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from lshdb import model, options
from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.search import passage_runs, passage_windows, similarity, weights
from lshdb.search.query import row_of_key
from lshdb.search.reworded import find_reworded
from lshdb.search.shared_runs import Segments
from lshdb.shingling import content, winnowing
from lshdb.shingling.arrays import (
    NO_NUMBERS,
    IntArray,
    Mask,
    Shares,
    first_of_each,
    int_array,
    is_new,
    runs,
)
from lshdb.sketching.settings import Settings, unit_of
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_TOGETHER = 12
"""Characters of texts that are compared at once, for each window."""
_KEPT = 3
"""Parts of a block whose shared windows are kept: at most some 100 MB each."""


def criteria_of(
    query: options.CopiedOptions, settings: Settings, limits: Limits
) -> passage_runs.Criteria:
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


def find_passages(store: Store, query: options.PassagesOptions) -> model.Passages:
    """The stored documents that share passages with a text, or with the document of a key."""
    find = find_reworded if query.search.reworded else _find
    with store.reading():
        if query.key is None:
            text = str(content.cleaned(query.text or "", store.settings.shingling))
            return find(store, query, text, -1)
        row = row_of_key(store, query.key)
        return find(store, query, row.content or "", row.doc_id)


def _find(
    store: StoreReader, request: options.PassagesOptions, text: str, text_id: int
) -> model.Passages:
    query, settings = request.search, store.settings
    criteria = criteria_of(query.copied, settings, store.limits)
    limit = query.copied.runs.common
    prints = winnowing.fingerprints([text], settings.shingling, criteria.run, settings.seed)
    if not len(prints):
        return model.Passages(0, criteria.run, unit_of(settings.shingling), (), ())
    index, doc_ids = store.documents_of_fingerprints(prints.values, limit + 1)
    many = np.bincount(index, minlength=len(prints)) > limit
    hot = prints.values[many]
    common = passage_windows.common_windows(store, hot)
    others = doc_ids != text_id
    shared_prints = prints.values[np.unique(index[others])]
    counting_all = passage_windows.Counting.of(settings, hot)
    text_windows = counting_all.windows_of([text])
    counting = dataclasses.replace(counting_all, common=common, shared=shared_prints)
    counting = counting.with_base(query.copied.base)
    candidates = np.unique(doc_ids[others & ~many[index]])
    matches: list[tuple[int, int, passage_runs.Shared]] = []
    remaining_ids = iter(candidates.tolist())
    for batch in similarity.batches_of_text(store, candidates):
        texts = counting.windows_of([text, *batch])
        numbers = np.arange(len(batch))
        ids = [*islice(remaining_ids, len(batch))]
        shared_texts = passage_runs.shared_passages(
            passage_runs.Pairs(texts, np.zeros_like(numbers), numbers + 1), criteria
        )
        matches += (
            (ids[shared.pair], int(texts.units[shared.pair + 1]), shared) for shared in shared_texts
        )
    matches.sort(key=lambda match: (-match[2].words, -match[2].longest, match[1], match[0]))
    if not query.weighted.sort and query.weighted.min_weighted is None:
        matches = matches[: query.top]
    doc_ids = int_array(doc_id for doc_id, _, _ in matches)
    weighted = _weighted(store, text, doc_ids, query.copied.base)
    sources = (
        model.Source(
            key, shared.coverage, shared.b_coverage, shared.words, shared.passages, *shares
        )
        for key, (_, _, shared), shares in zip(
            store.keys_of(doc_ids), matches, weighted, strict=True
        )
    )
    runs = passage_windows.common_passages(text, text_windows.windows, common, criteria.run)
    units = int(text_windows.units[0])
    ranked = weights.ranked(sources, query.weighted, query.top)
    return model.Passages(
        units, criteria.run, unit_of(settings.shingling), tuple(ranked), tuple(runs)
    )


def _weighted(
    store: StoreReader, text: str, doc_ids: IntArray, base: Sequence[str]
) -> Iterable[tuple[float, float]]:
    """How similar documents int64[n] are to a text, weighted by rarity."""
    contents = lambda numbers: [text, *store.contents(doc_ids[numbers[1:] - 1])]  # noqa: E731
    sizes = np.append(len(text), store.sizes(doc_ids)[0])
    others = np.arange(1, len(sizes))
    firsts = np.zeros_like(others)
    return zip(*weights.weigh(store, contents, sizes, firsts, others, base), strict=True)


class _Part(NamedTuple):
    """Texts that were compared together.

    Attributes:
        numbers: int64[n], those by which the caller names the texts; ascending.
        segments: what they share.
    """

    numbers: IntArray
    segments: Segments

    def has(self, numbers: IntArray) -> Mask:
        """Which texts int64[n] are among them, bool[n]."""
        return passage_windows.is_in(numbers, self.numbers)

    def of(
        self, copies: IntArray, sources: IntArray, pairs: IntArray
    ) -> tuple[Segments, IntArray, IntArray]:
        """What they share, and the indices of both texts of some pairs."""
        copy, source = (self.numbers.searchsorted(side[pairs]) for side in (copies, sources))
        return self.segments, copy, source


@dataclasses.dataclass(eq=False)
class CopiedShares:
    """The shares of their words that texts copy, in runs, from other texts, their sources.

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
        run = self.min_words
        settings = dataclasses.replace(self.settings, passages=run)
        self._counting = passage_windows.Counting.of(settings, NO_NUMBERS)
        self._together = self.limits.passage_windows * _TOGETHER
        self._criteria = passage_runs.Criteria(run, run, 0, self.limits.passages)
        self._parts: list[_Part] = []  # those that were compared last are the last

    def scores(self, copies: IntArray, sources: IntArray, _minimum: float) -> Shares:
        """The share of the copy's words that are in passages, for each pair: float64[n].

        Args:
            copies: int64[n], the number of the copying text of each pair.
            sources: int64[n], the number of the text that it may copy.
        """
        shares = np.zeros(len(copies))
        for pairs, segments, copy, source in self._parted(copies, sources):
            counted = np.maximum(segments.texts.counted[copy], 1)
            shares[pairs] = segments.covered(copy, source) / counted
        return shares

    def longest(self, copies: IntArray, sources: IntArray) -> list[model.CopiedPassage | None]:
        """The longest passage of each pair of a text and a source, the first of equal ones."""
        passages: list[model.CopiedPassage | None] = [None] * len(copies)
        for pairs, segments, copy, source in self._parted(copies, sources):
            runs = segments.between(copy, source, self.min_words).runs
            order = first_of_each(runs.pair, 1, -np.arange(len(runs.pair)), -runs.length)
            both = passage_runs.Pairs(segments.texts, copy, source)
            listed = passage_runs.listed_passages(both, runs.chosen(order), self._criteria)
            for number, passage in listed:
                passages[pairs[number]] = passage
        return passages

    def covering(
        self, copies: IntArray, sources: IntArray
    ) -> Iterator[tuple[int, model.CopiedPassage]]:
        """Passages of texts that cover all that sources have of them, with the pairs' indices.

        They come from few sources of each text: as long as words are in no chosen source, the one
        that has most windows of them is chosen, of equal ones the first. Windows of three units or
        more that follow each other overlap, so it does not matter in which source each is found.

        Args:
            copies: int64[n], the number of the copying text of each pair.
            sources: int64[n], that of the other one; of each copy the preferred ones first.
        """
        for pairs, segments, copy, source in self._parted(copies, sources):
            chosen = _covering(segments, copy, source)
            both = passage_runs.Pairs(segments.texts, copy[chosen], source[chosen])
            runs = segments.between(both.a, both.b, self.min_words).runs
            # Those that are within no other one of the copy, whatever sources they are from.
            order = np.lexsort((-runs.length, runs.a))
            ends = np.maximum.accumulate((runs.a + runs.length)[order])
            runs = runs.chosen(np.sort(order[is_new(ends)]))
            for number, passage in passage_runs.listed_passages(both, runs, self._criteria):
                yield int(pairs[chosen[number]]), passage

    def _parted(
        self, copies: IntArray, sources: IntArray
    ) -> Iterator[tuple[IntArray, Segments, IntArray, IntArray]]:
        """The texts of pairs, int64[n] both, part by part, as they fit into memory.

        Yields:
            The indices of pairs, what their texts share, and the indices of both texts there.
        """
        waiting = np.argsort(copies, kind="stable")
        for part in [*self._parts]:
            sides = copies[waiting], sources[waiting]
            known = part.has(sides[0]) & part.has(sides[1]) & (sides[0] != sides[1])
            if known.any():
                yield waiting[known], *part.of(copies, sources, waiting[known])
                waiting = waiting[~known]
        parts = [waiting] if len(waiting) else []
        while parts:
            pairs = parts.pop()
            numbers = np.unique([copies[pairs], sources[pairs]])
            if len(pairs) > 1 and self.lengths[numbers].sum() > self._together:
                # Along the side that has more texts, so that the fewest are cut again.
                side = max((copies, sources), key=lambda numbers: len(np.unique(numbers[pairs])))
                pairs = pairs[np.argsort(side[pairs], kind="stable")]
                parts += np.split(pairs, [len(pairs) // 2])[::-1]
                continue
            pairs = np.sort(pairs)
            pairs = pairs[np.argsort(copies[pairs], kind="stable")]
            alone = numbers.searchsorted(copies[pairs[copies[pairs] == sources[pairs]]])
            texts = self._counting.windows_of(self.contents(numbers))
            part = _Part(numbers, Segments.of(texts, self.min_words, alone))
            self._parts = [*self._parts[1 - _KEPT :], part]
            yield pairs, *part.of(copies, sources, pairs)


def _covering(segments: Segments, copies: IntArray, sources: IntArray) -> IntArray:
    """Few of n pairs of texts that cover what all share: see CopiedShares.covering; int64[any]."""
    alike = copies * len(segments.arrangements) + segments.arrangements[sources]
    _, first = np.unique(alike, return_index=True)
    first.sort()
    hits = segments.hits(copies[first], sources[first])
    bounds = hits.pair.searchsorted(np.arange(len(first) + 1))
    chosen: list[int] = []
    for begin, end in zip(*runs(copies[first]), strict=True):
        part = slice(bounds[begin], bounds[end])
        own = segments.offsets[copies[first[begin]]]
        size = int(segments.offsets[copies[first[begin]] + 1] - own)
        shared = np.zeros((end - begin, size), dtype=np.bool_)
        shared[hits.pair[part] - begin, hits.segment[part] - own] = True
        length, uncovered = segments.length[own : own + size], shared.any(axis=0)
        while uncovered.any():
            best = int(((shared & uncovered) @ length).argmax())
            uncovered &= ~shared[best]
            chosen.append(int(first[begin + best]))
    return int_array(chosen)
