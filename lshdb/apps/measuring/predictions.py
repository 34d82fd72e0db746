"""How many candidates a query will have, and how many rows it reads, before anything is indexed.

Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, sections 3.4.2 and 3.6.3.
"""

from dataclasses import dataclass

import numpy as np

from lshdb.sketch.constructions import Construction
from lshdb.text.arrays import Shares


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """How similar the pairs of documents of a collection are, estimated from their signatures.

    Attributes:
        weights: float64[k + 1], the share of all pairs of whose k lanes 0 to k agree; if they sum
            to less than 1, the rest has similarity 0.
    """

    weights: Shares

    @property
    def lanes(self) -> int:
        """The number of lanes."""
        return len(self.weights) - 1

    def for_power(self, exponent: int) -> Shares:
        """The similarities float64[k + 1] whose power has the right mean over all pairs.

        The powers of estimates are too large on average: for 128 lanes and pairs at 0.1, twice too
        large at the power of 6, and most candidates may be such pairs. If a of k lanes agree, m
        random lanes all agree with probability C(a, m) / C(k, m); its root is used as the
        similarity.

        >>> Distribution(np.zeros(5)).for_power(2).round(3).tolist()
        [0.0, 0.0, 0.408, 0.707, 1.0]
        """
        exponent = min(exponent, self.lanes)
        agree = np.arange(self.lanes + 1)
        # The logarithms of 0! to lanes!
        log = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, self.lanes + 1)))))
        power = log - log[np.maximum(agree - exponent, 0)] - log[-1] + log[-1 - exponent]
        roots: Shares = np.where(agree < exponent, 0.0, np.exp(power / exponent))
        return roots


def curve(similarities: Shares, construction: Construction) -> Shares:
    """The probabilities that pairs of similarities float64[n] are candidates, float64[n].

    p starts as s^r; AND r turns it into p^r, OR b into 1 - (1 - p)^b, as -expm1(b log1p(-p)),
    which is precise for small p.

    >>> curve(np.array([0.509, 0.8]), Construction(rows=5, bands=20)).round(3).tolist()
    [0.501, 1.0]
    """
    p: Shares = np.asarray(similarities, dtype=np.float64) ** construction.rows
    with np.errstate(divide="ignore"):  # log1p(-1) is -infinity, which expm1 turns into 1
        for kind, size in construction.levels:
            p = p**size if kind == "and" else -np.expm1(size * np.log1p(-p))
    return p


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


def costs(
    distribution: Distribution, documents: int, construction: Construction
) -> tuple[float, float]:
    """The expected candidates of a query, and all that it reads: buckets, rows, candidates."""
    candidates = candidates_per_query(distribution, documents, construction)
    rows = rows_per_query(distribution, documents, construction)
    return candidates, construction.bands + rows + candidates
