"""`lshdb add other.db` said: a binary file; its documents had to be read and signed again."""

from __future__ import annotations

import json
from pathlib import Path

import inspection
import pytest
from helpers import Command

import lshdb

TEXTS = {f"d{i}": f"the {i // 3} fox and the {i // 3 + 1} grapes hung {i % 3}" for i in range(12)}


def lines(keys: list[str], **changed: str) -> str:
    rows = [{"id": key, "text": changed.get(key, TEXTS[key])} for key in keys]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def two(command: Command) -> Command:
    """The databases a.db of d0 to d5 and b.db of d4 to d9, in which d4 has another text."""
    command.write("a.jsonl", lines([f"d{i}" for i in range(6)]))
    command.write("b.jsonl", lines([f"d{i}" for i in range(4, 10)], d4="other grapes"))
    for name in "ab":
        command.done("add", "-d", f"{name}.db", f"{name}.jsonl")
    command.done("decide", "-d", "b.db", "keep", "d7")
    return command


def test_its_documents_are_added_and_equal_keys_named(two: Command) -> None:
    done = two.done("add", "-d", "a.db", "b.db")
    assert done.err.splitlines() == [
        "added 4, updated 1, unchanged 1, failed 0",
        "replaced 1 document that has another content or metadata in an added database: d4",
        "left out 1 decision of added databases: they stay there",
    ]
    two.done("add", "-d", "expected.db", "a.jsonl", "b.jsonl")
    assert inspection.contents(two.path("a.db")) == inspection.contents(two.path("expected.db"))
    before = inspection.contents(two.path("a.db"))
    report = json.loads(two.done("add", "-d", "a.db", "b.db", "--json").out)
    assert (report["unchanged"], report["decisions"], report["conflicts"]) == (6, 1, [])
    assert inspection.contents(two.path("a.db")) == before


def test_the_document_here_can_stay(two: Command) -> None:
    done = two("add", "-d", "a.db", "b.db", "--on-conflict", "error")
    assert done.status == 1
    assert "other documents than a.db under the same keys ('d4')" in done.err
    assert two.keys("a.db") == [f"d{i}" for i in range(6)]
    done = two.done("add", "-d", "a.db", "b.db", "--on-conflict", "keep")
    assert "kept 1 document that has another content" in done.err
    with lshdb.open(two.path("a.db"), mode="read") as database:
        assert database.get("d4").content == TEXTS["d4"]
        assert len(database) == 10


def test_several_databases_and_files_in_their_order(two: Command) -> None:
    two.write("more.jsonl", lines(["d10"]))
    names = ["more.jsonl", "a.db", "[b].db", "-", "./a.db"]
    two.done("add", "-d", "c.db", *names, stdin=lines(["d11"]))
    with lshdb.open(two.path("c.db"), mode="read") as database:
        assert list(database) == ["d10", *(f"d{i}" for i in range(10)), "d11"]


def test_a_new_database_has_the_settings_of_the_first_that_is_added(command: Command) -> None:
    """It had the defaults, and the first was refused: it has shingle code:6, not word:3."""
    command.write("sum.py", "def total(values): return sum(value for value in values if value)")
    command.done("init", "-d", "programs.db", "--for", "programs", "--threshold", "0.7")
    command.done("add", "-d", "programs.db", "sum.py")
    done = command.done("add", "-d", "new.db", "sum.py", "programs.db")
    assert done.err.splitlines() == [
        "new.db made with the settings of programs.db",
        "added 1, updated 0, unchanged 1, failed 0",
    ]
    with (
        lshdb.open(command.path("programs.db"), mode="read") as first,
        lshdb.open(command.path("new.db"), mode="read") as second,
    ):
        assert first.settings == second.settings
    text = command.done("add", "-d", "texts.db", "sum.py")
    assert "settings of" not in text.err


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


def test_a_damaged_database_is_a_failure_in_the_report(tmp_path: Path) -> None:
    for name in "ab":
        with lshdb.open(tmp_path / f"{name}.db") as database:
            database.add_many(TEXTS.items(), workers=0)
    with inspection.sqlite(tmp_path / "b.db") as connection:
        connection.execute("UPDATE documents SET content = 'x' || content")
    with lshdb.open(tmp_path / "a.db") as database, pytest.warns(lshdb.FailureWarning):
        report = database.add_files([str(tmp_path / "b.db")])
    (failure,) = report.failures
    assert (report.failed, failure.where) == (1, str(tmp_path / "b.db"))
    assert failure.reason.startswith("is damaged: the content of 'd0' is not that of its digest")


def test_a_part_of_an_open_database_is_not_opened(tmp_path: Path) -> None:
    """Closing it would end the locks of the open database."""
    with lshdb.open(tmp_path / "a.db") as database:
        database.add("a", "the fox and the grapes")
        failures: list[lshdb.Failure] = []
        names = [f"{tmp_path / 'a.db'}{end}" for end in ("-wal", "-shm")]
        database.add_files(names, on_failure=failures.append)
    assert [one.reason for one in failures] == ["the database itself"] * 2
