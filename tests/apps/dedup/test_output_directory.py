"""Directories of outputs have the rows of one run; an output stays where a run fails."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest
from helpers import Command
from rows import as_file

import lshdb
from lshdb.apps.dedup.output_directory import MANIFEST
from lshdb.errors import LshdbError
from lshdb.read.paths import pattern_top

Run = Callable[..., str]


def rows_of(*numbers: int) -> list[dict[str, Any]]:
    return [
        {"id": f"{n}", "text": f"the ferry {n} to isle {n} runs from pier {n}"} for n in numbers
    ]


@pytest.fixture(params=["command", "library"])
def run(request: pytest.FixtureRequest, command: Command) -> Run:
    """Runs a job by one of the doors; gives what it says if it fails, else nothing."""

    def by_command(
        inputs: Sequence[str],
        output: str,
        text: str = "text",
        overwrite: bool = False,
        db: str = "",
    ) -> str:
        options = ["--overwrite"] * overwrite + ["-d", db] * bool(db)
        done = command("dedup", *inputs, "-o", output, "--text-field", text, *options)
        return done.err if done.status else ""

    def by_library(
        inputs: Sequence[str],
        output: str,
        text: str = "text",
        overwrite: bool = False,
        db: str = "",
    ) -> str:
        with contextlib.chdir(command.directory):
            try:
                into: dict[str, Any] = {"into": db} if db else {}
                result = lshdb.dedup([*inputs], text=text, on_failure=lambda _: None, **into)
                result.save(output, overwrite=overwrite)
            except LshdbError as error:
                return str(error)
            return ""

    return by_command if request.param == "command" else by_library


def files_in(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


@pytest.mark.filterwarnings("ignore:.*stays")
def test_a_directory_has_the_rows_of_one_run(command: Command, run: Run) -> None:
    for name in ("a", "b/c"):
        command.write(f"data/{name}.jsonl", rows_of(*range(ord(name[-1]), ord(name[-1]) + 2)))
    data, out = files_in(command.path("data")), command.path("out")
    command.write("out/stale.jsonl", rows_of(0))
    command.write("out/notes.csv", "of another format")
    before = files_in(out)
    assert "out/stale.jsonl is there" in run(["data"], "out/")
    assert files_in(out) == before
    assert run(["data"], "out/", overwrite=True) == ""
    assert files_in(out) == {**before, **data}
    os.unlink(out / "stale.jsonl")
    assert run(["data"], "out/") == ""  # the same files
    fewer = ["data/a.jsonl"]
    assert "out/b/c.jsonl is there" in run(fewer, "out/")
    assert run(fewer, "out/", overwrite=True) == ""
    left = {"a.jsonl": data["a.jsonl"], "notes.csv": before["notes.csv"]}
    assert files_in(out) == left
    # What has changed since is no longer an output.
    (out / "a.jsonl").write_text(json.dumps(rows_of(9)[0]))
    command.write("data/d.jsonl", rows_of(200))
    assert run(["data/d.jsonl"], "out/", overwrite=True) == ""
    assert files_in(out).keys() == {"a.jsonl", "d.jsonl", "notes.csv"}


def test_shards_of_days_are_beside_each_other(command: Command, run: Run) -> None:
    days = {f"{day}.jsonl": rows_of(*range(day, day + 3)) for day in (1, 2)}
    for name, rows in days.items():
        command.write(name, rows)
        assert run([name], "out/", db="seen.db") == ""
    kept = files_in(command.path("out"))
    assert kept.keys() == days.keys()
    assert len(kept["2.jsonl"].splitlines()) == 1
    # The same run again changes nothing, and says what to do; elsewhere it keeps no row.
    assert "move this one away" in run(["2.jsonl"], "out/", db="seen.db")
    assert run(["2.jsonl"], "again/", db="seen.db") == ""
    assert files_in(command.path("again")) == {"2.jsonl": b""}
    command.write("2.jsonl", rows_of(9))
    assert "out/2.jsonl is there" in run(["2.jsonl"], "out/", db="seen.db")
    assert "the database knows" in run(["2.jsonl"], "out/", db="seen.db", overwrite=True)
    assert files_in(command.path("out")) == kept


@pytest.mark.parametrize("text", ["txt", "body.txt", "none"])
def test_an_output_stays_where_no_row_can_be_read(command: Command, run: Run, text: str) -> None:
    command.write(
        "in.jsonl", [{**row, "body": {"html": ""}, "none": None} for row in rows_of(1, 2)]
    )
    command.write("out.jsonl", rows_of(5))
    said = run(["in.jsonl"], "out.jsonl", text=text)
    if text == "none":
        assert "in.jsonl:1: field 'none' is null" in said
    else:
        assert said.strip().endswith("(the fields are id, text, body, none)")
        assert f"in.jsonl: no field '{text}'" in said
        assert len(said.splitlines()) == 1
    assert command.path("out.jsonl").read_text().startswith('{"id": "5"')
    assert run(["in.jsonl"], "out.jsonl") == ""
    assert len(command.path("out.jsonl").read_bytes().splitlines()) == 2


@pytest.mark.parametrize("name", ["b.jsonl", "b.json", "b.csv", "b.parquet"])
@pytest.mark.parametrize("output", ["out.jsonl", "out/"])
def test_a_file_without_the_text_refuses_the_run(
    command: Command, run: Run, name: str, output: str
) -> None:
    """Also one of a folder: without its rows the output would look complete."""
    command.write(f"data/a{Path(name).suffix}", as_file(f"a{Path(name).suffix}", rows_of(1, 2)))
    lacking = [{"id": row["id"], "body": row["text"]} for row in rows_of(3, 4)]
    command.write(f"data/{name}", as_file(name, lacking))
    said = run(["data"], output)
    assert f"data/{name}: no field 'text'" in said
    assert "s are id, body)" in said
    assert len(said.splitlines()) == 1
    assert not command.path("out.jsonl").exists()
    assert not files_in(command.path("out"))


def test_a_wrong_field_of_standard_input_is_one_line(command: Command) -> None:
    command.write("in.jsonl", rows_of(*range(20)))
    command.write("out.jsonl", rows_of(5))
    lines = command.path("in.jsonl").read_bytes()
    for arguments in (["dedup", "-", "-o", "out.jsonl"], ["add", "-"]):
        done = command(*arguments, "--text-field", "txt", stdin=lines)
        first, *_ = done.err.splitlines()
        assert first.endswith(
            "-: no field 'txt': name it with --text-field (the fields are id, text)"
        )
        assert (done.err.count("txt"), done.status) == (1, 1)
    assert len(command.path("out.jsonl").read_bytes().splitlines()) == 1


def test_a_folder_of_hugging_face_stays_loadable(command: Command, run: Run) -> None:
    rows = rows_of(1, 2, 3)
    split = datasets.Dataset.from_list([*rows, rows[0]])
    datasets.DatasetDict(train=split).save_to_disk(str(command.path("data")))
    assert run(["data"], "out") == ""
    loaded: Any = datasets.load_from_disk(str(command.path("out")))
    assert loaded["train"].to_list() == rows
    # Lines of JSON are rows, whatever their file is called.
    command.write("data/lines.json", rows)
    assert "lines.json: not an array" in run(["data"], "out2")


def a_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.jsonl", "{}")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.zip", a_zip(), "ZIP"),
        ("a.csv", a_zip(), "ZIP"),
        ("a.avro", b"Obj\1\4\x14avro.codec\10null", "Avro"),
        ("a.bin", b"\x89HDF\r\n\x1a\n", "HDF5"),
    ],
)
def test_a_file_that_is_no_table_is_named_as_what_it_is(
    command: Command, run: Run, name: str, data: bytes, kind: str
) -> None:
    command.write(name, data)
    said = run([name], "out.jsonl")
    assert f"{name}: a binary file ({kind}" in said
    assert len(said.splitlines()) == 1
    assert not command.path("out.jsonl").exists()


def test_streams_of_arrow_that_are_named_as_files_stay_streams(command: Command, run: Run) -> None:
    table = pa.Table.from_pylist(rows_of(1, 2))
    with pa.ipc.new_stream(command.path("a.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert run(["a.arrow"], "b.arrow") == ""
    assert pa.ipc.open_stream(command.path("b.arrow").read_bytes()).read_all() == table


# patterns


ROWS = [{"id": name, "text": f"the {name} words of a row that no other row has"} for name in "ab"]


@pytest.mark.parametrize("pattern", ["x/*/p.jsonl", "x/*", "x/**/*.jsonl", "$PWD/x/?/p.jsonl"])
def test_a_folder_of_outputs(command: Command, pattern: str) -> None:
    for name, rows in {"a": ROWS, "b": ROWS[1:]}.items():
        command.write(f"x/{name}/p.jsonl", rows)
    given = pattern.replace("$PWD", str(command.directory))
    command.done("dedup", given, "-o", "out")
    of_pattern = written(command, "out")
    command.done("dedup", "x", "-o", "out2")
    assert of_pattern == written(command, "out2") == {"a/p.jsonl": ROWS, "b/p.jsonl": []}


def written(command: Command, folder: str) -> dict[str, list[object]]:
    top = command.path(folder)
    return {
        str(path.relative_to(top)): [json.loads(line) for line in path.read_text().splitlines()]
        for path in top.rglob("*.jsonl")
        if path.is_file()
    }


def test_a_named_file_gets_all(command: Command) -> None:
    for name, row in zip("ab", ROWS, strict=True):
        command.write(f"x/{name}/p.jsonl", [row])
    command.done("dedup", "x/*/p.jsonl", "-o", "out.jsonl")
    assert command.path("out.jsonl").read_text().splitlines() == [*map(json.dumps, ROWS)]
    # Two patterns may have the same names below their folders.
    command.write("y/a/p.jsonl", [{"id": "c", "text": "what is in no row of x at all, but here"}])
    assert "would both go to out/a/p.jsonl" in command.fails(
        "dedup", "x/*/p.jsonl", "y/*/p.jsonl", "-o", "out", status=2
    )


def test_the_folder_that_a_pattern_begins_with() -> None:
    patterns = ("x/*/p.parquet", "*/p.parquet", "/*.csv", "x/p.parquet")
    assert [*map(pattern_top, patterns)] == ["x", ".", "/", None]
