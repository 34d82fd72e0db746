"""Surveys of a whole file, for pages that show parts of them: all clusters, the best of all pairs.

A survey takes long for a million documents. It is computed once (lshdb.web.results); filtering and
sorting a hundred thousand clusters takes a tenth of a second.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from lshdb.json_text import dumps
from lshdb.model import Cluster, Pair
from lshdb.options import ClustersOptions, JoinOptions
from lshdb.progress import Progress
from lshdb.search.pairs import all_clusters, pair_blocks
from lshdb.sources.metadata import from_json
from lshdb.store.store import Store
from lshdb.tuning.sampling import distribution_of
from lshdb.web.drawing import columns

MAX_PAIRS = 1_000_000
"""Pairs to examine, in the order of addition."""
BEST_PAIRS = 100_000
"""Pairs kept of these, the most similar: some 30 MB."""
_BINS = 20
_SEED = 1
"""Of the sample of less similar pairs."""
_AT_ONCE = 10_000
_FACETS = 12
"""Maximum fields of metadata to offer, the first found."""
_VALUES = 40
"""Maximum different values of an offered field."""
_LONGEST_VALUE = 100

Item = TypeVar("Item", Cluster, Pair)
Facets = dict[str, dict[str, list[int]]]
"""Fields of metadata with few values: for each value the indices of the items that have it, an
index for each document."""


@dataclass(frozen=True, slots=True)
class Totals:
    """How many clusters or pairs there are.

    Attributes:
        count: of items.
        members: how many documents they have, repeated ones as often.
        found: how many pairs there are, or were examined.
        cut: whether there may be more.
        redundant: how many documents are so similar to the kept one of their cluster, or to be
            dropped: those that `lshdb clusters --drop-list` names; None for pairs.
        redundant_bytes: of their contents.
    """

    count: int
    members: int
    found: int = 0
    cut: bool = False
    redundant: int | None = None
    redundant_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Survey(Generic[Item]):
    """All clusters, or the best of all pairs.

    Attributes:
        items: clusters in the order of their first members; pairs, the most similar first.
        facets: by field.
        totals: how many there are.
        threshold: the similarity from which documents are similar.
        histogram: how many pairs have which similarity, as of drawing.columns.
    """

    items: list[Item]
    facets: Facets
    totals: Totals
    threshold: float
    histogram: Sequence[dict[str, Any]] = ()


def keys_of(item: Cluster | Pair) -> tuple[str, ...]:
    """The keys of the documents of an item."""
    return item.members if isinstance(item, Cluster) else (item.a, item.b)


def survey_clusters(store: Store, request: ClustersOptions, progress: Progress) -> Survey[Cluster]:
    """Find all clusters."""
    threshold = request.threshold or store.settings.threshold
    items = list(all_clusters(store, request, progress))
    gone = {
        key
        for one in items
        for key, score, decided in zip(one.members, one.similarities, one.decided, strict=True)
        if decided == "drop" or (decided is None and score >= threshold and key != one.keep)
    }
    facets, size = _documents(store, items, gone, progress)
    members = sum(len(one.members) for one in items)
    totals = Totals(len(items), members, redundant=len(gone), redundant_bytes=size)
    return Survey(items, facets, totals, threshold)


def survey_pairs(store: Store, request: JoinOptions, progress: Progress) -> Survey[Pair]:
    """Find the most similar of all pairs, and estimate how many less similar ones there are.

    With PairsOptions, in a file with an index of passages, they are ordered by weighted similarity.
    """
    counts = np.zeros(_BINS, dtype=np.int64)

    def rows() -> Iterator[tuple[Any, ...]]:
        for block in pair_blocks(store, request, progress):
            counts[:] += np.histogram([row[2] for row in block], _BINS, (0, 1))[0]
            yield from block

    best = nlargest(BEST_PAIRS, islice(rows(), MAX_PAIRS), key=lambda row: (row[6] or 0, row[2]))
    items = [Pair(*row) for row in best]
    facets, _ = _documents(store, items, set(), progress)
    found = int(counts.sum())
    totals = Totals(len(items), 2 * len(items), found, found >= MAX_PAIRS)
    threshold = request.threshold or store.settings.threshold
    documents, sampled = (0, None) if request.where else distribution_of(store, _SEED)
    histogram = columns(counts.tolist(), sampled, documents, threshold)
    return Survey(items, facets, totals, threshold, histogram)


def _documents(
    store: Store, items: Sequence[Item], gone: set[str], progress: Progress
) -> tuple[Facets, int]:
    """The facets of the documents of all items, and the bytes of some of them."""
    members = [(key, at) for at, one in enumerate(items) for key in keys_of(one)]
    facets: Facets = {}
    seen: set[str] = set()
    size = 0
    for start in range(0, len(members), _AT_ONCE):
        progress(start, len(members), "documents' metadata read")
        some = members[start : start + _AT_ONCE]
        known = store.known([key for key, _ in some])
        ids = [known[key].doc_id for key, _ in some if key in gone and key in known]
        size += int(store.byte_lengths(np.array(ids, dtype=np.int64)).sum())
        for key, at in some:
            fields = from_json(known[key].metadata) if key in known else None
            for name, value in (fields or {}).items():
                if name not in seen and len(seen) < _FACETS:
                    seen.add(name)
                    facets[name] = {}
                if name not in facets or (text := _value(value)) is None:
                    continue
                facets[name].setdefault(text, []).append(at)
                if len(facets[name]) > _VALUES:
                    del facets[name]
    return facets, size


def _value(value: Any) -> str | None:
    """A value of metadata as text, None if it cannot be a facet."""
    if value is None or isinstance(value, list | dict):
        return None
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= _LONGEST_VALUE else None
