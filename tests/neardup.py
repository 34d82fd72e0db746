"""Seeded collections of near duplicates, and brute force over plain Python sets."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet
from itertools import accumulate, combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lshdb.model import Shingles

VOCABULARY = 5_000

_T = TypeVar("_T", bound=Hashable)


def jaccard(one: AbstractSet[_T], other: AbstractSet[_T]) -> float:
    """The Jaccard similarity; 0 for two empty sets."""
    shared = len(one & other)
    return shared / ((len(one) + len(other) - shared) or 1)


def similar_pairs(
    sets: Mapping[str, AbstractSet[_T]], threshold: float
) -> dict[frozenset[str], float]:
    """All pairs of keys whose sets have at least this Jaccard similarity, by brute force."""
    scored = (
        (frozenset((a, b)), jaccard(sets[a], sets[b])) for a, b in combinations(sorted(sets), 2)
    )
    return {pair: score for pair, score in scored if score >= threshold}


def text_families(
    seed: int, families: int, copies: int, words: int, most_edits: int
) -> dict[str, str]:
    """Texts of Zipf-distributed words: base documents, each with copies of 0 to some edits."""
    rng = random.Random(seed)
    vocabulary = [_word(rng) for _ in range(VOCABULARY)]
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    documents = {}
    for family in range(families):
        base = rng.choices(vocabulary, cum_weights=weights, k=words)
        documents[f"{family}/base"] = " ".join(base)
        for copy in range(copies):
            edited = list(base)
            for _ in range(rng.randint(0, most_edits)):
                place = rng.randrange(len(edited))
                new = rng.choices(vocabulary, cum_weights=weights, k=1)
                edited[place : place + rng.choice((0, 1, 1, 1))] = new * rng.choice((0, 1, 1))
            documents[f"{family}/{copy}"] = " ".join(edited)
    return documents


def set_families(seed: int, families: int, copies: int, size: int) -> dict[str, list[str]]:
    """Sets of strings: base documents, each with copies that share some of the elements."""
    rng = random.Random(seed)
    documents = {}
    for family in range(families):
        base = [f"{family}-{element}" for element in range(rng.randint(size // 2, size))]
        documents[f"{family}/base"] = base
        for copy in range(copies):
            kept = rng.sample(base, round(len(base) * rng.uniform(0.5, 1)))
            new = [f"{family}-{copy}-{i}" for i in range(rng.randint(0, size // 4))]
            documents[f"{family}/{copy}"] = [*kept, *new]
    return documents


def pairs_of_hashes(seed: int, pairs: int, shared: int, union: int) -> tuple[Shingles, Shingles]:
    """Pairs of random sets with `shared` hashes of `union` in common: the ones and the others."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 1 << 64, size=(pairs, union), dtype=np.uint64)
    middle = shared + (union - shared) // 2
    others = np.concatenate([hashes[:, :shared], hashes[:, middle:]], axis=1)
    return _shingles(hashes[:, :middle]), _shingles(others)


def _shingles(hashes: npt.NDArray[np.uint64]) -> Shingles:
    documents, size = hashes.shape
    return Shingles(hashes.reshape(-1), np.arange(documents + 1) * size)


def _word(rng: random.Random) -> str:
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9)))
