"""Signing in processes of their own, so that it overlaps with reading and with SQLite.

Threads would not do: parsing and SQLite's binding of rows hold the interpreter's lock in turns
of microseconds, and each of the kernels' short numpy calls would have to wait for it.

A worker that dies costs no more than time: its parts are signed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import BinaryIO, Final

from lshdb.acceleration import can_make_kernels, load_kernels, speed_up, use_fast_json
from lshdb.ingest.parts import Part, SignedPart, sign_part
from lshdb.model import Settings
from lshdb.pending import Pending, Taker, Work
from lshdb.processes import LARGE, can_start, started, step_back, stop
from lshdb.sources.parsing import Rows
from lshdb.sources.records import Failure, RecordParser
from lshdb.worker import MAKE_KERNELS, receive, send_part, send_settings, signed_part, unpacked

_BEFORE_KERNELS: Final = 40
"""A job of fewer parts would not gain from compiled kernels what they take to make."""
_ALONE: Final = 2
"""Parts signed before processes are started: a small job ends sooner than they start."""
_AHEAD: Final = 44_000_000
"""Bytes of documents that are being signed, or are signed and not taken yet: so that workers have
enough to do while a batch's band rows are written."""


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
        self._work = Work(_AHEAD)
        self._long = False  # whether kernels are worth to be made
        self._made = False  # kernels, or it is being tried
        self._loaded = False  # kernels, here, or it was tried
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
        self._work.close()
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
                self._load()
        self._long = self._long or large or self._submitted >= _BEFORE_KERNELS
        self._see_to_kernels()
        if self._processes:
            return self._work.put(part, size)
        return Pending.done(self._sign(part))

    def results(self, pending: Pending) -> Iterator[SignedPart]:
        """What became of a part; one whose rows could not be read at once is signed here in pieces.

        Call this in the order of submission: parts wait for those before them to be taken, and
        where rows of a file cannot be read at all, what comes behind them in it is left out.
        """
        self._see_to_kernels()
        answer = self._work.fetch(pending, self._sign)
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
                process = _Process(self._settings, self._parser, self._work, arguments)
                processes.append(process)
        return processes

    def _sign(self, part: Part) -> SignedPart:
        """Sign a part here."""
        if not self._loaded and any(process.has_kernels() for process in self._processes):
            self._load()
        return sign_part(part, self._settings, self._parser, self._ahead)

    def _load(self) -> None:
        """Use what there is of the extra `speed` here."""
        self._loaded = True
        load_kernels()
        use_fast_json()

    def _see_to_kernels(self) -> None:
        """Have kernels made if that is worth it, and let the processes that have them take over."""
        if self._long and not self._made:
            if not self._processes:
                self._made = True
                speed_up()
            elif any(process.lacks_kernels() for process in self._processes):
                self._made = True
                self._faster = self._started(MAKE_KERNELS) if can_make_kernels() else []
        if any(process.is_ready() for process in self._faster):
            for process in self._processes:
                process.retire()
            self._replaced += self._processes
            self._processes, self._faster = self._faster, []
        for process in [process for process in self._replaced if process.is_done()]:
            process.stop()
            self._replaced.remove(process)


class _Process:
    """A worker process, and two threads that ask and listen."""

    def __init__(
        self,
        settings: Settings,
        parser: RecordParser | None,
        work: Work,
        arguments: Sequence[str] = (),
    ) -> None:
        self._settings = settings
        self._parser = parser
        self._work = work
        self._taker = Taker()
        self._kernels = False
        self._process = started(*arguments)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._replies: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._asking = Thread(target=self._ask, name="lshdb-asking", daemon=True)
        self._listening = Thread(target=self._listen, name="lshdb-listening", daemon=True)
        self._asking.start()
        self._listening.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def is_ready(self) -> bool:
        """Whether it has started and not yet died; it is not waited for."""
        return self._taker.ready

    def has_kernels(self) -> bool:
        """Whether it has started and found the compiled kernels."""
        return self.is_ready() and self._kernels

    def lacks_kernels(self) -> bool:
        """Whether it has started and found none."""
        return self.is_ready() and not self._kernels

    def retire(self) -> None:
        """Have it sign no more than what it was asked for."""
        self._work.retire(self._taker, answers=True)

    def is_done(self) -> bool:
        """Whether it has answered all that it was asked for."""
        return not self._taker.taken

    def stop(self) -> None:
        """End the process, and the threads, which may be waiting for it."""
        self._process.kill()
        self._process.wait()
        self.retire()
        self._asking.join()
        self._listening.join()
        stop(self._process)

    def _ask(self) -> None:
        step_back()
        # Whatever it is: what it could not be asked for is signed elsewhere.
        with suppress(Exception):
            send_settings(self._requests, self._settings, self._parser)
            while (pending := self._work.take(self._taker)) is not None:
                send_part(self._requests, pending.part)
            return
        self._process.kill()  # its answers would be waited for

    def _listen(self) -> None:
        step_back()
        # Most often it has ended. Whatever it is: what it does not answer is signed elsewhere.
        with suppress(Exception):
            header, _ = unpacked(receive(self._replies))
            self._kernels = bool(header["kernels"])
            self._work.begin(self._taker)
            while True:
                self._work.answer(self._taker, receive(self._replies))
        self._work.retire(self._taker, answers=False)
        self._process.kill()
