"""A backup put in the place of a database whose last writer was killed, and left a log.

Reported of other programs: vavallee/bindery issue 2337 and DeusData/codebase-memory-mcp issue 897
(a copy over the file, and the old log is read as part of it), theoriclabs/LeanDB issue 60 (what was
checked is not what was copied).
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import Command, database_of, leave_a_log

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
    shutil.copytree(command.directory, copied := command.path("copied"))
    shutil.copy(copied / "friday.db", copied / "lsh.db")
    assert (
        '"d3"' in command("sql", "-d", "copied/lsh.db", "SELECT key FROM documents", "--json").out
    )
    (file := command.path("lsh.db")).chmod(0o640)
    done = command.done("backup", "--restore", "friday.db")
    assert "lsh.db restored from friday.db: 3 documents; lsh.db.replaced is what" in done.err
    assert not command.path("lsh.db-wal").exists()
    assert (count(file), count(command.path("lsh.db.replaced"))) == (NEW, OLD)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert inspection.contents(file) == inspection.contents(command.path("friday.db"))
    command.done("backup", "--restore", "friday.db")
    assert (count(file), count(command.path("lsh.db.replaced.2"))) == (NEW, NEW)


@pytest.mark.parametrize("step", ["link", "replace", "chmod", "unlink"])
def test_a_killed_run_leaves_the_old_or_the_new_one(command: Command, step: str) -> None:
    real = getattr(os, step)

    def killed(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        os._exit(9)

    child = os.fork()
    if child == 0:
        setattr(os, step, killed)
        try:
            lshdb.restore_backup(command.path("friday.db"), command.path("lsh.db"))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    with inspection.sqlite(command.path("lsh.db")) as file:
        (documents,) = file.execute("SELECT count(*) FROM documents").fetchone()
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    left = [*command.directory.glob("*.lshdb.partial")]
    assert (documents, len(left)) == ((NEW, 0) if step == "replace" else (OLD, 1))
    command("backup", "--restore", "friday.db")
    assert not [*command.directory.glob("*.lshdb.partial")]
    assert count(command.path("lsh.db")) == NEW
    assert count(command.path("lsh.db.replaced")) == OLD


def test_it_is_not_done_while_anybody_has_the_database_open(command: Command) -> None:
    path, backup = command.path("lsh.db"), command.path("friday.db")
    with lshdb.open(path, mode="read") as db:
        reason = command.fails("--timeout", "0", "backup", "--restore", "friday.db")
        assert reason.startswith("lsh.db is open in another program")
        with pytest.raises(Busy):
            lshdb.restore_backup(backup, path, timeout=0)
        assert len(db) == OLD

    assert not command.path("lsh.db.replaced").exists()


@pytest.mark.parametrize("damage", ["not SQLite", "a page", "gone"])
def test_a_database_that_is_damaged_or_gone(command: Command, damage: str) -> None:
    """What is left of it and of its log stays."""
    path, log = command.path("lsh.db"), command.path("lsh.db-wal")
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "not SQLite":
        log.unlink()
        path.write_bytes(data := b"x" * 100 + data[100:])
    else:
        path.write_bytes(data := data[:20_000] + b"y" * 10_000 + data[30_000:])
    logged = log.read_bytes() if log.exists() else b""
    done = lshdb.restore_backup(command.path("friday.db"), path)
    assert done.documents == count(path) == NEW
    assert done.replaced == path.with_name("lsh.db.replaced")
    if damage == "gone":
        assert path.with_name("lsh.db.replaced-wal").read_bytes() == logged
    elif damage == "not SQLite":
        assert done.replaced.read_bytes() == data
    else:  # the log is copied into it
        assert done.replaced.read_bytes() != data


def test_what_is_no_backup_or_no_database_of_ours_is_refused(command: Command) -> None:
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
