"""One rule for records: the same documents and failures, whatever they are read from."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command, new_session
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import as_file, table_of

import lshdb
from lshdb.errors import ContentError, InputError
from lshdb.limits import Limits
from lshdb.model import Document, Failure
from lshdb.offers import is_there
from lshdb.read.metadata import to_json
from lshdb.read.session import Session

Record = dict[str, Any]
ALL = ["x.jsonl", "x.json", "x.csv", "x.parquet", "x.arrows"]
ALL += ["table"] * is_there("tables")


def items_of(
    source: str, records: list[Record], reader: Session, directory: Path
) -> Iterator[Document | Failure]:
    """What is read from a file of records, or as `Database.add_table` reads a table."""
    if source == "table":
        from lshdb.apps.tables.tables import documents_of_table

        for batch in documents_of_table([table_of(records)], "table", reader.options):
            yield from batch.items()
    else:
        yield from from_file(source, as_file(source, records, 2), reader, directory)


def from_file(name: str, data: bytes, reader: Session, directory: Path) -> Iterator[Any]:
    path = directory / name
    path.write_bytes(data)
    return reader.read([str(path)])


TYPED = [name for name in ALL if name != "x.csv"]
"""Sources that know null, numbers and arrays from strings."""
UNTYPED_COLUMNS = ALL[:2]
"""Sources whose fields may have values of any type, or be missing, in each record."""

WITH_SETS: dict[str, Any] = {"of_sets": True}
AUTO_KEY: dict[str, Any] = {"auto_key": True}

NO_KEY = "no field 'id': name it with key_field=, or give auto_key=True"
TORN_KEY = "field 'id' has a lone surrogate or bytes that are not UTF-8"
NO_TEXT = "no field 'text': name it with text_field="

# The sources, the reader's options, the records, and for each of these what becomes of it: the
# key, content and stored metadata of a document, or the reason of a failure.
CASES: dict[str, tuple[list[str], dict[str, Any], list[Record], list[Any]]] = {
    "strings": (
        [*ALL],
        {},
        [
            {"id": "a", "text": "the fox", "more": 'x"y', "lang": "en"},
            {"id": "\u00e9 [b]", "text": "\u72d0\n, \U0001f98a", "more": "", "lang": "\u00e9"},
            {"id": "", "text": "no key", "more": "m", "lang": "en"},
            {"id": "e", "text": "", "more": "m", "lang": "en"},
        ],
        [
            ("a", "the fox", '{"more":"x\\"y","lang":"en"}'),
            ("\u00e9 [b]", "\u72d0\n, \U0001f98a", '{"more":"","lang":"\u00e9"}'),
            "field 'id' is empty",
            ("e", "", '{"more":"m","lang":"en"}'),
        ],
    ),
    "some of the metadata": (
        [*ALL],
        {"metadata_fields": ["y", "text", "nosuch", "x"]},
        [{"id": "a", "x": "1", "text": "t", "z": "3", "y": "2"}],
        [("a", "t", '{"y":"2","x":"1"}')],
    ),
    "no metadata": (
        [*ALL],
        {"metadata": False},
        [{"id": "a", "text": "t", "x": "1"}],
        [("a", "t", None)],
    ),
    "names of fields": (
        [*ALL],
        {"key_field": "url", "text_field": "body"},
        [{"id": "1", "url": "u", "text": "t", "body": "b"}],
        [("u", "b", '{"id":"1","text":"t"}')],
    ),
    "several fields as one text": (
        [*ALL],
        {"text_field": "title,body"},
        [
            {"id": "a", "title": "The fox", "x": "1", "body": "and the grapes"},
            {"id": "b", "title": "", "x": "2", "body": "b"},
        ],
        [("a", "The fox\nand the grapes", '{"x":"1"}'), ("b", "\nb", '{"x":"2"}')],
    ),
    "some of several fields": (
        TYPED,
        {"text_field": "title,meta.body"},
        [
            {"id": "a", "title": None, "meta": {"body": "b", "x": 1}},
            {"id": "b", "title": None, "meta": {"body": None, "x": 2}},
        ],
        [("a", "b", '{"meta":{"x":1}}'), "field 'title,meta.body' is null, not a string"],
    ),
    "fields in others": (
        TYPED,
        {"key_field": "meta.url", "text_field": "meta.page.text"},
        [{"meta": {"url": 7, "page": {"text": "t", "n": [1]}}, "x": "1"}],
        [("7", "t", '{"meta":{"page":{"n":[1]}},"x":"1"}')],
    ),
    "a field of just that name": (
        [*ALL],
        {"text_field": "a.b,c"},
        [{"id": "1", "a.b,c": "t", "a.b": "u", "c": "v"}],
        [("1", "t", '{"a.b":"u","c":"v"}')],
    ),
    "parts that are missing or no text": (
        UNTYPED_COLUMNS,
        {"text_field": "title,meta.body"},
        [
            {"id": "a", "meta": {"body": "b"}},
            {"id": "b", "meta": "body"},
            {"id": "c", "title": "t", "meta": {"body": 5}},
            {"id": "d", "title": "t", "meta": "m"},
        ],
        [
            ("a", "b", None),
            "no field 'title,meta.body': name it with text_field=",
            "field 'meta.body' is a number, not a string",
            ("d", "t", '{"meta":"m"}'),
        ],
    ),
    "sets of strings": (
        [*ALL],
        WITH_SETS,
        [{"id": "a", "set": ["x", "\u00e9"]}, {"id": "b", "set": []}],
        [("a", ("x", "\u00e9"), None), ("b", (), None)],
    ),
    "sets of integers": ([*ALL], WITH_SETS, [{"id": "a", "set": [3, -1]}], [("a", (-1, 3), None)]),
    "sets as JSON": (
        [*ALL],
        WITH_SETS,
        [
            {"id": "a", "set": '["x", 1]'},
            {"id": "b", "set": "x"},
            {"id": "c", "set": '{"x": 1}'},
            {"id": "d", "set": "[1.5]"},
        ],
        [
            ("a", (1, "x"), None),
            "field 'set' is a string that is not a JSON array",
            "field 'set' is an object, not an array",
            "element 1 of field 'set' is a decimal number, not a string or integer",
        ],
    ),
    "nulls": (
        TYPED,
        {},
        [{"id": "a", "text": None}, {"id": None, "text": "t"}, {"id": "c", "text": "t"}],
        [
            "field 'text' is null, not a string",
            "field 'id' is null, and a document needs a key",
            ("c", "t", None),
        ],
    ),
    "no key": (
        [*ALL],
        AUTO_KEY,
        [{"text": "t"}, {"text": "u"}],
        [("", "t", None), ("", "u", None)],
    ),
    "empty keys": (
        [*ALL],
        AUTO_KEY,
        [{"id": "", "text": "t"}, {"id": "b", "text": "u"}],
        [("", "t", None), ("b", "u", None)],
    ),
    "NUL": (TYPED, {}, [{"id": "a\0", "text": "t\0"}], ["field 'id' has a NUL character"]),
    "nested metadata": (
        TYPED,
        {},
        [{"id": "a", "text": "t", "x": {"y": [1.5, 2.5, None], "z": {"\u00e9": True}}, "n": None}],
        [("a", "t", '{"x":{"y":[1.5,2.5,null],"z":{"\u00e9":true}},"n":null}')],
    ),
    "fields that are missing": (
        UNTYPED_COLUMNS,
        {},
        [{"text": "t"}, {"id": "b"}, {"id": "c", "set": ["a"]}],
        [
            NO_KEY,
            NO_TEXT,
            "a set (field 'set'), and texts are compared: --shingle set compares sets",
        ],
    ),
    "fields of another type": (
        UNTYPED_COLUMNS,
        {},
        [
            {"id": {"a": 1}, "text": "t"},
            {"id": "d", "text": 5},
            {"id": "e", "text": {"a": 1}},
        ],
        [
            ('{"a":1}', "t", None),
            "field 'text' is a number, not a string",
            "field 'text' is an object, not a string",
        ],
    ),
}


@pytest.mark.parametrize(
    ("case", "source"), [(case, source) for case in CASES for source in CASES[case][0]]
)
def test_records_are_the_same_from_every_source(case: str, source: str, tmp_path: Path) -> None:
    _, options, records, expected = CASES[case]
    reader = new_session(**{"of_sets": False, **options})
    found = list(items_of(source, records, reader, tmp_path))
    first = 2 if source == "x.csv" else 1  # behind the heading
    line = first
    for item, wanted, record in zip(found, expected, records, strict=True):
        if isinstance(item, Failure):
            assert item.reason == wanted
            assert item.where.endswith(f":{line}")
        else:
            key, content, metadata = wanted
            assert (item.content, to_json(item.metadata)) == (content, metadata)
            assert item.key == key if key else item.key.endswith(f":{line}")
        line += 1 + (source == "x.csv" and str(record.get("text")).count("\n"))


NESTED = [{"id": "a", "title": "t", "meta": "m"}]


@pytest.mark.parametrize(
    ("text", "records", "reasons"),
    [
        ("text", [{"text": "t"}], ["no field 'id': name it"] * 4),
        ("text", [{"id": "a"}], ["no field 'text': name it"] * 4),
        ("title,body", NESTED, ["no field 'body'"] * 3),
        ("meta.body", NESTED, ["no field 'meta.body'"] * 2),  # columns alone do not say it
    ],
    ids=["key", "text", "part", "in another"],
)
def test_a_missing_column_costs_the_file(
    text: str, records: list[Record], reasons: list[str], tmp_path: Path
) -> None:
    of_json, of_columns = ("x.jsonl", "x.json"), ("x.csv", "x.parquet")
    sources = (*of_columns, *ALL[5:]) if "," in text else (*of_json, *of_columns)
    for source, reason in zip(sources, reasons, strict=False):
        reader = new_session(False, text_field=text)
        if source == "table":
            with pytest.raises(InputError, match=reason):
                [*items_of(source, records, reader, tmp_path)]
        else:
            (failure,) = items_of(source, records * 3, reader, tmp_path)
            assert isinstance(failure, Failure)
            assert failure.reason.startswith(reason)
            assert f"s are {', '.join(records[0])})" in failure.reason


def test_fields_that_only_some_rows_have_cost_the_others_alone() -> None:
    """However a pipe gives the lines, within the first megabyte."""
    rest = b'{"note": 1}\n\nnot JSON\n{"id": "a", "text": "t"}\n{"id": "b"}\n'
    for size, start in ((1, b""), (7, b""), (1 << 20, b'{"pad": "%s"}\n' % (b"x" * (1 << 19)))):
        reader = new_session(False, stdin=io.BytesIO(start + rest), limits=Limits(block_bytes=size))
        found = [item.key if isinstance(item, Document) else "" for item in reader.read(["-"])]
        assert found == [""] * bool(start) + ["", "", "a", ""]
    late = b'{"pad": "%s"}\n' % (b"x" * (1 << 20))
    (failure,) = new_session(False, stdin=io.BytesIO(late + rest), auto_key=True).read(["-"])
    assert isinstance(failure, Failure)
    assert failure.reason.endswith("(the fields are pad)")


def bad_bytes(name: str) -> bytes:
    """Rows whose text, metadata and keys are not UTF-8, each in its own way."""
    if name == "x.jsonl":
        return (
            b'{"id": "k", "text": "caf\xe9", "x": "\xe7\x8b"}\n{"id": "b", "text": "\xc3\xa9"}\n'
            b'{"id": "k\xff", "text": "caf\xe9"}\n{"id": "k\\ud800", "text": "th\xe9"}'
        )
    if name == "x.csv":
        return b"id,text,x\nk,caf\xe9,\xe7\x8b\nb,\xc3\xa9,\nk\xff,caf\xe9,\nk\xfe,th\xe9,\n"
    columns = {
        "id": pa.array([b"k", b"b", b"k\xff", b"k\xfe"]).view(pa.string()),
        "text": pa.array([b"caf\xe9", b"\xc3\xa9", b"caf\xe9", b"th\xe9"], pa.binary()),
        "x": pa.array([b"\xe7\x8b", None, None, None]).view(pa.string()).dictionary_encode(),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet"])
def test_bytes_that_are_not_utf8_are_replaced_and_counted_or_refused(
    name: str, tmp_path: Path
) -> None:
    reader = new_session(False)
    first, second, *refused = from_file(name, bad_bytes(name), reader, tmp_path)
    assert [failure.reason for failure in refused] == [TORN_KEY] * 2
    assert first == Document("k", "caf\ufffd", {"x": "\ufffd"})
    assert (second.key, second.content) == ("b", "\u00e9")
    assert reader.counts.replaced == 1
    strict = from_file(name, bad_bytes(name), new_session(False, strict=True), tmp_path)
    found = [getattr(item, "key", None) or "not UTF-8" in item.reason for item in strict]
    assert found == [True, "b", True, True]


@pytest.mark.app("tables")
@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
def test_strings_that_are_not_utf8_are_replaced_wherever_they_are(tmp_path: Path) -> None:
    invalid_utf8 = pa.array([b"ok", b"\xff", b"\xe7\x8b", None]).view(pa.string())
    nested = pa.ListArray.from_arrays([0, 2, 4], invalid_utf8)
    code = invalid_utf8[:2].dictionary_encode()
    inner = pa.StructArray.from_arrays(
        [nested, invalid_utf8[:2], code], names=["list", "text", "code"]
    )
    with lshdb.open(tmp_path / "x.db") as db:
        table = pa.table({"id": ["a", "b"], "text": ["t", "u"], "x": inner})
        assert db.add_table(table).replaced == 2
        found = [db.get(key).metadata for key in "ab"]
        raw = pa.table({"id": ["c"], "title": [b"caf\xe9"], "body": [b"caf\xc3\xa9"]})
        assert db.add_table(raw, text="title,body").replaced == 1
        assert db.get("c").content == "caf\ufffd\ncaf\u00e9"
    assert found == [
        {"x": {"list": ["ok", "\ufffd"], "text": "ok", "code": "ok"}},
        {"x": {"list": ["\ufffd", None], "text": "\ufffd", "code": "\ufffd"}},
    ]


@pytest.mark.app("tables")
def test_a_lone_surrogate_costs_a_row_of_pandas_its_key(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["a\ud800", "b"], "text": ["one", "two"]})
    failures: list[Failure] = []
    with lshdb.open(tmp_path / "x.db") as db:
        assert db.add_table(frame, on_failure=failures.append).added == 1
        assert failures[0].reason.startswith("field 'id' has a lone surrogate")
        with pytest.raises(ContentError, match="has a lone surrogate"):
            db.add_many([("good", "text"), {"id": "a\ud800", "text": "t"}])


TEXT = st.text(st.characters(codec="utf-8"), max_size=6)


@settings(max_examples=12)
@given(rows=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8))
def test_any_strings_come_back_from_every_source(
    rows: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    records = [{"id": f"k{a}".replace("\0", "0"), "text": b, "x": c} for a, b, c in rows]
    expected = [Document(one["id"], one["text"], {"x": one["x"]}) for one in records]
    directory = tmp_path_factory.getbasetemp()
    for name in ALL:
        if name == "x.csv" and any("\r" in "".join(row) or "\0" in "".join(row) for row in rows):
            continue  # Python's csv writes and reads these otherwise
        assert [*items_of(name, records, new_session(False), directory)] == expected, name


_USUAL = st.fixed_dictionaries(
    {"id": st.text("ab", min_size=1, max_size=2), "text": st.text(max_size=3)},
    optional={
        "year": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        "tags": st.recursive(st.none() | st.integers(), lambda inner: st.lists(inner, max_size=2)),
    },
)
_ODD: st.SearchStrategy[Record] = st.dictionaries(
    st.sampled_from(["id", "text", "metadata", "a"]),
    st.sampled_from(["", "a\0", "é", None, 1, -(2**70), 1.5, True, [], {"b": []}, '{"c": 1}']),
)


@given(
    st.lists(_USUAL, max_size=3),
    st.lists(_USUAL | _ODD, max_size=2),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "", '{"a": ' + "[" * 250 + "]" * 250 + "}", "7", '{"id": "\\ud800"}']),
)
def test_lines_that_are_checked_together_are_read_as_each_alone(
    tmp_path_factory: pytest.TempPathFactory,
    usual: list[Record],
    others: list[Record],
    numbers: bool,
    metadata: bool,
    line: str,
) -> None:
    """A blank line has all lines of its block read one by one."""
    records = [*usual, *others]
    if numbers:
        records = [record | {"id": index // 2} for index, record in enumerate(records)]
    lines = [*map(json.dumps, records), *filter(None, [line])]
    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    read = []
    for end in ("\n", "\n\n"):
        path.write_text("\n".join(lines) + end)
        session = new_session(metadata=metadata)
        columns = [
            (list(b.keys), list(b.contents), list(b.all_metadata()), list(b.indices), b.failures)
            for b in session.batches([str(path)])
            if b.keys or b.failures
        ]
        read.append((columns, session.counts.replaced))
    assert read[0] == read[1]


# texts within lists


FERRY = "the ferry to the islands runs every hour from the pier"
TURNS = [{"from": "a", "value": FERRY}, {"from": "b", "value": "yes"}, {"from": "c"}]
B = {"from": "b"}
PARTS = [{"type": "text", "text": "b"}, {"type": "image_url", "image_url": {"url": "x"}}, "c"]
CHAT = [{"value": "a", "from": "a"}, {"value": None}, {"value": PARTS}, {"value": ["d"]}]
"""Messages of a chat: a text, none, and lists of parts."""


@pytest.mark.parametrize(
    ("field", "row", "text", "left"),
    [
        ("turns[].value", {"turns": TURNS[1:]}, "yes", {"turns": [B, {"from": "c"}]}),
        ("tags", {"tags": ["a", None, "b c"], "n": 1}, "a\nb c", {"n": 1}),

        ("turns[].value", {"turns": CHAT}, "a\nb\nc\nd", {"turns": [{"from": "a"}, {}, {}, {}]}),
        ("m.t[].value", {"m": {"t": TURNS[1:2], "n": 1}}, "yes", {"m": {"n": 1, "t": [B]}}),
        ("t,turns[].value", {"t": "head", "turns": TURNS[1:2]}, "head\nyes", {"turns": [B]}),
    ],
)  # fmt: skip
def test_texts_within_lists(
    path: Path, field: str, row: dict[str, object], text: str, left: dict[str, object]
) -> None:
    rows = path.parent / "a.jsonl"
    rows.write_text(json.dumps({"id": "x", **row}) + "\n")
    with lshdb.open(path) as database:
        assert database.add_files([str(rows)], text_field=field).added == 1
        stored = database.get("x")
    assert (stored.content, stored.metadata) == (text, left)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"meta": None}, ": field 'meta' is null, so there is no 'meta.body' (the fields are id, "),
        ({"meta": {"body": None}}, ":1: field 'meta.body' is null, not a string"),
        ({"meta": {"body": ["a", 1]}}, ":1: element 2 of field 'meta.body' is a number, not a str"),
        ({"meta": {"body": []}}, ":1: field 'meta.body' is an array without texts"),
        ({}, ": no field 'meta.body': name it with --text-field (the fields are id)"),
        ({"meta": [{}, {"body": "a"}]}, ": no field 'meta.body': in a list it is 'meta[].body' ("
         "the fields are id, meta)"),
        ({"meta": {"body": [PARTS, {"a": 1, "b": "c"}]}}, ":1: element 2 of field 'meta.body' is "
         "an object, not a string; for a field of it write 'meta.body[].b'"),
    ],
)  # fmt: skip
def test_a_row_without_a_text(command: Command, row: dict[str, object], says: str) -> None:
    """What no row has costs the file."""
    command.write("a.jsonl", json.dumps({"id": 1, **row}) + "\n")
    assert f"a.jsonl{says}" in command("add", "a.jsonl", "--text-field", "meta.body").err


@pytest.mark.app("dedup")
@pytest.mark.parametrize("value", [[], [None], [{"value": None}], [{"value": []}], None])
def test_a_chat_without_texts_is_a_missing_text(command: Command, value: object) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{"id": "a", "turns": value}, {"id": "b", "turns": [{"value": PARTS[:2]}]}]
    command.write("a.jsonl", rows)
    pa.parquet.write_table(pa.Table.from_pylist(rows), command.path("b.parquet"))
    field = "turns[].value"
    for name in ("a.jsonl", "b.parquet"):
        how = ("dedup", name, "--text-field", field, "-o")
        assert f"{name}:1: field 'turns" in command(*how, "out.jsonl").err
        assert len(command.path("out.jsonl").read_bytes().splitlines()) == 1
        says = "kept 2, dropped 0, failed 0\nempty: 1 without a shingle, similar to nothing\n"
        command.done(*how, "out.jsonl", "--on-null", "keep", says=says)
        for data in (str(command.path(name)), pandas.DataFrame(rows), rows):
            assert lshdb.dedup(data, text=field, on_null="keep").failed == 0


@pytest.mark.app("dedup")
def test_texts_within_lists_of_tables(command: Command) -> None:
    pandas = pytest.importorskip("pandas")
    turns = [{"from": "a", "value": FERRY}, {"from": "b", "value": None}]
    rows = [{"id": key, "turns": turns, "tags": ["x", FERRY]} for key in ("a", "b")]
    rows.append({"id": "c", "turns": [], "tags": []})
    table = pa.Table.from_pylist(rows)
    pa.parquet.write_table(table, path := command.path("in.parquet"))
    for data, field in product(
        [str(path), table, pandas.DataFrame(rows)], ["turns[].value", "tags"]
    ):
        with pytest.warns(lshdb.FailureWarning, match=rf"field '{re.escape(field)}' is an array w"):
            result = lshdb.dedup(data, text=field)
        assert ([row.key for row in result.dropped], result.failed) == (["b"], 1)
    how = ("--text-field", "tags", "--cut", "3", "-o", "out.parquet")
    assert "texts can be cut in one field only" in command("dedup", "in.parquet", *how).err


@pytest.mark.parametrize(
    "number", ["0.12345678901234567891234", "12345678901234567890.5", "12345678901234567890.0"]
)
def test_an_id_of_many_digits_is_one_key_behind_every_door(command: Command, number: str) -> None:
    command.write("a.jsonl", f'{{"id": {number}, "text": "a text", "n": 1}}\n')
    command.write("a.json", f'[{{"id": {number}, "text": "a text"}}]')
    command.write("a.csv", f"id,text\n{number},a text\n")
    for name, *words in (["a.jsonl"], ["a.jsonl", "--no-metadata"], ["a.json"], ["a.csv"]):
        command.done("add", name, *words)
    with lshdb.open(command.path("lsh.db")) as db:
        db.add_many([{"id": Decimal(number), "text": "a text"}])
        assert [*db.keys()] == [number]
