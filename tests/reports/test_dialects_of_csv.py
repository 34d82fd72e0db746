"""CSV of Excel and of databases, whose delimiters and escapes were taken for text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import Command

import lshdb

TEXT = "the ferry to the islands runs every hour"
FIELDS = [("a", TEXT), ("b", TEXT), ("c", "another text, of words")]


@pytest.mark.parametrize(
    ("start", "delimiter", "options"),
    [
        ("sep=;\n", ";", []),
        ("\ufeffsep=|\r\n", "|", []),
        ('"SEP=,"\n', ",", []),
        ("", "|", ["--delimiter", "|"]),
        ("sep=;\n", "|", ["--delimiter", "|"]),
        ("", "\t", ["--delimiter", "\\t"]),
    ],
)
def test_a_delimiter_that_is_named(
    command: Command, start: str, delimiter: str, options: list[str]
) -> None:
    end = "\r\n" if "\r" in start else "\n"
    lines = [f'{key}{delimiter}"{text}"{end}' for key, text in [("id", "text"), *FIELDS]]
    command.write("a.csv", (start + "".join(lines)).encode())
    command.done("dedup", "a.csv", "-o", "b.csv", *options)
    kept = start + "".join((lines[0], lines[1], lines[3]))
    if delimiter != "\t":  # as before, tabs of CSV become commas
        assert command.path("b.csv").read_bytes() == kept.encode()
    command.done("add", "a.csv", *options)
    assert command.keys() == ["a", "b", "c"]


def test_an_escape_that_is_named(command: Command) -> None:
    quoted = 'he said \\"go\\", then ' + TEXT
    rows = f'id,text\n1,"{quoted}"\n2,"{quoted} at"\n3,"back\\\\slash"\n'
    command.write("a.csv", rows)
    command.done("dedup", "a.csv", "-o", "b.csv", "--threshold", "0.5", "--escape", "\\")
    assert command.path("b.csv").read_text() == rows.replace(f'2,"{quoted} at"\n', "")
    with lshdb.open(command.path("lsh.db")) as database:
        database.add_files([str(command.path("a.csv"))], escape="\\")
        assert database.get("1").content == f'he said "go", then {TEXT}'
        assert database.get("3").content == "back\\slash"
    command.done("dedup", "a.csv", "-o", "c.csv", "--cut", "4", "--cuts", "l", "--escape", "\\")
    command.done("restore", "c.csv", "--cuts", "l", "-o", "again.csv")
    assert command.path("again.csv").read_text() == rows


@pytest.mark.parametrize(
    "options",
    [{"delimiter": '"'}, {"delimiter": ";;"}, {"escape": ""}, {"delimiter": ";", "escape": ";"}],
)
def test_what_is_no_delimiter(path: Path, options: dict[str, Any]) -> None:
    with lshdb.open(path) as database, pytest.raises(lshdb.UsageError, match=r"delimiter|escape"):
        database.add_files(["a.csv"], **options)
