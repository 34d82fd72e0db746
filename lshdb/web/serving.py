"""The pages of one file, served to this machine only."""

import errno
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

import lshdb
from lshdb.errors import LshdbError
from lshdb.web import app, guarding, reviewing

HOST = "127.0.0.1"


def serve(
    path: Path,
    port: int,
    ready: Callable[[str], None],
    review: reviewing.Review | None = None,
    open_files: bool = False,
) -> None:
    """Serve a file's pages until the process is interrupted or ended.

    Args:
        path: an lshdb file.
        port: of 127.0.0.1; 0 for any free one.
        ready: called with the address of the overview as soon as it is served.
        review: of the person who decides on the pages, which then write decisions; None for pages
            that only read.
        open_files: whether the page of a document has a link to its file.

    Raises:
        LshdbError: the port cannot be opened.
    """
    path = path.absolute()
    config = uvicorn.Config(
        guarding.guarded(app.pages(path, path.stem, review, open_files)),
        log_level="error",
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    with _bound(port) as listening:
        # A termination by another program also closes the files.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            ready(f"http://{HOST}:{listening.getsockname()[1]}/")
            uvicorn.Server(config).run(sockets=[listening])
    # Connections that cannot write leave the -wal and -shm; this one does not.
    with suppress(LshdbError):
        lshdb.open(path, mode="read").close()


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LshdbError(f"port {port} is taken: give another --port, or 0 for any") from error
        raise LshdbError(f"port {port} cannot be opened: {error.strerror}") from error
