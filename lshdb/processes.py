"""Starting the processes that sign (lshdb.worker), also before what this one needs is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LARGE: Final = 60_000_000
"""Bytes of a file for which processes are started at once."""

_NICENESS: Final = 10
"""Of what steps back behind the thread that writes, for which all others work."""
_MOST: Final = 3
"""Processes that one writer to SQLite can keep busy."""
_PIPE_BYTES: Final = 1 << 20
_PROGRAM: Final = """
import gc, sys
gc.disable()
sys.path.insert(0, sys.argv[1])
import lshdb
del sys.path[0]
from lshdb.worker import main
main()
"""
"""Imports this very lshdb, wherever it is, and nothing from the current directory (-P).

Without looking for garbage meanwhile: there is none.
"""

_ahead: list[subprocess.Popen[bytes]] = []


def step_back() -> None:
    """Let all other threads go before this one, where each has a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def default_workers() -> int:
    """As many as there are processors besides this process's own, three at the most."""
    return min(_MOST, len(os.sched_getaffinity(0)) - 1) if hasattr(os, "sched_getaffinity") else 1


def can_start() -> bool:
    """Whether sys.executable can run a module: in a frozen program or a web server it may not."""
    name = Path(sys.executable or "").name
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def started(*arguments: str) -> subprocess.Popen[bytes]:
    """A new process, or one that was started ahead; OSError if the system will not start it."""
    if _ahead and not arguments:
        return _ahead.pop()
    package = str(Path(__file__).resolve().parent.parent)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, package, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # What fails there is done here, and then told once.
        stderr=subprocess.DEVNULL,
        # numpy's BLAS, which nothing here uses, would keep a thread of its own spinning.
        # Arrow's own allocators keep some 30 MB more, and save no time here.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"},
        # Pipes of 1 MB where the system has them: fewer turns for the same bytes.
        pipesize=_PIPE_BYTES,
        # Ctrl-C goes to all processes of a terminal's group; this one ends with its pipe.
        process_group=0 if os.name == "posix" else None,
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and wait for its end."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was not sent has nobody to read it
                pipe.close()


@contextmanager
def started_ahead(paths: list[str]) -> Iterator[None]:
    """Start the processes now if one of the files is large; those that are not needed are ended."""
    if can_start() and any(map(_is_large, paths)):
        with suppress(OSError):
            _ahead.extend([started() for _ in range(default_workers())])
    try:
        yield
    finally:
        while _ahead:
            stop(_ahead.pop())


def _is_large(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.path.getsize(path) >= LARGE
    except (OSError, ValueError):
        return False
