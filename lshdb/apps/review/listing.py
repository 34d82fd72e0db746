"""All clusters and all pairs of a file, and which of them a page lists, in which order.

A survey of a million documents takes long: pages compute it once (apps.web.computing). Filtering
and sorting a hundred thousand clusters takes a tenth of a second.
"""

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nlargest
from operator import itemgetter
from typing import Annotated, Any, Generic, Literal, TypeVar
from unicodedata import normalize

import numpy as np

from lshdb import options
from lshdb.apps.measuring.sampling import distribution_of
from lshdb.apps.review import drawing
from lshdb.apps.review.decisions import Verdicts
from lshdb.apps.review.drop_list import dropped_members
from lshdb.apps.review.pair_sample import random_numbers
from lshdb.columns import PAIR, rows_of
from lshdb.database import Database, store_of
from lshdb.errors import UsageError
from lshdb.groups import Option, Options
from lshdb.json_text import dumps
from lshdb.model import Cluster, Pair
from lshdb.progress import Progress
from lshdb.read.metadata import from_json
from lshdb.read.paths import common_folder
from lshdb.search import pairs
from lshdb.store.store import Store
from lshdb.text import arrays

MAX_PAIRS = 1_000_000
"""Maximum number of pairs to examine, in the order of addition."""
BEST_PAIRS = 100_000
"""The most similar of these are kept: some 30 MB."""
_SEED = 1
"""Of the sample of less similar pairs."""
_BATCH_SIZE = 10_000
"""Documents whose metadata is read by one statement."""
_FACETS = 12
"""Maximum fields of metadata to offer, the first found."""
_VALUES = 40
"""Maximum different values of an offered field."""
_LONGEST_VALUE = 100

ORDERS: Mapping[str, tuple[str, Callable[[Any, float], Any]]] = {
    "size": ("most documents", lambda cluster, _: -len(cluster.members)),
    "highest": ("highest similarity", lambda item, _: -_lowest(item)),
    "lowest": ("lowest similarity", lambda item, _: _lowest(item)),
    # Their answers say most about where duplicates begin.
    "informative": (
        "nearest the threshold",
        lambda item, threshold: abs(_lowest(item) - threshold),
    ),
    "first": ("first added", lambda cluster, _: cluster.cluster),
    "key": ("key", lambda item, _: item.keep if isinstance(item, Cluster) else (item.a, item.b)),
}
"""The orders of lists: how pages call them, and what sorts an item, given the threshold."""
SORTS = {
    kind: {name: label for name, (label, _) in ORDERS.items() if name not in others}
    for kind, others in (("clusters", ()), ("pairs", ("size", "first")))
}
"""The orders of each list by name, as pages call them; the first is the default."""
_WORTH = 8
"""Minimum length of a common path that is shown once."""

Similarity = Annotated[float | None, Option("A similarity.", min=0, max=1)]
Number = Annotated[int | None, Option("A number from 1.", min=1, max=10**12)]
Text = Annotated[str, Option("A text; nothing if empty.")]
Flag = Annotated[bool, Option("Set by any text.")]
ClusterOrPair = TypeVar("ClusterOrPair", Cluster, Pair)
Facets = dict[str, dict[str, list[int]]]
"""Fields of metadata with few values: for each value the indices of the items that have it, an
index once for each document."""


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """How many clusters or pairs there are.

    Attributes:
        count: number of items in the survey.
        members: number of their documents; a document counts once for each item that has it.
        found: number of pairs that were examined; 0 for clusters.
        cut: whether the file may have more pairs.
        redundant: number of documents that `lshdb clusters --drop-list` names: they are similar to
            the kept document of their cluster, or decided to drop; None for pairs.
        redundant_bytes: bytes of their contents; None for pairs.
    """

    count: int
    members: int
    found: int = 0
    cut: bool = False
    redundant: int | None = None
    redundant_bytes: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Survey(Generic[ClusterOrPair]):
    """All clusters, or the most similar of all pairs.

    Attributes:
        items: clusters in the order of their first members; pairs, the most similar first.
        facets: the values of metadata by which they can be filtered, by field.
        totals: how many there are.
        threshold: the similarity from which documents are similar.
        picture: how many clusters have which size, from drawing.sizes; how many pairs have which
            similarity, from drawing.columns.
        doc_ids: int64[n, 2], the ids of the documents of each pair; None for clusters.
    """

    items: list[ClusterOrPair]
    facets: Facets
    totals: Totals
    threshold: float
    picture: Sequence[Any]
    doc_ids: arrays.IntArray | None = None


def held_decisions(database: Database) -> Verdicts:
    """The decisions that hold now."""
    store = store_of(database)
    with store.reading():
        return Verdicts(store)


def keys_of(item: Cluster | Pair) -> tuple[str, ...]:
    """The keys of the documents of an item."""
    return item.members if isinstance(item, Cluster) else (item.a, item.b)


def survey_clusters(
    database: Database, request: options.ClustersOptions, progress: Progress
) -> Survey[Cluster]:
    """Find all clusters."""
    store = store_of(database)
    threshold = request.join.similar.threshold or store.settings.threshold
    clusters = list(pairs.all_clusters(store, request, progress))
    dropped_keys = {key for cluster in clusters for key in dropped_members(cluster, threshold)}
    facets, size, _ = _documents(store, clusters, dropped_keys, progress)
    sizes = [len(cluster.members) for cluster in clusters]
    totals = Totals(len(sizes), sum(sizes), redundant=len(dropped_keys), redundant_bytes=size)
    return Survey(clusters, facets, totals, threshold, drawing.sizes(sizes))


def survey_pairs(
    database: Database, request: options.JoinOptions, progress: Progress
) -> Survey[Pair]:
    """Find the most similar of all pairs, and estimate how many less similar ones there are."""
    store, counts = store_of(database), np.zeros(len(drawing.BINS) - 1, dtype=np.int64)

    def ranked() -> Iterator[tuple[float, tuple[Any, ...]]]:
        for block in pairs.pair_blocks(store, request, progress):
            counts[:] += np.histogram(block["similarity"], drawing.BINS)[0]
            yield from zip(block["similarity"], rows_of(block, PAIR), strict=True)

    best = nlargest(BEST_PAIRS, itertools.islice(ranked(), MAX_PAIRS), key=itemgetter(0))
    items = [Pair(**dict(zip(PAIR, row, strict=True))) for _, row in best]
    facets, _, doc_ids = _documents(store, items, set(), progress)
    pair_count = int(counts.sum())
    totals = Totals(len(items), 2 * len(items), pair_count, pair_count >= MAX_PAIRS)
    similar = request.similar
    threshold = similar.threshold or store.settings.threshold
    documents, sampled = (0, None) if similar.condition.where else distribution_of(store, _SEED)
    picture = drawing.columns(counts.tolist(), sampled, documents, threshold)
    return Survey(items, facets, totals, threshold, picture, doc_ids.reshape(-1, 2))


def _documents(
    store: Store, items: Sequence[ClusterOrPair], dropped_keys: set[str], progress: Progress
) -> tuple[Facets, int, arrays.IntArray]:
    """The facets of the documents of all items, the bytes of those to drop, and the ids of all.

    The ids are int64, one for each key of each item, in their order; 0 for a document that is gone.
    """
    members = [(key, index) for index, item in enumerate(items) for key in keys_of(item)]
    facets: Facets = {}
    seen: set[str] = set()
    size = 0
    doc_ids = np.zeros(len(members), dtype=np.int64)
    for start in range(0, len(members), _BATCH_SIZE):
        progress(start, len(members), "documents' metadata read")
        batch = members[start : start + _BATCH_SIZE]
        known = store.known([key for key, _ in batch])
        batch_ids = [known[key].doc_id if key in known else 0 for key, _ in batch]
        doc_ids[start : start + len(batch)] = batch_ids
        ids = [known[key].doc_id for key, _ in batch if key in dropped_keys and key in known]
        size += int(store.byte_lengths(arrays.int_array(ids)).sum())
        for key, index in batch:
            fields = from_json(known[key].metadata) if key in known else None
            for name, value in (fields or {}).items():
                if name not in seen and len(seen) < _FACETS:
                    seen.add(name)
                    facets[name] = {}
                if name not in facets or (text := _value(value)) is None:
                    continue
                facets[name].setdefault(text, []).append(index)
                if len(facets[name]) > _VALUES:
                    del facets[name]
    return facets, size, doc_ids


def _value(value: Any) -> str | None:
    """A value of metadata as text, None if it cannot be a facet."""
    if value is None or isinstance(value, list | dict):
        return None
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= _LONGEST_VALUE else None


def _searchable(text: str) -> str:
    """A text without case, its accents part of its letters."""
    return normalize("NFC", text).casefold()


def _lowest(item: Cluster | Pair) -> float:
    return item.lowest if isinstance(item, Cluster) else item.similarity


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbours:
    """The position of an item in its list, and the items before and after it.

    Attributes:
        count: number of items in the list, decided or not.
        decided: how many of them are decided.
        number: the item's number, from 1; None if it is not in the list.
        skipped: number of undecided items before it.
        previous, following: the part of an address that names the item before or after it; None if
            there is no such item.
    """

    count: int
    decided: int
    number: int | None = None
    skipped: int = 0
    previous: dict[str, str] | None = None
    following: dict[str, str] | None = None


class Filters(Options):
    """Which clusters or pairs a list has, and in which order."""

    clusters: options.StarOptions = dataclasses.field(default_factory=options.StarOptions)

    sort: Text = ""
    min_similarity: Similarity = None
    max_similarity: Similarity = None
    smallest: Number = None
    largest: Number = None
    part: Text = ""  # of a key
    field: Text = ""  # of metadata, with its value
    value: Text = ""
    decided: Annotated[Literal["yes", "no"] | None, Option("Whether they are decided.")] = None
    threshold: options.Threshold = None
    sample: Number = None
    seed: Annotated[int | None, Option("Of the sample.", min=0)] = None


@dataclasses.dataclass(eq=False)
class Listing:
    """The clusters or pairs that match filters, in order.

    Attributes:
        survey: all clusters or pairs.
        verdicts: the decisions about their documents.
        filters: which of them the list has, in which order.
    """

    survey: Survey[Any]
    verdicts: Verdicts
    filters: Filters

    @cached_property
    def matching(self) -> list[int]:
        """The indices of the items that match the filters, decided or not."""
        survey, filters = self.survey, self.filters
        highest = 1.0 if filters.max_similarity is None else filters.max_similarity
        part = _searchable(filters.part.strip())
        with_value = set(survey.facets.get(filters.field, {}).get(filters.value, ()))

        def fits(index: int, item: Cluster | Pair) -> bool:
            keys = keys_of(item)
            return (
                (filters.min_similarity or 0.0) <= _lowest(item) <= highest
                and (filters.smallest or 0) <= len(keys) <= (filters.largest or sys.maxsize)
                and (not filters.field or index in with_value)
                and (not part or any(part in _searchable(key) for key in keys))
            )

        return [index for index, item in enumerate(survey.items) if fits(index, item)]

    @cached_property
    def order(self) -> list[int]:
        """The indices of the listed items, decided or not, in order: all that match, or a sample.

        Raises:
            UsageError: there is no such order, or clusters have no sample.
        """
        survey, filters, indices = self.survey, self.filters, self.matching
        sorts = SORTS["pairs" if survey.totals.redundant is None else "clusters"]
        sort = filters.sort or next(iter(sorts))
        if sort not in sorts:
            raise UsageError(f"sort {sort!r:.50} is not {', '.join(sorts)}")
        if filters.sample is not None:
            if survey.doc_ids is None:
                raise UsageError("sample is for pairs")
            a, b = survey.doc_ids[indices].T.copy()
            numbers = random_numbers(a, b, filters.seed)
            smallest = np.argsort(numbers, kind="stable")[: filters.sample]
            indices = sorted(indices[position] for position in smallest.tolist())
        _, order = ORDERS[sort]
        return sorted(indices, key=lambda index: order(survey.items[index], survey.threshold))

    @cached_property
    def decided(self) -> set[int]:
        """The indices of the items with nothing left to decide."""
        decided_keys = self.verdicts.decided()
        return {
            index
            for index, keys in enumerate(map(keys_of, self.survey.items) if decided_keys else ())
            if not decided_keys.isdisjoint(keys) and self.verdicts.settled(keys)
        }

    @property
    def items(self) -> list[Any]:
        """The items in order, without those that the filter for decided items excludes."""
        return [self.survey.items[index] for index in self._by_decision(self.order)]

    @property
    def counts(self) -> dict[str, Any]:
        """How many items there are, and how many are decided."""
        return dataclasses.asdict(self.survey.totals) | {"decided": len(self.decided)}

    @property
    def drawn_from(self) -> int | None:
        """How many items a sample is drawn from; None if the list is no sample."""
        return None if self.filters.sample is None else len(self.matching)

    @property
    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """The values that several documents have, with their number, of fields of metadata."""
        return {
            name: sorted(several.items(), key=lambda row: -row[1])
            for name, documents in self.survey.facets.items()
            if len(documents) > 1
            if (several := {text: len(of) for text, of in documents.items() if len(of) > 1})
        }

    def _by_decision(self, order: Iterable[int]) -> list[int]:
        """The indices in an order that the filter for decided items does not exclude."""
        choice = self.filters.decided
        return [
            index for index in order if not choice or (index in self.decided) == (choice == "yes")
        ]

    def neighbours(self, *keys: str) -> tuple[Cluster | Pair | None, Neighbours]:
        """The first item that has all of these keys, or None, and its neighbours in the list.

        A list of undecided items is a circle: the skipped items follow the last one.
        """
        items, order = self.survey.items, self.order
        matches = (
            index for index, item in enumerate(items) if all(key in keys_of(item) for key in keys)
        )
        index = next(matches, None)
        near = Neighbours(len(order), len(self.decided.intersection(order)))
        if index is None or index not in order:
            return None if index is None else items[index], near
        position = order.index(index)
        before = self._by_decision(order[:position])
        after = self._by_decision(order[position + 1 :])

        if self.filters.decided == "no":
            before = after = [*after, *before]
        return items[index], dataclasses.replace(
            near,
            number=position + 1,
            skipped=len(set(order[:position]) - self.decided),
            previous=_name(items[before[-1]]) if before else None,
            following=_name(items[after[0]]) if after else None,
        )

    def number_of(self, keys: set[str]) -> int | None:
        """The number of the first item in the list that has all of some documents, from 1."""
        items = (keys_of(self.survey.items[index]) for index in self.order)
        numbered = enumerate(items, 1)
        return next((number for number, members in numbered if keys.issubset(members)), None)

    def pair_after(
        self, cluster: Cluster, a: str, b: str, *, skipped: bool = False
    ) -> tuple[str, str] | None:
        """The pair of a cluster to show after this one; None if it is the turn of the next cluster.

        It is the document that stays with the next undecided one, and after the last one with those
        that were passed over. Then it may be two others, such as two that differ from it.

        Args:
            cluster: a cluster.
            a: the document on the left; empty for the first pair.
            b: the other one.
            skipped: whether this pair is passed over, and nothing is decided about it.
        """
        verdicts = self.verdicts
        keys = [key for key, *_ in _nearest(cluster)]
        if not a or verdicts.of_key.get(a) == "drop":
            keys.sort(key=lambda key: verdicts.of_key.get(key) != "keep")
            return next(verdicts.open_pairs(keys), None)
        behind = keys.index(b) + 1
        turns = keys[behind:] if skipped else keys[behind:] + keys[:behind]
        left = (key for key in turns if key != a and not verdicts.settled((a, key)))
        if (other := next(left, None)) is not None:
            return a, other
        others = [key for key in keys if key != a]
        return None if skipped else next(verdicts.open_pairs(others), None)

    def described(self, item: Cluster | Pair, count: int | None = None) -> dict[str, Any]:
        """An item as pages show it; of a cluster, the `count` members nearest to the kept one.

        A member is `left` if it can be dropped when the kept document stays: it is undecided and
        a copy of that document.
        """
        verdicts, threshold = self.verdicts, self.survey.threshold
        if isinstance(item, Pair):
            return {
                **{name: getattr(item, name) for name in PAIR},
                "a_decided": verdicts.of_key.get(item.a),
                "b_decided": verdicts.of_key.get(item.b),
                "different": verdicts.apart(item.a, item.b),
            }
        is_gone = verdicts.of_key.get(item.keep) == "drop"
        members: list[dict[str, Any]] = [
            {
                "key": key,
                "similarity": score,
                "identical": identical,
                "same_text": same_text,
                "decided": (decided := verdicts.of_member(key, item.keep)),
                # The document that others are compared with is kept unless a decision drops it.
                "kept": decided == "keep" or (key == item.keep and decided != "drop"),
                "left": not (is_gone or decided or key == item.keep)
                and score >= threshold
                and is_copy,
            }
            for key, score, identical, same_text, is_copy in _nearest(item)[:count]
        ]
        return {
            **{name: getattr(item, name) for name in ("keep", "lowest", "mean", "below", "exact")},
            "documents": len(item.members),
            "threshold": threshold,
            "prefix": common_path(item.members),
            "decided": verdicts.settled(item.members),
            "members": members,
        }


def _nearest(cluster: Cluster) -> list[tuple[str, float, bool, bool, bool]]:
    """The members, the kept one first, then the most similar to it.

    Of each the similarity, and whether it is identical, has the same text and is a copy.
    """
    sameness = cluster.identical, cluster.same_text, cluster.copies
    return sorted(
        zip(cluster.members, cluster.similarities, *sameness, strict=True),
        key=lambda member: (member[0] != cluster.keep, -member[1]),
    )


def _name(item: Cluster | Pair) -> dict[str, str]:
    """The fields of an address that name an item."""
    if isinstance(item, Cluster):
        return {"key": item.keep}
    return {"a": item.a, "b": item.b, "listed": "yes"}


def rule_words(order: options.OrderOptions) -> str:
    """Which document of a cluster stays, in words.

    >>> rule_words(options.OrderOptions(keep="newest", keep_in="papers"))
    'the newest one in papers if there is one, else the newest one'
    """
    rule = {
        "first": "the one added first",
        "last": "the one added last",
        "longest": "the longest one",
        "newest": "the newest one",
        "oldest": "the oldest one",
        "shortest-path": "the one with the shortest path",
    }[order.keep]
    if order.keep_max is not None:
        rule = f"the one with the largest {order.keep_max}"
    if order.keep_min is not None:
        rule = f"the one with the smallest {order.keep_min}"
    if order.keep_in is None:
        return rule
    return f"{rule} in {order.keep_in} if there is one, else {rule}"


def common_path(keys: list[str] | tuple[str, ...]) -> str:
    """The directories that all keys begin with; empty if they are too short to show them once.

    >>> common_path(["src/lib/util/a.py", "src/lib/util/b.py"])
    'src/lib/util/'
    >>> common_path(["src/a", "src/b"])
    ''
    """
    prefix = common_folder(keys) if len(keys) > 1 else ""
    return prefix if len(prefix) >= _WORTH else ""
