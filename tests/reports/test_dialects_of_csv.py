"""CSV of Excel and of databases, whose delimiters and escapes were taken for text."""

from __future__ import annotations

from typing import Any

import pytest
from direct_command import command as command
from helpers import Command

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
    command.done("add", "a.csv", "--escape", "\\")
    contents: dict[Any, Any] = dict(command.rows("SELECT key, content FROM documents"))
    assert contents["1"] == f'he said "go", then {TEXT}'
    assert contents["3"] == "back\\slash"
    command.done("dedup", "a.csv", "-o", "c.csv", "--cut", "4", "--cuts", "l", "--escape", "\\")
    command.done("restore", "c.csv", "--cuts", "l", "-o", "again.csv")
    assert command.path("again.csv").read_text() == rows
