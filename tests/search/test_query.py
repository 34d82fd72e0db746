"""Queries: what is found, how it is scored, in which order, and what is left out with a warning."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from extras import STARS
from helpers import Command, database_of, set_families, text_families
from hypothesis import given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import Limits, LimitWarning
from lshdb.model import Match

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
    containment=st.booleans(),
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


# containment


@pytest.mark.app("passages")
def test_with_an_index_of_passages_a_quotation_is_found_surely(path: Path) -> None:
    texts = text_families(4, families=3, copies=2, words=4_000, most_edits=3)
    quoted = " ".join(texts["1/base"].split()[100:160])
    how: Any = {"containment": True, "threshold": 0.9}
    with database_of(path, [*texts.items(), ("quoted", quoted)]) as db:
        assert [match.key for match in db.query(quoted, **how)] == ["quoted"]
        db.reindex(passages=8)
        found = db.query(quoted, exhaustive=True, **how)
        assert len(found) > 3
        assert db.query(quoted, **how) == found
        assert db.query(quoted, top=2, **how) == found[:2]
        assert next(db.query_many([("one", quoted)], **how)) == ("one", found)
        assert db.query(key="quoted", **how) == found[1:]
        assert [m.key for m in db.query(quoted, where="key = '1/base'", **how)] == ["1/base"]
        assert len(db.query(quoted, threshold=0.9)) == 1, "by similarity as before"
    with (
        lshdb.open(path, limits=Limits(query_first=1)) as db,
        pytest.warns(LimitWarning, match="runs of 8 words of the query"),
    ):
        db.query(quoted, **how)


def test_shingles_that_repeat_count_once(path: Path) -> None:
    """Also where a text is far longer than the number of its distinct shingles suggests."""
    texts = {"long": "to be or not to be " * 200, "short": "to be"}
    with database_of(path, texts, threshold=0.9, shingle="word:1") as db:
        for query in ("be or not to be", "to be or not " * 50):
            (match,) = db.query(query, containment=True)
            assert (match.key, match.containment, match.similarity) == ("long", 1, 1)


@pytest.mark.parametrize("content", [True, False])
def test_an_estimated_containment_is_about_right(path: Path, content: bool) -> None:
    rng, errors = random.Random(2), []
    sets = set_families(3, families=10, copies=5, size=30)
    how: Any = {"containment": True, "estimate": content, "exhaustive": True}
    with database_of(path, sets, threshold=0.3, shingle="set", content=content) as db:
        for elements in sets.values():
            query = rng.sample(elements, len(elements) * 2 // 3)
            for match in db.query(query, **how):
                assert match.containment is not None
                assert not match.exact
                assert match.similarity == match.estimate
                true = len({*query} & {*sets[match.key]}) / len(query)
                errors.append(match.containment - true)
    assert len(errors) > 100
    assert abs(np.mean(errors)) < 0.03
    assert np.std(errors) < 0.1


def test_the_command_ranks_by_containment_and_says_what_it_may_miss(command: Command) -> None:
    command.done("init", "--shingle", "set", "--bands", "20", "--rows", "2", "--threshold", "0.6")
    sets: Any = {"whole": [*range(40)], "most": [*range(8), "x"], "none": ["y"]}
    command.write("sets.jsonl", [{"id": key, "set": sets[key]} for key in sets])
    command.done("add", "sets.jsonl")
    asked, query = ("query", "-", "--containment"), json.dumps([*range(10)])
    exhaustive = command.done(*asked, "--exhaustive", stdin=query, says="")
    assert exhaustive.out == "1.000000\t0.250000\texact\twhole\n0.800000\t0.727273\texact\tmost\n"
    chances = [1 - (1 - (0.6 / (0.4 + times)) ** 2) ** 20 for times in (1, 2, 5)]
    said = command.done(*asked, stdin=query).err
    assert re.findall(r"[0-9.]+%", said) == [f"{chance:.1%}" for chance in chances]


@pytest.mark.app("passages")
def test_runs_of_words_that_containment_finds_are_said(command: Command) -> None:
    command.done("init", "-d", "p.db", "--passages", "8")
    said = command("query", "-d", "p.db", "--containment", "--text", "a b c d e f g h").err
    assert "documents that hold 8 or more words of the query in a row are found" in said


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


@pytest.mark.parametrize("containment", [False, True])
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


@pytest.mark.parametrize(("seed", "containment"), [(0, False), (1, True)])
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
