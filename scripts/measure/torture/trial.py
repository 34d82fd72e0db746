"""Run lshdb's commands thousands of times a minute, in this process, and judge how each ended.

A command runs as the installed one does, but without the start of Python; `run_installed` starts
the installed one. Whatever its input, a command may not end with a traceback, take more than ten
seconds of processor time, print a character that acts on a terminal, end with a status other than
0, 1 or 2, or fail without giving a reason.
"""

from __future__ import annotations

import faulthandler
import io
import os
import signal
import subprocess
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import Any, Final, NoReturn

from measure.common.commands import lshdb_command

SECONDS: Final = 10
"""What takes more processor time than this hangs, on a busy machine too."""
_LONGEST: Final = 120
"""Seconds after which what waits hangs."""


@dataclass(slots=True)
class Tally:
    """What happened to many operations.

    Attributes:
        operations: commands and calls that were made.
        faults: inputs and files that were made to break them.
        lost: documents that were acknowledged and are not in the file, or not as they were given.
        wrong: answers that differ from the right ones.
        tracebacks: operations that ended with a traceback, without a word, or not at all.
        commands: of the operations, how many were the installed command in a separate process.
        notes: what is needed to see each of the last three again.
    """

    operations: int = 0
    faults: int = 0
    lost: int = 0
    wrong: int = 0
    tracebacks: int = 0
    commands: int = 0
    notes: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        return self

    @property
    def clean(self) -> bool:
        """Whether nothing is lost, wrong or broken."""
        return not (self.lost or self.wrong or self.tracebacks)

    def error(self, what: str) -> None:
        """Count a wrong answer, or a file in a wrong state."""
        self.wrong += 1
        self.notes.append(what)

    def defect(self, what: str) -> None:
        """Count a traceback, or what is as bad."""
        self.tracebacks += 1
        self.notes.append(what)


class Hang(BaseException):
    """An operation took too long. No Exception: nothing may take it for one of its own."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; `defect` is what it may not do, or empty."""

    out: str
    err: str
    status: int
    defect: str


@contextmanager
def limited() -> Iterator[None]:
    """Raise Hang in what takes longer than SECONDS."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    # What waits, and where not even the handler runs, within SQLite or NumPy: the process ends.
    faulthandler.dump_traceback_later(_LONGEST, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(arguments: Sequence[str], stdin: bytes = b"") -> Ended:
    """Run a command in this process."""
    from lshdb.cli.running import open_streams

    streams, on_interrupt = (sys.stdin, sys.stdout, sys.stderr), signal.getsignal(signal.SIGINT)
    outputs = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    source = TemporaryFile()  # noqa: SIM115  # a file: commands ask what kind of file it is
    source.write(stdin)
    source.seek(0)
    sys.stdin = io.TextIOWrapper(source, "utf-8", errors="surrogateescape")
    sys.stdout, sys.stderr = outputs
    status, defect = 0, ""
    try:
        with limited():
            open_streams()
            _command()(args=list(arguments), prog_name="lshdb")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except Hang:
        defect = f"took more than {SECONDS} s"
    except BaseException:
        defect = traceback.format_exc(limit=-6)
    finally:
        sys.stdin.close()
        sys.stdin, sys.stdout, sys.stderr = streams
        signal.signal(signal.SIGINT, on_interrupt)  # which a command sets
    out, err = (output.buffer.getvalue().decode("utf-8", "replace") for output in outputs)
    return Ended(out, err, status, defect or fault_in(out, err, status))


def run_installed(arguments: Sequence[str], stdin: bytes = b"") -> Ended:
    """Run the installed command in a separate process."""
    try:
        done = subprocess.run(
            [*map(str, lshdb_command()), *arguments],
            input=stdin,
            capture_output=True,
            timeout=_LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ended("", "", 1, f"took more than {_LONGEST} s")
    out, err = (output.decode("utf-8", "replace") for output in (done.stdout, done.stderr))
    return Ended(out, err, done.returncode, fault_in(out, err, done.returncode))


@cache
def _command() -> Any:
    """The whole command line. Typer builds it for each call: more work than most commands."""
    from lshdb.cli.app import make_app

    return make_app()


def fault_in(out: str, err: str, status: int) -> str:
    """What is wrong with how a command ended by itself; empty if nothing."""
    if status not in (0, 1, 2):
        return f"exit status {status}"
    if status and not any(word in err for word in ("lshdb: ", "Usage: ", "Error: ")):
        return f"exit status {status}, and no reason given"
    if "Traceback" in err:
        return err
    for text in (out, err):
        for character in text:
            harmless = character.isprintable() or character in "\n\t\r"
            if not harmless and unicodedata.category(character) != "Zs":
                return f"printed {character!r}"
    return ""


def spread(
    work: Callable[[int, float, str], Tally], seconds: float, directory: Path, more: int = 0
) -> Tally:
    """Do some work in a process for each processor, and some more.

    Each has a number from 1, its seconds and a directory.
    """
    total = Tally()
    count = (os.cpu_count() or 1) + more
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        running = []
        for number in range(1, count + 1):
            folder = directory / str(number)
            folder.mkdir(parents=True)
            running.append(pool.submit(work, number, seconds, str(folder)))
        for share in running:
            try:
                total += share.result()
            except Exception as error:  # SQLite or NumPy crashed: the process is gone
                total.defect(f"a process ended: {error!r}; see {directory}")
    return total
