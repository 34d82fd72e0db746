"""The numbers that pictures draw: the S-curve, a histogram, the connections of a cluster."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lshdb.formatting import compact
from lshdb.maintain import analysis
from lshdb.sketch.constructions import Construction

BINS = np.linspace(0, 1, 21).round(4)
"""The edges of a histogram's columns, rounded: 0.15 is in the column that begins with it."""
_POINTS = 121
_TICKS = 5
"""Maximum number of labels on an axis, without 0."""
_LOWEST = 0.006
"""Minimum height of a column, a pixel: a few pairs among many stay visible."""


def s_curve(construction: Construction, threshold: float) -> dict[str, Any]:
    """The curve of a construction: its `points`, a `table` of ten of them, both as similarity and
    probability, and the `probability` at the threshold.
    """
    similarities, levels = np.linspace(0, 1, _POINTS), np.arange(1, 11) / 10
    return {
        "points": np.column_stack(
            [similarities, analysis.curve(similarities, construction)]
        ).tolist(),
        "probability": float(analysis.curve(np.array([threshold]), construction)[0]),
        "table": np.column_stack([levels, analysis.curve(levels, construction)]).tolist(),
    }


def connections(keys: Sequence[str], edges: Iterable[tuple[float, str, str]]) -> dict[str, Any]:
    """The pairs that connect a cluster, and the weakest of them.

    The weakest is the last edge of a spanning tree that takes the most similar pairs first
    (Kruskal, Proceedings of the AMS 7, 1956): without the pairs of its similarity and below, the
    cluster falls into two parts.

    Args:
        keys: the keys of the cluster's documents.
        edges: the cluster's pairs, each with its similarity and both keys.

    Returns:
        points: a point for each document, on a circle around (0, 0); lines: similarity and both
        points of each pair; weakest: the edge; line: its points; split: the pairs of keys that
        connect the two parts.
    """
    ordered = sorted(edges, reverse=True)
    parts = {key: {key} for key in keys}
    weakest, part = ordered[0], set[str]()
    for edge in ordered:
        _, a, b = edge
        if parts[a] is not parts[b]:
            weakest, part = edge, set(parts[a])
            joined = parts[a] | parts[b]
            parts.update(dict.fromkeys(joined, joined))
    angles = np.arange(len(keys)) * 2 * np.pi / len(keys)
    circle = np.column_stack([np.sin(angles), -np.cos(angles)]).round(4).tolist()
    points = dict(zip(keys, circle, strict=True))
    return {
        "points": circle,
        "lines": [(score, *points[a], *points[b]) for score, a, b in reversed(ordered)],
        "weakest": weakest,
        "line": (*points[weakest[1]], *points[weakest[2]]),
        "split": [(a, b) for _, a, b in ordered if (a in part) != (b in part)],
    }


def columns(
    counts: Sequence[int], sampled: analysis.Distribution | None, documents: int, threshold: float
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
        shares, _ = np.histogram(sampled.similarities, BINS, weights=sampled.weights)
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
