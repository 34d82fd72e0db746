"""The numbers that pictures draw: a histogram, sizes of clusters."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lshdb.apps.measuring.predictions import Distribution

BINS = np.linspace(0, 1, 21).round(4)
"""The edges of a histogram's columns, rounded: 0.15 is in the column that begins with it."""
_TICKS = 5
"""Maximum number of labels on an axis, without 0."""
_LOWEST = 0.006
"""Minimum height of a column, a pixel: a few pairs among many stay visible."""


def columns(
    counts: Sequence[int], sampled: Distribution | None, documents: int, threshold: float
) -> list[dict[str, Any]]:
    """The columns of a histogram of all pairs, over similarities 0 to 1, without the empty ones.

    A column has the number of `pairs` whose similarity is from `low` to below `high`. Its `height`
    is from 0 to 1, on a logarithmic scale, as there are many more pairs below the threshold. There
    `pairs` is an estimate, and `sampled` is true.

    Args:
        counts: number of pairs found at the threshold or above, between the edges of BINS.
        sampled: the distribution of all pairs; None if it is not known.
        documents: number of documents of that distribution.
        threshold: minimum similarity of the pairs that were found.
    """
    below = BINS[1:] <= threshold
    pairs = np.array(counts)
    if sampled is not None:
        estimates = np.arange(sampled.lanes + 1) / sampled.lanes
        shares, _ = np.histogram(estimates, BINS, weights=sampled.weights)
        shares[0] += max(0.0, 1 - float(sampled.weights.sum()))
        pairs = np.where(below, np.round(shares * documents * (documents - 1) / 2), counts)
    heights = np.log10(pairs + 1) / max(np.log10(pairs.max(initial=0) + 1), 1e-9)
    drawn = zip(BINS[:-1], BINS[1:], pairs, heights, below, strict=True)
    return [
        {
            "low": float(low),
            "high": float(high),
            "pairs": int(count),
            "height": max(round(float(height), 4), _LOWEST),
            "sampled": bool(is_sampled),
        }
        for low, high, count, height, is_sampled in drawn
        if count
    ]


def log_ticks(columns: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    """The labels of the axis beside columns, each with its height as those of columns.

    >>> log_ticks([{"pairs": 9}])
    [('0', 0.0), ('1', 0.301), ('9', 1.0)]
    """
    most = max((column["pairs"] for column in columns), default=1)
    powers = math.ceil(math.log10(most + 1) / _TICKS)
    labels = [0, *(10**power for power in range(0, int(math.log10(most)) + 1, powers))]
    if most < 10:
        labels = sorted({0, 1, most})
    whole = math.log10(most + 1)
    return [(compact(label), round(math.log10(label + 1) / whole, 4)) for label in labels]


def sizes(members: Iterable[int]) -> list[tuple[str, int]]:
    """The number of clusters of each size, by sizes that double: 2, 3-4, 5-8 and so on.


    >>> sizes([2, 2, 3, 7])
    [('2', 2), ('3-4', 1), ('5-8', 1)]
    """
    counts = Counter((size - 1).bit_length() for size in members)
    names = {bits: f"{2 ** (bits - 1) + 1}-{2**bits}" if bits > 1 else "2" for bits in counts}
    return [(names[bits], counts[bits]) for bits in sorted(counts)]


def compact(count: float) -> str:
    """A count in at most four characters, for charts.

    >>> compact(999), compact(1_234), compact(34_567), compact(999_999)
    ('999', '1.2k', '35k', '1M')
    """
    units = iter(("", "k", "M", "G"))
    unit = next(units)
    while count >= 999.5 and (following := next(units, None)):
        count, unit = count / 1000, following
    text = f"{count:.1f}" if count < 9.95 else f"{count:.0f}"
    return text.removesuffix(".0") + unit
