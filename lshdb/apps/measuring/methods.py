"""Measuring what the index of a database finds, by brute force for a sample of its documents.

Each document of the sample is compared with all others by their signatures. Pairs whose estimate
allows the threshold (lshdb.search.similarity.min_estimate) are compared exactly, if content is
kept: that misses one or two in a million pairs at the threshold. Without content the estimate
counts, and recall then looks better than it is: a pair whose lanes agree by chance is both
estimated too similar and more likely to be found.

The index's candidates are read from the file: the band rows, and in a cascade its levels.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshdb.apps.measuring import predictions, sampling
from lshdb.apps.measuring.model import Measured, MeasuredRecall
from lshdb.apps.measuring.options import MeasureOptions
from lshdb.database import Database, store_of
from lshdb.progress import shown
from lshdb.search import lookup, similarity
from lshdb.sketch import minhash
from lshdb.store.store import Store
from lshdb.taking import takes
from lshdb.text import arrays

_MIN_QUERIES = 100
_MAX_QUERIES = 1_000
_PER_QUERY = 10_000
"""Candidates that a query counts for besides its own: 1,000 queries leave room for a table."""
_SIGMAS = 1.959964
"""Standard deviations that hold 95% of a normal distribution."""


@takes(MeasureOptions)
def measure(db: Database, options: MeasureOptions) -> Measured:
    """Measure what the index finds and costs, by brute force for a sample of the documents.

    Warns:
        LimitWarning: buckets were too large to be read whole for the formula.

    >>> import lshdb
    >>> with lshdb.open("fables.db", threshold=0.5) as db:
    ...     report = db.add("fox", "The fox and the grapes")
    ...     report += db.add("ant", "The fox and the grapes and the ant")
    ...     measured = db.measure()
    >>> measured.recall.pairs, measured.recall.recall, measured.candidates
    (1, 1.0, 1.0)
    """
    store = store_of(db)
    with shown(options.progress, "comparing") as progress, store.reading():
        threshold = options.threshold or store.settings.threshold
        sample, seed = options.sample, options.seed
        documents, distribution = sampling.distribution_of(store, seed)
        if sample is None:
            lanes = max(1, documents * store.settings.permutations)
            sample = max(_MIN_QUERIES, min(_MAX_QUERIES, store.limits.measure_lanes // lanes))
        doc_ids, signatures = sampling.sample_documents(
            store, np.random.default_rng(seed), sample, documents
        )
        counts = _PairCounts(store, threshold, doc_ids)
        comparisons = 0
        for part, candidates in _candidates(store, signatures, doc_ids):
            limits = store.limits
            block = min(limits.documents_read, max(1, limits.measure_cells // len(candidates)))
            for other_ids, others in store.all_signatures(block):
                counts.compare(part, signatures[part], candidates, other_ids, others)
                comparisons += len(other_ids) * len(candidates)
                progress(comparisons, documents * len(doc_ids), "comparisons")
        return counts.result(distribution, documents)


def wilson(hits: float, pairs: float) -> tuple[float, float]:
    """Wilson's score interval of a share, at confidence 95%.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    1927.

    >>> [round(bound, 4) for bound in wilson(98, 100)]
    [0.93, 0.9945]
    """
    share, z2 = hits / pairs, _SIGMAS**2
    middle = (share + z2 / (2 * pairs)) / (1 + z2 / pairs)
    half = math.sqrt(share * (1 - share) / pairs + z2 / (4 * pairs**2))
    half *= _SIGMAS / (1 + z2 / pairs)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def _candidates(
    store: Store, signatures: arrays.Lanes, doc_ids: arrays.IntArray
) -> Iterator[tuple[slice, list[arrays.IntArray]]]:
    """The candidates of some queries at a time, doc_ids int64[c] of each, without itself."""
    each = (lookup.candidate_ids(store, signature) for signature in signatures)
    others = (
        candidates[candidates != doc_id] for candidates, doc_id in zip(each, doc_ids, strict=True)
    )
    start = 0
    maximum = store.limits.measure_held
    for batch in arrays.bounded(others, lambda candidates: len(candidates) + _PER_QUERY, maximum):
        yield slice(start, start := start + len(batch)), batch


@dataclass(eq=False)
class _PairCounts:
    """Counts of pairs of a query and another document."""

    store: Store
    threshold: float
    queries: arrays.IntArray

    def __post_init__(self) -> None:
        settings = self.store.settings
        minimum = float(similarity.min_estimate(self.threshold, settings))
        if not settings.content:
            minimum = self.threshold
        # An estimate is a whole number of lanes; rounding must not lose the last one.
        self._min_lanes = max(0, math.ceil(minimum * settings.permutations - 1e-9))
        # Of each query, the similar pairs that are counted for it.
        self._similar = np.zeros(len(self.queries), dtype=np.int64)
        self._found = self._candidates = self._similar_candidates = 0
        self._expected = self._expected_similar = 0.0

    def compare(
        self,
        part: slice,
        signatures: arrays.Lanes,
        candidates: list[arrays.IntArray],
        doc_ids: arrays.IntArray,
        others: arrays.Lanes,
    ) -> None:
        """Compare q queries [q, k] with documents [n, k]."""
        queries = self.queries[part]
        agree = _agreeing(signatures, others)
        is_candidate = np.zeros(agree.shape, dtype=np.bool_)
        for index, candidate_ids in enumerate(candidates):
            begin, end = np.searchsorted(candidate_ids, [doc_ids[0], doc_ids[-1] + 1])
            is_candidate[index, np.searchsorted(doc_ids, candidate_ids[begin:end])] = True
        self._candidates += int(is_candidate.sum())
        row, column = np.nonzero(agree >= self._min_lanes)
        other = queries[row] != doc_ids[column]
        row, column = row[other], column[other]
        if not len(row):
            return
        settings = self.store.settings
        scores = minhash.estimate(agree[row, column], settings.permutations, settings.lane_bits)
        if settings.content:
            pair_ids = np.concatenate([queries[row], doc_ids[column]])
            documents, indices = np.unique(pair_ids, return_inverse=True)
            shingles, digests = self.store.sizes(documents)
            exact = similarity.Exact(
                lambda numbers: self.store.contents(documents[numbers]),
                similarity.canonical_ids(digests),
                shingles,
                self.store,
            )
            scores = exact.scores(indices[: len(row)], indices[len(row) :], self.threshold)
        similar = scores >= self.threshold
        row, column, scores = row[similar], column[similar], scores[similar]
        is_known_pair = is_candidate[row, column]
        p = predictions.curve(scores, self.store.settings.construction)
        self._similar_candidates += int(is_known_pair.sum())
        self._expected_similar += float(p.sum())
        # In a pair of two queries, each finds the other or neither does: it counts once.
        index, query = np.searchsorted(self.queries, doc_ids[column]), row + part.start
        is_query = self.queries.take(index, mode="clip") == doc_ids[column]
        once = ~(is_query & (index < query))
        np.add.at(self._similar, query[once], 1)
        self._found += int(is_known_pair[once].sum())
        self._expected += float(p[once].sum())

    def result(self, distribution: predictions.Distribution, documents: int) -> Measured:
        """The measurements, from all counts."""
        settings = self.store.settings
        sample, construction = len(self.queries), settings.construction
        expected = predictions.candidates_per_query(
            distribution, max(0, documents - 1), construction
        )
        recall, pairs = MeasuredRecall(0, 0, None, None, None, None), int(self._similar.sum())
        if pairs:
            # The pairs of a query are not independent: all of its copies are found or none. So the
            # interval is that of fewer pairs, with those of a query counted as one.
            effective = pairs**2 / float((self._similar.astype(np.float64) ** 2).sum())
            share = self._found / pairs
            low, high = wilson(share * effective, effective)
            formula = self._expected / pairs
            recall = MeasuredRecall(pairs, self._found, share, low, high, formula)
        precision = expected_precision = None
        if self._candidates:
            precision = self._similar_candidates / self._candidates
        if expected:
            expected_precision = min(1.0, self._expected_similar / sample / expected)
        return Measured(
            construction=construction,
            threshold=self.threshold,
            documents=documents,
            sample=sample,
            exact=settings.content,
            recall=recall,
            candidates=self._candidates / max(1, sample),
            candidates_formula=expected,
            precision=precision,
            precision_formula=expected_precision,
        )


def _agreeing(
    queries: arrays.Lanes, others: arrays.Lanes
) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    """How many lanes agree, of queries [q, k] and documents [n, k]: [q, n].

    Lane by lane, over all pairs, so that each step is one long run of memory.
    """
    lanes, shape = queries.shape[1], (len(queries), len(others))
    total = np.zeros(shape, dtype=np.uint8 if lanes < 256 else np.uint16)
    equal = np.empty(shape, dtype=np.bool_)
    columns = np.ascontiguousarray(queries.T), np.ascontiguousarray(others.T)
    for query_lane, other_lane in zip(*columns, strict=True):
        np.equal(query_lane[:, np.newaxis], other_lane, out=equal)
        total += equal.view(np.uint8)
    return total
