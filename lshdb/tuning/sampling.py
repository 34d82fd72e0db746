"""How similar the documents of a database are, from a sample of its signatures."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.errors import LimitWarning, UsageError
from lshdb.model import Construction, Settings
from lshdb.search.buckets import buckets_of
from lshdb.sketching.minhash import estimates
from lshdb.store.store import Store
from lshdb.tuning.analysis import Distribution, curve, curve_threshold

_DOCUMENTS: Final = 5_000
"""Documents of which pairs are drawn."""
_PAIRS: Final = 200_000
_AT_ONCE: Final = 10_000
_QUERIES: Final = 400
"""Documents whose bucket mates are read."""
_MATES: Final = 5_000
"""Rows of buckets that are read for one document."""
_DRAWS: Final = 20
"""How often ids are drawn at the most."""
_TIMEOUT: Final = 30.0


def similarity_distribution(
    path: str | Path, *, seed: int = 1, timeout: float = _TIMEOUT
) -> tuple[Settings, int, Distribution]:
    """The settings of a database, its documents that have shingles, and how similar they are.

    Pairs drawn at random tell the bulk, which is hardly similar. Of a million documents each may
    have two that are very similar, and 200,000 random pairs have none of these: from the
    similarity on at which the index finds half of the pairs, the distribution is that of
    documents that share a bucket, each counted 1/p(s) times, for with p(s) it shares one.
    Similarities are estimates.

    Args:
        path: the file.
        seed: of the draws; the same file and seed give the same result.
        timeout: seconds to wait while another process has the file for itself.

    Raises:
        StoreError: the file cannot be read.

    Warns:
        LimitWarning: buckets were too large to be read whole.
    """
    store = Store.open(Path(path), "read", timeout, _never)
    try:
        documents, distribution = distribution_of(store, seed)
        return store.settings, documents, distribution
    finally:
        store.close()


def distribution_of(store: Store, seed: int) -> tuple[int, Distribution]:
    """The same of an open file: its documents that have shingles, and how similar they are."""
    if seed < 0:
        raise UsageError(f"seed {seed} is not at least 0")
    with store.reading():
        count, empty = store.count()
        return count - empty, _distribution(store, count - empty, seed)


def _distribution(store: Store, documents: int, seed: int) -> Distribution:
    lanes = store.settings.permutations
    grid = np.arange(lanes + 1) / lanes
    weights = np.zeros(lanes + 1)
    rng = np.random.default_rng(seed)
    doc_ids, signatures = sample_documents(store, rng, _DOCUMENTS)
    if len(doc_ids) < 2:
        return Distribution(grid, weights, lanes)
    one, other = rng.integers(0, len(doc_ids), size=(2, _PAIRS))
    one, other = one[one != other], other[one != other]
    for start in range(0, len(one), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        agree = (signatures[one[part]] == signatures[other[part]]).sum(axis=1)
        weights += np.bincount(agree, minlength=lanes + 1)
    weights /= len(one)
    construction = store.settings.construction
    plain = Construction(construction.rows, construction.bands)
    tail = grid >= curve_threshold(plain)
    weights[tail] = _tail(store, doc_ids, signatures, rng, plain)[tail] / max(documents - 1, 1)
    return Distribution(grid, weights / max(1, weights.sum()), lanes)


def _tail(
    store: Store,
    doc_ids: npt.NDArray[np.int64],
    signatures: npt.NDArray[np.uint32],
    rng: np.random.Generator,
    plain: Construction,
) -> npt.NDArray[np.float64]:
    """How many others of each similarity a document has, as far as buckets tell, float64[k+1]."""
    lanes = signatures.shape[1]
    mates = np.zeros(lanes + 1)
    cut = 0
    places = rng.permutation(len(doc_ids))[:_QUERIES]
    for place in places.tolist():
        rows = store.members(buckets_of(store, signatures[place]), _MATES + 1)
        found = np.unique(rows[:_MATES])
        cut += len(rows) > _MATES
        _, own = store.signatures(found[found != doc_ids[place]])
        agree = np.rint(estimates(signatures[place], own) * lanes).astype(np.int64)
        mates += np.bincount(agree, minlength=lanes + 1)
    if cut:
        warnings.warn(
            f"of {cut:,} of {len(places):,} documents only the first {_MATES:,} that share a "
            "bucket were read; there are more similar pairs than told",
            LimitWarning,
            stacklevel=4,
        )
    p = curve(np.arange(lanes + 1) / lanes, plain)
    return mates / len(places) / np.where(p > 0, p, 1)


def sample_documents(
    store: Store, rng: np.random.Generator, count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Some documents that have shingles, drawn at random: ids int64[n], uint32[n, k].

    Ids ascend. There are `count`, or all where there are fewer; fewer too where most documents
    were removed.
    """
    last = store.last_doc_id()
    if last <= 2 * count:
        doc_ids, signatures = store.signatures(np.arange(1, last + 1))
        chosen = np.sort(rng.permutation(len(doc_ids))[:count])
        return doc_ids[chosen], signatures[chosen]
    # Ids of documents that were removed, or have no shingle, are drawn in vain; some come twice.
    doc_ids, signatures = np.empty(0, np.int64), np.empty((0, store.settings.permutations), "u4")
    for _ in range(_DRAWS):
        more, own = store.signatures(rng.integers(1, last + 1, size=count))
        doc_ids, first = np.unique(np.concatenate([doc_ids, more]), return_index=True)
        signatures = np.concatenate([signatures, own])[first]
        if len(doc_ids) >= count:
            break
    chosen = np.sort(rng.permutation(len(doc_ids))[:count])
    return doc_ids[chosen], signatures[chosen]


def _never() -> Settings:
    raise AssertionError("a file opened for reading is not made")
