"""The numbers behind the pictures: the S-curve and a histogram."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lshdb.sketching.constructions import Construction
from lshdb.tuning.analysis import curve

_POINTS = 121
_LOWEST = 0.006
"""Height of a column of the fewest pairs, a pixel: a few among many stay visible."""


def s_curve(construction: Construction, threshold: float) -> dict[str, Any]:
    """The curve of a construction: its `points`, a `table` of ten of them, both as similarity and
    probability, and the `probability` at the threshold.
    """
    similarities, levels = np.linspace(0, 1, _POINTS), np.arange(1, 11) / 10
    return {
        "points": np.column_stack([similarities, curve(similarities, construction)]).tolist(),
        "probability": float(curve(np.array([threshold]), construction)[0]),
        "table": np.column_stack([levels, curve(levels, construction)]).tolist(),
    }


def columns(counts: Sequence[int]) -> list[dict[str, float]]:
    """The columns of a histogram over similarities 0 to 1, without the empty ones.

    A column is how many `pairs` have a similarity from `low` to below `high`; its `height` is from
    0 to 1.

    >>> [(column["low"], column["pairs"], column["height"]) for column in columns([0, 0, 4, 8])]
    [(0.5, 4, 0.5), (0.75, 8, 1.0)]
    """
    step, largest = 1 / max(len(counts), 1), max(counts, default=0)
    return [
        {
            "low": round(at * step, 4),
            "high": round((at + 1) * step, 4),
            "pairs": count,
            "height": max(round(count / largest, 4), _LOWEST),
        }
        for at, count in enumerate(counts)
        if count
    ]
