"""What stands in the way of a database file is said, and not guessed.

Reported of other programs: fr-ser/grafana-sqlite-datasource pull request 168 and dgobbi/vtk-dicom
issue 178 (SQLite's message about a log that cannot be written or made does not name it).
"""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from helpers import Command, database_of, leave_a_log, unprivileged

import lshdb
from lshdb.errors import StoreError

ROW = '{"id": 1, "text": "a b c d"}'
LEFT = (
    "lsh.db cannot be opened: no permission to write lsh.db-wal and lsh.db-shm beside it, which "
    "another process left: have their owner open the database once, or give you permission; do not "
    "delete them, as they may have documents"
)
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="root may read everything")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    database_of(tmp_path / "lsh.db", {"a": "the fox and the grapes"}).close()
    return Command(tmp_path)


@needs_linux
@pytest.mark.parametrize("mode", [0o444, 0o000])
def test_a_log_that_another_user_left(command: Command, mode: int) -> None:
    leave_a_log(command.path("lsh.db"), {"late": "the ant and the dove"})
    for end in ("-wal", "-shm"):
        command.path(f"lsh.db{end}").chmod(mode)
    result = command("add", "-", stdin=ROW, before=unprivileged)
    assert (result.status, result.err.splitlines()[-1]) == (1, f"lshdb: {LEFT}")
    shown = command("show", "late", before=unprivileged)
    assert (shown.status, shown.err) == ((0, "") if mode else (1, f"lshdb: {LEFT}\n"))


@needs_linux
def test_a_log_that_the_reading_of_another_user_left(command: Command) -> None:
    """Such as SQLite makes where a user reads who may not write the file: without documents."""
    with lshdb.open(command.path("lsh.db"), mode="read"):
        for end in ("-wal", "-shm"):
            beside = command.path(f"lsh.db{end}")
            beside.with_name(f"left{end}").write_bytes(beside.read_bytes())
    for end in ("-wal", "-shm"):
        command.path(f"left{end}").rename(command.path(f"lsh.db{end}"))
        command.path(f"lsh.db{end}").chmod(0o444)
    result = command("add", "-", stdin=ROW, before=unprivileged)
    assert (result.status, result.err.splitlines()[-1]) == (
        1,
        "lshdb: lsh.db cannot be written while lsh.db-wal and lsh.db-shm are beside it, without "
        "permission to write them, as another user's reading leaves them: there is no document in "
        "them, so delete them when nobody has the database open",
    )
    assert command("show", "a", before=unprivileged).status == 0
    # What the message says is true.
    for end in ("-wal", "-shm"):
        command.path(f"lsh.db{end}").unlink()
    assert command("add", "-", stdin=ROW, before=unprivileged).status == 0


def test_a_name_that_is_too_long_leaves_no_file(command: Command) -> None:
    deep = "/".join(["d" * 100] * 6)
    command.path(deep).mkdir(parents=True)
    whole = len(os.fsencode(command.path(deep).resolve())) + len("/x.db")
    for name, reason in (
        ("x" * 249, "its name has 249 bytes, and may have 247"),
        ("é" * 124, "its name has 248 bytes, and may have 247"),
        (f"{deep}/x.db", f"its whole path has {whole} bytes, and may have 504"),
    ):
        said = command.fails("init", "-d", name)
        assert said == f"{name} cannot be made: {reason}: choose a shorter one"
        assert command.fails("info", "-d", name) == f"no database at {name}: {reason}"
    command.done("init", "-d", "x" * 247)
    command.done("check", "-d", "x" * 247)
    assert len([*command.directory.rglob("*.db")]) == 1, "beside the one of 247 bytes"


def test_files_may_no_longer_be_opened(command: Command) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened: list[int] = []
    try:
        few = len(os.listdir("/dev/fd")) + 16
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))
        with suppress(OSError):
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        for _left in range(2):
            with pytest.raises(StoreError, match="may not open more files: close some, or"):
                lshdb.open(command.path("lsh.db")).close()
            os.close(opened.pop())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in opened:
            os.close(descriptor)


def leave_directory() -> None:
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")


def test_the_current_directory_was_deleted(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(command.directory)  # and back at the end
    database = command.path("lsh.db")
    deleted = "the current directory was deleted: change to another one"
    result = command("add", command.directory, "-d", database, before=leave_directory)
    assert result.status == 0
    leave_directory()
    with pytest.raises(StoreError, match=f"lsh.db cannot be opened: {deleted}, or give the whole"):
        lshdb.open("lsh.db")
    with lshdb.open(database) as db:
        assert len(db) == 1


def test_there_is_no_directory_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in [...]")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    reason = "no directory for temporary files can be written: the variable TMPDIR names one"
    with pytest.raises(StoreError, match=reason):
        lshdb.dedup([{"id": "a", "text": "a b c d"}])


@cache
def may_mount() -> bool:
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        return subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def test_the_disk_for_temporary_files_is_full_while_rows_are_sorted(command: Command) -> None:
    if not may_mount():
        pytest.skip("mounting a small file system is not permitted here")
    command.path("tiny").mkdir()
    code = (
        "import lshdb\n"
        "numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000) '\n"
        "with lshdb.open('lsh.db', mode='read') as db:\n"
        "    try: list(db.sql(numbers + 'SELECT hex(randomblob(100)) AS r FROM n ORDER BY r'))\n"
        "    except lshdb.StoreError as error: print(error)"
    )
    script = 'mount -t tmpfs -o size=200k none tiny && TMPDIR="$PWD/tiny" exec "$1" -c "$2"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, code],
        cwd=command.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "lsh.db: the disk for SQLite's temporary files is full: TMPDIR names another directory for "
        "them\n"
    )


def test_what_is_no_file(command: Command) -> None:
    os.mkfifo(command.path("pipe"))
    listening = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    try:
        os.chdir(command.directory)  # a socket's path has to be short
        listening.bind("socket")
    finally:
        os.chdir(here)
    opens: list[Callable[[Path], object]] = [
        lshdb.open,
        lshdb.check,
        lshdb.Service,
        lambda path: lshdb.restore_backup(command.path("lsh.db"), path),
    ]
    with listening:
        for name, kind in (("pipe", "a pipe"), ("socket", "a socket"), ("/dev/null", "a device")):
            for opening in opens:
                with pytest.raises(StoreError, match=f"cannot be opened: it is {kind}"):
                    opening(command.path(name))
