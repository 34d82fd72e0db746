"""Datasette with lshdb's pages on this machine only, for one file."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn
from datasette.app import Datasette
from datasette.plugins import pm

import lshdb
from lshdb.errors import LshdbError, UsageError
from lshdb.store.connection import directory_is_read_only
from lshdb.web import plugin
from lshdb.web.rendering import Links
from lshdb.web.reviewing import begin

HOST: Final = "127.0.0.1"
_SETTINGS: Final = {
    # Datasette tries each column of a table as a facet: 0.7 s for 100,000 documents, whose keys and
    # contents are none. `?_facet=` in an address still works.
    "suggest_facets": False,
}


def serve(path: Path, port: int, ready: Callable[[str], None], reviewer: str | None = None) -> None:
    """Serve a file's pages until the process is interrupted or ended.

    Args:
        path: an lshdb file.
        port: of 127.0.0.1; 0 for any free one.
        ready: called with the address of the overview as soon as it is served.
        reviewer: the name of the person who decides on the pages, which then write decisions; None
            for pages that only read.

    Raises:
        UsageError: Datasette cannot open a file of this name.
        LshdbError: the port cannot be opened, or lshdb is not installed.
    """
    if set("?#%") & set(str(path.absolute())):
        raise UsageError(f"{path}: Datasette opens no file with ?, # or % in its path: rename it")
    if not pm.is_registered(plugin):  # run from sources, which have no entry point
        raise LshdbError("Datasette does not find lshdb's pages: install lshdb with pip")
    # Imported after the application: the other way round its hook is not registered.
    from datasette import handle_exception

    # It prints tracebacks with rich, which the command line imports, for every unknown address,
    # and fails at some.
    handle_exception.rich = None
    files = [str(path.absolute())]
    # SQLite cannot make its -shm without permission to write: as nobody else has the file open, it
    # can be read without it. lshdb's own pages notice if it still changes.
    fixed = directory_is_read_only(path)
    datasette = Datasette(
        [] if fixed else files, immutables=files if fixed else [], settings=_SETTINGS
    )
    if reviewer is not None:
        begin(path, reviewer)
    (name,) = (name for name, file in datasette.databases.items() if file.path is not None)
    config = uvicorn.Config(
        datasette.app(),
        log_level="error",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    with _bound(port) as listening:
        # A termination by another program also closes the files.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            ready(f"http://{HOST}:{listening.getsockname()[1]}{Links(datasette, name).page()}")
            uvicorn.Server(config).run(sockets=[listening])
    for database in datasette.databases.values():
        database.close()
    # Connections that cannot write, as Datasette's, leave the -wal and -shm; this one does not.
    with suppress(LshdbError):
        lshdb.open(path, mode="read").close()


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LshdbError(f"port {port} is taken: give another --port, or 0 for any") from error
        raise LshdbError(f"port {port} cannot be opened: {error.strerror}") from error
