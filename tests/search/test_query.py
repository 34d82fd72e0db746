"""Queries: what is found, how it is scored, and in which order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inspection
import numpy as np
import pytest
from helpers import database_of, set_families, text_families
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import estimate as estimate_of
from oracles import jaccard

import lshdb
from lshdb import Limits
from lshdb.model import Match

FAMILIES = set_families(11, families=12, copies=5, size=30)
SETS: dict[str, list[str]] = {
    **FAMILIES,
    **{f"{key} and more": [*own, *map(str, range(80))] for key, own in [*FAMILIES.items()][::6]},
    **{f"{key} again": own[::-1] for key, own in [*FAMILIES.items()][::9]},
    "empty": [],
}
HALVES = {
    f"half of {key}": random.Random(key).sample(own, len(own) // 2) * 2 for key, own in SETS.items()
}
ASKED = SETS | HALVES


@pytest.fixture(scope="module", params=[True, False], ids=["contents", "signatures"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[lshdb.Database, dict[str, lshdb.StoredDocument]]]:
    """A database of the SETS, and all that is asked as it is stored in another one."""
    path = tmp_path_factory.mktemp("query")
    made: Any = {"threshold": 0.5, "shingle": "set"}
    with (
        database_of(path / "a.db", SETS, content=request.param, **made) as db,
        database_of(path / "b.db", ASKED, **made) as other,
    ):
        yield db, {key: other.get(key) for key in ASKED}


def by_brute_force(
    stored: dict[str, lshdb.StoredDocument],
    asked: str,
    threshold: float,
    exact: bool,
    exhaustive: bool,
    containment: bool,
) -> list[Match]:
    """All matches of what is asked, best first, from plain sets and all lanes and bucket keys."""
    own, elements = stored[asked], set(ASKED[asked])
    ranked = []
    for place, (key, held) in enumerate(SETS.items()):
        other = stored[key]
        if not held or not elements:
            continue
        estimate = estimate_of(int(np.sum(own.signature == other.signature)), 128)
        similarity = jaccard(elements, set(held)) if exact else estimate
        share = len(elements & set(held)) / len(elements) if containment else None
        bands = int(np.sum(own.bucket_keys == other.bucket_keys))
        same = elements == set(held)
        first, second = (similarity, estimate) if share is None else (share, similarity)
        if first >= threshold and (bands or exhaustive):
            match = Match(key, similarity, exact, estimate, bands, share, same)
            ranked.append((-first, -second, place, match))
    return [match for *_, match in sorted(ranked, key=lambda one: one[:3])]


@settings(max_examples=60)
@given(
    asked=st.sampled_from(list(ASKED)),
    by_key=st.booleans(),
    threshold=st.sampled_from([None, 0.05, 0.3, 0.5, 0.8, 1.0]),
    top=st.sampled_from([None, 1, 2, 5, 500]),
    estimate=st.booleans(),
    exhaustive=st.booleans(),
    containment=st.booleans(),
)
def test_matches_are_those_of_brute_force(
    filled: tuple[lshdb.Database, dict[str, lshdb.StoredDocument]],
    asked: str,
    by_key: bool,
    threshold: float | None,
    top: int | None,
    estimate: bool,
    exhaustive: bool,
    containment: bool,
) -> None:
    """By similarity or containment, exact or estimated, of a stored document or a new one."""
    db, stored = filled
    exact = db.settings.content and not estimate
    how: Any = {"exhaustive": exhaustive, "containment": containment and exact}
    expected = by_brute_force(stored, asked, threshold or 0.5, exact, **how)
    document: Any = {"content": ASKED[asked]}
    if by_key and asked in SETS:
        document = {"key": asked}
        expected = [match for match in expected if match.key != asked]
    found = db.query(**document, threshold=threshold, top=top, estimate=estimate, **how)
    assert found == expected[:top]


def test_the_threshold_itself_is_similar_enough(path: Path) -> None:
    """The quotient is rounded once, as the threshold that the user types is."""
    with database_of(path, {"hundred": range(100)}, threshold=0.8, shingle="set") as db:
        for shared, threshold in ((80, 0.8), (70, 0.7), (99, 0.99), (7, 0.07)):
            how: Any = {"exhaustive": True}
            (match,) = db.query(range(shared), threshold=threshold, **how)
            assert match.similarity == threshold
            above = float(np.nextafter(threshold, 1))
            assert db.query(range(shared), threshold=above, **how) == []


@pytest.mark.parametrize("exhaustive", [False, True])
def test_many_large_candidates_are_verified_piece_by_piece(path: Path, exhaustive: bool) -> None:
    texts = text_families(8, families=1, copies=150, words=60, most_edits=8)
    with database_of(path, texts, threshold=0.3) as db:
        expected = db.query(key="0/base", exhaustive=exhaustive)
    assert len(expected) > 130
    for characters in (1, 1_000, 20_000):
        with lshdb.open(path, limits=Limits(text_batch=characters)) as db:
            assert db.query(key="0/base", exhaustive=exhaustive) == expected


def test_texts_are_compared_as_they_are_shingled(path: Path) -> None:
    with database_of(path, {"fox": "The fox\nand the  GRAPES!"}, shingle="word:2") as db:
        for text in ("the fox and the grapes", "\uff34he fox, and the grapes. The fox"):
            (match,) = db.query(text)
            assert match.similarity == (1.0 if text.endswith("grapes") else 0.8)
        assert db.query("the grapes and the fox") == []
        assert db.query("fox") == []


@pytest.mark.parametrize("documents", [[], [("empty", "")], [("one", "alone in the world")]])
def test_without_a_second_document_there_is_nothing_to_find(
    path: Path, documents: list[tuple[str, str]]
) -> None:
    with database_of(path, documents) as db:
        for exhaustive in (False, True):
            assert db.query("the fox and the grapes", exhaustive=exhaustive) == []
            for key, _ in documents:
                assert db.query(key=key, exhaustive=exhaustive) == []
        assert [*db.pairs(), *db.clusters(), *db.clusters(star=True)] == []


def test_a_query_changes_nothing(path: Path) -> None:
    database_of(path, SETS, shingle="set").close()
    before = inspection.files(path.parent)
    with lshdb.open(path, mode="read") as db:
        assert db.query(SETS["1/0"])[0].key == "1/0"
        db.query(key="1/0", exhaustive=True, estimate=True)
    assert inspection.files(path.parent) == before


def test_top_goes_on_until_nothing_better_can_come(path: Path) -> None:
    """The best by estimate are verified first, and are not always the best."""
    rng = random.Random(7)
    one = Limits(verified_first=1)
    with lshdb.open(path, threshold=0.5, shingle="set", limits=one) as db:
        for family in range(6):
            base = range(1_000 * family, 1_000 * family + 400)
            lacking = rng.sample(range(1, 31), 30)
            db.add_many((f"{family} lacks {n}", rng.sample(base, 400 - n)) for n in lacking)
            for top in (1, 2):
                assert db.query(base, top=top) == db.query(base)[:top]
