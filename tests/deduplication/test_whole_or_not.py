"""With a database, a run is whole or not at all: the output and the database agree."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from direct_command import command as command
from helpers import Command, text_families

import lshdb

ROWS = [
    {"id": f"row {number}", "text": text}
    for number, text in enumerate(
        text_families(5, families=150, copies=3, words=40, most_edits=6).values()
    )
]
OLD = [{"id": "old 1", "text": f"{ROWS[3]['text']} !"}, {"id": "old 2", "text": "not in any row"}]


def lines_of(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def start(directory: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "lshdb", "dedup", *words]
    return subprocess.Popen(command, cwd=directory, stdout=-3, stderr=-3)


def test_a_killed_run_changes_nothing_and_the_next_one_is_complete(command: Command) -> None:
    """At moments all over the run, with another writer beside it."""
    chosen, directory = random.Random("longest"), command.directory
    command.write("rows.jsonl", lines_of(ROWS))
    command.write("old.jsonl", lines_of(OLD))
    command.done("add", "-d", "expected.db", "old.jsonl")
    words = ["rows.jsonl", "--keep", "longest", "-o", "out.jsonl"]
    begun = time.monotonic()
    assert start(directory, *words, "-d", "expected.db").wait() == 0
    seconds = time.monotonic() - begun
    expected = command.path("out.jsonl").read_bytes()
    assert len(expected) > 10_000
    for _ in range(2):
        for path in directory.glob("seen.db*"):
            path.unlink()
        command.path("out.jsonl").unlink(missing_ok=True)
        command.done("add", "-d", "seen.db", "old.jsonl")
        process = start(directory, *words, "-d", "seen.db")
        time.sleep(chosen.uniform(0.2, seconds * 1.1))
        with lshdb.open(command.path("seen.db")) as database:
            database.add("beside", "another document of another process, at the same time")
        process.send_signal(chosen.choice([signal.SIGKILL, signal.SIGINT]))
        process.wait()
        keys = {*command.keys("seen.db")} - {"beside"}
        is_merged = keys != {"old 1", "old 2"}
        if command.path("out.jsonl").exists():
            assert command.path("out.jsonl").read_bytes() == expected
        else:
            assert not is_merged
        assert start(directory, *words, "-d", "seen.db").wait() == 0
        if not is_merged:
            assert command.path("out.jsonl").read_bytes() == expected
        assert {*command.keys("seen.db")} - {"beside"} == {*command.keys("expected.db")}
        command.done("check", "-d", "seen.db", "--deep")
    assert [path for path in directory.iterdir() if "partial" in path.name] == []


def test_a_table_is_in_the_database_only_when_it_is_written(command: Command) -> None:
    """An output that fails at its very end."""
    pq.write_table(pa.Table.from_pylist(ROWS), command.path("rows.parquet"))
    os.mkdir(command.path("out.parquet.d"))
    result = command(
        *("dedup", "rows.parquet", "-d", "seen.db", "-o", "out.parquet"),
        *("--dropped", "out.parquet.d/none/dropped.csv"),
    )
    assert result.status == 1
    assert not command.path("seen.db").exists()
    assert not command.path("out.parquet").exists()
    command.done("dedup", "rows.parquet", "-d", "seen.db", "-o", "out.parquet")
    kept = pq.read_table(command.path("out.parquet"))["id"].to_pylist()
    assert sorted(kept) == command.keys("seen.db")


def test_an_output_that_is_a_pipe_is_stored_batch_by_batch(command: Command) -> None:
    command.write("rows.jsonl", lines_of(ROWS))
    done = command.done("dedup", "rows.jsonl", "-d", "seen.db")
    kept = [json.loads(line)["id"] for line in done.out.splitlines()]
    assert command.keys("seen.db") == sorted(kept)


SAME_KEY = [
    {"id": "a", "text": "the fox and the grapes that hung over the wall of the garden"},
    {"id": "b", "text": "the crow and a piece of cheese under the tree by the river"},
    {"id": "a", "text": "the ant worked all summer long while the cricket sang its songs"},
]
COPIES = [{"id": str(n), "text": f"{row['text']}!"} for n, row in enumerate(SAME_KEY)]


@pytest.mark.parametrize("way", ["file", "pipe", "ordered", "library", "method", "table"])
def test_nothing_that_was_written_is_forgotten_although_keys_repeat(
    command: Command, way: str
) -> None:
    """Also of one key in two runs."""
    for rows in (SAME_KEY, COPIES):
        command.write("rows.jsonl", lines_of(rows))
        stay = [] if rows is COPIES else ["a", "b", "a"]
        words = ["dedup", "rows.jsonl", "-d", "seen.db"]
        if way == "pipe":
            out = command.done(*words).out
            assert [json.loads(line)["id"] for line in out.splitlines()] == stay
        elif way in ("file", "ordered"):
            command.done(*words, "-o", "o.jsonl", *(["--keep", "last"] if way == "ordered" else []))
            out = command.path("o.jsonl").read_text()
            assert [json.loads(line)["id"] for line in out.splitlines()] == stay
        elif way == "method":
            with lshdb.open(command.path("seen.db")) as db:
                path = str(command.path("rows.jsonl"))
                assert [row.key for row in db.dedup_files([path]) if not row.dropped] == stay
        else:
            data: Any = pa.Table.from_pylist(rows) if way == "table" else rows
            kept = lshdb.dedup(data, into=command.path("seen.db")).kept
            assert [
                str(row["id"]) for row in (kept.to_pylist() if way == "table" else kept)
            ] == stay
    keys = command.keys("seen.db")
    assert len(keys) == 3
    assert keys[0] == "a"
    assert keys[1].startswith("a#")
    assert keys[2] == "b"
    later = [{"id": "b", "text": "another text of a key that is known, unlike all of the others"}]
    assert [row["id"] for row in lshdb.dedup(later, into=command.path("seen.db")).kept] == ["b"]
    with lshdb.open(command.path("seen.db")) as db:
        assert db.get("b").content == SAME_KEY[1]["text"]
        assert len(db) == 4
        assert db.query(later[0]["text"])[0].key.startswith("b#")
    again = lshdb.dedup([*SAME_KEY, *later], into=command.path("seen.db"))
    assert [row["id"] for row in again.kept] == []
    if way in ("file", "pipe"):
        command.write("rows.jsonl", lines_of([*SAME_KEY, *later]))
        output = ["-o", "o.jsonl"] if way == "file" else []
        done = command.done("dedup", "rows.jsonl", "-d", "seen.db", *output)
        assert done.err.startswith("kept 0, dropped 4 (4 are the same rows as in an earlier run)")


def test_a_new_database_for_programs_has_passages(command: Command) -> None:
    rows = [{"id": "a", "text": "def total(values):\n    return sum(values)\n"}]
    command.write("rows.jsonl", lines_of(rows))
    command.done("dedup", "rows.jsonl", "-d", "a.db", "--for", "programs", "-o", "o.jsonl")
    lshdb.dedup(rows, into=command.path("b.db"), purpose="programs")
    with lshdb.open(command.path("c.db"), purpose="programs") as db:
        expected = db.settings.passages
    for name in ("a.db", "b.db"):
        with lshdb.open(command.path(name)) as db:
            assert db.settings.passages == expected > 0
