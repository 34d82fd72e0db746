"""Which similar documents are identical: the same content, and not only similarity 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers import database_of

import lshdb


@pytest.mark.parametrize("content", [True, False])
def test_identical_is_the_same_content_and_not_only_similarity_1(path: Path, content: bool) -> None:
    text = "The fox and the grapes of the vine"
    with database_of(
        path,
        [("one", text), ("case", text.upper()), ("twin", text), ("other", "a crow")],
        content=content,
    ) as db:
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
    with database_of(path, {"a": ["x", "y", 1]}, shingle="set") as db:
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
