"""Hard links are documents of their own, and one file: deleting one of them frees nothing."""

import json
import os

import pytest
from helpers import Command

A = "the quick brown fox jumps over the lazy dog and runs home"


@pytest.fixture
def linked(command: Command) -> Command:
    """A text, a hard link of it, and a copy."""
    command.write("d/a.txt", A)
    os.makedirs(command.path("e"))
    os.link(command.path("d/a.txt"), command.path("e/a.txt"))
    command.write("f/a.txt", A)
    return command


def test_they_are_shown_as_one_file(linked: Command) -> None:
    linked.done("add", "d", "e", "f")
    assert linked.keys() == ["d/a.txt", "e/a.txt", "f/a.txt"]
    lines = [line.split("\t") for line in linked.done("pairs").out.splitlines()]
    assert {(a, b): kind for _, kind, a, b in lines} == {
        ("d/a.txt", "e/a.txt"): "one file",
        ("d/a.txt", "f/a.txt"): "identical",
        ("e/a.txt", "f/a.txt"): "identical",
    }
    lines = [line.split("\t") for line in linked.done("clusters").out.splitlines()]
    assert {key: kind for _, _, kind, _, key in lines} == {
        "d/a.txt": "identical",
        "e/a.txt": "one file",
        "f/a.txt": "identical",
    }


def test_no_list_and_no_trash_names_one_for_deletion(linked: Command) -> None:
    done = linked.done("dedup", "d", "e", "f", "-0")
    assert (done.out, "already one file" in done.err) == ("f/a.txt\0", True)
    linked.done("add", "d", "e", "f")
    done = linked.done("clusters", "--drop-list")
    assert done.out == "f/a.txt\n"
    assert "not listed, as already one file with a kept one: 1" in done.err
    linked.done("decide", "drop", "e/a.txt")
    for arguments in (("decisions", "--drop", "--files"), ("trash",), ("trash", "--link")):
        done = linked.done(*arguments)
        assert (done.out, "already one file" in done.err) == ("", True), arguments
    assert linked.path("e/a.txt").exists()


def test_folders_do_not_count_it_as_space(linked: Command) -> None:
    linked.done("add", "d", "e", "f")
    rows = map(json.loads, linked.done("folders", "--json").out.splitlines())
    assert {(row["a"], row["b"]): row["bytes"] for row in rows} == {
        ("e", "d"): 0,
        ("f", "d"): len(A),
        ("f", "e"): len(A),
    }
    assert "1 file already one file with the other" in linked.done("folders").out


def test_a_report_shows_one_file(linked: Command) -> None:
    linked.done("add", "d", "e", "f")
    rows = linked.done("report", "-d", "lsh.db", "-o", "out.html", "--json").out.splitlines()
    named = {(row["a"], row["b"]): row["connected_by"] for row in map(json.loads, rows)}
    assert named[("d/a.txt", "e/a.txt")] == "one file"
    assert named[("d/a.txt", "f/a.txt")] == "identical"
