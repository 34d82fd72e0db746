"""What is asked of the file about some documents."""

from __future__ import annotations

import json
import os
from pathlib import Path

import inspection
import pytest
from helpers import database_of

import lshdb
from lshdb.database import store_of

DOCUMENTS = [lshdb.Document("a", "some text", {"n": 1}), lshdb.Document("b", "other words")]


def test_the_text_is_a_field_where_it_is_wanted(path: Path) -> None:
    with database_of(path, DOCUMENTS) as db, (store := store_of(db)).reading():
        ids = store.doc_ids()[::-1]
        assert [*store.metadata_of(ids)] == [*store.metadata_of(ids, ["n"])] == [None, '{"n":1}']
        with_texts = map(json.loads, filter(None, store.metadata_of(ids, ["text"])))
        assert [*with_texts] == [{"text": "other words"}, {"n": 1, "text": "some text"}]


@pytest.mark.parametrize(("root", "below"), [(None, "."), ("notes", "notes"), ("..", "..")])
def test_the_root_is_beside_the_file_unless_it_says_another(
    path: Path, root: str | None, below: str
) -> None:
    database_of(path, DOCUMENTS).close()
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE settings SET root = ?", (root,))
    with lshdb.open(path) as db:
        assert store_of(db).root == os.path.normpath(path.resolve().parent / below)


def test_the_bytes_of_tables_are_those_of_the_file(path: Path) -> None:
    database_of(path, ((f"d{number}", "some words " * number) for number in range(90))).close()
    with lshdb.open(path) as db:
        store = store_of(db)
        if (sizes := store.table_bytes()) is not None:  # of an SQLite with dbstat
            assert sum(sizes.values()) + store.free_bytes() == path.stat().st_size
            assert [*sizes.values()] == sorted(sizes.values(), reverse=True)
