"""Jaccard similarity and containment: exact, from distinct shingle hashes, and as estimates.

For sets A and B the Jaccard similarity is J = |A and B| / |A or B|, and the containment of A in B
is |A and B| / |A|, the share of A that B holds (Broder, 1997).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.model import Shingles
from lshdb.shingling.hashing import Hashes

Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

MARGIN: Final = 5.0
"""Standard errors by which an estimate may lie below a similarity that is still verified."""


def intersections(one: Hashes, others: Shingles) -> Counts:
    """How many hashes of one set are in each of n sets.

    Args:
        one: uint64[any], sorted and distinct.
        others: n documents' hashes, each distinct.

    Returns:
        int64[n].
    """
    if not len(one):
        return np.zeros(len(others), dtype=np.int64)
    place = np.searchsorted(one, others.hashes)
    shared = one.take(place, mode="clip") == others.hashes
    running = np.zeros(len(shared) + 1, dtype=np.int64)
    np.cumsum(shared, out=running[1:])
    return np.diff(running[others.offsets])


def similarity(shared: Counts, one: int, others: Counts) -> Shares:
    """Jaccard from sizes: intersections int64[n], the one set's size, the others' int64[n].

    float64[n]; 0 for two empty sets: an empty document is similar to nothing.
    """
    found: Shares = shared / np.maximum(one + others - shared, 1)
    return found


def containment(shared: Counts, one: int) -> Shares:
    """The share of one set that each of n others holds, float64[n]; 0 of an empty set."""
    found: Shares = shared / max(one, 1)
    return found


def similarity_at(containment: float, one: int, others: Counts) -> Shares:
    """The Jaccard similarity of a set to sets of sizes int64[n] that hold this share of it.

    With c of |A| shared, J = c |A| / (|A| + |B| - c |A|).

    >>> similarity_at(0.8, 100, np.array([80, 100, 1000])).round(3).tolist()
    [0.8, 0.667, 0.078]
    """
    shared = containment * one
    found: Shares = shared / np.maximum(one + others - shared, 1)
    return found


def containment_at(similarities: Shares, one: int, others: Counts) -> Shares:
    """The containment of a set in sets of sizes int64[n] at these Jaccard similarities float64[n].

    |A and B| = J (|A| + |B|) / (1 + J); estimates may promise more than there is of A or of B.
    """
    shared = similarities * (one + others) / (1 + similarities)
    found: Shares = np.minimum(shared, np.minimum(one, others)) / max(one, 1)
    return found


def standard_error(similarity: Shares | float, lanes: int) -> Shares:
    """The standard error sqrt(J (1 - J) / k) of the estimate of a similarity from k lanes."""
    found: Shares = np.sqrt(similarity * (1.0 - np.asarray(similarity)) / lanes)
    return found


def least_estimate(similarity: Shares | float, lanes: int) -> Shares:
    """The least estimate at which a pair may still have the similarity, MARGIN allowed for."""
    return np.asarray(similarity) - MARGIN * standard_error(similarity, lanes)
