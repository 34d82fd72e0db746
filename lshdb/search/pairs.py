"""All similar pairs of a database, and the clusters that they make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.model import Cluster, Keep, Pair
from lshdb.search.candidates import SharedBuckets, thinned
from lshdb.search.decisions import Decided
from lshdb.search.limits import CLUSTERS, Limit, clusters_cut
from lshdb.search.similarity import Estimates, Exact, Numbers, Scorer, first_of_equal, runs
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_STAR: Final = Limit(whole=0, first=1, others=0)
_ROWS: Final = 10_000
"""Pairs, or members of clusters, made into objects in one go: some MB."""


@dataclass(frozen=True, slots=True)
class Request:
    """What `Database.pairs` or `Database.clusters` was asked; illegal ones raise UsageError.

    The threshold None is that of the database, as it is when the join begins.
    """

    threshold: float | None
    estimate: bool
    keep: Keep = "first"
    star: bool = False
    ignore_decisions: bool = False

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(f"threshold {self.threshold:g} is not above 0 and at most 1")
        if self.keep not in get_args(Keep):
            raise UsageError(f"keep {self.keep!r} is not {', '.join(get_args(Keep))}")


class _Join:
    """One reading of the documents that share buckets.

    Attributes:
        settings: those of the index that is read.
        doc_ids: int64[m], ascending; a document's number is its place here.
        same: int64[m], for each document the first one with the same content.
        merged: int64[m], the same, but for documents that are marked different from others: they
            stand for themselves alone.
        decided: what was decided of the documents.
        buckets: all buckets of two documents or more.
        scorer: computes similarities, exact or not.
        estimates: computes estimates.
        threshold: the least similarity.
        thinned: whether there are fewer candidates than the buckets have.
    """

    def __init__(self, reader: StoreReader, request: Request) -> None:
        self._reader = reader
        self.settings = reader.settings
        own = self.settings.threshold
        self.threshold = own if request.threshold is None else request.threshold
        self.thinned = False
        self.exact = self.settings.content and not request.estimate
        self.doc_ids, self.buckets = SharedBuckets.collect(reader.shared_buckets())
        self._shingles, digests = reader.sizes(self.doc_ids)
        self.same = first_of_equal(digests)
        del digests
        nothing = np.empty((0, 3), dtype=np.int64)
        decided = nothing if request.ignore_decisions else reader.decided()
        self.decided = Decided(self.doc_ids, decided)
        self.merged = _without(self.same, self.decided.different)
        lanes = self.settings.permutations
        self.estimates = Estimates(reader.signatures_of, self.doc_ids, self.same, lanes)
        self.scorer: Scorer = self.estimates
        if self.exact:
            self.scorer = Exact(
                reader.contents, self.doc_ids, self.same, self._shingles, self.settings
            )

    def __len__(self) -> int:
        return len(self.doc_ids)

    def thin(self, buckets: SharedBuckets, labels: Numbers, threshold: float) -> SharedBuckets:
        """Fewer candidates instead of those of hot buckets, if similarities are exact."""
        if isinstance(self.scorer, Exact):
            fewer = thinned(buckets, self.scorer, labels, threshold, CLUSTERS.whole)
            self.thinned |= fewer is not None
            return buckets if fewer is None else fewer
        return buckets

    def similar(
        self, one: Numbers, other: Numbers, threshold: float
    ) -> tuple[Numbers, Numbers, npt.NDArray[np.float64]]:
        """Those of the pairs int64[c] that are similar, and their similarities."""
        scores = self.scorer.scores(one, other, threshold)
        similar = (scores >= threshold) & ~self.decided.apart(one, other)
        one, other, scores = one[similar], other[similar], scores[similar]
        construction = self.settings.construction
        if self.thinned or construction.higher:
            # Some were paired by a shingle, and share no bucket; others share one, but not those
            # that make the cascade true. Few pairs are similar, so these are asked last.
            shared = self.estimates.share_bucket(one, other, construction)
            one, other, scores = one[shared], other[shared], scores[shared]
        return one, other, scores

    def identical(self, one: Numbers, other: Numbers) -> npt.NDArray[np.bool_]:
        """Whether pairs int64[c] have the same content, bool[c]; of foreign signatures unknown."""
        same: npt.NDArray[np.bool_] = self.same[one] == self.same[other]
        return same & (not self.settings.shingling.foreign)

    def keys(self, documents: Numbers) -> list[str]:
        """The keys of documents, int64[n]."""
        some, place = np.unique(documents, return_inverse=True)
        keys = self._reader.keys_of(self.doc_ids[some])
        return [keys[i] for i in place.tolist()]

    def order(self, keep: Keep) -> Numbers:
        """int64[m]: the documents, those to be kept rather than others first."""
        order = self._order(keep)
        rank = np.where(self.decided.keep, 0, np.where(self.decided.drop, 2, 1))
        return order[np.argsort(rank[order], kind="stable")]

    def _order(self, keep: Keep) -> Numbers:
        if keep == "last":
            return np.arange(len(self))[::-1].copy()
        if keep == "longest":
            # The elements of a set, not the characters of its JSON.
            of_sets = self.settings.shingling.of_sets
            lengths = self._shingles if of_sets else self._reader.lengths(self.doc_ids)
            return np.argsort(-lengths, kind="stable")
        return np.arange(len(self))


def _without(same: Numbers, documents: Numbers) -> Numbers:
    """First documents of equal ones, int64[m], where some int64[k] are equal to no other."""
    if not len(documents):
        return same
    merged = same.copy()
    merged[documents] = documents
    left = np.flatnonzero(np.isin(same, same[documents]))
    left = left[~np.isin(left, documents)]
    _, first, of_document = np.unique(same[left], return_index=True, return_inverse=True)
    merged[left] = left[first][of_document]
    return merged


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Some pairs of similar documents, n of them.

    Attributes:
        a, b: their keys, n each; `a` has those added first.
        similarities: float64[n].
        estimates: float64[n].
        exact: whether similarities are exact.
        identical: bool[n], whether the two have the same content.
    """

    a: list[str]
    b: list[str]
    similarities: npt.NDArray[np.float64]
    estimates: npt.NDArray[np.float64]
    exact: bool
    identical: npt.NDArray[np.bool_]

    def rows(self) -> Iterator[tuple[str, str, float, bool, float, bool]]:
        """The fields of each pair, in the order of lshdb.model.Pair."""
        scores, estimates = self.similarities.tolist(), self.estimates.tolist()
        identical = self.identical.tolist()
        return zip(self.a, self.b, scores, repeat(self.exact), estimates, identical, strict=False)


def all_pairs(store: Store, request: Request) -> Iterator[Pair]:
    """All pairs of candidates that are similar, in the order of addition."""
    for block in pair_blocks(store, request):
        yield from (Pair(*row) for row in block.rows())


def pair_blocks(store: Store, request: Request) -> Iterator[PairBlock]:
    """The same pairs, some thousands at a time."""
    with store.beside() as reader:
        join = _Join(reader, request)
        buckets = join.thin(join.buckets, join.same, join.threshold)
        # Buckets that were thinned have not all that a pair shares.
        shared = 1 if join.thinned else join.settings.construction.least_bands
        for candidates in buckets.pairs(len(join), shared=shared):
            a, b, scores = join.similar(*candidates, join.threshold)
            for start in range(0, len(a), _ROWS):
                part = slice(start, start + _ROWS)
                yield _block(join, a[part], b[part], scores[part])


def _block(join: _Join, a: Numbers, b: Numbers, scores: npt.NDArray[np.float64]) -> PairBlock:
    estimates = join.estimates.scores(a, b, 0) if join.exact else scores
    keys = join.keys(np.concatenate([a, b]))
    identical = join.identical(a, b)
    return PairBlock(keys[: len(a)], keys[len(a) :], scores, estimates, join.exact, identical)


def all_clusters(store: Store, request: Request) -> Iterator[Cluster]:
    """The clusters of two documents or more, in the order of their first documents."""
    with store.beside() as reader:
        join = _Join(reader, request)
        order = join.order(request.keep)
        find = _stars if request.star else _components
        keeper, scores = find(join, order, join.threshold)
        size = np.bincount(keeper, minlength=len(join))[keeper]
        # Clusters in the order of their first members, in each the members in theirs.
        first = np.full(len(join), len(join))
        np.minimum.at(first, keeper, np.arange(len(join)))
        members = np.flatnonzero(size > 1)
        members = members[np.argsort(first[keeper[members]], kind="stable")]
        yield from _clusters(join, members, keeper[members], scores[members], join.threshold)


def _clusters(
    join: _Join,
    members: Numbers,
    keepers: Numbers,
    scores: npt.NDArray[np.float64],
    threshold: float,
) -> Iterator[Cluster]:
    """Clusters of members int64[n], cluster by cluster, with the kept one of each."""
    begins, ends = runs(keepers)
    place = 0
    while place < len(begins):
        last = max(place + 1, int(np.searchsorted(ends, begins[place] + _ROWS, side="right")))
        start = begins[place]
        keys = join.keys(members[start : ends[last - 1]])
        for number in range(place, last):
            begin, end = int(begins[number]), int(ends[number])
            own = keys[begin - start : end - start]
            kept = int(np.flatnonzero(members[begin:end] == keepers[begin])[0])
            similarities = scores[begin:end]
            others = np.delete(similarities, kept)
            identical = join.identical(members[begin:end], keepers[begin:end])
            yield Cluster(
                cluster=number + 1,
                keep=own[kept],
                members=tuple(own),
                similarities=tuple(similarities.tolist()),
                lowest=float(others.min()),
                mean=float(others.mean()),
                below=int((others < threshold).sum()),
                exact=join.exact,
                identical=tuple(identical.tolist()),
                decided=join.decided.verdicts(members[begin:end], int(keepers[begin])),
            )
        place = last


def _components(
    join: _Join, order: Numbers, threshold: float
) -> tuple[Numbers, npt.NDArray[np.float64]]:
    """Connected components: for each document the one kept, and the similarity to it.

    Equal documents count as one. The members of a bucket are first compared with its first one,
    which is all that most buckets need; then with others, as long as they are not connected.
    """
    components = Components(len(join))
    buckets = join.buckets.only(join.merged == np.arange(len(join)))
    scorer = join.scorer
    for limit in (_STAR, CLUSTERS):
        for a, b in buckets.pairs(len(join), limit):
            apart = components.apart(a, b)
            one, other, _ = join.similar(a[apart], b[apart], threshold)
            components.join(one, other)
        buckets = buckets.mixed(components.labels)
        if limit is _STAR:
            buckets = join.thin(buckets, components.labels, threshold)
    _warn(buckets, components.labels, np.ones(len(join), dtype=np.bool_))
    label = components.labels[join.merged]
    # The first of each component in the order wanted.
    keeper = np.empty(len(join), dtype=np.int64)
    keeper[label[order[::-1]]] = order[::-1]
    keeper = keeper[label]
    scores = np.ones(len(join))
    other = np.flatnonzero(keeper != np.arange(len(join)))
    other = other[np.argsort(keeper[other], kind="stable")]
    for start in range(0, len(other), _ROWS):
        some = other[start : start + _ROWS]
        scores[some] = scorer.scores(keeper[some], some, 0)
    return keeper, scores


def _stars(
    join: _Join, order: Numbers, threshold: float
) -> tuple[Numbers, npt.NDArray[np.float64]]:
    """Stars: documents in an order each take those that are similar, unless they are taken.

    Documents are renumbered by their place in the order; of equal ones, the first stands for all.
    """
    count = len(join)
    number = np.empty(count, dtype=np.int64)
    number[order] = np.arange(count)
    first = np.full(count, count)
    np.minimum.at(first, join.merged, number)
    own = first[join.merged]  # the number that stands for each document
    buckets = join.thin(join.buckets.only(own == number), join.merged, threshold)
    buckets = buckets.renumbered(number)
    taken = np.full(count, -1)
    scores = np.ones(count)
    free = np.ones(count, dtype=np.bool_)
    for a, b in buckets.pairs(count, CLUSTERS, free):
        one, other, found = join.similar(order[a], order[b], threshold)
        take_greedily(number[one], number[other], found, taken, scores)
        np.less(taken, 0, out=free)
    taker = np.where(free, np.arange(count), taken)
    _warn(buckets, taker, free)
    return order[taker[own]], scores[own]


def _warn(buckets: SharedBuckets, labels: Numbers, asking: npt.NDArray[np.bool_]) -> None:
    if cut := buckets.cut_by(CLUSTERS, labels, asking):
        warn_of_limit(clusters_cut(cut, CLUSTERS))


class Components:
    """A partition of the numbers 0 to n - 1 that grows coarser with every edge.

    All edges of a batch are hooked at once, the larger root to the smaller, and paths are then
    halved until all point to their root (Shiloach, Vishkin, 1982): a few rounds over arrays,
    however long a chain is.

    >>> components = Components(4)
    >>> components.join(np.array([3, 1]), np.array([1, 2]))
    >>> components.labels.tolist()
    [0, 1, 1, 1]
    """

    def __init__(self, count: int) -> None:
        self._root = np.arange(count)

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """int64[n]: the least number of each one's component."""
        return self._root

    def join(self, one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> None:
        """Join the components of one[i] and other[i], int64[c], for each i."""
        root = self._root
        while True:
            one, other = root[one], root[other]
            apart = one != other
            if not apart.any():
                break
            one, other = one[apart], other[apart]
            np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
            while not np.array_equal(above := root[root], root):
                root[:] = above

    def apart(
        self, one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Whether one[i] and other[i] are in different components, bool[c]."""
        different: npt.NDArray[np.bool_] = self._root[one] != self._root[other]
        return different


def take_greedily(
    one: npt.NDArray[np.int64],
    other: npt.NDArray[np.int64],
    similarity: npt.NDArray[np.float64],
    taken: npt.NDArray[np.int64],
    similarities: npt.NDArray[np.float64],
) -> None:
    """Let documents take those that are similar to them, unless they are taken themselves.

    Args:
        one: int64[c], ascending.
        other: int64[c]: other[i] is similar to one[i], and larger. All pairs of a smaller one are
            here or were given before.
        similarity: float64[c], of these pairs.
        taken: int64[n], by which document each is taken, -1 by none yet; changed in place.
        similarities: float64[n], the similarity to that document; changed in place.
    """
    begins, ends = runs(one)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        taker = int(one[begin])
        if taken[taker] >= 0:
            continue
        its = other[begin:end]
        free = taken[its] < 0
        taken[its[free]] = taker
        similarities[its[free]] = similarity[begin:end][free]
