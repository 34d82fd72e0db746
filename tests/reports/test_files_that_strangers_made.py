"""Files whose values and definitions nobody expects: one line of an error, and no code of theirs.

osquery/osquery#5702: a program that reads SQLite files of others runs what their makers wrote into
the schema.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from direct_command import command as command
from helpers import Command, database_of

import lshdb
from lshdb.errors import LshdbError
from lshdb.maintain.findings import CheckReport

TEXT = "the fox and the grapes of the vine that grow along the old wall near the river"
BOMB = "length(hex(zeroblob(1000000)))"


@pytest.fixture
def made(path: Path) -> Path:
    documents = {"a": TEXT, "b": f"{TEXT} and so on", "c": "a text of other words entirely"}
    with database_of(path, documents, threshold=0.3, passages=5) as database:
        database.decide("keep", ["a"], who="ann")
        database.decide("different", ["a", "b"], who="ann")
    return path


def alter(path: Path, *statements: str, **values: Any) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            plain.execute(statement, values)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (f"CREATE INDEX i ON similar_pairs (a || {BOMB})", "'i' is an index on more than columns"),
        (f"CREATE INDEX i ON similar_pairs (a) WHERE b > {BOMB}", "'i' is an index on more"),
        ("CREATE TRIGGER t DELETE ON similar_pairs_made BEGIN SELECT 1; END", "'t' is a trigger"),
        (
            "CREATE TABLE x (a, b, FOREIGN KEY (a, b) REFERENCES similar_pairs ON DELETE CASCADE)",
            "'x' has a foreign key that acts",
        ),
    ],
)
def test_the_table_of_pairs_runs_no_code(
    command: Command, made: Path, statement: str, says: str
) -> None:
    command.done("pairs", "--into-table")
    before = command.rows("SELECT * FROM similar_pairs")
    alter(made, "DELETE FROM similar_pairs", statement)
    alter(made, "CREATE INDEX plain ON similar_pairs (b)")
    reason = command.fails("pairs", "--into-table")
    assert says in reason
    assert "drop it, or do not trust the file" in reason
    kind = statement.split()[1]
    alter(made, f"DROP {kind} {statement.split()[2]}")
    command.done("pairs", "--into-table")
    assert command.rows("SELECT * FROM similar_pairs") == before


def test_a_check_runs_no_index_of_other_tables(made: Path) -> None:
    """As its expression fails where it runs, nothing needs to take long."""
    alter(
        made,
        "CREATE TABLE other (n)",
        "INSERT INTO other VALUES (1)",
        "CREATE INDEX i ON other (n)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON other "
        "(abs(n - 9223372036854775807 - 2))' WHERE name = 'i'",
    )
    with closing(sqlite3.connect(made)) as plain, pytest.raises(sqlite3.Error, match="overflow"):
        plain.execute("PRAGMA integrity_check").fetchall()
    assert lshdb.check(made).problems == ()


FAILS = "abs(doc_id - 9223372036854775807 - 2)"
"""An expression that fails where it runs, so that nothing needs to take long."""


def test_no_generated_column_is_evaluated(command: Command, made: Path) -> None:
    alter(
        made,
        "CREATE TABLE other (doc_id, g AS (doc_id) NOT NULL)",
        "INSERT INTO other (doc_id) VALUES (1)",
        "CREATE TABLE refers (key REFERENCES documents (key))",
        "INSERT INTO refers VALUES ('gone')",
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET sql = 'CREATE TABLE other (doc_id, g AS ({FAILS}) NOT NULL)' "
        "WHERE name = 'other'",
    )
    with closing(sqlite3.connect(made)) as plain, pytest.raises(sqlite3.Error, match="overflow"):
        plain.execute("PRAGMA quick_check").fetchall()
    (problem,) = lshdb.check(made).problems
    assert (problem.table, problem.key) == ("refers.foreign key", "row 1")
    command.done("pairs", "--into-table")
    alter(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', 'REFERENCES documents (key)') "
        "WHERE name = 'other'",
    )
    assert "'other' has a foreign key of a generated column" in command.fails("remove", "c")
    assert problems(lshdb.check(made)) == {"sqlite_schema", "refers.foreign key"}


@pytest.mark.parametrize(
    "statements",
    [
        [
            "PRAGMA writable_schema = ON",
            f"UPDATE sqlite_schema SET sql = replace(sql, ' TEXT\n)', ' TEXT AS ({FAILS})\n)') "
            "WHERE name = 'documents'",
        ],
        [
            "PRAGMA legacy_alter_table = ON",
            "ALTER TABLE documents RENAME TO kept",
            "CREATE VIEW documents AS SELECT doc_id, key, shingles, digest, metadata, "
            f"{FAILS} AS content FROM kept",
        ],
    ],
    ids=["column", "view"],
)
def test_a_check_reads_no_table_that_runs_code(made: Path, statements: list[str]) -> None:
    alter(made, *statements)
    with closing(sqlite3.connect(made)) as plain, pytest.raises(sqlite3.Error, match="overflow"):
        plain.execute("SELECT content FROM documents").fetchall()
    report = lshdb.check(made, deep=True)
    assert problems(report) == {"sqlite_schema", "unchecked"}
    assert report.documents == 0
    assert str(report.problems).count("documents, signatures and bands") == 1


def problems(report: CheckReport) -> set[str]:
    return {problem.table for problem in report.problems}


METHODS: dict[str, Callable[[lshdb.Database], object]] = {
    "info": lambda database: database.info(),
    "query": lambda database: [*database.query(TEXT), *database.query(key="a", exhaustive=True)],
    "pairs": lambda database: [*database.pairs(), *database.clusters()],
    "passages": lambda database: [database.passages(TEXT), *database.passage_pairs()],
    "get": lambda database: [database.get(key) for key in database],
    "decisions": lambda database: database.decisions(),
    "tune": lambda database: database.tune(),
    "decide": lambda database: database.decide("drop", ["b"], who="eve"),
    "add": lambda database: database.add_many([("a", "changed text of the fox"), ("n", TEXT)]),
    "reindex": lambda database: database.reindex(threshold=0.4),
}
VALUES: list[tuple[str, str, object]] = [
    ("settings", "indexed_to", 2**62),
    ("indexed", "doc_id", 2**62),
    ("decisions", "decision", 2**63 - 1),
    ("documents", "doc_id", 2**63 - 1),
    ("documents", "key", "\x1b[31m" * 1000),
    ("documents", "metadata", "[[["),
    ("fingerprints", "position", 2**63 - 1),
]


@pytest.mark.parametrize(("table", "column", "value"), VALUES, ids=lambda value: repr(value)[:20])
def test_no_value_is_a_traceback(made: Path, table: str, column: str, value: object) -> None:
    if table == "indexed":
        alter(made, "INSERT INTO indexed VALUES (1)")
    alter(
        made,
        f"UPDATE OR REPLACE {table} SET {column} = :value WHERE rowid = 1"
        if table not in ("decisions", "fingerprints")
        else f"UPDATE OR REPLACE {table} SET {column} = :value WHERE {column} = "
        f"(SELECT min({column}) FROM {table})",
        value=value,
    )
    stored = made.read_bytes()
    for method in METHODS.values():
        with suppress(LshdbError), lshdb.open(made) as database:
            method(database)
        made.write_bytes(stored)
    report = lshdb.check(made, deep=True)
    assert report.problems or column == "key"
    lshdb.check(made, repair=True)


def test_a_missing_value_is_named(made: Path) -> None:
    alter(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'who         TEXT    NOT NULL', "
        "'who         TEXT            ') WHERE name = 'decisions'",
    )
    alter(made, "UPDATE decisions SET who = NULL WHERE decision = 1")
    alter(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'who         TEXT            ', "
        "'who         TEXT    NOT NULL') WHERE name = 'decisions'",
    )
    assert problems(lshdb.check(made)) == {"file", "decisions"}


def test_numbers_that_nothing_can_follow_are_named(command: Command, made: Path) -> None:
    alter(made, "UPDATE settings SET indexed_to = :to", to=2**62)
    report = lshdb.check(made)
    assert "settings" in problems(report)
    alter(made, "UPDATE settings SET indexed_to = NULL")
    alter(made, "UPDATE decisions SET decision = :last WHERE decision = 1", last=2**63 - 1)
    assert "decisions" in problems(lshdb.check(made))
    reason = command.fails("decide", "drop", "b")
    assert reason.endswith("a decision has the number 9223372036854775807, so none can follow")


def test_few_documents_of_very_large_numbers_are_sampled(made: Path) -> None:
    """Numbers are drawn among all up to the largest: as many as memory has not."""
    for table, number in (("documents", "3"), ("signatures", "3"), ("bands", "3")):
        alter(made, f"UPDATE {table} SET doc_id = 1 << 39 WHERE doc_id = {number}")
    with lshdb.open(made, mode="read") as database:
        assert database.tune()


def test_a_key_that_no_file_can_have_is_shown_with_open_files(made: Path) -> None:
    pytest.importorskip("starlette", reason="the extra `web` is not installed")
    from lshdb.apps.web import page_file, views

    with lshdb.open(made) as database:
        database.add(key := "k" * 3000, "another text of words")
    with page_file.opened(made) as reader:
        page = views.Visit(reader, "lsh", {"key": key}, open_files=True).page("document")
    assert (page.status, page.view["file"]) == (200, None)
