"""Files of each released format, made by the code of their time: the same answers ever after."""

from __future__ import annotations

import contextlib
import itertools
import json
import lzma
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import inspection
import make_golden
import numpy as np
import pytest
from make_golden import DIRECTORY, FILES, READ, SINCE_7

import lshdb
from lshdb.database import store_of
from lshdb.errors import OtherFormat
from lshdb.offers import TABLES
from lshdb.options import Mode
from lshdb.sketch.banding import bucket_keys
from lshdb.sketch.constructions import Construction
from lshdb.store import migrating, schema, statements
from lshdb.store.connection import connect
from lshdb.store.index import codes_of_keys
from lshdb.store.schema import FORMAT, MIGRATED, definitions

ALL = sorted(path.name.removesuffix(".db.xz") for path in DIRECTORY.glob("*.db.xz"))
GOLDEN = [name for name in ALL if not name.endswith(READ)]


@pytest.fixture
def unpacked(path: Path) -> Callable[[str], Path]:
    def unpack(name: str) -> Path:
        path.write_bytes(lzma.decompress((DIRECTORY / f"{name}.db.xz").read_bytes()))
        return path

    return unpack


def test_every_format_has_its_files() -> None:
    """From 6 on: older ones were not released."""
    formats = range(6, FORMAT + 1)
    kinds = [*FILES, READ]
    expected = {f"format-{number}-{kind}" for number in formats for kind in kinds}
    assert set(ALL) == expected | {f"format-7-{kind}" for kind in SINCE_7}
    schemas = sorted(path.name for path in DIRECTORY.glob("*.sql"))
    assert schemas == [f"format-{number}.sql" for number in formats]


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_gives_the_answers_that_it_gave_when_it_was_made(
    unpacked: Callable[[str], Path], name: str
) -> None:
    """Opened for reading, it stays as it was."""
    format_of, _, kind = name.rpartition("-")
    answers = json.loads((DIRECTORY / f"{format_of}.json").read_text("utf-8"))[kind]
    documents = make_golden.documents_of(kind)
    is_old = format_of == "format-6"
    path = unpacked(name)
    before = inspection.files(path.parent)
    with lshdb.open(path, mode="read") as db:
        assert make_golden.answers(db, kind) == answers
        assert lshdb.check(db.path, deep=True).problems == ()
    assert inspection.files(path.parent) == before
    with lshdb.open(path) as db:
        # Signed and digested again, the documents are what is stored, but that integers beyond 64
        # bits in metadata are texts since format 7.
        exact = [
            each
            for each in documents
            if not is_old or "123456789012345678" not in str(each.metadata)
        ]
        assert db.add_many(exact).unchanged == len(exact)
        assert (len(exact) < len(documents)) == is_old
        assert make_golden.answers(db, kind) == answers
        assert lshdb.check(db.path, deep=True).problems == ()
        db.remove([document.key for document in documents])
        assert db.add_many(documents).added == len(documents)
        added = make_golden.answers(db, kind)
        for name in ("metadata", "stored metadata") if is_old else ():
            assert added.pop(name) != answers.pop(name)
        assert added == answers
    inspection.check(path)


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("name", [name for name in ALL if name not in GOLDEN])
def test_what_was_read_from_files_and_rows_stays(
    unpacked: Callable[[str], Path], name: str
) -> None:
    """The states of files, an encoding that was guessed, and a key that two rows had."""
    answers = json.loads((DIRECTORY / f"{name.rpartition('-')[0]}.json").read_text("utf-8"))
    with lshdb.open(unpacked(name), mode="read") as db:
        assert make_golden.read_answers(db) == answers[READ]
        assert lshdb.check(db.path, deep=True).problems == ()
    inspection.check(db.path)


@pytest.mark.parametrize(
    ("number", "advice"), [(FORMAT + 1, "upgrade lshdb"), (5, "add the files to a new one")]
)
def test_a_file_of_another_format_is_refused(
    unpacked: Callable[[str], Path], number: int, advice: str
) -> None:
    """The tables differ, too, but the format is what is said."""
    path = unpacked(GOLDEN[0])
    with inspection.sqlite(path) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("ALTER TABLE settings DROP COLUMN lane_bits")
    with pytest.raises(OtherFormat, match=f"format {number}, .* {advice}"):
        lshdb.open(path)


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("format-6")])
def test_a_file_of_format_6_is_migrated_when_it_is_opened_for_writing(
    unpacked: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    """Then its definitions are those of a new file, and its rows are as they were."""
    path, new = unpacked(name), tmp_path / "new.db"
    core = ("documents", "signatures", "bands", "base_texts", "indexed")
    before = {table: inspection.rows(path, f"SELECT * FROM {table}") for table in core}
    of_files = "SELECT doc_id, size, mtime_ns, extracted FROM files"
    of_decisions = "SELECT decision, verdict, key, digest, note, who, decided FROM decisions"
    files, decisions = inspection.rows(path, of_files), inspection.rows(path, of_decisions)
    with lshdb.open(path) as db:
        settings = db.settings
    assert inspection.rows(path, "PRAGMA user_version") == [(FORMAT,)]
    assert {table: inspection.rows(path, f"SELECT * FROM {table}") for table in core} == before
    assert inspection.rows(path, of_files) == files
    tables = {name for (name,) in inspection.rows(path, "SELECT name FROM sqlite_schema")}
    assert ("decisions" in tables) == bool(decisions)
    if decisions:
        assert inspection.rows(path, of_decisions) == decisions
    assert ("fingerprints" in tables) == bool(settings.passages)
    shutil.copy(path, new)
    with inspection.sqlite(new) as connection:
        stored = connection.execute(f"{statements.SCHEMA}").fetchall()
    parts = tuple(part for part in TABLES if part in tables)
    expected = [(kind, name, text) for kind, name, text, _ in definitions(parts)]
    assert sorted(stored) == sorted(expected)
    assert inspection.rows(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.app("passages", "review")
def test_a_migration_that_fails_changes_nothing(unpacked: Callable[[str], Path]) -> None:
    """Each of its statements that writes is refused in turn."""
    path = unpacked(f"format-{MIGRATED}-words")
    before = inspection.contents(path)
    reading = {sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION}
    reading |= {sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION}

    def refused_at(number: int) -> bool:
        """Whether a migration is refused whose write of this number is."""
        left = [number]

        def authorize(action: int, *_: object) -> int:
            left[0] -= action not in reading
            return sqlite3.SQLITE_DENY if left[0] < 0 and action not in reading else 0

        connection = connect(path, "write", 5)
        with contextlib.closing(connection), mock.patch.object(schema, "faults", return_value=[]):
            connection.set_authorizer(authorize)
            try:
                migrating.migrate(connection, None)
            except (lshdb.LshdbError, sqlite3.Error):
                return True
            finally:
                connection.set_authorizer(None)
        return False

    writes = next(number for number in itertools.count() if not refused_at(number))
    assert writes > 20
    assert inspection.rows(path, "PRAGMA user_version") == [(FORMAT,)]
    assert inspection.contents(path)["documents"] == before["documents"]


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("CREATE TABLE own (name)", None),
        ("CREATE TRIGGER evil AFTER DELETE ON files BEGIN DELETE FROM documents; END", "evil"),
        ("CREATE TRIGGER evil AFTER UPDATE OF seed ON settings BEGIN SELECT 1; END", "evil"),
    ],
)
@pytest.mark.parametrize("mode", ["read", "write"])
def test_what_others_put_into_a_file_of_format_6(
    unpacked: Callable[[str], Path], statement: str, problem: str | None, mode: Mode
) -> None:
    """Their tables stay; code that lshdb would run is refused, and named by check."""
    path = unpacked(f"format-{MIGRATED}-words")
    with inspection.sqlite(path) as connection:
        connection.execute(statement)
    report = lshdb.check(path)
    assert report.ok == (problem is None)
    if problem is None:
        lshdb.open(path, mode=mode).close()
        assert inspection.rows(path, "SELECT * FROM own") == []
        return
    assert problem in repr(report.problems)
    with pytest.raises(lshdb.UnsafeFile, match=problem):
        lshdb.open(path, mode=mode)


@pytest.mark.app("passages", "review")
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_the_root_of_a_file_of_format_6_is_where_its_keys_lead_to_files(
    unpacked: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The file's directory, or the current one; absolute keys beneath it become relative."""
    path = unpacked(f"format-{MIGRATED}-files")
    root = tmp_path / "work"
    (root / "notes").mkdir(parents=True)
    if known:
        (root / "notes" / "fox.txt").write_text("The fox and the grapes", "utf-8")
    absolute = f"{os.path.realpath(root)}/other.txt".replace(os.sep, "/")
    with inspection.sqlite(path) as connection:
        connection.execute(
            "UPDATE documents SET key = ? WHERE key = 'notes/pancakes.txt'", (absolute,)
        )
        connection.execute(
            "INSERT INTO decisions VALUES (1, 'drop', ?, x'00', NULL, 'ann', '2026')", (absolute,)
        )
    monkeypatch.chdir(root)
    with lshdb.open(path) as db:
        assert store_of(db).root == (os.path.realpath(root) if known else None)
        assert ("other.txt" in db) == known
        assert (absolute in db) != known
    assert inspection.rows(path, "SELECT key FROM decisions") == [
        ("other.txt" if known else absolute,)
    ]


def test_arrays_of_another_byte_order_make_the_same_file(tmp_path: Path) -> None:
    """What a machine of the other byte order would hand to the code that writes."""
    construction = Construction.parse("and 3, or 19")
    lanes = np.random.default_rng(5).integers(0, 1 << 16, (7, 128), dtype=np.uint16)
    keys = bucket_keys(lanes, construction, 1)
    doc_ids = np.arange(1, 8)
    stored = []
    for number, order in enumerate("<>"):
        file = tmp_path / f"{number}.db"
        swapped = lanes.astype(f"{order}u2")
        assert np.array_equal(bucket_keys(swapped, construction, 1), keys)
        with lshdb.open(file, threshold=0.6) as db:
            store = store_of(db)
            with store.writing():
                store.insert([(i, str(i), 1, bytes(16), None, "x") for i in range(1, 8)])
                store.index.insert_signatures(doc_ids.astype(f"{order}i8"), swapped)
                given = (one.astype(f"{order}i8") for one in (doc_ids, keys))
                store.index.insert_bands(*codes_of_keys(*given))
            assert store.signatures(doc_ids)[1].tolist() == lanes.tolist()
        stored.append(inspection.contents(file))
    assert stored[0] == stored[1]
    blobs = [row[1] for row in stored[0]["signatures"]]
    assert blobs == [b"".join(int(lane).to_bytes(2, "little") for lane in row) for row in lanes]
