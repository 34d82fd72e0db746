"""Similarity weighted by rarity, beside its formula computed by hand."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import oracles
import pytest

import lshdb
from lshdb import Limits

RUN, COUNT = 6, 24


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """A class: all begin with one text, half have a second, neighbours share a passage."""
    draw = random.Random(41)
    words = [f"word{number}" for number in range(400)]
    parts = [" ".join(draw.choices(words, k=30)) for _ in range(COUNT + 3)]
    found = {}
    for at in range(COUNT):
        own = [parts[-1], parts[-2] if at % 2 else "", parts[at], parts[at - at % 3]]
        found[f"d{at}"] = " ".join(own)
    return found


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> lshdb.Database:
    path = tmp_path_factory.mktemp("rarity") / "lsh.db"
    with lshdb.open(path, threshold=0.2, passages=RUN) as made:
        made.add_many(texts.items())
    return lshdb.open(path, limits=Limits(join_read=200, passage_windows=100))


@cache
def fingerprints(text: str) -> frozenset[int]:
    return frozenset(oracles.fingerprints(text, "word", RUN, 1))


def by_hand(texts: dict[str, str], one: str, other: str) -> object:
    stored = [fingerprints(text) for text in texts.values()]
    found = oracles.weighted(fingerprints(one), fingerprints(other), stored)
    return pytest.approx(found, abs=1e-12)


def test_all_give_what_the_formula_gives(db: lshdb.Database, texts: dict[str, str]) -> None:
    pairs = list(db.pairs())
    assert len(pairs) > COUNT
    for pair in [*pairs, *db.passage_pairs()]:
        expected = by_hand(texts, texts[pair.a], texts[pair.b])
        assert (pair.weighted, pair.weighted_share) == expected
    text = f"{texts['d4'][60:]} and more of other words that nobody has at all {texts['d9'][:90]}"
    for one in [*db.query(text, threshold=0.01, exhaustive=True), *db.passages(text)]:
        assert (one.weighted, one.weighted_share) == by_hand(texts, text, texts[one.key])
    ((_, matches),) = db.query_many([("d3", texts["d3"])])
    assert {one.key: one.weighted for one in matches}["d3"] == pytest.approx(1)


def test_what_half_of_the_class_has_weighs_next_to_nothing(db: lshdb.Database) -> None:
    found: dict[Any, Any] = {(pair.a, pair.b): pair for pair in db.pairs()}
    assert found["d1", "d5"].similarity > 0.3
    assert found["d1", "d5"].weighted_share < 0.03
    assert found["d3", "d4"].weighted > 0.3


def test_the_order_and_the_minimum_are_of_what_is_asked_for(db: lshdb.Database) -> None:
    every: list[Any] = [*db.pairs()]
    pairs = sorted(every, key=lambda one: (-one.weighted, -one.similarity))
    assert [*db.pairs(sort="weighted", top=9)] == pairs[:9]
    enough = [one for one in pairs if one.weighted >= 0.3]
    assert [*db.pairs(sort="weighted", min_weighted=0.3)] == enough
    assert {one.weighted >= 0.3 for one in list[Any](db.pairs(min_weighted=0.3, top=5))} == {True}
    finds: list[Any] = [db.query, db.passages]
    for find in finds:
        first, *_, last = find(key="d4", sort="weighted_share")
        assert first.key in ("d3", "d5")
        assert first.weighted_share > last.weighted_share
        assert len(find(key="d4", sort="weighted", top=1)) == 1
        assert not [*find(key="d4", min_weighted=0.99)]
    shares = [one.share for one in db.passage_pairs(top=10)]
    assert shares == sorted(shares, reverse=True)


def test_two_documents_are_no_class(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "lsh.db", passages=RUN) as db:
        db.add_many([(key, "It was the best of times and the worst of times") for key in "ab"])
        (pair,) = db.pairs()
        assert (pair.weighted, pair.weighted_share) == (1, 1)
        db.reindex(passages=0)
        (pair,) = db.pairs()
        assert (pair.weighted, pair.weighted_share) == (None, None)
        with pytest.raises(lshdb.UsageError, match="--passages 8"):
            list(db.pairs(sort="weighted"))


def test_more_than_there_can_be_is_all(db: lshdb.Database) -> None:
    everything = sorted((one.a, one.b) for one in db.pairs())
    for sort in (None, "weighted"):
        assert sorted((one.a, one.b) for one in db.pairs(sort=sort, top=1 << 70)) == everything
