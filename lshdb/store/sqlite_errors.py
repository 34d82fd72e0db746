"""SQLite's errors as lshdb's own, chosen by SQLite's error code."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lshdb.errors import (
    Busy,
    DamagedFile,
    NotADatabase,
    QueryError,
    ReadOnly,
    StoreError,
    UsageError,
)

_MIN_FREE_BYTES = 1 << 20
"""Free bytes below which a full disk is the reason for errors of reading and writing."""
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing of the last batch was written",
    sqlite3.SQLITE_IOERR: "reading or writing it failed; nothing of the last batch was written",
    sqlite3.SQLITE_TOOBIG: "a document is larger than SQLite's limit of 1 GB",
    sqlite3.SQLITE_NOMEM: "out of memory",
}


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
        missing = "there is no such file, and its directory may not be written"
        return StoreError(f"{path} cannot be opened: {why_not_opened(path, missing)}")
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


def why_not_opened(path: Path, missing: str) -> str:
    """The reason why a file could not be opened; `missing` if only the file is not there."""
    if os.path.isdir(path):
        return "it is a directory"
    if not os.path.isdir(path.parent):
        return f"there is no directory {path.parent}"
    try:
        os.stat(path)
    except FileNotFoundError:
        return missing
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return "permission denied"


def directory_is_read_only(path: Path) -> bool:
    """Whether the file can be read, but nothing can be written beside it."""
    may_read = os.path.isfile(path) and os.access(path, os.R_OK)
    return may_read and not os.access(path.absolute().parent, os.W_OK)
