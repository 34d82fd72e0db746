"""The command line in the process of the tests: a run takes milliseconds, and no process.

For what a command prints, writes and answers. What a process of its own makes different (signals,
closed streams, terminals, limits of memory and files) is tested with `helpers.Command`.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack, chdir
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import extras
import pytest
from helpers import Argument, Command, Result

from lshdb.cli import app

_PIPE = 60_000
"""Bytes that a pipe holds on any system: more input comes from a file."""


class DirectCommand(Command):
    """Runs `lshdb` in a directory, as `Command` does, but in this process.

    With variables of Python's, an open file or a function to call before, it is a process of its
    own; so it is with `start` and `on_terminal`.
    """

    def __call__(
        self,
        *arguments: Argument,
        stdin: str | bytes | int = b"",
        before: Callable[[], None] | None = None,
    ) -> Result:
        """Run a command, with its standard input."""
        if self._starts or before is not None or isinstance(stdin, int):
            return super().__call__(*arguments, stdin=stdin, before=before)
        data = stdin.encode() if isinstance(stdin, str) else stdin
        with ExitStack() as stack:
            streams = {"stdin": _input(data, stack), "stdout": _file(stack), "stderr": _file(stack)}
            # Where an output fails, the command puts another file under its number.
            written = [os.dup(streams[name].fileno()) for name in ("stdout", "stderr")]
            for descriptor in written:
                stack.callback(os.close, descriptor)
            for name, stream in streams.items():
                stack.enter_context(mock.patch.object(sys, name, stream))
            words = ["lshdb", *map(os.fsdecode, arguments)]
            stack.enter_context(mock.patch.object(sys, "argv", words))
            # Else typer names the program as the one that runs the tests.
            stack.enter_context(mock.patch.object(sys.modules["__main__"], "__package__", None))
            stack.enter_context(mock.patch.object(app, "make_app", _built))
            stack.enter_context(mock.patch.dict(os.environ, self.variables, clear=True))
            stack.enter_context(mock.patch.object(tempfile, "tempdir", None))  # as TMPDIR says
            stack.enter_context(chdir(self.directory))
            stack.callback(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("default", category=UserWarning)
            with pytest.raises(SystemExit) as ended:
                app.main()
            streams["stdout"].flush()
            streams["stderr"].flush()
            out, err = map(_content, written)
            status = ended.value.code or 0
            assert isinstance(status, int)
            result = Result(out, err, status)
        extras.skip_if_named(result.err)
        return result


@pytest.fixture
def command(tmp_path: Path) -> DirectCommand:
    """The command in an empty directory, for modules that import this name."""
    return DirectCommand(tmp_path)


_make_app = app.make_app


@cache
def _built() -> Any:
    """The command line, with all commands: most of a short run would be building them."""
    built = _make_app()
    for name in app.COMMANDS:
        built.get_command(None, name)
    return built


def _input(data: bytes, stack: ExitStack) -> io.TextIOWrapper:
    """Standard input: a pipe, as most commands have."""
    if len(data) > _PIPE:
        return _file(stack, data)
    ours, theirs = os.pipe()
    os.write(theirs, data)
    os.close(theirs)
    return stack.enter_context(open(ours, encoding="utf-8"))


def _file(stack: ExitStack, data: bytes = b"") -> io.TextIOWrapper:
    """A file as a standard stream."""
    file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # closed with the stack
    file.write(data)
    file.seek(0)
    return stack.enter_context(io.TextIOWrapper(file, "utf-8"))


def _content(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode()
