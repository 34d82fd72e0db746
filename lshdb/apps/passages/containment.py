"""Matches by containment: |A and B| / |A|, the share of a query A that a document B holds.

A document of any length may hold a query. Where the file has passages, candidates are also the
documents that share a run of words with the query, and not only those in its buckets.
"""

import numpy as np

from lshdb.apps.passages.lookups import documents_sharing_runs
from lshdb.errors import UsageError
from lshdb.formatting import percent
from lshdb.options import RankingOptions
from lshdb.search import query as queries
from lshdb.search.lookup import TooManyAtOnce
from lshdb.search.similarity import Exact
from lshdb.sketch.constructions import candidate_probability
from lshdb.sketch.settings import Settings, unit_of
from lshdb.store.lookups import StoreReader
from lshdb.store.readonly_sql import DocumentFilter
from lshdb.text.arrays import IntArray, Shares


def similarity_at(containment: Shares, size: IntArray, other_sizes: IntArray) -> Shares:
    """The Jaccard similarity of a set to sets of sizes int64[n] that hold a share of it.

    With c of |A| shared, J = c |A| / (|A| + |B| - c |A|).

    >>> similarity_at(0.8, 100, np.array([80, 100, 1000])).round(3).tolist()
    [0.8, 0.667, 0.078]
    """
    shared = containment * size
    return shared / np.maximum(size + other_sizes - shared, 1)


def containment_at(
    similarities: Shares, size: IntArray, other_sizes: IntArray, *, exact: bool
) -> Shares:
    """The containment of a set in sets of sizes int64[n] at these Jaccard similarities float64[n].

    |A and B| = J (|A| + |B|) / (1 + J); by estimates this may be more than |A| or |B|.
    """
    shared = similarities * (size + other_sizes) / (1 + similarities)
    if exact:
        shared = np.rint(shared)  # a number of shingles, but for the rounding of J
    return np.minimum(shared, np.minimum(size, other_sizes)) / np.maximum(size, 1)


class ByContainment(queries.BySimilarity):
    """Ranks matches by the share of the query that they hold, and then by their similarity."""

    def __init__(self, level: Shares, batch: queries.QueryBatch, exact: Exact) -> None:
        super().__init__(level, np.inf)
        self._exact = exact
        self._of_queries = batch.signed.shingles
        if batch.stored:
            self._of_queries = exact.distinct(np.arange(len(batch)))

    def needed(self, pairs: queries.QueryPairs) -> Shares:
        """See BySimilarity."""
        documents = pairs.document + len(self._of_queries)
        sizes = self._of_queries[pairs.query], self._exact.shingles[documents]
        return np.minimum(similarity_at(self.level[pairs.query], *sizes), 1)

    def values(self, pairs: queries.QueryPairs, *, exact: bool) -> Shares:
        """See BySimilarity."""
        documents, sizes = pairs.document + len(self._of_queries), self._exact.shingles
        if exact:
            documents, sizes = self._exact.same[documents], self._exact.sizes
        of_queries = self._of_queries[pairs.query]
        return containment_at(pairs.similarities, of_queries, sizes[documents], exact=exact)

    def ranked(
        self, pairs: queries.QueryPairs, top: int | None, minimum: float
    ) -> queries.QueryPairs:
        """See BySimilarity."""
        return pairs.ranked(pairs.measured, pairs.similarities, top, minimum)


def matches(
    store: StoreReader,
    query: RankingOptions,
    batch: queries.QueryBatch,
    keep: DocumentFilter | None,
) -> queries.Found:
    """The matches of queries by containment, the best of each first, and what limits left out.

    Raises:
        UsageError: nothing is known of the documents' contents.
        TooManyAtOnce: several queries, or their candidates, are too many.
    """
    settings = store.settings
    if settings.shingling.foreign:
        raise UsageError("containment needs contents; this database has only signatures")
    by_runs = settings.passages > 0 and not query.exhaustive
    if by_runs and len(batch) > 1:
        raise TooManyAtOnce
    pairs, cuts = queries.candidates(store, query, batch, keep, 0)
    if by_runs and batch.stored:
        others, cut_runs = documents_sharing_runs(store, batch.stored[0])
        cuts[0] = [*cuts.get(0, ()), *cut_runs]
        in_buckets = pairs.doc_ids[pairs.document]
        others = others[queries.allowed(others, batch, keep)]
        added = queries.pairs_of_query(np.union1d(in_buckets, others))
        added.rest[added.doc_ids.searchsorted(in_buckets)] = pairs.rest
        pairs = added
    exact = queries.exact_of(store, batch, pairs.doc_ids, len(pairs.query))
    level = np.full(len(batch), query.similar.threshold or settings.threshold)
    order = ByContainment(level, batch, exact)
    found = queries.scored(store, query, batch, pairs, order, exact, in_buckets=not by_runs)
    return found, cuts


def recall_note(settings: Settings, containment: float) -> str:
    """Which documents that hold this share of a query are found, or how probably."""
    if run := settings.passages:
        return (
            f"documents that hold {run} or more {unit_of(settings.shingling)}s of the query in a "
            "row are found, however long they are; --exhaustive also finds those that hold only "
            "shorter pieces"
        )
    shares = [containment / (1 + times - containment) for times in (1, 2, 5)]
    recalls = [candidate_probability(share, settings.construction) for share in shares]
    return (
        f"a document that holds {containment:g} of the query's shingles is found with probability "
        f"{', '.join(map(percent, recalls))} if it is 1, 2, 5 times as long as the query; "
        "--exhaustive finds all"
    )
