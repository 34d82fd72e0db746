"""Whatever call of SQLite fails, the error names the cause, and the file stays whole."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from extras import if_there
from helpers import (
    Command,
    add_late,
    add_without_bands,
    database_of,
    leave_a_log,
    mount,
    unprivileged,
    with_own_mounts,
)
from sql_faults import Faults
from sql_faults import faults as faults

import lshdb
from lshdb.database import store_of
from lshdb.errors import StoreError
from lshdb.store import late

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
    """fr-ser/grafana-sqlite-datasource pull request 168, dgobbi/vtk-dicom issue 178: SQLite does
    not name its log.
    """
    leave_a_log(command.path("lsh.db"), {"late": "the ant and the dove"})
    for end in ("-wal", "-shm"):
        command.path(f"lsh.db{end}").chmod(mode)
    with unprivileged():
        result, shown = command("add", "-", stdin=ROW), command("show", "late")
    assert (result.status, result.err.splitlines()[-1]) == (1, f"lshdb: {LEFT}")
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
    with unprivileged():
        result = command("add", "-", stdin=ROW)
        command.done("show", "a")
    assert (result.status, result.err.splitlines()[-1]) == (1, f"lshdb: {LEFT}")


@needs_linux
def test_where_the_file_may_not_be_written_it_is_named_and_not_its_log(command: Command) -> None:
    leave_a_log(command.path("lsh.db"), {"late": "the ant and the dove"})
    for end in ("", "-wal", "-shm"):
        command.path(f"lsh.db{end}").chmod(0o444)
    with unprivileged():
        reason = command.fails("remove", "a")
        command.done("show", "late")
    assert reason == "lsh.db cannot be written: the file or its directory is read-only"


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


@pytest.mark.app("frames")
def test_there_is_no_directory_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in [...]")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    reason = "no directory for temporary files can be written: the variable TMPDIR names one"
    with pytest.raises(StoreError, match=reason):
        lshdb.dedup([{"id": "a", "text": "a b c d"}])


def test_the_disk_for_temporary_files_is_full_while_rows_are_sorted(command: Command) -> None:
    """In Python of its own: SQLite asks for the directory once."""
    command.path("tiny").mkdir()
    code = (
        "import lshdb\n"
        "numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000) '\n"
        "with lshdb.open('lsh.db', mode='read') as db:\n"
        "    try: list(db.sql(numbers + 'SELECT hex(randomblob(100)) AS r FROM n ORDER BY r'))\n"
        "    except lshdb.StoreError as error: print(error)"
    )

    def run() -> None:
        mount("tmpfs", command.path("tiny"), options="size=200k")
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=command.directory,
            env={**os.environ, "TMPDIR": str(command.path("tiny"))},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == (
            "lsh.db: a disk is full, its own or that of temporary files (the variable TMPDIR names "
            "another directory for these); nothing of the last batch was written\n"
        )

    with_own_mounts(run)


# each call


LIMITS = lshdb.Limits(batch_documents=8, late_from=1, reindex_rows=400)
DOCUMENTS = [(f"d{i}", f"the {i // 3} fox and the {i // 3} grapes hung {i % 3}") for i in range(24)]
PASSAGES = if_there("passages", passages=4)
TEXT = DOCUMENTS[3][1]
METHODS: dict[str, Callable[[lshdb.Database], Any]] = {
    "add": lambda db: db.add("new", TEXT),
    "add_many": lambda db: db.add_many([("d1", "changed"), ("e1", TEXT)], workers=0),
    "skip": lambda db: db.add_many([("e1", TEXT), ("e2", "new")], workers=0, on_similar="skip"),
    "remove": lambda db: db.remove(["d1", "absent"], missing_ok=True),
    "get": lambda db: db.get("d1"),
    "query where": lambda db: db.query(key="d3", where="shingles > 3", fields=["text"]),
    "query of a missing key": lambda db: db.query(key="absent"),
    "query_many": lambda db: [*db.query_many(DOCUMENTS[:3])],
    "passages": lambda db: db.passages(TEXT),
    "compare": lambda db: db.compare("d3", "d4"),
    "pairs": lambda db: [*db.pairs()],
    "clusters": lambda db: [*db.clusters()],
    "decide": lambda db: db.decide("keep", ["d8"]),
    "info": lambda db: db.info(),
    "sql": lambda db: [*db.sql("SELECT * FROM documents")],
    "reindex": lambda db: db.reindex(threshold=0.5),
    "reindex passages": lambda db: [db.reindex(passages=words) for words in (0, 5)],
    "backup": lambda db: db.backup(f"{db.path}.copy", replace=True),
    "shrink_log": lambda db: store_of(db).shrink_log(),
}
APPS = {"skip": "dedup", "passages": "passages", "compare": "compare", "decide": "review"}
APPS["reindex passages"] = "passages"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file, and one beside it whose band rows are still to be written."""
    directory = tmp_path_factory.mktemp("stored")
    settings: dict[str, Any] = {"shingle": "word:2", "limits": LIMITS, **PASSAGES}
    with lshdb.open(directory / "whole", **settings) as db:
        add_late(db, DOCUMENTS)
        assert db.info().unindexed == 0
    add_without_bands(directory / "pending", DOCUMENTS, **settings)
    with lshdb.open(directory / "pending") as db:
        assert db.info().unindexed == 16
    return directory


def fail_each(
    faults: Faults,
    stored: Path,
    path: Path,
    use: Callable[[lshdb.Database], Any],
) -> int:
    """Fail each call of SQLite that a method makes; how many there are."""
    for number in range(1, 1_000):
        shutil.copy(stored, path)
        faults.begin(0)
        with lshdb.open(path, limits=LIMITS) as db:
            faults.begin(number)
            with suppress(lshdb.LshdbError):
                use(db)
            done = faults.statement is None
            faults.begin(0)
        if done:
            return number - 1
    raise AssertionError("it never ends")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.app(APPS[name])) if name in APPS else name
        for name in METHODS
    ],
)
def test_any_statement_of_a_method_may_fail(
    faults: Faults,
    stored: Path,
    path: Path,
    name: str,
) -> None:
    """Tribler/tribler issue 5277: a window showed a bare traceback of SQLite's."""
    assert fail_each(faults, stored / "whole", path, METHODS[name])
    assert lshdb.check(path, deep=True).ok


def test_any_statement_may_fail_while_band_rows_are_written_late(
    faults: Faults,
    stored: Path,
    path: Path,
) -> None:
    calls = fail_each(faults, stored / "pending", path, lambda db: late.complete(store_of(db)))
    assert calls > 20
    with lshdb.open(path) as db:
        assert db.info().unindexed == 0
    assert lshdb.check(path, deep=True).ok
