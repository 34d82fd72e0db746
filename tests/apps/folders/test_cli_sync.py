"""The command sync, and the options of add that say which files in directories are read."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from helpers import Command, status_of, until

import lshdb


def write(command: Command, **files: str) -> None:
    for name, text in files.items():
        path = name.replace("__", "/").replace("_", ".")
        command.write(path, text)
        os.utime(command.path(path), (1_000_000_000, 1_000_000_000))


def write_many(command: Command, numbers: Iterable[int]) -> None:
    write(command, **{f"d__{number}_txt": f"some words of text {number}" for number in numbers})


def test_sync_prints_what_would_happen_does_it_and_counts(command: Command) -> None:
    write(command, d__a_txt="text a", d__b_txt="text b", d__c_txt="text c")
    would = "would have added 3, updated 0, moved 0, removed 0, unchanged 0, failed 0\n"
    planned = command.done("sync", "d", "--dry-run", says=would)
    assert planned.lines == ["add\td/a.txt\t", "add\td/b.txt\t", "add\td/c.txt\t"]
    assert not command.path("lsh.db").exists()
    assert command.done("sync", "./d/", says=would.removeprefix("would have ")).out == ""
    command.path("d/a.txt").rename(command.path("d/new.txt"))
    command.write("d/b.txt", "other")
    command.path("d/c.txt").unlink()
    assert command.done("sync", "d", "-n").lines == [
        "update\td/b.txt\t",
        "remove\td/c.txt\t",
        "move\td/new.txt\td/a.txt",
    ]
    assert command.keys() == ["d/a.txt", "d/b.txt", "d/c.txt"]
    record = command.done("sync", command.path("d"), "--json").record
    assert not any(record.pop("skipped_files").values())
    assert {name: count for name, count in record.items() if count} == {
        "updated": 1,
        "moved": 1,
        "removed": 1,
    }
    assert command.keys() == ["d/b.txt", "d/new.txt"]
    assert command.done("sync", "d", "-n").lines == []


def test_patterns_sizes_and_roots_are_those_of_add(command: Command) -> None:
    write(
        command,
        d__a_py="text a",
        d__b_txt="text b",
        d__large_py="word " * 300,
        d___hidden_py="hidden",
        d__out__made_py="made",
        d___gitignore="out/\n",
    )
    options = ("--include", "*.py", "--max-filesize", "1K", "--root", "d", "d")
    for name in ("add", "sync"):
        done = command.done(name, "-d", f"{name}.db", *options)
        assert done.err.splitlines()[1] == "skipped: 2 hidden, 2 ignored, 1 large"
    assert command.keys("sync.db") == command.keys("add.db") == ["a.py"]
    more = ("--hidden", "--no-ignore", "--exclude", "large.*", "--exclude", "b.*")
    command.done("sync", "--root", "d", *more, "d")
    assert command.keys() == [".gitignore", ".hidden.py", "a.py", "out/made.py"]
    assert "'much' is not a size" in command("sync", "--max-filesize", "much", "d").err


def test_an_emptied_directory_removes_nothing_unless_told(command: Command) -> None:
    write_many(command, range(100))
    write(command, e__a_txt="text a", e__b_txt="text b")
    command.done("sync", "d", "e")
    # Half may go, and most of a few.
    for number in range(50):
        command.path(f"d/{number}.txt").unlink()
    command.path("e/a.txt").unlink()
    command.path("e/b.txt").rename(command.path("e/c.txt"))
    command.path("d/50.txt").rename(command.path("d/moved.txt"))
    command.done("sync", "d", "e")
    assert len(command.keys()) == 51
    write_many(command, range(50))
    command.done("sync", "d")
    before = command.keys()
    for number in range(52):  # which counts as gone where it is binary now
        command.write(f"d/{number}.txt", b"\0" * 90)
    assert "below it 51 have no text file there" in command("sync", "d").err
    command.path("d").rename(command.path("elsewhere"))
    command.path("d").mkdir()
    write(command, e__new_txt="text new")
    refused = (
        "d: of 100 documents below it 100 have no text file there any more, and are kept: is "
        "it mounted and complete? lshdb sync --remove-most (remove_most=True) removes them"
    )
    assert command.fails("sync", "--quiet", "d", "e") == refused
    planned = command("sync", "d", "e", "-n")
    assert (planned.status, len(planned.lines)) == (1, 101)
    assert planned.err.splitlines()[-1] == f"the run itself will be refused: {refused}"
    assert command.keys() == before
    assert len(command.done("sync", "d", "e", "-n", "--remove-most").lines) == 101
    assert " removed 100, " in command.done("sync", "--remove-most", "d", "e").err
    assert command.keys() == ["e/c.txt", "e/new.txt"]


def test_what_sync_replaces_and_leaves_is_counted(command: Command) -> None:
    command.write("d/a.txt", b"caf\xe9 au lait")
    with lshdb.open(command.path("lsh.db")) as db:
        db.add("d/note", "by hand")
    assert command.done("sync", "d").err.splitlines()[1:] == [
        "not UTF-8: 1, bad bytes replaced (--strict refuses them)",
        "kept 1 whose keys are in the directories but were not read from files",
    ]


def test_an_interrupted_sync_goes_on_when_run_again(command: Command) -> None:
    write_many(command, range(2_000))
    process = command.forked("sync", "d")
    # It has begun to read when the file is there.
    until(command.path("lsh.db").exists)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    assert status_of(process) == 130
    again = command.done("sync", "d", "--json").record
    assert again["added"] + again["unchanged"] == len(command.keys()) == 2_000
    assert command.done("check").err.startswith("lsh.db is whole: 2,000 documents")


def test_a_file_whose_name_is_the_escaped_name_of_another_fails(command: Command) -> None:
    for name in ("d/\udcff.txt", "d/\\xff.txt"):
        command.write(name, f"text of {name!r}")
    said = "lshdb: d/\\xff.txt: another file has this key: rename one\n"
    for added in (1, 0):
        done = command("sync", "d")
        assert done.err.startswith(f"{said}added {added}, ")
        assert done.err.endswith("failed 1\n")
