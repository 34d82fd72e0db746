"""Band rows that a killed addition left: who writes them, and who notes it.

asmvik/skhd issue 83: a lock of an open file lived on in a forked process, and nobody else got it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import inspection
import pytest
from helpers import Command, add_late

import lshdb
from lshdb.apps.service import service as service_module
from lshdb.apps.web import rendering, views
from lshdb.database import store_of
from lshdb.store import late

LIMITS = lshdb.Limits(batch_documents=50, late_from=50)
DOCUMENTS = [
    (f"d{i}", f"the {i // 3} fox and the {i // 3} grapes hung {i % 3}") for i in range(200)
]
NOTE = "150 documents wait for rows of the index, so that buckets lack them"
KILLED = """
import os, sys, lshdb
from lshdb.database import store_of
from lshdb.write.add import add_documents
from lshdb.options import AddManyOptions
from lshdb.store import late
late.complete = lambda store, *_: os._exit(9) if store.indexed_to is not None else None
limits = lshdb.Limits(batch_documents=50, late_from=50)
texts = [f"the {i // 3} fox and the {i // 3} grapes hung {i % 3}" for i in range(200)]
documents = [(f"d{i}", text) for i, text in enumerate(texts)]
with lshdb.open(sys.argv[1], shingle="word:2", limits=limits) as db:
    add_documents(store_of(db), documents, AddManyOptions(workers=0), late_bands=True)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what a killed process left: a file and its log."""
    path = tmp_path_factory.mktemp("killed") / "lsh.db"
    assert subprocess.run([sys.executable, "-c", KILLED, path], check=False).returncode == 9
    return path.parent


@pytest.fixture
def pending(killed: Path, tmp_path: Path) -> Path:
    """A file in which 150 documents wait."""
    for name in ("lsh.db", "lsh.db-wal"):
        shutil.copy(killed / name, tmp_path)
    return tmp_path / "lsh.db"


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds; it is an error if that takes long."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def unindexed(path: Path) -> int:
    with lshdb.open(path, mode="read") as db:
        return db.info().unindexed


def test_a_service_writes_them_and_answers_meanwhile(
    pending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_LOOK_SECONDS", 0.05)
    with lshdb.Service(pending) as service:
        assert len(service.query(DOCUMENTS[0][1], threshold=0.6)) == 3
        until(lambda: service.add("more", "a crow") and not unindexed(pending))
        # Of an addition by another process, once that has ended.
        subprocess.run([sys.executable, "-c", KILLED.replace('f"d', 'f"e'), pending], check=False)
        until(lambda: not unindexed(pending))
        assert len(service.query(DOCUMENTS[0][1], threshold=0.6)) == 6
    inspection.check(pending)


def test_a_service_says_what_keeps_it_from_writing_them(
    pending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise lshdb.StoreError("the disk is full")

    complete = late.complete
    monkeypatch.setattr(service_module, "_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(late, "complete", full)
    with lshdb.Service(pending) as service:
        until(lambda: service.stats().index_error)
        stats = service.stats()
        assert (stats.index_error, stats.unindexed) == ("the disk is full", 150)
        monkeypatch.setattr(late, "complete", complete)
        until(lambda: not (service.stats().unindexed or service.stats().index_error))


def test_nobody_writes_them_while_they_are_still_being_added(tmp_path: Path) -> None:
    path, seen = tmp_path / "lsh.db", list[int]()
    with lshdb.open(path, limits=LIMITS) as db, lshdb.open(path) as beside:

        def note(_: lshdb.AddReport) -> None:
            beside.add("beside", f"the crow and the cheese {len(seen)}")
            seen.append(beside.info().unindexed)

        add_late(db, DOCUMENTS, on_batch=note)
        assert seen == [0, 50, 100, 150]
        assert db.info().unindexed == 0
    inspection.check(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("ends", ["kill", "return"])
def test_a_process_forked_meanwhile_keeps_nobody_from_it(pending: Path, ends: str) -> None:
    """Of a process that was killed while it wrote them, or that left it."""
    code = f"""
import os, signal, sys, time, lshdb
from lshdb.database import store_of
from lshdb.store import late
with lshdb.open(sys.argv[1]) as db, late.reserved(store_of(db)) as is_alone:
    child = os.fork()
    if not child:
        print(is_alone, os.getpid(), flush=True)
        time.sleep(60)
    time.sleep(0.2)
    if {ends!r} == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
"""
    process = subprocess.Popen([sys.executable, "-c", code, pending], stdout=subprocess.PIPE)
    assert process.stdout is not None
    is_alone, child = process.stdout.readline().split()
    try:
        assert is_alone == b"True"
        with lshdb.open(pending) as db, late.reserved(store_of(db)) as free:
            assert not free, "the parent still has it"
        process.wait(20)
        with lshdb.open(pending) as db:
            late.complete(store_of(db))
            assert db.info().unindexed == 0
    finally:
        os.kill(int(child), signal.SIGKILL)
        process.stdout.close()
        process.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_leaves_the_block_does_not_end_its_parents_lock(pending: Path) -> None:
    code = """
import os, sys
from lshdb.store.partial_files import alone
log = sys.argv[1] + "-wal"
with alone(log):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        with alone(log) as is_free:
            print(is_free)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, pending], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def page(path: Path, name: str, **arguments: str) -> str:
    """The HTML of a page, without a server."""
    with lshdb.open(path, mode="read") as db:
        visited = views.Visit(db, path.name, arguments).page(name)
    return rendering.html(visited, rendering.Links(""), database=path.name, review=None)


def test_buckets_say_that_rows_are_missing(pending: Path) -> None:
    command = Command(pending.parent)
    for arguments in (["buckets"], ["show", "d190"], ["sql", "select count(*) from Buckets"]):
        (said,) = command.done(*arguments).err.splitlines()
        assert said.startswith(f"lshdb: {NOTE}: the next addition or lshdb check --repair")
    command.done("sql", "select count(*) from documents", says="")
    assert NOTE in page(pending, "document", key="d190")
    lshdb.check(pending, repair=True)
    command.done("show", "d190", says="")


def test_a_service_is_closed_amid_writing_them(pending: Path) -> None:
    lshdb.Service(pending, limits=lshdb.Limits(documents_read=10, reindex_rows=10)).close()
    assert lshdb.check(pending, deep=True).ok
