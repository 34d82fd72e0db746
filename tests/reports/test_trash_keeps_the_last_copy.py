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
from helpers import Command, files_to_drop

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day"
BOTH = {"kept.txt": TEXT, "copy.txt": TEXT}
NO_COPY = "no other file holds a kept copy of it: --yes moves it all the same"


def left_of(command: Command, *options: str) -> dict[str, str | None]:
    """The reason why each file is left; None for one that is moved."""
    return {row["path"]: row["reason"] for row in command.done("trash", "--json", *options).records}


def test_a_file_that_a_link_leads_to_stays(command: Command) -> None:
    command.write("d/a.txt", TEXT)
    command.path("link").symlink_to("d")
    command.done("add", "d")
    command.done("add", "link/a.txt")
    command.done("decide", "drop", "link/a.txt")
    assert left_of(command, "--yes") == {"link/a.txt": "the same file as d/a.txt, which stays"}
    listed = command.done("decisions", "--drop", "--files")
    assert (listed.out, "which stays" in listed.err) == ("", True)
    assert command.path("d/a.txt").read_text() == TEXT


def test_a_link_on_the_way_is_followed_no_more_than_one_at_the_end(command: Command) -> None:
    command.write("d/sub/a.txt", TEXT)
    command.write("kept.txt", TEXT)
    command.path("link").symlink_to("d")
    command.path("last.txt").symlink_to("d/sub/a.txt")
    command.done("add", "kept.txt", "last.txt")
    command.done("add", "link/sub/a.txt")
    command.done("decide", "drop", "last.txt", "link/sub/a.txt")
    assert left_of(command, "--yes") == {
        "last.txt": "a symbolic link",
        "link/sub/a.txt": "a symbolic link is on the way to it",
    }


def test_a_file_without_a_copy_goes_only_with_yes(command: Command) -> None:
    names = ["alone.txt", "both/a.txt", "both/b.txt"]
    alone = "a text that nothing else is like, about bees and their hives"
    files_to_drop(command, {**dict.fromkeys(names, TEXT), "alone.txt": alone}, *names)
    assert left_of(command) == dict.fromkeys(names, NO_COPY)
    listed = command.done("decisions", "--drop", "--files")
    assert listed.lines == names
    assert "3 files listed without a kept copy in another file: alone.txt, both" in listed.err
    assert left_of(command, "--yes") == dict.fromkeys(names)
    assert not command.path("both/a.txt").exists()


def gone(path: Path) -> None:
    path.unlink()


def changed(path: Path) -> None:
    path.write_text("another text that is about bees and hives and honey in the spring")


def linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("copy.txt")


@pytest.mark.parametrize("lose", [gone, changed, linked])
def test_the_kept_file_must_hold_the_document_now(
    command: Command, lose: Callable[[Path], None]
) -> None:
    files_to_drop(command, BOTH, "copy.txt")
    command.done("decide", "keep", "kept.txt")
    lose(command.path("kept.txt"))
    (why,) = left_of(command).values()
    assert why in (NO_COPY, "the same file as kept.txt, which stays")
    assert command.path("copy.txt").read_text() == TEXT


@pytest.mark.parametrize("removed", ["copy.txt", "kept.txt"])
def test_a_copy_may_be_similar_or_a_document_no_more(command: Command, removed: str) -> None:
    files_to_drop(command, {**BOTH, "similar.txt": TEXT.replace("day", "DAY!")}, "copy.txt")
    command.done("decide", "keep", "kept.txt")
    if removed == "copy.txt":
        command.done("decide", "drop", "similar.txt")
    command.done("remove", removed)
    assert set(left_of(command).values()) == {None}
    assert not command.path("copy.txt").exists()


def test_a_chain_ends_at_a_file_that_stays(command: Command) -> None:
    for name, start in {"a": 0, "b": 3, "c": 12}.items():
        command.write(f"{name}.txt", " ".join(f"word{number}" for number in range(start, 60)))
    command.done("init", "--threshold", "0.8")
    command.done("add", "a.txt", "b.txt", "c.txt")
    command.done("decide", "drop", "a.txt", "b.txt")
    assert left_of(command) == {"a.txt": NO_COPY, "b.txt": None}


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
    rows = {row["path"]: row for row in command.done("trash", "-n", "--json").records}
    assert rows["zip.txt"]["kept"] == "in.zip"
    assert rows["row.txt"]["reason"] == NO_COPY
    assert rows["mail.txt"]["kept"] == "in.mbox"


def test_a_hard_link_is_a_copy_and_what_is_in_the_trash_is_none(command: Command) -> None:
    command.write("a.txt", TEXT)
    os.link(command.path("a.txt"), command.path("b.txt"))
    command.done("add", "a.txt", "b.txt")
    command.done("decide", "drop", "b.txt")
    assert left_of(command) == {"b.txt": None}
    assert command.path("a.txt").read_text() == TEXT
    command.done("add", "lsh.db-trash/1/b.txt")
    command.done("decide", "drop", "a.txt")
    assert left_of(command) == {"a.txt": NO_COPY}


def test_files_without_text_are_copies_only_of_their_bytes(command: Command) -> None:
    """Different PDFs of pictures have the same empty text, as these files have."""
    texts = {"kept.txt": "\n", "same.txt": "\n", "else.txt": "\ufeff\n"}
    files_to_drop(command, texts, "same.txt", "else.txt")
    assert command.rows("SELECT count(DISTINCT digest) FROM documents") == [(1,)]
    assert left_of(command) == {"same.txt": None, "else.txt": NO_COPY}


def test_a_run_killed_before_its_log_leaves_a_directory_that_is_used(command: Command) -> None:
    for name in ("lsh.db-trash/.lshdbignore", "mine/.lshdbignore", "mine/else"):
        command.write(name, "")
    files_to_drop(command, BOTH, "copy.txt")
    assert "mine has other files" in command.fails("trash", "--move-to", "mine", status=2)
    assert left_of(command) == {"copy.txt": None}
    assert command.path("lsh.db-trash/.lshdbignore").read_text().endswith("*\n")
