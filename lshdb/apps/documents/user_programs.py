"""Runs other programs, and reads the output of the user's within limits of time and size.

A program and all that it starts are a process group, which ends with a limit and with lshdb,
whatever ends that: a shell in the group waits for the end of a pipe whose other end only this
process has, and then kills the group. A program that leaves the group (setsid) escapes this.
"""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress

from lshdb.errors import InputError

HAS_GROUPS = os.name == "posix"
_IN_GROUP = """exec 3<&0 0</dev/null
( { read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & )
exec 3<&-
exec "$@"
"""
"""Runs the words after it, until standard input ends. What waits for that is no child of the
program, which may wait for all of its children."""
_BLOCK = 1 << 16
_ERRORS = 4_000
"""Bytes of the last errors of a program that are kept, for the reason of a failure."""
_SHOWN = 200
_LAST = 5.0
"""Seconds to read what an ended program has printed."""


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has not been waited for, and the others of its group."""
    if process.returncode is not None:
        return
    with suppress(OSError):
        if HAS_GROUPS:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def started(
    words: Sequence[str], errors: int, passed: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """A program in a group of its own, which ends with the other end of its standard input.

    Args:
        words: the program and its arguments.
        errors: where its errors go, as for subprocess.
        passed: descriptors that it gets.
    """
    return subprocess.Popen(
        ["/bin/sh", "-c", _IN_GROUP, "sh", *words] if HAS_GROUPS else words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        process_group=0 if HAS_GROUPS else None,
        pass_fds=passed,
    )


def output(words: list[str], seconds: float, largest: int) -> bytes:
    """What a program prints.

    Args:
        words: the program and its arguments.
        seconds: that it may take.
        largest: bytes that it may print.

    Raises:
        InputError: it cannot be started, fails, takes longer or prints more.
    """
    name = words[0]
    if shutil.which(words[0]) is None:
        raise InputError(f"{name}: no such program")
    try:
        process = started(words, subprocess.PIPE)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from error
    printed, errors = _Drained(process, largest), _Drained(process)
    try:
        process.wait(seconds)
        is_late = False
    except subprocess.TimeoutExpired:
        is_late = True
    finally:
        kill_group(process)
        assert process.stdin is not None
        process.stdin.close()  # which kills what is left of the group
    process.wait()
    for thread in (printed, errors):
        thread.join(_LAST)
    if printed.is_large:
        raise InputError(f"{name} prints more than {largest:,} bytes, the limit")
    if is_late:
        raise InputError(f"{name} timed out after {seconds:g} seconds (--extract-timeout)")
    if process.returncode:
        lines = bytes(errors.data).decode("utf-8", "replace").split("\n")
        says = next((f": {line.strip():.{_SHOWN}}" for line in reversed(lines) if line.strip()), "")
        raise InputError(f"{name} returned non-zero exit status {process.returncode}{says}")
    return bytes(printed.data)


class _Drained(threading.Thread):
    """Reads what a program prints, or its errors, as a pipe that is full would stop it.

    Attributes:
        data: all that was printed, or the last errors.
        is_large: whether more was printed than is allowed; that ends the program.
    """

    def __init__(self, process: subprocess.Popen[bytes], largest: int | None = None) -> None:
        super().__init__(daemon=True)  # what escapes the group may keep the pipe open
        self.data, self.is_large = bytearray(), False
        self._process, self._largest = process, largest
        self._pipe = process.stderr if largest is None else process.stdout
        self.start()

    def run(self) -> None:
        assert self._pipe is not None
        with self._pipe as pipe:
            while data := os.read(pipe.fileno(), _BLOCK):
                self.data += data
                if self._largest is None:
                    del self.data[:-_ERRORS]
                elif len(self.data) > self._largest:
                    self.is_large = True
                    kill_group(self._process)
                    return
