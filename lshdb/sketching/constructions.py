"""Which pairs are candidates of a construction: from their bands, and by probability.

`evaluate` and `candidates_among` evaluate its levels on the bands that collided. They are
monotone: another colliding band never removes a candidate. The probabilities are the
S-curve. Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, sections 3.4 and 3.6.3.
"""

import math

import numpy as np
import numpy.typing as npt

from lshdb.model import Construction
from lshdb.shingling.arrays import IntArray

Mask = npt.NDArray[np.bool_]


def evaluate(collided: Mask, construction: Construction) -> Mask:
    """Whether pairs are candidates, from the bands in which each collided.

    Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.6.3. The
    first level takes the bands in their order, and each further level the results of the last.

    Args:
        collided: bool[c, bands].
        construction: the plain index or a cascade.

    Returns:
        bool[c].
    """
    count = len(collided)
    if not construction.higher:
        one: Mask = np.logical_or.reduce(collided, axis=1)
        return one
    # Pairs along the last axis, so that each step of a reduction is one long run of memory.
    true = np.ascontiguousarray(collided.T)
    for kind, size in construction.higher:
        groups = true.reshape(len(true) // size, size, count)
        reduce = np.logical_and.reduce if kind == "and" else np.logical_or.reduce
        true = reduce(groups, axis=1)
    return true.reshape(count)


def candidates_among(band_nos: IntArray, doc_ids: IntArray, construction: Construction) -> IntArray:
    """The candidates among the documents that share buckets with a query.

    Args:
        band_nos: int64[n], the band in which a document shares a bucket with it.
        doc_ids: int64[n], the document.
        construction: the plain index or a cascade.

    Returns:
        int64[c], the candidates, ascending.
    """
    found, place, counts = np.unique(doc_ids, return_inverse=True, return_counts=True)
    if not construction.higher:
        return found
    # Few documents share enough buckets.
    likely = counts >= construction.min_bands
    rows = likely[place]
    collided = np.zeros((np.count_nonzero(likely), construction.bands), dtype=np.bool_)
    collided[(np.cumsum(likely) - 1)[place[rows]], band_nos[rows]] = True
    return found[likely][evaluate(collided, construction)]


def candidate_probability(similarity: float, construction: Construction) -> float:
    """The probability that a pair of this Jaccard similarity is a candidate.

    A level AND r turns a probability p into p^r, and OR b into 1 - (1 - p)^b: for b bands of r rows
    1 - (1 - s^r)^b.

    >>> round(candidate_probability(0.8, Construction(rows=6, bands=16)), 4)
    0.9923
    >>> round(candidate_probability(0.8, Construction.parse("or 4, and 4")), 4)
    0.9936
    """
    return candidate_probabilities(similarity, construction)[0]


def candidate_probabilities(similarity: float, construction: Construction) -> tuple[float, float]:
    """The probabilities that a pair of this similarity is a candidate, and that it is not.

    Both have full precision, which 1 minus the other would lose.
    """
    true = float(similarity**construction.rows)
    false = _any(1 - similarity, construction.rows)
    for kind, size in construction.levels:
        if kind == "or":
            true, false = _any(true, size), false**size
        else:
            true, false = true**size, _any(false, size)
    return true, false


def _any(probability: float, count: int) -> float:
    """1 - (1 - p)^n: the probability that any of n happens, with full precision for small p."""
    if probability >= 1:
        return 1.0
    return -math.expm1(count * math.log1p(-probability)) or 0.0
