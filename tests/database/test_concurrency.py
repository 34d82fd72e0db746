"""Processes and threads that use one database at the same time: all is there, and all is whole."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import Command, barrier, database_of, forked, status_of
from measure.torture import soak

import lshdb
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.offers import is_there
from lshdb.store import transactions

DOCUMENTS = [(f"d{i}", f"the fox and the grapes {i // 2}") for i in range(40)]


def fill(path: Path) -> None:
    database_of(path, DOCUMENTS).close()


# many processes


def test_processes_that_write_and_read_lose_nothing_and_see_only_whole_batches(
    tmp_path: Path,
) -> None:
    figures = soak.run(0.6, tmp_path)
    assert figures["operations"] >= 17, "each process, in both parts"
    assert figures["acknowledged"] > 0
    bad = ("lost", "inconsistent", "damaged", "locked", "tracebacks")
    assert not any(figures[name] for name in bad), figures


def add(path: Path, step: Barrier, key: str = "new") -> None:
    step.wait()
    with lshdb.open(path) as db:
        assert db.add(key, "the fox").added == 1


def repair(path: Path, step: Barrier) -> None:
    step.wait()
    assert lshdb.check(path, repair=True).ok


@pytest.mark.app("repair")
@pytest.mark.parametrize("write", [add, repair])
def test_a_writer_waits_for_another_and_then_goes_on(
    path: Path, write: Callable[[Path, Barrier], None]
) -> None:
    fill(path)
    process = forked(write, path, step := barrier())
    with inspection.sqlite(path) as other:
        other.execute("BEGIN IMMEDIATE")
        step.wait()
        with pytest.raises(lshdb.Busy):
            lshdb.check(path, repair=True, timeout=0.2)
        assert process.is_alive()
        assert lshdb.check(path, timeout=0).ok, "one that only looks waits for nobody"
        other.execute("COMMIT")
        assert status_of(process) == 0


def test_timeout_is_how_long_a_command_waits(path: Path) -> None:
    fill(path)
    with inspection.sqlite(path) as other:
        other.execute("BEGIN IMMEDIATE")
        command = Command(path.parent)
        for reason in (
            command.fails("--timeout", "0.2", "remove", "d1"),
            Command(path.parent, {"LSHDB_TIMEOUT": "0.2"}).fails("remove", "d1"),
        ):
            assert reason.startswith("lsh.db is locked by another process")
    for wrong in ("nan", "-1", "1e7"):
        result = command("--timeout", wrong, "info")
        assert (result.status, "is not from 0 to 1,000,000" in result.err) == (2, True)


# threads


Use = Callable[[lshdb.Database], object]
USES: dict[str, Use] = {
    "add": lambda db: db.add("new", "text"),
    "add_files": lambda db: db.add_files([__file__]),
    "remove": lambda db: db.remove("d1"),
    "get": lambda db: db.get("d1"),
    "len": len,
    "query": lambda db: db.query("the fox"),
}
if is_there("dedup"):
    USES["dedup"] = lambda db: list(db.dedup_files([__file__]))
if is_there("compare"):
    USES["compare"] = lambda db: db.compare("d1", "d2")
"""Ways to read and to write."""


def refusals(db: lshdb.Database, uses: dict[str, Use]) -> Iterator[str]:
    """What each says."""
    for name, use in uses.items():
        try:
            yield f"{name} done: {use(db)}"
        except UsageError as error:
            yield str(error)


def in_thread(db: lshdb.Database, uses: dict[str, Use]) -> list[str]:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: [*refusals(db, uses)]).result()


def test_an_object_in_another_thread_is_refused_by_all_its_methods(path: Path) -> None:
    fill(path)
    with lshdb.open(path) as db:
        pairs, rows = db.pairs(), db.sql("SELECT key FROM documents")
        next(pairs)
        next(rows)
        begun: dict[str, Use] = {"rows": lambda _: next(rows), "close": lambda db: db.close()}
        uses = {**USES, **begun, "exit": lambda db: db.__exit__(None, None, None)}
        expected = f"{path} was opened in another thread: each thread must open the file itself"
        assert in_thread(db, uses) == [expected] * len(uses)
        # It is as usable as before in its own.
        assert db.add("new", "text").added == 1
        assert len(list(pairs)) == 19
        # Reading that begins in a thread has its own connection there.
        assert in_thread(db, {"pairs": lambda db: len(list(db.pairs()))}) == ["pairs done: 20"]
        assert db.settings.threshold == 0.8
    with pytest.raises(UsageError, match="is closed: open it again"):
        db.keys()


# fork


pytest_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest_fork
def test_a_forked_process_is_refused_and_does_its_parent_no_harm(path: Path) -> None:
    fill(path)
    other = forked(add, path, step := barrier(), "other")
    db = lshdb.open(path)
    pairs, rows = db.pairs(), db.sql("SELECT key FROM documents")
    next(pairs)
    next(rows)

    def child() -> None:
        opening: dict[str, Use] = {"rows": lambda _: next(rows), "open": lambda _: lshdb.open(path)}
        uses = {**USES, **opening}
        refused = (
            f"{path} was open when this process was forked, and SQLite's locks do not pass a fork: "
            "close it before, or start processes with spawn"
        )
        assert [*refusals(db, uses)] == [refused] * len(uses)
        db.close()
        with db:
            pass

    assert status_of(forked(child)) == 0
    # The parent goes on, with the same log, which another process that comes and goes leaves.
    assert db.add("new", "text").added == 1
    step.wait()
    assert status_of(other) == 0
    assert db.add("after", "text").added == 1
    assert len(list(pairs)) == 19
    assert len(list(rows)) == len(DOCUMENTS) - 1
    db.close()
    assert inspection.files(path.parent).keys() == {path.name}
    inspection.check(path)
    with lshdb.open(path, mode="read") as db:
        assert {"new", "other", "after"} <= {*db}


FORKS = """
import os, sys, lshdb
from lshdb.database import store_of

def end_a_child():
    if not os.fork():
        sys.exit()       # and the interpreter ends as usual
    assert os.wait()[1] == 0

db = lshdb.open(sys.argv[1])
store_of(db)._connection.execute("PRAGMA cache_size = 20")  # what is written is soon in the log
with store_of(db).writing():
    rows = [(i, str(i * 7919 % 3000), 0, bytes(16), None, "x" * 500) for i in range(100, 3100)]
    store_of(db).insert(rows)
    assert os.path.getsize(sys.argv[1] + "-wal") > 1 << 20
    end_a_child()
    assert store_of(db).count()[0] == 3000 + int(sys.argv[2])
db.add("before", "text")
end_a_child()
db.add("after", "text")
assert os.path.exists(sys.argv[1] + "-wal")
os._exit(0)              # not closed: all is still in the log
"""


@pytest_fork
def test_a_forked_process_that_ends_leaves_the_log_of_its_parent(path: Path) -> None:
    """To close what it inherited would also undo what the parent is writing.

    In a process of its own: how Python ends is what would close it.
    """
    fill(path)
    subprocess.run([sys.executable, "-c", FORKS, path, str(len(DOCUMENTS))], check=True)
    with lshdb.open(path, mode="read") as db:
        assert {"before", "after"} <= {*db}
        assert len(db) == len(DOCUMENTS) + 3002
    assert inspection.rows(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.app("merging")
@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_a_walk_over_the_own_database_leaves_its_locks(path: Path) -> None:
    """A process that closes a file by whatever handle has no SQLite locks on it any more."""
    fill(path)
    path.with_name("note.txt").write_text("a note")
    other = forked(add, path, step := barrier())
    with lshdb.open(path) as db:
        assert db.add_files([str(path.parent)]).added == 1
        assert db.add_files([str(path)]).failed == 1
        step.wait()
        assert status_of(other) == 0
        # That process was not the last to close the file, and did not think so.
        assert path.with_name(path.name + "-wal").exists()
        db.add("after", "text")
    with lshdb.open(path) as db:
        assert {"new", "after"} <= set(db.keys())


# threads that write


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """While another thread is in a write transaction, which then adds a document."""
    is_begun, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with lshdb.open(path) as db:
            with store_of(db).writing():
                is_begun.set()
                go_on.wait(30)
            db.add("after", "text")

    with ThreadPoolExecutor(1) as pool:
        thread = pool.submit(write)
        assert is_begun.wait(30)
        try:
            yield
        finally:
            go_on.set()
            thread.result()


def test_a_writer_waits_for_another_of_its_process_without_trying(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path)
    tried: list[str] = []
    run = transactions.run_when_free

    def noted(connection: Any, statement: str, end: float) -> bool:
        if threading.current_thread().name == "waits" and statement == "BEGIN IMMEDIATE":
            tried.append(statement)
        return run(connection, statement, end)

    monkeypatch.setattr(transactions, "run_when_free", noted)

    def add() -> None:
        with lshdb.open(path) as db:
            is_open.set()
            db.add("waits", "text")

    is_open = threading.Event()
    thread = threading.Thread(target=add, name="waits")
    with writing(path):
        thread.start()
        assert is_open.wait(30)
        time.sleep(0.1)
        assert tried == []
    thread.join(30)
    assert tried == ["BEGIN IMMEDIATE"]
    with lshdb.open(path) as db:
        assert {"waits", "after"} <= {*db}


def test_waiting_for_a_thread_counts_toward_the_timeout(path: Path) -> None:
    fill(path)
    with lshdb.open(path, timeout=0.2) as db:
        with writing(path), pytest.raises(lshdb.Busy):
            db.add("new", "text")
        assert db.add("new", "text").added == 1


def test_a_second_database_of_a_writing_thread_is_refused(path: Path) -> None:
    fill(path)
    with lshdb.open(path) as db, lshdb.open(path, timeout=0.1) as other:
        with store_of(db).writing(), pytest.raises(lshdb.Busy):
            other.add("new", "text")
        assert other.add("new", "text").added == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(added, path).result(30) == 1


def added(path: Path) -> int:
    with lshdb.open(path) as db:
        return db.add("other", "text").added


def test_threads_that_write_by_turns_all_come_to_it(path: Path) -> None:
    """Also beside one that writes again and again."""
    fill(path)
    ends = threading.Event()

    def write_again_and_again() -> None:
        with lshdb.open(path) as db:
            while not ends.is_set():
                with store_of(db).writing():
                    time.sleep(0.02)

    with ThreadPoolExecutor(2) as pool:
        busy = pool.submit(write_again_and_again)
        try:
            with lshdb.open(path, timeout=20) as db:
                assert [db.add(f"new{i}", "text").added for i in range(5)] == [1] * 5
        finally:
            ends.set()
        busy.result(30)


@pytest_fork
def test_a_forked_process_starts_with_free_locks(path: Path) -> None:
    fill(path)

    def child() -> None:
        # A new file may have the device and inode of one that the parent wrote.
        assert added(path.with_name("new.db")) == 1
        assert not locks & transactions._locks.keys()

    with writing(path):
        locks = {*transactions._locks}
        assert locks
        assert status_of(forked(child)) == 0
