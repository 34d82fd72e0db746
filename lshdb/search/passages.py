"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (lshdb.shingling.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from lshdb import model, options
from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.search import passage_runs, passage_windows, similarity, weights
from lshdb.search.query import row_of_key
from lshdb.search.reworded import find_reworded
from lshdb.search.shared_windows import MAX_CELLS, SharedWindows
from lshdb.shingling import content, winnowing
from lshdb.shingling.arrays import NO_NUMBERS, IntArray, Shares, int_array, runs
from lshdb.sketching.settings import Settings, unit_of
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_TOGETHER = 4
"""Characters of texts that are compared at once, for each window."""
_KEPT = 4
"""Parts of a block whose windows are kept: some 50 MB each, besides their tables."""


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
    counting = dataclasses.replace(counting_all, left_out=(common,), shared=shared_prints)
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


@dataclasses.dataclass(eq=False, slots=True)
class _Part:
    """Pairs whose windows fit together, and these as long as there is room for them."""

    copies: IntArray
    sources: IntArray
    windows: SharedWindows | None

    @property
    def cells(self) -> int:
        """Cells of the table."""
        return 0 if self.windows is None else self.windows.cells


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
        settings = dataclasses.replace(self.settings, passages=self.min_words)
        self._counting = passage_windows.Counting.of(settings, NO_NUMBERS)
        self._parts: list[_Part] = []  # those whose windows were found last are the last
        self._passages: dict[tuple[int, int], tuple[model.CopiedPassage, ...]] = {}

    def scores(self, copies: IntArray, sources: IntArray, _minimum: float) -> Shares:
        """The share of the copy's words that are in passages, for each pair: float64[n].

        Args:
            copies: int64[n], the number of the copying text of each pair.
            sources: int64[n], the number of the text that it may copy.
        """
        shares = np.zeros(len(copies))
        order = np.argsort(copies, kind="stable")
        copies, sources = copies[order], sources[order]
        for pairs, windows in self._windows(copies, sources):
            for begin, end in zip(*runs(copies[pairs]), strict=True):
                batch = pairs[begin:end]
                shares[order[batch]] = windows.shares(int(copies[batch[0]]), sources[batch])
        return shares

    def covering(self, copy: int, sources: Sequence[int]) -> list[tuple[int, model.CopiedPassage]]:
        """Passages of a text that cover all that sources have of it, with the sources' indices.

        A text is whole in itself; otherwise see SharedWindows.covering.
        """
        if copy in sources:
            index = sources.index(copy)
            return [(index, passage) for passage in self.passages(copy, copy)]
        numbers = int_array(sources)
        passages: list[tuple[int, model.CopiedPassage]] = []
        for pairs, windows in self._windows(np.full_like(numbers, copy), numbers):
            covering = windows.covering(copy, numbers[pairs])
            passages += ((int(pairs[index]), passage) for index, passage in covering)
        return passages

    def passages(self, copy: int, source: int) -> tuple[model.CopiedPassage, ...]:
        """All passages of a text that another one has, in its order."""
        if (copy, source) not in self._passages:
            ((_, windows),) = self._windows(int_array([copy]), int_array([source]))
            passages = windows.passages(copy, source, self.limits.passages)
            self._passages[copy, source] = passages
        return self._passages[copy, source]

    def _windows(
        self, copies: IntArray, sources: IntArray
    ) -> Iterator[tuple[IntArray, SharedWindows]]:
        """The windows that pairs share, part by part, with the indices of the pairs in the part.

        Windows of pairs of several copies are kept; pairs that do not fit together are split.

        Args:
            copies: int64[n], the number of the copying text of each pair; ascending.
            sources: int64[n], the number of the text that it may copy.
        """
        if not len(copies):
            return
        many = copies[0] != copies[-1]
        if many:
            self._parts = []
        elif (known := self._known(copies, sources)) is not None:
            yield np.arange(len(copies)), known
            return
        waiting = [slice(0, len(copies))]
        while waiting:
            part = waiting.pop()
            windows = self._fitting(copies[part], sources[part])
            if windows is None:
                middle = (part.start + part.stop) // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                continue
            if many:
                self._parts.append(_Part(copies[part], sources[part], windows))
                self._bound()
            yield np.arange(part.start, part.stop), windows

    def _known(self, copies: IntArray, sources: IntArray) -> SharedWindows | None:
        """The windows of pairs of one text, if they are part of those of many."""
        if (copies == sources).any():
            return None
        for part in self._parts:
            if not part.copies[0] <= copies[0] <= part.copies[-1]:
                continue
            if part.windows is None and np.isin(sources, part.sources).all():
                part.windows = self._fitting(part.copies, part.sources)
                self._parts.sort(key=lambda known: known is part)
                self._bound()
            if part.windows is not None and part.windows.has(copies, sources):
                return part.windows
        return None

    def _bound(self) -> None:
        """Forget the windows of parts that were found first, until the others fit into memory."""
        kept = [part for part in self._parts if part.windows is not None]
        while len(kept) > _KEPT or (len(kept) > 1 and sum(part.cells for part in kept) > MAX_CELLS):
            kept.pop(0).windows = None

    def _fitting(self, copies: IntArray, sources: IntArray) -> SharedWindows | None:
        """The windows that pairs share; None if there are more pairs than one, and too much."""
        numbers = np.unique([copies, sources])
        together = self.limits.passage_windows * _TOGETHER
        if len(copies) > 1 and self.lengths[numbers].sum() > together:
            return None
        texts = self._counting.windows_of(self.contents(numbers))
        windows = SharedWindows(texts, numbers, self.min_words, copies, sources)
        if len(copies) > 1 and not windows.fits:
            return None
        windows.fill()
        return windows
