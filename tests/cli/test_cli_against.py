"""lshdb dedup --against: a database or any other input as a reference."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command

import lshdb

FOX = "The fox looked at the grapes and then he went away again"
ANT = "The ant worked all summer long while the cricket sang songs"
CROW = "A crow found a piece of cheese under the tree by the river"
INDEXED = "train.parquet is not a database: lshdb indexes it in a temporary one"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    rows = [["id", "text"], ["1", f"{FOX}!"], ["2", CROW], ["3", ANT], ["4", f"{CROW}."]]
    with (tmp_path / "test.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    table = pa.table({"id": ["x", "x", "y"], "text": [FOX, ANT, "another text altogether"]})
    pq.write_table(table, tmp_path / "train.parquet")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/fox.txt").write_text(FOX)
    return Command(tmp_path)


def test_a_table_is_indexed_in_a_temporary_database(command: Command) -> None:
    before = (command.directory / "train.parquet").read_bytes()
    arguments = ["dedup", "test.csv", "--against", "train.parquet", "-o", "clean.csv"]
    done = command.done(*arguments, "--dropped", "gone.jsonl")
    assert done.err.splitlines() == [INDEXED, "kept 1, dropped 3, failed 0"]
    assert (command.directory / "clean.csv").read_text() == f"id,text\n2,{CROW}\n"
    gone = [
        json.loads(line) for line in (command.directory / "gone.jsonl").read_text().splitlines()
    ]
    assert [(one["key"], one["kept"]) for one in gone] == [("1", "x"), ("3", "x"), ("4", "2")]
    assert (command.directory / "train.parquet").read_bytes() == before
    names = {path.name for path in command.directory.iterdir()}
    assert names == {"test.csv", "train.parquet", "notes", "clean.csv", "gone.jsonl"}


def test_a_database_is_asked_as_it_is(command: Command) -> None:
    with lshdb.open(command.directory / "seen.db", shingle="char:6", threshold=0.7, seed=5) as db:
        db.add_many([("fox", FOX), ("ant", ANT)])
    before = (command.directory / "seen.db").read_bytes()
    arguments = ["dedup", "test.csv", "--against", "seen.db"]
    done = command.done(*arguments, "--dropped", "gone.csv", says="kept 1, dropped 3, failed 0\n")
    assert done.out == f"id,text\n2,{CROW}\n"
    gone = [*csv.DictReader((command.directory / "gone.csv").read_text().splitlines())]
    assert [one["kept"] for one in gone] == ["fox", "ant", "2"]
    assert (command.directory / "seen.db").read_bytes() == before
    # Beside a database of one's own, which has what is kept.
    command.done("init", "-d", "own.db", "--shingle", "char:6", "--seed", "5")
    command.done(*arguments, "-d", "own.db", says="kept 1, dropped 3, failed 0\n")
    assert command("dedup", "test.csv", "-d", "own.db").err == (
        "kept 2, dropped 2 (1 stored before), failed 0\n"
    )
    reason = command.fails(*arguments, "--seed", "6")
    assert reason.startswith("seen.db has seed 5, and the documents are compared by 6")


def test_directories_patterns_and_texts(command: Command) -> None:
    (command.directory / "rows").mkdir()
    (command.directory / "rows/a.jsonl").write_text(json.dumps({"text": FOX}))
    for against in ("rows", "rows/*.jsonl"):
        done = command.done("dedup", "test.csv", "--against", against, "--format", "csv")
        assert done.err.endswith("kept 2, dropped 2, failed 0\n")
    (command.directory / "more").mkdir()
    (command.directory / "more/copy.txt").write_text(f"{FOX}?")
    (command.directory / "more/crow.txt").write_text(CROW)
    done = command.done("dedup", "more", "--against", "notes", "--json")
    (one,) = done.records[:1]
    assert (one["key"], one["kept"]) == ("more/copy.txt", "notes/fox.txt")


def test_rows_of_a_reference_that_cannot_be_read_are_counted(command: Command) -> None:
    (command.directory / "bad.jsonl").write_text(
        'nonsense\n{"id": 1}\n' + json.dumps({"text": ANT})
    )
    done = command("dedup", "test.csv", "--against", "bad.jsonl")
    assert done.status == 1
    assert [line.split(": ")[1] for line in done.err.splitlines()[1:3]] == [
        "bad.jsonl:1",
        "bad.jsonl:2",
    ]
    assert done.err.splitlines()[-1] == "kept 2, dropped 2, failed 2"


def test_what_cannot_be_is_refused_and_leaves_nothing(command: Command) -> None:
    def refused(*arguments: str, status: int = 2) -> str:
        return command.fails("dedup", "test.csv", "-o", "out.csv", *arguments, status=status)

    assert refused("--against", "none.csv", status=1) == "none.csv: no such file"
    assert refused("--against", "-").startswith("--against reads no standard input")
    same = ["--against", "train.parquet", "--dropped", "train.parquet"]
    assert "is the same file as" in refused(*same)
    lshdb.open(command.directory / "sets.db", shingle="set").close()
    assert refused("--against", "sets.db", "--shingle", "word:3", status=1).startswith(
        "sets.db has"
    )
    names = {path.name for path in command.directory.iterdir()}
    assert names == {"test.csv", "train.parquet", "notes", "sets.db"}
