"""The numbers behind the pictures: the S-curve, a histogram, and bars for bucket sizes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lshdb.model import Construction
from lshdb.tuning.analysis import curve

_POINTS: Final = 121
_LOWEST: Final = 0.006
"""Height of a column of the fewest pairs, a pixel: a few among many stay visible."""


@dataclass(frozen=True, slots=True)
class Curve:
    """An S-curve.

    Attributes:
        points: similarities with the probabilities there.
        probability: that a pair at the threshold becomes a candidate.
        table: similarities 0.1 to 1 with the probabilities there.
    """

    points: list[tuple[float, float]]
    probability: float
    table: tuple[tuple[float, float], ...]


def s_curve(construction: Construction, threshold: float) -> Curve:
    """The curve of a construction."""
    similarities, levels = np.linspace(0, 1, _POINTS), np.arange(1, 11) / 10
    pairs = np.column_stack([similarities, curve(similarities, construction)]).tolist()
    table = zip(levels.tolist(), curve(levels, construction).tolist(), strict=True)
    return Curve(
        pairs,
        float(curve(np.array([threshold]), construction)[0]),
        tuple(table),
    )


@dataclass(frozen=True, slots=True)
class Column:
    """How many pairs have a similarity from `low` to below `high`; its height from 0 to 1."""

    low: float
    high: float
    pairs: int
    height: float


def columns(counts: Sequence[int]) -> list[Column]:
    """The columns of a histogram over similarities 0 to 1, without the empty ones.

    >>> [(column.low, column.pairs, column.height) for column in columns([0, 0, 4, 8])]
    [(0.5, 4, 0.5), (0.75, 8, 1.0)]
    """
    step, most = 1 / max(len(counts), 1), max(counts, default=0)
    return [
        Column(
            round(place * step, 4),
            round((place + 1) * step, 4),
            count,
            max(round(count / most, 4), _LOWEST),
        )
        for place, count in enumerate(counts)
        if count
    ]


@dataclass(frozen=True, slots=True)
class Bar:
    """How many buckets have `least` to `most` documents; `width` in percent, logarithmic."""

    least: int
    most: int
    buckets: int
    width: float


def bars(buckets_of_size: Mapping[int, int]) -> list[Bar]:
    """Numbers of buckets by their numbers of documents: 1, 2, 3 to 4, 5 to 8, and so on.

    >>> [(bar.least, bar.most, bar.buckets) for bar in bars({1: 50, 3: 2, 4: 1, 9: 1})]
    [(1, 1, 50), (2, 2, 0), (3, 4, 3), (5, 8, 0), (9, 16, 1)]
    """
    counts: Counter[int] = Counter()
    for size, buckets in buckets_of_size.items():
        counts[(size - 1).bit_length()] += buckets
    most = max(counts.values(), default=0)
    return [
        Bar(
            (1 << step >> 1) + 1,
            1 << step,
            counts[step],
            round(100 * math.log1p(counts[step]) / math.log1p(most), 1),
        )
        for step in range(max(counts, default=-1) + 1)
    ]
