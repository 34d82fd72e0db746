"""What is printed: tables and a progress bar on a terminal, plain lines in a pipe, no raw keys."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from helpers import Command
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb.cli.results import csv_cell, json_line, plain
from lshdb.sources.paths import escaped

HOSTILE = "[red]a\x1b[31m\r\x07\x9b2J\u202eb\n\u2028\t[link=x]"
SHOWN = "[red]a\\x1b[31m\\r\\x07\\x9b2J\\u202eb\\n\\u2028\\t[link=x]"
TEXT = "a hostile text \x1b[2J of several words"
RAW = "\x1b[31m", "\x1b[2J", "\x9b", "\x07", "\u202e", "\u2028"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, beside a database with a hostile document."""
    with lshdb.open(tmp_path / "lsh.db") as database:
        database.add_many([(HOSTILE, TEXT), ("plain", TEXT)])
    return Command(tmp_path)


# keys and contents


def test_hostile_keys_are_printed_as_escapes_in_a_pipe(command: Command) -> None:
    outputs = [
        command.done("query", "--text", TEXT),
        command.done("show", HOSTILE),
        command.done("sql", "select * from documents"),
        command.done("sql", "--csv", "select * from documents"),
        command("add", HOSTILE),
        command("add", "--auto-key", "-", stdin='{"id": "' + json.dumps("\x1b[31m") + '"}'),
    ]
    for result in outputs:
        assert not [raw for raw in RAW if raw in result.out + result.err]
    for result in outputs[:5]:
        assert SHOWN in (result.out + result.err).replace("b\n", "b\\n"), "CSV keeps newlines"
    (match, _) = command.done("query", "--json", "--text", TEXT).records
    assert match["key"] == HOSTILE, "JSON has keys as they are"


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "--text", TEXT],
        ["show", HOSTILE],
        ["sql", "select key, content from documents"],
        ["add", HOSTILE],
    ],
    ids=lambda arguments: arguments[0],
)
def test_hostile_keys_are_printed_as_escapes_on_a_terminal(
    arguments: list[str], command: Command
) -> None:
    shown, status = command.on_terminal(*arguments, columns=200)
    assert status == (1 if arguments[0] == "add" else 0)
    assert not [raw for raw in RAW if raw in shown]
    assert SHOWN in shown


def test_results_are_a_table_on_a_terminal_and_lines_in_a_pipe(command: Command) -> None:
    shown, _ = command.on_terminal("query", "--key", HOSTILE)
    heading, _, row = [line.split() for line in uncoloured(shown).splitlines() if line.strip()]
    assert (heading, row) == (["similarity", "key"], ["identical", "plain"])
    assert command.done("query", "--key", HOSTILE).out == "1.000000\tidentical\tplain\n"
    assert command.done("query", "--key", HOSTILE, "--heading").lines == [
        "similarity\texact\tkey",
        "1.000000\tidentical\tplain",
    ]
    bare, _ = command.on_terminal("query", "--key", HOSTILE, "--no-heading")
    assert [line.split() for line in bare.splitlines() if line.strip()] == [
        ["1.0000", "identical", "plain"]
    ], "without a heading the cell says what the heading would say"
    long, _ = command.on_terminal("sql", f"select '{'x' * 1000}' as long")
    assert 50 < long.count("x") < 120, "a long cell is shortened on a screen"
    assert "\N{HORIZONTAL ELLIPSIS}" in long


def uncoloured(shown: str) -> str:
    for code in ("\x1b[1m", "\x1b[0m"):
        shown = shown.replace(code, "")
    return shown


# progress


def test_a_progress_bar_on_a_terminal_only(command: Command) -> None:
    (command.directory / "doc.txt").write_text(TEXT)
    shown, status = command.on_terminal("add", "doc.txt")
    assert status == 0
    assert "adding" in shown
    assert "documents" in shown
    # What stays on the screen after the bar is cleared away is what a pipe gets.
    assert shown.endswith("added 1, updated 0, unchanged 0, failed 0\n")
    shown, _ = command.on_terminal("add", "-", stdin=b'{"id": 1, "text": "a"}\nbroken\n')
    assert "lshdb: -:2: not JSON: expecting value at character 1\n" in shown
    assert "/? bytes" in shown, "how much a pipe will bring nobody knows"
    piped = command.done("add", "doc.txt")
    assert (piped.out, piped.err) == ("", "added 0, updated 0, unchanged 1, failed 0\n")


# values


@given(st.text())
def test_escaped_text_is_printable_and_printable_text_is_as_it_was(text: str) -> None:
    shown = escaped(text)
    assert all(character.isprintable() or character.isspace() for character in shown)
    assert not set(shown) & set("\n\r\t\v\f\x1b\x85\u2028\u2029")
    if text.isprintable():
        assert shown == text


def test_spaces_of_other_scripts_are_no_control_characters() -> None:
    assert escaped("全角　空白\N{NO-BREAK SPACE}") == "全角　空白\N{NO-BREAK SPACE}"
    assert escaped("soft\N{SOFT HYPHEN} \ud800") == "soft\\xad \\ud800"


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(-320, 290))
def test_numbers_are_written_as_sqlite_writes_them(digits: int, exponent: int) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for number in (float(f"{digits}e{exponent}"), digits):
            (expected,) = connection.execute("SELECT cast(? AS text)", (number,)).fetchone()
            assert plain(number) == expected


def test_values_that_are_no_ordinary_numbers() -> None:
    assert [plain(cell) for cell in (math.inf, -math.inf, None, b"\0\xff", "")] == [
        *("Inf", "-Inf", "", "x'00ff'", "")
    ]
    assert csv_cell("a\tb\nc") == "a\\tb\nc", "a newline is at home in CSV"


def test_json_lines_are_ascii_and_valid(capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"key": HOSTILE + "é", "inf": math.inf, "least": -math.inf, "list": [1], "no": None}
    json_line(fields)
    line = capsys.readouterr().out
    assert line.isascii()
    assert line.count("\n") == 1

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    assert json.loads(line, parse_constant=refuse) == fields
