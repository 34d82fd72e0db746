"""Running a command as a user would, and measuring it from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
MEMORY_METHOD: Final = (
    "the sum of the resident sets of the process and all its descendants, from /proc every 50 ms, "
    "shared pages counted in each"
)
_INTERVAL: Final = 0.05
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took.

    Attributes:
        out: its standard output.
        seconds: from before its start until after its end.
        memory: samples of (seconds since the start, bytes of the process tree); none where there
            is no /proc.
    """

    out: str
    seconds: float
    memory: list[tuple[float, int]]

    @property
    def peak(self) -> int | None:
        """The largest sample."""
        return max((size for _, size in self.memory), default=None)


class CommandFailed(Exception):
    """A measured command ended with an exit status other than 0."""


def measure(
    command: Sequence[str | Path],
    *,
    sample: bool = True,
    variables: Mapping[str, str] | None = None,
) -> Measured:
    """Run a command to its end; CommandFailed if it fails."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(variables or {})},
        encoding="utf-8",
    )
    memory: list[tuple[float, int]] = []
    ended = threading.Event()

    def sampling() -> None:
        while True:
            if size := tree_memory(process.pid):
                memory.append((time.perf_counter() - begun, size))
            if ended.wait(_INTERVAL):
                return

    sampler = threading.Thread(target=sampling) if sample and PROC.is_dir() else None
    if sampler is not None:
        sampler.start()
    try:
        out, errors = process.communicate()
        seconds = time.perf_counter() - begun
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        ended.set()
        if sampler is not None:
            sampler.join()
    if process.returncode:
        shown = " ".join(map(str, command))
        raise CommandFailed(f"{shown[:400]}\nended with status {process.returncode}:\n{errors}")
    return Measured(out, seconds, memory)


def tree_memory(pid: int) -> int:
    """Bytes resident of a process and its descendants; what has ended counts nothing."""
    total = 0
    waiting = [pid]
    while waiting:
        directory = PROC / str(waiting.pop())
        try:
            total += int((directory / "statm").read_text().split()[1]) * _PAGE
            for task in (directory / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except (OSError, IndexError, ValueError):
            continue
    return total


def lshdb_command() -> list[str | Path]:
    """The installed command of the environment that this runs in."""
    script = Path(sys.executable).with_name("lshdb")
    return [script] if script.exists() else [sys.executable, "-m", "lshdb"]
