"""All similar pairs of a database, and their clusters."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from lshdb import errors, offers
from lshdb.columns import Block
from lshdb.limits import Limit
from lshdb.model import Cluster, Verdict
from lshdb.options import (
    ClustersOptions,
    JoinOptions,
    OrderOptions,
    PairsOptions,
)
from lshdb.progress import Progress, silent
from lshdb.read.metadata import picked
from lshdb.read.paths import is_copy_name, is_in_bin
from lshdb.search import query
from lshdb.search.candidates import SharedBuckets, prefix_filtered
from lshdb.search.cut_notes import clusters_cut
from lshdb.search.lookup import candidate_ids
from lshdb.search.pair_filters import PairFilter, filters_of
from lshdb.search.similarity import Estimates, Exact, Scorer, canonical_ids
from lshdb.store import lookups, readonly_sql
from lshdb.store.store import Store
from lshdb.text.arrays import NO_NUMBERS, IntArray, Mask, Shares, chunks, chunks_of, runs

ScoredPairs = tuple[IntArray, IntArray, Shares]
"""Pairs int64[n] and int64[n], and their similarities float64[n]."""
NO_PAIRS: ScoredPairs = NO_NUMBERS, NO_NUMBERS, np.zeros(0)
COMPARED = "documents compared"
"""What progress of a join counts."""
_STAR = Limit(whole=0, first=1, others=0)


@dataclasses.dataclass(eq=False)
class Join:
    """One reading of the documents that share buckets, or of those that match a condition.

    Attributes:
        reader: the database.
        request: the options of the join.
        condition: what documents match, or None for all.
        only: int64[m], ascending: if given, only these documents are read, and no buckets.
        progress: counts the bands that are read.
        settings: those of the index that is read.
        limits: the reader's.
        doc_ids: int64[m], ascending; a document's number is its index here.
        shingles: int64[m], how many shingles each has.
        same: int64[m], for each document the first one with the same content.
        filters: keep pairs apart, and say which documents stay.
        buckets: all buckets of two documents or more.
        scorer: computes similarities, exact or not.
        estimates: computes estimates.
        threshold: the minimum similarity.
        max_similarity: the maximum, or infinity.
        min_weighted: the minimum similarity weighted by rarity; 0 for any.
        prefix_filtered: whether there are fewer candidates than the buckets have.
    """

    reader: lookups.StoreReader
    request: JoinOptions
    condition: readonly_sql.DocumentFilter | None
    only: IntArray | None = None
    progress: Progress = silent
    of_pairs: PairsOptions | None = None

    def __post_init__(self) -> None:
        similar = self.request.similar
        self.settings, self.limits = self.reader.settings, self.reader.limits
        self.threshold = similar.threshold or self.settings.threshold
        self.max_similarity, self.min_weighted = np.inf, 0.0
        if self.of_pairs is not None:
            self.max_similarity = self.of_pairs.max_similarity or np.inf
            self.min_weighted = self.of_pairs.weighted.min_weighted or 0.0
        self.prefix_filtered = False
        self.exact = self.settings.content and not similar.estimate
        self.measure = query.measure_of(self.reader)
        if self.settings.records:
            self.measure.check(similar.estimate, similar.distinguish)
        rows = self.reader.shared_buckets(self.progress) if self.only is None else iter(())
        if self.settings.records and self.only is None:
            rows = chain(rows, self.measure.pairs(self.threshold, self.progress))
        self.doc_ids, self.buckets = SharedBuckets.collect(rows)
        if self.only is not None:
            self.doc_ids = self.only
        if self.condition is not None:
            chosen = self.condition(self.doc_ids)
            kept = self.buckets.of_rows(chosen[self.buckets.members])
            numbers = (np.cumsum(chosen) - 1).astype(np.int32)
            self.buckets = SharedBuckets(numbers[kept.members], kept.offsets)
            self.doc_ids = self.doc_ids[chosen]
        self.shingles, digests = self.reader.sizes(self.doc_ids)
        self.same = canonical_ids(digests)
        del digests
        doc_ids = self.doc_ids
        self.filters: list[PairFilter] = []
        if not self.request.ignore_decisions:
            self.filters = filters_of(self.reader, doc_ids)
        if similar.distinguish:
            filter_of = offers.offered(offers.SEARCHES, "distinguish")(self.settings)
            self.filters.append(filter_of(self.contents))
        self.estimates = Estimates(
            lambda numbers: self.reader.signatures_of(doc_ids[numbers]), self.same, self.reader
        )
        self.scorer: Scorer = self.estimates
        if self.settings.records:
            self.scorer = self.measure.scorer(self.contents, self.shingles)
        elif self.exact:
            self.scorer = Exact(self.contents, self.same, self.shingles, self.reader)

    def __len__(self) -> int:
        return len(self.doc_ids)

    @cached_property
    def merged(self) -> IntArray:
        """int64[m]: `same`, except that documents stand only for themselves if a filter may keep
        one of this content apart from others.
        """
        marked = np.concatenate([NO_NUMBERS, *(each.marked for each in self.filters)])
        apart = np.isin(self.same, self.same[marked])
        return np.where(apart, np.arange(len(self)), self.same)

    def thin(
        self, buckets: SharedBuckets, labels: IntArray, whole: int | None = None
    ) -> SharedBuckets:
        """Fewer candidates instead of those of hot buckets, if similarities are exact.

        See `prefix_filtered`.
        """
        if isinstance(self.scorer, Exact):
            fewer = prefix_filtered(buckets, self.scorer, labels, self.threshold, whole)
            self.prefix_filtered |= fewer is not None
            return buckets if fewer is None else fewer
        return buckets

    def similar(self, left: IntArray, right: IntArray, threshold: float) -> ScoredPairs:
        """Those of the pairs int64[c] that are similar, and their similarities."""
        scores = self.scorer.scores(left, right, threshold)
        similar = (scores >= threshold) & (scores <= self.max_similarity)
        left, right, scores = left[similar], right[similar], scores[similar]
        tests: list[Callable[[IntArray, IntArray], Mask]] = [self.kept]
        if self.min_weighted:
            tests.append(lambda a, b: self._weighed(a, b)[0] >= self.min_weighted)
        if self.prefix_filtered or self.settings.construction.higher:
            # Some were paired by a shingle, and share no bucket; others share one, but not those
            # that make the cascade true. Few pairs are similar, so this is checked last.
            tests.append(self.estimates.share_bucket)
        for test in tests:
            passed = test(left, right)
            left, right, scores = left[passed], right[passed], scores[passed]
        return left, right, scores

    def _weighed(self, left: IntArray, right: IntArray) -> Shares:
        """`weighted` and `weighted_share` of pairs int64[c], float64[2, c]."""
        weighted: Shares = self.measure.weigh(self.contents, self.shingles, left, right)
        return weighted

    def kept(self, left: IntArray, right: IntArray) -> Mask:
        """Which pairs int64[c] no filter keeps apart, bool[c]."""
        kept = np.ones(len(left), dtype=np.bool_)
        for pair_filter in self.filters:
            kept &= pair_filter.keep(left, right)
        return kept

    def _rank(self, documents: IntArray) -> IntArray:
        """Of documents int64[n], -1 for those that stay by a filter, 1 for those to drop, or 0."""
        rank = np.zeros(len(documents), dtype=np.int64)
        for pair_filter in self.filters:
            rank = np.where(rank, rank, pair_filter.rank(documents))
        return rank

    def decided(self, members: IntArray, kept: IntArray) -> list[Verdict | None]:
        """What filters say of members int64[n] of clusters, whose kept ones are int64[n]."""
        different = ~self.kept(members, kept)
        rows = zip(self._rank(members).tolist(), different.tolist(), strict=True)
        verdicts: dict[int, Verdict] = {-1: "keep", 1: "drop"}
        return [verdicts.get(rank) or ("different" if apart else None) for rank, apart in rows]

    def sameness(self, left: IntArray, right: IntArray) -> tuple[Mask, Mask]:
        """Whether pairs int64[c] are identical, and have the same text, bool[c] both.

        That is unknown for foreign signatures.
        """
        same_text: Mask = self.same[left] == self.same[right]
        same_text &= not self.settings.shingling.foreign
        identical, doc_ids = same_text.copy(), self.doc_ids
        identical[same_text] = self.reader.have_same_bytes(
            doc_ids[left[same_text]], doc_ids[right[same_text]]
        )
        return identical, same_text

    def copies(self, members: IntArray, kept: IntArray) -> Mask:
        """Which documents int64[n] go without a decision if others int64[n] stay, bool[n].

        At threshold 1, a file only if the other one has the same bytes.
        """
        if self.threshold < 1 or not self.reader.has_files():
            return np.ones(len(members), dtype=np.bool_)
        states = (file.state for file in self.reader.files_of(self.doc_ids[members].tolist()))
        are_rows = np.fromiter((state is None for state in states), np.bool_, len(members))
        return are_rows | self.sameness(members, kept)[0]

    def block(self, left: IntArray, right: IntArray, scores: Shares) -> Block:
        """The columns of similar pairs int64[c]: the fields of Pair, metadata if requested."""
        count = len(left)
        estimates = self.estimates.scores(left, right, 0) if self.exact else scores
        keys, metadata = self.described(np.concatenate([left, right]))
        identical, same_text = self.sameness(left, right)
        weighted: list[Any]
        weighted_share: list[Any]
        weighted = weighted_share = [None] * count
        if self.of_pairs is not None and self.measure is not None:
            weighted, weighted_share = self._weighed(left, right).tolist()
        columns: dict[str, list[Any]] = {
            "a": keys[:count],
            "b": keys[count:],
            "similarity": scores.tolist(),
            "exact": [self.exact] * count,
            "estimate": estimates.tolist(),
            "identical": identical.tolist(),
            "same_text": same_text.tolist(),
            "weighted": weighted,
            "weighted_share": weighted_share,
        }
        if metadata:
            columns |= {"a_metadata": metadata[:count], "b_metadata": metadata[count:]}
        return columns

    def contents(self, numbers: IntArray) -> Iterable[str]:
        """The stored contents of documents int64[n]."""
        return self.reader.contents(self.doc_ids[numbers])

    def described(self, documents: IntArray) -> tuple[list[str], list[dict[str, Any]]]:
        """The keys of documents int64[n], and the requested fields, if there are any."""
        distinct, inverse = np.unique(documents, return_inverse=True)
        keys = self.reader.keys_of(self.doc_ids[distinct])
        metadata = list[dict[str, Any]]()
        if names := self.request.similar.fields:
            stored = self.reader.metadata_of(self.doc_ids[distinct], names)
            fields = [picked(document_fields, names) for document_fields in stored]
            metadata = [fields[i] for i in inverse.tolist()]
        return [keys[i] for i in inverse.tolist()], metadata

    def order(self, options: OrderOptions) -> IntArray:
        """int64[m]: the documents, in the order of preference to keep.

        Of documents with the same content, one whose name is not that of a copy comes first, unless
        the rule orders them. Files in bins come last, as their system may delete them at any time.

        Raises:
            UsageError: the rule needs what no document has.
        """
        is_copy = np.zeros(len(self), dtype=np.bool_)
        repeated = np.flatnonzero(np.bincount(self.same, minlength=len(self))[self.same] > 1)
        is_copy[repeated] = [*map(is_copy_name, self.reader.keys_of(self.doc_ids[repeated]))]
        order = np.lexsort((is_copy, self.same))
        if options.ordered:
            order = offers.offered(offers.SEARCHES, "keep")(self, options, order)
        in_bins = [doc_id for doc_id, key in self.reader.keys_of_files() if is_in_bin(key)]
        order = order[np.argsort(np.isin(self.doc_ids[order], in_bins), kind="stable")]
        return order[np.argsort(self._rank(order), kind="stable")]


def pair_blocks(
    store: Store,
    request: JoinOptions | PairsOptions,
    progress: Progress = silent,
    sample: Any = None,
) -> Iterator[Block]:
    """The columns of all similar pairs of candidates, some thousands at a time.

    They come in the order of addition, or the best first; or some of them, drawn by `sample`, what
    an app offers.
    """
    of_pairs = request if isinstance(request, PairsOptions) else None
    request = request.join if isinstance(request, PairsOptions) else request
    with store.snapshot(request.similar.condition) as (reader, condition):
        if of_pairs is not None:
            query.ranking(reader.settings, of_pairs.weighted)  # whether it is possible
            of_pairs.check_range(request.similar.threshold or reader.settings.threshold)
        row = only = None
        if request.key is not None:
            row = query.row_of_key(reader, request.key)
            only = NO_NUMBERS if row.signature is None else candidate_ids(reader, row.signature)
        join = Join(reader, request, condition, only, progress, of_pairs)
        candidates = _candidates(join) if row is None else _candidates_with(join, row.doc_id)
        scored: Iterable[ScoredPairs] = (join.similar(a, b, join.threshold) for a, b in candidates)
        if sample is not None:
            scored = [sample.draw(scored, join.doc_ids)]
        elif request.similar.top is not None and not (of_pairs and of_pairs.weighted.sort):
            scored = [_best(join, candidates, request.similar.top)]
        for a, b, scores in scored:
            for part in chunks(len(a), join.limits.pairs_rows):
                yield join.block(a[part], b[part], scores[part])


def _candidates(join: Join) -> Iterator[tuple[IntArray, IntArray]]:
    """All candidate pairs, in the order of addition."""
    join.buckets = join.thin(join.buckets, join.same)  # the others leave memory
    # Thinned buckets are not all that a pair shares.
    shared = 1 if join.prefix_filtered else join.settings.construction.min_bands
    for left, right in join.buckets.pairs(len(join), shared=shared, chunk=join.limits.pairs_chunk):
        join.progress(int(left[0]), len(join), COMPARED)
        yield left, right


def _candidates_with(join: Join, doc_id: int) -> Iterator[tuple[IntArray, IntArray]]:
    """The candidate pairs with one document, in the same order."""
    if doc_id not in join.doc_ids:
        return
    index = int(np.searchsorted(join.doc_ids, doc_id))
    others = np.flatnonzero(join.doc_ids != doc_id)
    for part in chunks(len(others), join.limits.pairs_chunk):
        chunk = others[part]
        yield np.minimum(chunk, index), np.maximum(chunk, index)


def _best(join: Join, candidates: Iterator[tuple[IntArray, IntArray]], top: int) -> ScoredPairs:
    """The `top` most similar of candidate pairs, best first; of equal ones those added first.

    Only these and a chunk of candidates are in memory. All later pairs must have the similarity of
    the last of them: most are ruled out before they are compared.
    """
    best: tuple[Any, Any, Any] = NO_PAIRS
    min_similarity = join.threshold
    for left, right in candidates:
        similar = join.similar(left, right, min_similarity)
        a, b, scores = map(np.append, best, similar)
        order = np.argsort(-scores, kind="stable")[:top]
        best = a[order], b[order], scores[order]
        if len(order) == top:
            min_similarity = float(best[2][-1])
    return best


def all_clusters(
    store: Store, request: ClustersOptions, progress: Progress = silent
) -> Iterator[Cluster]:
    """The clusters of two or more documents, in the order of their first ones, or the best first.

    Their numbers are those among all clusters, whichever are chosen. If one member is enough, the
    documents that are similar to no other follow, in the order of addition, with the next numbers.
    """
    similar, key = request.join.similar, request.join.key
    with store.snapshot(similar.condition) as (reader, condition):
        doc_id = None if key is None else query.row_of_key(reader, key).doc_id
        join = Join(reader, request.join, condition, progress=progress)
        find = _components
        if request.clusters.star:
            find = offers.offered(offers.SEARCHES, "star")
        keeper, scores = find(join, join.order(request.clusters.order))
        size = np.bincount(keeper, minlength=len(join))[keeper]
        # Clusters in the order of their first members; members in the order of addition.
        first = np.full(len(join), len(join))
        np.minimum.at(first, keeper, np.arange(len(join)))
        members = np.flatnonzero(size > 1)
        members = members[np.argsort(first[keeper[members]], kind="stable")]
        begins, ends = runs(keeper[members])
        sizes = ends - begins
        of_others = np.where(members == keeper[members], 0, scores[members])
        mean = np.add.reduceat(of_others, begins) / (sizes - 1)
        chosen = (sizes >= (request.min_size or 0)) & (sizes <= (request.max_size or len(join)))
        if doc_id is not None:
            chosen &= np.logical_or.reduceat(join.doc_ids[members] == doc_id, begins)
        numbers = np.flatnonzero(chosen)
        if similar.top is not None:
            numbers = numbers[np.argsort(-mean[numbers], kind="stable")][: similar.top]
        clustered, count = join.doc_ids[members], len(sizes)
        for part in chunks_of(sizes[numbers], join.limits.pairs_rows):
            chosen_numbers = numbers[part].tolist()
            groups = [members[begins[number] : ends[number]] for number in chosen_numbers]
            yield from _clusters_of(
                join, groups, chosen_numbers, mean[numbers[part]], keeper, scores
            )
        if request.min_size == 1:
            others = np.setdiff1d(reader.doc_ids(), clustered)
            left = None if similar.top is None else similar.top - len(numbers)
            yield from _singles(Join(reader, request.join, condition, others), doc_id, count, left)


def _singles(join: Join, doc_id: int | None, count: int, top: int | None) -> Iterator[Cluster]:
    """Clusters of one document, with the numbers after `count`: all, or that of one document."""
    keeper, ones = np.arange(len(join)), np.ones(len(join))
    chosen = keeper if doc_id is None else np.flatnonzero(join.doc_ids == doc_id)
    for part in chunks(len(chosen[:top]), join.limits.pairs_rows):
        documents = chosen[:top][part]
        groups, numbers = documents[:, np.newaxis], (count + documents).tolist()
        yield from _clusters_of(join, groups, numbers, ones[documents], keeper, ones)


def _clusters_of(
    join: Join,
    groups: Sequence[IntArray] | IntArray,
    numbers: Iterable[int],
    means: Shares,
    keeper: IntArray,
    scores: Shares,
) -> Iterator[Cluster]:
    """Clusters, at least one, with what is stored of their members.

    Args:
        join: has the documents.
        groups: the members of each, int64[any].
        numbers: of each, counted from 0.
        means: float64[c], the mean similarity of the other members of each to the kept one.
        keeper: int64[m], for each document the kept one of its cluster.
        scores: float64[m], the similarity to that.
    """
    members = np.concatenate([*groups])
    kept = keeper[members]
    keys, metadata = join.described(members)
    identical, same_text = (column.tolist() for column in join.sameness(members, kept))
    copies, decided = join.copies(members, kept).tolist(), join.decided(members, kept)
    end = 0
    for number, group, mean in zip(numbers, groups, means.tolist(), strict=True):
        begin, end = end, end + len(group)
        part, is_kept = slice(begin, end), group == keeper[group[0]]
        others = scores[group[~is_kept]]
        yield Cluster(
            cluster=number + 1,
            keep=keys[begin + int(is_kept.argmax())],
            members=tuple(keys[part]),
            similarities=tuple(scores[group].tolist()),
            lowest=float(others.min(initial=1)),
            mean=mean,
            below=int((others < join.threshold).sum()),
            exact=join.exact,
            identical=tuple(identical[part]),
            same_text=tuple(same_text[part]),
            copies=tuple(copies[part]),
            decided=tuple(decided[part]),
            metadata=tuple(metadata[part]) or None,
        )


def _components(join: Join, order: IntArray) -> tuple[IntArray, Shares]:
    """Connected components: for each document the kept one, and the similarity to it.

    Equal documents count as one. The members of a bucket are first compared with its first one,
    which is enough for most buckets; then with others, as long as they are not connected.
    """
    components = Components(len(join))
    is_first = join.merged == np.arange(len(join))
    buckets = join.buckets.of_rows(is_first[join.buckets.members])
    limits = join.limits
    for limit, what in ((_STAR, COMPARED), (limits.clusters, "documents compared again")):
        for a, b in buckets.pairs(len(join), limit, chunk=limits.pairs_chunk):
            join.progress(int(a[0]), len(join), what)
            apart = components.labels[a] != components.labels[b]
            left, right, _ = join.similar(a[apart], b[apart], join.threshold)
            components.join(left, right)
        buckets = buckets.mixed(components.labels)
        if limit is _STAR:
            buckets = join.thin(buckets, components.labels, limits.clusters.whole)
    warn_of_cut(buckets, limits.clusters, components.labels, np.ones(len(join), dtype=np.bool_))
    label = components.labels[join.merged]
    # The first of each component in the order of preference.
    keeper = np.empty(len(join), dtype=np.int64)
    keeper[label[order[::-1]]] = order[::-1]
    keeper = keeper[label]
    scores = np.ones(len(join))
    not_kept = np.flatnonzero(keeper != np.arange(len(join)))
    not_kept = not_kept[np.argsort(keeper[not_kept], kind="stable")]
    for part in chunks(len(not_kept), join.limits.pairs_rows):
        join.progress(part.start, len(not_kept), "documents compared with the kept ones")
        compared = not_kept[part]
        scores[compared] = join.scorer.scores(keeper[compared], compared, 0)
    return keeper, scores


def warn_of_cut(buckets: SharedBuckets, limit: Limit, labels: IntArray, asking: Mask) -> None:
    """Warn if a limit left out pairs of different labels; for the arguments see `cut_by`."""
    if cut := buckets.cut_by(limit, labels, asking):
        errors.warn_of_limit(clusters_cut(cut, limit))


@dataclasses.dataclass(eq=False)
class Components:
    """A partition of the numbers 0 to n - 1 that grows coarser with every edge.

    All edges of a batch are hooked at once, the larger root to the smaller, and paths are then
    halved until all point to their root (Shiloach, Vishkin, 1982): a few rounds over arrays, even
    for long chains.

    >>> components = Components(4)
    >>> components.join(np.array([3, 1]), np.array([1, 2]))
    >>> components.labels.tolist()
    [0, 1, 1, 1]

    Attributes:
        count: n.
        labels: int64[n], the smallest number of each number's component.
    """

    count: int

    def __post_init__(self) -> None:
        self.labels = np.arange(self.count)

    def join(self, left: IntArray, right: IntArray) -> None:
        """Join the components of left[i] and right[i], int64[c], for each i."""
        root = self.labels
        while True:
            left, right = root[left], root[right]
            apart = left != right
            if not apart.any():
                break
            left, right = left[apart], right[apart]
            np.minimum.at(root, np.maximum(left, right), np.minimum(left, right))
            while not np.array_equal(above := root[root], root):
                root[:] = above
