"""A connection that refuses to be used where documents could be lost.

SQLite itself does not notice that its file, or the log beside it, was deleted or replaced: it goes
on writing to a file without a name. (On Windows an open file cannot be deleted or replaced.) Nor
does it notice a fork: its locks belong to the process that opened the file, and a child process
does not hold them, although SQLite there assumes so.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import RLock, get_ident
from typing import Any
from weakref import WeakValueDictionary

from lshdb.errors import StoreError, UsageError
from lshdb.limits import Limits
from lshdb.options import SqlValue
from lshdb.store.rows import integers
from lshdb.store.sqlite_errors import translated_errors
from lshdb.text.arrays import IntArray

_Identity = tuple[int, int]


class Connection(sqlite3.Connection):
    """SQLite's connection, checked before each statement that is not within a transaction.

    The check takes 5 us: the file, its log and the index of the log must be those that were
    opened. The thread and the process are checked before every statement.

    Attributes:
        path: the file, as the user named it: for messages.
        real_path: where it is, without links and whatever the current directory becomes. SQLite
            keeps the log beside it.
        has_other_log: whether the file has other names, and is read without a log.
        timeout: seconds to wait for other writers.
        limits: maximum sizes and numbers.
        log_limit: bytes of log up to which emptying it is not tried again.
        read_only: whether it was opened only to read.
        rebuilding: whether the index is being rebuilt in the open transaction.
        closed: whether it is closed, or being closed.
        identity: device and inode of the open file.
        watched: those of the file, its log and the index of the log, by what follows its name.
        write_lock: what other writers of this process wait for; None if it does not write.
    """

    def __init__(
        self, path: Path, real_path: Path, limits: Limits, *arguments: Any, **options: Any
    ) -> None:
        self.path, self.real_path, self.limits = path, real_path, limits
        self._is_link = os.path.islink(path)
        self.timeout: float = options["timeout"]
        self.log_limit = 0
        self.has_other_log = False
        self.read_only = self.rebuilding = self.closed = False
        self.identity: _Identity | None = None
        self.write_lock: RLock | None = None
        self._process = os.getpid()
        self._thread = get_ident()
        self.watched: dict[str, _Identity] = {}
        self._version: tuple[int, int] | None = None  # of a file that is read without locks
        super().__init__(*arguments, **options)
        _open[id(self)] = self

    def watch(self, *, immutable: bool) -> None:
        """Remember which files are open, after a first read.

        `immutable`: SQLite takes no locks, so the file must not change at all.
        """
        self.identity = _identity(self.real_path)
        if immutable:
            self._version = _version(self.real_path)
        # In another journal mode there is no log: SQLite then takes plain locks.
        ends = ("",) if immutable else ("", "-wal", "-shm")
        self.watched = {
            end: identity
            for end in ends
            if (identity := _identity(f"{self.real_path}{end}")) is not None
        }

    def has_log_beside(self, real_path: Path) -> bool:
        """Whether its log is beside another file, which took the name of the open file.

        SQLite would apply the log to that other file.
        """
        log = self.watched.get("-wal")
        return (
            self.real_path == real_path and log is not None and _identity(f"{real_path}-wal") == log
        )

    def check_open(self) -> None:
        """UsageError once it is closed."""
        if self.closed:
            raise UsageError(f"{self.path} is closed: open it again")

    def check_owner(self) -> None:
        """UsageError in another thread or process than the one that opened it, or once closed."""
        self.check_open()
        if os.getpid() != self._process:
            raise UsageError(
                f"{self.path} was open when this process was forked, and SQLite's locks do not "
                "pass a fork: close it before, or start processes with spawn"
            )
        if get_ident() != self._thread:
            raise UsageError(
                f"{self.path} was opened in another thread: each thread must open the file itself"
            )

    def check_file(self) -> None:
        """StoreError if a name now belongs to no file, or to another file than the open one."""
        for end, identity in self.watched.items():
            if _identity(f"{self.real_path}{end}") != identity:
                lost = "; what was added last may be lost" if end else ""
                name = self.real_path if end and self._is_link else self.path
                raise StoreError(
                    f"{name}{end} was deleted or replaced while the database was open: close it in "
                    f"all processes and open it again{lost}"
                )

    def check_unchanged(self) -> None:
        """StoreError if a file that is read without locks was changed meanwhile."""
        if self._version is not None and self._version != _version(self.real_path):
            reason = "without permission to write its directory"
            if self.has_other_log:
                reason = "as it has other names"
            raise StoreError(
                f"{self.path} was changed by another process, and could not be locked, {reason}: "
                "try again"
            )

    def errors(self) -> contextlib.AbstractContextManager[None]:
        """Raise lshdb's errors about this file in place of SQLite's."""
        return translated_errors(self.path, self.real_path)

    @contextlib.contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Let SQLite itself wait this long for locks; afterwards as long as usual."""
        super().execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
        try:
            yield
        finally:
            super().execute(f"PRAGMA busy_timeout = {int(self.timeout * 1000)}")

    def check(self) -> None:
        """Run all checks."""
        self.check_owner()
        if not self.in_transaction:
            self.check_file()
            self.check_unchanged()

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Run a statement, if the connection may be used."""
        self.check()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """Run a statement with many rows, if the connection may be used."""
        self.check()
        return super().executemany(*arguments)

    def rows(self, statement: str, *parameters: SqlValue) -> list[tuple[Any, ...]]:
        """All rows of a result; SQLite's errors as lshdb's."""
        with self.errors():
            rows = self.execute(statement, parameters).fetchall()
        self.check_unchanged()
        return rows

    def lazy_rows(self, statement: str, *parameters: SqlValue) -> Iterator[tuple[Any, ...]]:
        """The rows of a result, read lazily one by one; errors as for `rows`."""
        for rows in self.parts(statement, *parameters, size=1):
            yield from rows

    def parts(
        self, statement: str, *parameters: SqlValue, size: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a result, up to `size` at a time, read lazily; errors as for `rows`."""
        with self.errors():
            cursor = self.execute(statement, parameters)
            while rows := cursor.fetchmany(size):
                yield rows
                self.check_owner()
        self.check_unchanged()

    def integers(self, statement: str, *parameters: SqlValue) -> IntArray:
        """The values of a result, row by row, int64[any], without a list of all its rows."""
        with self.errors():
            values = integers(self.execute(statement, parameters))
        self.check_unchanged()
        return values

    def run_many(self, statement: str, rows: Iterable[Sequence[SqlValue | bytearray]]) -> None:
        """Run a statement that writes, for each row of values."""
        with self.errors():
            self.executemany(statement, rows)

    def end(self) -> None:
        """Roll back the open transaction, if there is one, in the process that began it."""
        if os.getpid() != self._process:
            return
        if not self.closed:
            with self.errors():
                # One call: an interrupt comes before or after it, not within.
                self.rollback()
        self.rebuilding = False
        if self.write_lock is not None:
            with contextlib.suppress(RuntimeError):  # it was not acquired
                self.write_lock.release()
            self.write_lock = None

    def close(self) -> None:
        """Close the file; safe to call twice, and in a forked process, where it does nothing."""
        if self.closed or os.getpid() != self._process:
            return
        self.check_owner()
        self.closed = True  # before the log goes: see check_may_open
        log = self.watched.get("-wal")
        if log is not None and _identity(f"{self.real_path}-wal") not in (None, log):
            # The last connection to close copies the log into the file, and deletes it by its name.
            _abandon(self)
        else:
            if self.watched and _identity(self.real_path) != self.identity:
                # SQLite would leave the log, and apply it to the file that now has the name.
                with contextlib.suppress(sqlite3.Error):
                    super().execute("PRAGMA busy_timeout = 0")
                    super().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            super().close()
        self.end()
        _open.pop(id(self), None)


_open: WeakValueDictionary[int, Connection] = WeakValueDictionary()
_abandoned: list[Connection] = []


def _connections() -> list[Connection]:
    """The open connections. Other threads may open and close some meanwhile."""
    # One call, unlike iterating: another thread's opening would make that fail.
    references = _open.valuerefs()
    return [connection for reference in references if (connection := reference()) is not None]


def is_open(file: str | os.stat_result, *, as_log: bool = False) -> bool:
    """Whether this process has a file open as a database, or as the log of one.

    Then nothing else may open it: closing it would release SQLite's locks, which belong to the
    process. `as_log`: only as a log, or as that log's index.
    """
    return (identity := _identity(file)) is not None and any(
        identity in connection.watched.values() and not (as_log and identity == connection.identity)
        for connection in _connections()
    )


def open_inodes() -> set[int]:
    """The inodes of the open database files and their logs.

    A directory's entries have their inodes, so that a walk need not look at each file.
    """
    return {inode for connection in _connections() for _, inode in connection.watched.values()}


def check_may_open(path: Path, real_path: Path) -> None:
    """Raise an error if this process still has the file open in an unsafe state.

    Raises:
        UsageError: the process that forked this one had it open. SQLite here would think that it
            still has those locks, and take none.
        StoreError: it is open, and it or its log was replaced.
    """
    identity = _identity(real_path)
    if identity is None:
        return
    for connection in _abandoned:
        if connection.identity == identity:
            if not connection.closed:
                connection.check_owner()  # it says that it is another process's
            raise StoreError(
                f"{path} cannot be opened again in this process: its log was replaced while it was "
                "open: start another process"
            )
    for connection in _connections():
        if connection.identity != identity and not connection.has_log_beside(real_path):
            continue
        try:
            connection.check_file()
        except StoreError:
            # Another thread may be closing it, and the last one to close deletes the log.
            if not connection.closed:
                raise


def log_size(path: Path) -> int:
    """Bytes of the log beside the file, 0 without one."""
    with contextlib.suppress(OSError):
        return os.stat(f"{path}-wal").st_size
    return 0


def _identity(file: str | Path | os.stat_result) -> _Identity | None:
    with contextlib.suppress(OSError):
        status = file if isinstance(file, os.stat_result) else os.stat(file)
        return status.st_dev, status.st_ino
    return None


def _version(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _abandon(connection: Connection) -> None:
    """Never close the connection, not even at the interpreter's end: SQLite holds a reference.

    A function of the connection has the reference, which the garbage collector does not see.
    """
    _abandoned.append(connection)
    # The error is where another thread forked than the one that opened it.
    with contextlib.suppress(sqlite3.Error):
        connection.create_function("lshdb_kept", 0, lambda: str(connection.path))


def _after_fork() -> None:
    """In the child: leave inherited connections as they are.

    Closing one would release it in the memory shared with the parent's other connections, and may
    delete the log under them.
    """
    for connection in _connections():
        _abandon(connection)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
