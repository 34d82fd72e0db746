"""Copied passages: the runs of words that a text shares with stored documents.

The fingerprints of a text (lshdb.shingling.winnowing) name the documents that may share a run of
`Settings.passages` units with it; their contents decide.
"""

from dataclasses import replace
from itertools import islice

import numpy as np

from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.model import Passages, Source
from lshdb.options import CopiedOptions, PassagesOptions
from lshdb.search import passage_runs, passage_windows, similarity
from lshdb.search.query import row_of_key
from lshdb.shingling import content, winnowing
from lshdb.sketching.settings import Settings
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
    text, key = query.text, query.key
    with store.reading():
        if key is None:
            return _find(
                store, query, str(content.cleaned(text or "", store.settings.shingling)), -1
            )
        row = row_of_key(store, key)
        return _find(store, query, row.content or "", row.doc_id)


def _find(store: Store, query: PassagesOptions, text: str, own_id: int) -> Passages:
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
    found.sort(key=_rank)
    keys = store.keys_of(np.array([doc_id for doc_id, _, _ in found[: query.top]], dtype=np.int64))
    sources = (
        Source(key, one.coverage, one.b_coverage, one.words, one.passages)
        for key, (_, _, one) in zip(keys, found, strict=False)
    )
    runs = passage_windows.common_passages(text, own.windows, common, criteria.run)
    units = int(own.units[0])
    return Passages(units, criteria.run, unit_of(settings), tuple(sources), tuple(runs))


def _rank(found: tuple[int, int, passage_runs.Shared]) -> tuple[int, ...]:
    """The sort key, lowest first: by units covered, then by the longest run."""
    doc_id, units, one = found
    return -one.words, -one.longest, units, doc_id


def unit_of(settings: Settings) -> str:
    """What a unit is called."""
    return {"word": "word", "code": "token"}.get(settings.shingling.kind, "character")
