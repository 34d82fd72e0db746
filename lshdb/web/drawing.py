"""The numbers behind the pictures: the S-curve, a histogram, and bars for bucket sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lshdb.model import Construction
from lshdb.tuning.analysis import curve

LEFT: Final = 40
RIGHT: Final = 348
TOP: Final = 12
BOTTOM: Final = 182
_POINTS: Final = 121


@dataclass(frozen=True, slots=True)
class Curve:
    """An S-curve in the coordinates of the picture.

    Attributes:
        points: of the curve, as SVG's polyline wants them.
        threshold: x of the threshold.
        recall: y of the curve there.
        probability: that a pair at the threshold becomes a candidate.
        table: similarities 0.1 to 1 with the probabilities there.
    """

    points: str
    threshold: float
    recall: float
    probability: float
    table: tuple[tuple[float, float], ...]


def s_curve(construction: Construction, threshold: float) -> Curve:
    """The curve of a construction."""
    similarities = np.linspace(0, 1, _POINTS)
    probabilities = curve(similarities, construction)
    pairs = zip(similarities.tolist(), probabilities.tolist(), strict=True)
    at = float(curve(np.array([threshold]), construction)[0])
    levels = np.arange(1, 11) / 10
    table = zip(levels.tolist(), curve(levels, construction).tolist(), strict=True)
    return Curve(
        " ".join(f"{_x(s):.1f},{_y(p):.1f}" for s, p in pairs),
        round(_x(threshold), 1),
        round(_y(at), 1),
        at,
        tuple(table),
    )


@dataclass(frozen=True, slots=True)
class Column:
    """How many pairs have a similarity from `low` to below `high`; its place in the picture."""

    low: float
    high: float
    pairs: int
    x: float
    y: float
    width: float
    height: float


def columns(counts: Sequence[int]) -> list[Column]:
    """The columns of a histogram over similarities 0 to 1, in the coordinates of the S-curve.

    >>> [(column.low, column.pairs, column.height) for column in columns([0, 0, 4, 8])][2:]
    [(0.5, 4, 85.0), (0.75, 8, 170.0)]
    """
    most = max(max(counts, default=0), 1)
    step = 1 / max(len(counts), 1)
    found = []
    for place, count in enumerate(counts):
        height = round((BOTTOM - TOP) * count / most, 1)
        if count:
            height = max(height, 1.0)  # a few among many stay visible
        low, high = round(place * step, 4), round((place + 1) * step, 4)
        x = round(_x(low) + 0.75, 1)
        width = round(_x(high) - _x(low) - 1.5, 1)
        found.append(Column(low, high, count, x, BOTTOM - height, width, height))
    return found


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
    counts: dict[int, int] = {}
    for size, buckets in buckets_of_size.items():
        step = (size - 1).bit_length()
        counts[step] = counts.get(step, 0) + buckets
    most = max(counts.values(), default=0)
    return [
        Bar(
            (1 << step >> 1) + 1,
            1 << step,
            counts.get(step, 0),
            round(100 * math.log1p(counts.get(step, 0)) / math.log1p(most), 1),
        )
        for step in range(max(counts, default=-1) + 1)
    ]


def _x(similarity: float) -> float:
    return LEFT + (RIGHT - LEFT) * similarity


def _y(probability: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * probability
