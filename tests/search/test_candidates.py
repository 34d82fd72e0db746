"""Shared buckets: their pairs, whole or cut by a limit, against all pairs one by one."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import numpy as np

from lshdb.limits import Limit
from lshdb.search.candidates import SharedBuckets

DOCUMENTS = 20
CASES = range(300)


def some_buckets(rng: random.Random) -> list[list[int]]:
    """Up to 5 buckets of 2 to 20 documents, ascending."""
    sizes = rng.choices(range(2, DOCUMENTS + 1), k=rng.randrange(6))
    return [sorted(rng.sample(range(DOCUMENTS), size)) for size in sizes]


def some_limit(rng: random.Random) -> Limit:
    return Limit(rng.randrange(12), rng.randrange(4), rng.randrange(6))


def some_mask(rng: random.Random) -> list[bool]:
    return [rng.random() < 0.7 for _ in range(DOCUMENTS)]


def some_labels(rng: random.Random) -> list[int]:
    """Of a few runs of equal labels."""
    return [*np.repeat(rng.choices(range(3), k=4), DOCUMENTS // 4).tolist()]


def buckets_of(members: list[list[int]]) -> SharedBuckets:
    offsets = np.cumsum([0, *map(len, members)])
    flat = [one for each in members for one in each]
    return SharedBuckets(np.array(flat, dtype=np.int32), offsets)


def test_pairs_are_all_that_a_limit_allows() -> None:
    for rng in map(random.Random, CASES):
        members, waiting = some_buckets(rng), some_mask(rng)
        limit, shared = rng.choice([(some_limit(rng), 1), (None, rng.randint(1, 4))])
        counts = Counter(
            (each[i], each[j])
            for each in members
            for i, j in combinations(range(len(each)), 2)
            if limit is None or len(each) <= limit.whole or i < limit.first or j - i <= limit.others
        )
        pairs = [pair for pair, count in sorted(counts.items()) if count >= shared]
        chunk = rng.choice([1, 5, 20, 100, 10_000])
        for mask in (None, np.array(waiting)):
            blocks = [*buckets_of(members).pairs(DOCUMENTS, limit, mask, shared, chunk)]
            assert all(0 < len(a) <= chunk for a, _ in blocks)
            found = [pair for a, b in blocks for pair in zip(a, b, strict=True)]
            assert found == pairs
            pairs = [(a, b) for a, b in pairs if waiting[a] and waiting[b]]


def test_buckets_are_cut_where_a_limit_leaves_out_a_pair_that_matters() -> None:
    cuts = Counter[int]()
    for rng in map(random.Random, CASES):
        members, limit = some_buckets(rng), some_limit(rng)
        labels, asking = some_labels(rng), some_mask(rng)
        cut = 0
        for each in members:
            cut += len(each) > limit.whole and any(
                i >= limit.first
                and j - i > limit.others
                and labels[each[i]] != labels[each[j]]
                and asking[each[i]]
                for i, j in combinations(range(len(each)), 2)
            )
        found = buckets_of(members).cut_by(limit, np.array(labels), np.array(asking))
        assert found == cut
        cuts[cut] += 1
    assert len(cuts) > 3
