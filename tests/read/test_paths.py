"""Names of files and their keys, also of names that are not UTF-8."""

from __future__ import annotations

import ast
import json
import os
import re
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command
from hypothesis import given
from hypothesis import strategies as st
from rows import as_file

import lshdb
from lshdb.read.paths import escaped, key_of, path_of_key

NAMES = (b"caf\xe9.txt", b"new\nline.txt", b"back\\xe9slash.txt", b"in \xff/\xe9.txt")
"""As they are on the disk; the third has a backslash itself."""


@pytest.mark.parametrize("name", [*NAMES, b"plain.txt", b"\\x41.txt", "é\\xc3.txt".encode()])
def test_a_key_leads_back_to_its_file(command: Command, name: bytes) -> None:
    command.write(os.fsdecode(name), "")
    path, root = str(command.path(os.fsdecode(name))), str(command.directory)
    assert path_of_key(key_of(path, root), root) == path
    assert not os.path.lexists(path_of_key("none/\\xe9.txt", root))


@given(st.text())
def test_an_escaped_text_is_printable_and_tells_what_it_was(text: str) -> None:
    shown = escaped(text)
    assert not [letter for letter in shown if not letter.isprintable() and not is_space(letter)]
    marked = re.sub(r"\\", r"\\\\", text)  # a backslash of its own would end up as an escape
    quoted = escaped(marked).replace('"', '\\"')
    assert ast.literal_eval(f'"{quoted}"') == text


def is_space(letter: str) -> bool:
    return unicodedata.category(letter) == "Zs"


# columns in the names of directories


FOX = "the quick brown fox jumps over the lazy dog"
PARTS: dict[str, list[dict[str, Any]]] = {
    "lang=de/year=2023": [{"id": "a", "text": FOX}],
    "lang=en/year=2024": [{"id": "b", "text": FOX}, {"id": "c", "text": "another text of words"}],
    "lang=S%C3%A3o/year=__HIVE_DEFAULT_PARTITION__": [{"id": "d", "text": "words of a last text"}],
}
VALUES = {"a": ("de", "2023"), "b": ("en", "2024"), "c": ("en", "2024"), "d": ("São", None)}


@pytest.fixture
def partitioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


@pytest.fixture(params=["parquet", "jsonl", "csv", "json"])
def suffix(request: pytest.FixtureRequest, partitioned: Command) -> str:
    """Of the files in `data`."""
    for directory, rows in PARTS.items():
        path = partitioned.path(f"data/{directory}/part-0.{request.param}")
        path.parent.mkdir(parents=True)
        path.write_bytes(as_file(path.name, rows))
    return str(request.param)


def values_of(row: dict[str, Any]) -> tuple[str, str | None]:
    return row["lang"], row["year"] or None


@pytest.mark.app("dedup")
@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
def test_they_are_columns_of_one_file_and_of_metadata(suffix: str, partitioned: Command) -> None:
    for output in (f"out.{suffix}", "out.jsonl"):
        partitioned.done("dedup", "data", "--keep-max", "year", "-o", output)
        partitioned.done("dedup", output, "-o", "read.jsonl")
        rows = [*map(json.loads, partitioned.path("read.jsonl").read_text().splitlines())]
        assert {row["id"]: values_of(row) for row in rows} == {
            key: values for key, values in VALUES.items() if key != "a"
        }
    partitioned.done("init")
    partitioned.done("add", "data")
    with lshdb.open(partitioned.path("lsh.db"), mode="read") as db:
        found = {key: values_of(db.get(key).metadata or {}) for key in db}
    assert found == VALUES
    kept = lshdb.dedup("data", keep_min="year").kept
    assert [(row["id"], *values_of(row)) for row in kept] == [
        (key, *VALUES[key]) for key in ("d", "a", "c")
    ]


@pytest.mark.app("dedup")
def test_a_directory_keeps_files_as_they_are(suffix: str, partitioned: Command) -> None:
    partitioned.done("dedup", "data", "-o", "out/")
    for directory in PARTS:
        name = f"{directory}/part-0.{suffix}"
        written = partitioned.path(f"out/{name}").read_bytes()
        if suffix in ("csv", "jsonl") and "en" not in name:
            assert written == partitioned.path(f"data/{name}").read_bytes()
        assert b"lang" not in written


@pytest.mark.app("dedup")
def test_the_own_column_of_a_row_counts(partitioned: Command) -> None:
    table = pa.table({"id": ["a"], "text": [FOX], "lang": ["own"]})
    path = partitioned.path("lang=en/part-0.parquet")
    path.parent.mkdir()
    pq.write_table(table, path)
    partitioned.done("dedup", "lang=en", "-o", "out.parquet")
    assert pq.read_table(partitioned.path("out.parquet")).equals(table)
    partitioned.done("dedup", "lang=en/part-0.parquet", "--annotate", "out.jsonl")
    assert json.loads(partitioned.path("out.jsonl").read_text())["lang"] == "own"
