"""A service that cannot open, or whose thread ended, says so to each caller and never hangs.

PrefectHQ/prefect pull request 8530: an exception in a thread that was starting was hidden, and its
opener waited for an event that never came.
"""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from sql_faults import Faults, faults  # noqa: F401  # a fixture

import lshdb
from lshdb.apps.service import service as services

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

    def replaced(threads: Any, options: Any, work: Any) -> None:
        if options.mode == "read" and (tmp_path / "other").exists():
            threads.ask(threads.writes, lambda db: db.add_many([("a", FOX), ("b", FOX)])).result()
            os.replace(tmp_path / "other", path)
        begin(threads, options, work)

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
def test_calls_get_any_error_of_a_thread_which_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Those in its hands; also of asyncio."""
    gather, is_failing = services._gather, True

    def fails(calls: Any, max_calls: int, seconds: Any, gathered: list[Any]) -> bool:
        is_open = gather(calls, max_calls, seconds, gathered)
        if gathered and is_failing:
            raise MemoryError("no room")
        return is_open

    async def asks() -> None:
        method: Any = service.query if kind == "reader" else service.add
        arguments = (FOX,) if kind == "reader" else ("a", FOX)
        await asyncio.wait_for(service.awaitable(method, *arguments), WAIT)

    monkeypatch.setattr(services, "_gather", fails)
    with lshdb.Service(path, readers=1) as service:
        with pytest.raises(MemoryError, match="no room"):
            asyncio.run(asks())
        assert service.stats() == lshdb.ServiceStats(0, 1, 1, 0, None)
        is_failing = False
        assert service.add("a", FOX).outcome == "added"
        assert len(service.query(FOX)) == 1
    assert service_threads() == []
