"""Rows given to SQLite by compiled code are the rows that the sqlite3 module would write."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import acceleration
from lshdb.columns import Blobs, Column, Texts
from lshdb.store import direct_rows
from lshdb.store import statements as sql
from lshdb.store.connection import connect
from lshdb.store.direct_rows import DirectRows
from lshdb.store.guard import Connection
from lshdb.store.statements import ManyRows
from lshdb.store.store import Store

pytest.importorskip("numba", reason="the extra `speed` is not installed")

INSERT = ManyRows(
    "INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)",
    "INSERT OR FAIL INTO t VALUES (?1, ?2, ?3, ?4, ?5), (?1, ?6, ?7, ?8, ?9)",
    at_once=2,
    shared=1,
)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


@pytest.fixture(autouse=True)
def sped_up() -> Iterator[None]:
    """Have the kernels in use."""
    assert acceleration.speed_up()
    yield
    acceleration.slow_down()


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """One whose handle is known, with a table."""
    path = tmp_path / "rows.db"
    lshdb.open(path).close()
    opened = connect(path, "write", 1.0)
    opened.execute("PRAGMA foreign_keys = OFF")
    opened.execute("CREATE TEMP TABLE t (shared, i INTEGER UNIQUE, text, blob, other)")
    yield opened
    opened.close()


def columns(rows: Sequence[tuple[int, str, bytes]], length: int) -> tuple[Column, ...]:
    """Columns of rows, and one of NULL."""
    integers, texts, blobs = ([row[place] for row in rows] for place in range(3))
    joined = np.frombuffer(b"".join(blobs), dtype=np.uint8)  # type: ignore[arg-type]
    return (
        np.array(integers, dtype=np.int64),
        Texts.packed(texts),  # type: ignore[arg-type]
        joined.reshape(len(rows), length),
        None,
    )


def raised(action: Callable[[], object]) -> tuple[type[sqlite3.Error], int, str]:
    """What an action raises: kind, code and message."""
    with pytest.raises(sqlite3.Error) as caught:
        action()
    return type(caught.value), caught.value.sqlite_errorcode, str(caught.value)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.integers(-(2**63), 2**63 - 1), st.integers(1, 3))
def test_what_is_written(connection: Connection, data: st.DataObject, shared: int, n: int) -> None:
    row = st.tuples(INTEGERS, TEXTS, st.binary(min_size=n, max_size=n))
    rows = data.draw(st.lists(row, max_size=7, unique_by=lambda row: row[0]))
    connection.execute("DELETE FROM t")
    with DirectRows(connection) as direct:
        direct.run(INSERT, len(rows), columns(rows, n), [shared])
    kinds = ["integer", "integer", "text", "blob", "null"]
    found = connection.execute(
        "SELECT *, typeof(shared), typeof(i), typeof(text), typeof(blob), typeof(other) "
        "FROM t ORDER BY rowid"
    ).fetchall()
    assert found == [(shared, *row, None, *kinds) for row in rows]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=9))
@example(["", "\0", "é", ""])
def test_packed_texts_are_the_texts(texts: list[str]) -> None:
    packed = Texts.packed(texts)
    assert packed == texts
    assert [packed[place] for place in range(len(texts))] == texts
    assert packed[1:3] == texts[1:3]
    assert packed.sizes.tolist() == [len(text.encode()) for text in texts]
    assert Texts.packed(packed) is packed
    with pytest.raises(IndexError):
        _ = packed[len(texts)]


@given(st.lists(st.binary(min_size=3, max_size=3), max_size=9))
@example([])
def test_packed_blobs_are_the_blobs(blobs: list[bytes]) -> None:
    packed = Blobs.packed(blobs)
    assert packed == blobs
    assert [packed[place] for place in range(len(blobs))] == blobs
    assert packed[1:3] == blobs[1:3]
    assert packed.matrix.tobytes() == b"".join(blobs)
    assert Blobs.packed(packed) is packed
    assert eval(repr(packed)) == packed
    with pytest.raises(IndexError):
        _ = packed[len(blobs)]


def repeated(connection: Connection) -> None:
    connection.execute("INSERT INTO t (i) VALUES (3)")


def no_room(connection: Connection) -> None:
    (pages,) = connection.execute("PRAGMA temp.page_count").fetchone()
    connection.execute(f"PRAGMA temp.max_page_count = {pages}")


def short_values(connection: Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5000)


def no_table(connection: Connection) -> None:
    connection.execute("DROP TABLE t")


@pytest.mark.parametrize("cause", [repeated, no_room, short_values, no_table])
def test_errors_are_those_of_the_module(
    connection: Connection, cause: Callable[[Connection], None]
) -> None:
    rows = [(i, "a" * 6000, b"bb") for i in range(5)]
    cause(connection)
    values = [(7, *row, None) for row in rows]
    expected = raised(lambda: connection.executemany(INSERT.one, values))
    kept = [] if cause is no_table else connection.execute("SELECT * FROM t").fetchall()
    if cause is not no_table:
        connection.execute("DELETE FROM t WHERE shared")
    with DirectRows(connection) as direct:
        assert raised(lambda: direct.run(INSERT, 5, columns(rows, 2), [7])) == expected
        assert len(kept) < 5
    assert not connection.in_transaction


def test_statements_hold_up_nothing(tmp_path: Path) -> None:
    """After an error too: the next transaction is written, and the last to close tidies up."""
    path = tmp_path / "docs.db"
    numbers = np.arange(1, 41)
    texts = [f"text {i}" for i in numbers]
    keys = [f"k{i}" for i in numbers]
    digests = [bytes(16)] * len(keys)
    buckets = np.tile(numbers[:, None], (1, 16))
    lshdb.open(path).close()
    store = Store.open(path, "write", 1.0, lambda: pytest.fail("it is there"))

    def write() -> None:
        with store.writing():
            assert store.insert_new(numbers, keys, numbers, digests, texts, ())
            store.insert_signatures(numbers, np.zeros((40, 128), dtype=np.uint32))
            store.insert_bands(numbers, [buckets[:9], buckets[9:]])

    with store.batches():
        write()
        with pytest.raises(lshdb.LshdbError):
            write()
        with store.writing():
            store.clear_bands()
            store.insert_bands(numbers[:35], [buckets[:35]])
    store.close()
    assert [one.name for one in tmp_path.iterdir()] == ["docs.db"]
    with lshdb.open(path) as db:
        assert db.keys() == keys
        assert [*db.sql("SELECT band_no, bucket_key, doc_id FROM bands")[1]] == [
            (band, number, number) for band in range(16) for number in range(1, 36)
        ]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("metadata", [True, False])
@pytest.mark.parametrize("count", [3, 90])
@pytest.mark.parametrize("clash", ["stored", "repeated"])
def test_of_keys_that_are_not_all_new_none_is_inserted(
    tmp_path: Path, fast: bool, metadata: bool, count: int, clash: str
) -> None:
    """And what was there, or was inserted before in the same transaction, stays."""
    if not fast:
        acceleration.slow_down()
    with lshdb.open(tmp_path / "docs.db") as db:
        db.add("old", "an old text")
    store = Store.open(tmp_path / "docs.db", "write", 1.0, lambda: pytest.fail("it is there"))

    def insert(first: int, keys: list[str]) -> bool:
        n = len(keys)
        ids, sizes, digests = np.arange(first, first + n), np.ones(n, np.int64), [bytes(16)] * n
        return store.insert_new(ids, keys, sizes, digests, keys, ["{}"] * n if metadata else ())

    new = [f"new{i}" for i in range(count)]
    with store.batches(), store.writing():
        assert insert(2, ["before"])
        assert not insert(3, [*new[:-1], "old" if clash == "stored" else new[0]])
        assert insert(3, new)
    store.close()
    with lshdb.open(tmp_path / "docs.db") as db:
        assert db.keys() == ["old", "before", *new]


@pytest.mark.parametrize("content", [True, False])
def test_the_file_is_the_same_without(tmp_path: Path, content: bool) -> None:
    documents = [(f"kéy{i}", "" if i % 50 == 0 else f"words of number {i} é") for i in range(700)]
    dumps = []
    for speed in (acceleration.speed_up, acceleration.slow_down):
        speed()
        path = tmp_path / f"{speed.__name__}.db"
        with lshdb.open(path, content=content) as db:
            run = mock.patch.object(DirectRows, "run", autospec=True, side_effect=DirectRows.run)
            with run as direct:
                db.add_many(documents, workers=0)
        assert bool(direct.call_count) == (speed is acceleration.speed_up)
        with sqlite3.connect(path) as connection:
            dumps.append([*connection.iterdump()])
        connection.close()
    assert dumps[0] == dumps[1]
    assert len(dumps[0]) > 16 * 600


@pytest.mark.parametrize("reason", [AttributeError("no such function"), OSError("no such file")])
def test_where_sqlite_cannot_be_reached_the_module_writes(
    tmp_path: Path, reason: Exception
) -> None:
    direct_rows._library.cache_clear()
    with (
        mock.patch.object(direct_rows, "_Library", side_effect=reason),
        lshdb.open(tmp_path / "docs.db") as db,
    ):
        db.add_many([(f"k{i}", f"text {i}") for i in range(100)])
        assert len(db) == 100
    direct_rows._library.cache_clear()


def test_handles_are_those_of_this_thread(tmp_path: Path) -> None:
    other: list[sqlite3.Connection] = []

    def elsewhere() -> None:
        other.append(sqlite3.connect(tmp_path / "other.db", check_same_thread=False))

    with direct_rows.handles() as found:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert found == []
        own = sqlite3.connect(tmp_path / "own.db")
        assert len(found) == 1
    later = sqlite3.connect(tmp_path / "later.db")
    assert len(found) == 1
    for connection in (*other, own, later):
        connection.close()


def test_the_statements_of_many_rows_are_those_of_one() -> None:
    assert sql.INSERT_SIGNATURES.one.endswith("VALUES (?1, ?2)")
    assert sql.INSERT_SIGNATURES.many.startswith(sql.INSERT_SIGNATURES.one + ", (?3, ?4), ")
    assert sql.INSERT_BANDS.one.endswith("VALUES (?1, ?2, ?3)")
    assert sql.INSERT_BANDS.many.startswith(sql.INSERT_BANDS.one + ", (?1, ?4, ?5), ")
    for rows in (sql.INSERT_BANDS, sql.INSERT_SIGNATURES, sql.INSERT_PLAIN_DOCUMENTS):
        assert rows.many.count("(?") == rows.at_once
