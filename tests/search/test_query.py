"""Queries: what is found, how it is scored, and in which order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import inspection
import numpy as np
import pytest
from helpers import set_families, text_families
from oracles import jaccard

import lshdb
from lshdb.errors import ContentError, KeyNotFound, UsageError
from lshdb.model import Match
from lshdb.search import query as query_module
from lshdb.search import similarity as measures

SETS = set_families(11, families=12, copies=5, size=30)


@pytest.fixture
def filled(path: Path) -> Path:
    """A database of the SETS, at threshold 0.5."""
    with lshdb.open(path, threshold=0.5, shingle="set") as db:
        db.add_many(SETS.items())
    return path


def keys(matches: list[Match]) -> list[str]:
    return [match.key for match in matches]


def brute_force(query: list[str], threshold: float) -> dict[str, float]:
    """The similarity of every stored set to a query that has at least the threshold."""
    scores = {key: jaccard(set(query), set(elements)) for key, elements in SETS.items()}
    return {key: score for key, score in scores.items() if score >= threshold}


def test_an_equal_document_is_found_by_content_and_not_by_its_own_key(filled: Path) -> None:
    with lshdb.open(filled) as db:
        for key, elements in SETS.items():
            matches = db.query(elements)
            bands = db.settings.construction.bands
            own = Match(key, 1.0, True, 1.0, bands, identical=True)
            assert own in matches
            assert db.query(key=key) == [match for match in matches if match != own]


def test_a_match_has_similarity_estimate_and_bands(filled: Path) -> None:
    with lshdb.open(filled) as db:
        for key in list(SETS)[:20]:
            own = db.get(key)
            for match in db.query(key=key):
                other = db.get(match.key)
                agreeing = own.signature == other.signature
                assert match == Match(
                    key=match.key,
                    similarity=jaccard(set(SETS[key]), set(SETS[match.key])),
                    exact=True,
                    estimate=float(np.mean(agreeing)),
                    bands=int(np.sum(own.bucket_keys == other.bucket_keys)),
                    identical=SETS[key] == SETS[match.key],
                )


def test_matches_come_best_first_and_ties_in_a_fixed_order(path: Path) -> None:
    """Exact similarity, then the estimate, then the order of addition."""
    base = list(range(20))
    with lshdb.open(path, threshold=0.5, shingle="set") as db:
        db.add_many([(f"minus {i}", [e for e in base if e != i]) for i in reversed(base)])
        db.add_many([("twin 2", base), ("half", base[:14]), ("twin 1", base)])
        matches = db.query(base)
        order = [match.key for match in matches]
        ids = {key: db.get(key).doc_id for key in order}
    assert order[:2] == ["twin 2", "twin 1"]
    assert order[-1] == "half"
    assert len(order) == 23
    ranks = [(-match.similarity, -match.estimate, ids[match.key]) for match in matches]
    assert ranks == sorted(ranks)
    assert len({match.estimate for match in matches[2:-1]}) > 1


def test_top_cuts_the_same_list(filled: Path) -> None:
    with lshdb.open(filled) as db:
        for exhaustive in (False, True):
            every = db.query(key="0/base", threshold=0.1, exhaustive=exhaustive)
            assert len(every) > 3
            for top in (1, 2, len(every), len(every) + 5):
                found = db.query(key="0/base", threshold=0.1, exhaustive=exhaustive, top=top)
                assert found == every[:top]


@pytest.mark.parametrize("threshold", [0.05, 0.2, 0.5, 0.7, 1.0])
def test_an_exhaustive_query_finds_what_brute_force_finds(filled: Path, threshold: float) -> None:
    with lshdb.open(filled) as db:
        for elements in list(SETS.values())[:20]:
            matches = db.query(elements, threshold=threshold, exhaustive=True)
            found = {match.key: match.similarity for match in matches}
            assert found == brute_force(elements, threshold)


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.8, 1.0])
def test_an_indexed_query_gives_a_part_of_the_exhaustive_one(
    filled: Path, threshold: float
) -> None:
    """Below the database's threshold the index misses some, and never adds one."""
    found = missed = 0
    with lshdb.open(filled) as db:
        for key in SETS:
            every = db.query(key=key, threshold=threshold, exhaustive=True)
            some = db.query(key=key, threshold=threshold)
            assert some == [match for match in every if match.bands]
            found += len(some)
            missed += len(every) - len(some)
    assert found > 0
    assert missed <= 0.01 * (found + missed) or threshold < 0.5
    assert missed > 0 or threshold > 0.05


def test_the_threshold_itself_is_similar_enough(path: Path) -> None:
    with lshdb.open(path, threshold=0.8, shingle="set") as db:
        db.add("five", [1, 2, 3, 4, 5])
        assert db.query([1, 2, 3, 4], exhaustive=True)[0].similarity == 0.8
        assert db.query([1, 2, 3, 4], exhaustive=True, threshold=np.nextafter(0.8, 1)) == []


@pytest.mark.parametrize("exhaustive", [False, True])
def test_an_estimate_ranks_by_the_share_of_equal_lanes(filled: Path, exhaustive: bool) -> None:
    with lshdb.open(filled) as db:
        own = db.get("3/base")
        expected = {}
        for key in SETS:
            other = db.get(key)
            agree = float(np.mean(own.signature == other.signature))
            collided = bool(np.any(own.bucket_keys == other.bucket_keys))
            if key != "3/base" and agree >= 0.3 and (collided or exhaustive):
                expected[key] = agree
        how: Any = {"estimate": True, "exhaustive": exhaustive, "threshold": 0.3}
        matches = db.query(key="3/base", **how)
        assert {match.key: match.similarity for match in matches} == expected
        assert expected
        assert all(match.estimate == match.similarity for match in matches)
        assert not any(match.exact for match in matches)
        assert matches == sorted(matches, key=lambda match: -match.similarity)
        assert db.query(SETS["3/base"], **how)[1:] == matches


def test_without_content_similarities_are_estimates(filled: Path) -> None:
    bare = filled.with_name("bare.db")
    with (
        lshdb.open(bare, threshold=0.5, shingle="set", content=False) as db,
        lshdb.open(filled) as kept,
    ):
        db.add_many(SETS.items())
        for key, elements in list(SETS.items())[:10]:
            for exhaustive in (False, True):
                how: Any = {"exhaustive": exhaustive, "threshold": 0.4}
                assert db.query(key=key, **how) == kept.query(key=key, **how, estimate=True)
                assert db.query(elements, **how) == kept.query(elements, **how, estimate=True)


@pytest.mark.parametrize("exhaustive", [False, True])
def test_many_large_candidates_are_verified_piece_by_piece(
    path: Path, monkeypatch: pytest.MonkeyPatch, exhaustive: bool
) -> None:
    texts = text_families(8, families=1, copies=150, words=60, most_edits=8)
    with lshdb.open(path, threshold=0.3) as db:
        db.add_many(texts.items())
        expected = db.query(key="0/base", exhaustive=exhaustive)
        assert len(expected) > 130
        for characters in (1, 1_000, 20_000):
            monkeypatch.setattr(measures, "_CHARACTERS", characters)
            assert db.query(key="0/base", exhaustive=exhaustive) == expected


def test_texts_are_compared_as_they_are_shingled(path: Path) -> None:
    with lshdb.open(path, shingle="word:2") as db:
        db.add("fox", "The fox\nand the  GRAPES!")
        for text in ("the fox and the grapes", "\uff34he fox, and the grapes. The fox"):
            (match,) = db.query(text)
            assert match.similarity == (1.0 if text.endswith("grapes") else 0.8)
        assert db.query("the grapes and the fox") == []
        assert db.query("fox") == []


def test_an_empty_database_has_no_matches(path: Path) -> None:
    with lshdb.open(path) as db:
        for exhaustive in (False, True):
            assert db.query("the fox and the grapes", exhaustive=exhaustive) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a document or a key"),
        ({"content": ["x"], "key": "0/base"}, "either a document or a key"),
        ({"content": ["x"], "top": 0}, "top 0"),
        ({"content": ["x"], "top": -1}, "top -1"),
        ({"content": ["x"], "threshold": 0}, "threshold 0 "),
        ({"content": ["x"], "threshold": -0.1}, "threshold -0.1"),
        ({"content": ["x"], "threshold": 1.01}, "threshold 1.01"),
        ({"content": ["x"], "threshold": float("nan")}, "threshold nan"),
    ],
    ids=str,
)
def test_a_question_that_makes_no_sense_is_wrong_usage(
    filled: Path, arguments: dict[str, Any], message: str
) -> None:
    with lshdb.open(filled) as db, pytest.raises(UsageError, match=message):
        db.query(**arguments)


def test_a_wrong_kind_of_document_or_an_unknown_key_is_named(filled: Path) -> None:
    with lshdb.open(filled) as db:
        with pytest.raises(ContentError, match="this is a text"):
            db.query("a text")
        with pytest.raises(KeyNotFound, match=r"^no document has the key 'nobody'$"):
            db.query(key="nobody")


def test_a_query_changes_nothing(filled: Path) -> None:
    before = inspection.files(filled.parent)
    with lshdb.open(filled, mode="read") as db:
        assert keys(db.query(SETS["1/0"]))[0] == "1/0"
        db.query(key="1/0", exhaustive=True, estimate=True)
    assert inspection.files(filled.parent) == before


def test_top_goes_on_until_nothing_better_can_come(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best by estimate are verified first, and are not always the best."""
    monkeypatch.setattr(query_module, "VERIFIED_FIRST", 1)
    rng = random.Random(7)
    with lshdb.open(path, threshold=0.5, shingle="set") as db:
        for family in range(6):
            base = range(1_000 * family, 1_000 * family + 400)
            lacking = rng.sample(range(1, 31), 30)
            db.add_many((f"{family} lacks {n}", rng.sample(base, 400 - n)) for n in lacking)
            for top in (1, 2):
                assert db.query(base, top=top) == db.query(base)[:top]
