"""The commands decide and decisions, and what they do to pairs, clusters and remove."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import Command, database_of

import lshdb

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


@pytest.mark.parametrize("form", ["--json", "--csv", ".jsonl", ".csv", ".csv.gz", ".parquet"])
def test_what_decisions_writes_decide_takes(command: Command, form: str) -> None:
    directory = command.directory
    command.done("backup", "copy.db")
    command.done("decide", "different", "a", "b", "x\x1b[31m", "--note", 'a, "b"\nc')
    command.done("decide", "drop", "c", "--who", "\U0001f98a")
    name = f"out{form}" if form.startswith(".") else "-"
    if name == "-":
        written = command("decisions", form).out
        if form == "--csv":
            name = "in.csv"
            command.write(name, written)
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
    command = Command(tmp_path)
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
    assert removed[1].endswith("lshdb decisions -d lsh.db --drop --files -0 | xargs -0 rm --")
    assert set(command.done(*listing).out.split("\0")) == {*left, ""}
    for options in (["-n"], [], []):
        synced = command.done("sync", "notes", *options)
        assert synced.err.endswith("skipped: 2 dropped\n")
    assert command.keys() == ["notes/changed.txt", "notes/kept.txt", "notes/other.txt"]
    command.path("beside").mkdir()
    elsewhere = Command(command.path("beside"))
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
