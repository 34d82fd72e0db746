"""How similar the documents of a database are, from a sample of its signatures."""

import numpy as np
import numpy.typing as npt

from lshdb.errors import warn_of_limit
from lshdb.maintain import analysis
from lshdb.search import cut_notes, lookup
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


def distribution_of(store: Store, seed: int) -> tuple[int, analysis.Distribution]:
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
            return documents, analysis.Distribution(np.zeros(lanes + 1))
        indices = rng.permutation(len(doc_ids))[:_QUERIES]
        agree = np.bincount(agreeing(signatures[indices], signatures).ravel(), minlength=lanes + 1)
        agree[-1] -= len(indices)  # each query with itself
        weights = agree / agree.sum()
        plain = Construction(store.settings.construction.rows, store.settings.construction.bands)
        probabilities = analysis.curve(grid, plain)
        tail = probabilities >= 0.5
        # How many documents share a bucket with one of the queries, by similarity.
        neighbours, maximum, cut = np.zeros(lanes + 1), store.limits.sample_rows, 0
        for query in indices.tolist():
            keys = lookup.buckets_of(store, signatures[query])[np.newaxis]
            bucket_members = lookup.bucket_members(store, keys, first=maximum + 1)
            cut += bool((bucket_members.sizes > maximum).any())
            others = np.unique(bucket_members.doc_ids)
            other_signatures = store.signatures_of(others[others != doc_ids[query]])
            lanes_agreeing = agreeing(signatures[[query]], other_signatures).ravel()
            neighbours += np.bincount(lanes_agreeing, minlength=lanes + 1)
        if cut:
            warn_of_limit(cut_notes.sample_cut(cut, len(indices), maximum))
        per_query = neighbours / len(indices)
        weights[tail] = per_query[tail] / probabilities[tail] / max(1, documents - 1)
    return documents, analysis.Distribution(weights / max(1, weights.sum()))


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


def agreeing(queries: Lanes, others: Lanes) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
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
