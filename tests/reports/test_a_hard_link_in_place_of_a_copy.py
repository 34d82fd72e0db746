"""`lshdb trash --link`: both names stay, and the room is free.

fdupes #47 and fslint #98: a hard link took the place of a file with other permissions or another
owner, so that a file that all could read was readable by nobody else. pauldreik/rdfind #109:
files that are hard links already were linked again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from direct_command import command as command
from helpers import Command, files_to_drop, left_files

import lshdb
from lshdb.apps.folders import trash
from lshdb.database import store_of
from lshdb.read.proof import LeftFile

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day\n"
OTHER_BYTES = "no other file that is kept has the same bytes"


def stored(directory: Path, **texts: str) -> None:
    """A database of kept.txt and copies of it, which are to be dropped."""
    for name, text in {"kept": TEXT, **texts}.items():
        (directory / f"{name}.txt").write_text(text)
    names = [f"{name}.txt" for name in texts]
    with lshdb.open("lsh.db") as db:
        db.add_files(["kept.txt", *names])
        db.decide("drop", names)


def test_a_link_takes_the_place_of_a_file_with_the_same_bytes(command: Command) -> None:
    texts = {"kept.txt": TEXT, "copy.txt": TEXT, "blank.txt": f"{TEXT}\n"}
    files_to_drop(command, texts, "copy.txt", "blank.txt")
    planned = command("trash", "--link", "-n", "--json")
    assert not command.path("copy.txt").samefile(command.path("kept.txt"))
    done = command("trash", "--link", "--json")
    assert done.records == planned.records
    assert "linked 1 file, left 1\nfreed " in done.err
    assert [(row["action"], row["key"], row["kept"]) for row in done.records] == [
        ("linked", "copy.txt", "kept.txt")
    ]
    (why,) = left_files(done).values()
    assert why.startswith("no other file")
    assert command.path("copy.txt").samefile(command.path("kept.txt"))
    assert not command.path("lsh.db-trash").exists()
    assert "already one file: copy.txt" in command("trash", "--link").err


def test_other_permissions_are_not_lost(command: Command) -> None:
    files_to_drop(command, {"kept.txt": TEXT, "copy.txt": TEXT}, "copy.txt")
    command.path("kept.txt").chmod(0o600)
    command.path("copy.txt").chmod(0o644)
    (why,) = left_files(command("trash", "--link")).values()
    assert why.startswith("other permissions or another owner than kept.txt")
    assert command.path("copy.txt").stat().st_mode & 0o777 == 0o644


def test_a_file_system_that_links_no_more_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, copy=TEXT)

    def fails(*_: object) -> None:
        raise OSError(errno.EMLINK, "too many links")

    monkeypatch.setattr("lshdb.apps.folders.trash.os.link", fails)
    with lshdb.open("lsh.db") as db:
        files = [*trash.move_aside(store_of(db), "aside", dry_run=False, link=True)]
    assert files == [LeftFile("copy.txt", "too many links")]
    assert (tmp_path / "copy.txt").read_text() == TEXT


def test_what_a_killed_run_left_beside_a_file_goes(command: Command) -> None:
    files_to_drop(command, {"kept.txt": TEXT, "copy.txt": TEXT}, "copy.txt")
    os.link(command.path("kept.txt"), command.path("copy.txt.lshdb-link"))
    command.done("trash", "--link")
    assert command.path("copy.txt").samefile(command.path("kept.txt"))
    assert not command.path("copy.txt.lshdb-link").exists()


class Killed(BaseException):
    """In place of a signal."""


@pytest.mark.parametrize("work", ["move", "link", "restore"])
def test_a_kill_at_each_step_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    def run(step: str) -> None:
        with lshdb.open("lsh.db") as db:
            store = store_of(db)
            if step == "restore":
                files = [*trash.put_back(store, "aside", dry_run=False)]
            else:
                files = [
                    *trash.move_aside(store, "aside", dry_run=False, link=step == "link"),
                ]
            assert not any(isinstance(file, LeftFile) and file.has_failed for file in files)

    for last in range(100):
        directory = tmp_path / str(last)
        directory.mkdir()
        monkeypatch.chdir(directory)
        stored(directory, a=TEXT, b=TEXT)
        if work == "restore":
            run("move")
        with monkeypatch.context() as patched:
            kill_after(last, patched)
            try:
                run(work)
            except Killed:
                pass
            else:
                break
        assert (directory / "kept.txt").read_text() == TEXT
        texts = {path.name: path.read_text() for path in directory.rglob("*.txt")}
        assert texts == dict.fromkeys(["a.txt", "b.txt", "kept.txt"], TEXT)
        with suppress(lshdb.InputError):  # the log was not there yet, so no file has moved
            run("link" if work == "link" else "restore")
        for name in ("a.txt", "b.txt"):
            assert (directory / name).read_text() == TEXT
            assert (directory / name).stat().st_nlink == (3 if work == "link" else 1)
        assert not list(directory.glob("aside/[0-9]*/**/*.txt"))
    assert last >= 3


def kill_after(last: int, patched: pytest.MonkeyPatch) -> None:
    """Let all functions that change names work `last` times, and then end the process."""
    calls = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            if calls == last:
                raise Killed
            calls += 1
            return function(*arguments, **options)

        return call

    for name in ("link", "unlink", "rename", "replace", "makedirs", "removedirs"):
        patched.setattr(f"lshdb.store.partial_files.os.{name}", counted(getattr(os, name)))
