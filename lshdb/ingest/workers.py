"""A job in worker processes, so that it overlaps with reading and with SQLite.

A worker is a Python process that takes an item of a job, such as documents to sign, and returns
the result, as pickles through its standard input and output; a thread here waits for it. While the
calling thread waits for a result, it does items that no worker has begun. A worker that dies or
cannot be started costs only time: its item is done here.

`scripts/bench processes` measures what a worker saves: a third of the time of adding, on two
processors. Threads alone save nothing, as parsing and SQLite's binding of rows hold the
interpreter's lock. The processes of multiprocessing are as fast, but they run the user's main
module again, which fails for a script without a main guard; they import modules from the current
directory, which may be a stranger's; and they outlive a killed parent.
"""

import gc
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, Self, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")

_ALONE = 2
"""Items done before processes are started: a small job ends sooner than they start."""
_MAX_WORKERS = 3
"""Processes that one writer to SQLite can keep busy."""
_AHEAD = 4
"""Items of `in_processes` under way: a worker has the next ones while this process does one."""
_ATTEMPTS = 3
"""Failed processes of one thread after which it starts no more."""
_HOME = str(Path(__file__).resolve().parents[2])
_PIPE_BYTES = 1 << 20
"""Size of the pipes to a process, where the system allows it: fewer turns for the same bytes."""
_PROGRAM = """
import gc, sys
gc.disable()
sys.path.insert(0, sys.argv[1])
import lshdb
del sys.path[0]
from lshdb.ingest.workers import main
main()
"""
"""Imports this copy of lshdb, and nothing from the current directory (-P).

Garbage collection is off: there are no cycles to collect.
"""


def default_workers() -> int:
    """One less than the processors, and at most three."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    return min(_MAX_WORKERS, cores - 1)


class Job(Generic[T, R]):
    """What is done with items, in this process or in others, which get it as a pickle."""

    def run(self, item: T) -> R:
        """Do an item."""
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class Pending(Generic[T, R]):
    """An item to do.

    Attributes:
        item: what is given; None when its reply is here.
        future: a worker's reply, still a pickle, or None if there is none.
        done: the result, in a tuple, if it was done here.
    """

    item: T | None
    future: Future[bytes | None] | None = None
    done: tuple[R] | None = None


@dataclass(eq=False)
class Workers(Generic[T, R]):
    """Does the items of a job, in worker processes once there is enough to do.

    Use as a context manager; the processes end with it.

    Attributes:
        job: what to do.
        wanted: how many processes.
        alone: items done here before processes are started.
        count: how many processes; 0 does all in this one.
    """

    job: Job[T, R]
    wanted: int
    alone: int = _ALONE

    def __post_init__(self) -> None:
        self.count = self.wanted if _can_start() else 0
        self._submitted = 0
        self._threads: ThreadPoolExecutor | None = None
        self._own = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._closed = False
        self._under_way: deque[Pending[T, R]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            for process in self._processes:
                process.kill()  # its thread may be waiting for it
            self._threads.shutdown()
        for process in self._processes:
            _end(process)

    def submit(self, item: T) -> Pending[T, R]:
        """Submit an item; without workers it is done at once."""
        self._submitted += 1
        pending: Pending[T, R] = Pending(item)
        if not self.count or self._submitted <= self.alone:
            self._do(pending)
            return pending
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.count, "lshdb-worker")
        try:
            pending.future = self._threads.submit(self._elsewhere, pending)
        except RuntimeError:  # the system has no more threads
            pending.future = Future()
            pending.future.set_result(None)
        self._under_way.append(pending)
        return pending

    def result(self, pending: Pending[T, R]) -> R:
        """The result of an item; while waiting, does items here that no worker has begun.

        Call this in the order of submission, and once for each item.
        """
        if self._under_way and pending is self._under_way[0]:
            self._under_way.popleft()
        others = iter(self._under_way)
        future = pending.future
        while future is not None and not future.done() and not future.cancel():
            other = next((one for one in others if one.future and one.future.cancel()), None)
            if other is None:
                break
            self._do(other)
        reply = None if future is None or future.cancelled() else future.result()
        if reply is not None:
            pending.done = (pickle.loads(reply),)
        elif pending.done is None:
            self._do(pending)
        assert pending.done is not None
        (result,), pending.done = pending.done, None
        return result

    def _do(self, pending: Pending[T, R]) -> None:
        """Do an item here."""
        pending.done = (self.job.run(cast(T, pending.item)),)
        pending.item = pending.future = None

    def results(self, items: Iterable[T], ahead: int) -> Iterator[R]:
        """The results of items, in their order, while this many others are under way."""
        waiting: deque[Pending[T, R]] = deque()
        for item in items:
            if len(waiting) < max(ahead, 1):
                waiting.append(self.submit(item))
                continue
            result = self.result(waiting.popleft())
            waiting.append(self.submit(item))
            yield result
        while waiting:
            yield self.result(waiting.popleft())

    def _elsewhere(self, pending: Pending[T, R]) -> bytes | None:
        """Have an item done by this thread's process; its reply, or None if that fails."""
        if getattr(self._own, "failed", 0) >= _ATTEMPTS:
            return None
        try:
            process = getattr(self._own, "process", None)
            if process is None:
                process = self._own.process = self._started()
            _send(cast(BinaryIO, process.stdin), pickle.dumps(pending.item, 5))
            reply: bytes | None = pickle.load(cast(BinaryIO, process.stdout))
        except Exception:
            # Usually it has ended; if not, its next output is unknown. The item is done here,
            # which then raises its error once.
            self._own.process = None
            self._own.failed = getattr(self._own, "failed", 0) + 1
            return None
        if reply is not None:
            pending.item = None
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
            pipesize=_PIPE_BYTES,
            # Ctrl-C goes to all processes of a terminal's group; this one ends with its pipe.
            process_group=0 if os.name == "posix" else None,
        )
        self._processes.append(process)
        assert process.stdin is not None
        pickle.dump(self.job, process.stdin, 5)
        return process


def in_processes(job: Job[T, R], items: Iterable[T]) -> Iterator[R]:
    """The results of a job for items, in their order, from another process and this one.

    More would need too much memory, as each job has large arrays of its own. One saves a third of
    the time of passages of all pairs: `scripts/bench passages` shows 10 seconds of CPU in 6.1.

    Args:
        job: what to do.
        items: read as they are needed.
    """
    with Workers(job, min(default_workers(), 1)) as pool:
        yield from pool.results(items, _AHEAD)


def _can_start() -> bool:
    """Whether sys.executable can run a module: in a frozen program or a web server it may not."""
    name = Path(sys.executable or "").name
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and wait for its end."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # nobody reads the rest
                pipe.close()


def _send(pipe: BinaryIO, message: bytes | None) -> None:
    """Write a message as one bytes object, which is read as a whole before it is unpickled."""
    pickle.dump(message, pipe, 5)
    pipe.flush()


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more."""
    job: Job[Any, Any] = pickle.load(requests)
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        reply = None
        # In any case the parent does the item, and raises the error.
        with suppress(Exception):
            reply = pickle.dumps(job.run(pickle.loads(request)), 5)
        _send(replies, reply)


def main() -> None:
    """Serve the process that started this one."""
    # There are many objects and no cycles: searching for these takes some percent of the time.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()
    serve(sys.stdin.buffer, sys.stdout.buffer)
