"""The header, size, definitions and values of a file: what means harm is refused by all alike."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import inspection
import pytest
from extras import if_there
from helpers import ROOT, Command, database_of
from measure.torture import damage, trial

import lshdb
from lshdb.database import store_of
from lshdb.errors import DamagedFile, LshdbError, NotADatabase, QueryError, UnsafeFile
from lshdb.maintain.findings import CheckReport
from lshdb.offers import is_there
from lshdb.options import Mode

PAGE = 16384


@pytest.fixture
def with_free_pages(tmp_path: Path) -> Command:
    """With free pages at the end of the file."""
    texts = {f"d{number}": f"{number} {'the fox and the grapes ' * 900}" for number in range(20)}
    with database_of(tmp_path / "lsh.db", texts) as db:
        db.remove([f"d{number}" for number in range(2, 20)])
        assert store_of(db).free_bytes() > 10 * PAGE
    return Command(tmp_path)


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in a page": (lambda data: data[:-100], "it is cut short, to "),
    "cut": (lambda data: data[:-PAGE], ""),
    "a few bytes": (lambda data: data + b"\r\n", "2 bytes follow its last page"),
    "a page": (lambda data: data + bytes(PAGE), "16,384 bytes follow its last page"),
    "itself": (lambda data: data + data, "bytes follow its last page"),
}


@pytest.mark.app("repair")
@pytest.mark.parametrize("change", CHANGES)
def test_all_that_open_it_say_the_same(with_free_pages: Command, change: str) -> None:
    path, (change_it, reason) = with_free_pages.path("lsh.db"), CHANGES[change]
    path.write_bytes(change_it(path.read_bytes()))
    opens: list[Callable[[], object]] = [
        lambda: lshdb.open(path),
        lambda: lshdb.open(path, mode="read"),
        lambda: lshdb.restore_backup(path, with_free_pages.path("copy.db")),
    ]
    for opening in opens:
        with pytest.raises(DamagedFile) as caught:
            opening()
        said = str(caught.value)
        assert said.startswith(f"{path} is damaged: ")
        assert reason in said
        assert said.endswith("; restore it from a backup (lshdb backup --restore)")
    for options in ({"deep": True}, {"repair": True}):
        report = lshdb.check(path, **options)
        (problem,) = report.problems
        assert report.remaining == {"file": 1}
        assert (problem.table, reason in problem.stored) == ("file", True)
    if change == "a few bytes":
        assert reason in with_free_pages.fails("backup", "copy.db")
        assert "lsh.db has problems: file 1: " in with_free_pages("check", "--deep").err
    assert not with_free_pages.path("copy.db").exists()


def test_a_log_that_has_the_missing_pages_is_no_damage(with_free_pages: Command) -> None:
    """A process that was killed may leave the file shorter than its pages, and its log."""
    path, copy = with_free_pages.path("lsh.db"), with_free_pages.path("copy.db")
    with lshdb.open(path) as db:
        db.add_many((f"n{n}", f"the ant {n} {'and the dove ' * 2000}") for n in range(40))
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    assert copy.stat().st_size < path.stat().st_size
    with_free_pages.done("check", "--deep", "-d", "copy.db")
    with_free_pages.done("info", "-d", "copy.db")
    assert len(inspection.rows(copy, "SELECT 1 FROM documents")) == 42


def test_writers_meanwhile_are_no_damage(with_free_pages: Command) -> None:
    path = with_free_pages.path("lsh.db")
    with lshdb.open(path) as db:
        for number in range(10):
            db.add(f"n{number}", f"the ant {number} {'and the dove ' * 2000}")
            store_of(db).shrink_log()
            with lshdb.open(path, mode="read") as reader:
                assert len(reader) == number + 3
            assert lshdb.check(path).ok


def test_a_dump_makes_a_database_again_with_the_two_numbers(with_free_pages: Command) -> None:
    """As docs/sql.md says."""
    path, new = with_free_pages.path("lsh.db"), with_free_pages.path("new.db")
    with inspection.sqlite(path) as old, closing(sqlite3.connect(new)) as file:
        file.executescript("".join(old.iterdump()))
    with pytest.raises(NotADatabase, match="another program's SQLite database"):
        lshdb.open(new)
    manual = (ROOT / "docs" / "sql.md").read_text()
    marks = "".join(re.findall(r"^PRAGMA (?:application_id|user_version) = \d+;$", manual, re.M))
    with closing(sqlite3.connect(new)) as file:
        file.executescript(marks)
    assert lshdb.check(new, deep=True).ok
    assert inspection.contents(new) == inspection.contents(path)


# definitions that run code


TEXTS = [("a", "the fox and the grapes of the vine"), ("b", "the fox and the grapes of a vine")]


@pytest.fixture
def filled(path: Path) -> Path:
    with lshdb.open(path, threshold=0.3) as db:
        db.add_many(TEXTS)
    return path


def alter(path: Path, *statements: str) -> None:
    """Change a file as an opponent would, past all that lshdb allows."""
    with inspection.sqlite(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)


def forged(name: str, old: str, new: str) -> str:
    return f"UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}') WHERE name = '{name}'"


BOMB = "hex(zeroblob(99))"
UNSAFE = {
    "trigger": ["CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END"],
    "trigger on bands": ["CREATE TRIGGER t BEFORE DELETE ON bands BEGIN SELECT 1; END"],
    "trigger that fails": ["CREATE TRIGGER t UPDATE ON documents BEGIN DELETE FROM nowhere; END"],
    "trigger after REPLACE": ["CREATE TRIGGER t INSERT ON settings BEGIN SELECT f(); END"],
    "trigger on one column": ["CREATE TRIGGER t UPDATE OF key ON documents BEGIN SELECT 1; END"],
    "trigger of a strange name": [
        "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
        "UPDATE sqlite_schema SET name = CAST(x'ff' AS TEXT), "
        "sql = replace(sql, 'TRIGGER t', 'TRIGGER ' || CAST(x'22ff22' AS TEXT)) WHERE name = 't'",
    ],
    "index of an expression": [f"CREATE INDEX i ON documents (upper(key) || {BOMB})"],
    "index with a condition": [f"CREATE INDEX i ON documents (key) WHERE key > {BOMB}"],
    "cascade": ["CREATE TABLE x (d REFERENCES documents (doc_id) ON DELETE CASCADE)"],
    "set null": ["CREATE TABLE x (d, FOREIGN KEY (d) REFERENCES Signatures ON DELETE SET NULL)"],
}
FORGED = {
    "table as a view": ["DROP TABLE bands", "CREATE VIEW bands AS SELECT 1 AS band_no"],
    "view with functions": ["DROP VIEW buckets", f"CREATE VIEW buckets AS SELECT {BOMB}"],
    "virtual table": ["DROP TABLE bands", "CREATE VIRTUAL TABLE bands USING fts5 (band_no)"],
    "generated column": [f"ALTER TABLE documents ADD COLUMN more TEXT AS ({BOMB})"],
    "default": [forged("documents", "BLOB    NOT NULL", f"BLOB NOT NULL DEFAULT ({BOMB})")],
    "check": [forged("documents", "CHECK (shingles >= 0)", f"CHECK (shingles > {BOMB})")],
    "constraint gone": ["DROP INDEX documents_key"],
    "trigger under another name": [
        "CREATE TABLE x (y)",
        "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
        "UPDATE sqlite_schema SET tbl_name = 'x' WHERE name = 't'",
    ],
    "another table's definition": [
        "CREATE TABLE x (y)",
        "UPDATE sqlite_schema SET sql = 'CREATE TRIGGER x AFTER INSERT ON documents "
        "BEGIN SELECT 1; END' WHERE name = 'x'",
    ],
    "huge settings": ["UPDATE settings SET shingle = printf('%.*c', 3000000, 'x')"],
    "long settings": ["UPDATE settings SET construction = printf('and 1,%.*c', 900000, ' ')"],
    "huge definition": [
        "DROP VIEW buckets", f"CREATE VIEW buckets AS SELECT 1 /*{'x' * 1_500_000}*/"
    ],
    "blanks": [forged("documents", "key      TEXT", "key TEXT")],
    "quoted by ALTER TABLE": [
        "PRAGMA legacy_alter_table = ON",
        "ALTER TABLE bands RENAME TO b",
        "ALTER TABLE b RENAME TO bands",
    ],
    "the same twice": [
        "CREATE TABLE x (y)",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE bands (y)' WHERE name = 'x'",
    ],
}  # fmt: skip
HARMLESS = {
    "index": ["CREATE INDEX i ON documents (digest, key DESC)"],
    "view": [f"CREATE VIEW v AS SELECT {BOMB} FROM documents"],
    "view without end": ["CREATE VIEW v AS SELECT * FROM w", "CREATE VIEW w AS SELECT * FROM v"],
    "table": ["CREATE TABLE labels (label, doc_id REFERENCES documents)"],
    "search": [
        "CREATE VIRTUAL TABLE f USING fts5 (content, content = 'documents', content_rowid = doc_id)"
    ],
    "trigger on one's own": [
        "CREATE TABLE x (y)",
        "CREATE TRIGGER t AFTER INSERT ON x BEGIN DELETE FROM documents; END",
    ],
    "trigger on a view": ["CREATE TRIGGER t INSTEAD OF INSERT ON buckets BEGIN SELECT 1; END"],
    "a long view": [f"CREATE VIEW x AS SELECT 1 /*{'x' * 1_500_000}*/"],
}
MODES: list[Mode] = ["create", "write", "read"]


@pytest.mark.parametrize("name", UNSAFE)
def test_code_in_the_file_is_refused_before_it_can_run(filled: Path, name: str) -> None:
    # Datasette, which another test may have imported, has Python report each name that is no text.
    sqlite3.enable_callback_tracebacks(False)
    alter(filled, *UNSAFE[name])
    before = filled.read_bytes()
    for mode in MODES:
        with pytest.raises(UnsafeFile, match="drop it, or do not trust the file"):
            lshdb.open(filled, mode=mode)
    assert filled.read_bytes() == before


@pytest.mark.parametrize("name", FORGED)
def test_tables_that_are_not_lshdbs_own_are_refused(filled: Path, name: str) -> None:
    alter(filled, *FORGED[name])
    before = filled.read_bytes()
    for mode in MODES:
        with pytest.raises((DamagedFile, UnsafeFile)) as raised:
            lshdb.open(filled, mode=mode)
        assert len(str(raised.value)) < 500
    assert filled.read_bytes() == before


@pytest.mark.parametrize("name", HARMLESS)
def test_what_the_owner_adds_to_the_file_is_left_alone(filled: Path, name: str) -> None:
    alter(filled, *HARMLESS[name])
    with lshdb.open(filled) as db:
        assert [match.key for match in db.query(key="a")] == ["b"]
        db.remove("a")
        db.add("c", "another text of some words")
    assert inspection.rows(filled, "PRAGMA integrity_check") == [("ok",)]
    assert inspection.rows(filled, "SELECT key FROM documents") == [("b",), ("c",)]


def test_no_trigger_runs_that_comes_when_the_file_is_open(filled: Path) -> None:
    with lshdb.open(filled) as db:
        alter(filled, *UNSAFE["trigger"])
        with pytest.raises(QueryError):
            db.add("c", "a third text of words")
    assert inspection.rows(filled, "SELECT key FROM documents") == [("a",), ("b",)]


@pytest.mark.app("compare", "dedup", "passages", "review")
def test_every_command_refuses_a_file_with_a_trigger(filled: Path) -> None:
    alter(filled, *UNSAFE["trigger"])
    before = filled.read_bytes()
    for question in (*damage.QUESTIONS, *damage.CHANGES):
        ended = trial.run(damage.ask(filled, question, "a text"), b'{"id": "c", "text": "x"}')
        assert (ended.status, ended.defect) == (1, "")
        assert "is a trigger on documents" in ended.out + ended.err
    assert filled.read_bytes() == before


VINE = "the fox and the grapes of the vine that grow along the old wall near the river"


@pytest.fixture
def made(path: Path) -> Path:
    documents = {"a": VINE, "b": f"{VINE} and so on", "c": "a text of other words entirely"}
    with database_of(path, documents, threshold=0.3, passages=5) as database:
        database.decide("keep", ["a"], who="ann")
        database.decide("different", ["a", "b"], who="ann")
    return path


def execute(path: Path, *statements: str, **values: Any) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            plain.execute(statement, values)


def problems(report: CheckReport) -> set[str]:
    return {problem.table for problem in report.problems}


@pytest.mark.app("review", "passages")
def test_a_check_runs_no_index_of_other_tables(made: Path) -> None:
    """As its expression fails where it runs, nothing needs to take long."""
    execute(
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


@pytest.mark.app("review", "passages")
def test_no_generated_column_is_evaluated(command: Command, made: Path) -> None:
    execute(
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
    execute(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', 'REFERENCES documents (key)') "
        "WHERE name = 'other'",
    )
    assert "'other' has a foreign key of a generated column" in command.fails("remove", "c")
    assert problems(lshdb.check(made)) == {"sqlite_schema", "refers.foreign key"}


@pytest.mark.app("review", "passages")
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
    execute(made, *statements)
    with closing(sqlite3.connect(made)) as plain, pytest.raises(sqlite3.Error, match="overflow"):
        plain.execute("SELECT content FROM documents").fetchall()
    report = lshdb.check(made, deep=True)
    assert problems(report) == {"sqlite_schema", "unchecked"}
    assert report.documents == 0
    assert str(report.problems).count("documents, signatures and bands") == 1


# values

VALUES = [
    "UPDATE documents SET key = x'ff' WHERE doc_id = 1",
    "UPDATE documents SET content = NULL WHERE doc_id = 1",
    "UPDATE documents SET content = CAST(x'61ff' AS TEXT) WHERE doc_id = 1",
    "UPDATE documents SET shingles = 2.5 WHERE doc_id = 2",
    "UPDATE documents SET digest = 'text' WHERE doc_id = 2",
    "UPDATE signatures SET signature = x'00' WHERE doc_id = 1",
    "UPDATE signatures SET signature = x'' WHERE doc_id = 1",
    "UPDATE signatures SET signature = zeroblob(516) WHERE doc_id = 2",
    "UPDATE signatures SET signature = 5 WHERE doc_id = 2",
    "UPDATE bands SET doc_id = 2.5 WHERE doc_id = 2",
    "UPDATE bands SET doc_id = 99 WHERE doc_id = 2",
    "DELETE FROM documents WHERE doc_id = 2",
    "UPDATE settings SET threshold = 'x'",
    "UPDATE settings SET permutations = 128.5",
    "UPDATE settings SET seed = 1.5",
    "UPDATE settings SET shingle = x'00'",
]


@pytest.mark.parametrize("statement", VALUES)
def test_values_that_no_table_allows_are_reported_as_damage(filled: Path, statement: str) -> None:
    with inspection.sqlite(filled) as connection:
        before = connection.execute("SELECT rowid, sql FROM sqlite_schema").fetchall()
    alter(
        filled,
        "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'STRICT, ', ''), "
        "') STRICT', ')'), 'NOT NULL', '') WHERE type = 'table'",
    )
    with inspection.sqlite(filled) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)
        connection.execute("PRAGMA writable_schema = ON")
        for rowid, text in before:
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE rowid = ?", (text, rowid))

    def ask() -> None:
        with lshdb.open(filled, mode="read") as db:
            for key in db.keys():  # noqa: SIM118
                db.get(key)
            db.query(key="a")
            list(db.pairs())
            db.query(key="b", exhaustive=True, **if_there("passages", containment=True))

    with pytest.raises(DamagedFile):
        ask()


@pytest.mark.parametrize(
    ("shingles", "content"), [((1 << 63) - 1, True), (900_000_001, False), (-1, True)]
)
def test_numbers_of_shingles_that_no_document_can_have_are_damage(
    command: Command, shingles: int, content: bool
) -> None:
    with lshdb.open(command.directory / "lsh.db", threshold=0.3, content=content) as db:
        db.add_many([*TEXTS, ("c", TEXTS[0][1] + " and the fox")])
    execute(command.directory / "lsh.db", f"UPDATE documents SET shingles = {shingles}")
    message = f"lsh.db is damaged: a document has {shingles:,} shingles instead of 0 to"
    for words in (
        "pairs",
        "clusters",
        *["clusters --star --keep longest"] * is_there("keeping"),
        "query --key a",
        *["compare a b"] * is_there("compare"),
        "show a",
    ):
        assert command.fails(*words.split()).startswith(message)
    assert command("check").out.startswith("documents.shingles\ta\t")


def test_fewer_shingles_than_a_document_has_are_damage(filled: Path) -> None:
    alter(filled, "UPDATE documents SET shingles = 1")
    with lshdb.open(filled, mode="read") as db, pytest.raises(DamagedFile, match="more shingles"):
        list(db.pairs())


@pytest.mark.app("compare", "dedup", "passages", "review")
def test_a_damaged_file_is_read_rightly_or_refused(tmp_path: Path) -> None:
    """The short form of scripts/torture's damaged files."""
    tally = damage.work(0, 60, str(tmp_path), files=4)
    assert tally.faults == 4
    assert tally.clean, "\n".join(tally.notes)


METHODS: dict[str, Callable[[lshdb.Database], object]] = {
    "info": lambda database: database.info(),
    "query": lambda database: [*database.query(VINE), *database.query(key="a", exhaustive=True)],
    "pairs": lambda database: [*database.pairs(), *database.clusters()],
    "passages": lambda database: [database.passages(VINE), *database.passage_pairs()],
    "get": lambda database: [database.get(key) for key in database],
    "decisions": lambda database: database.decisions(),
    "tune": lambda database: database.tune(),
    "decide": lambda database: database.decide("drop", ["b"], who="eve"),
    "add": lambda database: database.add_many([("a", "changed text of the fox"), ("n", VINE)]),
    "reindex": lambda database: database.reindex(threshold=0.4),
}
ODD_VALUES: list[tuple[str, str, object]] = [
    ("settings", "indexed_to", 2**62),
    ("indexed", "doc_id", 2**62),
    ("decisions", "decision", 2**63 - 1),
    ("documents", "doc_id", 2**63 - 1),
    ("documents", "key", "\x1b[31m" * 1000),
    ("documents", "metadata", "[[["),
    ("fingerprints", "position", 2**63 - 1),
]


@pytest.mark.app("review", "passages", "repair")
@pytest.mark.parametrize(
    ("table", "column", "value"), ODD_VALUES, ids=lambda value: repr(value)[:20]
)
def test_no_value_is_a_traceback(made: Path, table: str, column: str, value: object) -> None:
    if table == "indexed":
        execute(made, "INSERT INTO indexed VALUES (1)")
    execute(
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


@pytest.mark.app("review", "passages")
def test_a_missing_value_is_named(made: Path) -> None:
    execute(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'who         TEXT    NOT NULL', "
        "'who         TEXT            ') WHERE name = 'decisions'",
    )
    execute(made, "UPDATE decisions SET who = NULL WHERE decision = 1")
    execute(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'who         TEXT            ', "
        "'who         TEXT    NOT NULL') WHERE name = 'decisions'",
    )
    assert problems(lshdb.check(made)) == {"file", "decisions"}


@pytest.mark.app("review", "passages")
def test_numbers_that_nothing_can_follow_are_named(command: Command, made: Path) -> None:
    execute(made, "UPDATE settings SET indexed_to = :to", to=2**62)
    report = lshdb.check(made)
    assert "settings" in problems(report)
    execute(made, "UPDATE settings SET indexed_to = NULL")
    execute(made, "UPDATE decisions SET decision = :last WHERE decision = 1", last=2**63 - 1)
    assert "decisions" in problems(lshdb.check(made))
    reason = command.fails("decide", "drop", "b")
    assert reason.endswith("a decision has the number 9223372036854775807, so none can follow")


@pytest.mark.app("review", "passages")
def test_few_documents_of_very_large_numbers_are_sampled(made: Path) -> None:
    """Numbers are drawn among all up to the largest: as many as memory has not."""
    for table, number in (("documents", "3"), ("signatures", "3"), ("bands", "3")):
        execute(made, f"UPDATE {table} SET doc_id = 1 << 39 WHERE doc_id = {number}")
    with lshdb.open(made, mode="read") as database:
        assert database.tune()
