"""`lshdb trash --restore` removed a file behind a link, and wrote wherever a log said.

trash-cli pull request #392: restoring wrote to absolute paths and through dangling links that a
stranger's directory named. lgse/strata #862: it followed a link that had replaced a directory.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command, files_to_drop, left_files

from lshdb.store.partial_files import is_second_name, rename_new

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day"


def moved(command: Command) -> Path:
    """A file that was moved aside from notes/a.txt."""
    files_to_drop(command, {"notes/a.txt": TEXT, "kept.txt": TEXT}, "notes/a.txt")
    command.done("trash")
    return command.path("lsh.db-trash/1/notes/a.txt")


def left(command: Command, *options: str) -> str:
    (why,) = left_files(command("trash", "--restore", *options)).values()
    return why


def test_a_link_at_the_old_place_stays(command: Command) -> None:
    aside, place = moved(command), command.path("notes/a.txt")
    for target in (aside, Path("none"), command.directory):
        place.symlink_to(target)
        assert left(command) == "file exists"
        assert (place.is_symlink(), aside.read_text()) == (True, TEXT)
        place.unlink()
    assert command.done("trash", "--restore", "--json").record["action"] == "restored"
    assert place.read_text() == TEXT


@pytest.mark.parametrize("can_link", [True, False])
def test_a_new_name_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_link: bool
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    if not can_link:
        monkeypatch.setattr("lshdb.store.partial_files.os.link", refuse)
    path, place = tmp_path / "path", tmp_path / "place"
    path.write_text(TEXT)
    for target in (path, tmp_path / "none"):
        place.symlink_to(target)
        with pytest.raises(FileExistsError):
            rename_new(str(path), str(place))
        assert (place.is_symlink(), path.read_text()) == (True, TEXT)
        place.unlink()
    with pytest.raises(FileExistsError):
        rename_new(str(path), str(path))
    rename_new(str(path), str(place))
    assert place.read_text() == TEXT


def test_one_name_by_two_paths_is_no_second_name(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("d")
    path, same = tmp_path / "d/a", tmp_path / "link/a"
    path.write_text(TEXT)
    os.link(path, tmp_path / "d/b")
    assert is_second_name(str(path), str(tmp_path / "link/b"))
    assert not is_second_name(str(path), str(same))
    with pytest.raises(FileExistsError):
        rename_new(str(path), str(same))
    (tmp_path / "c").write_text(TEXT)
    assert not is_second_name(str(path), str(tmp_path / "c"))


def test_a_directory_of_a_stranger_leads_nowhere(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    aside = moved(command)
    command.path("to").symlink_to(outside)
    for name in ("1/to/x.txt", "2/in/y.txt"):
        command.write(f"lsh.db-trash/{name}", "planted")
    command.path("lsh.db-trash/1/inner").symlink_to(outside)
    command.path("lsh.db-trash/1/link.txt").symlink_to(command.path("kept.txt"))
    command.path("lsh.db-trash/3").symlink_to(outside)
    os.mkfifo(command.path("lsh.db-trash/1/pipe"))
    done = command("trash", "--restore", "--json")
    assert left_files(done) == {
        "link.txt": "not a file that was moved there",
        "pipe": "not a file that was moved there",
        "secret.txt": "not a file that was moved there",
        "to/x.txt": "a symbolic link is on the way to its old place",
    }
    assert {row["key"] for row in done.records} == {"notes/a.txt", "in/y.txt"}
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (aside.exists(), command.path("kept.txt").read_text()) == (False, TEXT)


def test_nothing_moves_through_a_link_in_the_trash(command: Command) -> None:
    moved(command)
    command.path("elsewhere").mkdir()
    (command.path("lsh.db-trash/2")).mkdir()
    command.path("lsh.db-trash/3").symlink_to(command.path("elsewhere"))
    files_to_drop(command, {"again.txt": TEXT}, "again.txt")
    command.done("trash")
    assert command.path("lsh.db-trash/4/again.txt").read_text() == TEXT
    assert not [*command.path("elsewhere").iterdir()]


def test_a_restored_file_is_to_be_dropped_until_that_is_undone_or_spent(command: Command) -> None:
    moved(command)
    assert "still to be dropped: 1 document" in command.done("trash", "--restore").err
    command.done("remove", "--decided")
    assert "skipped: 1 dropped" in command.done("sync", "notes").err
    command.done("trash")
    command.done("sync", "notes")
    assert command.done("trash", "--restore").err == "restored 1 file, left 0\n"
    assert command.done("sync", "notes").err.startswith("added 1, ")
    command.done("decide", "drop", "notes/a.txt")
    command.done("trash")
    said = command.done("trash", "--restore", "--undo").err
    assert said == "restored 1 file, left 0\nundone: 1 decision\n"
