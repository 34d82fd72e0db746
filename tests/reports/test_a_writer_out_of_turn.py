"""A document that was added is never reported as unchanged, however writers overtake each other.

ArcadeData/arcadedb pull request 6109: a write that was committed in a group was reported to its
waiter as one to try again.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import inspection
import pytest

import lshdb
from lshdb.database import store_of
from lshdb.store import transactions
from lshdb.store.guard import Connection
from lshdb.store.turns import Turn


def test_a_waiter_whose_time_is_over_writes_only_its_own(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three wait: the second one's time ends, it overtakes, and the first of all gives up.

    Had it taken the third one's document, that one would be the first, and write it again before
    it got its result.
    """
    lshdb.open(path).close()
    committed, seen = threading.Event(), threading.Event()
    settle = Turn.settle

    def settle_late(turn: Turn) -> None:
        if turn._offer is not None and turn._queue[0] is not turn:
            committed.set()
            seen.wait(0.3)  # as much as a thread may be held up here
        settle(turn)

    monkeypatch.setattr(Turn, "settle", settle_late)
    entered = threading.Semaphore(0)

    def add(key: str, timeout: float) -> lshdb.AddReport:
        with lshdb.open(path, timeout=timeout) as db:
            entered.release()
            report = db.add(key, f"the fox and the grapes {key}")
            if key == "waits":
                seen.set()
            return report

    with lshdb.open(path) as other:
        ahead = Turn(store_of(other)._connection.identity)
    ahead._queue.append(ahead)  # as one that waits for another process
    with ThreadPoolExecutor(2) as threads:
        waits = threads.submit(add, "waits", 20)
        while len(ahead._queue) < 2:
            pass
        overtakes = threads.submit(add, "overtakes", 0.05)
        committed.wait(20)
        ahead.end()  # it gives up
        assert overtakes.result().added == 1
        assert waits.result().added == 1
    inspection.check(path)


def test_an_error_after_the_commit_writes_nothing_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails then is copying the log into the file: the writer hears of that."""
    lshdb.open(path).close()
    bound_log, failing = transactions._bound_log, [True]

    def fails(connection: Connection) -> None:
        if failing and connection.turn is None and along:
            failing.clear()
            raise lshdb.StoreError("what was written is safe in its log, but copying failed")
        bound_log(connection)

    along: list[Turn] = []
    offers = Turn.offers

    def offered(turn: Turn) -> Any:
        while len(turn._queue) < 2 and not along:
            pass
        yield from offers(turn)
        along.extend(turn.along)

    monkeypatch.setattr(Turn, "offers", offered)
    monkeypatch.setattr(transactions, "_bound_log", fails)

    def add(key: str) -> str:
        with lshdb.open(path) as db:
            try:
                return f"added {db.add(key, f'the fox and the grapes {key}').added}"
            except lshdb.StoreError as error:
                return str(error)

    with ThreadPoolExecutor(2) as threads:
        answers = sorted(threads.map(add, "ab"))
    assert answers[0] == "added 1"
    assert "safe in its log" in answers[1]
    assert inspection.rows(path, "SELECT count(*) FROM documents") == [(2,)]
