"""Parsing and signing in worker processes, so that both overlap with reading and with SQLite.

A worker is a Python process that takes a part (lshdb.ingest.parts), signs it and returns it, as
pickles through its standard input and output; a thread here waits for it. While it waits, the
writing thread signs parts that no worker has begun. A worker that dies or cannot be started costs
only time: its part is signed here.

`scripts/bench processes` measures what a worker saves: a third of the time of adding, on two
processors. Threads alone save nothing, as parsing and SQLite's binding of rows hold the
interpreter's lock. The processes of multiprocessing are as fast, but they run the user's main
module again, which fails for a script without a main guard; they import modules from the current
directory, which may be a stranger's; and they outlive a killed parent.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, cast

from lshdb.ingest.parts import Part, SignedPart, sign_part
from lshdb.model import Settings
from lshdb.sources.records import RecordParser, Rows

_ALONE: Final = 2
"""Parts signed before processes are started: a small job ends sooner than they start."""
_MAX_WORKERS: Final = 3
"""Processes that one writer to SQLite can keep busy."""
_ATTEMPTS: Final = 3
"""Failed processes of one thread after which it starts no more."""
_HOME: Final = str(Path(__file__).resolve().parents[2])
_PIPE_BYTES: Final = 1 << 20
"""Size of the pipes to a process, where the system allows it: fewer turns for the same bytes."""
_PROGRAM: Final = """
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


@dataclass(slots=True, eq=False)
class Pending:
    """A part to sign.

    Attributes:
        part: without its block once a worker has signed that.
        future: a worker's reply, still a pickle, or None if there is none.
        signed: the part if it was signed here.
    """

    part: Part
    future: Future[bytes | None] | None = None
    signed: SignedPart | None = None


class Workers:
    """Signs parts of batches, in worker processes once there is enough to do.

    Use as a context manager; the processes end with it.

    Attributes:
        count: how many processes; 0 signs in this one.
    """

    def __init__(self, settings: Settings, parser: RecordParser | None, count: int) -> None:
        self.count = count if _can_start() else 0
        self._settings = settings
        self._parser = parser
        self._submitted = 0
        self._threads: ThreadPoolExecutor | None = None
        self._own = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._closed = False
        self._under_way: deque[Pending] = deque()

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closed = True
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            for process in self._processes:
                process.kill()  # its thread may be waiting for it
            self._threads.shutdown()
        for process in self._processes:
            _end(process)

    def submit(self, part: Part) -> Pending:
        """Submit a part for signing; without workers it is signed at once."""
        self._submitted += 1
        pending = Pending(part)
        if not self.count or self._submitted <= _ALONE:
            pending.signed = self._sign(part)
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

    def result(self, pending: Pending) -> SignedPart:
        """The signed part; while waiting, signs parts here that no worker has begun.

        Call this in the order of submission.
        """
        if self._under_way and pending is self._under_way[0]:
            self._under_way.popleft()
            future = pending.future
            assert future is not None
            others = iter(self._under_way)
            while pending.signed is None and not future.done() and not future.cancel():
                other = next((one for one in others if one.future and one.future.cancel()), None)
                if other is None:
                    break
                other.signed = self._sign(other.part)
            reply = None if pending.signed or future.cancelled() else future.result()
            if reply is not None:
                pending.signed = _whole(pickle.loads(reply), pending.part, self._settings)
        signed, pending.signed, pending.future = pending.signed, None, None
        return self._sign(pending.part) if signed is None else signed

    def _sign(self, part: Part) -> SignedPart:
        """Sign a part here."""
        return sign_part(part, self._settings, self._parser)

    def _elsewhere(self, pending: Pending) -> bytes | None:
        """Have a part signed by this thread's process; its reply, or None if that fails."""
        if getattr(self._own, "failed", 0) >= _ATTEMPTS:
            return None
        # In any case the part is signed here, which then raises its error once.
        try:
            request = _request(pending.part)
        except Exception:
            return None
        try:
            process = getattr(self._own, "process", None)
            if process is None:
                process = self._own.process = self._started()
            _send(cast(BinaryIO, process.stdin), request)
            reply: bytes | None = pickle.load(cast(BinaryIO, process.stdout))
        except Exception:
            # Usually it has ended; if not, its next output is unknown.
            self._own.process = None
            self._own.failed = getattr(self._own, "failed", 0) + 1
            return None
        if reply is not None and pending.part.block is not None:
            pending.part = Part()  # the reply has all of it: no need to keep it twice
        return reply

    def _started(self) -> subprocess.Popen[bytes]:
        """A new process; OSError if the system does not start one, or none is needed any more."""
        if self._closed:
            raise OSError
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, _HOME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A part that fails there is signed here, which then raises its error once.
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
        pickle.dump((self._settings, self._parser), process.stdin, 5)
        return process


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


def _request(part: Part) -> bytes:
    """A part for a worker: without data that only this process needs."""
    if isinstance(part.block, Rows) and part.block.source is not None:
        part = replace(part, block=replace(part.block, source=None))
    elif part.block is None:
        part = replace(
            part, documents=[("", one) for _, one in part.documents], metadata=(), files=()
        )
    return pickle.dumps(part, 5)


def _reply(part: Part, signed: SignedPart, settings: Settings) -> SignedPart:
    """A signed part for the parent: without data that it has."""
    if part.block is None and not settings.shingling.of_sets:
        return replace(signed, keys=[], stored=[])
    return signed


def _whole(reply: SignedPart, part: Part, settings: Settings) -> SignedPart:
    """A worker's reply, completed by the data that it did not get or send back."""
    if not part.documents:
        return reply
    stored: Sequence[str] = reply.stored
    if not settings.shingling.of_sets and (settings.content or not part.sign):
        stored = cast("list[str]", [content for _, content in part.documents])
    keys = [key for key, _ in part.documents]
    return replace(reply, keys=keys, stored=stored, metadata=part.metadata, files=part.files)


def _send(pipe: BinaryIO, message: bytes | None) -> None:
    """Write a message as one bytes object, which is read as a whole before it is unpickled."""
    pickle.dump(message, pipe, 5)
    pipe.flush()


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more."""
    settings, parser = pickle.load(requests)
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        reply = None
        # In any case the parent signs the part, and raises the error.
        with suppress(Exception):
            part = pickle.loads(request)
            signed = sign_part(part, settings, parser)
            reply = pickle.dumps(_reply(part, signed, settings), 5)
        _send(replies, reply)


def main() -> None:
    """Serve the process that started this one."""
    # There are many objects and no cycles: searching for these takes some percent of the time.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()
    serve(sys.stdin.buffer, sys.stdout.buffer)
