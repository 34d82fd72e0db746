"""The rules by which one of similar documents stays: in clusters, a review, a report and dedup."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from direct_command import DirectCommand
from helpers import Command

import lshdb

TEXT = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"
FILES = {
    "f/Copy of a.txt": (TEXT, 3),
    "f/a.txt": (TEXT, 4),
    "f/cc.txt": (f"so {TEXT}", 9),
    "f/sub/b.txt": (f"{TEXT} and so on and on", 1),
}
"""Texts, and the hours of their files."""
RULES = ("first", "last", "longest", "newest", "oldest", "shortest-path")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A database of four similar files, two of them identical."""
    for name, (text, hour) in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (hour * 3600,) * 2)
    command = DirectCommand(tmp_path)
    command.done("init", "--threshold", "0.5")
    command.done("add", "f")
    return command


def kept(command: Command, *options: str) -> str:
    (key,) = {row["keep"] for row in command("clusters", *options, "--json").records}
    return str(key)


def test_clusters_keep_what_dedup_keeps(command: Command) -> None:
    """By each rule; only the default looks at names, where contents are the same."""
    for options in (*(("--keep", rule) for rule in RULES), ("--keep-in", "f/sub")):
        dropped = command("dedup", "f", "--threshold", "0.5", *options, "--json").records
        (left,) = FILES.keys() - {row["key"] for row in dropped}
        expected = "f/a.txt" if options == ("--keep", "first") else left
        assert kept(command, *options) == expected, options
    assert kept(command) == "f/a.txt"
    assert kept(command, "--keep", "newest", "--keep-in", str(Path("f/sub"))) == "f/sub/b.txt"

    review = command("review", "--keep", "newest", stdin="q\n")
    assert "A - kept            f/cc.txt" in review.out


def test_a_file_that_had_just_changed_is_not_taken_for_an_old_one(command: Command) -> None:
    """Its time is not stored: the newest of the others was kept, and it was dropped."""
    command.write("f/just.txt", f"{TEXT} now")
    command.done("add", "f")
    said = "f/just.txt had just changed when it was added, so its time is not known: run lshdb sync"
    assert said in command.fails("clusters", "--keep", "newest", status=2)
    hour = 12 * 3600
    os.utime(command.path("f/just.txt"), (hour, hour))
    command.done("sync", "f")
    assert kept(command, "--keep", "newest") == "f/just.txt"


def test_a_field_orders_numbers_and_a_value_that_is_none_stops_or_comes_last(
    command: Command,
) -> None:
    with lshdb.open(command.directory / "lsh.db") as db:
        for key, rank in (("f/a.txt", 9), ("f/cc.txt", "10"), ("f/sub/b.txt", "x")):
            db.add(key, FILES[key][0], metadata={"n": rank})
        with pytest.raises(lshdb.InputError, match="'x' in field 'n' does not compare"):
            list(db.clusters(keep_max="n"))
        with (
            pytest.warns(lshdb.ColumnWarning, match="1 document without a value, ranked last"),
            pytest.warns(lshdb.ColumnWarning, match="1 document whose value does not compare"),
        ):
            (largest,) = db.clusters(keep_max="n", unordered="last")
        assert largest.keep == "f/cc.txt"
    reason = command.fails("clusters", "--keep-max", "none", status=2)
    assert "no document has a value in field 'none'" in reason
