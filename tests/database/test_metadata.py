"""The other fields of a row: kept, updated without signing, and asked for in conditions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import inspection
import numpy as np
import pytest
from extras import if_there
from helpers import database_of
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.errors import ContentError, DamagedFile, QueryError
from lshdb.json_text import MAX_DEPTH
from lshdb.model import Document

FOX = "the fox and the grapes"


def stored(path: Path) -> dict[object, object]:
    return dict(inspection.rows(path, "SELECT key, metadata FROM documents"))


# what is kept


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)
PYTHON: dict[str, object] = {
    "day": date(2020, 2, 29),
    "price": Decimal("1.5"),
    "none": Decimal("NaN"),
    "count": np.int64(7),
    "raw": b"\xff",
    "tuple": (1, float("inf")),
    "time": time(1, 2, tzinfo=UTC),
    "takes": timedelta(days=1),
    "id": UUID(int=7),
    "large": [Decimal(10**30), -(10**30)],
    "lone\ud800": {2: "\udfff"},
    "array": np.arange(2.0),
}
FORMS = {
    "day": "2020-02-29",
    "price": "1.5",
    "none": None,
    "count": 7,
    "raw": "/w==",
    "tuple": [1, "Infinity"],
    "time": "01:02:00+00:00",
    "takes": "86400",
    "id": "00000000-0000-0000-0000-000000000007",
    "large": [str(10**30), str(-(10**30))],
    "lone\ufffd": {"2": "\ufffd"},
    "array": [0.0, 1.0],
}


@given(
    st.dictionaries(
        st.text(max_size=5), SCALARS | st.lists(SCALARS, max_size=3), min_size=1, max_size=4
    )
)
@example(PYTHON)
def test_what_json_holds_comes_back(
    tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]
) -> None:
    """Other values of Python's have a form in JSON."""
    with lshdb.open(tmp_path_factory.getbasetemp() / "json.db") as db:
        db.add("k", "text", fields)
        kept = db.get("k").metadata
    assert kept == (FORMS if fields is PYTHON else fields)


def nested(levels: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(levels - 1):
        value = [value]
    return {"deep": value}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({1: 2}, "from strings to values"),
        ({"x": object()}, "not JSON serializable: object"),
        (nested(MAX_DEPTH + 1), "nested deeper"),
        (nested(100_000), "nested deeper"),
        ({"x": 10**5000}, "Exceeds the limit"),
        (
            {"x": "x" * 90_000_000},
            "metadata has 90,000,008 characters, and 90,000,000 is the limit",
        ),
        ({"x": dict.fromkeys(["\ud800", "\udc00"])}, "names differ in lone surrogates only"),
    ],
    ids=["key", "type", "deep", "deeper", "large", "long", "names"],
)
def test_what_cannot_be_metadata_is_refused(
    path: Path, fields: Mapping[str, object], reason: str
) -> None:
    with lshdb.open(path) as db:
        with pytest.raises(ContentError, match=reason):
            db.add("k", "text", fields)
        db.add("k", "text", nested(MAX_DEPTH))
        # Deeper, and SQLite's own functions would call it malformed.
        assert list(db.sql("SELECT json_valid(metadata) FROM documents")) == [(1,)]


# what becomes of it


def test_metadata_follows_its_document(path: Path) -> None:
    with database_of(
        path,
        [Document("a", FOX, {"n": 1}), Document("b", f"{FOX}!"), ("c", "other")],
        threshold=0.5,
    ) as db:
        got = db.get("a")
        assert (got.metadata, db.get("b").metadata) == ({"n": 1}, None)
        for row, outcome in (
            (("a", FOX, {"n": 1}), "unchanged"),
            (("b", f"{FOX}!", {"n": 2}), "updated"),
            (("a", FOX), "updated"),
            (("c", "another", {"n": 3}), "updated"),
        ):
            assert getattr(db.add(*row), outcome) == 1
        report = db.add_many(Document("d", FOX, {"n": n}) for n in (1, 1, 2))
        assert (report.added, report.unchanged, report.updated) == (1, 1, 1)
    assert stored(path) == {"a": None, "b": '{"n":2}', "c": '{"n":3}', "d": '{"n":2}'}
    inspection.check(path)


def test_damaged_metadata_is_reported(path: Path) -> None:
    with lshdb.open(path) as db:
        db.add("a", FOX, {"n": 1})
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE documents SET metadata = '[1'")
    with lshdb.open(path) as db, pytest.raises(DamagedFile, match="metadata"):
        db.get("a")


# conditions


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty copies of one document, of which each tenth is in German, and another document."""
    path = tmp_path_factory.mktemp("many") / "lsh.db"
    with database_of(
        path,
        (
            Document(f"k{i:02}", FOX, {"lang": "de" if i % 10 == 9 else "en", "n": i})
            for i in range(60)
        ),
        threshold=0.5,
    ) as db:
        db.add("other", "nothing of the kind")
    return path


def keys(path: Path, where: str, parameters: Any = (), **options: Any) -> list[str]:
    with lshdb.open(path, mode="read", limits=Limits(query_first=5)) as db:
        matches = db.query(FOX, where=where, parameters=parameters, **options)
    return [match.key for match in matches]


def test_only_what_a_condition_leaves_is_ranked(many: Path) -> None:
    german = [f"k{i}9" for i in range(6)]
    several: list[dict[str, Any]] = [{}, {"exhaustive": True}, {"estimate": True}]
    for options in (*several, if_there("passages", containment=True)):
        where = "metadata ->> '$.lang' = ?"
        assert keys(many, where, ("de",), **options) == german
        # None of these is among the first of its bucket.
        assert keys(many, where, ("de",), top=2, **options) == german[:2]
    named = "metadata ->> '$.n' between :low and :high"
    assert keys(many, named, {"low": 3, "high": 5}) == ["k03", "k04", "k05"]
    assert keys(many, "key = 'k07' or (shingles > 100)") == ["k07"]
    assert keys(many, "key = 'k07' /* one */ -- (of all") == ["k07"]
    assert keys(many, "doc_id in (select min(doc_id) from bands)") == ["k00"]
    assert keys(many, "metadata is null") == []
    assert keys(many, "content like '%)fox;--%' or key like 'k1%'", top=1) == ["k10"]


@pytest.mark.parametrize(
    "where",
    [
        "",
        " \n",
        "1; DELETE FROM documents",
        "1) OR (1",
        "1) --",
        "1 /* comment",
        "1); --",
        "1 THEN 1 END FROM documents --",
        "SELECT 1",
        "'open",
        '"open',
        "[open",
        "(1",
        "1)",
        "1\0",
        "$a(') ) OR ( $b(')",
        "nosuch = 1",
        "value = 1",
        "1 = ",
        "1, 2",
        "count(*) > 1",
        "load_extension('x')",
        "(DELETE FROM documents)",
        "key = ?",
        "metadata -> 'x' -> ",
        "\ud800",
    ],
    ids=ascii,
)
def test_what_is_no_condition_is_refused(many: Path, where: str) -> None:
    before = inspection.files(many.parent)
    with pytest.raises(QueryError, match=r"^where: ") as raised:
        keys(many, where)
    assert len(str(raised.value).splitlines()) == 1
    assert inspection.files(many.parent) == before


PIECES = ["1", " ", "(", ")", "'", '"', "`", "[", "]", "--", "/*", "*/", ";", "\n", "or", "$a", "x"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("$a(') ) or ( $a(')")
@example("1) or (1")
@example("1 /* ) or (1 */")
@example("1 -- ) or (1")
@example("1); --")
@example("1 THEN 1 END FROM documents --")
@example("SELECT 1")
def test_no_expression_gets_out_of_its_parentheses(many: Path, text: str) -> None:
    """What passes is judged by SQLite itself: `0 AND (...)` is never true."""
    try:
        keys(many, text, {"a": 1})
    except QueryError:
        return
    with inspection.sqlite(many) as connection:
        statement = f"SELECT 1 FROM documents WHERE 0 AND (\n{text}\n)"
        assert connection.execute(statement, {"a": 1}).fetchall() == []
