"""Running a command as a user would, and measuring it from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
MEMORY_METHOD: Final = (
    "the sum of the resident sets of the process and all its descendants, from /proc every 50 ms, "
    "shared pages counted in each"
)
_GROUPS: Final = {
    Path("/sys/fs/cgroup"): "memory.max",
    Path("/sys/fs/cgroup/memory"): "memory.limit_in_bytes",
}
"""Where control groups are made, in version 2 and 1, and the file of the limit."""
_INTERVAL: Final = 0.05
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_METER: Final = Path(__file__).with_name("meter.py")
_MEASURE: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took.

    Attributes:
        out: its standard output.
        seconds: from its start to its end.
        cpu: seconds of CPU time, of the user and the system, of it and all its descendants.
        largest: bytes, the most that any one of these processes had in memory.
        memory: samples of (seconds since the start, bytes of all of them together); none where
            there is no /proc.
    """

    out: str
    seconds: float
    cpu: float
    largest: int
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
    directory: Path | None = None,
    group: Path | None = None,
) -> Measured:
    """Run a command to its end, in this directory or another; CommandFailed if it fails.

    `group` is the control group that it runs in, see memory_group.
    """
    begun = time.perf_counter()
    reading, writing = os.pipe()
    meter = [sys.executable, "-I", "-S", str(_METER), str(writing)]
    process = subprocess.Popen(
        [*meter, *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(variables or {}), **({"GROUP": str(group)} if group else {})},
        encoding="utf-8",
        cwd=directory,
        pass_fds=(writing,),
        process_group=0,
    )
    os.close(writing)
    memory: list[tuple[float, int]] = []
    ended = threading.Event()

    def sampling() -> None:
        while True:
            if size := sum(map(tree_memory, _children(process.pid))):
                memory.append((time.perf_counter() - begun, size))
            if ended.wait(_INTERVAL):
                return

    sampler = threading.Thread(target=sampling) if sample and PROC.is_dir() else None
    if sampler is not None:
        sampler.start()
    try:
        out, errors = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        ended.set()
        if sampler is not None:
            sampler.join()
        with open(reading, encoding="utf-8") as pipe:
            said = pipe.read()
    taken = json.loads(said) if said else {"status": process.returncode or 1}
    if status := taken.pop("status"):
        shown = " ".join(map(str, command))
        raise CommandFailed(f"{shown[:400]}\nended with status {status}:\n{errors}")
    return Measured(out, memory=memory, **taken)


def _children(pid: int) -> list[int]:
    """The processes that a process started and that have not ended."""
    found: list[int] = []
    try:
        for task in (PROC / str(pid) / "task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except (OSError, ValueError):
        pass
    return found


def tree_memory(pid: int) -> int:
    """Bytes resident of a process and its descendants; what has ended counts nothing."""
    try:
        own = int((PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        own = 0
    return own + sum(map(tree_memory, _children(pid)))


def tree_cpu(pid: int) -> float:
    """Seconds of CPU time of a process and its descendants, also of those that have ended."""
    try:
        own = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[11:15]
    except OSError:
        own = []
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(map(int, own)) / ticks + sum(map(tree_cpu, _children(pid)))


def lshdb_command() -> list[str | Path]:
    """The installed command of the environment that this runs in."""
    script = Path(sys.executable).with_name("lshdb")
    return [script] if script.exists() else [sys.executable, "-m", "lshdb"]


def lshdb(*arguments: str | Path, sample: bool = True) -> Measured:
    """Run and measure a command of lshdb."""
    return measure([*lshdb_command(), *arguments], sample=sample)


@contextmanager
def memory_group(limit: int) -> Iterator[Path | None]:
    """A control group of Linux with a limit of memory in bytes, page cache included.

    None without a limit, or where none can be made: only root can, and not everywhere.
    """
    for root, file in _GROUPS.items():
        group = root / f"lshdb-{os.getpid()}"
        try:
            if not limit or not (root / "cgroup.procs").exists():
                continue
            group.mkdir()
            (group / file).write_text(str(limit))
        except OSError:
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    yield None


def own_script(name: str, *arguments: str) -> list[str | Path]:
    """The command that runs one of the scripts here, as "torture.crashes"."""
    return [sys.executable, _MEASURE, name, *arguments]
