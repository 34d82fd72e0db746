"""The command line as a person meets it: first steps, --quiet, tables that fit, completion."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from direct_command import DirectCommand
from helpers import Command, database_of
from rich.cells import cell_len

from lshdb.cli.app import COMMANDS

TEXT = "a text of several words that says nothing in particular"
LONG = "archive/of/some/year/and/some/month/and/some/day/"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, beside a database with long keys, also of wide characters."""
    with database_of(tmp_path / "lsh.db", [(f"{LONG}{n}.txt", TEXT) for n in range(3)]) as database:
        database.add_many([("文書" * 40, TEXT), ("with\x1b[31mcolour", TEXT)])
    return DirectCommand(tmp_path)


def lines(shown: str) -> list[str]:
    return [line for line in ESCAPES.sub("", shown).splitlines() if line.strip()]


def test_without_arguments_the_first_commands_are_shown(command: Command) -> None:
    printed = command.done(says="").out
    shown = re.findall(r"^  lshdb (\w+)", printed, re.M)
    assert len(shown) == 5
    assert set(shown) <= set(COMMANDS)


def test_a_misspelt_command_gets_the_right_one_suggested(command: Command) -> None:
    result = command("qurey", "x")
    assert result.status == 2
    assert "'query'" in result.err


def test_quiet_leaves_results_and_errors(command: Command) -> None:
    command.write("doc.txt", TEXT)
    assert command.done("add", "doc.txt").err
    assert command.done("add", "--quiet", "doc.txt", says="").err == ""
    assert command.done("--quiet", "add", "doc.txt", says="").err == ""
    assert command.done("query", "-q", "--text", "other", says="").err == ""
    assert len(command.done("query", "-q", "doc.txt", says="").lines) == 5
    failed = command("add", "-q", "missing.txt")
    assert failed.status == 1
    assert "missing.txt" in failed.err
    shown, _ = command.on_terminal("add", "--quiet", "doc.txt")
    assert shown == "", "no progress bar either"


def test_a_document_may_be_typed(command: Command) -> None:
    shown, status = command.on_terminal("query", "-", typed=f"{TEXT}\n\x04".encode())
    assert (status, shown.count("1.0000")) == (0, 5)


@pytest.mark.parametrize("columns", [60, 100])
def test_a_table_fits_the_screen_and_breaks_no_word(command: Command, columns: int) -> None:
    shown, _ = command.on_terminal("pairs", columns=columns)
    heading, _, *rows = lines(shown)
    assert heading.split() == ["similarity", "exact", "a", "/", "b"]
    assert len([row for row in rows if "identical" in row]) == 10
    assert max(map(cell_len, rows)) <= columns
    # Keys go on in the next line, below their beginnings.
    start = heading.index(" a / b") + 1
    parts = [row[start:].strip() for row in rows]
    assert "".join(parts).startswith(f"{LONG}0.txt{LONG}1.txt{LONG}0.txt")
    assert {part[-1] for part in parts if part.startswith(LONG[:9])} <= {*"/t"}
    wide, _ = command.on_terminal("pairs", "--where", "key LIKE 'arch%'", columns=140)
    assert f"  {LONG}0.txt  {LONG}1.txt " in wide
    piped = command.done("pairs").lines
    assert piped[0].split("\t")[2:] == [f"{LONG}0.txt", f"{LONG}1.txt"], "whole in a pipe"


def test_documents_are_shown_by_their_titles_or_first_words_where_there_is_room(
    tmp_path: Path,
) -> None:
    with database_of(tmp_path / "lsh.db", {"a": f"{TEXT}\n\x1b[31m"}) as database:
        database.add("b", f"{TEXT}.", {"title": "A title\nof two lines"})
        database.add("c", f"{TEXT}!", {"title": 7})
    command = DirectCommand(tmp_path)
    begins = {"a": f"{TEXT[:40]}", "b": "A title of two lines", "c": "7"}
    for name in (("clusters",), ("query", "--text", TEXT)):
        shown = lines(command.on_terminal(*name)[0])
        assert shown[0].rstrip().endswith("key  begins with")
        rows = [line.split("  ") for line in shown[2:]]
        assert len(rows) == 3
        for row in rows:
            key, words = [cell.strip() for cell in row if cell.strip()][-2:]
            assert words.startswith(begins[key])
    heading, _, *pairs = lines(command.on_terminal("pairs")[0])
    assert heading.split()[4:] == ["a", "begins", "with", "b", "begins", "with"]
    assert max(map(cell_len, pairs)) <= 100
    assert [pair.split()[2:4] for pair in pairs] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert all(pair.count("A title of two lines") == ("b" in pair.split()[2:4]) for pair in pairs)
    assert "begins" not in command.on_terminal("pairs", columns=50)[0], "no room"
    assert "begins" not in command.on_terminal("pairs", "--fields", "title")[0]
    piped = command.done("pairs", "--heading").lines[0]
    assert piped.split("\t") == ["similarity", "exact", "a", "b"]


def test_passages_have_lines_of_their_own(tmp_path: Path) -> None:
    command = DirectCommand(tmp_path)
    command.done("init", "--passages", "6")
    broken = TEXT.replace("words", "words\n")
    command.write("a.txt", f"Once. {broken}.\n")
    command.write("b.txt", f"{broken}, it is said")
    command.done("add", "a.txt")
    shown = lines(command.on_terminal("passages", "b.txt", columns=60)[0])
    assert shown[0].split() == ["coverage", "key", "passage_words", "line", "stored_line"]
    assert shown[2].split() == ["0.7692", "a.txt", "10", "1", "1"]
    assert " ".join("".join(shown[3:]).split()) == TEXT
    assert {line[:4] for line in shown[3:]} == {" " * 4}
    assert max(map(len, map(str.rstrip, shown))) <= 60
    assert (
        command.done("passages", "b.txt")
        .lines[0]
        .endswith("words\\n that says nothing in particular")
    )


def test_notes_end_their_lines_between_words(command: Command) -> None:
    shown, _ = command.on_terminal("pairs", "--threshold", "0.5", columns=40)
    note = command.done("pairs", "--threshold", "0.5").err
    wrapped = shown[: shown.index("similarity", shown.index("finds about"))]
    assert len(note) > 80
    first = [line.strip() for line in ESCAPES.sub("", wrapped).splitlines() if line.strip()][:3]
    assert " ".join(first) == note.strip()
    assert max(map(len, first)) <= 40


def test_info_is_in_groups(command: Command) -> None:
    shown, _ = command.on_terminal("info", columns=80)
    rows = lines(shown)
    titles = [line for line in rows if not line.startswith(" ")]
    assert titles == ["Documents", "Settings", "Size"]
    assert "  compared by   runs of 3 words (word:3)" in rows
    assert max(map(len, rows)) <= 80
    assert command.done("info").lines[0].split() == ["documents:", "5"]


def test_info_says_why_the_bytes_of_tables_are_not_known(command: Command) -> None:
    """Neither a large file nor an SQLite without dbstat is at hand."""
    code = (
        "import sys\nfrom lshdb.cli import info\nfrom lshdb.cli.app import make_app\n"
        "from lshdb.store import statements\ninfo._MEASURED = 0\n"
        "statements.HAS_DBSTAT = 'SELECT 0'\n"
        "for options in [], ['--tables'], ['--json']:\n"
        "    make_app()(['info', *options], 'lshdb', standalone_mode=False)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=command.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    large, old, as_json = (line for line in done.stdout.splitlines() if "tables" in line)
    assert large.split(None, 1) == [
        "tables:",
        "not known: the file is large, --tables measures them",
    ]
    assert old.split(None, 1) == ["tables:", "not known: this SQLite was built without dbstat"]
    assert json.loads(as_json)["tables"] is None


def test_what_is_drawn_says_what_opens_it(command: Command) -> None:
    shown, _ = command.on_terminal("plot", "-o", "x.svg", columns=200)
    assert shown.splitlines()[-1].startswith("open x.svg in a browser; lshdb pairs --sample 20")
    shown, _ = command.on_terminal("report", "-o", "x.html", columns=200)
    said = "open x.html in a browser; lshdb serve --review -d lsh.db to decide what stays"
    assert shown.splitlines()[-1].endswith(said)
    assert command.done("plot", "-o", "x.svg").err == "wrote x.svg\n"


def test_no_color_is_respected(command: Command) -> None:
    command.write("doc.txt", TEXT)
    colour = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d")
    assert colour.search(command.on_terminal("add", "doc.txt")[0])
    command.variables["NO_COLOR"] = "1"
    assert not colour.search(command.on_terminal("add", "doc.txt")[0])


def completed(command: Command, *words: str) -> list[str]:
    """What the shell is offered for the last word."""
    variables = {
        "_LSHDB_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["lshdb", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return [
        line for line in DirectCommand(command.directory, variables).done(says="").lines if line
    ]


def test_commands_flags_and_keys_are_completed(command: Command) -> None:
    assert completed(command, "quer") == ["query"]
    assert completed(command, "query", "--exh") == ["--exhaustive"]
    keys = [f"{LONG}{n}.txt" for n in range(3)]
    for words in (["show"], ["compare", "x"], ["remove"], ["query", "--key"], ["buckets", "--key"]):
        assert completed(command, *words, "arch") == keys
    assert completed(command, "show", "-d", "lsh.db", "arch") == keys
    assert completed(command, "show", "with") == [], "a shell would print the escape as it is"
    assert completed(command, "show", "-d", "missing.db", "arch") == []
    assert not command.path("missing.db").exists()


def test_results_in_a_file_are_whole_beside_a_progress_bar(command: Command) -> None:
    for name in ("notes/a", "notes/b"):
        command.write(name, TEXT)
    rows = "".join(f'{{"id": "{n}", "text": "{TEXT}"}}\n' for n in range(600))
    command.write("in.jsonl", rows)
    output = command.path("out.txt")
    for arguments, expected in [
        (("dedup", "notes"), 1),
        (("query", "in.jsonl", "--top", "1"), 600),
        (("query", "in.jsonl", "--top", "1", "--json"), 600),
    ]:
        shown, status = command.on_terminal(*arguments, output=output)
        assert status == 0
        assert f"{arguments[0]} " in lines(shown)[0]
        assert ("queries" if "query" in arguments else "documents") in shown
        assert len(output.read_text().splitlines()) == expected
