"""Results that take long to make: made once for each state of the file, in threads of their own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from lshdb.errors import Cut, limits_noted
from lshdb.search.pairs import OnProgress

_AT_ONCE: Final = 1
"""Results that are made at once; others wait. A join may have some 300 MB in memory."""
KEPT: Final = 5
"""Results kept: those of the overview and two more. A million near duplicates take 100 MB."""
_TICK: Final = 50_000_000
"""Nanoseconds within which two writes may leave the same time at a file, with room to spare."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Result(Generic[_T]):
    """What was made.

    Attributes:
        value: the result.
        notes: what was said of its limits.
        state: the state of the file that it is of.
    """

    value: _T
    notes: tuple[Cut, ...]
    state: Hashable


def state_of(path: Path) -> Hashable:
    """What is equal only as long as a database is not written to or replaced.

    SQLite's own data_version would take a connection that stays open. A file that was written to
    just now has a state that equals no other, for its time of change may stay when it is written
    to again.
    """
    found = []
    for name in (path, f"{path}-wal"):
        try:
            status = os.stat(name)
        except FileNotFoundError:
            continue
        if status.st_size:  # an empty log comes and goes with those who read
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    just_now = any(abs(time.time_ns() - changed) < _TICK for _, _, changed in found)
    return object() if just_now else tuple(found)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a result is that is being made.

    Attributes:
        seconds: since it was begun.
        what: what is counted now, such as `documents compared`; empty where nothing is yet.
        done: how many of them are done.
        total: of how many.
    """

    seconds: float
    what: str = ""
    done: int = 0
    total: int = 0

    @property
    def percent(self) -> int:
        """The share that is done."""
        return 100 * self.done // max(self.total, 1)


class Results:
    """Keeps the last results of some names, and makes a new one when the state is another."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(_AT_ONCE)
        self._being_made: dict[Hashable, Future[Result[Any]]] = {}
        self._made: dict[Hashable, Result[Any]] = {}
        self._begun: dict[Hashable, float] = {}
        self._steps: dict[Hashable, tuple[str, int, int]] = {}

    def get(
        self, name: Hashable, state: Hashable, make: Callable[[OnProgress], _T], timeout: float
    ) -> Result[_T] | None:
        """The result of this name and state.

        Where it takes longer than `timeout` seconds, the last one of an earlier state, and None
        where there is none: ask again later. While one is made no other of the name is begun, so
        that a file which is written to all the time has a result all the same. `make` is given
        what it may call to say how far it is.

        Raises:
            Whatever `make` raised; the next call makes it again.
        """
        with self._lock:
            made = self._made.pop(name, None)
            if made is not None:
                self._made[name] = made  # the newest is the last
            if made is not None and made.state == state:
                return made
            future = self._being_made.get(name)
            if future is None:
                future = self._being_made[name] = Future()
                self._begun[name] = time.monotonic()
                # A thread of an executor would keep the process from ending.
                arguments = (future, name, state, make)
                threading.Thread(target=self._make, args=arguments, daemon=True).start()
        wait([future], timeout)
        return future.result() if future.done() else made

    def progress(self, name: Hashable) -> Progress | None:
        """How far the result of this name is; None while none is being made."""
        with self._lock:
            if name not in self._being_made:
                return None
            return Progress(time.monotonic() - self._begun[name], *self._steps.get(name, ()))

    def _make(
        self,
        future: Future[Result[_T]],
        name: Hashable,
        state: Hashable,
        make: Callable[[OnProgress], _T],
    ) -> None:
        def report(what: str, done: int, total: int) -> None:
            with self._lock:
                self._steps[name] = what, done, total

        try:
            with self._turn, limits_noted() as notes:
                value = make(report)
        except BaseException as error:
            with self._lock:
                self._end(name)
            future.set_exception(error)
        else:
            result = Result(value, tuple(notes), state)
            with self._lock:
                self._made.pop(name, None)
                self._made[name] = result
                if len(self._made) > self._kept:
                    del self._made[next(iter(self._made))]
                self._end(name)
            future.set_result(result)

    def _end(self, name: Hashable) -> None:
        """Forget that a result is being made; the caller has the lock."""
        del self._being_made[name], self._begun[name]
        self._steps.pop(name, None)
