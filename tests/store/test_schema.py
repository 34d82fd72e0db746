"""The header, size and definitions of a file: all that open it accept or refuse the same."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import inspection
import pytest
from helpers import ROOT, Command, database_of

import lshdb
from lshdb.database import store_of
from lshdb.errors import DamagedFile, NotADatabase

PAGE = 16384


@pytest.fixture
def with_free_pages(tmp_path: Path) -> Command:
    """With free pages at the end of the file."""
    texts = {f"d{number}": f"{number} {'the fox and the grapes ' * 900}" for number in range(20)}
    with database_of(tmp_path / "lsh.db", texts) as db:
        db.remove([f"d{number}" for number in range(2, 20)])
        assert store_of(db).free_bytes() > 10 * PAGE
    return Command(tmp_path)


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in a page": (lambda data: data[:-100], "it is cut short, to "),
    "cut": (lambda data: data[:-PAGE], ""),
    "a few bytes": (lambda data: data + b"\r\n", "2 bytes follow its last page"),
    "a page": (lambda data: data + bytes(PAGE), "16,384 bytes follow its last page"),
    "itself": (lambda data: data + data, "bytes follow its last page"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_all_that_open_it_say_the_same(with_free_pages: Command, change: str) -> None:
    path, (change_it, reason) = with_free_pages.path("lsh.db"), CHANGES[change]
    path.write_bytes(change_it(path.read_bytes()))
    opens: list[Callable[[], object]] = [
        lambda: lshdb.open(path),
        lambda: lshdb.open(path, mode="read"),
        lambda: lshdb.restore_backup(path, with_free_pages.path("copy.db")),
    ]
    for opening in opens:
        with pytest.raises(DamagedFile) as caught:
            opening()
        said = str(caught.value)
        assert said.startswith(f"{path} is damaged: ")
        assert reason in said
        assert said.endswith("; restore it from a backup (lshdb backup --restore)")
    for options in ({"deep": True}, {"repair": True}):
        report = lshdb.check(path, **options)
        (problem,) = report.problems
        assert report.remaining == {"file": 1}
        assert (problem.table, reason in problem.stored) == ("file", True)
    if change == "a few bytes":
        assert reason in with_free_pages.fails("backup", "copy.db")
        assert "lsh.db has problems: file 1: " in with_free_pages("check", "--deep").err
    assert not with_free_pages.path("copy.db").exists()


def test_a_log_that_has_the_missing_pages_is_no_damage(with_free_pages: Command) -> None:
    """A process that was killed may leave the file shorter than its pages, and its log."""
    path, copy = with_free_pages.path("lsh.db"), with_free_pages.path("copy.db")
    with lshdb.open(path) as db:
        db.add_many((f"n{n}", f"the ant {n} {'and the dove ' * 2000}") for n in range(40))
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    assert copy.stat().st_size < path.stat().st_size
    with_free_pages.done("check", "--deep", "-d", "copy.db")
    with_free_pages.done("info", "-d", "copy.db")
    assert len(inspection.rows(copy, "SELECT 1 FROM documents")) == 42


def test_writers_meanwhile_are_no_damage(with_free_pages: Command) -> None:
    path = with_free_pages.path("lsh.db")
    with lshdb.open(path) as db:
        for number in range(10):
            db.add(f"n{number}", f"the ant {number} {'and the dove ' * 2000}")
            store_of(db).shrink_log()
            with lshdb.open(path, mode="read") as reader:
                assert len(reader) == number + 3
            assert lshdb.check(path).ok


def test_a_dump_makes_a_database_again_with_the_two_numbers(with_free_pages: Command) -> None:
    """As docs/sql.md says."""
    path, new = with_free_pages.path("lsh.db"), with_free_pages.path("new.db")
    with inspection.sqlite(path) as old, closing(sqlite3.connect(new)) as file:
        file.executescript("".join(old.iterdump()))
    with pytest.raises(NotADatabase, match="another program's SQLite database"):
        lshdb.open(new)
    manual = (ROOT / "docs" / "sql.md").read_text()
    marks = "".join(re.findall(r"^PRAGMA (?:application_id|user_version) = \d+;$", manual, re.M))
    with closing(sqlite3.connect(new)) as file:
        file.executescript(marks)
    assert lshdb.check(new, deep=True).ok
    assert inspection.contents(new) == inspection.contents(path)
