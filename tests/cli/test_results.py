"""Every command that prints rows, in every format: the same columns, the same rows."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command

import lshdb

KEY = 'a,"quoted" one\x1b[31m'
"""A key that each format writes in another way, and a terminal never gets as it is."""
PAIR = {"a": str, "b": str, "similarity": float, "exact": bool, "estimate": float}
MEMBER = {
    "cluster": int,
    "key": str,
    "keep": str,
    "role": str,
    "similarity": float,
    "exact": bool,
}
MATCH = {"key": str, "similarity": float, "exact": bool, "estimate": float, "bands": int}
CONTAINED = {"key": str, "containment": float, **MATCH}
BUCKET: dict[str, type] = {"band_no": int, "bucket_key": int, "documents": int}
VALUES = {"n": int, "x": float, "z": str, "t": str, "b": bytes, "n:1": int}
STATEMENT = """select 1 as n, 1 / 3.0 as x, null as z, 'two' || char(10) || 'lines' as t,
    x'00ff' as b, 2 as n union all select -5, 2, null, '', x'', 9223372036854775807"""

COMMANDS: dict[str, tuple[list[str], dict[str, type], list[str]]] = {
    "pairs": (["pairs"], PAIR, ["similarity", "exact", "a", "b"]),
    "estimates": (["pairs", "--estimate"], PAIR, ["similarity", "exact", "a", "b"]),
    "clusters": (["clusters"], MEMBER, ["cluster", "similarity", "exact", "role", "key"]),
    "query": (["query", "--key", KEY], MATCH, ["similarity", "exact", "key"]),
    "containment": (
        ["query", "--key", KEY, "--containment", "--quiet"],
        CONTAINED,
        ["containment", "similarity", "exact", "key"],
    ),
    "buckets": (["buckets", "--top", "5"], BUCKET, list(BUCKET)),
    "sql": (["sql", STATEMENT], VALUES, list(VALUES)),
}
"""The arguments of a command, the columns of its rows, and those that its text shows."""
Row = dict[str, Any]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("results")
    with lshdb.open(directory / "lsh.db", threshold=0.6, shingle="set") as db:
        db.add_many([(KEY, [*range(9)]), ("b", [*range(10)]), ("c", [*range(2, 10)])])
    return directory


def from_json(text: str, columns: dict[str, type]) -> list[Row]:
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        row |= {name: bytes.fromhex(row[name]) for name in columns if columns[name] is bytes}
    return rows


def from_csv(text: str, columns: dict[str, type]) -> list[Row]:
    heading, *rows = csv.reader(io.StringIO(text, newline=""))
    assert heading == list(columns)

    def value(kind: type, cell: str) -> Any:
        if kind is bool:
            return {"true": True, "false": False}[cell]
        return bytes.fromhex(cell[2:-1]) if kind is bytes else kind(cell)

    return [
        {name: value(columns[name], cell) for name, cell in zip(columns, row, strict=True)}
        for row in rows
    ]


def told(rows: list[Row]) -> list[Row]:
    """Rows as CSV tells them: a missing value is an empty text."""
    return [{name: "" if v is None else v for name, v in row.items()} for row in rows]


def escaped(rows: list[Row]) -> list[Row]:
    """Rows as they are printed: a control character is an escape."""
    return [
        {name: v.replace("\x1b", "\\x1b") if isinstance(v, str) else v for name, v in row.items()}
        for row in rows
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_has_the_same_columns_and_rows(name: str, directory: Path) -> None:
    arguments, columns, shown = COMMANDS[name]
    command = Command(directory)

    def saved(suffix: str) -> Path:
        done = command.done(*arguments, "-o", f"{name}{suffix}")
        assert done.out == ""
        return directory / f"{name}{suffix}"

    rows = from_json(saved(".jsonl").read_text(), columns)
    assert len(rows) >= 2
    assert [list(row) for row in rows] == [list(columns)] * len(rows)

    table = pq.read_table(saved(".parquet"))
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    types |= {bytes: pa.binary()}
    assert [(field.name, field.type) for field in table.schema] == [
        (column, types[kind]) for column, kind in columns.items()
    ]
    assert table.to_pylist() == rows
    assert from_json(gzip.decompress(saved(".jsonl.gz").read_bytes()).decode(), columns) == rows
    assert from_csv(saved(".csv").read_bytes().decode(), columns) == told(rows)

    printed = command.done(*arguments, "--csv").out
    assert from_csv(printed, columns) == escaped(told(rows))
    printed = command.done(*arguments, "--json").out
    if name == "clusters":  # a cluster is a line
        clusters = [json.loads(line) for line in printed.splitlines()]
        found = [(c["cluster"], key, c["keep"]) for c in clusters for key in c["members"]]
        assert found == [(row["cluster"], row["key"], row["keep"]) for row in rows]
    else:
        assert from_json(printed, columns) == rows
    if name == "sql":  # the text is that of the sqlite3 shell
        return
    lines = [line.split("\t") for line in command.done(*arguments).lines]
    assert lines == [[cell(row[column]) for column in shown] for row in escaped(rows)]


def cell(value: object) -> str:
    if isinstance(value, bool):
        return "exact" if value else "estimate"
    return f"{value:.6f}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_format_that_is_not_known_is_refused_before_any_work(name: str, directory: Path) -> None:
    arguments, _, _ = COMMANDS[name]
    command = Command(directory)
    before = sorted(directory.iterdir())
    for wrong in ("rows.txt", "rows", "-"):
        reason = command.fails(*arguments, "-o", wrong, status=2)
        assert reason.startswith(f"--output {wrong}: the name must end in .csv")
    reason = command.fails(*arguments, "--json", "-o", "rows.csv", status=2)
    assert reason == "give one of --json, --csv and --output"
    (directory / "own.csv").symlink_to("lsh.db")
    assert "is the same file as" in command.fails(*arguments, "-o", "own.csv", status=2)
    (directory / "own.csv").unlink()
    assert sorted(directory.iterdir()) == before


def test_a_column_of_several_types_is_refused_by_parquet_only(directory: Path) -> None:
    command = Command(directory)
    for statement in (
        "select 1 as one, 'a' as v union all select 2, 7",
        # Another type, long after the type is chosen.
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000) "
        "select iif(i = 30000, 1.5, i) as v from n",
    ):
        reason = command.fails("sql", statement, "-o", "mixed.parquet", status=2)
        assert reason.startswith("column v has values of several types")
        assert not (directory / "mixed.parquet").exists()
        assert command.done("sql", statement, "-o", "mixed.jsonl").out == ""
    assert not list(directory.glob("*.partial"))


def test_no_rows_are_a_file_too(directory: Path) -> None:
    command = Command(directory)
    nothing = ["query", "--text", "[77]"]
    command.done(*nothing, "-o", "none.csv", says="none.csv: 0 matches\n")
    assert (directory / "none.csv").read_text() == ",".join(MATCH) + "\n"
    command.done(*nothing, "-o", "none.parquet", says="none.parquet: 0 matches\n")
    assert pq.read_table(directory / "none.parquet").column_names == list(MATCH)
    assert command.done(*nothing, "--csv", says="").lines == [",".join(MATCH)]
    assert command.done(*nothing, "--json", says="").out == ""
    assert "no document with similarity" in command.done(*nothing).err
