"""Results that take long: computed once per state of the file, in separate threads."""

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
"""Nanoseconds within which two writes may leave a file with the same time, with some margin."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Result(Generic[_T]):
    """A computed result.

    Attributes:
        value: the result.
        notes: warnings about limits.
        state: the state of the file that it is from.
    """

    value: _T
    notes: tuple[Cut, ...]
    state: Hashable


def state_of(path: Path) -> Hashable:
    """A value that stays equal only while a database is not written to or replaced.

    SQLite's own data_version would need a connection that stays open. A file that was just written
    to has a state that equals no other, as its time may not change when it is written to again.
    """
    found = []
    for name in (path, f"{path}-wal"):
        try:
            status = os.stat(name)
        except FileNotFoundError:
            continue
        if status.st_size:  # an empty log comes and goes with readers
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    just_now = any(abs(time.time_ns() - changed) < _TICK for _, _, changed in found)
    return object() if just_now else tuple(found)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a result that is being computed.

    Attributes:
        seconds: since it was begun.
        what: what is counted now, such as `documents compared`; empty if nothing is yet.
        done: how many of them are done.
        total: how many there are.
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
    """Keeps the last results by name, and computes a new one when the state changes."""

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

        If it takes longer than `timeout` seconds, returns the last one of an earlier state, or
        None: ask again later. While one is computed, no other of the name is begun, so that a file
        which is always written to still gets a result. `make` gets a function to report progress.

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
                # A thread of an executor would prevent the process from ending.
                arguments = (future, name, state, make)
                threading.Thread(target=self._make, args=arguments, daemon=True).start()
        wait([future], timeout)
        return future.result() if future.done() else made

    def progress(self, name: Hashable) -> Progress | None:
        """The progress of the result of this name; None if none is being computed."""
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
        """Forget that a result is being computed; the caller holds the lock."""
        del self._being_made[name], self._begun[name]
        self._steps.pop(name, None)
