"""The installed `lshdb` command as a user runs it: a process of its own, on real files."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import pty
import select
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 60.0
"""Seconds after which a command hangs, as far as the tests are concerned."""

Argument = str | bytes | Path


def installed() -> str:
    """The command of the environment that runs the tests."""
    found = shutil.which("lshdb", path=str(Path(sys.executable).parent)) or shutil.which("lshdb")
    assert found is not None, "the tests need lshdb installed: pip install -e ."
    return found


def environment(home: Path) -> dict[str, str]:
    """What a command needs of the environment, and nothing of the user's."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "OPENBLAS_NUM_THREADS": "1",  # numpy starts faster
    }


@dataclass(frozen=True)
class Result:
    """What a command printed and how it ended."""

    out: str
    err: str
    status: int

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.lines]

    @property
    def record(self) -> dict[str, Any]:
        (record,) = self.records
        return record


class Command:
    """Runs `lshdb` in a directory."""

    def __init__(self, directory: Path, variables: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.variables = {**environment(directory), **(variables or {})}

    def __call__(
        self,
        *arguments: Argument,
        stdin: str | bytes | int = b"",
        before: Callable[[], None] | None = None,
    ) -> Result:
        """Run a command; `stdin` is input or an open file, `before` is called in its process."""
        given: dict[str, Any] = {"stdin": stdin}
        if not isinstance(stdin, int):
            given = {"input": stdin.encode() if isinstance(stdin, str) else stdin}
        done = subprocess.run(
            [installed(), *arguments],
            cwd=self.directory,
            env=self.variables,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
            preexec_fn=before,
            **given,
        )
        result = Result(done.stdout.decode(), done.stderr.decode(), done.returncode)
        assert "Traceback" not in result.err, result.err
        return result

    def done(
        self, *arguments: Argument, stdin: str | bytes | int = b"", says: str | None = None
    ) -> Result:
        """Run a command that must succeed, and (where told) say just this on standard error."""
        result = self(*arguments, stdin=stdin)
        assert result.status == 0, result.err
        if says is not None:
            assert result.err == says
        return result

    def fails(
        self,
        *arguments: Argument,
        stdin: str | bytes | int = b"",
        status: int = 1,
        before: Callable[[], None] | None = None,
    ) -> str:
        """Run a command that must fail with one line; the line, without the program's name."""
        result = self(*arguments, stdin=stdin, before=before)
        assert result.out == ""
        assert result.status == status, result.err
        (line,) = result.err.splitlines()
        start, _, reason = line.partition(": ")
        assert start == "lshdb"
        return reason

    def rows(self, statement: str, name: str = "lsh.db") -> list[tuple[Any, ...]]:
        """What is in the file, by plain SQLite, which takes no process."""
        with closing(sqlite3.connect(self.directory / name)) as connection:
            return connection.execute(statement).fetchall()

    def keys(self, name: str = "lsh.db") -> list[str]:
        """The keys in the file, sorted."""
        return sorted(key for (key,) in self.rows("SELECT key FROM documents", name))

    def start(self, *arguments: Argument, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command in a process group of its own, as a shell does."""
        return subprocess.Popen(
            [installed(), *arguments],
            cwd=self.directory,
            env=self.variables,
            start_new_session=True,
            **options,
        )

    def on_terminal(
        self, *arguments: Argument, stdin: bytes | None = None, columns: int = 100
    ) -> tuple[str, int]:
        """Run a command whose output is a terminal: what it showed, and its exit status."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        source = theirs if stdin is None else subprocess.PIPE
        process = self.start(*arguments, stdin=source, stdout=theirs, stderr=theirs)
        os.close(theirs)
        if process.stdin is not None:
            process.stdin.write(stdin or b"")
            process.stdin.close()
            process.stdin = None  # communicate would flush it
        shown = b""
        # Linux tells the end of a terminal's output as an error, other systems as no bytes.
        with suppress(OSError):
            while select.select([ours], [], [], TIMEOUT)[0] and (piece := os.read(ours, 65536)):
                shown += piece
        os.close(ours)
        status, _ = finish(process)
        assert b"Traceback" not in shown, shown
        return shown.decode().replace("\r\n", "\n"), status


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait for a command that was started: its exit status, and what it said on standard error."""
    try:
        _, said = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, (said or b"").decode()


def unprivileged() -> None:
    """Let file modes hold also for root, whose tests could read everything otherwise."""
    if os.geteuid() == 0:
        drop_from_bounding_set, override, read_search = 24, 1, 2
        for capability in (override, read_search):
            ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)
