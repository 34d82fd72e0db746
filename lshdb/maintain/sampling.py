"""How similar the documents of a database are, from a sample of its signatures."""

import numpy as np

from lshdb.maintain import analysis
from lshdb.store.store import Store
from lshdb.text.arrays import IntArray, Lanes

_DOCUMENTS = 5_000
"""Documents of the sample: with the queries they make millions of pairs."""
_QUERIES = 400
"""Documents that are compared with the sample."""
_MAX_DRAWN = 10_000_000
"""Maximum number of ids that are drawn in one call: 80 MB."""
_SPARE = 10
"""Extra documents for which ids are drawn, so that there are rarely too few."""


def distribution_of(store: Store, seed: int) -> tuple[int, analysis.Distribution]:
    """How many documents have shingles, and how similar these are.

    Similarities are estimates, and pairs that no sample of 5,000 has count nothing, such as the
    copies of each of a million documents. The same file and seed give the same result.
    """
    lanes = store.settings.permutations
    rng = np.random.default_rng(seed)
    with store.reading():
        count, empty = store.count()
        documents = count - empty
        doc_ids, signatures = sample_documents(store, rng, _DOCUMENTS, documents)
        if len(doc_ids) < 2:
            return documents, analysis.Distribution(np.zeros(lanes + 1))
        agree = np.zeros(lanes + 1)
        for index in rng.permutation(len(doc_ids))[:_QUERIES].tolist():
            agreeing = (signatures == signatures[index]).sum(axis=1, dtype=np.uint16)
            agree += np.bincount(agreeing, minlength=lanes + 1)
            agree[-1] -= 1  # with itself
    return documents, analysis.Distribution(agree / agree.sum())


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
