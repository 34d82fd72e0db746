"""Queries: what is found, how it is scored, in which order, and what is left out with a warning."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from extras import STARS
from helpers import database_of, set_families, text_families
from hypothesis import given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import Limits, LimitWarning
from lshdb.model import Match
from lshdb.offers import is_there

BY_APP = pytest.mark.app("passages")
Stored = dict[str, lshdb.StoredDocument]
FAMILIES = set_families(11, families=12, copies=5, size=30)
SETS: dict[str, Any] = {
    **FAMILIES,
    **{f"{key} and more": [*FAMILIES[key], *map(str, range(80))] for key in [*FAMILIES][::6]},
    **{f"{key} again": FAMILIES[key][::-1] for key in [*FAMILIES][::9]},
    "empty": [],
}
QUERIES: dict[str, Any] = SETS | {
    f"half of {key}": random.Random(key).sample(elements, len(elements) // 2) * 2
    for key, elements in SETS.items()
}


@pytest.fixture(scope="module", params=[True, False], ids=["contents", "signatures"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[lshdb.Database, Stored]]:
    """A database of the SETS, and all queries as they are stored in another one."""
    path, made = tmp_path_factory.mktemp("query"), {"threshold": 0.5, "shingle": "set"}
    with (
        database_of(path / "a.db", SETS, content=request.param, **made) as db,
        database_of(path / "b.db", QUERIES, **made) as other,
    ):
        yield db, {key: other.get(key) for key in QUERIES}


def by_brute_force(
    stored: Stored, query: str, threshold: float, exact: bool, exhaustive: bool, containment: bool
) -> list[Match]:
    """All matches of a query, best first, from plain sets and all lanes and bucket keys."""
    elements, ranked = set(QUERIES[query]), []
    for index, key in enumerate(SETS):
        held, lanes = set(SETS[key]), stored[query].signature == stored[key].signature
        if not held or not elements:
            continue
        estimate = oracles.estimate(int(np.sum(lanes)), 128)
        similarity = oracles.jaccard(elements, held) if exact else estimate
        share = len(elements & held) / len(elements) if containment else None
        bands = int(np.sum(stored[query].bucket_keys == stored[key].bucket_keys))
        scores = (similarity, estimate) if share is None else (share, similarity)
        if scores[0] >= threshold and (bands or exhaustive):
            same = elements == held
            match = Match(key, similarity, exact, estimate, bands, share, same, same)
            ranked.append((-scores[0], -scores[1], index, match))
    return [match for *_, match in sorted(ranked, key=lambda rank: rank[:3])]


@settings(max_examples=60)
@given(
    query=st.sampled_from([*QUERIES]),
    by_key=st.booleans(),
    threshold=st.sampled_from([None, 0.05, 0.3, 0.5, 0.8, 1.0]),
    top=st.sampled_from([None, 1, 2, 5, 500]),
    estimate=st.booleans(),
    exhaustive=st.booleans(),
    containment=st.sampled_from([False, is_there("passages")]),
)
def test_matches_are_those_of_brute_force(
    filled: tuple[lshdb.Database, Stored],
    query: str,
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
    expected = by_brute_force(stored, query, threshold or 0.5, exact, **how)
    document: Any = {"content": QUERIES[query]}
    if by_key and query in SETS:
        document = {"key": query}
        expected = [match for match in expected if match.key != query]
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


@pytest.mark.parametrize("documents", [{}, {"empty": ""}, {"one": "alone in the world"}])
def test_without_a_second_document_there_is_nothing_to_find(path: Path, documents: Any) -> None:
    with database_of(path, documents) as db:
        for exhaustive in (False, True):
            assert db.query("the fox and the grapes", exhaustive=exhaustive) == []
            assert not any(db.query(key=key, exhaustive=exhaustive) for key in documents)
        assert [*db.pairs(), *db.clusters(), *db.clusters(star=STARS[-1])] == []


def test_top_goes_on_until_nothing_better_can_come(path: Path) -> None:
    """The best by estimate are verified first, and are not always the best."""
    rng, limits = random.Random(7), Limits(verified_first=1)
    with lshdb.open(path, threshold=0.5, shingle="set", limits=limits) as db:
        for family in range(6):
            base = range(1_000 * family, 1_000 * family + 400)
            lacking = rng.sample(range(1, 31), 30)
            db.add_many((f"{family} lacks {n}", rng.sample(base, 400 - n)) for n in lacking)
            for top in (1, 2):
                assert db.query(base, top=top) == db.query(base)[:top]


# buckets that hold a large part of the collection: bounded, and never in silence

HEADER = [*range(40)]
SMALL = Limits(query_first=20, query_best=10, verified_first=4, documents_read=7)
"""Limits so small that some dozen documents make a bucket large."""


def under_one_header(count: int, seed: int = 1) -> dict[str, Any]:
    """Sets that share 40 elements and have ten others each."""
    rng = random.Random(seed)
    return {f"d{i}": [*HEADER, *rng.sample(range(100, 10_000), 10)] for i in range(count)}


def in_small_buckets(path: Path, sets: dict[str, Any], threshold: float = 0.5) -> lshdb.Database:
    return database_of(path, sets, threshold=threshold, shingle="set", limits=SMALL)


def queried(db: lshdb.Database, *arguments: Any, **options: Any) -> tuple[list[Match], list[str]]:
    """The matches of a query, and the warnings that came with them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matches = db.query(*arguments, **options)
    assert all(w.category is LimitWarning and w.filename == __file__ for w in caught)
    said = [w.message for w in caught if isinstance(w.message, LimitWarning)]
    assert all(message.cut.what == "query" and message.cut.count for message in said)
    return matches, [str(message) for message in said]


@pytest.mark.parametrize("containment", [False, pytest.param(True, marks=BY_APP)])
def test_the_nearest_is_found_wherever_it_is_in_a_large_bucket(
    path: Path, containment: bool
) -> None:
    """It shares a bucket of its own with the query, and such buckets are never cut."""
    sets = under_one_header(200)
    near = [*sets["d190"][1:], -1]
    with in_small_buckets(path, sets) as db:
        matches, (said,) = queried(db, near, top=3, containment=containment)
        (best,) = db.query(near, threshold=0.9, containment=containment)
    assert matches[0] == best
    assert (best.key, best.similarity) == ("d190", 49 / 51)
    assert " of the query's buckets hold more than 20 documents each" in said


@pytest.mark.parametrize(("seed", "containment"), [(0, False), pytest.param(1, True, marks=BY_APP)])
def test_without_a_warning_the_top_are_the_best_of_all(
    path: Path, seed: int, containment: bool
) -> None:
    """Documents of all kinds: families, copies, documents under one heading."""
    rng = random.Random(seed)
    sets: Any = set_families(seed, families=6, copies=8, size=20)
    for key in [*sets][::9]:
        sets |= {f"{key}/copy {i}": sets[key] for i in range(rng.randint(1, 60))}
    sets |= {f"h{key}": elements for key, elements in under_one_header(30, seed).items()}
    answers = set()
    with in_small_buckets(path, sets, 0.4) as db:
        for key in [*sets][::7]:
            everything = db.query(key=key, containment=containment)
            for top in (1, 30):
                matches, said = queried(db, key=key, top=top, containment=containment)
                answers.add(bool(said))
                if said:
                    assert [match for match in everything if match in matches] == matches
                else:
                    assert matches == everything[:top]
    assert answers == {False, True}


def test_equal_documents_of_a_large_bucket_are_the_best(path: Path) -> None:
    words = [f"word{number}" for number in range(40)]
    text = " ".join(words)
    copies = {str(number): text for number in range(150)}
    copies |= {"3": "other text " * 9, "7": " ".join([*words[1:], "more"])}
    with database_of(path, copies) as db:
        wanted: list[tuple[dict[str, Any], int]] = [
            ({"content": text.upper()}, 10),
            ({"content": text}, 70),
            ({"key": "5"}, 5),
            ({"content": text + " end"}, 5),
        ]
        for query, top in wanted:
            assert db.query(**query, top=top) == db.query(**query)[:top]
