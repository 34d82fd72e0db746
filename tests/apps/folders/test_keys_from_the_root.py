"""Keys of files are paths from the database's root, wherever a command runs or the root moves."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from helpers import Command

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


def synced(command: Command, *arguments: str, **counts: int) -> None:
    """Synchronise; nothing but what is counted happens."""
    record = command.done("sync", "--json", *arguments).record
    names = ("added", "updated", "moved", "removed", "unchanged", "failed")
    assert {name: record[name] for name in names if record[name]} == counts


def test_a_file_has_one_document_from_wherever_it_is_added(notes: Command) -> None:
    within(notes, "notes").done("add", "-d", "../n.db", ".")
    assert "unchanged 2" in notes.done("add", "-d", "n.db", "notes").err
    within(notes, "else").done("add", "-d", "../n.db", "../notes/a.txt", str(notes.path("notes")))
    assert notes.keys("n.db") == ["notes/a.txt", "notes/sub/b.txt"]
    synced(within(notes, "notes"), "-d", "../n.db", "sub", ".", unchanged=2)
    # No list names the only copy, and a second one is listed by a path from there.
    for form in ([], ["--files"]):
        assert notes.done("clusters", "-d", "n.db", "--drop-list", *form).out == ""
    notes.write("notes/sub/copy.txt", A)
    notes.done("add", "-d", "n.db", "notes")
    here = within(notes, "notes")
    for form, name in (([], "notes/sub/copy.txt"), (["--files"], "sub/copy.txt")):
        listed = here.done("clusters", "-d", "../n.db", "--star", "--drop-list", *form)
        assert listed.lines == [name]


@pytest.mark.parametrize("root", [None, "..", "notes"])
def test_a_folder_that_moves_with_its_database_keeps_all_keys(
    command: Command, root: str | None
) -> None:
    command.write("home/box/notes/a.txt", A)
    command.write("home/box/notes/sub/b.txt", B)
    box = within(command, "home/box")
    synced(box, *(["--root", root] if root else []), "notes", added=2)
    box.done("decide", "keep", "notes/a.txt")
    keys = box.keys()
    assert keys[0] == {None: "notes/a.txt", "..": "box/notes/a.txt", "notes": "a.txt"}[root]
    # What moves is the folder of the root, or one above it.
    command.path("home").rename(command.path("elsewhere"))
    moved = within(command, "elsewhere/box")
    synced(moved, "notes", unchanged=2)
    synced(command, "-d", "elsewhere/box/lsh.db", "elsewhere/box/notes", unchanged=2)
    assert moved.keys() == keys
    assert moved.done("decisions", "--json").record["state"] == "holds"


def test_a_rename_beside_a_dropped_copy_is_no_database_that_moved_alone(command: Command) -> None:
    """Which of two equal files the new one was is not known, but it is here."""
    for name in ("a", "b"):
        command.write(f"notes/{name}.txt", "the quick brown fox jumps over the lazy dog")
    command.done("add", "notes")
    command.done("decide", "drop", "notes/b.txt")
    command.path("notes/b.txt").unlink()
    command.path("notes/a.txt").rename(command.path("notes/c.txt"))
    command.done("sync", "notes")
    assert command.keys() == ["notes/c.txt"]
    assert command.done("decisions", "--drop", "--files").out == ""


def test_a_database_that_moved_without_its_files_loses_no_document(notes: Command) -> None:
    notes.done("sync", "notes")
    keys = notes.keys()
    notes.path("away").mkdir()
    notes.path("lsh.db").rename(notes.path("away/n.db"))
    away = notes.path("away").resolve()
    away_file = ("-d", "away/n.db")
    for more in ([], ["--dry-run"]):
        ended = notes("sync", *away_file, "notes", *more)
        assert ended.status == 1
        assert (
            f"away/n.db has documents of 2 files below {away}, and none of these is there: if "
            "they are elsewhere now, give that directory by --root DIR (root=); if they are really "
            "gone, --remove-most (remove_most=True) removes their documents"
        ) in ended.err
    assert notes.keys("away/n.db") == keys
    # Told where they are, it changes the root and no key.
    copy = notes.path("away/copy.db")
    shutil.copyfile(notes.path("away/n.db"), copy)
    synced(notes, *away_file, "--root", ".", "notes", unchanged=2)
    synced(notes, *away_file, "notes", unchanged=2)
    assert notes.keys("away/n.db") == keys
    assert notes.rows("SELECT root FROM settings", "away/n.db") == [("..",)]
    # Told not to wait for them, it takes the files for those that moved out of the root.
    synced(notes, "-d", str(copy), "--remove-most", "notes", moved=2)
    files = [str(notes.directory.resolve() / key) for key in keys]
    assert notes.keys("away/copy.db") == files
    notes.path("notes").rename(notes.path("more"))
    synced(notes, "-d", str(copy), "--remove-most", "--moved-from", "notes", "more", moved=2)
    assert notes.keys("away/copy.db") == [key.replace("notes", "more") for key in files]


def test_a_directory_behind_a_link_has_its_real_key(notes: Command, tmp_path: Path) -> None:
    os.symlink("notes/sub", notes.path("link"))
    notes.done("add", "link", "link/b.txt")
    assert notes.keys() == ["notes/sub/b.txt"]
    synced(notes, "notes", added=1, unchanged=1)
    assert notes.done("show", "link/b.txt", "--json").record["key"] == "notes/sub/b.txt"
    # The parent of a link's target, not that in the text of the path.
    notes.done("add", "-d", "parent.db", "link/../a.txt")
    assert notes.keys("parent.db") == ["notes/a.txt"]
    # Outside of the root the key is absolute, also through a link below the root.
    within(notes, "beneath").done("add", "../notes/a.txt")
    os.symlink("../notes", notes.path("beneath/link"))
    within(notes, "beneath").done("add", "link")
    files = [str(tmp_path.resolve() / key) for key in ("notes/a.txt", "notes/sub/b.txt")]
    assert notes.keys("beneath/lsh.db") == files
    # A database behind a link has the root of its real directory.
    os.symlink("../lsh.db", notes.path("beneath/linked.db"))
    synced(within(notes, "beneath"), "-d", "linked.db", "../notes", unchanged=2)
