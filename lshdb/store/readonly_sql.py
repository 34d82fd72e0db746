"""A user's own SQL, on a separate connection that can only read: a statement, or a condition.

A condition is one expression about a document, evaluated for some of them. SQLite itself decides
whether a text is one expression: it must accept the text in two statements, between parentheses and
between the words of a CASE. A text that ends one of them early is a syntax error in the other.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from lshdb.errors import QueryError
from lshdb.json_text import dumps
from lshdb.options import Parameters, SqlValue
from lshdb.store import functions, guard
from lshdb.store.connection import connect, file_size
from lshdb.store.rows import integers
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


def sealed_connection(other: guard.Connection) -> guard.Connection:
    """A connection for a user's SQL, which can only read, to the file of another connection.

    It is in a transaction, and sees one state of the file until it is closed.
    """
    other.check_file()
    connection = connect(
        other.path, "read", other.timeout, beside=other, sealed=True, limits=other.limits
    )
    try:
        with connection.errors():
            connection.execute("BEGIN")  # no SQL may, once it is sealed
            functions.register_functions(connection)
            connection.set_authorizer(_authorize)
            # In hexadecimal a value has twice its bytes.
            largest = min(max(_LARGEST_VALUE, 2 * file_size(connection.real_path)), 1_000_000_000)
            limits = _LIMITS | {sqlite3.SQLITE_LIMIT_LENGTH: largest}
            for limit, value in limits.items():
                connection.setlimit(limit, value)
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
def user_errors(connection: guard.Connection, subject: str, hint: str = "") -> Iterator[None]:
    """Raise QueryError for errors of a user's SQL; others are the file's.

    `subject` comes before its message, `hint` after it.
    """
    try:
        yield
    except _WRONG as error:
        raise QueryError(f"{subject}: {error}") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code not in _REASONS:
            with connection.errors():
                raise
        reason = str(error).partition("\n")[0] + _REASONS[code] + hint
        raise QueryError(f"{subject}: {reason}") from error


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
    connection.text_factory = lambda raw: raw.decode(errors="replace")
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


# The only statements with a user's text in them. In a subquery, json_each has no columns that the
# text could name by mistake; candidates come from a function, as all parameters are the user's.
_MATCHING = """
    SELECT doc_id FROM documents
    WHERE doc_id IN (SELECT value FROM json_each(lshdb_candidates())) AND (
{expression}
)"""
_IN_CASE = """
    EXPLAIN SELECT CASE WHEN
{expression}
    THEN 1 END FROM documents"""
DocumentFilter = Callable[[arrays.IntArray], arrays.Mask]
"""Takes doc_ids int64[n]; returns True for each document to keep, bool[n]."""
_CONDITION_BLOCK = 10_000
_DOCUMENT = "doc_id, key, shingles, digest, metadata and content"


def condition(
    connection: guard.Connection, expression: str, parameters: Parameters
) -> DocumentFilter:
    """A function that finds the documents that match an expression.

    Args:
        connection: a sealed connection.
        expression: SQL about a document.
        parameters: the values for its parameters.

    Returns:
        A function of doc_ids int64[n] that returns True for each match, bool[n]; it raises
        QueryError if the expression fails.

    Raises:
        QueryError: the text is not one expression, or would do more than read.
    """
    if not expression.strip():
        raise QueryError("where: an expression is needed, such as key = 'a'")
    statement = _MATCHING.format(expression=expression)
    candidates = "[]"
    connection.create_function("lshdb_candidates", 0, lambda: candidates)

    def run(statement: str) -> list[tuple[SqlValue, ...]]:
        with user_errors(connection, "where", f"; the columns are {_DOCUMENT}"):
            return connection.execute(statement, parameters).fetchall()

    def matching(doc_ids: arrays.IntArray) -> arrays.Mask:
        nonlocal candidates
        true = [arrays.NO_NUMBERS]
        for part in arrays.chunks(len(doc_ids), _CONDITION_BLOCK):
            candidates = dumps(doc_ids[part].tolist())
            true.append(integers(run(statement)))
        matches: arrays.Mask = np.isin(doc_ids, np.concatenate(true))
        return matches

    run(statement)
    run(_IN_CASE.format(expression=expression))
    return matching
