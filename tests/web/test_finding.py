"""The search box where the user made a full-text index of the contents."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")

from helpers import database_of

from lshdb.web import views

MAKE = """
    CREATE VIRTUAL TABLE documents_fts USING fts5 (
        content, content='documents', content_rowid='doc_id'
    );
    INSERT INTO documents_fts (documents_fts) VALUES ('rebuild');
"""
TEXTS = {
    "fox": "The quick brown fox's résumé",
    "dog": "A lazy dog, quickly asleep; NOT near a fox",
    "ant": "An ant and 'a grasshopper' -- {} \\ <b>",
}


@pytest.fixture
def texts(path: Path) -> Path:
    database_of(path, TEXTS, threshold=0.5).close()
    run(path, MAKE)
    return path


def run(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        connection.commit()


def find(path: Path, q: str, **given: str) -> dict[str, Any]:
    with views.opened(path) as (db, store):
        return views.find(views.Visit(db, store, "lsh", {"q": q, **given})).data


def found(path: Path, q: str, **given: str) -> tuple[str, set[str]]:
    context = find(path, q, **given)
    return context["index"], {hit["key"] for hit in context["hits"]}


@pytest.mark.parametrize(
    ("q", "keys"),
    [
        ("QUICK", {"fox", "dog"}),
        ("quick brown", {"fox"}),
        ("resume", {"fox"}),
        ("fox lazy", {"dog"}),
        ("not", {"dog"}),
    ],
)
def test_words_are_found_by_their_beginnings(texts: Path, q: str, keys: set[str]) -> None:
    assert found(texts, q) == ("used", keys)


def test_parts_of_words_are_found_where_no_word_begins_so_or_if_asked(texts: Path) -> None:
    assert found(texts, "uick") == found(texts, "quick", scan="yes") == ("", {"fox", "dog"})


@pytest.mark.parametrize(
    "q",
    [
        *('"', '""', "'", "*", "fox*", "^fox", "-fox", "(", "NEAR(fox dog)", "fox OR dog", "AND"),
        *(
            "content:fox",
            "{content}:fox",
            "fox AND",
            "\\",
            "%",
            "\0",
            "f\0x",
            "\U0001f98a",
        ),
        *("); DROP TABLE documents", 'fox" OR "dog', "a" * 5_000, "+", "fox + dog", "?1", "<b>"),
    ],
)
def test_no_words_are_an_error(texts: Path, q: str) -> None:
    index, keys = found(texts, q)
    assert index in ("used", "")
    assert keys <= set(TEXTS)
    assert (q != "fox OR dog") or keys == set()  # the words are wanted, not what FTS makes of them
    assert (q != "fox*") or keys == {"fox", "dog"}


def test_an_index_that_was_not_rebuilt_is_made_up_for(texts: Path) -> None:
    with database_of(texts, {"new": "a fox that came later"}) as db:
        db.remove("fox")
    assert found(texts, "fox") == ("used", {"dog", "new"})
    run(texts, "INSERT INTO documents_fts (documents_fts) VALUES ('rebuild')")
    assert found(texts, "fox") == ("used", {"dog", "new"})


def test_hits_are_shown_some_at_a_time(texts: Path) -> None:
    database_of(texts, ((f"more {i}", f"a fox with number {i}") for i in range(100))).close()
    run(texts, "INSERT INTO documents_fts (documents_fts) VALUES ('rebuild')")
    database_of(texts, ((f"newest {i}", f"a fox without, {i}") for i in range(10))).close()
    keys: list[str] = []
    given: dict[str, str] = {}
    for _ in range(20):
        context = find(texts, "Fox", **given)
        keys += [hit["key"] for hit in context["hits"]]
        if context["further"] is None:
            break
        given = {"after": str(context["further"])}
    assert len(keys) == len(set(keys)) == 112


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE documents_fts_data SET block = x'00'",
        "UPDATE documents_fts_data SET block = zeroblob(9) WHERE id = 10",
        "DELETE FROM documents_fts_data",
        "DROP TABLE documents_fts_docsize",
        "DROP TABLE documents_fts_config; CREATE VIEW documents_fts_config AS SELECT 1 AS k, 1",
        "DROP TABLE documents_fts; CREATE TABLE documents_fts (content)",
        "DROP TABLE documents_fts; CREATE VIEW documents_fts AS SELECT * FROM documents",
        "DROP TABLE documents_fts; CREATE VIRTUAL TABLE documents_fts USING fts4 (content)",
        "DROP TABLE documents_fts; CREATE VIRTUAL TABLE documents_fts USING fts5 (content)",
        "DROP TABLE documents_fts;"
        "CREATE VIRTUAL TABLE documents_fts USING fts5 (content, content='bands')",
    ],
)
def test_an_index_that_cannot_be_used_hides_nothing(texts: Path, damage: str) -> None:
    run(texts, damage)
    index, keys = found(texts, "quick")
    assert index in ("unusable", "")
    assert keys == {"fox", "dog"}
