"""The directory that keys of files are relative to: what shows it, and that it stays."""

from __future__ import annotations

import inspection
import pytest
from helpers import Command

import lshdb

A = "the quick brown fox jumps over the lazy dog and runs home"
B = "other words of another text that nobody has read before"


@pytest.fixture
def notes(command: Command) -> Command:
    command.write("notes/a.txt", A)
    command.write("notes/sub/b.txt", B)
    return command


def within(command: Command, directory: str) -> Command:
    """The command in a directory below."""
    command.path(directory).mkdir(exist_ok=True)
    return Command(command.path(directory))


def test_info_shows_the_root(notes: Command) -> None:
    notes.done("add", "notes")
    within(notes, "else").done("add", "-d", "rooted.db", "--root", "../notes", "../notes")
    for directory, file, root in ((".", "lsh.db", "."), ("else", "rooted.db", "notes")):
        real = str(notes.path(root).resolve())
        command = within(notes, directory)
        assert f"  keys of files from  {real}" in command.done("info", "-d", file).lines
        assert command.done("info", "-d", file, "--json").record["root"] == real
        with lshdb.open(command.path(file), mode="read") as db:
            info = db.info()
        assert info.root == info.in_words()["Documents"]["keys of files from"] == real
    before = notes.done("info").lines
    with inspection.sqlite(notes.path("lsh.db")) as connection:
        connection.execute("UPDATE settings SET root = NULL")
    assert notes.done("info").lines == before, "none is the directory of the file"


def test_another_root_is_refused_and_the_own_one_is_not(notes: Command) -> None:
    notes.done("add", "notes")
    keys, root = notes.keys(), notes.directory.resolve()
    for name, given in (("add", ["notes"]), ("init", [])):
        assert notes.fails(name, "--root", "notes", *given) == (
            f"lsh.db: keys of files are paths from {root}, not from notes: leave out the root, or "
            "change it with lshdb sync --root"
        )
    assert notes.fails("add", "--root", "none", "notes", status=2) == (
        "root 'none': no such directory"
    )
    notes.done("add", "--root", ".", "notes")
    notes.done("add", "--root", str(root), "notes")
    assert notes.keys() == keys
