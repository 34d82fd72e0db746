"""Every command that prints rows, in every format: the same columns, the same rows."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import inspection
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from extras import app_of, if_there
from helpers import Command, database_of, finish

import lshdb
from lshdb.cli.app import COMMANDS as APP_COMMANDS
from lshdb.json_text import dumps
from lshdb.offers import is_there

KEY = 'a,"quoted" one\x1b[31m'
"""A key that each format writes in another way, and a terminal never gets as it is."""
STATEMENT = """select 1 as n, 1 / 3.0 as x, null as z, 'two' || char(10) || 'lines' as t,
    x'00ff' as b, 2 as n union all select -5, 2, null, '', x'', 9223372036854775807"""
COMMANDS = {
    "pairs": "pairs",
    "estimates": "pairs --estimate",
    "clusters": "clusters",
    "query": "query --key KEY",
    "pairs with fields": "pairs --fields year,none --top 2",
    "clusters with fields": "clusters --fields year,key",
    "query with fields": "query --key KEY --fields key,year",
    "keys to drop": "clusters --drop-list",
    "containment": "query --key KEY --containment --quiet",
    "queries": "query sets.jsonl --quiet",
    "queries with fields": "query sets.jsonl --quiet --fields query,year",
    "unmatched": "query sets.jsonl --unmatched",
    "passages": "passages -d texts.db --key KEY",
    "pairs that share passages": "passages -d texts.db --all",
    "all passages": "passages -d texts.db --all --passages",
    "sync": "sync -d texts.db --dry-run notes",
    "folders": "folders -d texts.db",
    "decisions": "decisions -d decided.db",
    "sql": "sql STATEMENT",
    "info": "info",
    "show": "show KEY",
    "compare": "compare KEY b",
    "tune": "tune --construction AND_OR",
    "measure": "measure",
    "check": "check -d damaged.db",
}
"""Commands that print rows; interface.txt has their columns."""
NO_LINES = {"sql", "info", "show", "compare"}
"""Their text is no line for each row, with a heading."""
"""A command, the columns of its rows, and those that its text shows as lines."""
WORDS = {"KEY": KEY, "STATEMENT": STATEMENT, "AND_OR": "and 2, or 3"}
TYPES: dict[Any, Callable[[str], Any]] = {
    pa.int64(): int,
    pa.float64(): float,
    pa.bool_(): {"true": True, "false": False}.__getitem__,
    pa.binary(): lambda cell: bytes.fromhex(cell[2:-1]),
    pa.string(): str,
}
"""How a cell of CSV becomes a value of a type."""


NAMES = [
    pytest.param(name, marks=pytest.mark.app("passages" if name == "containment" else app_of(line)))
    for name, line in COMMANDS.items()
]


def words_of(name: str) -> list[str]:
    return [WORDS.get(word, word) for word in COMMANDS[name].split()]


OTHERS = {
    *("init", "add", "review", "decide", "remove", "trash", "dedup", "reindex"),
    *("backup", "report", "serve", "mcp", "spark-dedup", "spark-passages", "gate"),
}
"""Commands whose results are not rows: files, and counts of what was done; and one whose rows are
failures, of a repository (test_gate)."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("results")
    with lshdb.open(directory / "lsh.db", threshold=0.6, shingle="set") as db:
        stored = {KEY: [*range(9)], "b": [*range(10)], "c": [*range(2, 10)]}
        fields = [{"year": 2020 + n, "key": "\x1b[1m"} for n in range(3)]
        documents = zip(stored.items(), fields, strict=True)
        db.add_many(lshdb.Document(*one, metadata) for one, metadata in documents)
        db.backup(directory / "damaged.db")
        db.backup(directory / "decided.db")
    if is_there("review"):
        with lshdb.open(directory / "decided.db") as db:
            db.decide("different", [KEY, "c"], note="two lists", who="ann")
            db.decide("drop", ["b"])
    database_of(
        directory / "texts.db",
        [
            ("zero", "zero one two three"),
            (KEY, "one two three four, \x1b[31m five"),
            ("b", "Two, three,\nfour FIVE"),
            *((f"{folder}/{KEY}", "one more text") for folder in ("\x1b", "c", "d")),
        ],
        **if_there("passages", passages=3),
    ).close()
    sets = [(KEY, [*range(9)]), ("none", [77]), ("\x1b", [78])]
    lines = (json.dumps({"id": key, "set": one}) for key, one in sets)
    (directory / "sets.jsonl").write_text("\n".join(lines))
    (directory / "notes").mkdir()
    for name in ("a", "b"):
        (directory / "notes" / name).write_text(f"note {name}")
    with inspection.sqlite(directory / "damaged.db") as damaged:
        damaged.execute("DROP VIEW buckets")
        damaged.execute("DELETE FROM bands WHERE doc_id = 1")
    return directory


@pytest.mark.app("tables")
@pytest.mark.parametrize("name", NAMES)
def test_every_format_has_the_same_columns_and_rows(name: str, directory: Path) -> None:
    command = Command(directory)

    def printed(*options: str, by: Command = command) -> str:
        done = by(*words_of(name), *options)
        assert done.status == (1 if name == "check" else 0)
        return done.out

    def saved(suffix: str) -> Path:
        assert printed("-o", f"{name}{suffix}") == ""
        return directory / f"{name}{suffix}"

    table = pq.read_table(saved(".parquet"))
    rows = table.to_pylist()
    columns = dict(zip(table.column_names, table.schema.types, strict=True))
    assert len(rows) >= (1 if name in ("info", "show", "compare") else 2)

    def as_in_table(text: str) -> list[dict[str, Any]]:
        """Rows of JSON lines, with lists, objects and bytes as tables have them."""
        found = [json.loads(line) for line in text.splitlines()]
        for row in found:
            assert [*row] == [*columns]
            for column, value in row.items():
                if isinstance(value, list | dict):
                    row[column] = dumps(value)
                elif value is not None and columns[column] == pa.binary():
                    row[column] = bytes.fromhex(value.removeprefix("x'")[:-1])
        return found

    assert as_in_table(saved(".jsonl").read_text()) == rows
    assert as_in_table(printed("--json", by=Command(directory))) == rows, "as it is installed"
    heading, *cells = csv.reader(io.StringIO(printed("--csv"), newline=""))
    assert heading == [*columns]
    # What is printed has escapes for control characters, and nothing for a missing value.
    for row in rows:
        row.update({n: v.replace("\x1b", r"\x1b") for n, v in row.items() if isinstance(v, str)})
    of_csv = [
        [
            TYPES[kind](cell) if cell else ""
            for kind, cell in zip(columns.values(), row, strict=True)
        ]
        for row in cells
    ]
    assert of_csv == [["" if value is None else value for value in row.values()] for row in rows]
    if name in NO_LINES:
        return
    shown, *lines = [line.split("\t") for line in printed("--heading").splitlines()]
    assert lines == [
        [
            "identical" if column == "exact" and row["identical"] else as_text(row[column])
            for column in shown
        ]
        for row in rows
    ]
    assert [line.split("\t") for line in printed().splitlines()] == lines


@pytest.mark.app("tables")
def test_what_every_format_has_is_in_files_too(directory: Path) -> None:
    """One writer for all commands: what it does with one it does with each."""
    command = Command(directory)
    in_csv = command.done("pairs", "--csv").out
    assert command.done("pairs", "--csv", "--no-heading").out == in_csv.partition("\n")[2]
    paths = {
        suffix: directory / f"pairs.{suffix}"
        for suffix in ("csv", "json", "arrow", "arrows", "tsv.bz2", "jsonl.gz")
    }
    for path in paths.values():
        command.done("pairs", "-o", path.name)
    saved = paths["csv"].read_bytes().decode()
    assert "\x1b" in saved, "only what is printed is escaped"
    assert in_csv == saved.replace("\x1b", "\\x1b")
    lines = command.done("pairs", "--json")
    rows = lines.records
    assert gzip.decompress(paths["jsonl.gz"].read_bytes()).decode() == lines.out
    assert json.loads(paths["json"].read_text()) == rows
    assert pa.ipc.open_file(paths["arrow"]).read_all().to_pylist() == rows
    assert pa.ipc.open_stream(paths["arrows"]).read_all().to_pylist() == rows
    with_tabs = bz2.decompress(paths["tsv.bz2"].read_bytes()).decode()
    cells = csv.reader(io.StringIO(with_tabs, newline=""), "excel-tab")
    assert [*cells] == [*csv.reader(io.StringIO(saved, newline=""))]


def as_text(value: object) -> str:
    if isinstance(value, bool):
        return "exact" if value else "estimate"
    if isinstance(value, str) and value.startswith('["'):
        return ", ".join(json.loads(value)).replace("\x1b", r"\x1b")
    if isinstance(value, float):
        return f"{value:.6f}" if value <= 1 else f"{value:.1f}"
    return "" if value is None else str(value)


def test_every_command_that_prints_rows_is_here() -> None:
    """A new command has all formats by its parameter `form`, or is named as one without rows."""
    known = {line.split()[0] for line in COMMANDS.values()} | OTHERS
    assert {name for name in known if is_there(app_of(name))} == set(APP_COMMANDS)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_not_written_over(name: str, directory: Path) -> None:
    words = words_of(name)
    own = directory / "own.csv"
    own.symlink_to(dict(pairwise(words)).get("-d", "lsh.db"))
    before = sorted(directory.iterdir())
    reason = Command(directory).fails(*words, "-o", own.name, status=2)
    assert "is the same file as" in reason
    assert sorted(directory.iterdir()) == before
    own.unlink()


@pytest.mark.app("tables")
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


@pytest.mark.app("tables")
def test_no_rows_are_a_file_too(directory: Path) -> None:
    command = Command(directory)
    nothing = ["query", "--text", "[77]"]
    command.done(*nothing, "-o", "none.csv", says="none.csv: 0 matches\n")
    heading = (directory / "none.csv").read_text()
    assert command.done(*nothing, "--csv", says="").out == heading
    # The installed command itself: the process of the tests has pyarrow loaded.
    started = command.start(*nothing, "-o", "none.parquet", stderr=-1)
    assert finish(started) == (0, "none.parquet: 0 matches\n")
    assert ",".join(pq.read_table(directory / "none.parquet").column_names) + "\n" == heading
    assert "no document with similarity" in command.done(*nothing).err
