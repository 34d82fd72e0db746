"""The commands decide and decisions, and what they do to pairs, clusters and remove."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import Command, database_of, left_files

import lshdb
from lshdb.apps.review.reviewing import Review, as_stored

TEXT = "the quick brown fox jumps over the lazy dog while the band plays on in the square"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    database_of(
        tmp_path / "lsh.db",
        [("a", TEXT), ("b", f"{TEXT}!"), ("c", f"{TEXT}?"), ("x\x1b[31m", "alone")],
    ).close()
    return Command(tmp_path)


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


def test_a_verdict_takes_a_list_of_keys(command: Command) -> None:
    command.done("decide", "drop", "--from", "-", "--note", "bulk", stdin="a\nc\n")
    command.done("decide", "keep", "--from", "-", "-0", stdin="b\0x\x1b[31m\0")
    assert [
        (row["verdict"], *row["keys"], row["note"])
        for row in command("decisions", "--json").records
    ] == [
        ("drop", "a", "bulk"),
        ("drop", "c", "bulk"),
        ("keep", "b", None),
        ("keep", "x\x1b[31m", None),
    ]
    before = command("decisions").out
    command.done("decide", "drop", "--from", "-", stdin="", says="drop: 0 documents\n")
    assert "no document has the key 'none'" in command.fails(
        "decide", "drop", "--from", "-", stdin="b\nnone\n", status=1
    )
    assert command("decisions").out == before


def test_files_of_dropped_documents_are_listed_and_left_out_of_sync(tmp_path: Path) -> None:
    command = Command(tmp_path)
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
    elsewhere = Command(command.path("beside"))
    paths = {str(tmp_path / name) for name in left}
    done = elsewhere(*listing, "--yes", "-0", "-d", "../lsh.db")
    assert ({*done.out.split("\0")}, left_files(done)) == ({*paths, ""}, changed)
    command.write("notes/a b.txt", "Another text")
    counts = command.done("sync", "notes", "--json").record
    assert (counts["added"], counts["skipped_files"]["dropped"]) == (1, 1)
    assert "goes with" in command.fails("decisions", "--files", status=2)
    assert "are for" in command.fails("decisions", "-0", status=2)


# undone at once


OF_BEES = {name: f"the text {name} about bees and hives" for name in "abcd"}


def verdicts(command: Command) -> list[tuple[str, str]]:
    return [(row["verdict"], row["keys"][0]) for row in command.done("decisions", "--json").records]


@pytest.fixture
def decided(command: Command) -> Command:
    """A database of documents with a decision of its own."""
    database_of(command.path("lsh.db"), OF_BEES).close()
    command.done("decide", "keep", "a")
    return command


@pytest.mark.parametrize("way", ["command", "key"])
def test_what_was_decided_at_once_is_undone_at_once(decided: Command, way: str) -> None:
    if way == "command":
        decided.done("decide", "drop", "b", "c")
    else:
        review = Review(decided.path("lsh.db"), None)
        with lshdb.open(decided.path("lsh.db")) as db:
            documents = as_stored(db, "bc")
        review.decide("drop 0 1", documents)
    assert verdicts(decided) == [("keep", "a"), ("drop", "b"), ("drop", "c")]
    decided.done("decide", "--undo", says="undone: 2, drop b\nundone: 3, drop c\n")
    assert verdicts(decided) == [("keep", "a")]


def test_others_at_the_same_time_keep_theirs(decided: Command) -> None:
    with lshdb.open(decided.path("lsh.db")) as db:
        for who in ("ann", "ben"):
            (made,) = db.decide("drop", ["b"], who=who)
            db.undo_decision()
            db.add_decisions([replace(made, decided="2030-01-01T00:00:00Z")])
        assert [one.who for one in db.undo_last_decisions()] == ["ben"]
        assert [one.who for one in db.decisions()][1:] == ["ann"]
