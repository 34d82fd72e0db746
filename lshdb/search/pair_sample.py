"""A random sample of pairs, drawn while they are found: the same seed gives the same pairs.

Each pair has a random number of 64 bits, a hash by the seed of the ids of its two documents, and
the sample is the pairs with the smallest numbers (bottom-k sampling: Cohen and Kaplan, Summarizing
data using bottom-k sketches, PODC 2007). So every pair is as probable as every other, only the
sample and one chunk of pairs are in memory, and the result depends neither on the order in which
pairs are found nor on how many come at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshdb.text import hashing
from lshdb.text.arrays import NO_NUMBERS, IntArray, Shares

ScoredPairs = tuple[IntArray, IntArray, Shares]
"""Pairs int64[n] and int64[n], and their similarities float64[n]."""
NO_PAIRS: ScoredPairs = NO_NUMBERS, NO_NUMBERS, np.zeros(0)
SEED = 1
"""The seed of a sample for which none is given."""


@dataclass
class Drawn:
    """What a sample was drawn from.

    Attributes:
        pairs: how many pairs passed the filters; None before the sample is drawn, and without one.
    """

    pairs: int | None = None


def random_numbers(a: IntArray, b: IntArray, seed: int | None) -> hashing.Hashes:
    """Random numbers of pairs of documents, which depend on the ids and the seed only.

    Args:
        a: int64[n], the ids of the documents that were added first.
        b: int64[n], those of the others.
        seed: any integer from 0, of which the lower 63 bits count; None for `SEED`.

    Returns:
        uint64[n].
    """
    seed = SEED if seed is None else seed
    hasher = hashing.span_hash(seed & hashing.LARGEST_SEED, "integer")
    return hasher.integers(hasher.integers(a).view(np.int64) ^ b)


def draw(
    scored_pairs: Iterable[ScoredPairs],
    doc_ids: IntArray,
    size: int,
    seed: int | None,
    drawn: Drawn,
) -> ScoredPairs:
    """The sample of all pairs, the most similar first; of equal ones those added first.

    Args:
        scored_pairs: the pairs, in chunks: the documents int64[c] and int64[c], by their indices
            in `doc_ids`, and their similarities float64[c].
        doc_ids: int64[m].
        size: of the sample, from 1.
        seed: see `random_numbers`.
        drawn: gets the number of all pairs.
    """
    sample: tuple[Any, Any, Any] = NO_PAIRS
    numbers, count = np.zeros(0, dtype=np.uint64), 0
    for pairs in scored_pairs:
        left, right, _ = pairs
        count += len(left)
        numbers = np.append(numbers, random_numbers(doc_ids[left], doc_ids[right], seed))
        smallest = np.argsort(numbers, kind="stable")[:size]
        a, b, scores = map(np.append, sample, pairs)
        sample, numbers = (a[smallest], b[smallest], scores[smallest]), numbers[smallest]
    drawn.pairs = count
    a, b, scores = sample
    best_first = np.lexsort((b, a, -scores))
    return a[best_first], b[best_first], scores[best_first]
