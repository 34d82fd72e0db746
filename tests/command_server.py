"""Starts commands of lshdb as copies (fork) of a process that has loaded lshdb.

To start Python and load lshdb takes a command 0.2 s of CPU time, and twice that with pyarrow; a
copy takes 0.02 s, and the tests run hundreds. A copy has its own process, streams, directory and
variables, and runs the function that the installed command runs. What is asked of the start itself
takes `Command.start`. A copy ends without freeing the modules, which would take another 0.015 s.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_HEAD = struct.Struct("=Q")
_STATUS = struct.Struct("=i")
_LOADED = (
    "lshdb.database",
    "lshdb.exchange.results",
    "lshdb.exchange.row_files",
    "lshdb.ingest.add",
    "lshdb.ingest.ordering",
    "lshdb.search.pairs",
    "lshdb.search.query",
    "lshdb.sources.arrow_rows",
    "pandas",
    "pyarrow.compute",
    "pyarrow.pandas_compat",
)
"""What many commands load; pyarrow loads pandas, where there is one, with the first array."""


def run(
    arguments: Sequence[str | bytes | os.PathLike[str]],
    directory: Path,
    variables: Mapping[str, str],
    given: bytes,
    timeout: int,
) -> tuple[bytes, bytes, int]:
    """Run the command to its end: its output, its errors and its exit status, as of subprocess.

    One that takes longer than `timeout` seconds is ended by SIGALRM. Each set of variables has a
    process to copy, for Python looks at some when it starts; not at HOME, which differs from test
    to test.
    """
    server = _server(tuple((name, variables[name]) for name in variables if name != "HOME"))
    pipes = [os.pipe() for _ in range(3)]
    (source, stdin), (stdout, output), (stderr, errors) = pipes
    words = [os.fsdecode(argument) for argument in arguments]
    request = json.dumps([words, str(directory), dict(variables), timeout]).encode()
    socket.send_fds(server, [_HEAD.pack(len(request))], [source, output, errors])
    server.sendall(request)
    for descriptor in (source, output, errors):
        os.close(descriptor)
    with ThreadPoolExecutor(3) as pool:
        writing = pool.submit(_write, stdin, given)
        reading = [pool.submit(_read, descriptor) for descriptor in (stdout, stderr)]
        writing.result()
        out, err = (one.result() for one in reading)
    (status,) = _STATUS.unpack(server.recv(_STATUS.size))
    return out, err, status


def _write(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as file:
        file.write(data)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


@cache
def _server(variables: tuple[tuple[str, str], ...]) -> socket.socket:
    """The process that is copied; it ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            env=dict(variables),
            # Pipes, as a command has: Python's streams remember of what kind they are.
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
    return ours


def _serve(connection: socket.socket) -> list[str] | None:
    """Copy this process for each request; in a copy, the words of its command line."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(connection, _HEAD.size, 3)
        if not head:
            return None
        (left,) = _HEAD.unpack(head)
        request = b""
        while len(request) < left:
            request += connection.recv(left - len(request))
        words, directory, variables, timeout = json.loads(request)
        child = os.fork()
        if child == 0:
            connection.close()
            for target, descriptor in enumerate(descriptors):
                os.dup2(descriptor, target)
            os.chdir(directory)
            os.environ.clear()
            os.environ.update(variables)
            os.closerange(3, max(descriptors) + 1)
            signal.alarm(timeout)
            return [*words]
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        connection.sendall(_STATUS.pack(os.waitstatus_to_exitcode(status)))


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


if __name__ == "__main__":
    from lshdb.__main__ import main
    from lshdb.cli.app import make_app

    make_app()
    for name in _LOADED:
        import_module(name)
    gc.freeze()
    words = _serve(socket.socket(fileno=int(sys.argv[1])))
    if words is not None:
        sys.argv = ["lshdb", *words]
        _run(main)
