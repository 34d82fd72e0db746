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
_WAIT_SHARE: Final = 2
"""But not before it is so long a part of the file: a batch of a large one makes a longer log."""
_LONG: Final = 2
"""How many times that the log may be before it is emptied: others always read it."""
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
        self._done = False
        self._committed = 0  # batches
        self._copying = 0  # how many of them the last checkpoint began with
        self._wanted = 0  # how many of them are to be on the disk
        self._synced = 0  # how many of them are
        self._syncs = False  # whether the thread below sees to that
        self._turn = threading.Condition()
        self._syncing = threading.Thread(target=self._sync, name="lshdb-sync", daemon=True)

    def __enter__(self) -> Checkpointer:
        with translated_errors(self._path):
            (self._usual,) = self._connection.execute("PRAGMA wal_autocheckpoint").fetchone()
            (self._cache,) = self._connection.execute("PRAGMA cache_size").fetchone()
            self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        if hasattr(os, "fdatasync"):
            self._syncs = True
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
            if error is None:
                self._copy_all()
        finally:
            with self._turn:
                self._done = True
                self._turn.notify_all()
            self._thread.shutdown()
            if self._syncing.ident is not None:
                self._syncing.join()
            with translated_errors(self._path):
                self._connection.execute(f"PRAGMA wal_autocheckpoint = {int(self._usual)}")
                self._connection.execute(f"PRAGMA cache_size = {int(self._cache)}")
                self._connection.execute("PRAGMA shrink_memory")

    def before_begin(self, *, last: bool = False) -> None:
        """Call before a transaction: it may wait for a log that has grown long, but not the last.

        After that one the log is copied whole in any case.
        """
        if self._wanted < self._committed:
            with self._turn:
                self._wanted = self._committed
                self._turn.notify_all()
        if self._running is not None and self._running.done():
            self._wait()
        limit = max(_WAIT, self._path.stat().st_size // _WAIT_SHARE)
        if self._logged > limit and not last:
            self._copy_all()
            self._logged = 0
            # The transaction begins the log anew, and the file keeps its size; but if others always
            # read it, the log grows, and is emptied at the limit. So that is not raised again.
            if self._copied and not self._connection.log_limit:
                self._connection.log_limit = 2 * self._size()
        if last and self._running is not None and hasattr(os, "posix_fadvise"):
            self._thread.submit(self._forget, self._running)
        if self._size() > max(_LONG * limit, self._connection.log_limit):
            self._wait()
            self._empty()

    def before_commit(self) -> None:
        """Call before COMMIT: the batch before this one is on the disk afterwards."""
        with self._turn:
            self._turn.wait_for(lambda: self._synced >= self._wanted or not self._syncs)
            synced = self._synced >= self._wanted
        if not synced:
            self._copy_all()  # which syncs it first

    def after_commit(self) -> None:
        """Call after COMMIT."""
        self._committed += 1
        if self._running is not None and self._running.done():
            self._wait()
        if self._running is None and self._size() > _START:
            self._start()

    def _start(self) -> None:
        self._copying = self._committed
        self._running = self._thread.submit(self._checkpoint)

    def _copy_all(self) -> None:
        """Wait until all batches are copied, as far as others let them be; but not a short log."""
        self._wait()
        if self._copying < self._committed and self._size() > _START:
            self._start()
            self._wait()

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

    def _forget(self, checkpoint: Future[tuple[int, bool]]) -> None:
        """Have the system forget what a checkpoint has copied of the log, when it has ended.

        The last batch comes behind that. To delete a file takes the longer the more of it is in
        memory, which others may use now.
        """
        copied, _ = checkpoint.result()
        file = os.open(self._log, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, copied, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)

    def _sync(self) -> None:
        """Sync the log when a batch is followed by another, and now and then meanwhile.

        Then COMMIT and checkpoints have little to wait for.
        SQLite holds no lock on this file, which closing it here would end.
        """
        step_back()
        changed = 0  # when it was, as the file system tells, which may be some milliseconds off
        with suppress(OSError):  # SQLite will be told by its own sync
            while True:
                with self._turn:
                    if self._synced >= self._wanted and not self._done:
                        self._turn.wait(_SYNC_SECONDS)
                    if self._done:
                        break
                    wanted = self._wanted
                last = self._log.stat().st_mtime_ns
                if last != changed or wanted > self._synced:
                    file = os.open(self._log, os.O_RDONLY)
                    try:
                        os.fdatasync(file)
                    finally:
                        os.close(file)
                    changed = last
                with self._turn:
                    self._synced = wanted
                    self._turn.notify_all()
        with self._turn:
            self._syncs = False
            self._turn.notify_all()
