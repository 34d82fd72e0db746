"""Translating SQLite's errors to lshdb's own, by SQLite's error code."""

import errno
import os
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from lshdb import errors
from lshdb.store import location

RESTORE = "restore it from a backup (lshdb backup --restore)"
"""The advice about a damaged file. A copy over it would leave the old log beside the new file."""
_NO_DESCRIPTORS = "this process may not open more files: close some, or raise ulimit -n"
_TOO_MANY = (errno.EMFILE, errno.ENFILE)
_DESCRIPTORS = 4
"""Files that SQLite opens for one database: it, its -wal and -shm, and its directory, to sync."""
_ADVICE = {
    sqlite3.SQLITE_FULL: "a disk is full, its own or that of temporary files (the variable TMPDIR "
    "names another directory for these); nothing of the last batch was written",
    sqlite3.SQLITE_IOERR: "reading or writing it failed, as on a disk that is full; nothing of the "
    "last batch was written",
    sqlite3.SQLITE_TOOBIG: "a document is larger than SQLite's limit of 1 GB",
    sqlite3.SQLITE_NOMEM: "out of memory",
}


class translated_errors:  # noqa: N801  # used like the functions of contextlib
    """Raise lshdb's errors in place of SQLite's, chosen by SQLite's error code.

    A class, and no generator: a query enters it eight times, which takes 10 us less.

    Args:
        path: the file, as messages name it.
        real_path: where it is; None for `path` itself.
    """

    def __init__(self, path: Path, real_path: Path | None = None) -> None:
        self._path, self._real_path = path, real_path or path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        path = self._path
        if isinstance(error, sqlite3.Error):
            raise _translate(error, path, self._real_path) from error
        if isinstance(error, OSError) and error.errno in _TOO_MANY:
            raise errors.StoreError(f"{path} cannot be opened: {_NO_DESCRIPTORS}") from error
        if isinstance(error, UnicodeDecodeError):
            # About a value, or SQLite's message about it.
            raise errors.DamagedFile(
                f"{path} is damaged: a text is not UTF-8; {RESTORE}"
            ) from error


def _translate(error: sqlite3.Error, path: Path, real_path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and isinstance(error, sqlite3.OperationalError):
        # The sqlite3 module's own error about a text; its message has the whole text.
        return errors.DamagedFile(f"{path} has a text that is not UTF-8; {RESTORE}")
    if code is None:
        # The sqlite3 module's own error about how it is called.
        return errors.UsageError(f"{path}: {error}")
    primary = code & 0xFF
    # SQLITE_PROTOCOL: for ten seconds, other readers always came first.
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return errors.Busy(f"{path} is locked by another process; try again when it has finished")
    if primary == sqlite3.SQLITE_NOTADB:
        return errors.NotADatabase(f"{path} is not an SQLite database")
    if primary == sqlite3.SQLITE_CORRUPT:
        return errors.DamagedFile(f"{path} is damaged: {error}; {RESTORE}")
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return _not_opened(primary, path, real_path)
    if primary in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH):
        return errors.QueryError(f"{path}: {error}")
    return errors.StoreError(f"{path}: {_ADVICE.get(primary, str(error))}")


def _not_opened(primary: int, path: Path, real_path: Path) -> errors.StoreError:
    """An error for a file that could not be opened, or not be written."""
    # Where the file may not be written, neither may its log: then the file is the reason.
    access = os.R_OK | (os.W_OK if os.access(real_path, os.W_OK) else 0)
    logs = [Path(f"{real_path}{end}") for end in ("-wal", "-shm")]
    existing_logs = [log for log in logs if log.exists()]
    if os.path.isfile(real_path) and not all(os.access(log, access) for log in existing_logs):
        names = " and ".join(str(path.with_name(log.name)) for log in existing_logs)
        return errors.ReadOnly(
            f"{path} cannot be opened: no permission to write {names} beside it, which another "
            "process left: have their owner open the database once, or give you permission; do not "
            "delete them, as they may have documents"
        )
    closed = primary == sqlite3.SQLITE_CANTOPEN and directory_is_read_only(real_path)
    if primary == sqlite3.SQLITE_READONLY or closed:
        return errors.ReadOnly(f"{path} cannot be written: the file or its directory is read-only")
    missing = "there is no such file, and its directory may not be written"
    reason = why_not_opened(path, real_path, missing)
    return errors.StoreError(f"{path} cannot be opened: {reason}")


def why_not_opened(path: Path, real_path: Path, missing: str) -> str:
    """The reason why a file could not be opened; `missing` if only the file does not exist."""
    try:
        with ExitStack() as stack:
            for _ in range(_DESCRIPTORS):
                stack.enter_context(open(os.devnull, "rb", 0))
    except OSError as error:
        if error.errno in _TOO_MANY:
            return _NO_DESCRIPTORS
    if fault := location.length_fault(real_path):
        return fault
    try:
        os.stat(real_path)
    except FileNotFoundError:
        has_directory = os.path.isdir(real_path.parent)
        return missing if has_directory else f"there is no directory {path.parent}"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return "permission denied"


def directory_is_read_only(path: Path) -> bool:
    """Whether the file can be read, but nothing can be written beside it."""
    may_read = os.path.isfile(path) and os.access(path, os.R_OK)
    return may_read and not os.access(path.absolute().parent, os.W_OK)
