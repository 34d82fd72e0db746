"""Opening and checking the file, transactions, and SQLite's errors as lshdb's own."""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from lshdb import errors
from lshdb.limits import DEFAULTS, Limits
from lshdb.options import Mode
from lshdb.store import guard, location, schema, sqlite_errors, transactions
from lshdb.store import statements as sql

APPLICATION_ID = 0x6C736864
"""The mark of an lshdb file in SQLite's header: the bytes `lshd`."""

_PAGE_SIZE = 16384
CACHE_KIB = 8192
_WRITING_CACHE_KIB = 32768
"""Band rows of a batch touch pages all over the table, and a small cache keeps none of them for the
next batch: a tenth of the time of adding 600,000 documents of 1 KB. Twice as much saves no more."""
_LOG_BYTES = 64 << 20
"""Bytes to which a long log is cut when it begins again."""


def connect(
    path: Path,
    mode: Mode,
    timeout: float,
    *,
    beside: guard.Connection | None = None,
    sealed: bool = False,
    whole: bool = True,
    limits: Limits = DEFAULTS,
) -> guard.Connection:
    """Open the file and check that it is lshdb's, or (mode `create`) new and without tables.

    `path` names it in messages. Where it leads to is looked up once, as links and the current
    directory may change: later connections to the same file are opened `beside` the first one.

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
    if beside is None:
        real_path = location.located(path)
        location.check_kind(path)
        if mode == "create" and (reason := location.length_fault(real_path)):
            raise errors.StoreError(f"{path} cannot be made: {reason}: choose a shorter one")
        has_other_log = _check_names(path, real_path, mode)
    else:
        real_path, has_other_log = beside.real_path, beside.has_other_log
    guard.check_may_open(path, real_path)
    if mode != "create" and not os.path.exists(real_path):
        missing = "there is no such file; lshdb init or lshdb add makes one"
        reason = sqlite_errors.why_not_opened(path, real_path, missing)
        raise errors.NoDatabase(f"no database at {path}: {reason}")

    def opened(flags: str) -> guard.Connection:
        connection: guard.Connection = sqlite3.connect(
            f"{real_path.as_uri()}?mode={flags}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            cached_statements=64,
            factory=cast(Any, partial(guard.Connection, path, real_path, limits)),
        )
        connection.has_other_log = has_other_log
        try:
            _prepare(connection, mode, whole)
            connection.watch(immutable="immutable" in flags)
        except BaseException:
            connection.close()
            raise
        return connection

    with sqlite_errors.translated_errors(path, real_path):
        if has_other_log:
            return opened("ro&immutable=1")
        try:
            return opened(flags)
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            unable = code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            is_read_only = sqlite_errors.directory_is_read_only(real_path)
            if mode != "read" or not unable or not is_read_only or guard.log_size(real_path):
                raise
        # SQLite cannot make its -shm. As nobody has the file open, it can be read without locks.
        return opened("ro&immutable=1")


def _prepare(connection: guard.Connection, mode: Mode, whole: bool) -> None:
    """Check a connection that was just opened, and set how it works; sqlite3.Error as usual."""
    schema.seal(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    # A batch's pages stay in memory until COMMIT; with SQLite's 2 MB they are written twice.
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    # Takes effect only if the file has no page yet.
    connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    if not is_new(connection):
        check_format(connection, connection.path)
        if whole:
            schema.check_contents(connection)
    elif mode != "create":
        raise errors.NotADatabase(f"{connection.path} is empty: make a database with lshdb init")
    if mode == "read":
        connection.execute("PRAGMA query_only = ON")
        connection.read_only = True
    else:
        _prepare_writing(connection)


def _check_names(path: Path, real_path: Path, mode: Mode) -> bool:
    """Whether a file must be read without a log, as others may write by another of its names.

    That is only noted; StoreError if it would be written.
    """
    other_names = location.other_names(path, real_path)
    if other_names is None:
        return False
    names, advice = other_names
    if mode != "read":
        raise errors.StoreError(
            f"{path} cannot be written: {names}, and each name has its own log, so documents would "
            f"be lost: {advice}"
        )
    if guard.log_size(real_path):
        return False  # by the name that others write it by, if any do: nobody may begin to
    errors.warn_of_limit(
        errors.Cut(
            "open",
            1,
            f"{path}: {names}, and each name has its own log: documents that are only in the log "
            f"of another name are not read; {advice}",
        )
    )
    return True


@contextmanager
def audited(path: Path, timeout: float, *, write: bool = False) -> Iterator[guard.Connection]:
    """Open a file that may be damaged, in one transaction; only what is committed is written.

    Its texts may not be UTF-8, and have then lone surrogates.

    Raises:
        StoreError: the file cannot be opened, is not lshdb's, or is damaged in its first page.
    """
    with closing(connect(path, "write" if write else "read", timeout, whole=False)) as connection:
        connection.text_factory = lambda raw: raw.decode(errors="surrogateescape")
        with connection.errors():
            if write:
                transactions.begin_writing(connection)
            else:
                connection.execute("BEGIN")
        yield connection


def _prepare_writing(connection: guard.Connection) -> None:
    """Set how the file is written; sqlite3.Error as usual."""
    limits = connection.limits
    # Here SQLite does not itself wait for others that create the same file.
    end = time.monotonic() + connection.timeout
    journal, synchronous = ("WAL", "FULL") if limits.durable else ("MEMORY", "OFF")
    transactions.run_when_free(connection, f"PRAGMA journal_mode = {journal}", end)
    for setting in (
        # COMMIT waits until the log is on the disk: what was acknowledged survives a power cut.
        f"synchronous = {synchronous}",
        "fullfsync = ON",  # macOS has another call for that
        f"wal_autocheckpoint = {limits.checkpoint_pages}",
        f"journal_size_limit = {_LOG_BYTES}",
    ):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("PRAGMA schema_version").fetchone()  # a new file's log is there then
    # Only now: SQLite would count pages by the size that it assumed before it read the file.
    connection.execute(f"PRAGMA cache_size = -{_WRITING_CACHE_KIB}")


def file_size(path: Path) -> int:
    """The size of a file, by its real path, with its write-ahead log, in bytes."""
    return path.stat().st_size + guard.log_size(path)


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file has no tables yet."""
    mark = plain_rows(connection, sql.APPLICATION_ID)
    return mark == plain_rows(connection, sql.COUNT_SCHEMA) == [(0,)]


def create_tables(connection: sqlite3.Connection, parts: Iterable[str]) -> None:
    """Make the tables of every file and of these parts, within the caller's transaction."""
    for part in ("", *parts):
        schema.make_part(connection, part)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {schema.FORMAT}")


def plain_rows(connection: sqlite3.Connection, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a result, whatever row_factory the connection's owner has set."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(statement).fetchall()


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """NotADatabase or OtherFormat if the file is not of the format that is read."""
    if plain_rows(connection, sql.APPLICATION_ID) != [(APPLICATION_ID,)]:
        raise errors.NotADatabase(f"{path} is another program's SQLite database, not lshdb's")
    ((version,),) = plain_rows(connection, sql.USER_VERSION)
    if version != schema.FORMAT:
        advice = "upgrade lshdb" if version > schema.FORMAT else "add the files to a new one"
        raise errors.OtherFormat(
            f"{path} has format {version}, and this lshdb reads format {schema.FORMAT}: {advice}"
        )
