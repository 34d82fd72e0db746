"""Changing a database file for another one: the old or the new, whenever the process is killed.

A renaming is one step, but SQLite would read the old file's log as part of the new file. So nobody
may have the old file open, and its log is copied into it first.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from lshdb import errors
from lshdb.progress import Progress
from lshdb.store import backup, connection, guard, location, partial_files, sqlite_errors

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be replaced
    fcntl = None  # type: ignore[assignment]

_PAUSE = 0.05
"""Seconds between two attempts to have the file alone."""
_LOCK_BYTES = 0x40000000, 512
"""Where SQLite's locks are in a file, and how many bytes: each process that reads has one there."""
_ASIDE = ".replaced"


@contextlib.contextmanager
def copy_of(
    source: Path, path: Path, timeout: float, progress: Progress
) -> Iterator[partial_files.PartialFile]:
    """A copy of a database beside another one, with its owner, which it may replace; else deleted.

    Raises:
        StoreError: there is no file to replace at the path, or the source cannot be read, or the
            copy not be written.
    """
    real_path = location.located(path)
    location.check_kind(path)
    names = location.other_names(real_path)
    if names and "mounted" in names:
        raise errors.StoreError(
            f"{path} cannot be replaced: {names}: {location.advice(names, path)}"
        )
    with (
        partial_files.file_errors(f"{path} cannot be replaced"),
        backup.copied(connection.connect(source, "read", timeout), path, progress) as partial,
    ):
        status = os.stat(real_path if real_path.exists() else source)
        with contextlib.suppress(
            OSError, AttributeError
        ):  # only root gives files away, and Windows has none
            os.chown(partial.path, status.st_uid, status.st_gid)
        os.chmod(partial.path, status.st_mode & 0o777)
        yield partial


def replace_database(path: Path, new: partial_files.PartialFile, timeout: float) -> Path | None:
    """Let a new file take the name of a database, and survive a power cut.

    Returns:
        Where the old one is now; None if there was none.

    Raises:
        Busy: others have it open for longer than the timeout.
        NotADatabase: it is another program's.
    """
    real_path = Path(new.target)
    with _alone(path, real_path, timeout):
        aside = _set_aside(real_path)
        new.take_name(sync=True)
    return aside if aside is None or path.is_symlink() else path.with_name(aside.name)


@contextlib.contextmanager
def _alone(path: Path, real_path: Path, timeout: float) -> Iterator[None]:
    """Let nobody open the database, whose log is copied into it first.

    Raises:
        Busy: others have it open for longer than the timeout.
        NotADatabase: it is another program's.
    """
    if not real_path.exists():
        yield
        return
    guard.check_may_open(path, real_path)
    if not real_path.stat().st_size:  # SQLite would delete the log of an empty file
        with _locked(path, real_path):
            yield
        return
    is_damaged = False
    file = sqlite3.connect(f"{real_path.as_uri()}?mode=rw", uri=True, isolation_level=None)
    with contextlib.closing(file), sqlite_errors.translated_errors(path, real_path):
        try:
            file.execute("PRAGMA busy_timeout = 0")
            # Before the first read: it takes the file's lock for itself, and needs no -shm.
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            _take_back_log(file, path, time.monotonic() + timeout)
        except sqlite3.DatabaseError as error:  # IOERR and the like are operational errors
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            is_damaged = True
        if not is_damaged:
            # SQLite has it emptied, and would delete it by its name when it closes the old file.
            if fcntl is None:
                file.close()  # Windows replaces no file that anybody has open
            Path(f"{real_path}-journal").unlink(missing_ok=True)
            yield
    if is_damaged:
        with _locked(path, real_path):
            yield


def _take_back_log(file: sqlite3.Connection, path: Path, end: float) -> None:
    """Copy the log into the file, and take all its locks, as soon as nobody else has it open."""
    while True:
        try:
            file.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            if time.monotonic() > end:
                raise _busy(path) from error
        else:
            break
        time.sleep(_PAUSE)
    file.execute("BEGIN EXCLUSIVE")
    file.execute("COMMIT")
    if not connection.is_new(file) and not connection.is_lshdb(file):
        raise errors.NotADatabase(
            f"{path} is another program's SQLite database, not lshdb's: it is not replaced"
        )


def _busy(path: Path) -> errors.Busy:
    return errors.Busy(
        f"{path} is open in another program, or in this one: close it there, and restore it then"
    )


@contextlib.contextmanager
def _locked(path: Path, real_path: Path) -> Iterator[None]:
    """Take SQLite's locks in a file that SQLite itself cannot read.

    No connection of this process has it open: closing it here would end the locks of that.
    """
    if guard.is_open(str(real_path)):
        raise _busy(path)
    if fcntl is None:
        yield
        return
    start, size = _LOCK_BYTES
    with open(real_path, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, size, start)
        except OSError as error:
            raise _busy(path) from error
        yield


def _set_aside(real_path: Path) -> Path | None:
    """Give what is there another name too, and move its log to that name.

    There is a log only of a damaged file, or of one that is gone: that of another was copied into
    it. Until the new file takes the name, the old one still has it.
    """
    files = [Path(f"{real_path}{end}") for end in ("", *backup.SIDE_FILES)]
    existing_files = [file for file in files if file.exists() and file.stat().st_size]
    aside = _new_name(real_path)
    for file in existing_files:
        new = f"{aside}{file.name.removeprefix(real_path.name)}"
        if file.name.endswith("-shm"):
            continue
        if file != real_path:
            os.rename(file, new)
            continue
        try:
            if not partial_files.is_second_name(str(file), new):
                os.link(file, new)
        except OSError:  # a file system without links
            os.rename(file, new)
    Path(f"{real_path}-shm").unlink(missing_ok=True)  # it is made again from the log
    Path(f"{real_path}-wal").unlink(missing_ok=True)  # an empty one
    return aside if existing_files else None


def _new_name(real_path: Path) -> Path:
    """NAME.replaced, or NAME.replaced.2 and so on: one that is free, or has the file already."""
    number, name = 1, Path(f"{real_path}{_ASIDE}")
    while any(os.path.lexists(f"{name}{end}") for end in ("", *backup.SIDE_FILES)):
        if partial_files.is_second_name(str(real_path), str(name)):
            break  # by a run that was killed
        number += 1
        name = Path(f"{real_path}{_ASIDE}.{number}")
    return name
