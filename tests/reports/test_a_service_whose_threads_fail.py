"""A service that cannot open, or whose thread ended, says so to each caller and never hangs.

PrefectHQ/prefect pull request 8530: an exception in a thread that was starting was hidden, and its
opener waited for an event that never came.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sql_faults import Faults, faults  # noqa: F401  # a fixture

import lshdb
from lshdb import service as services

FOX = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"
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


def closed(service: lshdb.Service) -> bool:
    service.close()
    return True


def service_threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "lshdb.Service"]


def test_any_statement_may_fail_while_a_service_opens_and_works(
    path: Path,
    faults: Faults,  # noqa: F811
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
    begin = services._Threads.begin

    def replaced(threads: Any, options: Any, calls: Any, max_calls: int) -> Any:
        if calls is threads.reads and (tmp_path / "other").exists():
            threads.ask(threads.writes, lambda db: db.add_many([("a", FOX), ("b", FOX)])).result()
            os.replace(tmp_path / "other", path)
        return begin(threads, options, calls, max_calls)

    monkeypatch.setattr(services._Threads, "begin", replaced)
    with pytest.raises(lshdb.StoreError, match="was deleted or replaced"):
        lshdb.Service(path)
    assert service_threads() == []
    with lshdb.open(path) as db:
        assert db.keys() == ["other"]


def test_a_service_without_a_thread_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_calls_of_a_service_whose_thread_died_get_its_error(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Those in its hands, those that wait, and all later ones, also of asyncio."""
    service = lshdb.Service(path, readers=1)
    go_on, is_held = threading.Event(), threading.Event()
    gather = services._gather

    def dies(calls: Any, most: int, some: list[Any]) -> bool:
        has_some = gather(calls, most, some)
        if some and go_on.is_set():
            raise MemoryError("no room")
        return has_some

    monkeypatch.setattr(services, "_gather", dies)
    ask = {"reader": service.read, "writer": service.write}[kind]

    def hold(_: lshdb.Database) -> None:
        is_held.set()
        go_on.wait(WAIT)

    async def waits() -> None:
        waiting = service.query_async(FOX) if kind == "reader" else service.add_async("a", FOX)
        task = asyncio.ensure_future(waiting)
        await asyncio.sleep(0.05)
        go_on.set()
        await asyncio.wait_for(task, WAIT)

    reason = r"a thread of the service ended by an error .no room.*open another one"
    with ThreadPoolExecutor(1) as holding:
        holding.submit(ask, hold)
        is_held.wait(WAIT)
        with pytest.raises(lshdb.StoreError, match=reason):
            asyncio.run(waits())
    for later in (lambda: service.query(FOX), lambda: service.add("b", FOX)):
        with pytest.raises(lshdb.StoreError, match=reason) as caught:
            later()
        assert isinstance(caught.value.__cause__, MemoryError)
    assert in_time(closed, service)
    assert service_threads() == []
