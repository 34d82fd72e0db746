"""Sizes of intersections, and which similar documents are identical."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from helpers import database_of
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb.offers import is_there
from lshdb.search.similarity import (
    containment,
    containment_at,
    intersections,
    jaccard,
    may_reach,
    parities,
    shared_by_pairs,
    similarity_at,
)
from lshdb.text.shingling import Shingles

HASHES = st.integers(0, (1 << 64) - 1) | st.integers(0, 20) | st.integers(1, 20).map(lambda n: -n)


@given(st.lists(st.sets(HASHES.map(lambda n: n % (1 << 64)), max_size=30), min_size=2, max_size=6))
@example([set(range(5_000)), set(range(2_000, 9_000)), {7}, {8_000}, {9_000}, set()])
@example([{i << 48 for i in range(1 << 12)}, *({i << 45 for i in range(n)} for n in (1, 9, 70))])
def test_intersections_are_those_of_pythons_sets(sets: list[set[int]]) -> None:
    sizes = np.array([len(each) for each in sets])
    hashes = np.array([value for each in sets for value in sorted(each)], dtype=np.uint64)
    shingles = Shingles(hashes, np.array([0, *np.cumsum(sizes)]))
    a, b = np.array([*combinations(range(len(sets)), 2)]).T
    shared = [len(sets[one] & sets[other]) for one, other in zip(a, b, strict=True)]
    assert shared_by_pairs(hashes, shingles.offsets[:-1], sizes, a, b).tolist() == shared
    whole = intersections(hashes[: sizes[0]], shingles)
    assert whole.tolist() == [len(sets[0] & each) for each in sets]
    similar, held = jaccard(whole, sizes[0], sizes), containment(whole, sizes[0])
    assert containment_at(similar, sizes[0], sizes) == pytest.approx(held)
    assert similarity_at(held, sizes[0], sizes) == pytest.approx(similar)
    for words in (2, 4):
        made = parities(shingles, words)
        odd = np.zeros((len(sets), 64 * words), dtype=np.uint8)
        for number, each in enumerate(sets):
            for value in each:
                odd[number, value * 64 * words >> 64] ^= 1
        assert np.unpackbits(made.view(np.uint8), axis=1).tolist() == odd.tolist()
        most = (sizes[a] + sizes[b] - (odd[a] ^ odd[b]).sum(axis=1, dtype=np.int64)) // 2
        bound = jaccard(np.minimum(most, np.minimum(sizes[a], sizes[b])), sizes[a], sizes[b])
        similar = jaccard(np.array(shared), sizes[a], sizes[b])
        for minimum in (0.0, 0.3, 0.8, 1.0, *similar[similar > 0]):
            reached = may_reach(sizes, made, a, b, minimum)
            empty = sizes[a] + sizes[b] == 0
            assert reached.tolist() == ((bound >= minimum) | empty).tolist()
            assert reached[similar >= minimum].all()


@pytest.mark.parametrize("content", [True, False])
def test_identical_is_the_same_content_and_not_only_similarity_1(path: Path, content: bool) -> None:
    text = "The fox and the grapes of the vine"
    with database_of(
        path,
        [("one", text), ("case", text.upper()), ("twin", text), ("other", "a crow")],
        content=content,
    ) as db:
        for matches in (db.query(text), db.query(key="one"), db.query(text, top=9, estimate=True)):
            found = {match.key: match.identical for match in matches}
            assert found | {"one": True} == {"one": True, "case": False, "twin": True}
        pairs = {(pair.a, pair.b): pair.identical for pair in db.pairs()}
        assert pairs == {("one", "case"): False, ("one", "twin"): True, ("case", "twin"): False}
        for star in (False, True):
            (cluster,) = db.clusters(star=star)
            assert cluster.identical == (True, False, True)
        if is_there("compare"):
            for other in ("twin", lshdb.Document("new", text)):
                assert db.compare("one", other).identical
                assert not db.compare("case", other).identical
        if is_there("dedup"):
            skipped: list[lshdb.DroppedRow] = []
            db.add_many([("a", text), ("b", f"{text}!")], on_similar="skip", on_skip=skipped.append)
            assert [(one.key, one.identical) for one in skipped] == [("a", True), ("b", False)]
