"""Band rows that are written after all documents: the same as if written at once, at any moment."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import helpers
import inspection
import pytest
from extras import if_there

import lshdb
from lshdb.database import store_of
from lshdb.store import index, late

PASSAGES = if_there("passages", passages=4)
LIMITS = lshdb.Limits(batch_documents=50, late_from=50, reindex_rows=20, documents_read=30)
DOCUMENTS = [
    (f"d{i}", f"the {i // 3} fox and the {i // 3 + 1} grapes hung {i % 3}") for i in range(300)
]


class Killed(Exception):
    pass


def index_with(rows_of: Callable[..., Any]) -> SimpleNamespace:
    """The module, with another function that makes its rows."""
    return SimpleNamespace(**{**vars(index), "rows_of": rows_of})


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Stop the pass after some of its transactions, as a kill does; never with 0."""

    def stop(steps: int) -> None:
        left = itertools.count(steps - 1, -1)

        def stopping(*arguments: Any) -> Any:
            if not next(left):
                raise Killed
            return index.rows_of(*arguments)

        monkeypatch.setattr(late, "index", index_with(stopping))

    return stop


def added(path: Path, **options: Any) -> lshdb.Database:
    return helpers.database_of(path, (), shingle="word:2", **PASSAGES, **options)


def at_once(path: Path) -> lshdb.Database:
    database = added(path)
    database.add_many(DOCUMENTS, workers=0)
    return database


def test_a_large_addition_gives_the_same_file(tmp_path: Path) -> None:
    seen: list[int] = []
    with added(tmp_path / "late.db", limits=LIMITS) as database, at_once(tmp_path / "now.db"):
        helpers.add_late(
            database, DOCUMENTS, on_batch=lambda _: seen.append(database.info().unindexed)
        )
    assert seen == [0, 50, 100, 150, 200, 250]
    assert inspection.contents(tmp_path / "late.db") == inspection.contents(tmp_path / "now.db")


def test_a_stream_that_asks_finds_what_it_added_in_buckets(tmp_path: Path) -> None:
    seen: list[int] = []
    with added(tmp_path / "late.db", limits=LIMITS) as database:
        new = (one for one in DOCUMENTS if not database.query(one[1], threshold=0.99))
        database.add_many(new, workers=0, on_batch=lambda _: seen.append(database.info().unindexed))
    assert len(seen) > 2
    assert not any(seen)


@pytest.mark.app("repair")
@pytest.mark.parametrize("steps", [1, 150])
def test_a_stopped_pass_is_seen_by_nobody_and_completed(
    tmp_path: Path, stopped: Callable[[int], None], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        added(tmp_path / "late.db", limits=LIMITS) as database,
        at_once(tmp_path / "now.db") as now,
    ):
        stopped(steps)
        with pytest.raises(Killed):
            helpers.add_late(database, DOCUMENTS)
        monkeypatch.undo()
        assert database.info().unindexed == 250
        assert lshdb.check(database.path, deep=True).ok
        asks: list[Callable[[lshdb.Database], Any]] = [
            lambda db: [*db.pairs()],
            lambda db: [*db.clusters()],
            lambda db: [*db.passage_pairs()] if PASSAGES else [],
            lambda db: [db.query(text, top=2) for _, text in DOCUMENTS[::29]],
            lambda db: [*db.query_many(DOCUMENTS[::7], threshold=0.4)],
        ]
        for ask in asks:
            assert ask(database) == ask(now)
        assert lshdb.check(database.path, repair=True).ok
    assert inspection.contents(tmp_path / "late.db") == inspection.contents(tmp_path / "now.db")


@pytest.mark.parametrize("steps", [0, 1, 30])
def test_writers_beside_the_pass(tmp_path: Path, steps: int) -> None:
    """Another connection changes, removes and adds documents before, amid and after the pass."""
    changes = [(key, text.replace("fox", "crow")) for key, text in DOCUMENTS[3::17]]

    def change(database: lshdb.Database, number: int) -> None:
        database.add_many(changes[number : number + 1], workers=0)
        database.remove(DOCUMENTS[number + 100][0])
        database.remove(DOCUMENTS[number + 285][0])
        database.add(f"new{number}", f"sour grapes {number} and the fox")

    numbers: Iterator[int] = iter(range(10))
    with (
        added(tmp_path / "late.db", limits=LIMITS) as database,
        lshdb.open(tmp_path / "late.db") as beside,
        at_once(tmp_path / "now.db") as now,
    ):

        def progress(done: int, _: int | None, unit: str) -> None:
            if unit == "rows of the index" and done >= 20 * steps:
                for number in itertools.islice(numbers, 1):
                    change(beside, number)

        helpers.add_late(database, DOCUMENTS, progress=progress)
        done = 10 - len([*numbers])
        assert done == 10
        for number in range(done):
            change(now, number)
        assert lshdb.check(database.path, deep=True).ok
        assert database.info().unindexed == 0
    late_rows, rows = (inspection.contents(tmp_path / f"{one}.db") for one in ("late", "now"))
    assert late_rows == rows


def test_ids_of_removed_documents_do_not_come_back(tmp_path: Path, stopped: Any) -> None:
    with added(tmp_path / "late.db", limits=LIMITS) as database:
        stopped(1)
        with pytest.raises(Killed):
            helpers.add_late(database, DOCUMENTS)
        last = store_of(database).last_doc_id()
        database.remove(DOCUMENTS[-1][0])
        assert store_of(database).last_doc_id() == last


# who writes rows that a killed addition left


BATCHES = lshdb.Limits(batch_documents=50, late_from=50)
WAITING = [(f"d{i}", f"the {i // 3} fox and the {i // 3} grapes hung {i % 3}") for i in range(200)]
NOTE = "150 documents wait for rows of the index, so that buckets lack them"


@pytest.fixture
def pending(path: Path) -> Path:
    """A file in which 150 documents wait."""
    helpers.add_without_bands(path, WAITING, shingle="word:2", limits=BATCHES)
    return path


def test_nobody_writes_them_while_they_are_still_being_added(tmp_path: Path) -> None:
    path, seen = tmp_path / "lsh.db", list[int]()
    with lshdb.open(path, limits=BATCHES) as db, lshdb.open(path) as beside:

        def note(_: lshdb.AddReport) -> None:
            beside.add("beside", f"the crow and the cheese {len(seen)}")
            seen.append(beside.info().unindexed)

        helpers.add_late(db, WAITING, on_batch=note)
        assert seen == [0, 50, 100, 150]
        assert db.info().unindexed == 0
    inspection.check(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("ends", ["kill", "return"])
def test_a_process_forked_meanwhile_keeps_nobody_from_it(pending: Path, ends: str) -> None:
    """Of a process that was killed while it wrote them, or that left it.

    asmvik/skhd issue 83: a lock of an open file lived on in a forked process.
    """
    begins, ends_now, outlives = helpers.barrier(), helpers.barrier(), helpers.barrier()

    def reserve() -> None:
        with lshdb.open(pending) as db, late.reserved(store_of(db)) as is_alone:
            assert is_alone
            helpers.forked(outlives.wait)
            begins.wait()
            ends_now.wait()
            os.kill(os.getpid(), signal.SIGKILL if ends == "kill" else 0)
        os._exit(0)  # without waiting for its child

    process = helpers.forked(reserve)
    begins.wait()
    with lshdb.open(pending) as db, late.reserved(store_of(db)) as free:
        assert not free, "the parent still has it"
    ends_now.wait()
    assert helpers.status_of(process) == (-signal.SIGKILL if ends == "kill" else 0)
    with lshdb.open(pending) as db:
        late.complete(store_of(db))
        assert db.info().unindexed == 0
    outlives.wait()


@pytest.mark.app("repair")
def test_buckets_say_that_rows_are_missing(pending: Path) -> None:
    command = helpers.Command(pending.parent)
    for arguments in (["show", "d190"], ["sql", "select count(*) from Buckets"]):
        (said,) = command.done(*arguments).err.splitlines()
        assert said.startswith(f"lshdb: {NOTE}: the next addition or lshdb check --repair")
    command.done("sql", "select count(*) from documents", says="")
    lshdb.check(pending, repair=True)
    command.done("show", "d190", says="")
