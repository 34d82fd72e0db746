"""The numbers behind the pictures: the S-curve, a histogram, what connects a cluster."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lshdb.sketching.constructions import Construction
from lshdb.tuning.analysis import Distribution, curve

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


def connections(keys: Sequence[str], edges: Iterable[tuple[float, str, str]]) -> dict[str, Any]:
    """Which pairs connect a cluster, and where it holds together least.

    The weakest is the last edge of a spanning tree that takes the most similar pairs first
    (Kruskal, Proceedings of the AMS 7, 1956): without pairs as similar as that or less, there are
    two parts.

    Args:
        keys: of the cluster's documents.
        edges: its pairs: similarity, and both keys.

    Returns:
        points: of each document, on a circle around (0, 0); lines: similarity and both points of
        each pair; weakest: the edge; split: the pairs of keys that connect the two parts.
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
    counts: Sequence[int], sampled: Distribution | None, documents: int, threshold: float
) -> list[dict[str, Any]]:
    """The columns of a histogram of all pairs, over similarities 0 to 1, without the empty ones.

    A column is how many `pairs` have a similarity from `low` to below `high`. Its `height` is from
    0 to 1, on a logarithmic scale, as there are many more pairs below the threshold; of those
    `pairs` is an estimate, and `sampled` is true.

    Args:
        counts: how many pairs were found from the threshold on, in bins from 0 to 1.
        sampled: the distribution of all pairs, None if it is not known.
        documents: how many documents it is of.
        threshold: of the pairs that were found.
    """
    edges = np.linspace(0, 1, len(counts) + 1)
    below = edges[1:] <= threshold + 1e-9
    pairs = np.array(counts)
    if sampled is not None:
        shares, _ = np.histogram(sampled.similarities, edges, weights=sampled.weights)
        shares[0] += max(0.0, 1 - float(sampled.weights.sum()))
        pairs = np.where(below, np.round(shares * documents * (documents - 1) / 2), counts)
    heights = np.log10(pairs + 1) / max(np.log10(pairs.max(initial=0) + 1), 1e-9)
    drawn = zip(edges[:-1], edges[1:], pairs, heights, below, strict=True)
    return [
        {
            "low": round(float(low), 4),
            "high": round(float(high), 4),
            "pairs": int(count),
            "height": max(round(float(height), 4), _LOWEST),
            "sampled": bool(is_sampled),
        }
        for low, high, count, height, is_sampled in drawn
        if count
    ]


def sizes(members: Iterable[int]) -> list[tuple[str, int]]:
    """How many clusters have a size, by sizes that double: 2, 3-4, 5-8 and so on.

    >>> sizes([2, 2, 3, 7])
    [('2', 2), ('3-4', 1), ('5-8', 1)]
    """
    counts = Counter((size - 1).bit_length() for size in members)
    names = {bits: f"{2 ** (bits - 1) + 1}-{2**bits}" if bits > 1 else "2" for bits in counts}
    return [(names[bits], counts[bits]) for bits in sorted(counts)]
