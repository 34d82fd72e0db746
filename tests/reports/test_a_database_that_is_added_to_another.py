"""`lshdb add other.db` said: a binary file; its documents had to be read and signed again."""

from __future__ import annotations

from collections.abc import Iterable

import inspection
import pytest
from direct_command import command as command
from helpers import Command

import lshdb

TEXTS = {f"d{i}": f"the {i // 3} fox and the {i // 3 + 1} grapes hung {i % 3}" for i in range(12)}


def rows(numbers: Iterable[int], **changed: str) -> list[dict[str, str]]:
    texts = {f"d{number}": TEXTS[f"d{number}"] for number in numbers}
    return [{"id": key, "text": text} for key, text in (texts | changed).items()]


@pytest.fixture
def two(command: Command) -> Command:
    """The databases a.db of d0 to d5 and b.db of d4 to d9, in which d4 has another text."""
    command.write("a.jsonl", rows(range(6)))
    command.write("b.jsonl", rows(range(4, 10), d4="other grapes"))
    for name in "ab":
        command.done("add", "-d", f"{name}.db", f"{name}.jsonl")
    command.done("decide", "-d", "b.db", "keep", "d7")
    return command


def test_its_documents_are_added_and_equal_keys_named(two: Command) -> None:
    done = two.done("add", "-d", "a.db", "b.db")
    assert done.err.splitlines() == [
        "added 4, updated 1, unchanged 1, failed 0",
        "replaced 1 document that has another content or metadata in an added database: d4",
        "added 1 decision of added databases",
    ]
    two.done("add", "-d", "expected.db", "a.jsonl", "b.jsonl")
    two.done("decide", "-d", "expected.db", "keep", "d7")
    merged, expected = (inspection.contents(two.path(name)) for name in ("a.db", "expected.db"))
    decided, later = merged.pop("decisions")[0], expected.pop("decisions")[0]
    assert (merged, decided[:6]) == (expected, later[:6])
    assert decided[6] < later[6]
    report = two.done("add", "-d", "a.db", "b.db", "--json").record
    names = ("unchanged", "decisions", "conflicts", "conflict_keys")
    assert [report[name] for name in names] == [6, 0, 0, []]


def test_conflicts_are_counted_and_three_keys_named(two: Command) -> None:
    texts = {f"d{number}": f"text {number} of its own" for number in range(5)}
    two.write("c.jsonl", rows([], **texts))
    two.done("add", "-d", "c.db", "c.jsonl")
    done = two.done("add", "-d", "a.db", "c.db", "--on-conflict", "keep")
    assert done.err.splitlines()[1] == (
        "kept 5 documents that have another content or metadata in an added database: "
        "d0, d1, d2, ..."
    )
    report = two.done("add", "-d", "a.db", "c.db", "--json").record
    assert (report["conflicts"], report["conflict_keys"]) == (5, ["d0", "d1", "d2"])


def test_several_databases_and_files_in_their_order(two: Command) -> None:
    two.write("more.jsonl", rows([10]))
    names = ["more.jsonl", "a.db", "[b].db", "-", "./a.db"]
    keep = ["--on-conflict", "keep"]
    done = two.done("add", "-d", "c.db", *names, *keep, stdin='{"id": "d11", "text": "last"}')
    assert "kept 1 document that has another content" in done.err
    with lshdb.open(two.path("c.db"), mode="read") as database:
        assert list(database) == ["d10", *(f"d{i}" for i in range(10)), "d11"]
        assert database["d4"].content == TEXTS["d4"]


def test_a_new_database_has_the_settings_of_the_first_that_is_added(command: Command) -> None:
    """It had the defaults, and the first was refused: it has shingle code:6, not word:3."""
    names = ("programs", "new")
    command.write("sum.py", "def total(values): return sum(value for value in values if value)")
    command.done("init", "-d", "programs.db", "--for", "programs", "--threshold", "0.7")
    command.done("add", "-d", "programs.db", "sum.py")
    done = command.done("add", "-d", "new.db", "sum.py", "programs.db")
    assert done.err.splitlines() == [
        "new.db made with the settings of programs.db",
        "added 1, updated 0, unchanged 1, failed 0",
    ]
    first, second = (command.done("info", "-d", f"{db}.db", "--json").record for db in names)
    assert first["shingle"] == second["shingle"] == "code:6"
    assert first["threshold"] == second["threshold"] == 0.7


def test_what_cannot_be_merged_is_named_and_the_rest_is_added(two: Command) -> None:
    two.done("init", "-d", "sets.db", "--shingle", "set", "--seed", "3")
    two.path("link.db").symlink_to("a.db")
    with inspection.sqlite(two.path("else.db")) as connection:
        connection.execute("CREATE TABLE documents (text)")
    others = ["sets.db", "a.db", "link.db", "else.db", "none.db"]
    done = two("add", "-d", "a.db", *others, "b.db")
    first, *more = done.err.splitlines()
    assert first.startswith("lshdb: sets.db: has shingle set, not word:3, seed 3, not 1: ")
    assert more[:4] == [
        "lshdb: a.db: is the database itself: name another one",
        "lshdb: else.db: is another program's SQLite database, not lshdb's",
        "lshdb: none.db: no such file or directory",
        "added 4, updated 1, unchanged 1, failed 4",
    ]
    assert more[-1] == "skipped: 1 repeated"
    done = two("add", "-d", "a.db", "b.db", "--on-similar", "skip")
    assert "added whole: leave out --on-similar skip" in done.err


def test_in_a_directory_databases_are_skipped(two: Command) -> None:
    two.path("b.jsonl").unlink()
    done = two.done("add", "-d", "a.db", ".", "--list-skipped")
    assert "skipped ./b.db: a binary file (SQLite)" in done.err
    assert two.keys("a.db") == [f"d{i}" for i in range(6)]
