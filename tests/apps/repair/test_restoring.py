"""A backup in the place of a database: whole or not at all, whatever a killed writer left."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from functools import partial
from pathlib import Path

import inspection
import pytest
from helpers import Command, database_of, forked, leave_a_log, status_of

import lshdb
from lshdb.errors import Busy, DamagedFile, NotADatabase, StoreError, UsageError

OLD, NEW = 60, 3


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """With a backup, a database that has changed since, and the log of a killed writer."""
    command = Command(tmp_path)
    texts = {f"d{number}": f"the fox and the {number} grapes" for number in range(NEW)}
    with database_of(tmp_path / "lsh.db", texts) as db:
        db.backup(tmp_path / "friday.db")
    ants = {f"d{number}": f"the ant and the {number} doves" for number in range(OLD)}
    leave_a_log(tmp_path / "lsh.db", ants)
    assert (tmp_path / "lsh.db-wal").stat().st_size
    return command


def count(path: Path) -> int:
    inspection.check(path)
    return len(inspection.rows(path, "SELECT 1 FROM documents"))


def test_a_copy_over_the_file_is_undone_by_the_log_and_restoring_is_not(command: Command) -> None:
    """vavallee/bindery issue 2337, DeusData/codebase-memory-mcp issue 897: the old log was read as
    part of a copy over the file.
    """
    shutil.copytree(command.directory, copied := command.path("copied"))
    shutil.copy(copied / "friday.db", copied / "lsh.db")
    assert (
        '"d3"' in command("sql", "-d", "copied/lsh.db", "SELECT key FROM documents", "--json").out
    )
    (file := command.path("lsh.db")).chmod(0o640)
    done = command.done("backup", "--restore", "friday.db")
    assert done.err.endswith("lsh.db restored from friday.db: 3 documents\n")
    assert not command.path("lsh.db-wal").exists()
    assert count(file) == NEW
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert inspection.contents(file) == inspection.contents(command.path("friday.db"))


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_killed_run_leaves_the_old_or_the_new_one(
    command: Command, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call of progress is a block of pages that is written, to the copy and to the file."""
    monkeypatch.setattr("lshdb.store.backup.BLOCK_PAGES", 4)
    calls = itertools.count(1)

    def killed(_done: int, _total: int | None, unit: str) -> None:
        if unit == "pages" and next(calls) == call:
            os._exit(9)

    backup, path = command.path("friday.db"), command.path("lsh.db")
    assert status_of(forked(partial(lshdb.restore_backup, backup, path, progress=killed))) == 9
    with inspection.sqlite(command.path("lsh.db")) as file:
        (documents,) = file.execute("SELECT count(*) FROM documents").fetchone()
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert documents in (OLD, NEW)
    assert len([*command.directory.glob("*.lshdb.partial")]) == 1
    command("backup", "--restore", "friday.db")
    assert not [*command.directory.glob("*.lshdb.partial")]
    assert count(command.path("lsh.db")) == NEW


def test_readers_keep_what_they_read_and_a_writer_is_waited_for(command: Command) -> None:
    path, backup = command.path("lsh.db"), command.path("friday.db")
    with lshdb.open(path) as db:
        keys = db.sql("SELECT key FROM documents")
        next(keys)
        assert lshdb.restore_backup(backup, path).documents == len(db) == NEW
        assert len([*keys]) == OLD - 1
        assert db.add("a", "the owl and the mouse").added == 1
    with inspection.sqlite(path) as writer:
        writer.execute("BEGIN IMMEDIATE")
        reason = command.fails("--timeout", "0", "backup", "--restore", "friday.db")
        assert reason.startswith("lsh.db is locked by another process")
        with pytest.raises(Busy):
            lshdb.restore_backup(backup, path, timeout=0)
    assert count(path) == NEW + 1


@pytest.mark.parametrize("damage", ["a page", "cut", "empty", "gone"])
def test_a_database_that_is_damaged_or_gone(command: Command, damage: str) -> None:
    path = command.path("lsh.db")
    data = path.read_bytes()
    path.write_bytes(data[:20_000] + b"y" * 10_000 + data[30_000:])
    if damage == "gone":
        path.unlink()
    elif damage != "a page":
        command.path("lsh.db-wal").unlink()
        path.write_bytes(data[: len(data) // 2 if damage == "cut" else 0])
    if damage == "cut":
        said = command.fails("backup", "--restore", "friday.db")
        assert "too damaged to be opened: move it and its lsh.db-wal away" in said
        path.rename(command.path("cut"))
    assert lshdb.restore_backup(command.path("friday.db"), path).documents == count(path) == NEW


def test_what_is_no_backup_or_no_database_of_ours_is_refused(command: Command) -> None:
    """theoriclabs/LeanDB issue 60: what was checked was not what was copied."""
    shutil.copy(command.path("friday.db"), command.path("bad.db"))
    with inspection.sqlite(command.path("bad.db")) as file:
        file.execute("DELETE FROM bands WHERE doc_id = 1")
        file.commit()
    with inspection.sqlite(command.path("else.db")) as file:
        file.execute("CREATE TABLE theirs (a)")
        file.commit()
    command.write("note.txt", "not a database" * 1000)
    os.symlink("lsh.db", command.path("link.db"))
    before = inspection.files(command.directory)
    path = command.path("lsh.db")
    for backup, kind, reason in (
        ("bad.db", DamagedFile, r"bad\.db is not whole \(bands\), and nothing is restored"),
        ("else.db", NotADatabase, "another program's"),
        ("note.txt", NotADatabase, "note.txt is not an SQLite database"),
        ("none.db", StoreError, "no database at .*none.db"),
        ("link.db", UsageError, "is the database itself"),
    ):
        with pytest.raises(kind, match=reason):
            lshdb.restore_backup(command.path(backup), path)
    with pytest.raises(NotADatabase, match="another program's"):
        lshdb.restore_backup(command.path("friday.db"), command.path("else.db"))
    assert inspection.files(command.directory) == before


def test_a_link_to_the_database_stays(command: Command) -> None:
    (link := command.path("link.db")).symlink_to("lsh.db")
    command.done("backup", "-d", "link.db", "--restore", "friday.db")
    assert link.is_symlink()
    assert count(command.path("lsh.db")) == NEW
