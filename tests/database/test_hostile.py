"""Files and documents that mean harm: nothing in them is run, and none gets through."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import inspection
import pytest
from direct_command import command as command
from helpers import FORGED_TEXTS, Command
from measure.torture import damage, trial

import lshdb
from lshdb.errors import DamagedFile, QueryError, UnsafeFile
from lshdb.offers import is_there
from lshdb.options import Mode

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


# SQL

HOSTILE_SQL = [
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


@pytest.mark.parametrize("sql", HOSTILE_SQL, ids=lambda sql: sql[:40])
def test_sql_that_reaches_beyond_the_file_or_for_all_memory(filled: Path, sql: str) -> None:
    with lshdb.open(filled, mode="read") as db, pytest.raises(QueryError, match=r"^SQL: "):
        list(db.sql(sql))


def test_what_the_file_can_hold_sql_can_read(filled: Path) -> None:
    alter(filled, "UPDATE documents SET content = printf('%.*c', 20000000, 'x')")
    with lshdb.open(filled, mode="read") as db:
        assert [*db.sql("SELECT DISTINCT length(content) FROM documents")] == [(20_000_000,)]


# damage

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
            db.query(key="b", containment=True, exhaustive=True)

    with pytest.raises(DamagedFile):
        ask()


@pytest.mark.parametrize(("shingles", "content"), [((1 << 63) - 1, True), (900_000_001, False)])
def test_more_shingles_than_a_document_can_have_are_damage(
    command: Command, shingles: int, content: bool
) -> None:
    with lshdb.open(command.directory / "lsh.db", threshold=0.3, content=content) as db:
        db.add_many([*TEXTS, ("c", TEXTS[0][1] + " and the fox")])
    alter(command.directory / "lsh.db", f"UPDATE documents SET shingles = {shingles}")
    message = f"lsh.db is damaged: a document has {shingles:,} shingles instead of 0 to"
    for words in (
        "pairs",
        "clusters --star --keep longest",
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
    tally = damage.work(0, 60, str(tmp_path), files=7)
    assert tally.faults == 7
    assert tally.clean, "\n".join(tally.notes)


# hash flooding


COLLIDING = [51777, 49969, 53472, 52230, 43444, 38967]
"""Under the seed 1 each of these has, of 60,000 integers, the smallest hash in one of six lanes."""
FORGED_STRINGS = [
    *("='{%<u(p9)GKOY*R", "63C&<$jXXq0>eQoc", "oOHL)uYil>09AKCN", "s_5H%vXT!ySB`2E#"),
    *("tU]qPL::Crcz14!P", ";g1O%kT-?NNU82.y", "OqdZ&/#*08gud=qv", "d!e&2iN5u_9-]*Gx"),
    "k'IkD?~n<<;e<b'#",
]
"""Under the seed 1 these have the hashes of "tag 0" to "tag 8"."""


def largest_bucket(path: Path, seed: int | Literal["random"]) -> int:
    """Of documents with the colliding elements, and 20 of their own."""
    made: list[tuple[str, list[str | int]]] = [
        (f"d{i}", [*COLLIDING, *(f"{i}.{j}" for j in range(20))]) for i in range(100)
    ]
    with lshdb.open(path, seed=seed, shingle="set", threshold=0.8) as db:
        db.add_many(made, workers=0)
        ((documents,),) = db.sql("SELECT max(documents) FROM buckets")
    assert isinstance(documents, int | None)
    return documents or 0


def test_documents_made_to_collide_do_not_under_a_random_seed(tmp_path: Path) -> None:
    assert largest_bucket(tmp_path / "known.db", 1) > 90
    for name in ("one", "other"):
        # 90 share a bucket if the lowest hashes of the 6 common elements in its 5 lanes add up to
        # 0.0053: by chance in 12 bands once in a hundred million files.
        assert largest_bucket(tmp_path / f"{name}.db", "random") < 90


@pytest.fixture(params=["words", "strings"])
def forged_pair(request: pytest.FixtureRequest, path: Path) -> Iterator[lshdb.Database]:
    """Two documents with nothing in common whose hashes are equal under the seed of the file."""
    if request.param == "words":
        made: list[tuple[str, str | list[str]]] = [*zip("ab", FORGED_TEXTS, strict=True)]
    else:
        made = [("a", [f"tag {i}" for i in range(9)]), ("b", FORGED_STRINGS)]
    shingle, passages = ("word:3", 3) if request.param == "words" else ("set", None)
    with lshdb.open(path, shingle=shingle, passages=passages) as db:
        db.add_many(made)
        yield db


@pytest.mark.app("compare", "frames", "passages")
def test_documents_made_to_have_the_hashes_of_others_are_not_similar(
    forged_pair: lshdb.Database, tmp_path: Path
) -> None:
    db = forged_pair
    a, b = (db["a"].content, db["b"].content)
    assert a is not None
    assert b is not None
    compared = db.compare("a", "b")
    assert (compared.estimate, compared.candidates) == (1, True)
    assert (compared.similarity, compared.shared, compared.passages or ()) == (0, 0, ())
    assert not [*db.pairs(), *db.pairs(key="a"), *db.clusters(), *db.clusters(star=True)]
    several: list[dict[str, Any]] = [{}, {"containment": True}, {"exhaustive": True}]
    for options in several:
        assert [match.key for match in db.query(a, **options)] == ["a"]
        assert not db.query(key="a", **options)
    answers = db.query_many([("of a", a), ("of b", b)])
    assert [[match.key for match in matches] for _, matches in answers] == [["a"], ["b"]]
    measured = db.measure(sample=2)
    assert (measured.candidates, measured.recall.pairs) == (1, 0)
    field = "text" if isinstance(a, str) else "set"
    rows = [
        {"id": key, field: given if field == "text" else [*given]}
        for key, given in zip("ab", (a, b), strict=True)
    ]
    shingle = str(db.settings.shingling)
    assert lshdb.dedup(rows, shingle=shingle).mask.all()
    assert lshdb.dedup(rows[:1], against=rows[1:], shingle=shingle).mask.all()
    with lshdb.open(tmp_path / "kept.db", shingle=shingle) as kept:
        assert kept.add_many([("a", a), ("b", b)], on_similar="skip").added == 2
    if db.settings.passages:
        assert [one.key for one in db.passages(str(a)).sources] == ["a"]
        assert not db.passages(key="a").sources
        assert [*db.passage_pairs()] == []


def test_a_random_seed_is_another_in_each_file_and_stays(tmp_path: Path) -> None:
    seeds = set()
    for name in ("a.db", "a.db", "b.db"):
        with lshdb.open(tmp_path / name, seed="random") as db:
            seeds.add(db.settings.seed)
    assert len(seeds) == 2
    assert all((1 << 32) <= seed < (1 << 63) for seed in seeds)
    lshdb.open(tmp_path / "chosen.db").close()
    with pytest.raises(lshdb.SettingsMismatch, match="seed 1, not a random one"):
        lshdb.open(tmp_path / "chosen.db", seed="random")
