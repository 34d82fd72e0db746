"""lshdb query FILE...: the rows of tables and several files, each a query."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command

import lshdb

FOX = "The fox looked at the grapes, and then he went away"
ANT = "The ant worked all summer long, while the cricket sang songs"
NEW = "A crow found a piece of cheese under the tree by the river"
ROWS = [
    {"id": "near", "text": FOX + "!", "n": 1},
    {"id": "new", "text": NEW, "n": 2},
    {"id": 7, "text": ANT, "n": 3},
    {"id": "empty", "text": "", "n": 4},
]


@pytest.fixture
def fables(tmp_path: Path) -> Command:
    with lshdb.open(tmp_path / "lsh.db") as db:
        documents = [lshdb.Document("fox", FOX, {"n": 1}), lshdb.Document("ant", ANT, {"n": 2})]
        db.add_many([*documents, ("fox again", FOX)])
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return Command(tmp_path)


def found(command: Command, *arguments: str) -> list[tuple[str, str]]:
    records = command.done("query", *arguments, "--json").records
    return [(record["query"], record["key"]) for record in records]


@pytest.mark.app("long_tables")
def test_each_set_of_a_long_table_is_a_query(tmp_path: Path) -> None:
    command = Command(tmp_path)
    rows = [f"{basket},{basket * 7 + item}" for item in range(20) for basket in range(3)]
    command.write("baskets.csv", "basket,item\n" + "\n".join(rows))
    columns = ("--set-key", "basket", "--set-item", "item")
    command.done("init", "--for", "baskets")
    command.done("add", "baskets.csv", *columns)
    command.write("ask.csv", "basket,item\n" + "\n".join(f"q{row}" for row in rows[::-1]))
    for name, stdin in (("ask.csv", ""), ("-", command.path("ask.csv").read_text())):
        asked = ("query", name, "--format", "csv", *columns, "--threshold", "1", "--json")
        found = command.done(*asked, stdin=stdin).records
        assert sorted((row["query"], row["key"]) for row in found) == [
            ("q0", "0"),
            ("q1", "1"),
            ("q2", "2"),
        ]
    command.write("texts.csv", "basket,item\nq,\n")
    assert command("query", "texts.csv", *columns).status == 1


EXPECTED = [("near", "fox"), ("near", "fox again"), ("7", "ant")]


def test_each_row_of_a_table_is_a_query(fables: Command) -> None:
    table = pa.table({name: [str(row[name]) for row in ROWS] for name in ("id", "text")})
    pq.write_table(table, fables.path("rows.parquet"))
    for name in ("rows.jsonl", "rows.parquet"):
        assert found(fables, name) == EXPECTED
    done = fables.done("query", "rows.jsonl", says="queries 4, with a match 2\n")
    assert done.lines[2] == "7\t1.000000\tidentical\tant"
    stdin = fables.path("rows.jsonl").read_text()
    assert fables.done("query", "-", "--format", "jsonl", stdin=stdin).lines == done.lines
    assert fables.done("query", "-", stdin="").lines == []
    # So is each file of a directory.
    for name, text in (("a", FOX), ("b", NEW)):
        fables.write(f"notes/{name}.txt", text)
    expected = [("notes/a.txt", "fox"), ("notes/a.txt", "fox again")]
    assert found(fables, "notes") == found(fables, "notes/*.txt") == expected
    assert found(fables, "notes/b.txt", "./notes/a.txt", "rows.jsonl") == expected + EXPECTED
    bad = ["nonsense", json.dumps({"id": "x"}), json.dumps({"text": FOX})]
    fables.write("bad.jsonl", "\n".join(bad))
    done = fables("query", "bad.jsonl", "missing.txt", "lsh.db")
    assert [line.split("\t")[0] for line in done.lines] == ["bad.jsonl:3"] * 2
    *said, counts = done.err.splitlines()
    failed = ["bad.jsonl:1", "bad.jsonl:2", "missing.txt", "lsh.db"]
    assert [line.split(": ")[1] for line in said] == failed
    assert (done.status, counts) == (1, "queries 1, with a match 1, failed 4")


def test_what_has_no_match_and_the_exit_status(fables: Command) -> None:
    unmatched = ("query", "rows.jsonl", "--unmatched")
    done = fables.done(*unmatched, says="queries 4, with a match 2\n")
    assert done.lines == ["new", "empty"]
    fails = "--fail-if-found"
    for arguments in (unmatched, ("query", "rows.jsonl"), ("query", "--text", FOX)):
        assert fables(*arguments, fails).status == 1
    done = fables.done("query", "rows.jsonl", fails, "--where", "key = 'x'")
    assert "no document with similarity 0.8 or more" in done.err
    assert fables.done("query", "--text", NEW, fails).lines == []
    fables.write("fox.txt", FOX)
    done = fables.done("query", "fox.txt", "--unmatched")
    assert (done.lines, done.err.splitlines()[0]) == ([], "every query has a match")


def test_a_stored_file_is_not_among_its_own_matches(command: Command) -> None:
    for name, end in (("a", ""), ("b", "!"), ("c", "..")):
        command.write(f"notes/{name}.txt", FOX + end)
    command.done("add", "notes")
    own = command.path("notes/a.txt")
    for file in ("notes/a.txt", "./notes//a.txt", str(own)):
        matches = command.done("query", file, "--json").records
        assert [match["key"] for match in matches] == ["notes/b.txt", "notes/c.txt"]
        assert len(command.done("query", file, "--top", "1").lines) == 1
    several = [line.split("\t") for line in command.done("query", "notes", "--top", "1").lines]
    assert [cells[-1] for cells in several] == ["notes/b.txt", "notes/a.txt", "notes/a.txt"]
    # Also when it has changed since: it is still the same file.
    own.write_text(f"{FOX} and again")
    assert len(command.done("query", "notes/a.txt").lines) == 2
    # A row of a table is another document, whatever its key.
    command.write("rows.jsonl", [{"id": "notes/a.txt", "text": FOX}])
    assert len(command.done("query", "rows.jsonl").lines) == 3
    command.write("alone.txt", NEW)
    command.done("add", "alone.txt")
    assert command.done("query", "alone.txt", "--fail-if-found", "--unmatched").lines


def test_fields_may_be_the_text_and_absent_ones_are_noted(command: Command) -> None:
    command.write("rows.jsonl", [{"id": "a", "text": FOX, "lang": "en"}, {"id": "b", "text": FOX}])
    command.done("add", "rows.jsonl")
    (pair,) = command.done("pairs", "--fields", "text,lang", "--json", says="").records
    values = [pair[name] for name in ("a.text", "b.text", "a.lang", "b.lang")]
    assert values == [FOX, FOX, "en", None]
    said = "lshdb: no document here has a value for nosuch: is the name right?\n"
    for line in ("query --key a", "query rows.jsonl", "clusters", "pairs"):
        assert said in command.done(*line.split(), "--fields", "nosuch,text").err
    # A field of that name is not hidden by the text.
    command.done("add", "-", "--text-field", "body", stdin='{"id":"c","body":"x y z","text":"own"}')
    row = command.done("query", "--text", "x y z", "--fields", "text", "--json").record
    assert row["text"] == "own"
