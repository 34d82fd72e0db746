"""Every command that prints rows, in every format: the same columns, the same rows."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import inspection
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from direct_command import DirectCommand
from helpers import Command, database_of

import lshdb
from lshdb.cli.app import COMMANDS as APP_COMMANDS
from lshdb.json_text import dumps

KEY = 'a,"quoted" one\x1b[31m'
"""A key that each format writes in another way, and a terminal never gets as it is."""
STATEMENT = """select 1 as n, 1 / 3.0 as x, null as z, 'two' || char(10) || 'lines' as t,
    x'00ff' as b, 2 as n union all select -5, 2, null, '', x'', 9223372036854775807"""
KINDS = {"text": str, "int": int, "real": float, "flag": bool, "blob": bytes, "list": list}
WEIGHTED = "weighted real, weighted_share real"
PAIR = f"a text, b text, similarity real, exact flag, estimate real, identical flag, {WEIGHTED}"
MEMBER = "cluster int, key text, keep text, role text, similarity real, exact flag, identical flag"
FOUND = "key text, similarity real, exact flag, estimate real, bands int"
MATCH = f"{FOUND}, identical flag, {WEIGHTED}"
PASSAGE = (
    "start int, end int, line int, end_line int, stored_start int, stored_end int, "
    "stored_line int, stored_end_line int, passage_words int, similarity real, text text, "
    "kind text, score real, file text, stored_file text, page int, stored_page int"
)
COMMANDS = {
    "pairs": ("pairs", PAIR, "similarity exact a b"),
    "estimates": ("pairs --estimate", PAIR, "similarity exact a b"),
    "clusters": ("clusters", MEMBER, "cluster similarity exact role key"),
    "query": ("query --key KEY", MATCH, "similarity exact key"),
    "pairs with fields": (
        "pairs --fields year,none --top 2",
        f"{PAIR}, a.year int, a.none text, b.year int, b.none text",
        "",
    ),
    "clusters with fields": (
        "clusters --fields year,key",
        f"{MEMBER}, year int, metadata.key text",
        "cluster similarity exact role key year metadata.key",
    ),
    "query with fields": (
        "query --key KEY --fields key,year",
        f"{MATCH}, metadata.key text, year int",
        "similarity exact key metadata.key year",
    ),
    "keys to drop": ("clusters --drop-list", "key text", "key"),
    "containment": (
        "query --key KEY --containment --quiet",
        f"{FOUND}, containment real, identical flag, {WEIGHTED}",
        "containment similarity exact key",
    ),
    "queries": (
        "query sets.jsonl --quiet",
        f"query text, {MATCH}",
        "query similarity exact key",
    ),
    "queries with fields": (
        "query sets.jsonl --quiet --fields query,year",
        f"query text, {MATCH}, metadata.query text, year int",
        "",
    ),
    "unmatched": ("query sets.jsonl --unmatched", "query text", "query"),
    "passages": (
        "passages -d texts.db --key KEY",
        "query text, key text, coverage real, stored_coverage real, words int, "
        f"{WEIGHTED}, {PASSAGE}",
        "coverage key passage_words line stored_line text",
    ),
    "pairs that share passages": (
        "passages -d texts.db --all",
        f"a text, b text, words int, a_coverage real, b_coverage real, {WEIGHTED}, passages int",
        "a_coverage b_coverage words a b",
    ),
    "all passages": (
        "passages -d texts.db --all --passages",
        f"a text, b text, words int, a_coverage real, b_coverage real, {WEIGHTED}, {PASSAGE}",
        "words a b passage_words line stored_line text",
    ),
    "sync": (
        "sync -d texts.db --dry-run notes",
        "action text, key text, moved_from text",
        "action key moved_from",
    ),
    "folders": (
        "clusters -d texts.db --folders",
        "a_share real, b_share real, a_size_share real, b_size_share real, files int, bytes int, "
        "identical int, identical_bytes int, a text, b text, unread text, a_unread int, "
        "b_unread int, a_unread_files list, b_unread_files list",
        "a_share b_share files bytes a b unread",
    ),
    "decisions": (
        "decisions -d decided.db",
        "decision int, verdict text, keys list, digests list, note text, who text, "
        "decided text, state text",
        "decision verdict keys state who decided note",
    ),
    "buckets": (
        "buckets --top 5",
        "band_no int, bucket_key int, documents int",
        "band_no bucket_key documents",
    ),
    "sql": ("sql STATEMENT", "n int, x real, z text, t text, b blob, n:1 int", ""),
    "info": (
        "info",
        "documents int, empty int, unindexed int, threshold real, recall real, shingle text, "
        "permutations int, lane_bits int, "
        "bands int, rows int, construction text, sketch text, seed int, content flag, "
        "passages int, reworded flag, base list, base_shingles int, bytes int, tables list",
        "",
    ),
    "show": (
        "show KEY",
        "key text, doc_id int, elements int, shingles int, distinct_shingles int, "
        "metadata list, signature list, buckets list",
        "",
    ),
    "compare": (
        "compare KEY b",
        "a text, b text, a_shingles int, b_shingles int, shared int, union int, "
        "similarity real, identical flag, a_in_b real, b_in_a real, estimate real, "
        "standard_error real, agreeing_lanes int, lanes int, shared_buckets list, bands int, "
        "candidates flag, candidate_probability real, passages list, shared_elements list, "
        "base list, agreeing_bands int",
        "",
    ),
    "tune": (
        "tune --construction AND_OR",
        "construction text, lanes int, bands int, rows int, recall real, 0.1 real, 0.2 real, "
        "0.3 real, 0.4 real, 0.5 real, 0.6 real, 0.7 real, 0.8 real, 0.9 real, bytes int, "
        "candidates real, chosen flag, named flag",
        "construction recall 0.3 0.5 0.7 bytes candidates",
    ),
    "measure": (
        "tune --measure",
        "what text, from real, to real, measured real, formula real, low real, high real, "
        "pairs int, found int, exact flag",
        "what from to measured formula low high pairs",
    ),
    "check": (
        "check -d damaged.db",
        "finding text, kind text, count int, what text, examples list, remaining int",
        "kind count what examples",
    ),
}
"""A command, the columns of its rows, and those that its text shows as lines."""
WORDS = {"KEY": KEY, "STATEMENT": STATEMENT, "AND_OR": "and 2, or 3"}


def parsed(name: str) -> tuple[list[str], dict[str, type], list[str]]:
    """The arguments of a command, its columns with their types, and those shown."""
    line, columns, shown = COMMANDS[name]
    kinds = (one.rsplit(" ", 1) for one in columns.split(", "))
    arguments = [WORDS.get(word, word) for word in line.split()]
    return arguments, {column: KINDS[kind] for column, kind in kinds}, shown.split()


OTHERS = {
    "init",
    "add",
    "review",
    "decide",
    "remove",
    "trash",
    "dedup",
    "restore",
    "reindex",
    "backup",
    "plot",
    "report",
    "serve",
    "mcp",
    "spark-dedup",
    "spark-passages",
    "gate",
}
"""Commands whose results are not rows: files, and counts of what was done; and one whose rows are
failures, of a repository (test_gate)."""
Row = dict[str, Any]


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
        passages=3,
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


def from_json(text: str, columns: dict[str, type]) -> list[Row]:
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        for name in (name for name in columns if columns[name] is bytes):
            assert re.fullmatch("x'([0-9a-f]{2})*'", row[name])
            row[name] = bytes.fromhex(row[name][2:-1])
    return rows


def from_csv(text: str, columns: dict[str, type]) -> list[Row]:
    heading, *rows = csv.reader(io.StringIO(text, newline=""))
    assert heading == list(columns)

    def value(kind: type, cell: str) -> Any:
        if not cell:
            return ""
        if kind is bool:
            return {"true": True, "false": False}[cell]
        return bytes.fromhex(cell[2:-1]) if kind is bytes else (str if kind is list else kind)(cell)

    return [
        {name: value(columns[name], cell) for name, cell in zip(columns, row, strict=True)}
        for row in rows
    ]


def as_reported(rows: list[Row]) -> list[Row]:
    """Rows as CSV has them: a missing value is an empty text."""
    return [{name: "" if v is None else v for name, v in row.items()} for row in flat(rows)]


def flat(rows: list[Row]) -> list[Row]:
    """Rows as tables have them: lists and objects are JSON text."""
    return [
        {name: dumps(v) if isinstance(v, list | dict) else v for name, v in row.items()}
        for row in rows
    ]


def escaped(rows: list[Row]) -> list[Row]:
    """Rows as they are printed: a control character is an escape."""
    return [
        {name: v.replace("\x1b", "\\x1b") if isinstance(v, str) else v for name, v in row.items()}
        for row in rows
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_has_the_same_columns_and_rows(name: str, directory: Path) -> None:
    arguments, columns, shown = parsed(name)
    command = DirectCommand(directory)

    def printed(*options: str) -> str:
        done = command(*arguments, *options)
        assert done.status == (1 if name == "check" else 0)
        return done.out

    def saved(suffix: str) -> Path:
        assert printed("-o", f"{name}{suffix}") == ""
        return directory / f"{name}{suffix}"

    rows = from_json(saved(".jsonl").read_text(), columns)
    assert len(rows) >= (1 if name in ("info", "show", "compare") else 2)
    assert [list(row) for row in rows] == [list(columns)] * len(rows)

    table = pq.read_table(saved(".parquet"))
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    types |= {bytes: pa.binary(), list: pa.string()}
    assert [(field.name, field.type) for field in table.schema] == [
        (column, types[kind]) for column, kind in columns.items()
    ]
    assert table.to_pylist() == flat(rows)
    in_csv = printed("--csv")
    assert from_csv(in_csv, columns) == escaped(as_reported(rows))
    installed = Command(directory)(*arguments, "--json")
    assert from_json(installed.out, columns) == rows
    if not shown:  # no lines of these columns; other tests say what there is
        return
    lines = [line.split("\t") for line in printed("--heading").splitlines()]
    wanted = [
        [
            "identical" if column == "exact" and row["identical"] else cell(row[column])
            for column in shown
        ]
        for row in escaped(rows)
    ]
    assert lines == [shown, *wanted]
    assert [line.split("\t") for line in printed().splitlines()] == wanted


def test_csv_and_gzip_in_a_file_and_csv_without_a_heading(directory: Path) -> None:
    """One writer for all commands: what it does with one it does with each."""
    command = DirectCommand(directory)
    in_csv = command.done("pairs", "--csv").out
    command.done("pairs", "-o", "pairs.csv")
    saved = (directory / "pairs.csv").read_bytes().decode()
    assert "\x1b" in saved, "only what is printed is escaped"
    assert in_csv == saved.replace("\x1b", "\\x1b")
    assert command.done("pairs", "--csv", "--no-heading").out == in_csv.partition("\n")[2]
    for suffix in (".json", ".arrow", ".arrows", ".tsv.bz2"):
        command.done("pairs", "-o", f"pairs{suffix}")
    rows = command.done("pairs", "--json").records
    assert json.loads((directory / "pairs.json").read_text()) == rows
    assert pa.ipc.open_file(directory / "pairs.arrow").read_all().to_pylist() == rows
    assert pa.ipc.open_stream(directory / "pairs.arrows").read_all().to_pylist() == rows
    with_tabs = bz2.decompress((directory / "pairs.tsv.bz2").read_bytes()).decode()
    cells = csv.reader(io.StringIO(with_tabs, newline=""), "excel-tab")
    assert [*cells] == [*csv.reader(io.StringIO(saved, newline=""))]
    command.done("pairs", "-o", "pairs.jsonl.gz")
    zipped = (directory / "pairs.jsonl.gz").read_bytes()
    assert gzip.decompress(zipped).decode() == command.done("pairs", "--json").out


def cell(value: object) -> str:
    if isinstance(value, bool):
        return "exact" if value else "estimate"
    if isinstance(value, list):
        return ", ".join(value).replace("\x1b", "\\x1b")
    if isinstance(value, float):
        return f"{value:.6f}" if value <= 1 else f"{value:.1f}"
    return "" if value is None else str(value)


def test_every_command_that_prints_rows_is_here() -> None:
    """A new command has all formats by its parameter `form`, or is named as one without rows."""
    assert {line.split()[0] for line, _, _ in COMMANDS.values()} | OTHERS == set(APP_COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_read_is_not_written_over(name: str, directory: Path) -> None:
    arguments, _, _ = parsed(name)
    own = directory / "own.csv"
    own.symlink_to(dict(pairwise(arguments)).get("-d", "lsh.db"))
    before = sorted(directory.iterdir())
    reason = DirectCommand(directory).fails(*arguments, "-o", own.name, status=2)
    assert "is the same file as" in reason
    assert sorted(directory.iterdir()) == before
    own.unlink()


def test_a_column_of_several_types_is_refused_by_parquet_only(directory: Path) -> None:
    command = DirectCommand(directory)
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
    command = DirectCommand(directory)
    nothing, columns = ["query", "--text", "[77]"], [*parsed("query")[1]]
    command.done(*nothing, "-o", "none.csv", says="none.csv: 0 matches\n")
    assert (directory / "none.csv").read_text() == ",".join(columns) + "\n"
    # Started as the installed command is: the copies have pyarrow loaded.
    started = DirectCommand(directory, {"PYTHONHASHSEED": "1"})
    started.done(*nothing, "-o", "none.parquet", says="none.parquet: 0 matches\n")
    assert pq.read_table(directory / "none.parquet").column_names == columns
    assert command.done(*nothing, "--csv", says="").lines == [",".join(columns)]
    assert "no document with similarity" in command.done(*nothing).err
