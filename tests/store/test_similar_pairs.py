"""The table of similar pairs: what the library finds, read by plain SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from helpers import Command, database_of, text_families
from inspection import rows

import lshdb

PAIRS = "SELECT a, b, similarity, exact, estimate, identical FROM similar_pairs ORDER BY a, b"


def test_the_table_has_the_pairs_and_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "lsh.db"
    documents = text_families(1, families=8, copies=4, words=60, most_edits=6)
    command = Command(tmp_path)
    with database_of(path, documents, threshold=0.5) as database:

        def expected(threshold: float | None = None) -> list[tuple[object, ...]]:
            found = database.pairs(threshold=threshold)
            return sorted(
                (one.a, one.b, one.similarity, one.exact, one.estimate, one.identical)
                for one in found
            )

        assert len(expected()) > 20
        command.done("pairs", "--into-table")
        assert rows(path, PAIRS) == expected()
        with closing(sqlite3.connect(path)) as plain, plain:
            plain.execute("CREATE INDEX mine ON similar_pairs (b)")
        database.remove(next(iter(documents)))
        assert rows(path, PAIRS) != expected()
        assert database.store_pairs(threshold=0.8) == len(expected(threshold=0.8)) > 0
        assert rows(path, PAIRS) == expected(threshold=0.8)
        stamp = rows(path, "SELECT threshold, documents, pairs, made FROM similar_pairs_made")
        ((threshold, count, pairs, made),) = stamp
        assert (threshold, count, pairs) == (0.8, len(database), len(expected(threshold=0.8)))
        assert len(made) == 20
        assert rows(path, "SELECT name FROM sqlite_schema WHERE name = 'mine'") == [("mine",)]
    assert lshdb.check(path, deep=True).ok


@pytest.mark.parametrize("kind", ["TABLE Similar_Pairs (a)", "VIEW similar_pairs AS SELECT 1 AS a"])
def test_a_table_of_the_user_is_not_touched(tmp_path: Path, kind: str) -> None:
    command = Command(tmp_path)
    path = tmp_path / "lsh.db"
    database_of(path, {"a": "one two three", "b": "one two three!"}).close()
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute(f"CREATE {kind}")
    before = rows(path, "SELECT name, sql FROM sqlite_schema ORDER BY name")
    assert "is not the table that lshdb makes" in command.fails("pairs", "--into-table")
    assert rows(path, "SELECT name, sql FROM sqlite_schema ORDER BY name") == before
    assert "join them on key" in command.fails(
        "pairs", "--into-table", "--fields", "year", status=2
    )
    assert "one of --into-table" in command.fails("pairs", "--into-table", "--json", status=2)
