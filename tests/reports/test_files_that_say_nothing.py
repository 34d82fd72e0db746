"""Files whose rows or ends were refused by a message that did not say what is wrong."""

from __future__ import annotations

import gzip
import json
import re
from itertools import product
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from direct_command import command as command
from helpers import Command

import lshdb

TEXT = "the ferry to the islands runs every hour from the pier"
ROWS = b"".join(b'{"id": %d, "text": "%d %s"}\n' % (i, i, TEXT.encode()) for i in range(3_000))
GZIP = gzip.compress(ROWS)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (GZIP[:-9], "gzip that is cut off: the end of the file is missing"),
        (GZIP + b"garbage", "gzip that is damaged, or has something else behind it; gzip -dc"),
        (ROWS, "not gzip: rename it"),
    ],
)
def test_a_compressed_file_that_is_not_whole(command: Command, data: bytes, says: str) -> None:
    command.write("a.jsonl.gz", data)
    done = command("add", "a.jsonl.gz")
    assert done.status == 1
    assert f"a.jsonl.gz: {says}" in done.err


def test_a_window_that_is_too_large(command: Command) -> None:
    # A frame without a size, with a window of 2 GB.
    command.write("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x01\x00\x00")
    said = command("add", "a.jsonl.zst").err
    assert "zstd with a window that is larger" in said or "zstd needs Python" in said
    assert "zstd -d --long=31" in said or "zstd needs Python" in said


def test_members_and_padding_of_gzip(command: Command) -> None:
    command.write("a.jsonl.gz", GZIP + gzip.compress(b'{"id": "last", "text": "b"}\n') + bytes(99))
    assert "added 3,001" in command.done("add", "a.jsonl.gz").err


TURNS = [{"from": "a", "value": TEXT}, {"from": "b", "value": "yes"}, {"from": "c"}]
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


@pytest.mark.parametrize("value", [[], [None], [{"value": None}], [{"value": []}], None])
def test_a_chat_without_texts_is_a_missing_text(command: Command, value: object) -> None:
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
        for data in (str(command.path(name)), pd.DataFrame(rows), rows):
            assert lshdb.dedup(data, text=field, on_null="keep").failed == 0


def test_texts_that_are_named_are_texts(command: Command) -> None:
    for name in ("a", "b"):
        command.write(f"{name}.txt", TEXT)
    done = command.done("dedup", "a.txt", "b.txt")
    assert done.out == "1.000000\tidentical\tb.txt\ta.txt\n"

    said = command.fails("dedup", "a.txt", "b.txt", "-o", "out.jsonl")
    assert "a.txt: a text, and no rows of JSON: --format text compares texts" in said
    assert not command.path("out.jsonl").exists()
    with pytest.raises(lshdb.InputError, match="a text, and no rows of JSON"):
        lshdb.dedup(str(command.path("a.txt")))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_rows_that_are_named_as_texts_are_rows(command: Command, encoding: str) -> None:
    command.write("rows.txt", f"\n{ROWS[:1000].decode().rpartition('{')[0]}".encode(encoding))
    done = command.done("dedup", "rows.txt")
    assert json.loads(done.lines[0]) == {"id": 0, "text": f"0 {TEXT}"}


def test_texts_within_lists_of_tables(command: Command) -> None:
    turns = [{"from": "a", "value": TEXT}, {"from": "b", "value": None}]
    rows = [{"id": key, "turns": turns, "tags": ["x", TEXT]} for key in ("a", "b")]
    rows.append({"id": "c", "turns": [], "tags": []})
    table = pa.Table.from_pylist(rows)
    pa.parquet.write_table(table, path := command.path("in.parquet"))
    for data, field in product([str(path), table, pd.DataFrame(rows)], ["turns[].value", "tags"]):
        with pytest.warns(lshdb.FailureWarning, match=rf"field '{re.escape(field)}' is an array w"):
            result = lshdb.dedup(data, text=field)
        assert ([row.key for row in result.dropped], result.failed) == (["b"], 1)
    how = ("--text-field", "tags", "--cut", "3", "-o", "out.parquet")
    assert "texts can be cut in one field only" in command("dedup", "in.parquet", *how).err
