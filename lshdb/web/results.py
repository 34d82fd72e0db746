"""Results that take long to make: made once for each state of the file, in threads of their own."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic, TextIO, TypeVar, cast

from lshdb.errors import LimitWarning

_here = threading.local()
_lock = threading.Lock()
_installed = False


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect the texts of the LimitWarnings that arise in this thread."""
    _install()
    before = getattr(_here, "notes", None)
    notes: list[str] = []
    _here.notes = notes
    try:
        yield notes
    finally:
        _here.notes = before


def _install() -> None:
    """Once for the process: send LimitWarnings to the thread's list, all others where they went."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        notes: list[str] | None = getattr(_here, "notes", None)
        if notes is None or not issubclass(category, LimitWarning):
            usual(message, category, filename, lineno, file, line)
        elif str(message) not in notes:
            notes.append(str(message))

    warnings.showwarning = show
    warnings.simplefilter("always", LimitWarning)


_AT_ONCE: Final = 2
"""Results that are made at once; others wait."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Result(Generic[_T]):
    """What was made.

    Attributes:
        value: the result.
        notes: what was said of its limits.
        version: the state of the file that it is of.
        seconds: how long it took.
    """

    value: _T
    notes: tuple[str, ...]
    version: Hashable
    seconds: float


class _Job:
    """One result in the making. Its thread never keeps the process from ending."""

    def __init__(self, make: Callable[[], object], version: Hashable, turn: threading.Semaphore):
        self.done = threading.Event()
        self.result: Result[object] | None = None
        self.error: BaseException | None = None
        self._make, self._version, self._turn = make, version, turn
        threading.Thread(target=self._run, name="lshdb-result", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._turn, noted() as notes:
                start = time.monotonic()
                value = self._make()
            seconds = time.monotonic() - start
            self.result = Result(value, tuple(notes), self._version, seconds)
        except BaseException as error:
            self.error = error
        self.done.set()


class Results:
    """Keeps the last result of each name, and makes a new one when the version is another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(_AT_ONCE)
        self._jobs: dict[Hashable, _Job] = {}
        self._made: dict[Hashable, Result[object]] = {}

    def get(
        self, name: Hashable, version: Hashable, make: Callable[[], _T], wait: float
    ) -> Result[_T] | None:
        """The result of this name and version.

        Where it takes longer than `wait` seconds, the last one of an earlier version, and None
        where there is none: ask again later. While one is made no other of the name is begun, so
        that a file which is written to all the time has a result all the same.

        Raises:
            Whatever `make` raised; the next call makes it again.
        """
        with self._lock:
            self._collect(name)
            made = self._made.get(name)
            if made is not None and made.version == version:
                return cast(Result[_T], made)
            job = self._jobs.get(name)
            if job is None:
                job = self._jobs[name] = _Job(make, version, self._turn)
        if job.done.wait(wait):
            with self._lock:
                if self._jobs.get(name) is job:
                    self._collect(name)
            if job.error is not None:
                raise job.error
            made = job.result
        return cast("Result[_T] | None", made)

    def _collect(self, name: Hashable) -> None:
        """Keep what a job has made, if it is done."""
        job = self._jobs.get(name)
        if job is not None and job.done.is_set():
            del self._jobs[name]
            if job.result is not None:
                self._made[name] = job.result
