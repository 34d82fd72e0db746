"""One object for all threads and asyncio: whole steps, on the disk, each as if it came alone."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count, groupby
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import add_without_bands, barrier, forked, status_of, until
from sql_faults import Faults
from sql_faults import faults as faults

import lshdb
from lshdb.apps.service import service as services
from lshdb.store import late

FOX = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"


def held(service: lshdb.Service) -> threading.Event:
    """Keep the writer busy until the event is set, so that calls gather."""
    go_on, is_held = threading.Event(), threading.Event()

    def wait(_: lshdb.Database) -> None:
        is_held.set()
        go_on.wait(20)

    threading.Thread(target=service.write, args=(wait,)).start()
    is_held.wait()
    return go_on


def test_what_gathers_is_answered_as_if_each_came_alone(path: Path, tmp_path: Path) -> None:
    rng = random.Random(46)
    texts = [" ".join(rng.choices("abcdef", k=rng.randrange(5))) for _ in range(120)]
    given = [(f"k{rng.randrange(30)}", text, rng.random() < 0.4) for text in texts]
    expected = []
    with lshdb.open(tmp_path / "alone.db", shingle="word:2", threshold=0.5) as alone:
        for key, text, skip in given:
            matches = [match for match in alone.query(text, top=121) if match.key != key][:3]
            if skip and matches:
                outcome = "similar"
            else:
                report = alone.add(key, text)
                (outcome,) = (
                    name for name in ("added", "updated", "unchanged") if getattr(report, name)
                )
            expected.append((key, outcome, [(match.key, match.similarity) for match in matches]))
        keys = sorted(alone.keys())

    async def arrive(service: lshdb.Service) -> list[lshdb.Arrived]:
        go_on = held(service)
        adding = [
            asyncio.create_task(
                service.awaitable(service.add, key, text, find=3, skip_similar=skip)
            )
            for key, text, skip in given
        ]
        cancelled = asyncio.create_task(service.awaitable(service.add, "cancelled", FOX))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.sleep(0.01)
        go_on.set()
        return await asyncio.gather(*adding)

    with lshdb.Service(path, shingle="word:2", threshold=0.5) as service:
        arrived = asyncio.run(arrive(service))
        found = [
            (one.key, one.outcome, [(match.key, match.similarity) for match in one.matches])
            for one in arrived
        ]
        assert found == expected
        assert sorted(service.read(lambda db: db.keys())) == keys
    inspection.check(path)


def test_a_wrong_document_or_function_fails_alone(path: Path) -> None:
    with lshdb.Service(path) as service:
        go_on = held(service)
        with ThreadPoolExecutor(3) as clients:
            good = clients.submit(service.add, "good", FOX)
            wrong = clients.submit(service.write, lambda db: db.remove("absent"))
            with pytest.raises(lshdb.ContentError, match="'set'"):
                service.add("set", ["a"])
            go_on.set()
            assert good.result().outcome == "added"
            with pytest.raises(lshdb.KeyNotFound):
                wrong.result()
        for use in (service.read, service.write):
            with pytest.raises(lshdb.UsageError, match="uses the Database that it is given"):
                use(lambda _: service.query(FOX))
        with pytest.raises(lshdb.UsageError, match="find 1001 is not from 0 to 1,000"):
            service.add("many", FOX, find=1001)
        assert [match.key for match in service.query(FOX, top=3)] == ["good"]
        assert asyncio.run(service.awaitable(service.query, FOX))[0].identical
        assert asyncio.run(service.awaitable(service.write, lambda db: db.remove("good"))) == 1
        assert asyncio.run(service.awaitable(service.read, len)) == 0
        with pytest.raises(lshdb.UsageError, match="a method that reads or writes"):
            asyncio.run(service.awaitable(service.stats))


def test_damage_fails_only_those_that_meet_it(path: Path) -> None:
    with lshdb.open(path) as db:
        db.add("damaged", FOX)
    with inspection.sqlite(path) as connection, connection:
        connection.execute("UPDATE signatures SET signature = x'00'")
    with lshdb.Service(path) as service:
        go_on = held(service)
        texts = [FOX, "an ant and a dove", f"{FOX} again", "a crow with a cheese"]
        with ThreadPoolExecutor(len(texts)) as clients:
            adding = [clients.submit(service.add, text, text) for text in texts]
            while len(clients._threads) < len(texts):
                pass
            go_on.set()
        failed = [type(one.exception()) for one in adding]
    assert failed == [lshdb.DamagedFile, type(None)] * 2


def test_closing_finishes_what_was_asked_for_and_leaves_no_log(path: Path) -> None:
    service = lshdb.Service(path)
    go_on = held(service)
    with ThreadPoolExecutor(9) as clients:
        adding = [clients.submit(service.add, f"k{i}", f"{FOX} {i}") for i in range(8)]
        while len(clients._threads) < 8:
            pass
        go_on.set()
        service.close()
        errors = [each.exception() for each in adding]
    assert {type(error) for error in errors} <= {type(None), lshdb.UsageError}
    service.close()
    with pytest.raises(lshdb.UsageError, match="is closed: open another service"):
        service.query(FOX)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with lshdb.open(path) as db:
        assert len(db) == errors.count(None)
    with pytest.raises(lshdb.NotADatabase):
        lshdb.Service(__file__)


def test_what_was_answered_is_in_the_file_however_the_process_ends(path: Path) -> None:
    """Python of its own, which closes the service when it ends, and a process that is killed."""
    add = "import sys, lshdb; lshdb.Service(sys.argv[1]).add('ended', 'the fox and the grapes')"
    subprocess.run([sys.executable, "-c", add, path], check=True, timeout=60)
    assert not (path.parent / f"{path.name}-wal").exists()

    def leave() -> None:
        service = lshdb.Service(path)
        service.add("killed", FOX)
        os._exit(0)

    assert status_of(forked(leave)) == 0
    assert (path.parent / f"{path.name}-wal").exists()
    with lshdb.open(path, mode="read") as db:
        assert sorted(db.keys()) == ["ended", "killed"]


def test_a_process_killed_amid_many_clients_loses_nothing_that_it_answered(path: Path) -> None:
    ours, theirs = os.pipe()

    def add() -> None:
        service = lshdb.Service(path)

        def client(number: int) -> None:
            for i in count():
                key = f"k{number}-{i}"
                service.add(key, f"the fox and the grapes {key}")
                os.write(theirs, f"{key}\n".encode())

        for number in range(32):
            threading.Thread(target=client, args=(number,)).start()

    process = forked(add)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        answered = [pipe.readline() for _ in range(300)]
        process.kill()
        answered += pipe.readlines()
    assert status_of(process) == -signal.SIGKILL
    keys = {line.decode().strip() for line in answered if line.endswith(b"\n")}
    assert len(keys) >= 300
    with lshdb.open(path) as db:
        assert keys <= {*db.keys()}
    inspection.check(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_to_open_its_own(path: Path) -> None:
    service = lshdb.Service(path)
    service.add("before", FOX)

    def refused() -> None:
        with pytest.raises(lshdb.UsageError, match="open the service after the fork, in each"):
            service.query("the fox")
        with pytest.raises(lshdb.UsageError, match="locks do not pass a fork: close it before"):
            lshdb.Service(path)
        service.close()

    def add(key: str) -> None:
        with lshdb.Service(path) as service:
            assert service.add(key, "the crow and the cheese").outcome == "added"

    assert status_of(forked(refused)) == 0
    assert service.add("after", "the ant and the dove").outcome == "added"
    service.close()
    child = forked(add, "child")
    add("parent")
    assert status_of(child) == 0
    inspection.check(path)


# band rows that a killed addition left


DOCUMENTS = [
    (f"d{i}", f"the {i // 3} fox and the {i // 3} grapes hung {i % 3}") for i in range(200)
]


@pytest.fixture
def pending(path: Path) -> Path:
    """A file in which 150 documents wait."""
    limits = lshdb.Limits(batch_documents=50, late_from=50)
    add_without_bands(path, DOCUMENTS, shingle="word:2", limits=limits)
    return path


def unindexed(path: Path) -> int:
    with lshdb.open(path, mode="read") as db:
        return db.info().unindexed


def test_a_service_writes_them_and_answers_meanwhile(pending: Path) -> None:
    limits = lshdb.Limits(batch_documents=50, late_from=50)
    more = [(f"e{key}", text) for key, text in DOCUMENTS]

    def add(step: Barrier) -> None:
        step.wait()
        add_without_bands(pending, more, limits=limits)

    killed = forked(add, step := barrier())
    with lshdb.Service(pending) as service:
        assert len(service.query(DOCUMENTS[0][1], threshold=0.6)) == 3
        until(lambda: service.add("more", "a crow") and not unindexed(pending))
        # Of an addition by another process, once that has ended.
        step.wait()
        assert status_of(killed) == 0
        until(lambda: not unindexed(pending))
        assert len(service.query(DOCUMENTS[0][1], threshold=0.6)) == 6
    inspection.check(pending)


def test_a_service_says_what_keeps_it_from_writing_them(
    pending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise lshdb.StoreError("the disk is full")

    complete = late.complete
    monkeypatch.setattr(services, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(late, "complete", full)
    with lshdb.Service(pending) as service:
        until(lambda: service.stats().index_error)
        stats = service.stats()
        assert (stats.index_error, stats.unindexed) == ("the disk is full", 150)
        monkeypatch.setattr(late, "complete", complete)
        until(lambda: not (service.stats().unindexed or service.stats().index_error))


def test_a_service_is_closed_amid_writing_them(pending: Path) -> None:
    lshdb.Service(pending, limits=lshdb.Limits(documents_read=10, reindex_rows=10)).close()
    assert lshdb.check(pending, deep=True).ok


# settings


NEAR = FOX.replace("lazy dog", "sleepy cat")


@pytest.fixture
def reindexed(path: Path) -> Path:
    """A file that was made for 0.8, and reindexed to 0.5."""
    with lshdb.open(path, threshold=0.8) as db:
        db.add_many([("fox", FOX), ("near", NEAR)])
        db.reindex(threshold=0.5)
    return path


def test_settings_of_the_index_may_differ_and_those_of_documents_not(reindexed: Path) -> None:
    with pytest.warns(lshdb.SettingsWarning, match="threshold 0.5, not 0.7") as noted:
        lshdb.Service(reindexed, threshold=0.7).close()
    assert [one.filename for one in noted] == [__file__]
    with pytest.raises(lshdb.SettingsMismatch):
        lshdb.Service(reindexed, threshold=0.7, shingle="char:5")
    with pytest.raises(lshdb.SettingsMismatch):
        lshdb.Service(reindexed, threshold=0.7, check_settings=True)


def test_a_running_service_uses_the_new_index(path: Path) -> None:
    """The recipe of the manual: raise or lower the threshold while it answers."""
    with lshdb.Service(path, threshold=0.9) as service, lshdb.open(path) as other:
        service.add("fox", FOX)
        assert service.add("near", NEAR).matches == ()
        other.reindex(threshold=0.4)
        assert [match.key for match in service.query(NEAR)] == ["near", "fox"]
        assert [match.key for match in service.add("again", NEAR).matches] == ["near", "fox"]
        assert service.add("other", NEAR, skip_similar=True).outcome == "similar"
        service.write(lambda db: db.reindex(base={"task": NEAR}))
        assert service.add("base", NEAR).matches == ()
    assert lshdb.check(path, deep=True).ok


# threads that fail


WAIT = 20
"""Seconds after which a call counts as hanging."""


def outcome(path: Path) -> str:
    """What became of a service: its error, or that of the first call that failed, or nothing."""
    try:
        with lshdb.Service(path, timeout=0.2, readers=1) as service:
            service.add("a", FOX)
            service.query(FOX)
            service.remove("a")
    except lshdb.StoreError as error:
        return str(error)
    return ""


def in_time(function: Any, *arguments: Any) -> Any:
    """What a function returns, which must not take long, in a thread that may be left behind."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function(*arguments)), daemon=True)
    thread.start()
    thread.join(WAIT)
    assert results, f"{function} hangs or failed"
    return results[0]


def service_threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "lshdb.Service"]


def test_any_statement_may_fail_while_a_service_opens_and_works(
    path: Path,
    faults: Faults,
) -> None:
    lshdb.open(path).close()
    failed = 0
    for number in range(1, 1_000):
        faults.begin(number)
        reason = in_time(outcome, path)
        assert service_threads() == []
        if faults.statement is None:
            break
        assert reason == "" or reason.startswith(f"{path}: "), faults.statement
        failed += bool(reason)
    assert failed > 60, "calls while four connections open, and then work"
    faults.begin(0)
    assert lshdb.check(path, deep=True).ok


def test_a_file_replaced_between_two_of_its_threads(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of the old file is not applied to the new one."""
    lshdb.open(path).close()
    with lshdb.open(tmp_path / "other") as other:
        other.add("other", FOX)
    start = threading.Thread.start

    def replaced(thread: threading.Thread) -> None:
        if service_threads() and (tmp_path / "other").exists():  # the writer has the old file
            with lshdb.open(path) as db:
                db.add_many([("a", FOX), ("b", FOX)], workers=0)
            os.replace(tmp_path / "other", path)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", replaced)
    with pytest.raises(lshdb.StoreError, match="was deleted or replaced"):
        lshdb.Service(path)
    assert service_threads() == []
    with lshdb.open(path) as db:
        assert db.keys() == ["other"]


def test_a_service_without_a_thread_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PrefectHQ/prefect pull request 8530: an opener waited for a thread that had failed."""
    start, left = threading.Thread.start, [True, True]

    def starts(thread: threading.Thread) -> None:
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starts)
    with pytest.raises(lshdb.StoreError, match="cannot be started: can't start new thread"):
        lshdb.Service(path)
    assert service_threads() == []


@pytest.mark.parametrize("kind", ["reader", "writer"])
def test_calls_get_any_error_of_a_thread_which_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Those in its hands; also of asyncio."""
    is_failing = True

    def fails(*arguments: Any) -> Any:
        if is_failing:
            raise MemoryError("no room")
        return groupby(*arguments)

    async def asks() -> None:
        method: Any = service.query if kind == "reader" else service.add
        arguments = (FOX,) if kind == "reader" else ("a", FOX)
        await asyncio.wait_for(service.awaitable(method, *arguments), WAIT)

    monkeypatch.setattr(services, "groupby", fails)
    with lshdb.Service(path, readers=1) as service:
        with pytest.raises(MemoryError, match="no room"):
            asyncio.run(asks())
        assert service.stats() == lshdb.ServiceStats(0, 1, 1, 0, None)
        is_failing = False
        assert service.add("a", FOX).outcome == "added"
        assert len(service.query(FOX)) == 1
    assert service_threads() == []


# removing, and how busy it is


def test_a_missing_key_is_an_error_or_passed_over(path: Path) -> None:
    """typesense/typesense-python issue 65: a request to remove may come twice."""
    with lshdb.Service(path) as service:
        for key in "abcd":
            service.add(key, f"{FOX} {key}")
        with pytest.raises(lshdb.KeyNotFound):
            service.remove(["a", "absent"])
        assert service.remove(["a", "absent", "a"], missing_ok=True) == 1
        assert service.remove("a", missing_ok=True) == 0
        assert asyncio.run(service.awaitable(service.remove, "b")) == 1
        assert asyncio.run(service.awaitable(service.remove, "b", missing_ok=True)) == 0
        with pytest.raises(lshdb.UsageError, match="missing_ok"):
            service.remove(where="shingles > 0", missing_ok=True)
    with lshdb.open(path) as db:
        assert db.remove(["c", "absent"], missing_ok=True, dry_run=True) == 1
        assert db.keys() == ["c", "d"]


def test_a_service_says_how_busy_it_is(path: Path) -> None:
    with lshdb.Service(path) as service, ThreadPoolExecutor(1) as threads:
        assert service.stats() == lshdb.ServiceStats(0, 0, 0, 0, None)
        go_on = held(service)
        gone = threads.submit(service.remove, "absent")
        while service.stats().queued < 2:
            pass
        assert service.stats() == lshdb.ServiceStats(2, 0, 0, 0, None)
        go_on.set()
        assert isinstance(gone.exception(), lshdb.KeyNotFound)
        assert service.stats() == lshdb.ServiceStats(0, 2, 1, 0, None)
