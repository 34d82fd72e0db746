"""The S-curve: how likely a pair becomes a candidate, and the choice of bands and rows.

Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.
"""

from __future__ import annotations

import math

from lshdb.errors import SettingsError
from lshdb.model import Construction


def candidate_probability(similarity: float, construction: Construction) -> float:
    """The probability that a pair of this Jaccard similarity is a candidate.

    A level makes p^r of a probability p where it is AND r, and 1 - (1 - p)^b where it is OR b: for
    b bands of r rows 1 - (1 - s^r)^b.

    >>> round(candidate_probability(0.8, Construction(rows=6, bands=16)), 4)
    0.9923
    >>> round(candidate_probability(0.8, Construction.parse("or 4, and 4")), 4)
    0.9936
    """
    return candidate_probabilities(similarity, construction)[0]


def candidate_probabilities(similarity: float, construction: Construction) -> tuple[float, float]:
    """The probabilities that a pair of this similarity is a candidate, and that it is not.

    Both have all their digits, where 1 minus the other would lose them.
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
    """1 - (1 - p)^n: the probability that any of n happens, to the last digit also of small p."""
    if probability >= 1:
        return 1.0
    return -math.expm1(count * math.log1p(-probability)) or 0.0


def choose_construction(threshold: float, recall: float, lanes: int) -> Construction:
    """The most selective bands and rows that reach the recall at the threshold.

    The largest r for which floor(lanes / r) bands reach it, then the fewest bands that still do:
    many rows make few false candidates, few bands make few rows in the table.

    Raises:
        SettingsError: no construction of so many lanes reaches the recall.

    >>> choose_construction(0.8, 0.99, 128)
    Construction(rows=6, bands=16)
    """
    for rows in range(lanes, 0, -1):
        most = Construction(rows, lanes // rows)
        if candidate_probability(threshold, most) >= recall:
            break
    else:
        best = candidate_probability(threshold, Construction(1, lanes))
        raise SettingsError(
            f"recall {recall:g} at threshold {threshold:g} cannot be reached with {lanes} "
            f"permutations (at most {math.floor(best * 1e4) / 1e4:g}): give more "
            "permutations or ask for less recall"
        )
    for bands in range(1, most.bands):
        if candidate_probability(threshold, Construction(rows, bands)) >= recall:
            return Construction(rows, bands)
    return most
