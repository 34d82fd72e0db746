"""Queries to buckets that hold a large part of the collection: bounded, and never in silence."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from direct_command import DirectCommand
from helpers import database_of, set_families

import lshdb
from lshdb import Limits, LimitWarning
from lshdb.model import Match

Sets = dict[str, Any]
HEADER = list(range(40))


SMALL = Limits(query_first=20, query_best=10, verified_first=4, documents_read=7)
"""Limits so small that some dozen documents make a bucket large."""


def under_one_header(count: int, seed: int = 1) -> Sets:
    """Sets that share 40 elements and have ten others each."""
    rng = random.Random(seed)
    return {f"d{i}": [*HEADER, *rng.sample(range(100, 10_000), 10)] for i in range(count)}


def filled(path: Path, sets: Sets, threshold: float = 0.5) -> lshdb.Database:
    return database_of(path, sets, threshold=threshold, shingle="set", limits=SMALL)


def queried(db: lshdb.Database, *arguments: Any, **options: Any) -> tuple[list[Match], list[str]]:
    """The matches of a query, and the warnings that came with them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matches = db.query(*arguments, **options)
    assert all(one.category is LimitWarning and one.filename == __file__ for one in caught)
    said = [one.message for one in caught if isinstance(one.message, LimitWarning)]
    assert all(one.cut.what == "query" and one.cut.count for one in said)
    return matches, [str(one) for one in said]


@pytest.mark.parametrize("top", [1, 10, 35])
@pytest.mark.parametrize("estimate", [False, True])
def test_of_many_copies_the_first_are_the_best_without_doubt(
    path: Path, top: int, estimate: bool
) -> None:
    copies = {f"copy {i}": HEADER for i in range(60)}
    others = [key for key in copies if key != "copy 3"]
    with filled(path, copies) as db:
        for found, asked in ((list(copies), (HEADER,)), (others, ())):
            key = None if asked else "copy 3"
            matches, said = queried(db, *asked, key=key, top=top, estimate=estimate)
            assert [match.key for match in matches] == found[:top]
            assert said == []
        assert len(db.query(HEADER)) == 60


def test_a_bucket_larger_than_what_is_asked_for_is_said_to_be_cut(path: Path) -> None:
    with filled(path, under_one_header(60)) as db:
        matches, (said,) = queried(db, HEADER, top=50)
        assert len(matches) == 50
        assert "buckets hold more than 51 documents each" in said
        assert "without top" in said
        everything, said_of_all = queried(db, HEADER)
        assert (len(everything), said_of_all) == (60, [])


@pytest.mark.parametrize("containment", [False, True])
def test_the_nearest_is_found_wherever_it_is_in_a_large_bucket(
    path: Path, containment: bool
) -> None:
    """It shares a bucket of its own with the query, and such buckets are never cut."""
    sets = under_one_header(200)
    near = [*sets["d190"][1:], -1]
    with filled(path, sets) as db:
        matches, (said,) = queried(db, near, top=3, containment=containment)
        best = db.query(near, threshold=0.9, containment=containment)
    assert matches[0] == best[0]
    assert matches[0].key == "d190"
    assert matches[0].similarity == 49 / 51
    assert " of the query's buckets hold more than 20 documents each" in said


@pytest.mark.parametrize(("seed", "containment"), [(0, False), (1, True), (2, False)])
def test_without_a_warning_the_top_are_the_best_of_all(
    path: Path, seed: int, containment: bool
) -> None:
    """Documents of all kinds: families, copies, documents under one heading."""
    rng = random.Random(seed)
    sets: Sets = {**set_families(seed, families=6, copies=8, size=20)}
    copied = list(sets.items())
    sets |= {f"{key}/copy {i}": own for key, own in copied[::9] for i in range(rng.randint(1, 30))}
    sets |= {f"{seed}{key}": own for key, own in under_one_header(30, seed).items()}
    cut = uncut = 0
    with filled(path, sets, threshold=0.4) as db:
        for key in list(sets)[::7]:
            everything = db.query(key=key, containment=containment)
            for top in (1, 30):
                matches, said = queried(db, key=key, top=top, containment=containment)
                assert len(matches) <= top
                if said:
                    cut += 1
                    assert [match for match in everything if match in matches] == matches
                else:
                    uncut += 1
                    assert matches == everything[:top]
    assert cut > 0
    assert uncut > 0


def test_the_command_says_what_was_left_out(tmp_path: Path) -> None:
    """With the limits as they are: more than 2,000 documents in a bucket."""
    database_of(tmp_path / "lsh.db", under_one_header(2_500), threshold=0.5, shingle="set").close()
    command = DirectCommand(tmp_path)
    query = json.dumps([*HEADER, 0])
    result = command.done("query", "-", "--top", "2", "--json", stdin=query)
    assert result.err.startswith("lshdb: ")
    assert "buckets hold more than 2,000 documents each" in result.err
    assert result.err.count("\n") == 1
    assert len(result.records) == 2
    assert len(command.done("query", "-", stdin=query, says="").lines) == 2_500


def test_equal_documents_are_found_without_reading_a_large_bucket(tmp_path: Path) -> None:
    """The best of a large bucket are those of all matches, and few of its rows are read."""
    words = [f"word{number}" for number in range(40)]
    copies = {str(number): " ".join(words) for number in range(150)}
    copies |= {"3": "other text " * 9, "7": " ".join([*words[1:], "more"])}
    with database_of(tmp_path / "x.db", copies) as db:
        statements: list[str] = []
        db._store._connection.set_trace_callback(statements.append)
        wanted: list[tuple[dict[str, Any], int]]
        wanted = [({"content": copies["0"].upper()}, 10), ({"content": copies["0"]}, 70)]
        for query, top in [*wanted, ({"key": "5"}, 5)]:
            every = db.query(**query)
            statements.clear()
            assert db.query(**query, top=top) == every[:top]
            assert not any("CASE WHEN 2001 " in statement for statement in statements)
        near = copies["0"] + " end"
        every = db.query(near)
        assert db.query(near, top=5) == every[:5]
        assert any("CASE WHEN 2001 " in statement for statement in statements)
