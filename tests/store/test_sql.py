"""A user's own SQL reads everything and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import database_of

import lshdb
from lshdb.errors import Busy, DamagedFile, QueryError
from lshdb.options import SqlValue


@pytest.fixture
def filled(path: Path) -> Path:
    """A database of three sets, closed."""
    database_of(
        path,
        [("a", ["x", "y", 1]), ("b", ["x", "y", 2]), ("empty", [])],
        threshold=0.5,
        shingle="set",
    ).close()
    return path


def run(path: Path, sql: str) -> tuple[list[str], list[tuple[SqlValue, ...]]]:
    with lshdb.open(path, mode="read") as db:
        rows = db.sql(sql)
        return rows.columns, list(rows)


@pytest.mark.parametrize(
    ("sql", "names", "rows"),
    [
        (
            "SELECT key, shingles AS n FROM documents ORDER BY key",
            ["key", "n"],
            [("a", 3), ("b", 3), ("empty", 0)],
        ),
        ("SELECT 1, 2.5, 'x', x'00ff', NULL", None, [(1, 2.5, "x", b"\0\xff", None)]),
        ("VALUES (1), (2)", ["column1"], [(1,), (2,)]),
        ("SELECT key FROM documents WHERE 0", ["key"], []),
        ("SELECT 1;", ["1"], [(1,)]),
        ("SELECT 1; -- and that is all", ["1"], [(1,)]),
        ("-- nothing", [], []),
        ("", [], []),
        (
            "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 3) "
            "SELECT sum(n) FROM c",
            ["sum(n)"],
            [(6,)],
        ),
        (
            "SELECT value, count(*) FROM documents, json_each(content) GROUP BY value "
            "HAVING count(*) > 1",
            ["value", "count(*)"],
            [("x", 2), ("y", 2)],
        ),
        ("SELECT count(*) > 0 FROM buckets", None, [(1,)]),
        ("SELECT count(*) > 0 FROM bucket_members WHERE key = 'a'", None, [(1,)]),
        ("SELECT doc_id_a, doc_id_b FROM candidate_pairs", None, [(1, 2)]),
        ("PRAGMA user_version", ["user_version"], [(7,)]),
        ("PRAGMA main.page_size", ["page_size"], [(16384,)]),
        ("PRAGMA journal_mode", ["journal_mode"], [("wal",)]),
        ("PRAGMA index_info(empty_documents)", ["seqno", "cid", "name"], [(0, 0, "doc_id")]),
        ("PRAGMA index_info = empty_documents", None, [(0, 0, "doc_id")]),
        ("SELECT CAST(x'61ff62' AS TEXT)", None, [("a\ufffdb",)]),
        ("SELECT name FROM pragma_table_info('bands') LIMIT 1", ["name"], [("band_no",)]),
        ("SELECT count(*) FROM sqlite_schema WHERE type = 'view'", None, [(3,)]),
        (
            "EXPLAIN QUERY PLAN SELECT * FROM bands WHERE band_no = 1",
            None,
            [(2, 0, 0, "SEARCH bands USING PRIMARY KEY (band_no=?)")],
        ),
    ],
    ids=str,
)
def test_reading(
    filled: Path, sql: str, names: list[str] | None, rows: list[tuple[SqlValue, ...]]
) -> None:
    found_names, found = run(filled, sql)
    assert names is None or found_names == names
    assert found == rows


REFUSED = [
    "INSERT INTO bands VALUES (1, 1, 1)",
    "REPLACE INTO documents VALUES (1, 'a', 0, x'', NULL, NULL)",
    "UPDATE documents SET key = 'z'",
    "UPDATE settings SET seed = 2",
    "UPDATE sqlite_schema SET sql = ''",
    "UPDATE sqlite_master SET name = 'x' WHERE type = 'view'",
    "DELETE FROM bands",
    "DELETE FROM sqlite_master",
    "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 9, 'CREATE TABLE x (y)')",
    "WITH gone AS (SELECT 1) DELETE FROM documents",
    "DELETE FROM documents RETURNING key",
    "DROP TABLE bands",
    "DROP VIEW buckets",
    "DROP INDEX empty_documents",
    "ALTER TABLE documents ADD COLUMN more",
    "ALTER TABLE documents RENAME TO papers",
    "CREATE TABLE x (y)",
    "CREATE TEMP TABLE x (y)",
    "CREATE VIRTUAL TABLE x USING fts5 (y)",
    "CREATE INDEX x ON documents (digest)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE TRIGGER x DELETE ON bands BEGIN SELECT 1; END",
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "ANALYZE",
    "REINDEX",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT x",
    "PRAGMA user_version = 9",
    "PRAGMA user_version(9)",
    "PRAGMA application_id = 9",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA page_size = 4096",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA wal_checkpoint",
    "PRAGMA incremental_vacuum",
    "PRAGMA optimize",
    "PRAGMA schema_version = 1",
    "SELECT * FROM pragma_wal_checkpoint",
    "SELECT load_extension('x')",
    "EXPLAIN DELETE FROM bands",
    "SELECT 1; DELETE FROM bands",
    "SELECT 1; SELECT 2",
    "SELECT ?",
    "SELECT :name",
    "SELECT",
    "SELECT no_such_column FROM documents",
    "SELECT * FROM no_such_table",
    "SELECT no_such_function()",
    "'; DROP TABLE documents; --",
    "SELECT 'a\0b'",
    "SELECT '\ud800'",
    "SELECT abs(-9223372036854775807 - 1)",
    "SELECT fts3_tokenizer('simple')",
    "SELECT FTS3_Tokenizer('simple', x'0000000000000000')",
    "SELECT zeroblob(1000000000)",
    "SELECT hex(randomblob(200000000))",
    "SELECT group_concat(hex(zeroblob(4000000))) FROM json_each('[1,2,3,4]')",
    f"SELECT 'a' LIKE '{'%a' * 2000}'",
    f"SELECT {'(' * 3000}1{')' * 3000}",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('x', 'y')",
    "PRAGMA hard_heap_limit = 1",
    "PRAGMA temp_store_directory = '/'",
    "PRAGMA integrity_check",
]


@pytest.mark.parametrize("sql", REFUSED, ids=lambda sql: ascii(sql)[:40])
def test_what_does_not_only_read_is_refused(
    filled: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled.parent)  # where ATTACH and VACUUM INTO would make files
    before = inspection.files(filled.parent)
    with pytest.raises(QueryError, match=r"^SQL: ") as raised:
        run(filled, sql)
    assert len(str(raised.value).splitlines()) == 1
    assert inspection.files(filled.parent) == before


def test_rows_are_of_one_state_and_do_not_hold_up_a_writer(filled: Path) -> None:
    with lshdb.open(filled, timeout=0) as db:
        rows = db.sql("SELECT key FROM documents ORDER BY doc_id")
        assert next(rows) == ("a",)
        db.remove("b")
        assert list(rows) == [("b",), ("empty",)]
        assert db.keys() == ["a", "empty"]


@pytest.mark.app("tables")
def test_rows_are_named_tuples_dicts_and_tables(filled: Path) -> None:
    statement = "SELECT key, doc_id * ? AS n, key, x'00' AS b, NULL AS z, 1 FROM documents LIMIT 2"
    with lshdb.open(filled, mode="read") as db:
        rows = db.sql(statement, [2])
        assert rows.columns == ["key", "n", "key:1", "b", "z", "1"]
        first = next(rows)
        assert (first.key, first.n, first.b, first.z, first._2) == ("a", 2, b"\0", None, "a")
        assert first == ("a", 2, "a", b"\0", None, 1)
        second = {"key": "b", "n": 4, "key:1": "b", "b": b"\0", "z": None, "1": 1}
        assert [list(rows.dicts()), list(rows)] == [[second], []]
        rows = db.sql(statement, [2])
        next(rows)
        assert rows.df().to_dict("records") == [second], "what is left"
        empty = db.sql("SELECT key, 1 AS n FROM documents WHERE 0").to_arrow()
        assert (empty.num_rows, empty.column_names) == (0, ["key", "n"])
        mixed = db.sql("SELECT 1 AS v UNION ALL SELECT 'x' UNION ALL SELECT x'ff'").to_arrow()
        assert sorted(mixed["v"].to_pylist()) == ["1", "ff", "x"]


@pytest.mark.parametrize(
    ("statement", "parameters"),
    [("SELECT ?", []), ("SELECT 1", [1]), ("SELECT ?", [{1}]), ("SELECT :a", {"b": 1})],
    ids=str,
)
def test_parameters_that_do_not_fit_are_refused(
    filled: Path, statement: str, parameters: Any
) -> None:
    with lshdb.open(filled, mode="read") as db:
        assert list(db.sql("SELECT ?, ?", [None, b"x"])) == [(None, b"x")]
        with pytest.raises(QueryError, match=r"^SQL: "):
            db.sql(statement, parameters)


def test_a_file_that_is_damaged_or_locked_is_no_fault_of_the_sql(filled: Path) -> None:
    with inspection.sqlite(filled) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Busy), lshdb.open(filled, mode="read", timeout=0) as db:
            db.sql("SELECT * FROM documents")
    with lshdb.open(filled, mode="read") as db:
        filled.write_bytes(filled.read_bytes()[:16384])
        with pytest.raises(DamagedFile):
            list(db.sql("SELECT * FROM documents"))


def test_what_the_file_can_hold_sql_can_read(filled: Path) -> None:
    with inspection.sqlite(filled) as other:
        other.execute("UPDATE documents SET content = printf('%.*c', 20000000, 'x')")
    assert run(filled, "SELECT DISTINCT length(content) FROM documents")[1] == [(20_000_000,)]
