"""A user's own SQL, on a separate connection that can only read."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lshdb.errors import QueryError
from lshdb.options import Parameters, SqlValue
from lshdb.store import functions, guard
from lshdb.store.connection import connect, file_size
from lshdb.text import arrays

_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_SCHEMA_TABLES = {"sqlite_master", "sqlite_schema"}
_WITH_ARGUMENT = {
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
}
_READING_PRAGMAS = _WITH_ARGUMENT | {
    "application_id",
    "collation_list",
    "compile_options",
    "data_version",  # which full-text tables read
    "database_list",
    "encoding",
    "freelist_count",
    "function_list",
    "journal_mode",
    "page_count",
    "page_size",
    "schema_version",
    "user_version",
}
_FORBIDDEN_FUNCTIONS = {
    "load_extension",
    # Reveals addresses of the process, and calls given ones.
    "fts3_tokenizer",
    # Of the shell or extensions: they reach files, or parse data that a file may have forged.
    "edit",
    "fsdir",
    "optimize",
    "readfile",
    "rtreecheck",
    "rtreedepth",
    "rtreenode",
    "sqlite_log",
    "writefile",
    "zipfile",
}
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    # The time of a pattern grows with the square of its length.
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1_000_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
DocumentFilter = Callable[[arrays.IntArray], arrays.Mask]
"""Takes doc_ids int64[n]; returns True for each document to keep, bool[n]."""
_LARGEST_VALUE = 16 << 20
"""Bytes of a value that SQL may make or read, but what a larger file can hold."""


def _authorize(action: int, first: str | None, second: str | None, *_where: str | None) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        reading = name in _READING_PRAGMAS and (second is None or name in _WITH_ARGUMENT)
        return sqlite3.SQLITE_OK if reading else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_UPDATE and first in _SCHEMA_TABLES:
        # Needed to use json_each as a table; IGNORE allows nothing more.
        return sqlite3.SQLITE_IGNORE
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def sealed_connection(other: guard.Connection, *, snapshot: bool = False) -> guard.Connection:
    """A connection for a user's SQL, which can only read, to the file of another connection.

    With `snapshot` it is in a transaction, and sees one state of the file until it is closed.
    """
    other.check_file()
    connection = connect(
        other.path, "read", other.timeout, beside=other, sealed=True, limits=other.limits
    )
    try:
        with connection.errors():
            if snapshot:
                connection.execute("BEGIN")  # no SQL may, once it is sealed
            functions.register_functions(connection)
            connection.set_authorizer(_authorize)
            # In hexadecimal a value has twice its bytes.
            largest = min(max(_LARGEST_VALUE, 2 * file_size(connection.real_path)), 1_000_000_000)
            limits = _LIMITS | {sqlite3.SQLITE_LIMIT_LENGTH: largest}
            for limit, value in limits.items():
                connection.setlimit(limit, value)
            connection.text_factory = lambda raw: raw.decode(errors="replace")
    except BaseException:
        connection.close()
        raise
    return connection


_WRONG = (
    sqlite3.Warning,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    UnicodeEncodeError,
    OverflowError,
)
"""Python's own errors about SQL and values for its parameters."""
_ONLY_READS = ": lshdb sql only reads; no writing, no ATTACH, no PRAGMA that sets"
_REASONS = {
    sqlite3.SQLITE_ERROR: "",
    sqlite3.SQLITE_AUTH: _ONLY_READS,
    sqlite3.SQLITE_READONLY: _ONLY_READS,
    sqlite3.SQLITE_TOOBIG: ": a value may be as large as one in the file",
}
"""SQLite's errors that the user's SQL causes, and additions to their messages."""


@contextmanager
def user_errors(connection: guard.Connection, what: str, hint: str = "") -> Iterator[None]:
    """Raise QueryError for errors of a user's SQL; others are the file's.

    `what` comes before its message, `hint` after it.
    """
    try:
        yield
    except _WRONG as error:
        raise QueryError(f"{what}: {error}") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code not in _REASONS:
            with connection.errors():
                raise
        reason = str(error).partition("\n")[0] + _REASONS[code] + hint
        raise QueryError(f"{what}: {reason}") from error


def run_readonly(
    other: guard.Connection, sql: str, parameters: Parameters
) -> tuple[list[str], Iterator[tuple[SqlValue, ...]]]:
    """Run one SELECT (or EXPLAIN, WITH, reading PRAGMA): column names and an iterator of rows.

    Args:
        other: a connection to the file.
        sql: the statement.
        parameters: values for each ? or :name.

    Raises:
        QueryError: wrong SQL or parameters, several statements, or one that does not only read.
    """
    other.check_owner()
    connection = sealed_connection(other)
    try:
        with user_errors(connection, "SQL"):
            cursor = connection.execute(sql, parameters)
    except BaseException:
        connection.close()
        raise
    names = [column[0] for column in cursor.description or ()]
    return names, _rows(connection, cursor)


def _rows(connection: guard.Connection, cursor: sqlite3.Cursor) -> Iterator[tuple[SqlValue, ...]]:
    try:
        with user_errors(connection, "SQL"):
            for row in cursor:
                yield row
                connection.check_owner()
            connection.check_unchanged()
    finally:
        connection.close()
