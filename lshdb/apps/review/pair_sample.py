"""A random sample of pairs, drawn while they are found: the same seed gives the same pairs.

Each pair has a random number of 64 bits, a hash by the seed of the ids of its two documents, and
the sample is the pairs with the smallest numbers (bottom-k sampling: Cohen and Kaplan, Summarizing
data using bottom-k sketches, PODC 2007). So every pair is as probable as every other, only the
sample and one chunk of pairs are in memory, and the result depends neither on the order in which
pairs are found nor on how many come at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshdb.formatting import counted
from lshdb.search.pairs import NO_PAIRS, ScoredPairs
from lshdb.text import hashing
from lshdb.text.arrays import IntArray

_SEED = 1
"""The seed of a sample for which none is given."""


def random_numbers(a: IntArray, b: IntArray, seed: int | None) -> hashing.Hashes:
    """Random numbers of pairs of documents, which depend on the ids and the seed only.

    Args:
        a: int64[n], the ids of the documents that were added first.
        b: int64[n], those of the others.
        seed: any integer from 0, of which the lower 63 bits count; None for 1.

    Returns:
        uint64[n].
    """
    seed = _SEED if seed is None else seed
    hasher = hashing.span_hash(seed & hashing.LARGEST_SEED, "integer")
    return hasher.integers(hasher.integers(a).view(np.int64) ^ b)


@dataclass
class PairSample:
    """A sample of pairs.

    Attributes:
        size: how many pairs are drawn, from 1.
        seed: see `random_numbers`.
        drawn_from: how many pairs there were; None before the sample is drawn.
    """

    size: int
    seed: int | None
    drawn_from: int | None = None

    def draw(self, scored_pairs: Iterable[ScoredPairs], doc_ids: IntArray) -> ScoredPairs:
        """The sample of all pairs, the most similar first; of equal ones those added first.

        Args:
            scored_pairs: the pairs, in chunks: the documents int64[c] and int64[c], by their
                indices in `doc_ids`, and their similarities float64[c].
            doc_ids: int64[m].
        """
        sample: tuple[Any, Any, Any] = NO_PAIRS
        numbers, count = np.zeros(0, dtype=np.uint64), 0
        for pairs in scored_pairs:
            left, right, _ = pairs
            count += len(left)
            numbers = np.append(numbers, random_numbers(doc_ids[left], doc_ids[right], self.seed))
            smallest = np.argsort(numbers, kind="stable")[: self.size]
            a, b, scores = map(np.append, sample, pairs)
            sample, numbers = (a[smallest], b[smallest], scores[smallest]), numbers[smallest]
        self.drawn_from = count
        a, b, scores = sample
        best_first = np.lexsort((b, a, -scores))
        return a[best_first], b[best_first], scores[best_first]

    def words(self) -> str:
        """From how many pairs the sample was drawn, and by which seed."""
        count = self.drawn_from or 0
        return (
            f"{min(self.size, count):,} of the {counted(count, 'pair')} that match, drawn at "
            f"random (--seed {_SEED if self.seed is None else self.seed})"
        )
