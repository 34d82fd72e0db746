"""Exact Jaccard similarity, from the distinct shingle hashes of documents."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lshdb.hashing import Hashes
from lshdb.model import Shingles


def similarities(one: Hashes, others: Shingles) -> npt.NDArray[np.float64]:
    """The Jaccard similarity |A and B| / |A or B| of one set to each of n sets.

    Args:
        one: uint64[any], sorted and distinct.
        others: n documents' hashes, each sorted and distinct.

    Returns:
        float64[n]; 0 for two empty sets: an empty document is similar to nothing.
    """
    both = intersections(one, others)
    union = len(one) + np.diff(others.offsets) - both
    return both / np.maximum(union, 1)


def intersections(one: Hashes, others: Shingles) -> npt.NDArray[np.int64]:
    """How many hashes of one set are in each of n sets, int64[n]; arguments as above."""
    if not len(one):
        return np.zeros(len(others), dtype=np.int64)
    place = np.searchsorted(one, others.hashes)
    shared = one.take(place, mode="clip") == others.hashes
    running = np.zeros(len(shared) + 1, dtype=np.int64)
    np.cumsum(shared, out=running[1:])
    return np.diff(running[others.offsets])
