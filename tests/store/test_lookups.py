"""What is asked of the file about some documents."""

from __future__ import annotations

import json
from pathlib import Path

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
