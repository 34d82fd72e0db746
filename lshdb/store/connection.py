"""Opening and checking the file, transactions, and SQLite's errors as lshdb's own."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, Literal, TypeAlias

from lshdb.errors import (
    Busy,
    DamagedFile,
    NoDatabase,
    NotADatabase,
    OtherFormat,
    QueryError,
    ReadOnly,
    StoreError,
    UsageError,
)
from lshdb.limits import DEFAULTS, Limits
from lshdb.store.guard import Connection, check_may_open, has_log
from lshdb.store.schema import check_contents, schema_statements, seal

_PAUSE: Final = 0.005
"""Maximum seconds between two attempts to begin."""
_LONG: Final = 0.25
"""Seconds that make a transaction long: the next one does not follow at once."""


def begin_writing(connection: Connection) -> None:
    """Begin a write transaction when no other one is active, so that each writer gets its turn.

    SQLite's own waiting checks ten times a second whether the file is free. Between the batches of
    another writer it is free for some milliseconds: with several writers of large batches one may
    wait for minutes. Here a writer checks every few milliseconds, and one that had to wait, or has
    written for long, leaves the others as much time after its own transaction. A single writer
    pays almost nothing.

    Raises:
        sqlite3.OperationalError: SQLITE_BUSY, after the connection's timeout.
    """
    begun = time.monotonic()
    ended, took = connection.wrote
    if connection.waited or took > _LONG:
        time.sleep(max(0.0, ended + min(took, _PAUSE) - begun))
    connection.waited = False
    with connection.waiting(0.0):
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                left = begun + connection.timeout - time.monotonic()
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or left <= 0:
                    raise
            connection.waited = True
            time.sleep(min(random.uniform(0.2, 1) * _PAUSE, left))


Mode: TypeAlias = Literal["create", "write", "read"]

APPLICATION_ID: Final = 0x6C736864
"""The mark of an lshdb file in SQLite's header: the bytes `lshd`."""
FORMAT: Final = 4
"""The version of the tables in schema.sql."""

TIMEOUT: Final = 30.0
"""Seconds to wait for another process's write before giving up, by default."""

_PAGE_SIZE: Final = 16384
CACHE_KIB: Final = 8192
_WRITING_CACHE_KIB: Final = 32768
"""Band rows of a batch touch pages all over the table, and a small cache keeps none of them for the
next batch: a tenth of the time of adding 600,000 documents of 1 KB. Twice as much saves no more."""
_LOG_BYTES: Final = 64 << 20
"""Bytes to which a long log is cut when it begins again."""
_MIN_FREE_BYTES: Final = 1 << 20
"""Free bytes below which a full disk is the reason for errors of reading and writing."""
_ADVICE: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing of the last batch was written",
    sqlite3.SQLITE_IOERR: "reading or writing it failed; nothing of the last batch was written",
    sqlite3.SQLITE_TOOBIG: "a document is larger than SQLite's limit of 1 GB",
    sqlite3.SQLITE_NOMEM: "out of memory",
}


def connect(
    path: Path,
    mode: Mode,
    timeout: float,
    *,
    sealed: bool = False,
    whole: bool = True,
    limits: Limits = DEFAULTS,
) -> Connection:
    """Open the file and check that it is lshdb's, or (mode `create`) new and without tables.

    `sealed` opens it read-only for SQLite itself, which no SQL can change; such a connection needs
    another one that outlives it and removes the -wal and -shm at its end.
    `whole` is false for a check, where tables may be missing.

    Raises:
        UsageError: the process that forked this one had the file open.
        StoreError: and its kinds; the file is as it was.
    """
    # Not "ro" for every mode `read`: the last connection to close removes the -wal and -shm, but
    # one that cannot write leaves them. Without permission to write, "rw" reads too.
    flags = "ro" if sealed else "rwc" if mode == "create" else "rw"
    check_may_open(path)
    with translated_errors(path):
        try:
            return _opened(path, flags, mode, timeout, whole, limits)
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if mode != "create" and code == sqlite3.SQLITE_CANTOPEN and not os.path.exists(path):
                raise NoDatabase(f"no database at {path}: {_why_missing(path)}") from None
            unable = code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            if mode != "read" or not unable or not directory_is_read_only(path):
                raise
        if has_log(path):
            raise StoreError(
                f"{path} has changes in {path.name}-wal, which cannot be read without permission "
                "to write the directory: ask someone who has it to open the file once"
            )
        # SQLite cannot make its -shm. As nobody has the file open, it can be read without locks.
        return _opened(path, "ro&immutable=1", mode, timeout, whole, limits)


def _opened(
    path: Path, flags: str, mode: Mode, timeout: float, whole: bool, limits: Limits
) -> Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={flags}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        cached_statements=64,
        factory=Connection,
    )
    try:
        connection.path = path
        connection.timeout = timeout
        connection.limits = limits
        _configure(connection, path, mode, timeout, whole)
        connection.watch(path, immutable="immutable" in flags)
    except BaseException:
        connection.close()
        raise
    return connection


def directory_is_read_only(path: Path) -> bool:
    """Whether the file can be read, but nothing can be written beside it."""
    may_read = os.path.isfile(path) and os.access(path, os.R_OK)
    return may_read and not os.access(path.absolute().parent, os.W_OK)


def _configure(connection: Connection, path: Path, mode: Mode, timeout: float, whole: bool) -> None:
    seal(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    # A batch's pages stay in memory until COMMIT; with SQLite's 2 MB they are written twice.
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    # Takes effect only if the file has no page yet.
    connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    if not is_new(connection):
        _check_format(connection, path, whole)
    elif mode != "create":
        raise NotADatabase(f"{path} is empty: make a database with lshdb init")
    if mode == "read":
        connection.execute("PRAGMA query_only = ON")
    else:
        _use_wal(connection, timeout)
        # COMMIT waits until the log is on the disk: what was acknowledged survives a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {connection.limits.checkpoint_pages}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        connection.execute("PRAGMA schema_version").fetchone()  # a new file's log is there then
        # Only now: SQLite would count pages by the size that it assumed before it read the file.
        connection.execute(f"PRAGMA cache_size = -{_WRITING_CACHE_KIB}")


def _use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Switch to WAL; here SQLite does not itself wait for others that create the same file."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)


def file_size(path: Path) -> int:
    """The size of the file with its write-ahead log, in bytes."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file has no tables yet."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return bool(tables == 0 and _pragma(connection, "application_id") == 0)


def create_tables(connection: sqlite3.Connection) -> None:
    """Run schema.sql and mark the file, within the caller's transaction."""
    # Not executescript: it would commit the caller's transaction.
    for statement in schema_statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _check_format(connection: sqlite3.Connection, path: Path, whole: bool) -> None:
    """Raise an error if this lshdb cannot read the file; its tables are checked if `whole`."""
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise NotADatabase(f"{path} is another program's SQLite database, not lshdb's")
    version = _pragma(connection, "user_version")
    if version > FORMAT:
        raise OtherFormat(
            f"{path} has format {version}, and this lshdb reads format {FORMAT}: upgrade lshdb"
        )
    if 1 <= version < FORMAT:
        raise OtherFormat(
            f"{path} has format {version}, which no release of lshdb wrote, and this one reads "
            f"format {FORMAT}: add the documents to a new file"
        )
    if whole:
        if version != FORMAT:
            raise DamagedFile(f"{path} has the unknown format {version}")
        check_contents(connection, path)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


@contextmanager
def transaction(
    connection: Connection, kind: Literal["read", "write"], owner: FrameType | None = None
) -> Iterator[None]:
    """All or nothing: commit at the end, roll back on any error, even one of COMMIT itself.

    A read transaction sees one state of the file, whatever others write meanwhile. Within a write
    transaction of the same connection (a stream of documents that queries the database it goes to)
    it is part of that.

    Two interrupts in a row may end this function before it rolls back. The connection then does so
    when it is used again and `owner`, the function whose transaction it is, has ended.
    """
    connection.check_owner()
    connection.end_abandoned()
    if connection.in_transaction:
        if kind == "write":
            raise UsageError("the database is being written to: finish that first")
        yield
        return
    connection.owner = owner
    if kind == "write":
        begin_writing(connection)
    else:
        connection.execute("BEGIN")
    begun = time.monotonic()
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has rolled back by itself after some errors (full disk, out of memory).
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.owner = None
        raise
    connection.owner = None
    if kind == "write":
        _bound_log(connection)
        now = time.monotonic()
        connection.wrote = now, now - begun
        connection.check_file()  # or the changes may have gone to a file without a name
    else:
        connection.check_unchanged()


def _bound_log(connection: Connection) -> None:
    """Empty a log that always has readers, as it would otherwise grow for ever.

    This waits until the present readers have finished; new ones read the file. If one goes on for
    long, the next attempt is when the log is twice as long.
    """
    try:
        size = os.stat(f"{connection.path}-wal").st_size
    except OSError:
        return
    limits = connection.limits
    if size > max(limits.log_bytes, connection.log_limit):
        connection.log_limit = 0 if empty_log(connection, limits.log_seconds) else 2 * size


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
            raise StoreError(
                f"{connection.path}: what was written is safe in its log, but copying that into "
                f"the file failed: {error}"
            ) from error
    return not busy


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise lshdb's errors in place of SQLite's, chosen by SQLite's error code."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path) from error
    except UnicodeDecodeError as error:
        # About a value, or SQLite's message about it.
        raise DamagedFile(f"{path} is damaged: a text is not UTF-8") from error


def _translate(error: sqlite3.Error, path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and isinstance(error, sqlite3.OperationalError):
        # The sqlite3 module's own error about a text; its message has the whole text.
        return DamagedFile(f"{path} has a text that is not UTF-8; restore it from a copy")
    if code is None:
        # The sqlite3 module's own error about how it is called.
        return UsageError(f"{path}: {error}")
    primary = code & 0xFF
    # SQLITE_PROTOCOL: for ten seconds others always began to read first.
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return Busy(f"{path} is locked by another process; try again when it has finished")
    if primary == sqlite3.SQLITE_NOTADB:
        return NotADatabase(f"{path} is not an SQLite database")
    if primary == sqlite3.SQLITE_CORRUPT:
        return DamagedFile(f"{path} is damaged: {error}; restore it from a copy")
    closed = primary == sqlite3.SQLITE_CANTOPEN and directory_is_read_only(path)
    if primary == sqlite3.SQLITE_READONLY or closed:
        return ReadOnly(f"{path} cannot be written: the file or its directory is read-only")
    if primary == sqlite3.SQLITE_CANTOPEN:
        return StoreError(f"{path} cannot be opened: {_why_not_opened(path)}")
    if primary in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH):
        return QueryError(f"{path}: {error}")
    if primary == sqlite3.SQLITE_IOERR and _disk_is_full(path):
        # Even to read, SQLite needs 32 KB beside the file.
        return StoreError(f"{path}: its disk is full: make room and try again")
    return StoreError(f"{path}: {_ADVICE.get(primary, str(error))}")


def _disk_is_full(path: Path) -> bool:
    import shutil

    try:
        return shutil.disk_usage(path.absolute().parent).free < _MIN_FREE_BYTES
    except OSError:
        return False


def _why_not_opened(path: Path) -> str:
    if os.path.isdir(path):
        return "it is a directory"
    if not os.path.isdir(path.parent):
        return f"there is no directory {path.parent}"
    if not os.path.exists(path):
        return "there is no such file, and its directory may not be written"
    return "permission denied"


def _why_missing(path: Path) -> str:
    """Why a file is missing: no directory, or perhaps a similar name is meant."""
    import difflib

    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        return str(error.strerror).lower()
    try:
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
    except FileNotFoundError:
        return f"there is no directory {path.parent}"
    except OSError:
        names = []
    same_kind = [name for name in names if name.endswith((".db", path.suffix or ".db"))]
    near = difflib.get_close_matches(path.name, same_kind, n=1)
    advice = f"is {path.with_name(near[0])} meant?" if near else "lshdb init or lshdb add makes one"
    return f"there is no such file; {advice}"
