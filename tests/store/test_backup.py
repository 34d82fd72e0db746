"""backup copies one whole moment of a database, under its new name or not at all."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path

import inspection
import pytest
from helpers import FORK, Command, barrier, database_of, forked, status_of

import lshdb
from lshdb.errors import StoreError, UsageError


@pytest.fixture
def db(path: Path) -> Iterator[lshdb.Database]:
    with database_of(path, ((f"fox {i}", f"the fox and the {i} grapes") for i in range(50))) as db:
        yield db


def copies(directory: Path) -> list[str]:
    """What is in the directory besides the database."""
    return sorted(name for name in inspection.files(directory) if not name.startswith("lsh.db"))


def test_the_copy_is_one_file_with_all_that_is_in_the_log(db: lshdb.Database, path: Path) -> None:
    assert path.with_name("lsh.db-wal").stat().st_size > 0
    copy = path.with_name("copy.db")
    calls: list[tuple[int, int | None, str]] = []
    db.backup(copy, progress=lambda *done: calls.append(done))
    assert copies(path.parent) == ["copy.db"]
    pages = copy.stat().st_size // 16384
    assert calls[-1] == (pages, pages, "pages")
    assert inspection.contents(copy) == inspection.contents(path)
    assert lshdb.check(copy, deep=True).ok
    with lshdb.open(copy) as other:  # a database like any other
        other.add("new", "a new document")
    assert "new" not in db
    inspection.check(copy)


def test_a_copy_while_another_process_writes(tmp_path: Path) -> None:
    """Each copy has whole batches, has at least those before it, and takes finite time."""
    path, ends = tmp_path / "lsh.db", FORK.Event()
    lshdb.open(path).close()

    def write() -> None:
        with lshdb.open(path, limits=lshdb.Limits(batch_documents=100)) as db:
            numbers = takewhile(lambda _: not ends.is_set(), count())
            db.add_many(
                ((i, f"document {i} of a stream {i * 7} that goes on {i % 13}") for i in numbers),
                workers=0,
            )

    writer = forked(write)
    sizes: list[int] = []
    while len({*sizes}) < 3:
        copy = tmp_path / f"copy {len(sizes)}.db"
        with lshdb.open(path, mode="read") as db:
            db.backup(copy)
        report = lshdb.check(copy)
        assert report.problems == ()
        assert report.documents % 100 == 0
        sizes.append(report.documents)
    ends.set()
    assert status_of(writer) == 0
    assert sizes == sorted(sizes)
    assert lshdb.check(path).documents >= sizes[-1]


def test_what_is_there_is_replaced_only_if_that_is_said(db: lshdb.Database, path: Path) -> None:
    copy = path.with_name("copy.db")
    copy.write_text("mine")
    copy.chmod(0o640)
    with pytest.raises(StoreError, match="already exists; replace=True"):
        db.backup(copy)
    assert copy.read_text() == "mine"
    link = path.with_name("link.db")
    link.symlink_to(copy)
    db.backup(link, replace=True)
    assert link.is_symlink()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o640
    assert lshdb.check(copy).documents == 50
    # Nobody else may read what is not complete.
    modes: list[int] = []

    def look(*_: object) -> None:
        (partial,) = path.parent.glob("new.db.*.partial")
        modes.append(stat.S_IMODE(partial.stat().st_mode))

    path.chmod(0o600)
    db.backup(path.with_name("new.db"), progress=look)
    assert set(modes) == {0o600}
    assert stat.S_IMODE(path.with_name("new.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["lsh.db", "link", "hard link", "lsh.db-wal", "lsh.db-shm"])
def test_the_database_itself_is_refused(db: lshdb.Database, path: Path, name: str) -> None:
    path.with_name("link").symlink_to(path)
    os.link(path, path.with_name("hard link"))
    with pytest.raises(UsageError, match="the database"):
        db.backup(path.with_name(name), replace=True)
    assert len(db) == 50
    assert lshdb.check(db.path, deep=True).ok


def test_a_file_in_use_is_not_replaced(db: lshdb.Database, path: Path) -> None:
    """Its log would be taken for that of the copy."""
    other = path.with_name("other.db")
    with database_of(other, {"fox": "the fox"}) as used:
        with pytest.raises(StoreError, match=r"in use \(other\.db-wal exists\)"):
            db.backup(other, replace=True)
        assert lshdb.check(used.path, deep=True).ok
    db.backup(other, replace=True)
    assert lshdb.check(other).documents == 50


def test_an_interrupted_copy_leaves_nothing(db: lshdb.Database, path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    copy = path.with_name("copy.db")
    with pytest.raises(KeyboardInterrupt):
        db.backup(copy, progress=interrupt)
    assert copies(path.parent) == []
    copy.write_text("mine")
    with pytest.raises(KeyboardInterrupt):
        db.backup(copy, replace=True, progress=interrupt)
    assert copies(path.parent) == ["copy.db"]
    assert copy.read_text() == "mine"


def test_what_a_killed_copy_left_is_reported(db: lshdb.Database, path: Path) -> None:
    db.close()
    lshdb_ = Command(path.parent)
    copy, half = path.with_name("copy.db"), barrier()

    def stop() -> None:
        with lshdb.open(path) as db:
            db.backup(copy, progress=lambda *_: (half.wait(), half.wait()))

    process = forked(stop)
    half.wait()
    made = f"copy.db made: {path.stat().st_size:,} bytes\n"
    # A copy that is still being made is another's own affair.
    lshdb_.done("backup", "copy.db", says=made)
    process.kill()
    assert status_of(process) == -signal.SIGKILL
    assert len([*path.parent.glob("copy.db.*.partial")]) == 1
    lshdb_.done("backup", "copy.db", "--replace", says=made)
    assert copies(path.parent) == ["copy.db"]
    lshdb_.done("check", "-d", "copy.db")


def test_a_name_that_is_taken_meanwhile_is_not_taken_over(db: lshdb.Database, path: Path) -> None:
    copy = path.with_name("copy.db")
    with pytest.raises(StoreError, match="made meanwhile"):
        db.backup(copy, progress=lambda *_: copy.touch())
    assert copies(path.parent) == ["copy.db"]
    assert copy.read_bytes() == b""
