"""With a database, a run is whole or not at all: the output and the database agree."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command, status_of, text_families

import lshdb
from lshdb.apps.dedup import adding, run
from lshdb.apps.dedup.file_rows import FilesOfRows
from lshdb.keys import distinct_key
from lshdb.store.partial_files import PartialFile
from lshdb.text.content import digest

ROWS = [
    {"id": f"row {number}", "text": text}
    for number, text in enumerate(
        text_families(5, families=75, copies=3, words=40, most_edits=6).values()
    )
]
OLD = [{"id": "old 1", "text": f"{ROWS[3]['text']} !"}, {"id": "old 2", "text": "not in any row"}]


def test_a_killed_run_changes_nothing_and_the_next_one_is_complete(command: Command) -> None:
    """At moments all over the run, with another writer beside it."""
    chosen, directory = random.Random("longest"), command.directory
    command.write("rows.jsonl", ROWS)
    command.write("old.jsonl", OLD)
    command.done("add", "-d", "expected.db", "old.jsonl")
    words = ["dedup", "rows.jsonl", "--keep", "longest", "-o", "out.jsonl"]
    command.done(*words, "-d", "expected.db")
    expected = command.path("out.jsonl").read_bytes()
    assert len(expected) > 10_000
    for _ in range(2):
        for path in directory.glob("seen.db*"):
            path.unlink()
        command.path("out.jsonl").unlink(missing_ok=True)
        command.done("add", "-d", "seen.db", "old.jsonl")
        process = command.forked(*words, "-d", "seen.db")
        time.sleep(chosen.uniform(0, 0.3))
        with lshdb.open(command.path("seen.db")) as database:
            database.add("beside", "another document of another process, at the same time")
        assert process.pid is not None
        os.kill(process.pid, chosen.choice([signal.SIGKILL, signal.SIGINT]))
        status_of(process)
        keys = {*command.keys("seen.db")} - {"beside"}
        is_merged = keys != {"old 1", "old 2"}
        if command.path("out.jsonl").exists():
            assert command.path("out.jsonl").read_bytes() == expected
        else:
            assert not is_merged
        command.done(*words, "-d", "seen.db")
        assert command.path("out.jsonl").read_bytes() == expected
        assert {*command.keys("seen.db")} - {"beside"} == {*command.keys("expected.db")}
        command.done("check", "-d", "seen.db", "--deep")
    assert [path for path in directory.iterdir() if "partial" in path.name] == []


STEPS: list[tuple[Any, str, str, int]] = [
    (PartialFile, "take_name", "before", 1),
    (PartialFile, "take_name", "before", 2),
    (PartialFile, "take_name", "before", 3),
    (run.Run, "merge", "before", 1),
    (adding, "note_run", "before", 1),
    (adding, "note_run", "after", 1),
    (run.Run, "merge", "after", 1),
    (run.Run, "__exit__", "after", 1),
]
"""What a run does at its end: a class or module, its function, and before or after which call."""


@contextmanager
def killed(owner: Any, method: str, when: str, number: int) -> Iterator[None]:
    """Die at a step of a run."""
    call, calls = getattr(owner, method), count(1)

    def step(*arguments: Any, **options: Any) -> None:
        if when == "before" and next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        call(*arguments, **options)
        if when == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(owner, method, step):
        yield


@pytest.mark.parametrize(
    ("order", "step"),
    [*(("longest", step) for step in STEPS), *(("first", step) for step in STEPS[3:5])],
    ids=lambda given: given if isinstance(given, str) else " ".join(map(str, given[1:])),
)
def test_the_same_command_after_a_kill_at_any_step_has_the_same_output(
    command: Command, step: tuple[Any, str, str, int], order: str
) -> None:
    """Also when it is given once more, and beside rows of an earlier run to the same file."""
    command.write("old.jsonl", [*OLD, *ROWS[40:60]])
    command.write("rows.jsonl", ROWS)
    outputs = ["-o", "out.jsonl", "--annotate", "all.jsonl", "--dropped", "dropped.jsonl"]
    words = ["dedup", "rows.jsonl", "--keep", order, *outputs, "-d"]
    names = outputs[1::2]

    def written() -> dict[str, bytes]:
        return {name: command.path(name).read_bytes() for name in names}

    command.done("dedup", "old.jsonl", "-d", "expected.db", "-o", "out.jsonl")
    command.done(*words, "expected.db")
    expected = written()
    assert len(expected["out.jsonl"]) > 10_000
    command.done("dedup", "old.jsonl", "-d", "seen.db", "-o", "out.jsonl")
    with killed(*step):
        assert status_of(command.forked(*words, "seen.db")) == -signal.SIGKILL
    for _ in range(2):
        command.done(*words, "seen.db")
        assert written() == expected
        assert command.keys("seen.db") == command.keys("expected.db")
    command.done("check", "-d", "seen.db", "--deep")


def test_other_rows_and_outputs_are_written_as_they_are(command: Command) -> None:
    """Only the output of the same rows is left, and only where it is as it was written."""
    words = ["dedup", "rows.jsonl", "-d", "seen.db", "-o", "out.jsonl"]
    command.write("rows.jsonl", ROWS[:30])
    command.done(*words)
    before = command.path("out.jsonl").read_bytes()
    assert "out.jsonl: left as" in command.done(*words).err
    assert command.path("out.jsonl").read_bytes() == before
    command.done("dedup", "rows.jsonl", "-d", "seen.db", "-o", "other.jsonl")
    assert command.path("other.jsonl").read_bytes() == b""
    command.write("rows.jsonl", ROWS[:20])
    command.done(*words)
    assert command.path("out.jsonl").read_bytes() == b""
    command.write("rows.jsonl", ROWS[:30])
    command.write("out.jsonl", before + b"{}\n")
    command.done(*words)
    assert command.path("out.jsonl").read_bytes() == b""


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
    command.write("rows.jsonl", ROWS)
    done = command.done("dedup", "rows.jsonl", "-d", "seen.db")
    kept = [json.loads(line)["id"] for line in done.out.splitlines()]
    assert command.keys("seen.db") == sorted(kept)


def test_an_ordered_run_with_a_database_is_stored_before_its_rows_go_out(
    command: Command,
) -> None:
    """All of it, so that a pipe is refused; files that have changed replace what is stored."""
    command.write("rows.jsonl", ROWS)
    for words in (["--keep", "last"], ["--keep-max", "id", "-o", "-"]):
        said = command.fails("dedup", "rows.jsonl", "-d", "seen.db", *words, status=2)
        assert "name a file with -o" in said
    assert not command.path("seen.db").exists()
    with lshdb.open(command.path("method.db")) as db:
        first = next(db.dedup_files([str(command.path("rows.jsonl"))], keep="last"))
        assert first.dropped is not None or first.key in db
        assert sorted(db.keys()) == sorted(row["id"] for row in lshdb.dedup(ROWS, keep="last").kept)
    command.path("d").mkdir()
    for text in ("the fox and the grapes", "the crow and a piece of cheese"):
        command.path("d/a.txt").write_text(text)
        command.path("d/b.txt").write_text(text)
        command("dedup", "d", "-d", "texts.db", "--keep", "last")
        assert command.rows("SELECT key, content FROM documents", "texts.db") == [("d/b.txt", text)]


SAME_KEY = [
    {"id": "a", "text": "the fox and the grapes that hung over the wall of the garden"},
    {"id": "b", "text": "the crow and a piece of cheese under the tree by the river"},
    {"id": "a", "text": "the ant worked all summer long while the cricket sang its songs"},
]
COPIES = [{"id": str(n), "text": f"{row['text']}!"} for n, row in enumerate(SAME_KEY)]


WAYS = ["file", "pipe", "ordered", "method", "ordered method", "library"]


def kept_by(command: Command, way: str, rows: list[dict[str, Any]]) -> list[str]:
    """The ids of the rows that a run keeps, with the database of earlier runs."""
    seen, path = command.path("seen.db"), command.path("rows.jsonl")
    command.write("rows.jsonl", rows)
    if way == "library":
        return [row["id"] for row in lshdb.dedup(rows, into=seen).kept]
    keep: Literal["first", "last"] = "last" if way.startswith("ordered") else "first"
    if way.endswith("method"):
        with lshdb.open(seen) as db:
            return [row.key for row in db.dedup_files([str(path)], keep=keep) if not row.dropped]
    is_pipe = way.endswith("pipe")
    command.path("o.jsonl").unlink(missing_ok=True)
    words = [] if is_pipe else ["-o", "o.jsonl"]
    out = command.done("dedup", "rows.jsonl", "-d", "seen.db", *words, "--keep", keep).out
    lines = (out if is_pipe else command.path("o.jsonl").read_text()).splitlines()
    return [json.loads(line)["id"] for line in lines]


def contents(command: Command) -> list[str]:
    return sorted(text for (text,) in command.rows("SELECT content FROM documents", "seen.db"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", ["repeated key", "equal id"])
@pytest.mark.parametrize("runs", [1, 2, 3])
def test_an_id_that_equals_a_made_key_costs_no_document(
    command: Command, way: str, first: str, runs: int
) -> None:
    """In one run, in two, and in one for each row; the same runs again add nothing."""
    second = str(SAME_KEY[2]["text"])
    made = distinct_key("a", digest(second.encode()), {"a": b""}.get)
    rows = [SAME_KEY[0], SAME_KEY[2], {"id": made, "text": SAME_KEY[1]["text"]}]
    if first == "equal id":
        rows = [rows[2], *rows[:2]]
    parts = {1: [rows], 2: [rows[:2], rows[2:]], 3: [[row] for row in rows]}[runs]
    for part in parts:
        assert kept_by(command, way, part) == [row["id"] for row in part]
    stored = contents(command)
    assert stored == sorted(row["text"] for row in SAME_KEY)
    for part in [*parts, rows]:
        assert kept_by(command, way, part) == []
    assert contents(command) == stored


@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_was_written_is_forgotten_although_keys_repeat(
    command: Command, way: str
) -> None:
    """Also of one key in two runs."""
    seen = command.path("seen.db")

    def kept(rows: list[dict[str, Any]]) -> list[str]:
        return kept_by(command, way, rows)

    assert kept(SAME_KEY) == ["a", "b", "a"]
    assert kept(COPIES) == []
    first, second, third = command.keys("seen.db")
    assert (first, second[:2], third) == ("a", "a#", "b")
    later = [{"id": "b", "text": "another text of a key that is known, unlike all of the others"}]
    assert kept(later) == ["b"]
    with lshdb.open(seen) as db:
        assert db.get("b").content == SAME_KEY[1]["text"]
        assert len(db) == 4
        assert db.query(later[0]["text"])[0].key.startswith("b#")
    assert kept([*SAME_KEY, *later]) == []
    if way == "file":
        done = command.done("dedup", "rows.jsonl", "-d", "seen.db", "-o", "o.jsonl")
        assert done.err.startswith("kept 0, dropped 4 (4 are the same rows as in an earlier run)")


def test_a_new_database_for_programs_has_passages(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "def total(values):\n    return sum(values)\n"}]
    lshdb.dedup(rows, into=tmp_path / "a.db", purpose="programs")
    with (
        lshdb.open(tmp_path / "a.db") as db,
        lshdb.open(tmp_path / "b.db", purpose="programs") as other,
    ):
        assert db.settings.passages == other.settings.passages > 0


def test_a_file_that_another_one_replaces_meanwhile(command: Command) -> None:
    """None of its rows was compared: they come out of no order."""
    again, other = FilesOfRows.again, [{**row, "text": "another"} for row in ROWS]

    def exchanging(*arguments: Any) -> Any:
        command.write("other.jsonl", other)
        command.path("other.jsonl").replace(command.path("rows.jsonl"))
        return again(*arguments)

    for words in (["-o", "out.jsonl", "-d", "seen.db"], []):
        command.write("rows.jsonl", ROWS)
        with mock.patch.object(FilesOfRows, "again", exchanging):
            result = command("dedup", "rows.jsonl", "--keep", "last", *words)
        message = "lshdb: rows.jsonl: it has changed since it was read: run dedup again\n"
        assert (result.status, result.out, result.err) == (1, "", message)
        assert [*command.directory.iterdir()] == [command.path("rows.jsonl")]
