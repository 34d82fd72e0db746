"""`lshdb clusters --folders` called a folder a copy of one that had a picture less.

qarmin/czkawka #676: people ask for pairs of folders to delete one of them, and for a mark of those
in which no other files are.
"""

from __future__ import annotations

import os
import zipfile
from typing import Any

import pytest
from direct_command import command as command
from helpers import Command, database_of

PNG = b"\x89PNG\r\n\0"
OTHERS = ("one/.hidden", "one/.git/config", "one/pic/cat.png", "one/raw.log")


@pytest.fixture
def folders(command: Command) -> Command:
    """Two copies of a folder, one of which has other files, too."""
    for number in range(3):
        text = f"the text number {number} of all is here for everybody to read"
        for name in ("one", "two"):
            command.write(f"{name}/{number}.txt", text)
    for name in OTHERS:
        path = command.path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(PNG)
    command.path("one/link").symlink_to("0.txt")
    command.write("one/.gitignore", "*.log\n")
    command.done("add", "one", "two")
    return command


def pair(command: Command, *options: str) -> dict[str, Any]:
    return command.done("clusters", "--folders", "--json", *options).record


def test_files_without_documents_are_counted_and_named(folders: Command) -> None:
    unread = sorted([*OTHERS, "one/.gitignore", "one/link"])
    row = pair(folders)
    assert (row["a"], row["a_share"], row["a_unread"], row["a_unread_files"]) == ("two", 1, 0, [])
    assert (row["b"], row["b_share"], row["b_unread_files"]) == ("one", 3 / 9, unread)
    assert row["b_unread"] == len(unread)
    sizes = sum(os.lstat(folders.path(name)).st_size for name in unread)
    read = sum(folders.path(f"one/{number}.txt").stat().st_size for number in range(3))
    assert row["b_size_share"] == read / (read + sizes)
    (line,) = folders.done("clusters", "--folders").lines
    names = ", ".join(unread[:3])
    assert line.split("\t")[-1] == f"6 files without documents: {names} and 3 more"


def test_a_changed_file_is_not_read_and_one_that_is_gone_is_no_copy(folders: Command) -> None:
    folders.write("two/0.txt", "a change")
    folders.path("two/1.txt").unlink()
    row = pair(folders)
    assert (row["a"], row["a_share"], row["a_unread_files"]) == ("two", 1 / 2, ["two/0.txt"])
    assert (row["b_share"], row["files"]) == (1 / 9, 1)
    folders.path("two/2.txt").unlink()
    assert folders.done("clusters", "--folders").out == ""


def test_where_there_are_no_directories_the_shares_are_of_files_read(folders: Command) -> None:
    folders.path("else/one").mkdir(parents=True)
    folders.write("else/one/other.txt", "another folder of that name")
    elsewhere = Command(folders.path("else"))
    # The keys lead to the files from the database's directory, wherever the command runs.
    assert pair(elsewhere, "-d", str(folders.path("lsh.db")))["a"] == pair(folders)["a"]
    folders.path("two").rename(folders.path("away"))
    assert pair(folders)["unread"].startswith("two: of files read; 6 files without documents")


def test_one_directory_by_two_paths_is_no_pair(command: Command) -> None:
    for number in range(3):
        command.write(f"d/{number}.txt", f"the text number {number} of all is here for everybody")
    texts = {
        f"{name}/{number}.txt": command.path(f"d/{number}.txt").read_text()
        for name in ("d", "link")
        for number in range(3)
    }
    command.path("link").symlink_to("d")
    database_of(command.path("lsh.db"), texts).close()
    assert command.done("clusters", "--folders").out == ""


def test_mailboxes_and_archives_have_documents(command: Command) -> None:
    for name in ("one", "two"):
        message = "From ann Thu Jan  1 00:00:00 2026\nSubject: x\n\nbees and hives and honey\n"
        command.write(f"{name}/in.mbox", message)
        with zipfile.ZipFile(command.path(f"{name}/in.zip"), "w") as archive:
            archive.writestr("member.txt", "the ferry leaves the island at noon")
    command.done("add", "--archives", "one", "two")
    row = pair(command)
    assert (row["a_share"], row["unread"], row["a_unread"]) == (1, "", 0)
