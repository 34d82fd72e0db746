"""The kernels of joins against brute force: candidates, overlaps, components."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshdb.model import Shingles
from lshdb.search import candidates, similarity
from lshdb.search.candidates import SharedBuckets
from lshdb.search.limits import Limit
from lshdb.search.pairs import Components, take_greedily

Pairs = list[tuple[int, int]]

BUCKETS = st.lists(st.sets(st.integers(0, 15), min_size=2), max_size=12).map(
    lambda buckets: [sorted(bucket) for bucket in buckets]
)
LIMITS = st.builds(Limit, st.integers(0, 6), st.integers(0, 3), st.integers(0, 4))
HASHES = st.lists(
    st.sets(st.integers(0, 40) | st.integers(0, 40).map(lambda i: i << 58), max_size=40),
    min_size=1,
    max_size=8,
)


def collected(buckets: Sequence[Sequence[int]], at_once: int = 5) -> SharedBuckets:
    """Buckets as they come from a file, with numbers for all documents 0 to 15."""
    rows = [(len(bucket), doc_id) for bucket in [*buckets, [*range(16)]] for doc_id in bucket]
    table = np.array(rows, dtype=np.int64)
    documents, made = SharedBuckets.collect(
        (table[i : i + at_once, 0], table[i : i + at_once, 1]) for i in range(0, len(rows), at_once)
    )
    assert documents.tolist() == list(range(16))
    # The last bucket is only there so that every document has its number.
    return SharedBuckets(made.members[:-16], made.offsets[:-1])


def lists(buckets: SharedBuckets) -> list[list[int]]:
    return [part.tolist() for part in np.split(buckets.members, buckets.offsets[1:-1])][
        : len(buckets.offsets) - 1
    ]


def flat(chunks: object) -> Pairs:
    found: Pairs = []
    for a, b in chunks:  # type: ignore[attr-defined]
        assert len(a) == len(b) > 0
        found += zip(a.tolist(), b.tolist(), strict=True)
    return found


def allowed(bucket: Sequence[int], limit: Limit) -> set[tuple[int, int]]:
    """The pairs of a bucket that a limit allows."""
    return {
        (bucket[i], bucket[j])
        for i, j in combinations(range(len(bucket)), 2)
        if len(bucket) <= limit.whole or i < limit.first or j - i <= limit.others
    }


@given(BUCKETS, st.integers(1, 50))
def test_buckets_are_collected_from_rows(buckets: list[list[int]], at_once: int) -> None:
    assert lists(collected(buckets, at_once)) == buckets


@given(BUCKETS, st.sampled_from([1, 4, 1000]), st.none() | LIMITS)
def test_candidates_are_the_pairs_of_buckets_once_and_in_order(
    buckets: list[list[int]], chunk: int, limit: Limit | None
) -> None:
    wanted = Limit(99, 0, 0) if limit is None else limit
    expected = sorted(set().union(*(allowed(bucket, wanted) for bucket in buckets)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_CHUNK", chunk)
        patch.setattr(candidates, "_FIRST_CHUNK", 1)
        found = list(collected(buckets).pairs(16, limit))
    assert flat(found) == expected
    assert all(len(one) <= chunk for one, _ in found), "memory is bounded"


@given(BUCKETS, st.sets(st.integers(0, 15)), st.sampled_from([1, 1000]))
def test_only_waiting_documents_are_paired(
    buckets: list[list[int]], some: set[int], chunk: int
) -> None:
    waiting = np.isin(np.arange(16), list(some))
    expected = sorted({p for b in buckets for p in combinations(b, 2) if set(p) <= some})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_CHUNK", chunk)
        assert flat(collected(buckets).pairs(16, None, waiting)) == expected


@given(BUCKETS, st.sets(st.integers(0, 15)))
def test_some_documents_of_buckets(buckets: list[list[int]], some: set[int]) -> None:
    kept = collected(buckets).only(np.isin(np.arange(16), list(some)))
    expected = [[d for d in bucket if d in some] for bucket in buckets]
    assert lists(kept) == [bucket for bucket in expected if len(bucket) > 1]


@given(BUCKETS, st.lists(st.integers(0, 3), min_size=16, max_size=16), st.permutations(range(16)))
def test_mixed_and_renumbered_buckets(
    buckets: list[list[int]], labels: list[int], numbers: list[int]
) -> None:
    mixed = [bucket for bucket in buckets if len({labels[d] for d in bucket}) > 1]
    assert lists(collected(buckets).mixed(np.array(labels))) == mixed
    renumbered = collected(buckets).renumbered(np.array(numbers))
    assert lists(renumbered) == [sorted(numbers[d] for d in bucket) for bucket in buckets]


@given(
    BUCKETS,
    LIMITS,
    st.lists(st.integers(0, 3), min_size=16, max_size=16),
    st.sets(st.integers(0, 15)),
)
def test_the_buckets_that_a_limit_cuts_are_counted(
    buckets: list[list[int]], limit: Limit, labels: list[int], some: set[int]
) -> None:
    left = [
        {(a, b) for a, b in combinations(bucket, 2) if labels[a] != labels[b] and a in some}
        - allowed(bucket, limit)
        for bucket in buckets
    ]
    found = collected(buckets).cut_by(limit, np.array(labels), np.isin(np.arange(16), list(some)))
    assert found == sum(map(bool, left))


def shingles(sets: Sequence[set[int]]) -> Shingles:
    hashes = [sorted(one) for one in sets]
    offsets = np.cumsum([0, *map(len, hashes)])
    return Shingles(np.array(list(chain.from_iterable(hashes)), dtype=np.uint64), offsets)


@given(HASHES, st.sampled_from([1, 4]), st.sampled_from([1, 3, 1 << 17]))
def test_what_pairs_share_and_the_bound_on_it(
    sets: list[set[int]], words: int, at_once: int
) -> None:
    """Some of the hashes have the same first bits, others the same last ones."""
    made = shingles(sets)
    one, other = np.divmod(np.arange(len(sets) ** 2), len(sets))
    expected = [len(sets[i] & sets[j]) for i in range(len(sets)) for j in range(len(sets))]
    sizes = np.diff(made.offsets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "_LOOKED_UP", at_once)
        found = similarity.shared_by_pairs(made.hashes, made.offsets[:-1], sizes, one, other)
    assert found.tolist() == expected
    bound = similarity.most_shared(sizes, similarity.parities(made, words), one, other)
    assert (bound >= found).all()
    assert bound[one == other].tolist() == sizes.tolist()


def test_the_bound_is_close_where_cells_are_many() -> None:
    """Two of ten sets that share half of their 100 hashes, in 1,024 cells."""
    rng = np.random.default_rng(1)
    hashes = np.sort(rng.integers(0, 1 << 64, (10, 100), dtype=np.uint64), axis=1)
    hashes[:, :50] = hashes[0, :50]
    made = Shingles(hashes.reshape(-1), np.arange(0, 1001, 100))
    one, other = np.triu_indices(10, 1)
    sizes = np.diff(made.offsets)
    bound = similarity.most_shared(sizes, similarity.parities(made, 16), one, other)
    assert ((bound >= 50) & (bound < 70)).all()


@given(st.lists(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), min_size=1)))
def test_components_are_those_of_joining_one_by_one(batches: list[Pairs]) -> None:
    component = {number: {number} for number in range(20)}
    components = Components(20)
    for batch in batches:
        one, other = np.array(batch).T
        components.join(one, other)
        for a, b in batch:
            joined = component[a] | component[b]
            component |= dict.fromkeys(joined, joined)
        assert components.labels.tolist() == [min(component[i]) for i in range(20)]
        apart = [component[a] != component[b] for a, b in batch]
        assert components.apart(one, other).tolist() == apart


def test_a_long_chain_is_joined_in_one_batch() -> None:
    links = np.random.default_rng(2).permutation(99_999)
    components = Components(100_000)
    components.join(links, links + 1)
    assert not components.labels.any()


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.integers(1, 5))
def test_taking_is_greedy(edges: set[tuple[int, int]], at_once: int) -> None:
    pairs = sorted((a, b) for a, b in edges if a < b)
    expected = [-1] * 10
    for a in range(10):
        if expected[a] < 0:
            for b in [b for x, b in pairs if x == a and expected[b] < 0]:
                expected[b] = a
    taken, scores = np.full(10, -1), np.ones(10)
    for start in range(0, len(pairs), at_once):
        one, other = np.array(pairs[start : start + at_once]).T
        take_greedily(one, other, one / 10 + other / 100, taken, scores)
    assert taken.tolist() == expected
    for place, taker in enumerate(expected):
        assert scores[place] == (1 if taker < 0 else taker / 10 + place / 100)
