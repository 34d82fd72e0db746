"""lshdb query FILE...: the rows of tables and several files, each a query."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from direct_command import DirectCommand
from direct_command import command as command
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
    return DirectCommand(tmp_path)


def found(command: Command, *arguments: str) -> list[tuple[str, str]]:
    records = command.done("query", *arguments, "--json").records
    return [(record["query"], record["key"]) for record in records]


EXPECTED = [("near", "fox"), ("near", "fox again"), ("7", "ant")]


def test_each_row_of_a_table_is_a_query(fables: Command) -> None:
    directory = fables.directory
    table = pa.table({name: [str(row[name]) for row in ROWS] for name in ("id", "text")})
    pq.write_table(table, directory / "rows.parquet")
    with (directory / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *[[r["id"], r["text"]] for r in ROWS]])
    fables.write("rows.json", json.dumps(ROWS))
    for name in ("rows.jsonl", "rows.parquet", "rows.csv", "rows.json"):
        assert found(fables, name) == EXPECTED
    done = fables.done("query", "rows.jsonl", says="queries 4, with a match 2\n")
    assert done.lines[2] == "7\t1.000000\tidentical\tant"
    stdin = (directory / "rows.jsonl").read_text()
    again = fables.done("query", "-", "--format", "jsonl", stdin=stdin)
    assert again.lines == done.lines
    is_empty = "lshdb: the query is empty, and so it is similar to no document\n"
    for form in ([], ["--json"]):
        assert fables.done("query", "-", *form, stdin="", says=is_empty).lines == []


def test_files_and_directories_are_queries_by_their_paths(fables: Command) -> None:
    notes = fables.path("notes")
    notes.mkdir()
    (notes / "a.txt").write_text(FOX)
    (notes / "b.txt").write_text(NEW)
    expected = [("notes/a.txt", "fox"), ("notes/a.txt", "fox again")]
    assert found(fables, "notes") == found(fables, "notes/*.txt") == expected
    assert found(fables, "notes/b.txt", "./notes/a.txt", "rows.jsonl") == expected + EXPECTED
    one = fables.done("query", "notes/a.txt", says="")
    assert one.lines == ["1.000000\tidentical\tfox", "1.000000\tidentical\tfox again"]


def test_what_has_no_match_and_the_exit_status(fables: Command) -> None:
    done = fables.done("query", "rows.jsonl", "--unmatched", says="queries 4, with a match 2\n")
    assert done.lines == ["new", "empty"]
    assert fables("query", "rows.jsonl", "--fail-if-found").status == 1
    assert fables("query", "rows.jsonl", "--unmatched", "--fail-if-found").status == 1
    nothing = ["query", "rows.jsonl", "--fail-if-found", "--where", "key = 'x'"]
    done = fables.done(*nothing)
    assert "no document with similarity 0.8 or more" in done.err
    assert fables("query", "--text", FOX, "--fail-if-found").status == 1
    assert fables("query", "--text", NEW, "--fail-if-found").status == 0
    fables.write("fox.txt", FOX)
    done = fables.done("query", "fox.txt", "--unmatched")
    assert (done.lines, done.err.splitlines()[0]) == ([], "every query has a match")


def test_rows_that_cannot_be_read_are_reported_and_counted(fables: Command) -> None:
    bad = ["nonsense", json.dumps({"id": "x"}), json.dumps({"text": FOX})]
    fables.write("bad.jsonl", "\n".join(bad))
    done = fables("query", "bad.jsonl", "missing.txt", "lsh.db")
    assert done.status == 1
    assert done.lines == [
        f"bad.jsonl:3\t1.000000\tidentical\t{key}" for key in ("fox", "fox again")
    ]
    said = done.err.splitlines()
    assert [line.split(": ")[1] for line in said[:4]] == [
        "bad.jsonl:1",
        "bad.jsonl:2",
        "missing.txt",
        "lsh.db",
    ]
    assert said[4:] == ["queries 1, with a match 1, failed 4"]


def test_a_stored_file_is_not_among_its_own_matches(command: Command) -> None:
    notes = command.path("notes")
    notes.mkdir()
    text = "The fox looked at the grapes and then he went away again"
    for name, content in {"a.txt": text, "b.txt": f"{text}!", "c.txt": f"{text}.."}.items():
        (notes / name).write_text(content)
    command.done("add", "notes")
    for file in ("notes/a.txt", "./notes//a.txt", str(notes / "a.txt")):
        found = command.done("query", file, "--json").records
        assert [one["key"] for one in found] == ["notes/b.txt", "notes/c.txt"]
        assert len(command.done("query", file, "--top", "1").lines) == 1
    several = command.done("query", "notes", "--top", "1", "--json").records
    assert [(one["query"], one["key"]) for one in several] == [
        ("notes/a.txt", "notes/b.txt"),
        ("notes/b.txt", "notes/a.txt"),
        ("notes/c.txt", "notes/a.txt"),
    ]
    # Also when it has changed since: it is still the same file.
    (notes / "a.txt").write_text(f"{text} and again")
    assert len(command.done("query", "notes/a.txt").lines) == 2
    # A row of a table is another document, whatever its key.
    row = json.dumps({"id": "notes/a.txt", "text": text})
    command.write("rows.jsonl", row)
    assert len(command.done("query", "rows.jsonl").lines) == 3
    (notes / "alone.txt").write_text("another text that resembles nothing at all")
    command.done("add", "notes/alone.txt")
    assert command("query", "notes/alone.txt", "--fail-if-found").status == 0
    assert command.done("query", "notes/alone.txt", "--unmatched").lines == ["notes/alone.txt"]


def test_fields_may_be_the_text_and_absent_ones_are_noted(command: Command) -> None:
    text = "The fox looked at the grapes and then he went away again"
    rows = [{"id": "a", "text": text, "lang": "en"}, {"id": "b", "text": f"{text}!"}]
    command.write("rows.jsonl", rows)
    command.done("add", "rows.jsonl")
    (pair,) = command.done("pairs", "--fields", "text,lang", "--json", says="").records
    assert (pair["a.text"], pair["b.text"]) == (text, f"{text}!")
    assert (pair["a.lang"], pair["b.lang"]) == ("en", None)
    for arguments in (["query", "--key", "a"], ["query", "rows.jsonl"], ["clusters"]):
        found = command.done(*arguments, "--fields", "text", "--json").records
        assert {one["text"] for one in found} <= {text, f"{text}!"}
        assert found
        for form in ([], ["--json"], ["--csv"]):
            said = command.done(*arguments, "--fields", "nosuch", *form).err
            assert "lshdb: no document here has a value for nosuch: is the name right?\n" in said
    said = command.done("pairs", "--fields", "nosuch,lang").err
    assert said == "lshdb: no document here has a value for nosuch: is the name right?\n"
    # A field of that name is not hidden by the text.
    command.done("add", "-", "--text-field", "body", stdin='{"id":"c","body":"x y z","text":"own"}')
    command.done("add", "-", stdin='{"id":"d","text":"x y z"}')
    found = command.done("query", "--key", "d", "--fields", "text", "--json").records
    assert [one["text"] for one in found] == ["own"]
