"""lshdb dedup --against: a database or any other input as a reference."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import inspection
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command

FOX = "The fox looked at the grapes and then he went away again"
ANT = "The ant worked all summer long while the cricket sang songs"
CROW = "A crow found a piece of cheese under the tree by the river"
INDEXED = "train.parquet is not a database: lshdb indexes it in a temporary one"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    command = Command(tmp_path)
    command.write("test.csv", f"id,text\n1,{FOX}!\n2,{CROW}\n3,{ANT}\n4,{CROW}.\n")
    table = pa.table({"id": ["x", "x", "y"], "text": [FOX, ANT, "another text altogether"]})
    pq.write_table(table, tmp_path / "train.parquet")
    command.write("named.csv", f"uid,body\nx,{FOX}\n")
    return command


def dropped(command: Command) -> list[tuple[str, str]]:
    """The keys of rows in the list of dropped ones, and those of what stays."""
    rows = csv.DictReader(command.path("gone.csv").read_text().splitlines())
    return [(row["key"], row["kept"]) for row in rows]


def test_a_table_is_indexed_in_a_temporary_database(command: Command) -> None:
    before = inspection.files(command.directory)
    arguments = ["dedup", "test.csv", "--against", "train.parquet", "-o", "clean.csv"]
    done = command.done(*arguments, "--dropped", "gone.csv")
    assert done.err.splitlines() == [INDEXED, "kept 1, dropped 3, failed 0"]
    assert dropped(command) == [("1", "x"), ("3", "x"), ("4", "2")]
    after = inspection.files(command.directory)
    del after["gone.csv"]
    assert after == before | {"clean.csv": f"id,text\n2,{CROW}\n".encode()}


def test_nothing_is_written_if_a_part_of_the_reference_cannot_be_read(command: Command) -> None:
    command.write("bad.jsonl", 'nonsense\n{"id": 1}\n' + json.dumps({"text": ANT}))
    data = command.path("train.parquet").read_bytes()
    command.write("broken.parquet", data[:-9] + b"123456789")
    command.path("empty").mkdir()
    before = inspection.files(command.directory)
    wanted = {
        "bad.jsonl": ["bad.jsonl:1: not JSON", "bad.jsonl:2: no field 'text'"],
        "named.csv": ["named.csv: no field 'text': name it with --against PATH:text=NAME"],
        "broken.parquet": ["broken.parquet: "],
        "empty": [],
    }
    for name, reasons in wanted.items():
        done = command("dedup", "test.csv", "-d", "own.db", "-o", "out.csv", "--against", name)
        assert (done.status, done.out) == (1, ""), name
        *failures, last = done.err.splitlines()[1:]
        for failure, reason in zip(failures, reasons, strict=True):
            assert failure.startswith(f"lshdb: {reason}")
        assert last.startswith(f"lshdb: {name}")
        assert ("nothing is written" in last) == bool(reasons)
        assert inspection.files(command.directory) == before


def test_a_reference_may_name_its_columns_otherwise(command: Command) -> None:
    asked = ["dedup", "test.csv", "-o", "clean.csv", "--against", "named.csv:text=body,key=uid"]
    done = command.done(*asked, "--dropped", "gone.csv")
    assert done.err.endswith("kept 2, dropped 2, failed 0\n")
    assert dropped(command) == [("1", "x"), ("4", "2")]
    # A name for both is also that of the reference.
    command.write("other.csv", f"id,body\n5,{FOX}\n6,{ANT}\n")
    done = command.done("dedup", "other.csv", "--against", "named.csv", "--text-field", "body")
    assert done.out == f"id,body\n6,{ANT}\n"
