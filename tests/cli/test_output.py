"""What is printed: tables and a progress bar on a terminal, plain lines in a pipe, no raw keys."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from helpers import Command, database_of, in_any_version

HOSTILE = "[red]a\x1b[31m\r\x07\x9b2J\u202eb\n\u2028\t[link=x]"
SHOWN = "[red]a\\x1b[31m\\r\\x07\\x9b2J\\u202eb\\n\\u2028\\t[link=x]"
TEXT = "a hostile text \x1b[2J of several words"
RAW = "\x1b[31m", "\x1b[2J", "\x9b", "\x07", "\u202e", "\u2028"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, beside a database with a hostile document."""
    database_of(tmp_path / "lsh.db", [(HOSTILE, TEXT), ("plain", TEXT)]).close()
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


def test_hostile_keys_are_printed_as_escapes_on_a_terminal(command: Command) -> None:
    statement = "select key, content from documents"
    for words in (
        ("query", "--text", TEXT),
        ("show", HOSTILE),
        ("sql", statement),
        ("add", HOSTILE),
    ):
        shown, status = command.on_terminal(*words, columns=200)
        assert status == (words[0] == "add")
        assert not [raw for raw in RAW if raw in shown]
        assert SHOWN in shown


def test_results_are_a_table_on_a_terminal_and_lines_in_a_pipe(command: Command) -> None:
    def shown(*options: str) -> list[list[str]]:
        screen, _ = command.on_terminal("query", "--key", HOSTILE, *options)
        screen = re.sub(r"\x1b\[[0-9;]*m", "", screen)
        return [line.split() for line in screen.splitlines() if line.strip()]

    heading, _, *rows = shown()
    assert heading == ["similarity", "exact", "key"]
    words = ["a", "hostile", "text", "\\x1b[2J", "of", "several", "words"]
    assert rows == [["1.0000", "identical", "plain"], words]
    assert shown("--no-heading") == rows
    assert command.done("query", "--key", HOSTILE).out == "1.000000\tidentical\tplain\n"
    long, _ = command.on_terminal("sql", f"select '{'x' * 1000}' as long, null as none")
    assert 50 < long.count("x") < 180, "a long cell is shortened on a screen"
    assert "\N{HORIZONTAL ELLIPSIS}" in long
    assert "None" not in long


# progress


def test_a_progress_bar_on_a_terminal_only(command: Command) -> None:
    command.write("doc.txt", TEXT)
    shown, status = command.on_terminal("add", "doc.txt")
    assert (status, "adding" in shown, "documents" in shown) == (0, True, True)
    size = len(TEXT.encode())
    assert f"{size} bytes of {size} bytes" in shown
    # What stays on the screen after the bar is cleared away is what a pipe gets.
    assert shown.endswith("added 1, updated 0, unchanged 0, failed 0\n")
    shown, _ = command.on_terminal("add", "-", stdin=b'{"id": 1, "text": "a"}\nbroken\n')
    assert "lshdb: -:2: not JSON: ... at character 1\n" in in_any_version(shown)
    assert "bytes, " in shown, "how much a pipe will bring nobody knows"
    said = "added 0, updated 0, unchanged 1, failed 0\n"
    assert command.done("add", "doc.txt", says=said).out == ""


# values


def test_numbers_are_written_as_sqlite_writes_them(command: Command) -> None:
    rng = random.Random(7)
    numbers = [f"{rng.randrange(-(10**15), 10**15)}e{rng.randrange(-320, 290)}" for _ in range(300)]
    numbers += [str(rng.randrange(-(2**63), 2**63)) for _ in range(50)] + ["9e999", "-9e999"]
    values = ", ".join(f"({number})" for number in numbers)
    statement = f"select column1, cast(column1 as text) from (values {values})"
    lines = [line.split("|") for line in command.done("sql", statement).lines]
    assert len(lines) == len(numbers)
    assert [one for one, other in lines if one != other] == []
    infinite = command.done("sql", "select 9e999 as a, -9e999 as b, x'00ff' as c", "--json").record
    assert infinite == {"a": "Infinity", "b": "-Infinity", "c": "x'00ff'"}, "as in other outputs"
    spaces = "\u5168\u89d2\u3000\u7a7a\u767d\N{NO-BREAK SPACE}"
    assert command.done("sql", f"select '{spaces}'").out == f"{spaces}\n", "no control characters"
