"""An argument that names a document is its key, else a path from here; never either of two."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import Command

from lshdb.offers import is_there

A = "the quick brown fox jumps over the lazy dog and runs home"
B = "other words of another text that nobody has read before"
DB = ("-d", "../n.db")
AMBIGUOUS = (
    "a.txt is a key, and from here the path of notes/a.txt: give ./a.txt for the path, or "
    "--key for the key"
)


@pytest.fixture
def notes(command: Command, tmp_path: Path) -> Command:
    """A command in a folder below the root, whose a.txt has the name of another file's key."""
    command.write("a.txt", A)
    command.write("notes/a.txt", A)
    command.write("notes/b.txt", B)
    command.done("add", "-d", "n.db", "a.txt", "notes")
    return Command(tmp_path / "notes")


def shown(notes: Command, *names: str) -> str:
    key: str = notes.done("show", *DB, "--json", *names).record["key"]
    return key


def test_a_path_from_here_names_the_document_of_its_file(notes: Command) -> None:
    os.symlink(".", notes.path("link"))
    names = ("b.txt", "./b.txt", "link/b.txt", str(notes.path("b.txt")), "notes/b.txt")
    assert [shown(notes, name) for name in names] == ["notes/b.txt"] * len(names)
    assert shown(notes, "../a.txt") == shown(notes, "--key", "a.txt") == "a.txt"
    assert shown(notes, "./a.txt") == "notes/a.txt"


def test_a_name_of_two_documents_is_refused_and_nothing_changes(notes: Command) -> None:
    commands: list[tuple[str, ...]] = [
        ("show", "a.txt"),
        ("remove", "b.txt", "a.txt"),
        *[("decide", "drop", "b.txt", "a.txt")] * is_there("review"),
        *[("compare", "b.txt", "a.txt")] * is_there("compare"),
    ]
    for name, *arguments in commands:
        assert notes.fails(name, *DB, *arguments, status=2) == AMBIGUOUS
    assert notes.done("show", *DB, "./b.txt").status == 0
    if is_there("review"):
        assert notes.done("decisions", *DB).out == ""


@pytest.mark.app("compare", "review", "passages")
def test_key_takes_no_path(notes: Command) -> None:
    for words in (("show",), ("remove",), ("decide", "drop"), ("compare", "a.txt")):
        reason = notes.fails(*words, *DB, "--key", "b.txt")
        assert reason == "no document has the key 'b.txt'"
    for name in ("query", "passages"):
        reason = notes.fails(name, *DB, "--key", "./a.txt")
        assert reason.startswith("no document has the key './a.txt'")


@pytest.mark.app("review")
def test_the_named_document_is_the_one_that_changes(notes: Command) -> None:
    notes.done("decide", *DB, "drop", "./a.txt", "b.txt", "notes/b.txt")
    decided = [record["keys"] for record in notes.done("decisions", *DB, "--json").records]
    assert decided == [["notes/a.txt"], ["notes/b.txt"]]
    notes.done("remove", *DB, "--key", "a.txt", says="removed 1\n")
    assert shown(notes, "a.txt") == "notes/a.txt", "now it can be nothing else"
    listed = notes.fails("remove", *DB, "--from", "-", stdin="b.txt\n")
    assert listed.startswith("no document has the key 'b.txt'"), "a list has keys"
    notes.done("remove", *DB, "b.txt", "a.txt", says="removed 2\n")


@pytest.mark.app("compare")
def test_compare_takes_stored_documents_and_files_as_they_are(notes: Command) -> None:
    notes.write("b.txt", A)
    notes.write("new.txt", B)

    def identical(*names: str) -> bool:
        record = notes.done("compare", *DB, "--json", *names).record
        return bool(record["identical"])

    assert identical("b.txt", "new.txt"), "the stored text"
    assert identical("./b.txt", "./a.txt"), "the file as it is now"
    assert identical(str(notes.path("b.txt")), "../a.txt")
    os.remove(notes.path("a.txt"))
    assert identical("./a.txt", "../a.txt"), "the file is gone, and its document is not"
    assert not identical("--key", "a.txt", "notes/b.txt")


@pytest.mark.app("folders")
def test_group_by_takes_folders_by_the_same_rule(notes: Command) -> None:
    for folder in ("a", "b"):
        notes.write(f"notes/{folder}/x.txt", f"{A} {folder}")
        notes.write(f"{folder}/x.txt", f"{A} {folder}")
    notes.done("add", *DB, ".")
    reason = notes.fails("pairs", *DB, "--group-by", "notes", status=2)
    assert reason == (
        "notes is a key, and from here the path of notes/notes: give ./notes for the path, or its "
        "whole path for the key"
    )
    whole = str(notes.path("..").resolve() / "notes")
    for name, units in (("./notes", {"notes/notes/a", "notes/notes/b"}), (whole, {"notes/a"})):
        records = notes.done("pairs", *DB, "--group-by", name, "--json").records
        assert units & {record[side] for record in records for side in "ab"}
