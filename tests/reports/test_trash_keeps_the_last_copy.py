"""`lshdb trash` moved the only copy of a document that was to stay.

geeqie #782 and mergerfs-tools #124: a duplicate finder took what a symbolic link leads to for a
copy, so that deleting the copy deleted the file itself.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command, files_to_drop, left_files

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day"
BOTH = {"kept.txt": TEXT, "copy.txt": TEXT}
YES = ": --yes takes it all the same"
NO_COPY = f"no other file holds a kept copy of it{YES}"


def trashed(command: Command, *options: str) -> dict[str, str | None]:
    """The reason why each file is left; None for one that is moved."""
    done = command("trash", "--json", *options)
    return {**dict.fromkeys(row["key"] for row in done.records), **left_files(done)}


def test_a_file_that_a_link_leads_to_stays(command: Command) -> None:
    command.write("d/a.txt", TEXT)
    command.path("link").symlink_to("d")
    command.done("add", "d")
    assert command.done("add", "link/a.txt").err.startswith("added 0, updated 0, unchanged 1")
    assert command.keys() == ["d/a.txt"]
    assert command.done("clusters", "--drop-list").out == ""


def test_a_link_on_the_way_is_followed_no_more_than_one_at_the_end(command: Command) -> None:
    command.write("d/sub/a.txt", TEXT)
    command.write("kept.txt", TEXT)
    command.path("last.txt").symlink_to("d/sub/a.txt")
    command.done("add", "kept.txt", "last.txt")
    command.done("add", "d/sub/a.txt")
    command.path("d").rename(command.path("moved"))
    command.path("d").symlink_to("moved")
    command.done("decide", "drop", "last.txt", "d/sub/a.txt")
    assert trashed(command, "--yes") == {
        "last.txt": "a symbolic link",
        "d/sub/a.txt": "a symbolic link is on the way to it",
    }


def test_a_file_without_a_copy_goes_only_with_yes(command: Command) -> None:
    names = ["alone.txt", "both/a.txt", "both/b.txt"]
    alone = "a text that nothing else is like, about bees and their hives"
    files_to_drop(command, {**dict.fromkeys(names, TEXT), "alone.txt": alone}, *names)
    assert trashed(command) == dict.fromkeys(names, NO_COPY)
    listed = command("decisions", "--drop", "--files")
    assert (listed.out, left_files(listed)) == ("", dict.fromkeys(names, NO_COPY))
    assert command.done("decisions", "--drop", "--files", "--yes").lines == names
    assert trashed(command, "--yes") == dict.fromkeys(names)
    assert not command.path("both/a.txt").exists()


def gone(path: Path) -> str:
    path.unlink()
    return "kept.txt does not stay for it: no file of it is there"


def changed(path: Path) -> str:
    before = path.stat()
    path.write_text(TEXT.swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return "kept.txt does not stay for it: it has changed since it was read"


@pytest.mark.parametrize("lose", [gone, changed])
def test_the_kept_file_must_hold_the_document_now(
    command: Command, lose: Callable[[Path], str]
) -> None:
    files_to_drop(command, BOTH, "copy.txt")
    why = lose(command.path("kept.txt"))
    assert trashed(command) == {"copy.txt": why + YES}
    assert command.path("copy.txt").read_text() == TEXT
    assert trashed(command, "--yes") == {"copy.txt": None}


def test_a_kept_file_that_became_a_link_is_no_copy(command: Command) -> None:
    files_to_drop(command, BOTH, "copy.txt")
    command.path("kept.txt").unlink()
    command.path("kept.txt").symlink_to("copy.txt")
    assert trashed(command, "--yes") == {}
    assert command.path("copy.txt").read_text() == TEXT


def test_a_copy_may_be_similar_and_the_dropped_document_removed(command: Command) -> None:
    similar = TEXT.replace("day", "DAY!")
    files_to_drop(command, {**BOTH, "similar.txt": similar}, "copy.txt", "similar.txt")
    command.done("remove", "copy.txt")
    assert trashed(command) == {"copy.txt": None, "similar.txt": None}
    assert not command.path("copy.txt").exists()


def test_a_chain_ends_at_a_file_that_stays(command: Command) -> None:
    for name, start in {"a": 0, "b": 3, "c": 12}.items():
        command.write(f"{name}.txt", " ".join(f"word{number}" for number in range(start, 60)))
    command.done("init", "--threshold", "0.8")
    command.done("add", "a.txt", "b.txt", "c.txt")
    command.done("decide", "drop", "a.txt", "b.txt")
    assert trashed(command) == {"a.txt": NO_COPY, "b.txt": None}


def test_members_and_messages_are_copies_and_rows_are_none(command: Command) -> None:
    names = ("zip", "mail", "row")
    texts = {name: " ".join(f"{name}{number}" for number in range(30)) for name in names}
    with zipfile.ZipFile(command.path("in.zip"), "w") as archive:
        archive.writestr("member.txt", texts["zip"])
    command.write("in.mbox", f"From ann Thu Jan  1 00:00:00 2026\nSubject: x\n\n{texts['mail']}\n")
    command.write("rows.jsonl", [{"id": "r", "text": texts["row"]}])
    command.done("add", "--archives", "in.zip", "in.mbox", "rows.jsonl")
    files = {f"{name}.txt": text for name, text in texts.items()}
    files_to_drop(command, files, *files)
    done = command("trash", "-n", "--json")
    assert left_files(done) == {
        "row.txt": f"r does not stay for it: no file of it is there{YES}",
    }
    kept = {row["key"]: row["kept"] for row in done.records}
    assert kept["zip.txt"] == "in.zip/member.txt"
    assert kept["mail.txt"].startswith("in.mbox#")
    with open(command.path("in.mbox"), "a") as file:
        file.write("more of the message\n")
    with zipfile.ZipFile(command.path("in.zip"), "w") as archive:
        archive.writestr("member.txt", "another text")
    assert [*trashed(command).values()].count(None) == 0


def test_a_hard_link_is_one_file_and_what_is_in_the_trash_is_no_copy(command: Command) -> None:
    command.write("a.txt", TEXT)
    os.link(command.path("a.txt"), command.path("b.txt"))
    command.write("c.txt", TEXT)
    command.done("add", "a.txt", "b.txt", "c.txt")
    command.done("decide", "drop", "b.txt", "c.txt")
    assert trashed(command) == {"c.txt": None}
    command.done("add", "lsh.db-trash/1/c.txt")
    command.done("decide", "drop", "a.txt")
    why = "lsh.db-trash/1/c.txt does not stay for it: it is in a recycle bin"
    assert trashed(command) == dict.fromkeys(["a.txt", "b.txt"], why + YES)


def test_files_without_text_are_copies_only_of_their_bytes(command: Command) -> None:
    """Different PDFs of pictures have the same empty text, as these files have."""
    texts = {"kept.txt": "\n", "same.txt": "\n", "else.txt": "\ufeff\n"}
    files_to_drop(command, texts, "same.txt", "else.txt")
    assert command.rows("SELECT count(DISTINCT digest) FROM documents") == [(1,)]
    assert trashed(command) == {"same.txt": None, "else.txt": NO_COPY}


def test_a_run_killed_before_its_log_leaves_a_directory_that_is_used(command: Command) -> None:
    for name in ("lsh.db-trash/.lshdbignore", "mine/.lshdbignore", "mine/else"):
        command.write(name, "")
    files_to_drop(command, BOTH, "copy.txt")
    assert "mine has other files" in command.fails("trash", "--move-to", "mine", status=2)
    assert trashed(command) == {"copy.txt": None}
    assert command.path("lsh.db-trash/.lshdbignore").read_text().endswith("*\n")
