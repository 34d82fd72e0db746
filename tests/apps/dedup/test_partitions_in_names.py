"""Directories such as lang=en name a column of the rows in them, as for Hive, Spark and pyarrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command
from rows import as_file

import lshdb

SAME = "the quick brown fox jumps over the lazy dog"
PARTS: dict[str, list[dict[str, Any]]] = {
    "lang=de/year=2023": [{"id": "a", "text": SAME}],
    "lang=en/year=2024": [{"id": "b", "text": SAME}, {"id": "c", "text": "another text of words"}],
    "lang=S%C3%A3o/year=__HIVE_DEFAULT_PARTITION__": [{"id": "d", "text": "words of a last text"}],
}
VALUES = {"a": ("de", "2023"), "b": ("en", "2024"), "c": ("en", "2024"), "d": ("São", None)}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


@pytest.fixture(params=["parquet", "jsonl", "csv", "json"])
def suffix(request: pytest.FixtureRequest, command: Command) -> str:
    """Of the files in `data`."""
    for directory, rows in PARTS.items():
        path = command.path(f"data/{directory}/part-0.{request.param}")
        path.parent.mkdir(parents=True)
        path.write_bytes(as_file(path.name, rows))
    return str(request.param)


def values_of(row: dict[str, Any]) -> tuple[str, str | None]:
    return row["lang"], row["year"] or None


@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
def test_they_are_columns_of_one_file_and_of_metadata(suffix: str, command: Command) -> None:
    for output in (f"out.{suffix}", "out.jsonl"):
        command.done("dedup", "data", "--keep-max", "year", "-o", output)
        command.done("dedup", output, "-o", "read.jsonl")
        rows = [*map(json.loads, command.path("read.jsonl").read_text().splitlines())]
        assert {row["id"]: values_of(row) for row in rows} == {
            key: values for key, values in VALUES.items() if key != "a"
        }
    command.done("init")
    command.done("add", "data")
    with lshdb.open(command.path("lsh.db"), mode="read") as db:
        found = {key: values_of(db.get(key).metadata or {}) for key in db}
    assert found == VALUES
    kept = lshdb.dedup("data", keep_min="year").kept
    assert [(row["id"], *values_of(row)) for row in kept] == [
        (key, *VALUES[key]) for key in ("d", "a", "c")
    ]


def test_a_directory_keeps_files_as_they_are(suffix: str, command: Command) -> None:
    command.done("dedup", "data", "-o", "out/")
    for directory in PARTS:
        name = f"{directory}/part-0.{suffix}"
        written = command.path(f"out/{name}").read_bytes()
        if suffix in ("csv", "jsonl") and "en" not in name:
            assert written == command.path(f"data/{name}").read_bytes()
        assert b"lang" not in written


def test_the_own_column_of_a_row_counts(command: Command) -> None:
    table = pa.table({"id": ["a"], "text": [SAME], "lang": ["own"]})
    path = command.path("lang=en/part-0.parquet")
    path.parent.mkdir()
    pq.write_table(table, path)
    command.done("dedup", "lang=en", "-o", "out.parquet")
    assert pq.read_table(command.path("out.parquet")).equals(table)
    command.done("dedup", "lang=en/part-0.parquet", "--annotate", "out.jsonl")
    assert json.loads(command.path("out.jsonl").read_text())["lang"] == "own"
