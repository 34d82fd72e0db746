"""The other fields of a row: kept, updated without signing, and asked for in conditions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import inspection
import numpy as np
import pytest
from helpers import Command
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb.errors import ContentError, DamagedFile, QueryError, UsageError
from lshdb.ingest import batches
from lshdb.ingest.parts import Part
from lshdb.model import Document
from lshdb.search import buckets as lookup
from lshdb.sources.metadata import DEEPEST, to_json
from lshdb.sources.records import RecordParser
from lshdb.store.conditions import Condition, check_expression
from lshdb.store.lookups import StoreReader
from lshdb.store.migrations import undo_steps
from lshdb.workers import Workers

PARSER = RecordParser(False, "id", "text", "set", False, False)
FOX = "the fox and the grapes"


def stored(path: Path) -> dict[object, object]:
    return dict(inspection.rows(path, "SELECT key, metadata FROM documents"))


# what is kept


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": 1, "text": "t"}', None),
        ('{"id": 1, "text": "t", "set": [1, null]}', '{"set":[1,null]}'),
        (
            '{"b": {"z": [1.50, true]}, "id": 1, "a": "\\u00e9\\u0000", "text": "t"}',
            '{"b":{"z":[1.5,true]},"a":"é\\u0000"}',
        ),
        (
            '{"id": 1, "text": "t", "n": [123456789012345678901234567890, 1e400, -0.0]}',
            '{"n":[123456789012345678901234567890,null,-0.0]}',
        ),
        ('{"id": 1, "text": "t", "x": "\\ud800", "y": NaN}', '{"x":"\ufffd","y":null}'),
        ('{"id": 1, "text": "t", "x": {}, "": 0}', '{"x":{},"":0}'),
    ],
)
def test_fields_of_json_lines_are_kept_as_they_are(line: str, expected: str | None) -> None:
    assert to_json(PARSER.of_json(line.encode(), "x").metadata) == expected


def test_values_of_python_have_a_form_in_json() -> None:
    fields = {
        "day": date(2020, 2, 29),
        "price": Decimal("1.5"),
        "count": np.int64(7),
        "raw": b"\xff",
        "tuple": (1, float("inf")),
    }
    expected = '{"day":"2020-02-29","price":1.5,"count":7,"raw":"/w==","tuple":[1,null]}'
    assert to_json(fields) == expected


def nested(levels: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(levels - 1):
        value = [value]
    return {"deep": value}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({1: 2}, "from strings to values"),
        ({"x": object()}, "object cannot be written as JSON"),
        (nested(DEEPEST + 1), "nested deeper"),
        (nested(100_000), "nested deeper"),
    ],
    ids=["key", "type", "deep", "deeper"],
)
def test_what_cannot_be_metadata_is_refused(
    path: Path, fields: Mapping[str, object], reason: str
) -> None:
    with lshdb.open(path) as db:
        with pytest.raises(ContentError, match=reason):
            db.add("k", "text", fields)
        db.add("k", "text", nested(DEEPEST))
        # Deeper, and SQLite's own functions would call it malformed.
        assert list(db.sql("SELECT json_valid(metadata) FROM documents")) == [(1,)]


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)


@given(
    st.dictionaries(
        st.text(max_size=5), SCALARS | st.lists(SCALARS, max_size=3), min_size=1, max_size=4
    )
)
def test_what_json_holds_comes_back(fields: dict[str, Any]) -> None:
    text = to_json(fields)
    assert text is not None
    assert "\n" not in text
    assert json.loads(text) == fields


# what becomes of it


def test_metadata_follows_its_document(path: Path) -> None:
    with lshdb.open(path, threshold=0.5) as db:
        db.add_many([Document("a", FOX, {"n": 1}), Document("b", f"{FOX}!"), ("c", "other")])
        got = db.get("a")
        assert (got.metadata, db.get("b").metadata) == ({"n": 1}, None)
        assert db.add("a", FOX, {"n": 1}).unchanged == 1
        assert db.add("b", f"{FOX}!", {"n": 2}).updated == 1
        assert db.add("a", FOX).updated == 1
        assert db.add("c", "another", {"n": 3}).updated == 1
        repeated = [Document("d", FOX, {"n": n}) for n in (1, 1, 2)]
        report = db.add_many(repeated)
        assert (report.added, report.unchanged, report.updated) == (1, 1, 1)
    assert stored(path) == {"a": None, "b": '{"n":2}', "c": '{"n":3}', "d": '{"n":2}'}
    inspection.check(path)


@pytest.mark.parametrize("on_similar", ["keep", "skip"])
def test_other_metadata_is_no_reason_to_sign_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, on_similar: Any
) -> None:
    texts = [f"document number {i} of many {i * i}" for i in range(200)]
    with lshdb.open(path) as db:
        db.add_many([Document(str(i), text, {"v": 1}) for i, text in enumerate(texts)])
        signatures = inspection.rows(path, "SELECT * FROM signatures")
        asked: list[bool] = []
        submit = Workers.submit

        def watched(self: Workers[Any, Any], part: Part, *rest: Any) -> Any:
            asked.append(part.sign)
            return submit(self, part, *rest)

        monkeypatch.setattr(Workers, "submit", watched)
        monkeypatch.setattr(batches, "_BATCH_DOCUMENTS", 50)
        again = [Document(str(i), text, {"v": 2}) for i, text in enumerate(texts)]
        report = db.add_many(again, workers=0, on_similar=on_similar)
        assert (report.updated, report.unchanged, report.skipped) == (200, 0, 0)
        assert asked == [True, False, False, False], "only the first batch cannot know"
        assert db.add_many(again, on_similar=on_similar).unchanged == 200
    assert set(stored(path).values()) == {'{"v":2}'}
    assert inspection.rows(path, "SELECT * FROM signatures") == signatures


def test_workers_bring_metadata_back(path: Path) -> None:
    lines = [{"id": i, "text": f"{FOX} {i} " * 30, "n": i} for i in range(3_000)]
    file = path.with_suffix(".jsonl")
    for line in lines[::3]:
        del line["n"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = []
    for workers in (0, 2):
        with lshdb.open(path) as db:
            assert db.add_files([str(file)], workers=workers).added == len(lines)
        found.append(inspection.contents(path))
        path.unlink()
    assert found[0] == found[1]
    metadata = [row[4] for row in found[0]["documents"]]
    assert metadata[:4] == [None, '{"n":1}', '{"n":2}', None]


def test_dedup_keeps_metadata_in_a_database(command: Command) -> None:
    lines = [{"id": "a", "text": FOX, "n": 1}, {"id": "b", "text": f"{FOX}!", "n": 2}]
    (command.directory / "x.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    command.done("dedup", "x.jsonl", "-d", "lsh.db", "-o", "y.jsonl")
    assert stored(command.directory / "lsh.db") == {"a": '{"n":1}'}


def test_show_and_the_options_of_add(command: Command) -> None:
    line = json.dumps({"id": "a", "text": FOX, "lang": "en", "n": 1, "more": [1]})
    command.done("add", "-", stdin=line)
    shown = command.done("show", "a").lines
    assert 'metadata:          {"lang": "en", "n": 1, "more": [1]}' in shown
    record = command.done("show", "a", "--json").record
    assert record["metadata"] == {"lang": "en", "n": 1, "more": [1]}
    command.done("add", "--metadata-fields", "n,nosuch,lang", "-", stdin=line)
    assert stored(command.directory / "lsh.db") == {"a": '{"n":1,"lang":"en"}'}
    command.done("add", "--no-metadata", "-", stdin=line)
    assert stored(command.directory / "lsh.db") == {"a": None}


def test_damaged_metadata_is_reported(path: Path) -> None:
    with lshdb.open(path) as db:
        db.add("a", FOX, {"n": 1})
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE documents SET metadata = '[1'")
    with lshdb.open(path) as db, pytest.raises(DamagedFile, match="metadata"):
        db.get("a")


# conditions


@pytest.fixture
def many(path: Path) -> Path:
    """Sixty copies of one document, of which each tenth is in German, and another document."""
    with lshdb.open(path, threshold=0.5) as db:
        db.add_many(
            Document(f"k{i:02}", FOX, {"lang": "de" if i % 10 == 9 else "en", "n": i})
            for i in range(60)
        )
        db.add("other", "nothing of the kind")
    return path


def keys(path: Path, where: str, parameters: Any = (), **options: Any) -> list[str]:
    with lshdb.open(path, mode="read") as db:
        matches = db.query(FOX, where=where, parameters=parameters, **options)
    return [match.key for match in matches]


def test_only_what_a_condition_leaves_is_ranked(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    german = [f"k{i}9" for i in range(6)]
    monkeypatch.setattr(lookup, "QUERY_FIRST", 5)
    for options in ({}, {"exhaustive": True}, {"estimate": True}, {"containment": True}):
        where = "metadata ->> '$.lang' = ?"
        assert keys(many, where, ("de",), **options) == german
        # None of these is among the first of its bucket.
        assert keys(many, where, ("de",), top=2, **options) == german[:2]
    named = "metadata ->> '$.n' between :low and :high"
    assert keys(many, named, {"low": 3, "high": 5}) == ["k03", "k04", "k05"]
    assert keys(many, "key = 'k07' or (shingles > 100)") == ["k07"]
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
        "1 -- comment",
        "1 /* comment",
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


def test_parameters_that_do_not_fit(many: Path) -> None:
    for where, parameters in (
        ("key = ?", ()),
        ("key = ?", ("a", "b")),
        ("key = :a", {"b": 1}),
        ("key = ?", (object(),)),
        ("key = ?", (1 << 70,)),
        ("key = ?", ("\ud800",)),
    ):
        with pytest.raises(QueryError, match=r"^where: "):
            keys(many, where, parameters)
    with lshdb.open(many) as db, pytest.raises(UsageError, match="give where"):
        db.query(FOX, parameters=("a",))


PIECES = ["1", " ", "(", ")", "'", '"', "`", "[", "]", "--", "/*", "*/", ";", "\n", "or", "$a", "x"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("$a(') ) or ( $a(')")
@example("1) or (1")
def test_no_expression_gets_out_of_its_parentheses(text: str) -> None:
    """What passes is judged by SQLite itself: `0 AND (...)` is never true."""
    try:
        check_expression(text)
    except QueryError:
        return
    with closing(sqlite3.connect(":memory:")) as connection:
        statement = f"SELECT 1 WHERE 0 AND (\n{text}\n)"
        try:
            found = connection.execute(statement, {"a": 1}).fetchall()
        except (sqlite3.Error, sqlite3.Warning):
            return
        assert found == []


def test_conditions_on_the_command_line(command: Command) -> None:
    lines = [{"id": x, "text": FOX, "lang": x} for x in ("en", "de")]
    command.done("add", "-", stdin="".join(json.dumps(line) + "\n" for line in lines))
    query = ("query", "--text", FOX, "--where")
    assert command.done(*query, "metadata ->> '$.lang' = 'de'").lines == ["1.000000\tidentical\tde"]
    assert command.done(*query, "metadata ->> 'lang' = ?", "-p", "en").lines[0].endswith("\ten")
    message = command.fails(*query, "lang = 'de'")
    assert message.startswith("where: no such column: lang; the columns are doc_id, key")
    assert command.fails(*query, "1) or (1").startswith("where: ")
    assert command("query", "--text", FOX, "-p", "x").status == 2


# files of format 1


def format_1(path: Path) -> None:
    """Make a file what an lshdb made that knew no metadata."""
    with inspection.sqlite(path) as connection:
        undo_steps(connection, 1)
        connection.execute("PRAGMA user_version = 1")


def test_a_file_of_format_1_is_read_as_it_is_and_migrated_when_written(many: Path) -> None:
    format_1(many)
    before = many.read_bytes()
    with lshdb.open(many, mode="read") as db:
        assert db.get("k01").metadata is None
        assert len(db.query(FOX, where="metadata is null", top=3)) == 3
        assert list(db.sql("SELECT count(*) FROM documents WHERE metadata IS NULL")) == [(61,)]
        assert len(list(db.pairs())) == 60 * 59 // 2
    assert many.read_bytes() == before
    with lshdb.open(many) as db:
        assert db.add("k01", FOX, {"n": 1}).updated == 1
        assert db.get("k01").metadata == {"n": 1}
        assert db.get("k02").content == FOX
        assert db.add("new", f"{FOX} again", {"n": 2}).added == 1
        assert [m.key for m in db.query(FOX, where="metadata ->> 'n' = 2")] == ["new"]
    assert inspection.rows(many, "PRAGMA user_version") == [(3,)]
    assert lshdb.check(many).problems == ()
    inspection.check(many)


@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("step", ["document", "matching", "signatures", "contents", "keys_of"])
def test_a_query_with_a_condition_sees_one_state_while_another_writes(
    path: Path, step: str, exhaustive: bool
) -> None:
    owner = Condition if step == "matching" else StoreReader
    own = getattr(owner, "all_signatures" if exhaustive and step == "signatures" else step)
    with lshdb.open(path) as writer, lshdb.open(path, mode="read") as reader:
        writer.add("q", FOX)
        writer.add("x", FOX, {"wanted": 1})
        writer.add("y", FOX, {"wanted": 0})
        written: list[object] = []

        def write_first(self: object, *arguments: object) -> object:
            if self is not writer._store and not written:
                written.append(self)
                writer.add_many([("x", "other"), Document("y", FOX, {"wanted": 1})])
                writer.add("z", FOX, {"wanted": 1})
            return own(self, *arguments)

        def asked() -> list[str]:
            where = "metadata ->> 'wanted' = ?"
            found = reader.query(key="q", where=where, parameters=[1], exhaustive=exhaustive)
            return [match.key for match in found]

        with mock.patch.object(owner, own.__name__, write_first):
            assert asked() == ["x"]
        assert written
        assert asked() == ["y", "z"]


def test_conditions_look_documents_up(many: Path) -> None:
    from lshdb.store.conditions import _MATCHING

    with inspection.sqlite(many) as connection:
        connection.create_function("lshdb_candidates", 0, lambda: "[]")
        statement = _MATCHING.format(expression="metadata ->> 'n' = 1")
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    assert "SEARCH documents USING INTEGER PRIMARY KEY (rowid=?)" in [row[3] for row in plan]
