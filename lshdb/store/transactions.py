"""Transactions: all or nothing, each writer in its turn, and a log that does not grow for ever."""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lshdb import errors
from lshdb.store.guard import Connection, log_size

TransactionKind = Literal["read", "write", "rebuild"]

PAUSE = 0.005
"""Maximum seconds between two attempts to begin."""
_LONG = 0.25
"""Seconds that make a transaction long: it leaves others a moment to begin theirs."""

_locks: dict[object, threading.RLock] = {}
"""The lock of each file that this process writes, by its device and inode."""


@dataclass(eq=False)
class Transaction:
    """All or nothing: commits at the end, rolls back on any error, even one of COMMIT itself.

    A read transaction sees one state of the file, whatever others write meanwhile. Within a write
    transaction of the same connection (a stream of documents that queries the database it goes to)
    it is part of that. While the index is rebuilt nothing may read it: kind `rebuild`.

    Attributes:
        committed: whether the changes are in the file, also where an interrupt followed COMMIT.

    Raises:
        UsageError: another transaction of the connection is open, and this one may not be in it.
        StoreError: SQLite's errors at the start and the end, as lshdb's.
        ReadOnly: the file was opened only to read.
    """

    _connection: Connection
    _kind: TransactionKind
    _begun: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        self._outermost = self._waited = self.committed = False
        self._since = 0.0

    def __enter__(self) -> None:
        connection = self._connection
        connection.check_owner()
        if connection.in_transaction:
            if connection.rebuilding:
                raise errors.UsageError("the database is being reindexed: finish that first")
            if self._kind != "read":
                raise errors.UsageError("the database is being written to: finish that first")
            return
        if self._kind != "read" and connection.read_only:
            raise errors.ReadOnly(
                f"{connection.path} was opened only to read: open it with mode='write'"
            )
        try:
            with connection.errors():
                if self._kind == "read":
                    connection.execute("BEGIN")
                else:
                    self._waited = begin_writing(connection)
                self._outermost = True
                self._since = time.monotonic()
                connection.rebuilding = self._kind == "rebuild"
                if self._begun is not None:
                    self._begun()
        except BaseException:
            connection.end()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._outermost:
            return
        connection = self._connection
        try:
            if kind is None:
                with connection.errors():
                    connection.execute("COMMIT")
        finally:
            if kind is None and not connection.closed:
                self.committed = not connection.in_transaction
            try:
                connection.end()
            finally:  # a second interrupt may have ended the first try
                connection.end()
        if kind is not None:
            return
        if self._kind == "read":
            connection.check_unchanged()
            return
        # A log that always has readers would otherwise grow for ever. This waits until the present
        # readers have finished; new ones read the file. If one goes on for long, the next attempt
        # is when the log is twice as long.
        size, limits = log_size(connection.real_path), connection.limits
        if size > max(limits.log_bytes, connection.log_limit):
            with connection.errors():
                emptied = empty_log(connection, limits.log_seconds)
            connection.log_limit = 0 if emptied else 2 * size
        connection.check_file()  # or the changes may have gone to a file without a name
        took = time.monotonic() - self._since
        if self._waited or took > _LONG:
            time.sleep(min(took, PAUSE))


def begin_writing(connection: Connection) -> bool:
    """Begin a write transaction when no other one is active, so that each writer gets its turn.

    Writers of this process wait for a lock, and only the one that has it tries to begin. SQLite's
    own waiting checks ten times a second whether another process has ended its transaction, and
    between two large batches the file is free for some milliseconds. Here a writer checks every few
    milliseconds, and one that had to wait, or has written for long, leaves the others as much time
    after its own transaction. Beside two processes that write for 0.3 s at a time, a third one so
    begins 7 times as often, and waits for 2.7 s at most instead of 8.5.

    Returns:
        Whether it had to wait for another process.

    Raises:
        sqlite3.OperationalError: SQLITE_BUSY, after the connection's timeout.
    """
    end = time.monotonic() + connection.timeout
    connection.write_lock = _locks.setdefault(connection.identity, threading.RLock())
    # If the time ends here, SQLite reports the file as locked, as it does to a second connection of
    # the thread that has the lock.
    connection.write_lock.acquire(timeout=connection.timeout)
    with connection.waiting(0.0):
        return run_when_free(connection, "BEGIN IMMEDIATE", end)


def run_when_free(connection: Connection, statement: str, end: float) -> bool:
    """Run a statement as soon as others let it, until a time; return whether it had to wait."""
    waited = False
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        else:
            return waited
        waited = True
        time.sleep(random.uniform(0.2, 1) * PAUSE)


def empty_log(connection: Connection, patience: float) -> bool:
    """Copy the log into the file and free its space.

    Returns:
        Whether that was possible: not if others read it for longer than `patience` seconds, nor on
        a disk that is too full for the copy. All data is then safe in the log, which COMMIT synced.

    Raises:
        StoreError: copying failed for another reason; all data is safe in the log.
    """
    with connection.waiting(patience):
        try:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.DatabaseError as error:  # SQLite calls a failed read a damaged file
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY):
                return False
            raise errors.StoreError(
                f"{connection.path}: what was written is safe in its log, but copying that into "
                f"the file failed: {error}"
            ) from error
    return not busy


if hasattr(os, "register_at_fork"):
    # The threads that hold locks do not pass a fork.
    os.register_at_fork(after_in_child=_locks.clear)
