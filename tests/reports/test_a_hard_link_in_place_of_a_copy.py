"""`lshdb trash --link`: both names stay, the room is free, and each file can come back.

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
from helpers import Command, files_to_drop

import lshdb
from lshdb.database import store_of
from lshdb.ingest import trash

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day\n"


def stored(directory: Path, **texts: str) -> None:
    """A database of kept.txt and copies of it, which are to be dropped."""
    for name, text in {"kept": TEXT, **texts}.items():
        (directory / f"{name}.txt").write_text(text)
        os.utime(directory / f"{name}.txt", ns=(10**18, 10**18 + len(name)))
    names = [f"{name}.txt" for name in texts]
    with lshdb.open("lsh.db") as db:
        db.add_files(["kept.txt", *names])
        db.decide("drop", names)


def test_a_link_takes_the_place_of_a_file_and_the_file_comes_back(command: Command) -> None:
    texts = {"kept.txt": TEXT, "copy.txt": TEXT, "blank.txt": f"{TEXT}\n"}
    files_to_drop(command, texts, "copy.txt", "blank.txt")
    before = command.path("copy.txt").stat()
    done = command.done("trash", "--link", "--json")
    assert "linked 1 file, left 1" in done.err
    assert {row["path"]: (row["action"], row["reason"]) for row in done.records} == {
        "copy.txt": ("linked", None),
        "blank.txt": ("left", "no other file that is kept has the same bytes"),
    }
    assert command.path("copy.txt").samefile(command.path("kept.txt"))
    again = {
        row["path"]: row["reason"] for row in command.done("trash", "--link", "--json").records
    }
    assert again["copy.txt"] == "already a hard link of kept.txt"
    command.path("kept.txt").write_text("a change of both")  # the file's own copy is as it was
    assert "restored 1 file, left 0" in command.done("trash", "--restore").err
    after = command.path("copy.txt").stat()
    assert (after.st_ino, after.st_nlink) == (before.st_ino, 1)
    assert after.st_mtime_ns == before.st_mtime_ns
    assert command.path("copy.txt").read_text() == TEXT
    assert command.path("kept.txt").read_text() == "a change of both"


def test_other_permissions_are_not_lost(command: Command) -> None:
    files_to_drop(command, {"kept.txt": TEXT, "copy.txt": TEXT}, "copy.txt")
    command.path("kept.txt").chmod(0o600)
    command.path("copy.txt").chmod(0o644)
    row = command.done("trash", "--link", "--json").record
    assert row["reason"].startswith("other permissions or another owner than kept.txt")
    assert command.path("copy.txt").stat().st_mode & 0o777 == 0o644


def test_a_file_system_that_links_no_more_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, copy=TEXT)
    link = os.link

    def fails(path: str, target: str) -> None:
        if os.path.basename(path) == "kept.txt":
            raise OSError(errno.EMLINK, "too many links")
        link(path, target)

    monkeypatch.setattr("lshdb.ingest.trash.os.link", fails)
    with lshdb.open("lsh.db") as db:
        (row,) = trash.move_aside(store_of(db), "aside", None, dry_run=False, link=True)
    assert (row.action, row.reason) == ("left", "too many links")
    assert (tmp_path / "copy.txt").read_text() == TEXT


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda place: place.unlink(), TEXT),
        (lambda place: (place.unlink(), place.write_text("new")), "new"),
        (lambda place: (place.with_name("kept.txt").unlink(), place.write_text("edit")), "edit"),
        (lambda place: (place.unlink(), place.symlink_to("kept.txt")), TEXT),
    ],
    ids=["gone", "another file", "the only name", "a symbolic link"],
)
def test_only_a_second_name_of_the_kept_file_goes(
    command: Command, spoil: Callable[[Path], object], text: str
) -> None:
    files_to_drop(command, {"kept.txt": TEXT, "copy.txt": TEXT}, "copy.txt")
    command.done("trash", "--link")
    place = command.path("copy.txt")
    spoil(place)
    was_there = os.path.lexists(place)
    row = command.done("trash", "--restore", "--json").record
    assert row["action"] == ("left" if was_there else "restored")
    assert place.read_text() == text
    assert command.path("lsh.db-trash/1/copy.txt").exists() == was_there


class Killed(BaseException):
    """In place of a signal."""


@pytest.mark.parametrize("work", ["move", "link", "restore", "restore link"])
def test_a_kill_at_each_step_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    texts = {"a": TEXT, "b": TEXT}
    link = work.endswith("link")

    def run(step: str) -> None:
        with lshdb.open("lsh.db") as db:
            if step.startswith("restore"):
                rows = trash.put_back("aside", dry_run=False)
            else:
                rows = trash.move_aside(store_of(db), "aside", None, dry_run=False, link=link)
            for row in rows:
                assert row.action != "left", row

    for last in range(100):
        directory = tmp_path / str(last)
        directory.mkdir()
        monkeypatch.chdir(directory)
        stored(directory, **texts)
        inodes = {name: (directory / f"{name}.txt").stat().st_ino for name in texts}
        if work.startswith("restore"):
            run("link" if link else "move")
        with monkeypatch.context() as patched:
            kill_after(last, patched)
            try:
                run(work)
            except Killed:
                pass
            else:
                break
        contents = [path.stat().st_ino for path in directory.rglob("*.txt")]
        assert set(inodes.values()) <= set(contents)
        assert (directory / "kept.txt").read_text() == TEXT
        with suppress(lshdb.InputError):  # the log was not there yet, so no file has moved
            rows = [*trash.put_back("aside", dry_run=False)]
            assert all(row.action == "restored" for row in rows)
        for name, inode in inodes.items():
            status = (directory / f"{name}.txt").stat()
            assert (status.st_ino, status.st_nlink) == (inode, 1)
            assert (directory / f"{name}.txt").read_text() == TEXT
        assert not list(directory.glob("aside/[0-9]*/**/*.txt"))
    assert last >= 4


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
