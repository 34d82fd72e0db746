"""lshdb dedup --against: a database or any other input as a reference."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from direct_command import DirectCommand
from helpers import Command, database_of

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
    return DirectCommand(tmp_path)


def test_a_table_is_indexed_in_a_temporary_database(command: Command) -> None:
    before = command.path("train.parquet").read_bytes()
    arguments = ["dedup", "test.csv", "--against", "train.parquet", "-o", "clean.csv"]
    done = command.done(*arguments, "--dropped", "gone.jsonl")
    assert done.err.splitlines() == [INDEXED, "kept 1, dropped 3, failed 0"]
    assert command.path("clean.csv").read_text() == f"id,text\n2,{CROW}\n"
    gone = [json.loads(line) for line in command.path("gone.jsonl").read_text().splitlines()]
    assert [(one["key"], one["kept"]) for one in gone] == [("1", "x"), ("3", "x"), ("4", "2")]
    assert command.path("train.parquet").read_bytes() == before
    names = {path.name for path in command.directory.iterdir()}
    assert names == {"test.csv", "train.parquet", "notes", "clean.csv", "gone.jsonl"}


def test_a_database_is_asked_as_it_is(command: Command) -> None:
    database_of(
        command.path("seen.db"),
        [("fox", FOX), ("ant", ANT)],
        shingle="char:6",
        threshold=0.7,
        seed=5,
    ).close()
    before = command.path("seen.db").read_bytes()
    arguments = ["dedup", "test.csv", "--against", "seen.db"]
    done = command.done(*arguments, "--dropped", "gone.csv", says="kept 1, dropped 3, failed 0\n")
    assert done.out == f"id,text\n2,{CROW}\n"
    gone = [*csv.DictReader(command.path("gone.csv").read_text().splitlines())]
    assert [one["kept"] for one in gone] == ["fox", "ant", "2"]
    assert command.path("seen.db").read_bytes() == before
    # Beside a database of one's own, which has what is kept.
    command.done("init", "-d", "own.db", "--shingle", "char:6", "--seed", "5")
    command.done(*arguments, "-d", "own.db", says="kept 1, dropped 3, failed 0\n")
    assert command("dedup", "test.csv", "-d", "own.db").err == (
        "kept 2, dropped 2 (1 is the same row as in an earlier run), failed 0\n"
    )
    reason = command.fails(*arguments, "--seed", "6")
    assert reason.startswith("seen.db has seed 5, and the documents are compared by 6")


def test_directories_patterns_and_texts(command: Command) -> None:
    command.write("rows/a.jsonl", json.dumps({"text": FOX}))
    for against in ("rows", "rows/*.jsonl"):
        done = command.done("dedup", "test.csv", "--against", against, "--format", "csv")
        assert done.err.endswith("kept 2, dropped 2, failed 0\n")
    command.write("more/copy.txt", f"{FOX}?")
    command.write("more/crow.txt", CROW)
    done = command.done("dedup", "more", "--against", "notes", "--json")
    (one,) = done.records[:1]
    assert (one["key"], one["kept"]) == ("more/copy.txt", "notes/fox.txt")


def test_nothing_is_written_if_a_part_of_the_reference_cannot_be_read(command: Command) -> None:
    directory = command.directory
    command.write("bad.jsonl", 'nonsense\n{"id": 1}\n' + json.dumps({"text": ANT}))
    command.write("named.csv", f"uid,body\nx,{FOX}\n")
    (directory / "broken.parquet").write_bytes(
        (directory / "train.parquet").read_bytes()[:-9] + b"123456789"
    )
    (directory / "empty").mkdir()
    before = {path.name for path in directory.iterdir()}
    wanted = {
        "bad.jsonl": ["bad.jsonl:1: not JSON", "bad.jsonl:2: no field 'text'"],
        "named.csv": ["named.csv: no field 'text': name it with --against PATH:text=NAME"],
        "broken.parquet": ["broken.parquet: "],
        "empty": [],
    }
    arguments = ["dedup", "test.csv", "-d", "own.db", "--dropped", "gone.csv"]
    for name, reasons in wanted.items():
        for output in (["-o", "clean.csv"], []):
            done = command(*arguments, *output, "--against", name)
            assert (done.status, done.out) == (1, ""), name
            *failures, last = done.err.splitlines()[1:]
            for failure, reason in zip(failures, reasons, strict=True):
                assert failure.startswith(f"lshdb: {reason}")
            assert last.startswith(f"lshdb: {name}")
            assert ("nothing is written" in last) == bool(reasons)
            assert {path.name for path in directory.iterdir()} == before


def test_a_reference_may_name_its_columns_otherwise(command: Command) -> None:
    command.write("named.csv", f"uid,body\nx,{FOX}\n")
    named = ["--against-text-field", "body", "--against-key-field", "uid"]
    arguments = ["dedup", "test.csv", "-o", "clean.csv", "--dropped", "gone.csv"]
    done = command.done(*arguments, "--against", "named.csv", *named)
    assert done.err.endswith("kept 2, dropped 2, failed 0\n")
    gone = [*csv.DictReader(command.path("gone.csv").read_text().splitlines())]
    assert [(one["key"], one["kept"]) for one in gone] == [("1", "x"), ("4", "2")]
    # A name for both is also that of the reference.
    command.write("other.csv", f"id,body\n5,{FOX}\n6,{ANT}\n")
    done = command.done("dedup", "other.csv", "--against", "named.csv", "--text-field", "body")
    assert done.out == f"id,body\n6,{ANT}\n"
    assert command.fails("dedup", "test.csv", *named, status=2) == (
        "--against-key-field is for the rows of --against"
    )


def test_in_the_library_a_reference_is_read_whole_or_not_at_all(command: Command) -> None:
    paths = [str(command.path("test.csv"))]
    against = command.path("named.csv")
    against.write_text(f"uid,body\nx,{FOX}\n")
    with lshdb.open(command.path("own.db")) as db:
        with pytest.raises(lshdb.InputError, match="cannot be read whole"):
            list(db.dedup_files(paths, against=against))
        assert len(db) == 0
