"""Copying the write-ahead log into the file while the next batch is being made."""

from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from lshdb.processes import step_back
from lshdb.store.connection import connect, translated_errors
from lshdb.store.guard import Connection

_START: Final = 16 << 20
"""Bytes of log from which on it is copied; SQLite's own default in pages of 16 KB."""
_WAIT: Final = 256 << 20
"""Bytes of log at which writing waits until all is copied: then the log begins anew."""
_LONG: Final = 512 << 20
"""Bytes of log from which on it is emptied, unless it is to begin anew: others always read it."""
_SYNC_SECONDS: Final = 0.15
"""Seconds between attempts to have the system write to the disk what is in the log."""
_PATIENCE: Final = 1.0
"""Seconds to wait for them."""
_CACHE_KIB: Final = 65536
"""The cache meanwhile: a batch's band rows touch pages throughout the table, and in a smaller one
none of them would be there for the next."""


class Checkpointer:
    """Checkpoints in a thread of its own, and a large cache, for one that writes many batches.

    SQLite by itself checkpoints in the COMMIT, which waits for the disk and is half of the time
    that writing takes. At most the last batch is not yet synced to the disk at any moment, as
    with SQLite's own way. Use as a context manager around all batches.
    """

    def __init__(self, connection: Connection, path: Path, timeout: float) -> None:
        self._connection = connection
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        self._timeout = timeout
        self._thread = ThreadPoolExecutor(1, "lshdb-checkpoint", step_back)
        self._running: Future[tuple[int, bool]] | None = None
        self._logged = 0  # bytes in the log when it was copied last
        self._copied = True  # whether all of them were
        self._done = threading.Event()
        self._syncing = threading.Thread(target=self._sync, name="lshdb-sync", daemon=True)

    def __enter__(self) -> Checkpointer:
        with translated_errors(self._path):
            (self._usual,) = self._connection.execute("PRAGMA wal_autocheckpoint").fetchone()
            (self._cache,) = self._connection.execute("PRAGMA cache_size").fetchone()
            self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        if hasattr(os, "fdatasync"):
            self._syncing.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._wait()
        finally:
            self._done.set()
            self._thread.shutdown()
            if self._syncing.ident is not None:
                self._syncing.join()
            with translated_errors(self._path):
                self._connection.execute(f"PRAGMA wal_autocheckpoint = {int(self._usual)}")
                self._connection.execute(f"PRAGMA cache_size = {int(self._cache)}")
                self._connection.execute("PRAGMA shrink_memory")

    def before_begin(self) -> None:
        """Call before a transaction: it may wait for a log that has grown long."""
        if self._logged > _WAIT:
            self.after_commit()
            self._wait()
            self._logged = 0
            # The transaction begins the log anew, and the file keeps its size; but if others always
            # read it, the log grows, and is emptied at the limit. So that is not raised again.
            if self._copied and not self._connection.log_limit:
                self._connection.log_limit = 2 * self._size()
        if self._size() > max(_LONG, self._connection.log_limit):
            self._wait()
            self._empty()

    def before_commit(self) -> None:
        """Call before COMMIT: the batch before this one is on the disk afterwards."""
        self._wait()

    def after_commit(self) -> None:
        """Call after COMMIT."""
        if self._running is None and self._size() > _START:
            self._running = self._thread.submit(self._checkpoint)

    def _size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def _wait(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            with translated_errors(self._path):
                try:
                    self._logged, self._copied = running.result()
                except sqlite3.OperationalError as error:
                    # A disk too full for the copy: all is safe in the log, which was synced first.
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
                        raise

    def _empty(self) -> None:
        """Empty a log that others always read, so that it would grow for as long as they do.

        This waits until nobody reads it; who begins to read now reads the file. Where somebody
        goes on for long, it is tried again when the log is twice as long.
        """
        size = self._size()
        with translated_errors(self._path):
            self._connection.execute(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")
            (busy, _, _) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._connection.execute(f"PRAGMA busy_timeout = {int(self._timeout * 1000)}")
        self._connection.log_limit = 2 * size if busy else 0

    def _checkpoint(self) -> tuple[int, bool]:
        """Copy what is in the log; how many bytes it had, and whether all are copied."""
        connection = connect(self._path, "write", self._timeout)
        try:
            # PASSIVE copies what no reader still needs, and waits for nobody.
            row = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            (page_size,) = connection.execute("PRAGMA page_size").fetchone()
            return max(0, int(row[1])) * int(page_size), row[1] == row[2]
        finally:
            connection.close()

    def _sync(self) -> None:
        """Sync the log now and then, so that a checkpoint, which does so first, need not wait.

        SQLite holds no lock on this file, which closing it here would end.
        """
        step_back()
        written = 0
        while not self._done.wait(_SYNC_SECONDS):
            with suppress(OSError):  # SQLite will be told by its own sync
                last = self._log.stat().st_mtime_ns
                if last != written:
                    file = os.open(self._log, os.O_RDONLY)
                    try:
                        os.fdatasync(file)
                    finally:
                        os.close(file)
                    written = last
