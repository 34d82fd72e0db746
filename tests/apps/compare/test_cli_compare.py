"""The command compare, for programs and for a person at a terminal."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import pytest
from helpers import Command, database_of

import lshdb


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, beside a database with three documents."""
    database_of(
        tmp_path / "lsh.db",
        {
            "fox": "The quick brown fox jumps over the lazy dog",
            "wolf": "The quick brown wolf jumps over the lazy dog",
            "empty": "",
        },
        shingle="word:2",
    ).close()
    return Command(tmp_path)


def test_the_command_prints_similarity_first_and_plain_lines(command: Command) -> None:
    lines = command.done("compare", "fox", "wolf", says="").lines
    facts = dict(line.split(": ", 1) for line in lines if ": " in line)
    assert next(iter(facts)) == "similarity"
    shares = {name: facts[name].strip() for name in ("similarity", "a_in_b", "b_in_a", "union")}
    assert [*shares.values()] == ["0.600000", "0.750000", "0.750000", "10"]
    rest = [line.split("\t") for line in lines if "\t" in line]
    assert rest[:2] == [
        ["passage", "0", "15", "0", "15", "The quick brown", "1", "1"],
        ["passage", "20", "43", "21", "44", "jumps over the lazy dog", "1", "1"],
    ]
    assert all(kind == "bucket" for kind, *_ in rest[2:])
    assert facts["agreeing_bands"].strip().startswith(f"{len(rest) - 2} of ")
    record = command.done("compare", "fox", "wolf", "--json", says="").record
    texts = [passage["text"] for passage in record["passages"]]
    assert texts == ["The quick brown", "jumps over the lazy dog"]
    assert (len(record["shared_buckets"]), record["shared_elements"]) == (len(rest) - 2, None)
    without = command.done("compare", "fox", "empty", says="").out
    assert "similarity:            0.000000\n" in without
    assert "candidates:            no: a query for one does not find the other\n" in without
    assert "\t" not in without


def test_a_key_wins_over_a_file_and_a_file_over_nothing(command: Command) -> None:
    for name, text in (("fox", "another fox altogether"), ("new.txt", "the lazy dog sleeps")):
        command.write(name, text)
    similarity = {
        (a, b): command.done("compare", a, b, "--json").record["similarity"]
        for a, b in [("fox", "fox"), ("fox", "./fox"), ("new.txt", "wolf")]
    }
    assert similarity == {("fox", "fox"): 1, ("fox", "./fox"): 0, ("new.txt", "wolf"): 2 / 9}
    piped = command.done("compare", "-", "fox", "--json", stdin="over the lazy dog").record
    assert (piped["a"], piped["a_in_b"]) == ("-", 1)


def test_contents_that_are_not_kept(tmp_path: Path) -> None:
    texts = dict.fromkeys("ab", "the fox and the grapes")
    database_of(tmp_path / "lsh.db", texts, content=False).close()
    command = Command(tmp_path)
    lines = command.done("compare", "a", "b").lines
    assert lines[0] == "similarity:            not known: contents are not kept"
    assert "estimate:              1.000000 +- 0.000000" in lines
    assert not [line for line in lines if line.startswith(("a_in_b", "shared", "passage"))]
    record = command.done("compare", "a", "b", "--json").record
    assert (record["similarity"], record["passages"], record["candidates"]) == (None, None, True)
    assert "estimate:   1.000000" in command.on_terminal("compare", "a", "b")[0]


def test_two_files_need_no_database(tmp_path: Path) -> None:
    command = Command(tmp_path)
    for name in ("one.txt", "two.txt"):
        command.write(name, "the fox and the grapes")
    result = command.done("compare", "one.txt", "two.txt", "--json")
    assert result.record["similarity"] == 1
    said = "there is no lsh.db: compared as in a database with the default settings\n"
    assert result.err == said
    for wrong in (("-d", "typo.db", "one.txt", "two.txt"), ("one.txt", "a key")):
        assert "no such file" in command.fails("compare", *wrong)
    assert sorted(os.listdir(tmp_path)) == ["one.txt", "two.txt"]


def test_a_terminal_is_not_flooded(command: Command) -> None:
    words = [f"word{i}" for i in range(4_000)]
    command.write("a.txt", " ".join(words))
    changed = [word if i % 40 else "changed" for i, word in enumerate(words)]
    command.write("b.txt", "\n".join(changed[:1_000] + words[1_000:]))
    shown, _ = command.on_terminal("compare", "a.txt", "b.txt")
    assert 20 <= shown.count("\N{HORIZONTAL ELLIPSIS}") < 30
    assert shown.count("\n") < 300
    more = "more differences: lshdb serve shows them all\n"
    assert shown.index("\x1b[1;33m- ") < shown.index(more) < shown.index("a_start"), "first"
    assert shown.endswith("5 more passages that both share; --json has all\n")
    lines = command.done("compare", "a.txt", "b.txt").lines
    assert len([line for line in lines if line.startswith("passage\t")]) == 25
    assert max(map(len, lines)) < 250


def test_a_terminal_shows_the_index_on_request(command: Command) -> None:
    lines = command.on_terminal("compare", "fox", "wolf")[0].splitlines()
    names = [line.partition(":")[0] for line in lines[:6]]
    assert names == ["similarity", "a", "b", "a_in_b", "b_in_a", ""]
    assert "\x1b[30;43m[-fox-]" in lines[6]
    assert "\x1b[30;46m{+wolf+}" in lines[7]
    assert "  jumps over the lazy dog  " in "".join(lines)
    for name in ("estimate:", "agreeing_lanes:", "a_shingles:", "bucket_key"):
        assert name not in "".join(lines)
        assert name in command.on_terminal("compare", "fox", "fox", "--buckets")[0]
    piped = command.done("compare", "fox", "wolf").out
    assert command.done("compare", "fox", "wolf", "--buckets").out == piped


def test_names_of_programs_that_changed_in_step_are_listed(tmp_path: Path) -> None:
    program = "def total(numbers):\n    for x in numbers:\n        print(x, x + 1, numbers)\n"
    copy = program.replace("numbers", "n").replace("x", "y")
    texts = {"a": program, "b": copy, "c": "if len(names) > 1:\n    return names\n"}
    database_of(tmp_path / "lsh.db", texts, purpose="programs").close()
    command = Command(tmp_path)
    lines = [line for line in command.done("compare", "a", "b").lines if "rename" in line]
    assert lines == ["rename\tnumbers\tn\t3", "rename\tx\ty\t3"]
    record = command.done("compare", "a", "b", "--json").record
    expected = [{"a": "numbers", "b": "n", "times": 3}, {"a": "x", "b": "y", "times": 3}]
    assert record["renames"] == expected
    said = "2 names changed in step: numbers\u2192n 3 times, x\u2192y 3 times"
    assert said in command.on_terminal("compare", "a", "b")[0]
    with lshdb.open(tmp_path / "lsh.db") as db:
        assert [asdict(rename) for rename in db.compare("a", "b").renames] == expected
    assert "changed in step" not in command.on_terminal("compare", "a", "c")[0]
    assert command.done("compare", "a", "c", "--json").record["renames"] == []
