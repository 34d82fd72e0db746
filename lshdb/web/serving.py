"""Datasette with lshdb's pages on this machine only, for one file."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import uvicorn
from datasette.app import Datasette
from datasette.plugins import pm

import lshdb
from lshdb.errors import LshdbError, UsageError
from lshdb.web import plugin
from lshdb.web.rendering import Links

HOST: Final = "127.0.0.1"

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_OWN_NAMES: Final = frozenset([HOST, "localhost"])


def serve(path: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve a file's pages until the process is interrupted or ended.

    Args:
        path: an lshdb file.
        port: of 127.0.0.1; 0 for any that is free.
        ready: called with the address of the overview as soon as it is answered.

    Raises:
        UsageError: Datasette cannot open a file of this name.
        LshdbError: the port cannot be had, or lshdb is not installed.
    """
    if set("?#%") & set(str(path.absolute())):
        raise UsageError(f"{path}: Datasette opens no file with ?, # or % in its path: rename it")
    if not pm.is_registered(plugin):  # run from sources, which have no entry point
        raise LshdbError("Datasette does not find lshdb's pages: install lshdb with pip")
    _without_rich()
    datasette = Datasette([str(path.absolute())])
    (name,) = (name for name, file in datasette.databases.items() if file.path is not None)
    config = uvicorn.Config(
        _only_for_this_machine(datasette.app()),
        log_level="error",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    with _bound(port) as listening:
        # Ended by another program, it closes its files as when it is interrupted.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            ready(f"http://{HOST}:{listening.getsockname()[1]}{Links(datasette, name).page()}")
            uvicorn.Server(config).run(sockets=[listening])
    for database in datasette.databases.values():
        database.close()
    # Connections that cannot write, as Datasette's, leave the -wal and -shm; this one is the last.
    with suppress(LshdbError):
        lshdb.open(path, mode="read").close()


def _without_rich() -> None:
    """Keep Datasette from printing tracebacks with rich, which the command line brings.

    It does so for every address that is not found, and fails at some.
    """
    # Imported after the application: the other way round its hook is not registered.
    from datasette import handle_exception

    handle_exception.rich = None


def _bound(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise LshdbError(f"port {port} is taken: give another --port, or 0 for any") from error
        raise LshdbError(f"port {port} cannot be had: {error.strerror}") from error
    return listening


def _only_for_this_machine(app: App) -> App:
    """Refuse requests for a foreign host name.

    A web site can have its name lead to 127.0.0.1, and its scripts then read what is here.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _host(scope) in _OWN_NAMES:
            await app(scope, receive, send)
            return
        text = b"lshdb serve answers to 127.0.0.1 and localhost only\n"
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    return guarded


def _host(scope: Scope) -> str:
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
    return host.rpartition(":")[0] or host
