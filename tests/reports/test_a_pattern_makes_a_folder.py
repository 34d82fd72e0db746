"""`dedup 'x/*/p.parquet' -o out` mixed all files in one, where `dedup x -o out` makes a folder."""

from __future__ import annotations

import json

import pytest
from helpers import Command

from lshdb.read.paths import pattern_top

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
