"""The command compare, for programs and for a person at a terminal."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from direct_command import DirectCommand
from helpers import Command, database_of

import lshdb

HOSTILE = "[red]a\x1b[31m\r\x9b2J\u202e[/red] [link=x]b\n\u2028\tc"
RAW = "\x1b[31m", "\x9b", "\u202e", "\u2028"


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
    return DirectCommand(tmp_path)


def test_the_command_prints_similarity_first_and_plain_lines(command: Command) -> None:
    lines = command.done("compare", "fox", "wolf", says="").lines
    facts = dict(line.split(": ", 1) for line in lines if ": " in line)
    facts = {name: value.strip() for name, value in facts.items()}
    assert next(iter(facts)) == "similarity"
    assert facts == facts | {
        "similarity": "0.600000",
        "a": "fox",
        "b": "wolf",
        "a_in_b": "0.750000",
        "b_in_a": "0.750000",
        "a_shingles": "8",
        "b_shingles": "8",
        "shared": "6",
        "union": "10",
    }
    rest = [line.split("\t") for line in lines if "\t" in line]
    assert rest[:2] == [
        ["passage", "0", "15", "0", "15", "The quick brown", "1", "1"],
        ["passage", "20", "43", "21", "44", "jumps over the lazy dog", "1", "1"],
    ]
    assert all(kind == "bucket" for kind, *_ in rest[2:])
    assert facts["agreeing_bands"].startswith(f"{len(rest) - 2} of ")


def test_json_has_passages_and_buckets(command: Command) -> None:
    record = command.done("compare", "fox", "wolf", "--json", says="").record
    with lshdb.open(command.path("lsh.db")) as db:
        compared = db.compare("fox", "wolf")
    assert [passage.pop("text") for passage in record["passages"]] == [
        "The quick brown",
        "jumps over the lazy dog",
    ]
    assert record["passages"] == [asdict(passage) for passage in compared.passages or ()]
    assert record["shared_buckets"] == [
        {"band_no": bucket.band_no, "bucket_key": bucket.bucket_key}
        for bucket in compared.shared_buckets
    ]
    assert record["shared_elements"] is None


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


def test_an_empty_document_and_contents_that_are_not_kept(command: Command) -> None:
    out = command.done("compare", "fox", "empty", says="").out
    assert "similarity:            0.000000\n" in out
    assert "candidates:            no: a query for one does not find the other\n" in out
    assert "\t" not in out
    command.done("init", "-d", "bare.db", "--no-content")
    for key in ("a", "b"):
        command.done("add", "-d", "bare.db", "-", "--key", key, stdin="the fox and the grapes")
    lines = command.done("compare", "-d", "bare.db", "a", "b").lines
    assert lines[0] == "similarity:            not known: contents are not kept"
    assert "estimate:              1.000000 +- 0.000000" in lines
    assert not [line for line in lines if line.startswith(("a_in_b", "shared", "passage"))]
    record = command.done("compare", "-d", "bare.db", "a", "b", "--json").record
    assert (record["similarity"], record["passages"], record["candidates"]) == (None, None, True)


def test_two_files_need_no_database(tmp_path: Path) -> None:
    command = DirectCommand(tmp_path)
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("the fox and the grapes")
    result = command.done("compare", "one.txt", "two.txt", "--json", "--timeout", "5")
    assert result.record["similarity"] == 1
    assert result.err == (
        "there is no lsh.db: compared as in a database with the default settings\n"
    )
    assert "no such file" in command.fails("compare", "-d", "typo.db", "one.txt", "two.txt")
    assert "no such file" in command.fails("compare", "one.txt", "a key")
    assert sorted(os.listdir(tmp_path)) == ["one.txt", "two.txt"]


def test_sets_of_the_command(tmp_path: Path) -> None:
    command = DirectCommand(tmp_path)
    command.done("init", "--shingle", "set", "--threshold", "0.5")
    elements = [HOSTILE, 7, "milk"]
    command.done("add", "-", stdin=json.dumps({"id": "a", "set": elements}))
    out = command.done("compare", "a", "-", stdin=json.dumps([*elements, "bread"])).out
    assert "element\t7\n" in out
    assert "element\tmilk\n" in out
    assert not [raw for raw in RAW if raw in out]
    record = command.done("compare", "a", "a", "--json").record
    assert record["shared_elements"] == [7, HOSTILE, "milk"]
    shown, status = command.on_terminal("compare", "a", "a")
    assert status == 0
    assert "[red]a" in shown
    assert not [raw for raw in RAW if raw in shown]


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
    assert len(shown) < 20_000
    lines = command.done("compare", "a.txt", "b.txt").lines
    assert len([line for line in lines if line.startswith("passage\t")]) == 25
    assert max(map(len, lines)) < 250


def test_a_terminal_shows_the_index_on_request(command: Command) -> None:
    shown, _ = command.on_terminal("compare", "fox", "wolf")
    lines = shown.splitlines()
    names = [line.partition(":")[0] for line in lines[:6]]
    assert names == ["similarity", "a", "b", "a_in_b", "b_in_a", ""]
    assert "\x1b[30;43mfox" in lines[6]
    assert "\x1b[30;46mwolf" in lines[7]
    assert "    jumps over the lazy dog" in shown, "a passage has lines of its own"
    internals = ("estimate:", "agreeing_lanes:", "agreeing_bands:", "a_shingles:")
    assert not [name for name in internals if name in shown]
    whole, _ = command.on_terminal("compare", "fox", "wolf", "--buckets")
    assert not [name for name in internals if name not in whole]
    assert "bucket_key" not in command.on_terminal("compare", "fox", "fox")[0]
    assert "bucket_key" in command.on_terminal("compare", "fox", "fox", "--buckets")[0]
    piped = command.done("compare", "fox", "wolf").out
    assert command.done("compare", "fox", "wolf", "--buckets").out == piped
    command.done("init", "-d", "bare.db", "--no-content", "--shingle", "word:2")
    for key in ("a", "b"):
        command.done("add", "-d", "bare.db", "-", "--key", key, stdin="the fox and the grapes")
    bare, _ = command.on_terminal("compare", "-d", "bare.db", "a", "b")
    assert "estimate:   1.000000" in bare, "there is nothing else to show"
