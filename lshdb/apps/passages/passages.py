"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (apps.passages.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.apps.passages import lookups, model, passage_runs, passage_windows, winnowing
from lshdb.apps.passages.model import Passages, Source
from lshdb.apps.passages.options import CopiedOptions, PassagesOptions
from lshdb.apps.passages.reworded import find_reworded
from lshdb.apps.passages.shared_runs import Segments
from lshdb.apps.passages.weights import Prints, ranked
from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.search import similarity
from lshdb.search.query import row_of_key
from lshdb.sketch.settings import Settings, unit_of
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store
from lshdb.text import content
from lshdb.text.arrays import (
    NO_NUMBERS,
    IntArray,
    Mask,
    Shares,
    chunks_of,
    first_of_each,
    int_array,
    sizes_of,
)
from lshdb.text.hashing import distinct

_BATCHES = 4
"""Times passage_windows.TOGETHER that are compared at once: with one, `dedup --cut` of rows made of
lines of a pool takes 1.8 times the CPU (`scripts/bench alike`).
"""
IsSource = Callable[[IntArray, IntArray], Mask]
"""Which of pairs of texts, int64[n] both, are those of a copy and one of its sources: bool[n]."""


class Copies(NamedTuple):
    """Passages that texts copy from their sources, n of them.

    Attributes:
        copies, sources: int64[n], the numbers of both texts.
        shares: float64[n], the share of the copy's words that the source has.
        spans: int32[n, 2], the first character in the copy, and the last + 1.
        passage: makes the i-th, which takes longer than to find it.
    """

    copies: IntArray
    sources: IntArray
    shares: Shares
    spans: npt.NDArray[np.int32]
    passage: Callable[[int], model.CopiedPassage]


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


def _find(store: StoreReader, request: PassagesOptions, text: str, text_id: int) -> Passages:
    query, settings = request.search, store.settings
    criteria = criteria_of(query.copied, settings, store.limits)
    limit = query.copied.runs.common
    prints = winnowing.fingerprints([text], settings.shingling, criteria.run, settings.seed)
    if not len(prints):
        return Passages(0, criteria.run, unit_of(settings.shingling), (), ())
    index, doc_ids = lookups.documents_of_fingerprints(store, prints.values, limit + 1)
    many = np.bincount(index, minlength=len(prints)) > limit
    common = passage_windows.common_windows(store, prints.values[many])
    others = doc_ids != text_id
    shared_prints = prints.values[np.unique(index[others])]
    known = passage_windows.Counting.of(settings, NO_NUMBERS).values_around([text])
    hot = lookups.frequent_fingerprints(store, known, limit)
    counting_all = passage_windows.Counting.of(settings, hot)
    counting = dataclasses.replace(counting_all, common=common, shared=shared_prints)
    counting = counting.with_base(query.copied.base)
    candidates = np.unique(doc_ids[others & ~many[index]])
    matches: list[tuple[tuple[int, ...], Source]] = []
    remaining_ids = iter(candidates.tolist())
    for batch in similarity.batches_of_text(store, candidates):
        # A window leads from a document, too, only if few of its units are in frequent ones there.
        unknown = np.setdiff1d(counting.values_around(batch), known)
        known = np.union1d(known, unknown)
        hot = np.union1d(hot, lookups.frequent_fingerprints(store, unknown, limit))
        texts = dataclasses.replace(counting, hot=hot).windows_of([text, *batch])
        sides = np.zeros(len(batch), dtype=np.int64), np.arange(1, len(batch) + 1)
        pairs, shared = passage_runs.shared_passages(texts, criteria, *sides)
        copied = passage_runs.passages_of(shared, texts.contents, *sides)
        ids = [*islice(remaining_ids, len(batch))]
        for _, number, words, coverage, b_coverage, *_, count, longest in pairs.tolist():
            order = -words, -longest, int(texts.units[number]), ids[number - 1]
            passages = tuple(islice(copied, count))
            matches.append((order, Source("", coverage, b_coverage, words, passages)))
    matches.sort()  # no two have the same id
    if not query.weighted.sort and query.weighted.min_weighted is None:
        matches = matches[: query.top]
    doc_ids = int_array(order[-1] for order, _ in matches)
    weighted = _weighted(store, text, doc_ids, query.copied.base)
    sources = (
        dataclasses.replace(source, key=key, weighted=weight, weighted_share=share)
        for key, (_, source), (weight, share) in zip(
            store.keys_of(doc_ids), matches, weighted, strict=True
        )
    )
    runs, *_ = passage_windows.common_passages(counting_all, text, common)
    best = ranked(sources, query.weighted, query.top)
    units = int(counting.windows_of([text]).units[0])
    return Passages(units, criteria.run, unit_of(settings.shingling), tuple(best), tuple(runs))


def _weighted(
    store: StoreReader, text: str, doc_ids: IntArray, base: Sequence[str]
) -> Iterable[tuple[float, float]]:
    """How similar documents int64[n] are to a text, weighted by rarity."""
    contents = lambda numbers: [text, *store.contents(doc_ids[numbers[1:] - 1])]  # noqa: E731
    sizes = np.append(len(text), store.sizes(doc_ids)[0])
    others = np.arange(1, len(sizes))
    firsts = np.zeros_like(others)
    weighted = Prints(store, base).weigh(contents, sizes, firsts, others)
    return zip(*weighted.tolist(), strict=True)


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
        together = passage_windows.TOGETHER[self.settings.shingling.kind]
        self._together = _BATCHES * self.limits.passage_windows * together
        self._criteria = passage_runs.Criteria(run, run, 0, self.limits.passages)

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
            texts = segments.texts
            listed = passage_runs.listed_runs(texts.windows, runs.chosen(order), self._criteria)
            longest = passage_runs.passages_of(listed, texts.contents, copy, source)
            for number, passage in zip(pairs[listed["pair"]].tolist(), longest, strict=True):
                passages[number] = passage
        return passages

    def covering(
        self, copies: IntArray, sources: IntArray, is_source: IsSource, order: IntArray
    ) -> Iterator[Copies]:
        """The fewest passages of texts that cover all that their sources have of them.

        They are from the first source that has each window. Windows of three units or more that
        follow each other overlap, so it does not matter in which source each is found.

        Args:
            copies: int64[n], the numbers of the copying texts.
            sources: int64[m], those of all texts that may be sources.
            is_source: which of those that come before a text are its sources.
            order: int64[any], of all texts, by their numbers: the lowest comes first.

        Yields:
            The passages of some texts that are from some sources.
        """
        for part, of_sources in product(
            chunks_of(self.lengths[copies], self._together),
            chunks_of(self.lengths[sources], self._together),
        ):
            numbers = distinct(np.append(copies[part], sources[of_sources]))
            texts = self._counting.windows_of(self.contents(numbers))
            segments = Segments.of(texts, self.min_words, NO_NUMBERS)
            sides = numbers.searchsorted(copies[part]), numbers.searchsorted(sources[of_sources])
            a, b = _first_sources(segments, *sides, is_source, numbers, order)
            shared = segments.between(a, b, self.min_words)
            windows = segments.texts.windows
            begins = windows["unit"].take(shared.runs.a).astype(np.int64)
            begins += a[shared.runs.pair] * (int(texts.units.max()) + 1)
            last_units = begins + shared.runs.length + (self.min_words - 2)
            fewest = shared.runs.chosen(np.sort(passage_runs.covering_spans(begins, last_units)))
            listed = passage_runs.listed_runs(windows, fewest, self._criteria)
            pair = listed["pair"]
            shares = (shared.a_units / np.maximum(texts.counted[a], 1))[pair]
            # Of a source no more than its pages is needed.
            is_copy = np.isin(np.arange(len(numbers)), sides[0]).tolist()
            contents = [
                text if copies or "\f" in text else ""
                for text, copies in zip(texts.contents, is_copy, strict=True)
            ]
            made = partial(_passage, listed, contents, a, b)
            yield Copies(numbers[a[pair]], numbers[b[pair]], shares, listed["spans"][:, :2], made)

    def _parted(
        self, copies: IntArray, sources: IntArray
    ) -> Iterator[tuple[IntArray, Segments, IntArray, IntArray]]:
        """The texts of pairs, int64[n] both, part by part, as they fit into memory.

        Yields:
            The indices of pairs, what their texts share, and the indices of both texts there.
        """
        parts = [np.argsort(copies, kind="stable")] if len(copies) else []
        while parts:
            pairs = parts.pop()
            numbers = distinct(np.append(copies[pairs], sources[pairs]))
            if len(pairs) > 1 and self.lengths[numbers].sum() > self._together:
                # Along the side that has more texts, so that the fewest are cut again.
                side = max((copies, sources), key=lambda side: len(distinct(side[pairs])))
                pairs = pairs[np.argsort(side[pairs], kind="stable")]
                parts += np.split(pairs, [len(pairs) // 2])[::-1]
                continue
            pairs = np.sort(pairs)
            pairs = pairs[np.argsort(copies[pairs], kind="stable")]
            copy, source = (numbers.searchsorted(side[pairs]) for side in (copies, sources))
            texts = self._counting.windows_of(self.contents(numbers))
            yield pairs, Segments.of(texts, self.min_words, copy[copy == source]), copy, source


def _passage(
    listed: passage_runs.Rows, contents: Sequence[str], a: IntArray, b: IntArray, index: int
) -> model.CopiedPassage:
    """One of some passages; see passage_runs.passages_of."""
    return next(passage_runs.passages_of(listed[index : index + 1], contents, a, b))


def _first_sources(
    segments: Segments,
    copies: IntArray,
    sources: IntArray,
    is_source: IsSource,
    numbers: IntArray,
    order: IntArray,
) -> tuple[IntArray, IntArray]:
    """Pairs of a text and the first of its sources that has a segment, for each segment.

    Args:
        segments: of n texts.
        copies, sources: int64[any], the indices of texts.
        is_source: which of the sources that come before a text are its own.
        numbers: int64[n], of the texts, by which `is_source` knows them.
        order: int64[any], by these numbers: the lowest comes first.

    Returns:
        The indices of both texts, of each pair once.
    """
    count = len(numbers)
    by_rank = np.argsort(order[numbers], kind="stable")
    rank, is_of = np.empty(count, dtype=np.int64), np.zeros((2, count), dtype=np.bool_)
    rank[by_rank] = np.arange(count)
    is_of[0, copies] = is_of[1, sources] = True
    text = np.repeat(np.arange(count), sizes_of(segments.offsets))
    keys = segments.numbers * count + rank[text]
    holders = np.unique(keys[is_of[1, text]])
    copied = np.unique(keys[is_of[0, text]])
    number, copy_rank = np.divmod(copied, count)
    copy, nth = by_rank[copy_rank], holders.searchsorted(number * count)
    ends = holders.searchsorted(copied)  # what comes after a text is no source of it
    pairs = [NO_NUMBERS]
    while len(copy):
        (left,) = (nth < ends).nonzero()
        copy, nth, ends = copy[left], nth[left], ends[left]
        source = by_rank[holders[nth] % count]
        is_first = is_source(numbers[copy], numbers[source])
        pairs.append(copy[is_first] * count + source[is_first])
        copy, nth, ends = copy[~is_first], nth[~is_first] + 1, ends[~is_first]
    a, b = np.divmod(np.unique(np.concatenate(pairs)), count)
    return a, b
