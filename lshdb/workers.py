"""A function in worker processes, so that it overlaps with reading and with SQLite.

A worker is a Python process that takes an item, such as documents to sign, and returns
the result, as pickles through its standard input and output; a thread here waits for it. While the
calling thread waits for a result, it does items that no worker has begun. When a worker dies or
cannot be started, what is left is done here.

A worker saves a third of the time of adding on two processors: `add_files` of 50,000 documents of
3 KB in one file, without workers and with one, in turn. Threads alone save nothing, as parsing and
SQLite's binding of rows hold the interpreter's lock. The processes of multiprocessing are as fast,
but they run the user's main module again, which fails for a script without a main guard; they
import modules from the current directory, which may be a stranger's; and they outlive a killed
parent.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generic, Self, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")
Pending = Future[tuple[R] | None]
"""The result of an item, in a tuple, when it is done; None if no process could do it."""

_ALONE = 2
"""Items done before processes are started: a small job ends sooner than they start."""
_MAX_WORKERS = 3
"""Processes that one writer to SQLite can keep busy."""
_HOME = str(Path(__file__).resolve().parents[1])
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import lshdb
del sys.path[0]
from lshdb.workers import main
main()
"""
"""Imports this copy of lshdb, and nothing from the current directory (-P)."""


def default_workers() -> int:
    """One less than the processors, and at most three."""
    has_affinity = hasattr(os, "sched_getaffinity")  # not on Windows and macOS
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 2
    return min(_MAX_WORKERS, cores - 1)


@dataclass(eq=False)
class Workers(Generic[T, R]):
    """Runs a function for items, in worker processes once there is enough to do.

    Use as a context manager; the processes end with it.

    Attributes:
        run: the function, which the processes get as a pickle.
        requested: number of processes wanted.
        alone: items done here before processes are started.
        count: number of processes; 0 does all in this one.
    """

    run: Callable[[T], R]
    requested: int
    alone: int = _ALONE

    def __post_init__(self) -> None:
        self.count = self.requested if _can_start() else 0
        self._submitted = 0
        self._threads: ThreadPoolExecutor | None = None
        self._of_thread = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._closed = self._has_failed = False
        # In the order of submission: items that may be done here, and the results of those done.
        self._items: dict[Pending[R], T] = {}
        self._results: dict[Pending[R], R] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        for process in self._processes:
            process.kill()  # its thread may be waiting for it
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            with suppress(OSError), process:  # nobody reads what is left in its pipes
                process.kill()

    def submit(self, item: T) -> Pending[R]:
        """Submit an item; without workers it is done at once."""
        self._submitted += 1
        future = Pending[R]()
        if not self.count or self._submitted <= self.alone:
            future.set_result((self.run(item),))
            return future
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.count, "lshdb-worker")
        try:
            future = self._threads.submit(self._elsewhere, item)
        except RuntimeError:  # the system has no more threads
            future.set_result(None)
        self._items[future] = item
        return future

    def result(self, future: Pending[R]) -> R:
        """The result of an item; while waiting, does items here that no worker has begun.

        Call this in the order of submission, and once for each item.
        """
        while not future.done():
            cancelled = next((each for each in self._items if each.cancel()), None)
            if cancelled is None:
                break
            self._results[cancelled] = self.run(self._items.pop(cancelled))
        if future.cancelled():
            return self._results.pop(future)
        reply = future.result()
        item = self._items.pop(future, None)
        return self.run(cast(T, item)) if reply is None else reply[0]

    def _elsewhere(self, item: T) -> tuple[R] | None:
        """Have an item done by this thread's process; None if that fails."""
        if self._has_failed:
            return None
        try:
            process = getattr(self._of_thread, "process", None)
            if process is None:
                process = self._of_thread.process = self._started()
            _send(cast("IO[bytes]", process.stdin), item)
            reply: tuple[R] | None = pickle.load(cast("IO[bytes]", process.stdout))
        except Exception:
            # Usually it has ended; if not, its next output is unknown. This item and the next ones
            # are done here, which then raises an error once.
            self._has_failed = True
            return None
        return reply

    def _started(self) -> subprocess.Popen[bytes]:
        """A new process; OSError if the system does not start one, or none is needed any more."""
        if self._closed:
            raise OSError
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, _HOME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # An item that fails there is done here, which then raises its error once.
            stderr=subprocess.DEVNULL,
            # numpy's BLAS, which lshdb does not use, would keep a thread spinning.
            # Arrow's own allocators keep some 30 MB more and save no time here.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"},
            # Ctrl-C goes to all processes of a terminal's group; this one ends with its pipe.
            process_group=0 if os.name == "posix" else None,
        )
        self._processes.append(process)
        assert process.stdin is not None
        _send(process.stdin, self.run)
        return process


def _can_start() -> bool:
    """Whether sys.executable can run a module: in a frozen program or a web server it may not."""
    name = Path(sys.executable or "").name
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _send(pipe: IO[bytes], message: object) -> None:
    """Write a message."""
    pickle.dump(message, pipe, 5)
    pipe.flush()


def main() -> None:
    """Serve the process that started this one until its pipe ends."""
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    run = pickle.load(requests)
    with suppress(EOFError):
        while True:
            item, reply = pickle.load(requests), None
            # In any case the parent does the item, and raises the error.
            with suppress(Exception):
                reply = (run(item),)
            _send(replies, reply)
