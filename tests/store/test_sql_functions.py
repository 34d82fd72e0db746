"""lsh_similarity: on connections of sqlite3 itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import oracles
import pytest
from helpers import database_of

import lshdb
from lshdb.errors import DamagedFile, NotADatabase, OtherFormat, UsageError

TEXTS = {
    "fox": "The fox and the grapes, the fox and the crow",
    "wolf": "the WOLF and the  grapes",
    "chinese": "狐狸和葡萄 The fox\n和葡萄",
    "nasty": oracles.NASTY.encode("utf-8", "ignore").decode().replace("\0", " "),
    "short": "a",
    "empty": " \t",
}


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection with the functions, to a database of texts."""
    database_of(path, TEXTS, shingle="word:2", threshold=0.3).close()
    with closing(sqlite3.connect(path)) as connection:
        lshdb.register_functions(connection)
        yield connection


def value(connection: sqlite3.Connection, expression: str, *parameters: object) -> object:
    return connection.execute(f"SELECT {expression}", parameters).fetchone()[0]


@pytest.mark.app("compare")
def test_similarity_is_the_estimate_that_lshdb_gives(
    path: Path, connection: sqlite3.Connection
) -> None:
    with lshdb.open(path, mode="read") as db:
        expected = db.compare("fox", "wolf").estimate
    both = (
        "SELECT lsh_similarity(a.signature, b.signature) "
        "FROM documents x JOIN signatures a ON a.doc_id = x.doc_id, "
        "documents y JOIN signatures b ON b.doc_id = y.doc_id WHERE x.key = ? AND y.key = ?"
    )
    assert 0 < expected < 1
    assert connection.execute(both, ("fox", "wolf")).fetchone() == (expected,)
    assert connection.execute(both, ("fox", "fox")).fetchone() == (1.0,)
    assert connection.execute(both, ("fox", "empty")).fetchone() is None


def test_what_is_no_signature_of_the_database_has_no_similarity(
    connection: sqlite3.Connection,
) -> None:
    good = b"\0" * 256
    assert value(connection, "lsh_similarity(?, ?)", good, good) == 1.0
    for bad in (None, "x" * 512, 7, 0.5, b"", *(b"\0" * size for size in (252, 255, 258, 512))):
        for pair in ((good, bad), (bad, good), (bad, bad)):
            assert value(connection, "lsh_similarity(?, ?)", *pair) is None


def test_it_is_deterministic_and_takes_just_its_arguments(
    connection: sqlite3.Connection,
) -> None:
    # Only what is deterministic may stand in an index.
    connection.execute("CREATE TEMP TABLE texts (text)")
    connection.execute("CREATE INDEX temp.by_itself ON texts (lsh_similarity(text, text))")
    for wrong in ("lsh_similarity()", "lsh_similarity(x'00')"):
        with pytest.raises(sqlite3.OperationalError, match="wrong number of arguments"):
            value(connection, wrong)


def test_what_the_owner_of_the_connection_has_set_stays_and_does_no_harm(path: Path) -> None:
    lshdb.open(path, base={"form": "name and date of birth"}).close()
    with closing(sqlite3.connect(path)) as connection:

        def as_dict(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> dict[str, object]:
            return {
                str(column[0]): value for column, value in zip(cursor.description, row, strict=True)
            }

        connection.row_factory = as_dict
        connection.text_factory = bytes
        lshdb.register_functions(connection)
        zeros = bytes(256)
        assert connection.execute(
            "SELECT lsh_similarity(?, ?) AS s", (zeros, zeros)
        ).fetchone() == {"s": 1.0}
        assert connection.row_factory is as_dict


def test_only_connections_to_whole_lshdb_files_take_them(path: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(NotADatabase):
        lshdb.register_functions(connection)
    with pytest.raises(UsageError):
        lshdb.register_functions(connection)  # closed
    lshdb.open(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE settings SET shingle = 'letters'")
        with pytest.raises(DamagedFile):
            lshdb.register_functions(connection)
        connection.execute("DELETE FROM settings")
        with pytest.raises(DamagedFile):
            lshdb.register_functions(connection)
        connection.execute("PRAGMA user_version = 999")
        with pytest.raises(OtherFormat):
            lshdb.register_functions(connection)
