"""Starts commands of lshdb as copies (fork) of a process that has loaded lshdb.

To start Python and load lshdb takes a command 0.2 s of CPU time, and twice that with pyarrow; a
copy takes 0.02 s, and the tests run hundreds. A copy has its own process, streams, directory and
variables, and runs the function that the installed command runs. What is asked of the start itself
takes `Command.start`. A copy ends without freeing the modules, which would take another 0.015 s.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_HEAD = struct.Struct("=Q")
_STATUS = struct.Struct("=i")
_LOADED = (
    "lshdb.database",
    "lshdb.search.result_tables",
    "lshdb.write.add",
    "lshdb.apps.dedup.job",
    "lshdb.search.pairs",
    "lshdb.search.query",
    "lshdb.read.arrow_rows",
    "lshdb.read.sinks",
    "pandas",
    "pyarrow.compute",
    "pyarrow.pandas_compat",
)
"""What many commands load; pyarrow loads pandas, where there is one, with the first array."""


DATASETTE = "datasette"
"""The first word of a command that is not lshdb's."""
_AT_START = ("PYTHON", "LANG", "LC_", "OPENBLAS_", "PATH", "COVERAGE_")
"""How the names of variables begin that Python and the modules look at when they are loaded."""
_ASKING = threading.Lock()
"""Threads of a test send one request after another: parts of two would end the server."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A command that runs."""

    pid: int
    _report: int

    def status(self) -> int:
        """Wait for its end: the exit status, as of subprocess."""
        (status,) = _STATUS.unpack(_read(self._report))
        assert isinstance(status, int)
        return status


def run(
    arguments: Sequence[str | bytes | os.PathLike[str]],
    directory: Path,
    variables: Mapping[str, str],
    given: bytes,
    timeout: int,
    *,
    privileged: bool = True,
) -> tuple[bytes, bytes, int]:
    """Run the command to its end: its output, its errors and its exit status, as of subprocess.

    One that takes longer than `timeout` seconds is ended by SIGALRM.
    """
    (source, stdin), (stdout, output), (stderr, errors) = (os.pipe() for _ in range(3))
    streams = (source, output, errors)
    copy = start(arguments, directory, variables, timeout, streams, privileged=privileged)
    with ThreadPoolExecutor(3) as pool:
        writing = pool.submit(_write, stdin, given)
        reading = [pool.submit(_read, descriptor) for descriptor in (stdout, stderr)]
        writing.result()
        out, err = (one.result() for one in reading)
    return out, err, copy.status()


def start(
    arguments: Sequence[str | bytes | os.PathLike[str]],
    directory: Path,
    variables: Mapping[str, str],
    timeout: int,
    streams: tuple[int, int, int],
    loaded: tuple[str, ...] = (),
    *,
    privileged: bool = True,
) -> Copy:
    """Start the command on three file descriptors, which are closed here; `unprivileged` or not.

    After `timeout` seconds it is ended by SIGALRM. Each set of modules that are loaded besides, and
    of variables that Python looks at when it starts, has a process to copy.
    """
    early = tuple((name, variables[name]) for name in variables if name.startswith(_AT_START))
    report, reporting = os.pipe()
    words = [os.fsdecode(argument) for argument in arguments]
    request = json.dumps([words, str(directory), dict(variables), timeout, privileged]).encode()
    theirs = [*streams, reporting]
    with _ASKING:
        server, process = _server(early, loaded)
        try:
            socket.send_fds(server, [_HEAD.pack(len(request))], theirs)
            server.sendall(request)
            answer = server.recv(_HEAD.size)
        except ConnectionError:
            answer = b""
        for descriptor in theirs:
            os.close(descriptor)
    if not answer:
        os.close(report)
        raise RuntimeError(f"no command can be run: {_why_ended(process)}")
    (pid,) = _HEAD.unpack(answer)
    return Copy(pid, report)


def _why_ended(process: subprocess.Popen[bytes]) -> str:
    """The last line of what a server said when it ended."""
    assert process.stderr is not None
    process.wait()
    lines = process.stderr.read().decode(errors="replace").splitlines()
    return f"the process that is copied for each ended: {(lines or ['it said nothing'])[-1]}"


def unprivileged() -> None:
    """Make file modes apply to root too, which could otherwise read everything."""
    if os.geteuid() == 0:
        system, drop_from_bounding_set, override, read_search = ctypes.CDLL(None), 24, 1, 2
        for capability in (override, read_search):  # for the programs that it starts
            system.prctl(drop_from_bounding_set, capability, 0, 0, 0)
        version = (ctypes.c_uint32 * 2)(0x20080522, 0)
        sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; the higher bits of each
        assert system.capget(version, sets) == 0
        for number in range(3):
            sets[number] &= ~(1 << override | 1 << read_search)
        assert system.capset(version, sets) == 0


def _write(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as file:
        file.write(data)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


@cache
def _server(
    variables: tuple[tuple[str, str], ...], loaded: tuple[str, ...]
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The process that is copied, and its socket; it ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno()), *loaded],
            env=dict(variables),
            # Pipes, as most commands have: Python's streams remember of what kind they are.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.communicate()

    atexit.register(end)
    return ours, process


def _serve(connection: socket.socket) -> list[str] | None:
    """Copy this process for each request; in a copy, the words of its command line."""
    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    reports: dict[int, int] = {}
    both: list[socket.socket | int] = [connection, ended]
    while True:
        ready, _, _ = select.select(both, [], [])
        if ended in ready:
            os.read(ended, 512)
            _report(reports)
        if connection not in ready:
            continue
        head, descriptors, _, _ = socket.recv_fds(connection, _HEAD.size, 4)
        if not head:
            return None
        (left,) = _HEAD.unpack(head)
        request = b""
        while len(request) < left:
            request += connection.recv(left - len(request))
        words, directory, variables, timeout, privileged = json.loads(request)
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.close()
            for target, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, target)
            os.chdir(directory)
            os.environ.clear()
            os.environ.update(variables)
            os.closerange(3, max(*descriptors, *reports.values(), wakes) + 1)
            signal.alarm(timeout)
            if not privileged:
                unprivileged()
            return [*words]
        *streams, reports[child] = descriptors
        for descriptor in streams:
            os.close(descriptor)
        connection.sendall(_HEAD.pack(child))


def _report(reports: dict[int, int]) -> None:
    """Send the exit statuses of the copies that have ended."""
    while reports:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        descriptor = reports.pop(child)
        with suppress(BrokenPipeError):
            os.write(descriptor, _STATUS.pack(os.waitstatus_to_exitcode(status)))
        os.close(descriptor)


def _run(command: Callable[[], None]) -> NoReturn:
    """Run the command and end as Python does, but leave the memory to the system.

    A finalizer that only the freeing of modules would call is not called.
    """
    status = 0
    try:
        command()
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        status = ended.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(status)


def _build_commands() -> None:
    """Build the command line with all commands: copies would do it for themselves.

    Typer makes options of annotations in a third of the time of a query, and in most of the time
    of a command that only prints a message.
    """
    from lshdb.cli import app

    built = app.make_app()
    for name in app.COMMANDS:
        built.get_command(None, name)
    app.make_app = lambda: built


def _warm_up(command: Callable[[], None]) -> None:
    """Run some commands: what the first ones compile and look up once takes a fifth of their time.

    It comes before other modules: commands choose what memory pyarrow uses when it is loaded.
    """
    with (
        tempfile.TemporaryDirectory() as directory,
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        text, database = f"{directory}/text.txt", f"{directory}/lsh.db"
        Path(text).write_text("the fox and the grapes", "utf-8")
        report = ("report", "-o", f"{directory}/report.html")
        for words in (("add", text), ("query", text), ("clusters", "--json"), report):
            sys.argv = ["lshdb", *words, "-d", database]
            with suppress(SystemExit):
                command()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a command lets it end Python at once


def _compile_pages() -> None:
    """Compile the templates of all pages: that takes most of the time of a server's first page."""
    from lshdb.apps.report import report
    from lshdb.apps.web import rendering

    templates = rendering._templates(report._PAGES)
    for name in templates.list_templates():
        templates.get_template(name)


if __name__ == "__main__":
    from lshdb.__main__ import main

    _, descriptor, *loaded = sys.argv
    _build_commands()
    _warm_up(main)
    for name in _LOADED:
        try:
            import_module(name)
        except ModuleNotFoundError as missing:  # of an extra, or an app, that is not installed
            module = str(missing.name)
            if module.startswith("lshdb") and not module.startswith("lshdb.apps"):
                raise
    for name in loaded:
        import_module(name)
    if loaded:
        _compile_pages()
    gc.freeze()
    words = _serve(socket.socket(fileno=int(descriptor)))
    if words is not None:
        sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())  # type: ignore[union-attr]
        if words[:1] == [DATASETTE]:
            from datasette.cli import cli

            sys.argv = words
            _run(cli)
        sys.argv = ["lshdb", *words]
        _run(main)
