"""Signing in processes of their own, so that it overlaps with reading and with SQLite.

Threads would not do: parsing and SQLite's binding of rows hold the interpreter's lock in turns
of microseconds, and each of the kernels' short numpy calls would have to wait for it.

A worker that dies costs no more than time: its parts are signed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition
from types import TracebackType
from typing import BinaryIO, Final

from lshdb.acceleration import can_make_kernels, load_kernels, speed_up
from lshdb.model import Settings
from lshdb.parsing import Rows
from lshdb.parts import Part, SignedPart, sign_part
from lshdb.processes import LARGE, can_start, started, step_back, stop
from lshdb.records import Failure, RecordParser
from lshdb.worker import (
    MAKE_KERNELS,
    receive,
    send_part,
    send_settings,
    signed_part,
    unpacked,
)

_BEFORE_KERNELS: Final = 40
"""A job of fewer parts would not gain from compiled kernels what they take to make."""
_ALONE: Final = 2
"""Parts signed before processes are started: a small job ends sooner than they start."""
_AHEAD: Final = 44_000_000
"""Bytes of documents that are being signed, or are signed and not taken yet: so that workers have
enough to do while a batch's band rows are written."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A part that is being signed.

    Attributes:
        answer: the part signed, or the message of a process that has it so.
        part: what it was.
        size: about how many bytes it has in the window, if a process signs it.
    """

    answer: Future[SignedPart | bytes]
    part: Part = field(default_factory=Part)
    size: int | None = None

    @classmethod
    def done(cls, signed: SignedPart) -> Pending:
        """One that is signed."""
        answer: Future[SignedPart | bytes] = Future()
        answer.set_result(signed)
        return cls(answer)


class Signers:
    """Signs parts of batches, in worker processes once there is enough to do.

    Compiled kernels are to be made once, which takes seconds. Other processes do so, and take the
    place of the first ones when they are ready, so that nobody waits for it. Use as a context
    manager.

    Attributes:
        workers: how many processes; 0 signs in this one.
    """

    def __init__(self, settings: Settings, parser: RecordParser | None, workers: int) -> None:
        self.workers = workers if can_start() else 0
        self._settings = settings
        self._parser = parser
        self._processes: list[_Process] = []
        self._faster: list[_Process] = []  # which make kernels
        self._replaced: list[_Process] = []  # by those
        self._submitted = 0
        self._window = _Window(_AHEAD)
        self._asked = 0
        self._made = False  # kernels, or it is being tried
        # Two, as they are at different places of a file.
        self._ahead, self._behind = Rows(), Rows()

    def __enter__(self) -> Signers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._window.close()
        for process in (*self._processes, *self._faster, *self._replaced):
            process.stop()
        self._ahead.close()
        self._behind.close()

    def submit(self, part: Part, size: int = 0) -> Pending:
        """Sign a part, of about `size` bytes; it is done at once if that is done here."""
        self._submitted += 1
        file = None if part.rows is None or part.rows.stretch is None else part.rows.stretch.file
        large = file is not None and file.size >= LARGE
        if not self._processes and (large or self._submitted == _ALONE + 1):
            self._processes = self._started()
            if large or not self._processes:
                load_kernels()
        if not self._made and (large or self._submitted >= _BEFORE_KERNELS):
            if not self._processes:
                self._made = True
                speed_up()
            elif any(process.lacks_kernels() for process in self._processes):
                self._made = True
                self._faster = self._started(MAKE_KERNELS) if can_make_kernels() else []
        if ready := self._ready():
            self._ahead.close()
            process = min(ready, key=lambda process: process.waiting)
            pending = Pending(process.submit(part, self._asked, size), part, size)
            self._asked += 1
            return pending
        return Pending.done(sign_part(part, self._settings, self._parser, self._ahead))

    def results(self, pending: Pending) -> Iterator[SignedPart]:
        """What became of a part; one whose rows could not be read at once is signed here in pieces.

        Call this in the order of submission: parts wait for those before them to be taken, and
        where rows of a file cannot be read at all, what comes behind them in it is left out.
        """
        answer = pending.answer.result()
        if pending.size is not None:
            self._window.leave(pending.size)
        # Taken apart here, as the thread that heard it would have to wait for this one's turns.
        part = (
            answer
            if isinstance(answer, SignedPart)
            else signed_part(answer, pending.part, self._settings)
        )
        if part.rows is None or part.rows.stretch is None:
            yield part
        elif not part.unread:
            if not part.rows.stretch.file.broken:
                yield part
        else:
            assert self._parser is not None
            for lines in self._behind.again(part.rows, self._parser):
                if isinstance(lines, Failure):
                    yield SignedPart([], [], [], None, [lines], 0)
                else:
                    yield sign_part(Part(lines=lines), self._settings, self._parser)

    def _started(self, *arguments: str) -> list[_Process]:
        processes: list[_Process] = []
        with suppress(OSError):  # the system will not: what is started is enough
            for _ in range(self.workers):
                process = _Process(self._settings, self._parser, self._window, arguments)
                processes.append(process)
        return processes

    def _ready(self) -> list[_Process]:
        """The processes that may be asked."""
        if any(process.is_ready() for process in self._faster):
            self._replaced += self._processes
            self._processes, self._faster = self._faster, []
        for process in [process for process in self._replaced if not process.waiting]:
            process.stop()
            self._replaced.remove(process)
        return [process for process in self._processes if process.is_ready()]


class _Window:
    """Lets parts through as long as those that are let through and not taken are not too large.

    Parts are taken in order, so the next one to be taken is let through in any case.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._inside = 0
        self._taken = 0
        self._changed = Condition()
        self._closed = False

    def enter(self, number: int, size: int) -> None:
        """Wait until there is room for a part; they are numbered from 0, in the order of taking."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or number <= self._taken or self._inside + size <= self._limit
            )
            self._inside += size

    def leave(self, size: int) -> None:
        """Make room again: the next part is taken."""
        with self._changed:
            self._inside -= size
            self._taken += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let everything through."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Process:
    """A worker process, and two threads that ask and listen: it never waits for its next part."""

    def __init__(
        self,
        settings: Settings,
        parser: RecordParser | None,
        window: _Window,
        arguments: Sequence[str] = (),
    ) -> None:
        self._settings = settings
        self._parser = parser
        self._window = window
        self.waiting = 0
        self._process = started(*arguments)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._replies: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._asking = ThreadPoolExecutor(1, "lshdb-asking", step_back)
        self._listening = ThreadPoolExecutor(1, "lshdb-listening", step_back)
        self._asking.submit(send_settings, self._requests, settings, parser)
        self._ready: Future[bool | None] = self._listening.submit(self._hear_first)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def is_ready(self) -> bool:
        """Whether it has started and not yet died; it is not waited for."""
        return self._ready.done() and self._ready.result() is not None

    def lacks_kernels(self) -> bool:
        """Whether it has started and found none."""
        return self._ready.done() and self._ready.result() is False

    def submit(self, part: Part, number: int, size: int) -> Future[SignedPart | bytes]:
        """Have a part signed, here if the process dies; see _Window for number and size."""
        self.waiting += 1
        asked = self._asking.submit(self._ask, part, number, size)
        return self._listening.submit(self._hear, part, asked)

    def stop(self) -> None:
        """End the process, and the threads, which may be waiting for it."""
        self._process.kill()
        self._process.wait()
        for thread in (self._asking, self._listening):
            thread.shutdown(wait=True, cancel_futures=True)
        stop(self._process)

    def _hear_first(self) -> bool | None:
        """Whether it has kernels; None if it died before it told."""
        try:
            header, _ = unpacked(receive(self._replies))
        except (OSError, EOFError):
            return None
        return bool(header["kernels"])

    def _ask(self, part: Part, number: int, size: int) -> None:
        self._window.enter(number, size)
        try:
            send_part(self._requests, part)
        except BaseException:
            self._process.kill()  # or its answer would be waited for
            raise

    def _hear(self, part: Part, asked: Future[None]) -> SignedPart | bytes:
        try:
            return receive(self._replies)
        except (OSError, EOFError):
            self._ready = Future()  # it is dead: nothing more is asked
            with suppress(OSError):
                asked.result()
            return sign_part(part, self._settings, self._parser)
        finally:
            self.waiting -= 1
