"""The command line as a person meets it: first steps, --quiet, tables that fit, completion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import Command, database_of
from rich.cells import cell_len

from lshdb.store import statements

TEXT = "a text of several words that says nothing in particular"
LONG = "archive/of/some/year/and/some/month/and/some/day/"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, beside a database with long keys, also of wide characters."""
    with database_of(tmp_path / "lsh.db", [(f"{LONG}{n}.txt", TEXT) for n in range(3)]) as database:
        database.add_many([("文書" * 40, TEXT), ("with\x1b[31mcolour", TEXT)])
    return Command(tmp_path)


def lines(shown: str) -> list[str]:
    return [line for line in ESCAPES.sub("", shown).splitlines() if line.strip()]


def test_without_arguments_the_help_is_shown(command: Command) -> None:
    assert command.done(says="") == command.done("--help", says="")
    assert "'query'" in command("qurey", "x").err, "what was meant"


def test_quiet_leaves_results_and_errors(command: Command) -> None:
    command.write("doc.txt", TEXT)
    for words in (
        ("add", "-q", "doc.txt"),
        ("-q", "add", "doc.txt"),
        ("query", "-q", "--text", "x"),
    ):
        assert command.done(*words, says="").out == ""
    assert len(command.done("query", "-q", "doc.txt", says="").lines) == 5
    assert command("add", "-q", "missing.txt").err.startswith("lshdb: missing.txt: ")
    assert command.on_terminal("add", "-q", "doc.txt") == ("", 0), "no progress bar either"


def test_a_document_may_be_typed(command: Command) -> None:
    shown, status = command.on_terminal("query", "-", typed=f"{TEXT}\n\x04".encode())
    assert (status, shown.count("1.0000")) == (0, 5)


def test_a_table_fits_the_screen(command: Command) -> None:
    heading, _, *rows = lines(command.on_terminal("pairs", columns=60)[0])
    assert heading.split() == ["similarity", "exact", "a", "b"]
    assert len([row for row in rows if "identical" in row]) == 10
    assert max(map(cell_len, rows)) <= 60
    # Keys go on in the next line, below their beginnings.
    start, end = heading.index(" a ") + 1, heading.index(" b ") + 1
    for key, column in ((f"{LONG}0.txt", slice(start, end)), (f"{LONG}1.txt", slice(end, None))):
        assert "".join(row[column].strip() for row in rows).startswith(key)
    wide, _ = command.on_terminal("pairs", "--where", "key LIKE 'arch%'", columns=160)
    assert re.search(f"  {LONG}0.txt +{LONG}1.txt ", wide)


def test_documents_are_shown_with_their_titles_or_first_words(tmp_path: Path) -> None:
    with database_of(tmp_path / "lsh.db", {"a": f"{TEXT}\n\x1b[31m"}) as database:
        database.add("b", f"{TEXT}.", {"title": "A [bold]title\nof two lines"})
        database.add("c", f"{TEXT}!", {"title": 7})
    command = Command(tmp_path)
    begins = {"a": TEXT, "b": "A [bold]title of two lines", "c": "7"}
    heading, _, *rows = lines(command.on_terminal("clusters", columns=140)[0])
    for row, below, (key, start) in zip(rows[::2], rows[1::2], begins.items(), strict=True):
        assert row.split()[-1] == key
        assert below.strip().startswith(start)
        assert below.index(start) == row.index(f" {key} ") + 1 == heading.index(" key ") + 1
    _, _, *pairs = lines(command.on_terminal("pairs")[0])
    assert len(pairs) > 3
    assert max(map(cell_len, pairs)) <= 100
    assert TEXT not in command.on_terminal("pairs", "--fields", "title")[0]


def test_info_says_why_the_bytes_of_tables_are_not_known(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No SQLite without dbstat is at hand."""
    monkeypatch.setattr(statements, "HAS_DBSTAT", "SELECT 0")
    assert "tables" not in command.done("info").out
    shown = command.done("info", "--tables").out
    assert " not known: this SQLite was built without dbstat" in shown
    assert command.done("info", "--tables", "--json").record["tables"] is None


@pytest.mark.app("report")
@pytest.mark.app("report")
def test_what_is_drawn_says_what_opens_it(command: Command) -> None:
    words = ("report", "-o", "x.html")
    last = "open x.html in a browser; lshdb serve --review -d lsh.db"
    assert last in command.on_terminal(*words, columns=200)[0].splitlines()[-1]
    assert command.done(*words).err == "wrote x.html\n"


def test_no_color_is_respected(command: Command) -> None:
    command.write("doc.txt", TEXT)
    colour = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d")
    assert colour.search(command.on_terminal("add", "doc.txt")[0])
    command.variables["NO_COLOR"] = "1"
    assert not colour.search(command.on_terminal("add", "doc.txt")[0])


def completed(command: Command, *words: str) -> list[str]:
    """What the shell is offered for the last word."""
    line = {"COMP_WORDS": " ".join(["lshdb", *words]), "COMP_CWORD": str(len(words))}
    variables = {"_LSHDB_COMPLETE": "complete_bash", **line}
    return Command(command.directory, variables).done(says="").out.split()


def test_commands_and_flags_are_completed(command: Command) -> None:
    assert completed(command, "quer") == ["query"]
    assert completed(command, "query", "--exh") == ["--exhaustive"]


def test_the_values_of_an_option_are_completed(command: Command) -> None:
    assert completed(command, "init", "--for", "s") == ["short-text", "scans"]
    assert completed(command, "init", "--shingle", "") == ["word:", "char:", "code:", "set", "bag"]


@pytest.mark.app("dedup")
def test_the_values_of_an_option_of_an_app_are_completed(command: Command) -> None:
    assert completed(command, "dedup", "x.csv", "--keep", "l") == ["last", "longest"]
    rules = ["similar", "identical", "contained", "copied:"]
    assert completed(command, "dedup", "x.csv", "--rule", "") == rules
    assert completed(command, "dedup", "x.csv", "--against", "") == []


def test_results_in_a_file_are_whole_beside_a_progress_bar(command: Command) -> None:
    command.write("in.jsonl", ({"id": number, "text": TEXT} for number in range(600)))
    output = command.path("out.txt")
    for form in ([], ["--json"]):
        arguments = ("query", "in.jsonl", "--top", "1", *form)
        shown, status = command.on_terminal(*arguments, output=output)
        assert (status, "query " in lines(shown)[0], "queries" in shown) == (0, True, True)
        assert len(output.read_text().splitlines()) == 600
