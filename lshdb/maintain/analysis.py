"""The curve of a construction: how probably pairs of a similarity are candidates.

Pure functions. Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, sections 3.4.2 and
3.6.3.

>>> from lshdb.maintain.analysis import curve
>>> curve(np.array([0.509, 0.8]), Construction(rows=5, bands=20)).round(3).tolist()
[0.501, 1.0]
"""

import numpy as np

from lshdb.sketch.constructions import Construction
from lshdb.text.arrays import Shares


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


def mean_below(threshold: float, construction: Construction) -> float:
    """The mean probability that pairs below a threshold are candidates, if all are as frequent.

    >>> round(mean_below(0.8, Construction(rows=6, bands=16)), 3)
    0.267
    """
    return float(curve(np.linspace(0, threshold, 33)[1:-1], construction).mean())
