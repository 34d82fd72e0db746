"""Results that take long to compute: once per state of the file, in a thread of their own."""

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from lshdb import Cut
from lshdb.errors import limits_noted
from lshdb.progress import Progress

KEPT = 5
"""Results kept; the overview needs two. A million near duplicates take 100 MB."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Result(Generic[_T]):
    """A computed result.

    Attributes:
        value: the result.
        notes: warnings about limits.
        state: the state of the file from which it was computed.
    """

    value: _T
    notes: tuple[Cut, ...]
    state: Hashable


@dataclass(frozen=True, slots=True)
class Stage:
    """The progress of a result that is being computed.

    Attributes:
        begun: the time of its start, by time.monotonic.
        done: number of units of the present step that are done.
        total: number of units of the step; None if unknown, or if no step has begun.
        unit: the name of the units, such as `documents compared`.
    """

    begun: float
    done: int = 0
    total: int | None = None
    unit: str = ""

    @property
    def seconds(self) -> float:
        """The seconds since it was begun."""
        return time.monotonic() - self.begun


class _Computation(Future[Result[Any]]):
    """A result that is being computed, and its progress."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(time.monotonic())


@dataclass(eq=False)
class ResultCache:
    """Keeps the last results by name, and computes a new one when the state changes.

    One thread makes all results, one after another, as a join may take some 300 MB of memory. The
    thread stays: a new thread would reuse only a part of the memory that an old one frees.

    Attributes:
        kept: maximum number of results kept.
    """

    kept: int = KEPT

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._jobs: dict[Hashable, _Computation] = {}
        self._results: dict[Hashable, Result[Any]] = {}

    def get(
        self, name: Hashable, state: Hashable, make: Callable[[Progress], _T], timeout: float
    ) -> Result[_T] | Stage:
        """The result of this name and state.

        If it takes longer than `timeout` seconds, this returns the last result of an earlier state,
        or else the progress: call again later. While a result is computed, no other of the same
        name is begun, so that a file which is always written to still gets a result. `make` gets
        a function to report progress.

        Raises:
            Whatever `make` raised; the next call makes it again.
        """
        with self._lock:
            result = self._results.pop(name, None)
            if result is not None:
                self._results[name] = result  # the newest is the last
            if result is not None and result.state == state:
                return result
            job = self._jobs.get(name)
            if job is None:
                job = self._jobs[name] = _Computation()
                self._waiting.put(partial(self._make, job, name, state, make))
            if self._thread is None:
                # A thread of an executor would prevent the process from ending.
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
        wait([job], timeout)
        return job.result() if job.done() else result or job.stage

    def known(self, name: Hashable) -> Any:
        """The last result of this name, of whatever state; None if none is kept."""
        with self._lock:
            result = self._results.get(name)
        return None if result is None else result.value

    def _run(self) -> None:
        while True:
            self._waiting.get()()

    def _make(
        self, job: _Computation, name: Hashable, state: Hashable, make: Callable[[Progress], object]
    ) -> None:
        def report(done: int, total: int | None, unit: str) -> None:
            job.stage = Stage(job.stage.begun, done, total, unit)

        try:
            with limits_noted() as notes:
                value = make(report)
            job.set_result(Result(value, tuple(notes), state))
        except BaseException as error:
            job.set_exception(error)
        with self._lock:
            del self._jobs[name]
            if job.exception() is None:
                self._results.pop(name, None)
                self._results[name] = job.result()
                if len(self._results) > self.kept:
                    del self._results[next(iter(self._results))]
