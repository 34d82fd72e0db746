"""All clusters and all pairs of a file, and which of them a page lists, in which order.

A survey takes long for a million documents. Pages compute it once (lshdb.web.computing); filtering
and sorting a hundred thousand clusters, by filters from the address, takes a tenth of a second.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from heapq import nlargest
from itertools import islice, repeat
from operator import itemgetter
from os.path import commonprefix
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np

from lshdb.columns import PAIR, STORED_PAIR, WEIGHTED
from lshdb.database import Database, store_of
from lshdb.errors import UsageError
from lshdb.exchange.result_tables import dropped_members
from lshdb.groups import Option, Options
from lshdb.json_text import dumps
from lshdb.model import Cluster, Pair
from lshdb.options import ClustersOptions, JoinOptions, KeepOption, PairsOptions, Threshold
from lshdb.progress import Progress
from lshdb.review.drawing import columns, sizes
from lshdb.search.decisions import Verdicts
from lshdb.search.pair_sample import random_numbers
from lshdb.search.pairs import all_clusters, pair_blocks
from lshdb.shingling.arrays import IntArray, int_array
from lshdb.sources.metadata import from_json
from lshdb.store.store import Store
from lshdb.tuning.sampling import distribution_of

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

ORDERS: Mapping[str, tuple[str, Callable[[Any, float], Any]]] = {
    "size": ("most documents", lambda one, _: -len(one.members)),
    "highest": ("highest similarity", lambda one, _: -_lowest(one)),
    "lowest": ("lowest similarity", lambda one, _: _lowest(one)),
    # Their answers say most about where duplicates begin.
    "informative": ("nearest the threshold", lambda one, threshold: abs(_lowest(one) - threshold)),
    "first": ("first added", lambda one, _: one.cluster),
    "key": ("key", lambda one, _: one.keep if isinstance(one, Cluster) else (one.a, one.b)),
}
"""The orders of lists: how pages call them, and what sorts an item, given the threshold."""
LEARNED = 30
"""Answers from which they say something about the threshold."""
_WORTH = 8
"""Characters of a path that helps."""

Similarity = Annotated[float | None, Option("A similarity.", min=0, max=1)]
Number = Annotated[int | None, Option("A number from 1.", min=1, max=10**12)]
Text = Annotated[str, Option("A text; nothing if empty.")]
Flag = Annotated[bool, Option("Set by any text.")]
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
        picture: how many clusters have which size, as of drawing.sizes; how many pairs have which
            similarity, as of drawing.columns.
        doc_ids: int64[n, 2], of the documents of pairs; None for clusters.
    """

    items: list[Item]
    facets: Facets
    totals: Totals
    threshold: float
    picture: Sequence[Any]
    doc_ids: IntArray | None = None


def keys_of(item: Cluster | Pair) -> tuple[str, ...]:
    """The keys of the documents of an item."""
    return item.members if isinstance(item, Cluster) else (item.a, item.b)


def survey_clusters(
    database: Database, request: ClustersOptions, progress: Progress
) -> Survey[Cluster]:
    """Find all clusters."""
    store = store_of(database)
    threshold = request.join.similar.threshold or store.settings.threshold
    items = list(all_clusters(store, request, progress))
    gone = {key for one in items for key in dropped_members(one, threshold)}
    facets, size, _ = _documents(store, items, gone, progress)
    members = sum(len(one.members) for one in items)
    totals = Totals(len(items), members, redundant=len(gone), redundant_bytes=size)
    return Survey(items, facets, totals, threshold, sizes(len(one.members) for one in items))


def survey_pairs(
    database: Database, request: JoinOptions | PairsOptions, progress: Progress
) -> Survey[Pair]:
    """Find the most similar of all pairs, and estimate how many less similar ones there are.

    With PairsOptions, in a file with an index of passages, they are ordered by weighted similarity.
    """
    store, counts = store_of(database), np.zeros(_BINS, dtype=np.int64)
    names = {**PAIR, **WEIGHTED}

    def ranked() -> Iterator[tuple[tuple[float, float], tuple[Any, ...]]]:
        for block in pair_blocks(store, request, progress):
            counts[:] += np.histogram(block["similarity"], _BINS, (0, 1))[0]
            ranks = zip((rank or 0 for rank in block["weighted"]), block["similarity"], strict=True)
            yield from zip(ranks, block.rows(names), strict=True)

    best = nlargest(BEST_PAIRS, islice(ranked(), MAX_PAIRS), key=itemgetter(0))
    items = [Pair(**dict(zip(names, row, strict=True))) for _, row in best]
    facets, _, doc_ids = _documents(store, items, set(), progress)
    found = int(counts.sum())
    totals = Totals(len(items), 2 * len(items), found, found >= MAX_PAIRS)
    similar = (request.join if isinstance(request, PairsOptions) else request).similar
    threshold = similar.threshold or store.settings.threshold
    documents, sampled = (0, None) if similar.condition.where else distribution_of(store, _SEED)
    picture = columns(counts.tolist(), sampled, documents, threshold)
    return Survey(items, facets, totals, threshold, picture, doc_ids.reshape(-1, 2))


def _documents(
    store: Store, items: Sequence[Item], gone: set[str], progress: Progress
) -> tuple[Facets, int, IntArray]:
    """The facets of the documents of all items, the bytes of some of them, and the ids of all."""
    members = [(key, at) for at, one in enumerate(items) for key in keys_of(one)]
    facets: Facets = {}
    seen: set[str] = set()
    size = 0
    doc_ids = np.zeros(len(members), dtype=np.int64)
    for start in range(0, len(members), _AT_ONCE):
        progress(start, len(members), "documents' metadata read")
        some = members[start : start + _AT_ONCE]
        known = store.known([key for key, _ in some])
        of_part = [known[key].doc_id if key in known else 0 for key, _ in some]
        doc_ids[start : start + len(some)] = of_part
        ids = [known[key].doc_id for key, _ in some if key in gone and key in known]
        size += int(store.byte_lengths(int_array(ids)).sum())
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
    return facets, size, doc_ids


def _value(value: Any) -> str | None:
    """A value of metadata as text, None if it cannot be a facet."""
    if value is None or isinstance(value, list | dict):
        return None
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= _LONGEST_VALUE else None


def _lowest(one: Cluster | Pair) -> float:
    return one.lowest if isinstance(one, Cluster) else one.similarity


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where an item is in its list.

    Attributes:
        count: how many there are, decided or not.
        decided: how many of them are decided.
        number: its number, from 1; None if it is not in the list.
        skipped: how many undecided ones are before it.
        previous, following: what names the items before and after it; None for none.
        learned: where the reviewer's duplicates begin, as of Listing.
    """

    count: int
    decided: int
    number: int | None = None
    skipped: int = 0
    previous: dict[str, str] | None = None
    following: dict[str, str] | None = None
    learned: dict[str, Any] | None = None


class Filters(Options):
    """Which clusters or pairs a list has, and in which order."""

    sort: Text = ""
    min_similarity: Similarity = None
    max_similarity: Similarity = None
    smallest: Number = None
    largest: Number = None
    part: Text = ""  # of a key
    field: Text = ""  # of metadata, with its value
    value: Text = ""
    decided: Annotated[Literal["yes", "no"] | None, Option("Which of both.")] = None
    threshold: Threshold = None
    keep: KeepOption = "first"
    star: Flag = False
    sample: Number = None
    seed: Annotated[int | None, Option("Of the sample.", min=0)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.min_similarity, self.max_similarity
        if low is not None and high is not None and low > high:
            raise UsageError(f"max_similarity {high} is below min_similarity {low}")


@dataclass(eq=False)
class Listing:
    """The clusters or pairs of a list, by filters from the address.

    Attributes:
        survey: all of them.
        verdicts: the decisions.
        asked: which of them the list has, in which order.
    """

    survey: Survey[Any]
    verdicts: Verdicts
    asked: Filters

    @cached_property
    def matching(self) -> list[int]:
        """The indices of the items that match the filters, decided or not."""
        survey, asked = self.survey, self.asked
        highest = 1.0 if asked.max_similarity is None else asked.max_similarity
        part = asked.part.strip().casefold()
        valued = set(survey.facets.get(asked.field, {}).get(asked.value, ()))

        def fits(at: int, one: Cluster | Pair) -> bool:
            keys = keys_of(one)
            return (
                (asked.min_similarity or 0.0) <= _lowest(one) <= highest
                and (asked.smallest or 0) <= len(keys) <= (asked.largest or sys.maxsize)
                and (not asked.field or at in valued)
                and (not part or any(part in key.casefold() for key in keys))
            )

        return [at for at, one in enumerate(survey.items) if fits(at, one)]

    @cached_property
    def order(self) -> list[int]:
        """The indices of those of them that are listed, all or a sample, in order."""
        survey, asked, wanted = self.survey, self.asked, self.matching
        sort = asked.sort or next(iter(self.sorts))
        if sort not in self.sorts:
            raise UsageError(f"sort {sort!r:.50} is not {', '.join(self.sorts)}")
        if asked.sample is not None:
            if survey.doc_ids is None:
                raise UsageError("sample is for pairs")
            a, b = survey.doc_ids[wanted].T.copy()
            numbers = random_numbers(a, b, asked.seed)
            smallest = np.argsort(numbers, kind="stable")[: asked.sample]
            wanted = sorted(wanted[index] for index in smallest.tolist())
        _, order = ORDERS[sort]
        return sorted(wanted, key=lambda at: order(survey.items[at], survey.threshold))

    @cached_property
    def decided(self) -> set[int]:
        """The indices of the items with nothing left to decide."""
        some = self.verdicts.decided()
        return {
            at
            for at, keys in enumerate(map(keys_of, self.survey.items) if some else ())
            if not some.isdisjoint(keys) and self.verdicts.settled(keys)
        }

    @property
    def items(self) -> list[Any]:
        """The items in order: those that are decided, or are not, as the filters ask."""
        return [self.survey.items[at] for at in self._wanted(self.order)]

    @property
    def counts(self) -> dict[str, Any]:
        """How many items there are, and how many are decided."""
        return asdict(self.survey.totals) | {"decided": len(self.decided)}

    @property
    def drawn_from(self) -> int | None:
        """How many items a sample is drawn from; None if the list is no sample."""
        return None if self.asked.sample is None else len(self.matching)

    @property
    def learned(self) -> dict[str, Any] | None:
        """Where a reviewer's duplicates begin, from LEARNED answers on; None before.

        An answer is a pair, or a member of a cluster with the kept one, that is decided: a document
        of it is dropped, or both stay. `similarity` is the lowest t that maximizes the number of
        answers that it explains, duplicates from t on and others below it.

        Returns:
            None also if no answer says duplicate; otherwise similarity, and of all `answers` at it
            or above, how many were `duplicates`.
        """
        verdicts = self.verdicts
        known = verdicts.decided()
        answers = [
            (score, "drop" in (verdicts.of_key.get(a), verdicts.of_key.get(b)))
            for one in self.survey.items
            if not known.isdisjoint(keys_of(one))
            for a, b, score in (
                [(one.a, one.b, one.similarity)]
                if isinstance(one, Pair)
                else zip(repeat(one.keep), one.members, one.similarities)
            )
            if a != b and verdicts.settled((a, b))
        ]
        if len(answers) < LEARNED:
            return None
        scores, gone = np.array(sorted(answers, reverse=True)).T
        ends = np.flatnonzero(np.diff(scores, append=-1))[::-1]  # the lowest similarity first
        explained = np.cumsum(2 * gone - 1)[ends]
        count = int(ends[explained.argmax()]) + 1
        if explained.max() < 0:
            return None
        at = float(scores[count - 1])
        return {"similarity": at, "duplicates": int(gone[:count].sum()), "answers": count}

    @property
    def sorts(self) -> dict[str, str]:
        """The orders of the list and how pages call them; the first is the usual one."""
        of_clusters = ("size", "first") if self.survey.totals.redundant is None else ()
        return {name: label for name, (label, _) in ORDERS.items() if name not in of_clusters}

    @property
    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """The fields of metadata with several values: these, and how many documents have each."""
        return {
            name: sorted(((text, len(found[text])) for text in found), key=lambda each: -each[1])
            for name, found in self.survey.facets.items()
            if len(found) > 1
        }

    def _wanted(self, order: Iterable[int]) -> list[int]:
        asked = self.asked.decided
        return [at for at in order if not asked or (at in self.decided) == (asked == "yes")]

    def neighbours(self, *keys: str) -> tuple[Cluster | Pair | None, Neighbours]:
        """The item that has documents of these keys, or None, and its neighbours in the list.

        A list of undecided items comes round: those that were passed over follow the last one.
        """
        items, order = self.survey.items, self.order
        known = (at for at, one in enumerate(items) if all(key in keys_of(one) for key in keys))
        at = next(known, None)
        near = Neighbours(len(order), len(self.decided.intersection(order)), learned=self.learned)
        if at is None or at not in order:
            return None if at is None else items[at], near
        own = order.index(at)
        before, after = self._wanted(order[:own]), self._wanted(order[own + 1 :])
        if self.asked.decided == "no":
            before = after = [*after, *before]
        return items[at], replace(
            near,
            number=own + 1,
            skipped=len(set(order[:own]) - self.decided),
            previous=_name(items[before[-1]]) if before else None,
            following=_name(items[after[0]]) if after else None,
        )

    def described(self, one: Cluster | Pair, count: int | None = None) -> dict[str, Any]:
        """An item as pages show it; of a cluster, as many members as that, nearest to the kept one.

        A member is `left` if it goes when the kept one stays: it is undecided and similar to that
        one.
        """
        verdicts, threshold = self.verdicts, self.survey.threshold
        if isinstance(one, Pair):
            return {
                **{name: getattr(one, name) for name in STORED_PAIR},
                "a_decided": verdicts.of_key.get(one.a),
                "b_decided": verdicts.of_key.get(one.b),
                "different": verdicts.apart(one.a, one.b),
            }
        is_gone = verdicts.of_key.get(one.keep) == "drop"
        nearest = sorted(
            zip(one.members, one.similarities, one.identical, strict=True),
            key=lambda member: (member[0] != one.keep, -member[1]),
        )
        members: list[dict[str, Any]] = [
            {
                "key": key,
                "similarity": score,
                "identical": identical,
                "decided": (decided := verdicts.of_member(key, one.keep)),
                # Unless it was decided otherwise, the one that others are compared with.
                "kept": decided == "keep" or (key == one.keep and decided != "drop"),
                "left": not (is_gone or decided or key == one.keep) and score >= threshold,
            }
            for key, score, identical in nearest[:count]
        ]
        return {
            **{name: getattr(one, name) for name in ("keep", "lowest", "mean", "below", "exact")},
            "documents": len(one.members),
            "threshold": threshold,
            "prefix": common_path(one.members),
            "decided": verdicts.settled(one.members),
            "members": members,
        }


def _name(one: Cluster | Pair) -> dict[str, str]:
    """What names an item in an address."""
    if isinstance(one, Cluster):
        return {"key": one.keep}
    return {"a": one.a, "b": one.b, "listed": "yes"}


def common_path(keys: list[str] | tuple[str, ...]) -> str:
    """The directories that all keys begin with, if it helps to show them once.

    >>> common_path(["src/lib/util/a.py", "src/lib/util/b.py"])
    'src/lib/util/'
    >>> common_path(["src/a", "src/b"])
    ''
    """
    if len(keys) < 2:
        return ""
    same = commonprefix(keys)  # noqa: RUF071  # whole directories are cut from it
    prefix = same[: same.rfind("/") + 1]
    return prefix if len(prefix) >= _WORTH else ""
