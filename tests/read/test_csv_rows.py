"""Dialects of CSV and TSV: delimiters, escapes and quotes, which go out as they came."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import Command

from lshdb import offers

TEXT = "the ferry to the islands runs every hour"
FIELDS = [("a", TEXT), ("b", TEXT), ("c", "another text, of words")]


@pytest.mark.app("dedup")
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


@pytest.mark.app("dedup")
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
    command.done("dedup", "a.csv", "-o", "c.csv", "--cut", "4", "--escape", "\\")
    rest = [rows.splitlines()[0], rows.splitlines()[1], "2, at", rows.splitlines()[3]]
    assert command.path("c.csv").read_text().splitlines() == rest


@pytest.mark.app("dedup")
@pytest.mark.parametrize(
    ("name", "options", "row", "text"),
    [
        ("a.tsv", ["--quotes", "none"], '1\t"a "" b"\n', '"a "" b"'),
        ("a.tsv", ["--quotes", "csv"], '1\t"a\n2\tb"\n', "a\n2\tb"),
        ("a.csv", ["--quotes", "none", "--delimiter", "|"], '1|"a, b\n', '"a, b'),
        ("a.csv", ["--quotes", "csv", "--delimiter", "|"], '1|"a\n2|b"\n', "a\n2|b"),
    ],
)
def test_quotes_that_are_named(
    command: Command, name: str, options: list[str], row: str, text: str
) -> None:
    data = row.replace("1", "id", 1)[:3] + f"text\n{row}"
    command.write(name, data)
    command.done("add", name, *options)
    assert command.rows("SELECT content FROM documents") == [(text,)]
    command.done("dedup", name, "-o", f"out-{name}", *options)
    assert command.path(f"out-{name}").read_text() == data


@pytest.mark.app("dedup")
def test_a_quote_that_never_closes_costs_its_row_or_says_what_was_not_read(
    command: Command,
) -> None:
    rows = [f'{number},"{TEXT} {number}"\n' for number in range(9)]
    rows[4] = '4,"' + TEXT + "\n"
    command.write("a.csv", "id,text\n" + "".join(rows))
    done = command("dedup", "a.csv", "-o", "b.csv", "--threshold", "1")
    assert "a.csv:6: not CSV: ',' expected after '\"'\nkept 8, dropped 0, failed 1" in done.err
    # What follows are no rows, but lines of a text that is cut off.
    command.write("a.csv", "id,text\n" + "".join(rows[:5]) + "and then, of\nthe text")
    done = command("dedup", "a.csv", "-o", "b.csv", "--threshold", "1")
    why = "a.csv:6: not CSV: a quote that is not closed; 2 lines after it were not read\n"
    assert why in done.err


@pytest.mark.app("dedup")
def test_a_text_of_lines_that_is_cut_stays_quoted(command: Command) -> None:
    rows = [f'{number},"{TEXT}\n{words}"\n' for number, words in enumerate(["from one", "by two"])]
    command.write("a.csv", "id,text\n" + "".join(rows))
    command.done("dedup", "a.csv", "-o", "b.csv", "--cut", "5")
    assert command.path("b.csv").read_text().endswith('1,"\nby two"\n')


def test_quotes_between_tabs_without_their_app_cost_their_file(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_there = offers.is_there
    monkeypatch.setattr(offers, "is_there", lambda app: app != "tab_quotes" and is_there(app))
    command.write("a.tsv", 'id\ttext\n1\tthe fox\n2\t"the crow"\n3\tthe ant\n')
    command.write("b.tsv", "id\ttext\n4\tthe dove\n")
    done = command("add", "a.tsv", "b.tsv")
    why = "'quotes between tabs' belongs to the app 'tab_quotes', which is not installed"
    assert done.err.startswith(f"lshdb: a.tsv: {why}\nadded 2, ")
    assert done.status == 1
