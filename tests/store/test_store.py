"""The file: its tables and header, the plans of its statements, and transactions."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import inspection
import pytest

import lshdb
from lshdb.database import store_of
from lshdb.errors import StoreError, UsageError
from lshdb.limits import DEFAULTS, Limits
from lshdb.maintain.resolve import resolve
from lshdb.offers import TABLES, is_there
from lshdb.options import SettingsOptions
from lshdb.store import guard, statements
from lshdb.store.connection import connect
from lshdb.store.schema import make_part
from lshdb.store.store import Store
from lshdb.store.transactions import Transaction

SETTINGS = resolve(SettingsOptions(permutations=16, bands=8, rows=2, shingle="set", threshold=0.5))
PACKAGE = os.path.join(os.path.dirname(lshdb.__file__), "")
VIEWS = ("buckets", "bucket_members", "candidate_pairs")
SCANS_ON_PURPOSE = {
    # Once in a sync, where new files may be renamed ones.
    "FILES_OF_INODES",
    # Only where documents were marked different.
    "DIFFERENT",
    "WITH_DIFFERENT",
    "DECISIONS",
    "JUDGED_DECISIONS",
    "DECIDED",
    # All of a file that is merged into another one.
    "WHOLE_DOCUMENTS",
    "SELECT_SETTINGS",
    "BASE_TEXTS",
    "TABLE_BYTES",  # of the schema
    "FUNCTION_SETTINGS",
    "SHARED_FINGERPRINTS",
    "WHOLE_SETTINGS",
    "KEYS_CONTAINING",
    "COUNT_DOCUMENTS",
    "COUNT_EMPTY",
    # What check looks through.
    "SCHEMA",
    "BAND_ROWS",
    "FINGERPRINT_ROWS",
    "ALL_AS_STORED",
    "INDEXED",
    "DOC_IDS",
    # Each document of a temporary file.
    "SPOOL_ASCENDING",
    "SPOOL_DESCENDING",
    "GROUPING_SETS",
    "EXPECTED_SCHEMA",
    "OTHER_TABLES_WITH_CODE",
    "REFERENCES_WITH_CODE",
    "CHECK_TABLES_WITHOUT_CODE",
    "GENERATED_COLUMNS",
    "NO_TABLES",
    "BROKEN_REFERENCES",
    "COUNT_DEFINITIONS",
    "COUNT_SCHEMA",
    "NAMED_PARTS",
    "TABLES",
    "CHECK_TABLES",
    # Run once, when another database is added.
    "KEYS_OF_FILES",
    # What Spark reads.
    "ALL_DOCUMENTS",
}
OF_APPS = [
    f"lshdb.apps.{app}.statements" for app in ("dedup", "long_tables", "passages") if is_there(app)
]
STATEMENTS = {
    name: value
    for module in (statements, *map(import_module, OF_APPS))
    for name, value in vars(module).items()
    if isinstance(value, str)
}
STATEMENTS = {name: value for name, value in STATEMENTS.items() if re.match("[A-Z]", name)}
SPOOL_TABLES = STATEMENTS.pop("SPOOL_TABLES", "") + STATEMENTS.pop("GROUPING_TABLE", "")
READ_RARE_WORDS = STATEMENTS.pop("READ_RARE_WORDS", "")
if not sqlite3.connect(":memory:").execute(statements.HAS_DBSTAT).fetchone()[0]:
    STATEMENTS.pop("TABLE_BYTES")
IN_ORDER = {"SPOOL_ASCENDING": "SPOOL_UP", "SPOOL_DESCENDING": "SPOOL_DOWN"}
"""Statements that need no sorting, and what makes their indexes."""


def open_store(path: Path, timeout: float = 5, limits: Limits = DEFAULTS) -> Store:
    return Store.open(path, "create", timeout, lambda: SETTINGS, limits=limits)


def open_sets(path: Path, timeout: float = 5, limits: Limits = DEFAULTS) -> lshdb.Database:
    return lshdb.open(path, threshold=0.5, shingle="set", timeout=timeout, limits=limits)


def fill(path: Path, documents: int = 60) -> None:
    """Some documents in overlapping buckets, one of them empty."""
    with open_sets(path) as db:
        db.add_many((f"d{i}", range(i // 4, i // 4 + 3 + i % 2)) for i in range(documents))
        db.add("empty", [])


def plan(connection: sqlite3.Connection, sql: str) -> list[str]:
    """How SQLite will run a statement, line by line."""
    rows = connection.execute(
        f"EXPLAIN QUERY PLAN {sql}",
        [None] * (len(set(re.findall(r"[?][0-9]+", sql))) or sql.count("?")),
    )
    return [detail for *_, detail in rows]


def scans(details: list[str]) -> list[str]:
    """Those lines of a plan that read the whole of a table of the file."""
    harmless = ("VIRTUAL TABLE", "CONSTANT ROW", "(subquery", *(f"SCAN {view}" for view in VIEWS))
    return [
        line
        for line in details
        if line.startswith("SCAN") and not any(part in line for part in harmless)
    ]


# the file


def test_the_header_and_strict_tables(path: Path) -> None:
    open_sets(path).close()
    for pragma, value in {
        "application_id": int.from_bytes(b"lshd", "big"),
        "user_version": 7,
        "page_size": 16384,
        "journal_mode": "wal",
        "encoding": "UTF-8",
    }.items():
        assert inspection.rows(path, f"PRAGMA {pragma}") == [(value,)]
    listed = inspection.rows(path, "PRAGMA table_list")
    tables = {
        (name, strict)
        for _, name, kind, _, _, strict in listed
        if kind == "table" and not name.startswith("sqlite_")
    }
    core = {*inspection.TABLES, "files", "base_texts"} - {*TABLES}
    assert tables == {(name, 1) for name in core}


def test_a_file_is_not_taken_for_its_log(path: Path) -> None:
    with open_sets(path) as db:
        db.add("a", [1])
        names = path, f"{path}-wal", f"{path}-shm", os.devnull
        assert [guard.is_open(os.stat(name), as_log=True) for name in names] == [
            False,
            True,
            True,
            False,
        ]
    assert not guard.is_open(path.stat(), as_log=True)


def test_a_connection_checks_foreign_keys_and_trusts_no_schema(path: Path) -> None:
    open_sets(path).close()
    connection = connect(path, "write", 5)
    try:
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO signatures VALUES (1, x'00')")
    finally:
        connection.close()


# plans


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "lsh.db"
    fill(path)
    return path


def of_apps(statement: str) -> list[pytest.MarkDecorator]:
    """The apps that have the tables of a statement."""
    return [
        pytest.mark.app(TABLES[part]) for part in TABLES if re.search(rf"\b{part}\b", statement)
    ]


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=of_apps(text)) for name, text in STATEMENTS.items()]
)
def test_no_statement_scans_a_table(path: Path, filled: Path, name: str, analyzed: bool) -> None:
    waiting = name.startswith(("SPOOL_", "GROUPING_"))
    if not waiting:
        shutil.copy(filled, path)
    with inspection.sqlite(path) as connection:
        if waiting:
            connection.executescript(SPOOL_TABLES)
        else:
            for part, app in TABLES.items():
                if is_there(app):
                    make_part(connection, part)
            connection.execute(READ_RARE_WORDS)
        if analyzed:
            connection.execute("ANALYZE")
        if name in IN_ORDER:
            connection.execute(STATEMENTS[IN_ORDER[name]])
        details = plan(connection, STATEMENTS[name])
    assert bool(scans(details)) == (name in SCANS_ON_PURPOSE)
    assert name not in IN_ORDER or "USE TEMP B-TREE FOR ORDER BY" not in details
    if name == "COUNT_EMPTY":
        assert details == ["SCAN documents USING INDEX empty_documents"]


# views


def test_views_equal_brute_force(path: Path) -> None:
    fill(path)
    bands = inspection.rows(path, "SELECT * FROM bands")
    keys: dict[int, str] = dict(inspection.rows(path, "SELECT doc_id, key FROM documents"))
    sizes = Counter(row[:2] for row in bands)
    assert max(sizes.values()) > 2
    pairs = Counter(
        (a[2], b[2]) for a, b in product(bands, repeat=2) if a[:2] == b[:2] and a[2] < b[2]
    )
    for view, rows in {
        "buckets": [(*bucket, documents) for bucket, documents in sizes.items()],
        "bucket_members": [(*row, keys[row[2]]) for row in bands],
        "candidate_pairs": [(*pair, shared) for pair, shared in pairs.items()],
    }.items():
        assert sorted(inspection.rows(path, f"SELECT * FROM {view}")) == sorted(rows)


# transactions


def change(db: lshdb.Database) -> None:
    """New documents, changed ones, and one that becomes empty, in one transaction."""
    db.add_many([("new", [1, 2, 3]), ("d1", [7, 8, 9]), ("d2", []), ("empty", [5])])


def removal(db: lshdb.Database) -> None:
    db.remove(["d1", "d2"])


@pytest.mark.parametrize(
    ("event", "action"),
    [
        *((f"INSERT ON {table}", change) for table in ("documents", "signatures", "bands")),
        ("UPDATE ON documents", change),
        *((f"DELETE ON {table}", removal) for table in ("bands", "signatures", "documents")),
    ],
)
def test_a_failure_in_the_middle_of_adding_leaves_nothing(
    path: Path, event: str, action: Callable[[lshdb.Database], object]
) -> None:
    """The same for removing. A trigger, which another program makes meanwhile, is never run."""
    fill(path)
    before = inspection.contents(path)
    with open_sets(path) as db:
        with inspection.sqlite(path) as other:
            other.execute(f"CREATE TRIGGER fault AFTER {event} BEGIN SELECT 1; END")
        with pytest.raises(StoreError, match="trigger"):
            action(db)
        with inspection.sqlite(path) as other:
            other.execute("DROP TRIGGER fault")
        assert inspection.contents(path) == before
        action(db)
        assert inspection.contents(path) != before
    inspection.check(path)


def test_a_failing_commit_leaves_nothing(path: Path) -> None:
    """SQLite keeps the transaction open when COMMIT itself fails, here for a foreign key."""
    fill(path)
    before = inspection.contents(path)
    connection = connect(path, "write", 5)
    try:
        writing = Transaction(connection, "write")
        writing.__enter__()
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute("INSERT INTO signatures VALUES (999, x'00')")
        with pytest.raises(StoreError, match="FOREIGN KEY"):
            writing.__exit__(None, None, None)
        assert not connection.in_transaction
        with Transaction(connection, "write"):
            connection.execute("DELETE FROM bands WHERE 0")
    finally:
        connection.close()
    assert inspection.contents(path) == before


@pytest.mark.parametrize(("where", "exhaustive"), [(None, False), ("doc_id > 0", True)])
def test_a_query_sees_one_state_while_another_writes(
    path: Path, where: str | None, exhaustive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of its statements comes next when another removes what it finds, and adds more."""
    fill(path)
    saved = path.read_bytes()
    own: Any = sqlite3.connect
    seen: list[str] = []
    act_at = 0

    def trace(statement: str) -> None:
        seen.append(statement)
        if len(seen) == act_at:
            writer.remove(found)
            writer.add("late", range(2, 6))

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = own(*arguments, **options)
        connection.set_trace_callback(trace)
        return connection

    after = None
    while act_at <= len(seen):
        path.write_bytes(saved)
        with open_sets(path) as writer:
            with monkeypatch.context() as patch:
                patch.setattr(sqlite3, "connect", connect)
                with open_sets(path) as reader:
                    seen.clear()
                    matches = list(reader.query(key="d10", exhaustive=exhaustive, where=where))
            if not act_at:
                before, found = matches, [match.key for match in matches]
                assert len(found) > 2
            elif matches != before:
                # Its first statement began to read after that.
                assert act_at < 24 if where else act_at < 3
                keys = {match.key for match in matches}
                assert "late" in keys
                assert not keys & set(found)
                after = matches
        act_at += 1
    assert after is not None
    assert len(seen) > 5


# the write-ahead log


def add_one_by_one(
    path: Path, log_sizes: list[int], count: int = 20, limits: Limits = DEFAULTS
) -> None:
    """Add documents of 100 KB, each in its own transaction."""
    log = path.with_name(path.name + "-wal")

    def measure(_: lshdb.AddReport) -> None:
        log_sizes.append(log.stat().st_size)

    one_each = replace(limits, batch_documents=1)
    with open_sets(path, limits=one_each) as db:
        documents = ((f"d{i}", [f"{i} {j} {'x' * 1000}" for j in range(100)]) for i in range(count))
        db.add_many(documents, on_batch=measure, workers=0)


SHORT_LOG = Limits(checkpoint_pages=4, log_bytes=1 << 20)
"""Have the log copied from 64 KB on, and emptied from 1 MB on."""
IMPATIENT = replace(SHORT_LOG, log_seconds=0.01)


def test_the_log_is_copied_into_the_file_while_batches_are_written(path: Path) -> None:
    freely: list[int] = []
    add_one_by_one(path, freely)
    expected = inspection.contents(path)
    inspection.check(path)
    assert freely == sorted(freely)
    other, bounded = path.with_name("other.db"), list[int]()
    add_one_by_one(other, bounded, limits=SHORT_LOG)
    assert max(bounded) < max(freely) / 2
    assert inspection.contents(other) == expected


def test_a_reader_does_not_hold_up_the_log(path: Path) -> None:
    """What it still needs is not copied, and nobody waits for it for long."""
    reader = open_store(path)
    with reader.reading():
        assert reader.count() == (0, 0)
        add_one_by_one(path, [], limits=IMPATIENT)
        assert reader.count() == (0, 0)
    assert reader.count() == (20, 0)
    reader.close()
    inspection.check(path)


def test_a_log_that_others_always_read_is_emptied(path: Path) -> None:
    """One of two readers is always in a transaction, so that it never starts over by itself."""
    begun, done = threading.Event(), threading.Event()

    def read() -> None:
        readers = [open_store(path), open_store(path)]
        held = ExitStack()
        while not done.is_set():
            for reader in readers:
                following = ExitStack()
                following.enter_context(reader.reading())
                reader.count()
                held.close()
                held = following
                begun.set()
                time.sleep(0.001)
        held.close()
        for reader in readers:
            reader.close()

    open_store(path).close()
    thread = threading.Thread(target=read)
    thread.start()
    log_sizes: list[int] = []
    try:
        assert begun.wait(60)
        add_one_by_one(path, log_sizes, 120, SHORT_LOG)
    finally:
        done.set()
        thread.join()
    assert max(log_sizes) < 4 << 20
    inspection.check(path)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_FULL])
def test_a_log_that_cannot_be_copied_costs_nothing_that_is_written(path: Path, code: int) -> None:
    """A full disk is no error yet; another failure is one, and says that the batch is safe."""
    real = guard.Connection.execute

    def execute(connection: guard.Connection, statement: str, *rest: Any) -> sqlite3.Cursor:
        if "wal_checkpoint" in statement:
            error = sqlite3.OperationalError("unplugged")
            error.sqlite_errorcode = code
            raise error
        return real(connection, statement, *rest)

    large = [("d0", [f"{j} {'x' * 1000}" for j in range(2000)]), ("d1", ["y"])]
    with (
        open_sets(path, timeout=7, limits=SHORT_LOG) as db,
        mock.patch.object(guard.Connection, "execute", execute),
    ):
        if code == sqlite3.SQLITE_FULL:
            assert db.add_many(large).added == 2
        else:
            with pytest.raises(StoreError, match=r"safe in its log, but copying .* unplugged"):
                db.add_many(large)
        assert store_of(db)._connection.execute("PRAGMA busy_timeout").fetchone() == (7000,)
        assert len(db) == 2
    inspection.check(path)


# interrupts


def test_a_second_interrupt_leaves_no_transaction_open(path: Path) -> None:
    """Wherever it comes while the first one is handled."""
    calls = at = 0

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        inside = frame.f_code.co_filename.startswith(PACKAGE)
        # Nothing can be done yet when the call of __exit__ begins.
        if inside and (event, frame.f_code.co_name) != ("call", "__exit__"):
            calls += 1
            if calls == at:
                raise KeyboardInterrupt

    def write() -> None:
        with store.writing():
            store.insert([(1, "lost", 1, bytes(16), None, "x")])
            sys.setprofile(interrupt)
            raise KeyboardInterrupt

    store = open_store(path)
    while calls >= at:
        calls, at = 0, at + 1
        with pytest.raises(KeyboardInterrupt):
            write()
        sys.setprofile(None)
        assert store.count() == (0, 0)
        with lshdb.open(path, timeout=0.0) as other:
            other.add(str(at), ["x"])
            other.remove(str(at))
        with store.writing():
            assert store.last_doc_id() == 0
    assert at > 10
    store.close()
    inspection.check(path)


def test_a_file_that_is_closed_within_a_transaction_is_as_before(path: Path) -> None:
    store = open_store(path)
    with pytest.raises(UsageError, match="is closed: open it again"), store.writing():
        store.close()
    assert open_store(path).count() == (0, 0)
