"""What cannot be asked is refused with a reason, before anything is read where that can be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from extras import if_there
from helpers import database_of

import lshdb
from lshdb import ContentError, Document, KeyNotFound, QueryError, UsageError

Arguments = dict[str, Any]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lshdb.Database]:
    path = tmp_path_factory.mktemp("wrong") / "lsh.db"
    passages = if_there("passages", passages=8)
    with database_of(path, {"one": "the fox and the grapes"}, **passages) as db:
        yield db


def never() -> Iterator[tuple[str, str]]:
    """Documents that nobody reads."""
    raise AssertionError
    yield "", ""


of_compare = partial(pytest.param, marks=pytest.mark.app("compare"))
of_passages = partial(pytest.param, marks=pytest.mark.app("passages"))
NOBODY = "^no document has the key 'nobody'$"
ONE: Arguments = {"content": "x"}
MANY: Arguments = {"documents": never()}


@pytest.mark.parametrize(
    ("ask", "arguments", "message"),
    [
        ("query", {}, "either a document or a key"),
        ("query", {**ONE, "key": "one"}, "either a document or a key"),
        *(
            ("query", {**ONE, "threshold": threshold}, f"threshold {threshold:g} is not above 0")
            for threshold in (0, 1.01, float("nan"))
        ),
        ("query", {**ONE, "top": 0}, "top 0"),
        ("query_many", {**MANY, "parameters": [1]}, "where is not given"),
        ("query_many", {**MANY, "where": "missing = 1"}, "no such column"),
        ("pairs", {"top": 0}, "top 0 is below 1"),
        ("pairs", {"max_similarity": float("nan")}, "max_similarity nan is not above 0"),
        ("pairs", {"max_similarity": 1.1}, "max_similarity 1.1 is not above 0 and at most 1"),
        ("pairs", {"threshold": 0.9, "max_similarity": 0.8}, "0.8 is below the threshold 0.9"),
        ("pairs", {"sample": 0}, "sample 0 is below 1"),
        ("pairs", {"sample": 2, "seed": -1}, "seed -1 is below 0"),
        ("pairs", {"sample": 2, "top": 2}, "one of sample and top"),
        ("pairs", {"seed": 2}, "give sample, too"),
        ("clusters", {"top": 0}, "top 0 is below 1"),
        ("clusters", {"min_size": 0}, "min_size 0 is below 1"),
        ("clusters", {"min_size": 5, "max_size": 4}, "max_size 4 is below 5"),
        ("clusters", {"max_size": 1}, "max_size 1 is below 2"),
        ("clusters", {"parameters": [1]}, "where is not given"),
        ("clusters", {"keep": "best"}, "keep 'best' is not first, last"),
        of_passages("passages", {}, "either a text or a key"),
        of_passages("passages", {"text": "x", "min_words": 7}, "7"),
        of_passages("passages", {"text": "x", "top": 0}, "top 0"),
        of_passages("passages", {"text": "x", "gap": -1}, "gap -1"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_at_once(
    db: lshdb.Database, ask: str, arguments: Arguments, message: str
) -> None:
    with pytest.raises((UsageError, QueryError), match=message):
        getattr(db, ask)(**arguments)


@pytest.mark.parametrize(
    ("ask", "arguments", "error", "message"),
    [
        ("query", (["x"],), ContentError, "this is a set"),
        ("query_many", ([("q", ["x"])],), ContentError, "'q': this is a set"),
        of_compare("compare", ("one", Document("new", ["x"])), ContentError, "this is a set"),
        of_compare("compare", ("one", "nobody"), KeyNotFound, NOBODY),
        *((ask, {"key": "nobody"}, KeyNotFound, NOBODY) for ask in ("query", "pairs", "clusters")),
        of_passages("passages", {"key": "nobody"}, KeyNotFound, NOBODY),
        ("query", {**ONE, "where": "nope = 1"}, QueryError, "no such column: nope"),
        ("pairs", {"where": "nope = 1"}, QueryError, "no such column: nope"),
        ("clusters", {"where": "nope = 1"}, QueryError, "no such column: nope"),
        of_passages("passage_pairs", {"common": 0}, UsageError, "common 0"),
    ],
)
def test_what_is_not_there_or_of_the_wrong_kind_is_named(
    db: lshdb.Database, ask: str, arguments: Any, error: type[Exception], message: str
) -> None:
    given, named = ((), arguments) if isinstance(arguments, dict) else (arguments, {})
    with pytest.raises(error, match=message):
        list(getattr(db, ask)(*given, **named))


def test_a_set_is_asked_in_sets(path: Path) -> None:
    with lshdb.open(path, shingle="set") as db, pytest.raises(ContentError, match="this is a text"):
        db.query("a text")


@pytest.mark.app("signatures")
def test_contents_of_signatures_made_elsewhere_cannot_be_asked(path: Path) -> None:
    with (
        lshdb.open(path, shingle="foreign:x", content=False) as db,
        pytest.raises(ContentError, match="made elsewhere"),
    ):
        db.query_many(never())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"passages": run}, "3 to 1000") for run in (-1, 1, 2, 1001)),
        ({"shingle": "set", "passages": 8}, "sets have no order"),
        ({"content": False, "passages": 8}, "contents"),
    ],
)
def test_an_index_of_passages_that_cannot_be_makes_no_file(
    path: Path, options: Arguments, message: str
) -> None:
    with pytest.raises(lshdb.SettingsError, match=message):
        lshdb.open(path, **options)
    assert not path.exists()


@pytest.mark.app("passages")
def test_without_an_index_of_passages_reindex_is_named(path: Path) -> None:
    with lshdb.open(path) as db, pytest.raises(UsageError, match="reindex"):
        db.passages("text")
