"""The commands decide and decisions, and what they do to pairs, clusters and remove."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from pathlib import Path

import pytest
from direct_command import DirectCommand
from helpers import Command, database_of, left_files

import lshdb

TEXT = "the quick brown fox jumps over the lazy dog while the band plays on in the square"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    database_of(
        tmp_path / "lsh.db",
        [("a", TEXT), ("b", f"{TEXT}!"), ("c", f"{TEXT}?"), ("x\x1b[31m", "alone")],
    ).close()
    return DirectCommand(tmp_path)


def roles(command: Command, *options: str) -> dict[str, str]:
    return {row["key"]: row["role"] for row in command("clusters", "--json", *options).records}


def test_a_review_from_the_first_decision_to_removing(command: Command) -> None:
    command.done("decide", "different", "a", "b", "--note", "two editions", "--who", "ann")
    assert [line.split("\t")[2:] for line in command.done("pairs").lines] == [
        ["a", "c"],
        ["b", "c"],
    ]
    assert len(command("pairs", "--ignore-decisions").lines) == 3
    assert roles(command) == {"a": "keep", "b": "different", "c": "member"}
    command.done("decide", "drop", "a", "c", "x\x1b[31m")
    command.done("decide", "keep", "c", says="keep: 1 document, decision 5\n")
    assert roles(command) == {"a": "drop", "b": "member", "c": "keep"}
    assert roles(command, "--ignore-decisions") == {"a": "keep", "b": "member", "c": "member"}
    assert command.done("clusters", "--drop-list").lines == ["a", "b"]
    listed = [line.split("\t") for line in command("decisions").lines]
    assert [(*cells[:4], cells[6]) for cells in listed] == [
        ("1", "different", "a, b", "holds", "two editions"),
        ("2", "drop", "a", "holds", ""),
        ("3", "drop", "c", "overruled", ""),
        ("4", "drop", r"x\x1b[31m", "holds", ""),
        ("5", "keep", "c", "holds", ""),
    ]
    assert listed[0][4] == "ann"
    drawn, _ = command.on_terminal("decisions", columns=160)
    assert f" {listed[0][5][:16].replace('T', ' ')} " in drawn, "short times"
    dry = command.done("remove", "--decided", "--dry-run", says="would remove 2\n")
    assert dry.lines == ["a", r"x\x1b[31m"]
    command.done("decide", "--undo", "4", says="undone: 4, drop x\\x1b[31m\n")
    assert command.done("remove", "--decided").err.startswith("removed 1\nfiles stay on the disk")
    command.done("decide", "--undo", says="undone: 5, keep c\n")
    assert roles(command) == {"b": "keep", "c": "drop"}


@pytest.mark.parametrize("form", ["--json", ".csv", ".parquet"])
def test_what_decisions_writes_decide_takes(command: Command, form: str) -> None:
    shutil.copy(command.path("lsh.db"), command.path("copy.db"))
    command.done("decide", "different", "a", "b", "x\x1b[31m", "--note", 'a, "b"\nc')
    command.done("decide", "drop", "c", "--who", "\U0001f98a")
    name = f"out{form}" if form.startswith(".") else "-"
    written = command.done("decisions", *([form] if name == "-" else ["-o", name])).out
    take = ["decide", "-d", "copy.db", "--from", name]
    for said in ("decisions: 2 new, 0 known\n", "decisions: 0 new, 2 known\n"):
        command.done(*take, stdin=written, says=said)
    with lshdb.open(command.path("lsh.db")) as one, lshdb.open(command.path("copy.db")) as other:
        assert one.decisions() == other.decisions()
    # One made by hand needs less.
    command.write("own.csv", 'verdict,key,keys\ndrop,a,\ndifferent,,"[""b"",""c""]"\n')
    command.done("decide", "--from", "own.csv", "--who", "ann", says="decisions: 2 new, 0 known\n")


def test_files_of_dropped_documents_are_listed_and_left_out_of_sync(tmp_path: Path) -> None:
    command = DirectCommand(tmp_path)
    for name in ("first.txt", "new\nline.txt", "changed.txt", "kept.txt", "gone.txt"):
        command.write(f"notes/{name}", f"a text of its own: {name}")
    command.done("sync", "notes")
    dropped = [f"notes/{name}" for name in ("a b.txt", "new\nline.txt", "changed.txt", "gone.txt")]
    command.done("decide", "drop", "notes/first.txt", *dropped[1:], "notes/kept.txt")
    command.path("notes/first.txt").rename(command.path(dropped[0]))
    command.done("sync", "notes")
    command.done("decide", "keep", "notes/kept.txt")
    listing = ("decisions", "--drop", "--files")
    printed = [path.replace("\n", "\\n") for path in sorted(dropped)]
    assert [*left_files(command(*listing))] == printed
    assert command.done(*listing, "--yes").lines == printed
    command.write("notes/changed.txt", "something else")
    command.path("notes/gone.txt").unlink()
    left = {*dropped[:2]}
    done = command(*listing, "--yes", "-0")
    assert {*done.out.split("\0")} == {*left, ""}
    changed = {"notes/changed.txt": "it has changed since it was read"}
    assert left_files(done) == changed
    removed = command.done("remove", "--decided").err.splitlines()
    assert removed[0] == "removed 4"
    assert removed[1].endswith("to move them aside: lshdb trash -d lsh.db")
    for options in (["-n"], [], []):
        synced = command.done("sync", "notes", *options)
        assert synced.err.endswith("skipped: 2 dropped\n")
    assert command.keys() == ["notes/changed.txt", "notes/kept.txt"]
    command.path("beside").mkdir()
    elsewhere = DirectCommand(command.path("beside"))
    paths = {str(tmp_path / name) for name in left}
    done = elsewhere(*listing, "--yes", "-0", "-d", "../lsh.db")
    assert ({*done.out.split("\0")}, left_files(done)) == ({*paths, ""}, changed)
    command.write("notes/a b.txt", "Another text")
    counts = command.done("sync", "notes", "--json").record
    assert (counts["added"], counts["skipped_files"]["dropped"]) == (1, 1)
    assert "goes with" in command.fails("decisions", "--files", status=2)
    assert "are for" in command.fails("decisions", "-0", status=2)


def files_below(directory: Path) -> dict[str, str]:
    """The texts of all files but logs, by their paths."""
    found = (path for path in directory.rglob("*.txt") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in found}


def test_trash_moves_unchanged_files_aside_and_back(command: Command) -> None:
    names = ["a.txt", "sub/b.txt", "c.txt", "same size.txt", "gone.txt", "link.txt", "linked.txt"]
    for name in names:
        command.write(f"notes/{name}", f"a text of its own: {name}")
    notes = command.path("notes")
    (notes / "link.txt").unlink()
    (notes / "link.txt").symlink_to("a.txt")
    outside = command.path("../outside.txt").resolve()
    outside.write_text("a text elsewhere")
    command.write("in.mbox", "From ann\nSubject: x\n\na message\n")
    command.done("add", "notes", outside, "in.mbox")
    command.done("add", "notes/link.txt")  # alone: it is a second name of a file
    stored = command.keys()
    keys = [key for key in stored if key.startswith(("notes", "/", "in.mbox"))]
    assert len(keys) == 9
    command.done("decide", "drop", "a", *keys)
    command.write("notes/c.txt", "a text that grew")
    command.write("notes/same size.txt", "A text of its own: same size.txt")
    (notes / "gone.txt").unlink()
    os.link(notes / "linked.txt", outside.with_name("hard link"))
    before = files_below(command.directory)
    planned = command("trash", "-n", "--yes", "--json").records
    assert files_below(command.directory) == before
    assert not command.path("lsh.db-trash").exists()
    done = command("trash", "--yes", "--json")
    assert done.records == planned
    size = sum(len(before[f"notes/{name}"]) for name in ("a.txt", "sub/b.txt"))
    assert f"moved 3 files, left 4\ndeleting lsh.db-trash frees {size} bytes;" in done.err
    assert (
        "left 3 documents: no file of its own: gone, or a row or message in a file: a" in done.err
    )
    changed = "it has changed since it was read"
    assert left_files(done) == {
        **dict.fromkeys(("notes/c.txt", "notes/same size.txt"), changed),
        "notes/link.txt": "a symbolic link",
        str(outside): f"not below {command.directory.resolve()}, the database's root",
    }
    aside = command.path("lsh.db-trash/1")
    moved = ("notes/a.txt", "notes/sub/b.txt", "notes/linked.txt")
    assert files_below(aside) == {name: before[name] for name in moved}
    synced = command.done("sync", ".", "--remove-most").err
    assert synced.startswith("added 0, updated 2, moved 0, removed 5")
    # A second run names no file that is aside already.
    assert command("trash", "--yes", "--json").records == []
    reason = command.fails("trash", "--restore", "--move-to", "no")
    assert reason.startswith("no: no file was moved")
    assert "has other files" in command.fails("trash", "--move-to", "notes", status=2)
    # One comes back over no other file, and one whose move was interrupted has both names.
    command.write("notes/a.txt", "in its place")
    (notes / "sub").mkdir(exist_ok=True)
    os.link(aside / "notes/sub/b.txt", notes / "sub/b.txt")
    done = command("trash", "--restore", "--json")
    assert [row["key"] for row in done.records] == ["notes/linked.txt", "notes/sub/b.txt"]
    assert left_files(done) == {"notes/a.txt": "file exists"}
    (notes / "a.txt").unlink()
    assert command.done("trash", "--restore").err == "restored 1 file, left 0\n"
    assert files_below(command.directory) == before
    assert not aside.exists()


def test_an_interrupted_trash_loses_no_file(command: Command) -> None:
    rng = random.Random(2)
    for number in range(150):
        command.write(f"notes/{number % 7}/{number}.txt", f"text {number}")
    command.done("add", "notes")
    stored = command.keys()
    command.done("decide", "drop", *(key for key in stored if key.startswith("notes")))
    before = files_below(command.directory)
    aside = command.path("lsh.db-trash")
    for number in (1, 2):
        process = command.start("trash", "-q", "--yes")
        while not (aside / f"{number}.jsonl").exists() and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.01))
        process.kill()
        process.wait()
        lines = "".join(log.read_text() for log in aside.glob("*.jsonl")).splitlines()
        assert {*files_below(aside)} <= {json.loads(line)["aside"] for line in lines}
    command.done("trash", "--restore")
    assert files_below(command.directory) == before
