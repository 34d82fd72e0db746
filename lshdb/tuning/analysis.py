"""Predictions for a construction, before anything is indexed: its curve, errors and candidates.

Pure functions. Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, sections 3.4.2 and
3.6.3.

>>> from lshdb.sketching.constructions import candidate_probability
>>> from lshdb.tuning.analysis import curve_threshold
>>> round(curve_threshold(Construction(rows=5, bands=20)), 3)
0.509
>>> round(1 - candidate_probability(0.8, Construction(rows=4, bands=3)), 4)
0.2058
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.sketching.constructions import Construction

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """How similar the pairs of documents of a collection are, as a histogram.

    Attributes:
        similarities: float64[m], Jaccard similarities in [0, 1].
        weights: float64[m], the share of all pairs that has each; if they sum to less than 1, the
            rest has similarity 0.
        lanes: of the signatures that they are estimated from; None if they are exact.
    """

    similarities: Shares
    weights: Shares
    lanes: int | None = None

    def __post_init__(self) -> None:
        if self.similarities.shape != self.weights.shape or self.similarities.ndim != 1:
            raise UsageError("a distribution needs as many weights as similarities")
        if len(self.weights) and (self.weights.min() < 0 or self.weights.sum() > 1 + 1e-6):
            raise UsageError("the weights of a distribution are not shares of all pairs")

    def for_power(self, exponent: int) -> Shares:
        """The similarities float64[m] whose power has the right mean over all pairs.

        The powers of estimates are too large on average: for 128 lanes and pairs at 0.1, twice too
        large at the power of 6, and most candidates may be such pairs. If a of k lanes agree, m
        random lanes all agree with probability C(a, m) / C(k, m); its root is used as the
        similarity.

        >>> estimated = Distribution(np.array([0.05, 0.5, 1.0]), np.zeros(3), lanes=128)
        >>> estimated.for_power(6).round(3).tolist()
        [0.024, 0.49, 1.0]
        """
        if self.lanes is None or exponent < 2:
            return self.similarities
        exponent = min(exponent, self.lanes)
        agree = np.rint(self.similarities * self.lanes).astype(np.int64)
        log = _log_factorials(self.lanes)
        rest = np.maximum(agree - exponent, 0)
        power = log[agree] - log[rest] - log[self.lanes] + log[self.lanes - exponent]
        roots: Shares = np.where(agree < exponent, 0.0, np.exp(power / exponent))
        return roots


@functools.lru_cache(maxsize=4)
def _log_factorials(maximum: int) -> Shares:
    return np.array([math.lgamma(i + 1) for i in range(maximum + 1)])


def curve(similarities: Shares, construction: Construction) -> Shares:
    """The probabilities that pairs of similarities float64[n] are candidates, float64[n].

    p starts as s^r; AND r turns it into p^r, OR b into 1 - (1 - p)^b, as -expm1(b log1p(-p)),
    which is precise for small p.
    """
    p: Shares = np.asarray(similarities, dtype=np.float64) ** construction.rows
    with np.errstate(divide="ignore"):  # log1p(-1) is -infinity, which expm1 turns into 1
        for kind, size in construction.levels:
            p = p**size if kind == "and" else -np.expm1(size * np.log1p(-p))
    return p


def curve_threshold(construction: Construction) -> float:
    """The similarity at which a pair is a candidate with probability 1/2."""
    p = 0.5
    for kind, size in reversed(construction.levels):
        p = p ** (1 / size) if kind == "and" else -math.expm1(math.log1p(-p) / size)
    return float(p ** (1 / construction.rows))


def candidates_per_query(
    distribution: Distribution, documents: int, construction: Construction
) -> float:
    """The expected candidates of a query among N documents: N sum_i w_i p(s_i)."""
    # For small p it is proportional to this power of s.
    power = construction.rows * construction.min_bands
    p = curve(distribution.for_power(power), construction)
    return documents * float((distribution.weights * p).sum())


def rows_per_query(distribution: Distribution, documents: int, construction: Construction) -> float:
    """The expected rows that a query finds in its buckets: N b sum_i w_i s_i^r.

    A document counts once per bucket that it shares, and in a cascade need not be a candidate.
    """
    similarities = distribution.for_power(construction.rows)
    collisions = distribution.weights * similarities**construction.rows
    return documents * construction.bands * float(collisions.sum())
