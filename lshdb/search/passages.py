"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (lshdb.shingling.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.model import CopiedPassage, Passages, Source
from lshdb.options import CopiedOptions, PassagesOptions
from lshdb.search import passage_runs, passage_windows, rarity, similarity
from lshdb.search.query import row_of_key
from lshdb.search.reworded import find_reworded
from lshdb.shingling import content, winnowing
from lshdb.shingling.arrays import NO_NUMBERS, IntArray, bounded, int_array
from lshdb.sketching.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store


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
    return passage_runs.Criteria(run, min_words, query.gap, limits.passages)


def find_passages(store: Store, query: PassagesOptions) -> Passages:
    """The stored documents that share passages with a text, or with the document of a key."""
    find = find_reworded if query.reworded else _find
    with store.reading():
        if query.key is None:
            text = str(content.cleaned(query.text or "", store.settings.shingling))
            return find(store, query, text, -1)
        row = row_of_key(store, query.key)
        return find(store, query, row.content or "", row.doc_id)


def _find(store: StoreReader, query: PassagesOptions, text: str, own_id: int) -> Passages:
    settings = store.settings
    criteria = criteria_of(query, settings, store.limits)
    limit = query.common or store.limits.common
    prints = winnowing.fingerprints([text], settings.shingling, criteria.run, settings.seed)
    if not len(prints):
        return Passages(0, criteria.run, unit_of(settings), (), ())
    index, doc_ids = store.documents_of_fingerprints(prints.values, limit + 1)
    many = np.bincount(index, minlength=len(prints)) > limit
    hot = prints.values[many]
    common = passage_windows.common_windows(store, hot)
    others = doc_ids != own_id
    shared = prints.values[np.unique(index[others])]
    every = passage_windows.Counting.of(settings, hot)
    own = every.windows_of([text])
    counting = replace(every, left_out=(common,), shared=shared).with_base(query.base)
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
    if not query.sort and query.min_weighted is None:
        found = found[: query.top]
    doc_ids = int_array(doc_id for doc_id, _, _ in found)
    weighted = _weighted(store, text, doc_ids, query.base)
    sources = (
        Source(key, one.coverage, one.b_coverage, one.words, one.passages, *shares)
        for key, (_, _, one), shares in zip(store.keys_of(doc_ids), found, weighted, strict=True)
    )
    runs = passage_windows.common_passages(text, own.windows, common, criteria.run)
    units = int(own.units[0])
    return Passages(
        units, criteria.run, unit_of(settings), tuple(rarity.ranked(sources, query)), tuple(runs)
    )


def _weighted(
    store: StoreReader, text: str, doc_ids: IntArray, base: Sequence[str]
) -> Iterable[tuple[float, float]]:
    """How similar documents int64[n] are to a text, weighted by rarity."""
    contents = lambda numbers: [text, *store.contents(doc_ids[numbers[1:] - 1])]  # noqa: E731
    sizes = np.append(len(text), store.sizes(doc_ids)[0])
    other = np.arange(1, len(sizes))
    one = np.zeros_like(other)
    return zip(*rarity.weigh(store, contents, sizes, one, other, base), strict=True)


def unit_of(settings: Settings) -> str:
    """What a unit is called."""
    return {"word": "word", "code": "token"}.get(settings.shingling.kind, "character")


@dataclass(eq=False)
class Copied:
    """What texts copy from others: the share of their words that both have in runs.

    Attributes:
        contents: gives the texts of documents, by ascending numbers int64[n].
        lengths: int64[m], of the text of each document, by its number.
        settings: of the documents.
        limits: on what is read at once, and listed.
        min_words: words of the shortest run.
        passages: those of each pair that has some.
    """

    contents: Callable[[IntArray], Sequence[str]]
    lengths: IntArray
    settings: Settings
    limits: Limits
    min_words: int
    passages: dict[tuple[int, int], tuple[CopiedPassage, ...]] = field(default_factory=dict)

    def scores(self, one: IntArray, other: IntArray, _minimum: float) -> similarity.Shares:
        """The share of the words of the one of each pair that are in passages: float64[n].

        Args:
            one: int64[n], the one of each pair.
            other: int64[n], the other.
        """
        found = np.zeros(len(one))
        settings = replace(self.settings, passages=self.min_words)
        counting = passage_windows.Counting.of(settings, NO_NUMBERS)
        run, limits = self.min_words, self.limits
        criteria = passage_runs.Criteria(run, run, 0, limits.passages)
        sizes = self.lengths[one] + self.lengths[other]
        order = np.argsort(one, kind="stable").tolist()
        for some in bounded(order, sizes.__getitem__, limits.passage_windows):
            pairs = np.array(some)
            numbers, places = np.unique([one[pairs], other[pairs]], return_inverse=True)
            texts = counting.windows_of(self.contents(numbers))
            compared = passage_runs.Pairs(texts, *places.reshape(2, -1))
            for shared in passage_runs.shared_passages(compared, criteria):
                pair = pairs[shared.pair]
                found[pair] = shared.coverage
                self.passages[int(one[pair]), int(other[pair])] = shared.passages
        return found
