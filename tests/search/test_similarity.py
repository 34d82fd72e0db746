"""Exact Jaccard similarity equals that of plain Python sets; estimates count lanes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import jaccard as jaccard_of_sets

import lshdb
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


@pytest.mark.parametrize("content", [True, False])
def test_identical_is_the_same_content_and_not_only_similarity_1(path: Path, content: bool) -> None:
    text = "The fox and the grapes of the vine"
    with lshdb.open(path, content=content) as db:
        db.add_many([("one", text), ("case", text.upper()), ("twin", text), ("other", "a crow")])
        for matches in (db.query(text), db.query(key="one"), db.query(text, top=9, estimate=True)):
            assert {match.similarity for match in matches} == {1.0}
            found = {match.key: match.identical for match in matches}
            assert found.pop("one", True)
            assert found == {"case": False, "twin": True}
        pairs = {(pair.a, pair.b): pair.identical for pair in db.pairs()}
        assert pairs == {("one", "case"): False, ("one", "twin"): True, ("case", "twin"): False}
        for star in (False, True):
            (cluster,) = db.clusters(star=star)
            assert cluster.identical == (True, False, True)
        assert db.compare("one", "twin").identical
        assert not db.compare("one", "case").identical
        assert db.compare("one", lshdb.Document("new", text)).identical
        assert not db.compare("case", lshdb.Document("new", text)).identical
        skipped: list[lshdb.Skipped] = []
        db.add_many([("a", text), ("b", f"{text}!")], on_similar="skip", on_skip=skipped.append)
        assert [(one.key, one.identical) for one in skipped] == [("a", True), ("b", False)]


def test_of_sets_identical_is_the_same_elements(path: Path) -> None:
    with lshdb.open(path, shingle="set") as db:
        db.add("a", ["x", "y", 1])
        (match,) = db.query([1, "y", "x", "y"])
        assert match.identical
        (match,) = db.query(["1", "y", "x"], threshold=0.4)
        assert not match.identical


def test_signatures_alone_say_nothing_of_contents(path: Path) -> None:
    lanes = np.arange(128, dtype=np.uint32)[np.newaxis].repeat(2, axis=0)
    made_with = lshdb.Sketching.foreign("mine", 128)
    with lshdb.open(path, shingle="foreign:mine", content=False) as db:
        db.add_signatures(["a", "b"], lanes, made_with)
        assert [pair.identical for pair in db.pairs()] == [False]
        assert [cluster.identical for cluster in db.clusters()] == [(False, False)]
        assert not db.compare("a", "b").identical
        matches = [*db.query(key="a"), *db.query_signature(lanes[0], made_with)]
        assert [match.identical for match in matches] == [False] * 3
