"""Signing in processes of their own, so that it overlaps with reading and with SQLite.

Threads would not do: parsing and SQLite's binding of rows hold the interpreter's lock in turns
of microseconds, and each of the kernels' short numpy calls would have to wait for it.

A worker that dies costs no more than time: its parts are signed here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from lshdb.acceleration import speed_up
from lshdb.model import Settings
from lshdb.parts import Part, SignedPart, sign_part
from lshdb.records import RecordParser
from lshdb.worker import PARTS_BEFORE_KERNELS, receive, receive_signed, send_part, send_settings

_START: Final = """
import sys
sys.path.insert(0, sys.argv[1])
import lshdb
del sys.path[0]
from lshdb.worker import main
main()
"""
"""Imports this very lshdb, wherever it is, and nothing from the current directory (-P)."""
_PIPE_BYTES: Final = 1 << 20
_MOST: Final = 3
"""Workers that one writer to SQLite can keep busy."""
_ALONE: Final = 2
"""Parts signed before processes are started: a small job ends sooner than they start."""


def default_workers() -> int:
    """As many as there are processors besides this process's own, three at the most."""
    return min(_MOST, len(os.sched_getaffinity(0)) - 1) if hasattr(os, "sched_getaffinity") else 1


class Signers:
    """Signs parts of batches, in worker processes once there is enough to do.

    Use as a context manager.

    Attributes:
        workers: how many processes; 0 signs in this one.
    """

    def __init__(self, settings: Settings, parser: RecordParser | None, workers: int) -> None:
        self.workers = workers if _python_is_python() else 0
        self._settings = settings
        self._parser = parser
        self._processes: list[_Process] = []
        self._submitted = 0

    def __enter__(self) -> Signers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.stop()

    def submit(self, part: Part) -> Future[SignedPart]:
        """Sign a part; the future is done at once if that is done here."""
        self._submitted += 1
        if self._submitted == _ALONE + 1:
            self._start()
        if self._submitted == PARTS_BEFORE_KERNELS and not self._processes:
            speed_up()
        ready = [process for process in self._processes if process.is_ready()]
        if ready:
            return min(ready, key=lambda process: process.waiting).submit(part)
        done: Future[SignedPart] = Future()
        done.set_result(sign_part(part, self._settings, self._parser))
        return done

    def _start(self) -> None:
        with suppress(OSError):  # the system will not: what is started is enough
            for _ in range(self.workers):
                self._processes.append(_Process(self._settings, self._parser))


class _Process:
    """A worker process, and two threads that ask and listen: it never waits for its next part."""

    def __init__(self, settings: Settings, parser: RecordParser | None) -> None:
        self._settings = settings
        self._parser = parser
        self.waiting = 0
        package = str(Path(__file__).resolve().parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What fails there is done here, and then told once.
            stderr=subprocess.DEVNULL,
            # numpy's BLAS, which nothing here uses, would keep a thread of its own spinning.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            # Pipes of 1 MB where the system has them: fewer turns for the same bytes.
            pipesize=_PIPE_BYTES,
            # Ctrl-C goes to all processes of a terminal's group; this one ends with its pipe.
            process_group=0 if os.name == "posix" else None,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._replies: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._asking = ThreadPoolExecutor(1, "lshdb-asking")
        self._listening = ThreadPoolExecutor(1, "lshdb-listening")
        self._asking.submit(send_settings, self._requests, settings, parser)
        self._ready = self._listening.submit(self._hear_first)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def is_ready(self) -> bool:
        """Whether it has started and not yet died; it is not waited for."""
        return self._ready.done() and self._ready.result()

    def submit(self, part: Part) -> Future[SignedPart]:
        """Have a part signed, here if the process dies."""
        self.waiting += 1
        asked = self._asking.submit(self._ask, part)
        return self._listening.submit(self._hear, part, asked)

    def stop(self) -> None:
        """End the process, and the threads, which may be waiting for it."""
        self._process.kill()
        self._process.wait()
        for thread in (self._asking, self._listening):
            thread.shutdown(wait=True, cancel_futures=True)
        for pipe in (self._requests, self._replies):
            with suppress(OSError):  # what was not sent has nobody to read it
                pipe.close()

    def _hear_first(self) -> bool:
        try:
            receive(self._replies)
        except EOFError:
            return False
        return True

    def _ask(self, part: Part) -> None:
        try:
            send_part(self._requests, part)
        except BaseException:
            self._process.kill()  # or its answer would be waited for
            raise

    def _hear(self, part: Part, asked: Future[None]) -> SignedPart:
        try:
            return receive_signed(self._replies, part, self._settings)
        except (OSError, EOFError):
            self._ready = Future()  # it is dead: nothing more is asked
            with suppress(OSError):
                asked.result()
            return sign_part(part, self._settings, self._parser)
        finally:
            self.waiting -= 1


def _python_is_python() -> bool:
    """Whether sys.executable can run a module: in a frozen program or a web server it may not."""
    name = Path(sys.executable or "").name
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)
