"""Exact Jaccard similarity equals that of plain Python sets; estimates count lanes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import jaccard as jaccard_of_sets

from lshdb.model import Shingles
from lshdb.search.similarity import Shares, estimates, intersections, jaccard

LARGEST = (1 << 64) - 1
HASHES = st.one_of(
    st.integers(0, 12), st.integers(0, LARGEST), st.sampled_from([1 << 63, LARGEST - 1, LARGEST])
)
SETS = st.frozensets(HASHES, max_size=20)


def hashes(elements: Collection[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(sorted(elements), dtype=np.uint64)


def shingles(sets: Sequence[Collection[int]]) -> Shingles:
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    return Shingles(np.concatenate([hashes(()), *map(hashes, sets)]), offsets)


def similarities(one: Collection[int], others: Sequence[Collection[int]]) -> Shares:
    own = hashes(one)
    sizes = np.array([len(other) for other in others], dtype=np.int64)
    return jaccard(intersections(own, shingles(others)), len(own), sizes)


@given(SETS, st.lists(SETS, max_size=8))
@example(frozenset(), [frozenset(), frozenset({1})])
@example(frozenset({5}), [])
@example(frozenset({5}), [frozenset({6}), frozenset(), frozenset({5, 6}), frozenset({5})])
@example(frozenset({0}), [frozenset({LARGEST}), frozenset({0, LARGEST})])
def test_similarities_equal_those_of_python_sets(
    one: frozenset[int], others: list[frozenset[int]]
) -> None:
    found = similarities(one, others)
    assert found.dtype == np.float64
    assert found.tolist() == [jaccard_of_sets(one, other) for other in others]
    common = intersections(hashes(one), shingles(others))
    assert common.tolist() == [len(one & other) for other in others]


@pytest.mark.parametrize(
    ("shared", "union", "threshold"), [(4, 5, 0.8), (7, 10, 0.7), (1, 3, 1 / 3), (99, 100, 0.99)]
)
def test_a_similarity_at_the_threshold_is_not_below_it(
    shared: int, union: int, threshold: float
) -> None:
    """The quotient is rounded once, as the threshold that the user types is."""
    (found,) = similarities(range(shared), [range(union)])
    assert found == threshold


def test_similarity_is_symmetric_and_1_for_equal_sets() -> None:
    one, other = range(60), range(20, 90)
    there = similarities(one, [other, one])
    back = similarities(other, [one, other])
    assert there.tolist() == back.tolist() == [40 / 90, 1.0]


def test_an_estimate_is_the_share_of_agreeing_lanes() -> None:
    signature = np.array([1, 2, 3, 4], dtype=np.uint32)
    others = np.array([[1, 2, 3, 4], [4, 3, 2, 1], [1, 0, 3, 0], [9, 2, 9, 9]], dtype=np.uint32)
    assert estimates(signature, others).tolist() == [1.0, 0.0, 0.5, 0.25]
    assert estimates(signature, others[:0]).tolist() == []
