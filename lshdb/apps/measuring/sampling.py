"""How similar the documents of a database are, from a sample of its signatures."""

from collections.abc import Callable
from functools import partial

import numpy as np

from lshdb.apps.measuring import predictions
from lshdb.errors import Cut, warn_of_limit
from lshdb.options import TuneOptions
from lshdb.search import lookup
from lshdb.sketch.constructions import Construction
from lshdb.store.store import Store
from lshdb.text.arrays import IntArray, Lanes

_DOCUMENTS = 5_000
"""Documents of the sample: with the queries they make millions of pairs."""
_QUERIES = 400
"""Documents that are compared with the sample, and whose buckets are read."""
_MAX_DRAWN = 10_000_000
"""Maximum number of ids that are drawn in one call: 80 MB."""
_SPARE = 10
"""Extra documents for which ids are drawn, so that there are rarely too few."""


def forecast(store: Store, options: TuneOptions) -> Callable[[Construction], tuple[float, float]]:
    """What predicts for a construction the candidates of a query, and the rows that it reads.

    Args:
        store: the file, whose documents show how similar documents are.
        options: the size of the collection to predict for, and the seed of the sample.
    """
    count, distribution = distribution_of(store, options.seed)
    documents = count if options.documents is None else options.documents
    return partial(predictions.costs, distribution, documents)


def distribution_of(store: Store, seed: int) -> tuple[int, predictions.Distribution]:
    """How many documents have shingles, and how similar these are.

    A random sample represents the pairs that are hardly similar, which are most. But if each of a
    million documents has two very similar ones, a sample of 5,000 contains none of these pairs.
    So above the similarity at which the index finds half of the pairs, the distribution is taken
    from documents that share a bucket. Each counts 1/p(s) times, as a pair of similarity s shares
    a bucket with probability p(s).
    Similarities are estimates. The same file and seed give the same result.

    Warns:
        LimitWarning: buckets were too large to be read whole.
    """
    lanes = store.settings.permutations
    grid = np.arange(lanes + 1) / lanes
    rng = np.random.default_rng(seed)
    with store.reading():
        count, empty = store.count()
        documents = count - empty
        doc_ids, signatures = sample_documents(store, rng, _DOCUMENTS, documents)
        if len(doc_ids) < 2:
            return documents, predictions.Distribution(np.zeros(lanes + 1))
        indices = rng.permutation(len(doc_ids))[:_QUERIES]
        plain = Construction(store.settings.construction.rows, store.settings.construction.bands)
        probabilities = predictions.curve(grid, plain)
        tail = probabilities >= 0.5
        # Documents of the sample, and those that share a bucket with one of the queries.
        agree, neighbours = np.zeros((2, lanes + 1))
        maximum, cut = store.limits.sample_rows, 0
        for query in indices.tolist():
            keys = lookup.buckets_of(store, signatures[query])[np.newaxis]
            bucket_members = lookup.bucket_members(store, keys, first=maximum + 1)
            cut += bool((bucket_members.sizes > maximum).any())
            others = np.unique(bucket_members.doc_ids)
            other_signatures = store.signatures_of(others[others != doc_ids[query]])
            neighbours += _agreeing(signatures[query], other_signatures)
            agree += _agreeing(signatures[query], signatures)
            agree[-1] -= 1  # each query with itself
        if cut:
            text = (
                f"for {cut:,} of {len(indices):,} documents, only the first {maximum:,} of a "
                "bucket were read, so more documents are similar than this sample says"
            )
            warn_of_limit(Cut("tune", cut, text))
        weights = agree / agree.sum()
        per_query = neighbours / len(indices)
        weights[tail] = per_query[tail] / probabilities[tail] / max(1, documents - 1)
    return documents, predictions.Distribution(weights / max(1, weights.sum()))


def sample_documents(
    store: Store, rng: np.random.Generator, count: int, documents: int
) -> tuple[IntArray, Lanes]:
    """A random sample of the documents that have shingles: ids int64[n], lanes [n, k].

    The ids ascend. There are `count` of them, or fewer in a smaller database.
    """
    last = store.last_doc_id()
    # Drawn ids may be of documents that were removed or have no shingle: draw for twice as many
    # documents as are wanted.
    drawn = 2 * (count + _SPARE) * last // max(1, documents)
    if min(drawn, last) <= _MAX_DRAWN:
        drawn_ids = 1 + rng.choice(last, min(drawn, last), replace=False)
    else:  # most ids up to the last one are unused
        stored = store.doc_ids()
        drawn_ids = rng.choice(stored, min(2 * (count + _SPARE), len(stored)), replace=False)
    doc_ids, signatures = store.signatures(np.sort(drawn_ids))
    chosen = np.sort(rng.permutation(len(doc_ids))[:count])
    return doc_ids[chosen], signatures[chosen]


def _agreeing(signature: Lanes, others: Lanes) -> IntArray:
    """How many of n signatures [n, k] agree with one [k] in 0 to k lanes, int64[k + 1]."""
    agreeing = (others == signature).sum(axis=1, dtype=np.uint16)
    return np.bincount(agreeing, minlength=len(signature) + 1)
