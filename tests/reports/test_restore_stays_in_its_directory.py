"""`lshdb trash --restore` removed a file behind a link, and wrote wherever a log said.

trash-cli pull request #392: restoring wrote to absolute paths and through dangling links that a
stranger's directory named. lgse/strata #862: it followed a link that had replaced a directory.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from direct_command import DirectCommand
from direct_command import command as command
from helpers import Command, files_to_drop

from lshdb.store.partial_files import is_second_name, rename_new

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day"


def moved(command: Command) -> Path:
    """A file that was moved aside from notes/a.txt."""
    files_to_drop(command, {"notes/a.txt": TEXT, "kept.txt": TEXT}, "notes/a.txt")
    command.done("trash")
    return command.path("lsh.db-trash/1/notes/a.txt")


def change_log(command: Command, **fields: object) -> None:
    log = command.path("lsh.db-trash/1.jsonl")
    (line,) = map(json.loads, log.read_text().splitlines())
    log.write_text(json.dumps({**line, **fields}) + "\n")


def left(command: Command, *options: str) -> str:
    (row,) = command.done("trash", "--restore", "--json", *options).records
    assert row["action"] == "left"
    return str(row["reason"])


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


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"path": "{outside}/x.txt"}, "--root DIR restores the files below DIR"),
        ({"path": "{here}/../{outside}/x.txt"}, "the log names no place for it"),
        ({"path": "x.txt"}, "the log names no place for it"),
        ({"path": "{here}/to/x.txt"}, "a symbolic link is on the way to its old place"),
        ({"aside": "../kept.txt"}, "or through a symbolic link"),
        ({"aside": "1/link.txt"}, "or through a symbolic link"),
        ({"aside": "1/to/secret.txt"}, "or through a symbolic link"),
        ({"aside": "1/notes"}, "not a file that was moved there"),
        ({"aside": "1.jsonl"}, "not a file that was moved there"),
        ({"aside": "1/pipe"}, "not a file that was moved there"),
    ],
)
def test_a_log_of_a_stranger_leads_nowhere(
    command: Command, tmp_path_factory: pytest.TempPathFactory, fields: dict[str, str], why: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    aside = moved(command)
    command.path("to").symlink_to(outside)
    command.path("lsh.db-trash/1/to").symlink_to(outside)
    command.path("lsh.db-trash/1/link.txt").symlink_to(command.path("kept.txt"))
    os.mkfifo(command.path("lsh.db-trash/1/pipe"))
    places = {"here": command.directory.resolve(), "outside": outside}
    change_log(command, **{name: text.format(**places) for name, text in fields.items()})
    assert left(command).endswith(why)
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (aside.read_text(), command.path("kept.txt").read_text()) == (TEXT, TEXT)


@pytest.mark.parametrize(
    "fields",
    [{"path": 5}, {"path": "a\0b"}, {"action": "x"}, {"action": "linked", "kept": None}],
)
def test_a_log_that_is_none_is_named(command: Command, fields: dict[str, Any]) -> None:
    moved(command)
    change_log(command, **fields)
    reason = command.fails("trash", "--restore")
    assert reason.endswith("1.jsonl is not a log of lshdb trash")


def test_nothing_moves_through_a_link_in_the_trash(command: Command) -> None:
    moved(command)
    command.path("elsewhere").mkdir()
    command.path("lsh.db-trash/2").symlink_to(command.path("elsewhere"))
    files_to_drop(command, {"again.txt": TEXT}, "again.txt")
    (row,) = command.done("trash", "--json").records
    assert row["reason"] == "a symbolic link leads out of that directory"
    assert command.path("again.txt").read_text() == TEXT


def test_files_come_back_below_the_root_only(command: Command) -> None:
    moved(command)
    command.path("other").mkdir()
    assert "--root DIR restores" in left(command, "--root", "other")
    elsewhere = DirectCommand(command.path("other"))
    elsewhere.done("trash", "-d", "../lsh.db", "--restore", "--root", "..")
    assert command.path("notes/a.txt").read_text() == TEXT


def test_a_restored_file_is_left_out_until_the_decision_is_undone(command: Command) -> None:
    moved(command)
    command.done("sync", "notes")
    assert "--restore --undo undoes these" in command.done("trash", "--restore").err
    assert "skipped: 1 dropped" in command.done("sync", "notes").err
    said = command.done("trash", "--restore", "--undo").err
    assert said == "restored 0 files, left 0\nundone: 1 decision\n"
    assert command.done("decisions").out == ""
