"""The commands decide and decisions, and what they do to pairs, clusters and remove."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from direct_command import DirectCommand
from helpers import Command, database_of, installed

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
    assert [(row["a"], row["b"]) for row in command("pairs", "--json").records] == [
        ("a", "c"),
        ("b", "c"),
    ]
    assert len(command("pairs", "--all").lines) == 3
    assert roles(command) == {"a": "keep", "b": "different", "c": "member"}
    command.done("decide", "drop", "a", "c", "x\x1b[31m")
    command.done("decide", "keep", "c", says="keep: 1 document, decision 5\n")
    assert roles(command) == {"a": "drop", "b": "member", "c": "keep"}
    assert roles(command, "--all") == {"a": "keep", "b": "member", "c": "member"}
    listed = [line.split("\t") for line in command("decisions").lines]
    assert [[cells[index] for index in (0, 1, 2, 3, 6)] for cells in listed] == [
        ["1", "different", "a, b", "holds", "two editions"],
        ["2", "drop", "a", "holds", ""],
        ["3", "drop", "c", "overruled", ""],
        ["4", "drop", r"x\x1b[31m", "holds", ""],
        ["5", "keep", "c", "holds", ""],
    ]
    assert listed[0][4] == "ann"
    dry = command.done("remove", "--decided", "--dry-run", says="would remove 2\n")
    assert dry.lines == ["a", r"x\x1b[31m"]
    command.done("decide", "--undo", "4", says="undone: 4, drop x\\x1b[31m\n")
    assert command.done("remove", "--decided").err.startswith("removed 1\nfiles stay on the disk")
    command.done("decide", "--undo", says="undone: 5, keep c\n")
    assert roles(command) == {"b": "keep", "c": "drop"}


@pytest.mark.parametrize("form", ["--json", ".csv", ".parquet"])
def test_what_decisions_writes_decide_takes(command: Command, form: str) -> None:
    directory = command.directory
    command.done("backup", "copy.db")
    command.done("decide", "different", "a", "b", "x\x1b[31m", "--note", 'a, "b"\nc')
    command.done("decide", "drop", "c", "--who", "\U0001f98a")
    name = f"out{form}" if form.startswith(".") else "-"
    if name == "-":
        written = command("decisions", form).out
    else:
        written = ""
        command.done("decisions", "-o", name)
    take = ["decide", "-d", "copy.db", "--from", name]
    assert command(*take, stdin=written).err == "decisions: 2 new, 0 known\n"
    assert command(*take, stdin=written).err == "decisions: 0 new, 2 known\n"
    with lshdb.open(directory / "lsh.db") as one, lshdb.open(directory / "copy.db") as other:
        assert one.decisions() == other.decisions()


def test_a_file_made_by_hand(command: Command) -> None:
    command.write("own.csv", 'verdict,key,keys\ndrop,a,\ndifferent,,"[""b"",""c""]"\n')
    command.done("decide", "--from", "own.csv", "--who", "ann", says="decisions: 2 new, 0 known\n")
    command.write("own.jsonl", '{"verdict": "keep", "key": "c"}\n\n')
    command.done("decide", "--from", "own.jsonl", says="decisions: 1 new, 0 known\n")
    assert [(row["verdict"], row["keys"]) for row in command("decisions", "--json").records] == [
        ("drop", ["a"]),
        ("different", ["b", "c"]),
        ("keep", ["c"]),
    ]


def test_files_of_dropped_documents_are_listed_and_left_out_of_sync(tmp_path: Path) -> None:
    command = DirectCommand(tmp_path)
    for name in ("first.txt", "new\nline.txt", "changed.txt", "kept.txt", "gone.txt"):
        command.write(f"notes/{name}", f"a text of its own: {name}")
    command.done("sync", "notes")
    dropped = [f"notes/{name}" for name in ("a b.txt", "new\nline.txt", "changed.txt", "gone.txt")]
    command.done("decide", "drop", "notes/first.txt", *dropped[1:], "notes/kept.txt")
    command.path("notes/first.txt").rename(command.path(dropped[0]))
    command.write("notes/other.txt", "a text of its own, which is different")
    command.done("sync", "notes")
    command.done("decide", "keep", "notes/kept.txt")
    command.done("decide", "drop", "notes/other.txt")
    command.done("decide", "different", "notes/other.txt", "notes/kept.txt")
    listing = ["decisions", "--drop", "--files", "-0"]
    assert set(command.done(*listing).out.split("\0")) == {*dropped, ""}
    printed = [path.replace("\n", "\\n") for path in sorted(dropped)]
    assert command.done(*listing[:-1]).lines == printed
    command.write("notes/changed.txt", "something else")
    command.path("notes/gone.txt").unlink()
    left = {"notes/a b.txt", "notes/new\nline.txt"}
    assert set(command.done(*listing).out.split("\0")) == {*left, ""}
    removed = command.done("remove", "--decided").err.splitlines()
    assert removed[0] == "removed 4"
    assert removed[1].endswith("to move them aside: lshdb trash -d lsh.db")
    assert set(command.done(*listing).out.split("\0")) == {*left, ""}
    for options in (["-n"], [], []):
        synced = command.done("sync", "notes", *options)
        assert synced.err.endswith("skipped: 2 dropped\n")
    assert command.keys() == ["notes/changed.txt", "notes/kept.txt", "notes/other.txt"]
    command.path("beside").mkdir()
    elsewhere = DirectCommand(command.path("beside"))
    found = elsewhere.done(
        "decisions", "-d", command.path("lsh.db"), *listing[1:], "--root", command.directory
    )
    assert set(found.out.split("\0")) == {str(command.path(name)) for name in left} | {""}
    command.write("notes/a b.txt", "Another text")
    counts = command.done("sync", "notes", "--json").record
    assert (counts["added"], counts["skipped_files"]["dropped"]) == (1, 1)
    assert len(command.done("decisions", "--drop", "--json").records) == 6
    assert command.fails("decisions", "--files", status=2).startswith("--files goes with --drop")
    assert command.fails("decisions", "-0", status=2).startswith("--null and --root are for")


def test_what_was_decided_is_in_the_list_of_keys_to_drop(command: Command) -> None:
    everything = command("clusters", "--json").records
    kept, *others = [one["key"] for one in everything]
    assert command("clusters", "--drop-list", "--json").records == [{"key": key} for key in others]
    command.done("decide", "drop", kept)
    command.done("decide", "different", *others)
    roles_of = {one["key"]: one["role"] for one in command("clusters", "--json").records}
    listed = [one["key"] for one in command("clusters", "--drop-list", "--json").records]
    assert kept in listed
    assert set(listed) == {key for key, role in roles_of.items() if role in ("member", "drop")}
    assert "different" in roles_of.values()
    assert command("clusters", "--drop-list", "--all", "--json").records == [
        {"key": key} for key in others
    ]


def files_below(directory: Path) -> dict[str, str]:
    """The texts of all files but logs, by their paths."""
    found = (path for path in directory.rglob("*.txt") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in found}


def test_trash_moves_unchanged_files_aside_and_back(command: Command) -> None:
    names = ["a.txt", "sub/b.txt", "c.txt", "same size.txt", "gone.txt", "link.txt", "linked.txt"]
    for name in names:
        command.write(f"notes/{name}", f"a text of its own: {name}")
    command.path("notes/link.txt").unlink()
    command.path("notes/link.txt").symlink_to("a.txt")
    outside = command.path("../outside.txt").resolve()
    outside.write_text("a text elsewhere")
    command.write("in.mbox", "From ann\nSubject: x\n\na message\n")
    command.done("add", "notes", outside, "in.mbox")
    command.done("add", "notes/link.txt")  # alone: it is a second name of a file
    stored = command.keys()
    (message,) = (key for key in stored if key.startswith("in.mbox"))
    keys = [key for key in stored if key.startswith(("notes", "/", "in.mbox"))]
    assert len(keys) == 9
    command.done("decide", "drop", "a", *keys)
    command.write("notes/c.txt", "a text that grew")
    command.write("notes/same size.txt", "A text of its own: same size.txt")
    command.path("notes/gone.txt").unlink()
    os.link(command.path("notes/linked.txt"), outside.with_name("hard link"))
    before = files_below(command.directory)
    planned = command.done("trash", "-n", "--yes", "--json").records
    assert files_below(command.directory) == before
    assert not command.path("lsh.db-trash").exists()
    done = command.done("trash", "--yes", "--json")
    assert done.records == planned
    size = sum(len(before[f"notes/{name}"]) for name in ("a.txt", "sub/b.txt"))
    assert f"moved 3 files, left 7\ndeleting lsh.db-trash frees {size} bytes;" in done.err
    why = {row["path"]: row["reason"] for row in done.records if row["action"] == "left"}
    no_file, changed = (
        "no file of its own: gone, or a row or message in a file",
        "it has changed since",
    )
    assert why == {
        "a": no_file,
        message: no_file,
        "notes/gone.txt": no_file,
        "notes/c.txt": changed,
        "notes/same size.txt": changed,
        "notes/link.txt": "a symbolic link",
        str(outside): f"not below {command.directory}: --root DIR takes the files below DIR",
    }
    aside = command.path("lsh.db-trash/1")
    assert files_below(aside) == {
        name: before[name] for name in ("notes/a.txt", "notes/sub/b.txt", "notes/linked.txt")
    }
    assert command.done("sync", ".", "--yes").err.startswith(
        "added 0, updated 2, moved 0, removed 5"
    )
    # A second run names no file that is aside already.
    assert {row["action"] for row in command.done("trash", "--yes", "--json").records} == {"left"}
    assert command.fails("trash", "--restore", "--move-to", "no").startswith(
        "no: no file was moved"
    )
    assert "has other files" in command.fails("trash", "--move-to", "notes", status=2)
    # One comes back over no other file, and one whose move was interrupted has both names.
    command.write("notes/a.txt", "in its place")
    command.path("notes/sub").mkdir(exist_ok=True)
    os.link(aside / "notes/sub/b.txt", command.path("notes/sub/b.txt"))
    done = command.done("trash", "--restore", "--json")
    assert {Path(row["path"]).name: (row["action"], row["reason"]) for row in done.records} == {
        "a.txt": ("left", "file exists"),
        "b.txt": ("restored", None),
        "linked.txt": ("restored", None),
    }
    command.path("notes/a.txt").unlink()
    assert command.done("trash", "--restore").err.startswith("restored 1 file, left 0\n1 document ")
    assert files_below(command.directory) == before
    assert not aside.exists()
    command.done("trash", "--restore", says="restored 0 files, left 0\n")


def test_an_interrupted_trash_loses_no_file(command: Command) -> None:
    rng = random.Random(2)
    for number in range(150):
        command.write(f"notes/{number % 7}/{number}.txt", f"text {number}")
    command.done("add", "notes")
    stored = command.keys()
    command.done("decide", "drop", *(key for key in stored if key.startswith("notes")))
    before = files_below(command.directory)
    for number in (1, 2):
        process = subprocess.Popen([installed(), "trash", "-q", "--yes"], cwd=command.directory)
        log = command.path(f"lsh.db-trash/{number}.jsonl")
        while not log.exists() and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.01))
        process.send_signal(signal.SIGKILL)
        process.wait()
        logs = command.directory.glob("lsh.db-trash/*.jsonl")
        lines = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        named = {line["aside"] for line in lines}
        assert {f"{path}" for path in files_below(command.path("lsh.db-trash"))} <= named
    command.done("trash", "--restore")
    assert files_below(command.directory) == before


def test_trash_names_rows_of_sets_and_leaves_them(command: Command) -> None:
    database_of(command.path("sets.db"), {"mine.txt": ["keep", "me"]}, shingle="set").close()
    command.write("mine.txt", "keep me")
    command.done("decide", "-d", "sets.db", "drop", "mine.txt")
    (left,) = command.done("trash", "-d", "sets.db", says="moved 0 files, left 1\n").lines
    assert left.startswith("left\tmine.txt\t\tno file of its own")


def test_trash_believes_no_log_that_leads_elsewhere(command: Command) -> None:
    command.write("notes/a.txt", "a text")
    command.write("mine.txt", "keep me")
    command.done("add", "notes")
    command.done("decide", "drop", "notes/a.txt")
    command.done("trash", "--yes")
    log = command.path("lsh.db-trash/1.jsonl")
    log.write_text(log.read_text().replace("1/notes/a.txt", "../mine.txt"))
    assert "not below" in command.done("trash", "--restore").out
    assert command.path("mine.txt").exists()
    log.write_text("[]")
    assert command.fails("trash", "--restore").endswith("1.jsonl is not a log of lshdb trash")
