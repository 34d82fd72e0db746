"""Running a command as a user would, and measuring it from outside."""

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
from tempfile import TemporaryFile
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
_MEASURE: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took.

    Attributes:
        out: its standard output.
        seconds: from its start to its end.
        cpu: seconds of CPU time, of the user and the system, of it and all its descendants.
        peak: the most bytes that all of them had in memory together; 0 where there is no /proc.
    """

    out: str
    seconds: float
    cpu: float
    peak: int


class CommandFailed(Exception):
    """A measured command ended with an exit status other than 0."""


def measure(
    command: Sequence[str | Path],
    *,
    variables: Mapping[str, str] | None = None,
    directory: Path | None = None,
    group: Path | None = None,
) -> Measured:
    """Run a command to its end, in this directory or another; CommandFailed if it fails.

    `group` is the control group that it runs in, see memory_group.
    """
    words = [*map(str, command)]
    if group is not None:
        words = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group), *words]
    peak, ended = 0, threading.Event()
    with TemporaryFile() as out, TemporaryFile() as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env={**os.environ, **(variables or {})},
            cwd=directory,
            process_group=0,
        )

        def sample() -> None:
            nonlocal peak
            while True:
                peak = max(peak, tree_memory(process.pid))
                if ended.wait(_INTERVAL):
                    return

        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            # Not `wait`: only this gives the CPU time of one command and its descendants.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            seconds = time.perf_counter() - begun
            ended.set()
            sampler.join()
        out.seek(0)
        errors.seek(0)
        written, complaint = (file.read().decode("utf-8", "replace") for file in (out, errors))
    if process.returncode:
        shown = " ".join(map(str, command))[:400]
        raise CommandFailed(f"{shown}\nended with status {process.returncode}:\n{complaint}")
    return Measured(written, seconds, usage.ru_utime + usage.ru_stime, peak)


def tree_memory(pid: int) -> int:
    """Bytes resident of a process and its descendants; what has ended counts nothing."""
    process = PROC / str(pid)
    try:
        pages = int((process / "statm").read_text().split()[1])
        children = [(task / "children").read_text() for task in (process / "task").iterdir()]
    except (OSError, IndexError, ValueError):
        return 0
    pids = map(int, " ".join(children).split())
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(tree_memory, pids))


def lshdb_command() -> list[str | Path]:
    """The installed command of the environment that this runs in."""
    script = Path(sys.executable).with_name("lshdb")
    return [script] if script.exists() else [sys.executable, "-m", "lshdb"]


def lshdb(*arguments: str | Path, directory: Path | None = None) -> Measured:
    """Run and measure a command of lshdb."""
    return measure([*lshdb_command(), *arguments], directory=directory)


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
    """The command that runs one of the scripts here, as "torture.soak"."""
    return [sys.executable, _MEASURE, name, *arguments]
