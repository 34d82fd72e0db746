"""How a command ends: its exit status, and one line on standard error if it failed."""

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from lshdb.cli import messages
from lshdb.errors import TIMEOUT, LshdbError, install

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
_NOT_OF_OUTPUT = (errno.EMFILE, errno.ENFILE, errno.ENOENT, errno.ENOMEM)
"""Errors that writing does not raise: others without the name of a file are standard output's."""
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="No notes and no progress.",
    ),
]

timeout = TIMEOUT
"""Seconds that the command waits while another process writes; --timeout sets it."""


def failed(reason: str, status: int = FAILED) -> typer.Exit:
    """Print a reason on standard error; the exception that ends the command."""
    messages.warn(f"lshdb: {reason}")
    return typer.Exit(status)


def output_failed(error: OSError) -> typer.Exit:
    """Print why a file, or else standard output, could not be written; the exception as above."""
    messages.discard(sys.stdout)
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.EMFILE, errno.ENFILE):
        reason += ": raise ulimit -n"
    if error.filename:
        return failed(f"{error.filename}: {reason}")
    if error.errno == errno.ENOENT:
        try:
            os.getcwd()
        except OSError:
            return failed("the current directory was deleted: change to another one")
        if "temporary directory" in reason:
            return failed("no directory for temporary files can be written: TMPDIR names one")
    return failed(reason if error.errno in _NOT_OF_OUTPUT else f"standard output: {reason}")


@contextmanager
def installed(needs: str, extra: str = "web") -> Iterator[None]:
    """LshdbError for an import in the block that an extra would bring."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("lshdb"):
            raise
        raise LshdbError(f"{needs}: {install(extra)}") from error


def end_on_interrupt() -> None:
    """Let Ctrl-C end the process at once: Python's own handler waits for SQLite to return."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def clear_away_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that half-written files are cleaned up."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def open_streams(system: str = os.name) -> None:
    """Make standard output and error writable: a stream closed by the caller (`>&-`) is None.

    Standard input stays None then, but no file that is opened takes its number: programs that
    are started would read it.

    On Windows (`nt`) what goes to a file or a pipe is UTF-8, with a newline alone, as elsewhere.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    elif hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="surrogateescape")  # an answer may be no text
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  # for as long as we live
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A key may hold characters that are not in the terminal's encoding.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
            if system == "nt" and not stream.isatty():
                stream.reconfigure(encoding="utf-8", newline="\n")
