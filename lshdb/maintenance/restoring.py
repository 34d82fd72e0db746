"""Putting a backup in the place of a database: whole, or nothing at all.

A copy over the file is not enough. What a killed process left in the log beside it would be read as
part of the new file: a mixture of both. Here the old log is first copied into the old file, while
nobody has it open. Then one renaming changes the old file for the new one.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lshdb.errors import Busy, DamagedFile, NotADatabase, StoreError, UsageError
from lshdb.groups import takes_only
from lshdb.maintenance.check import check
from lshdb.options import RestoreOptions
from lshdb.progress import shown
from lshdb.sources.identity import is_same_file
from lshdb.store import connection, guard, location, partial_files, sqlite_errors
from lshdb.store import statements as sql
from lshdb.store.backup import BESIDE, copy

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be replaced
    fcntl = None  # type: ignore[assignment]

_PAUSE = 0.05
"""Seconds between two attempts to have the file alone."""
_LOCK_BYTES = 0x40000000, 512
"""Where SQLite's locks are in a file, and how many bytes: each process that reads has one there."""
_ASIDE = ".replaced"


@dataclass(frozen=True, slots=True)
class Restored:
    """What `lshdb.restore_backup` did.

    Attributes:
        documents: how many documents the database has now.
        replaced: the file that has what the database had before; None if there was nothing.
    """

    documents: int
    replaced: Path | None


@takes_only(RestoreOptions)
def restore_backup(options: RestoreOptions) -> Restored:
    """Put a backup in the place of a database that nobody has open, also of a damaged one.

    The backup is copied beside the database, and the copy is checked, as by `check`. Then the copy
    takes the database's name, in one step: whenever the process is killed, the database is the old
    one or the new one. What it was before stays beside it, as NAME.replaced, until you delete it.
    Changes that a killed process left in the database's log belong to that.

    Raises:
        UsageError: the backup is the database itself.
        NotADatabase: one of the two files is another program's.
        DamagedFile: the backup is not whole; nothing is changed, as after every error.
        Busy: another process, or this one, has the database open.
        StoreError: the backup cannot be read, or the database not be replaced.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    ...     db.backup("friday.db")
    ...     report = db.add("ant", "The ant and the dove")
    >>> lshdb.restore_backup("friday.db", "fables.db").documents
    1
    """
    backup, path = Path(options.backup), Path(options.path)
    real_path = location.located(path)
    location.check_kind(path, real_path)
    if is_same_file(backup, real_path):
        raise UsageError(f"{backup} is the database itself: name a backup of it")
    names = location.other_names(real_path)
    if names and "mounted" in names:
        raise StoreError(f"{path} cannot be replaced: {names}: {location.advice(names, path)}")
    with (
        partial_files.file_errors(f"{path} cannot be replaced"),
        closing(connection.connect(backup, "read", options.timeout)) as source,
    ):
        with source.errors():
            source.execute("BEGIN")  # the copy is of this moment
            source.execute(sql.COUNT_SCHEMA)
        partial = partial_files.PartialFile(real_path, private=True)
        try:
            with (
                shown(options.progress, "copying") as progress,
                sqlite_errors.translated_errors(path, real_path),
            ):
                copy(source, partial.path, progress)
            # Not the backup itself, which others may change meanwhile.
            report = check(partial.path, progress=options.progress)
            if not report.ok:
                kinds = ", ".join(sorted(problem.kind for problem in report.problems))
                raise DamagedFile(
                    f"{backup} is not whole ({kinds}), and nothing is restored: "
                    f"lshdb check -d {backup} says more"
                )
            _copy_owner(real_path if real_path.exists() else source.real_path, partial.path)
            with _alone(path, real_path, options.timeout):
                replaced = _set_aside(real_path)
                partial.take_name(sync=True)
        finally:
            partial.discard()
    if replaced is not None and not path.is_symlink():
        replaced = path.with_name(replaced.name)
    return Restored(report.documents, replaced)


def _copy_owner(path: Path, new: str) -> None:
    """Give a new file the permissions and the owner of another."""
    status = os.stat(path)
    with suppress(OSError, AttributeError):  # only root may give files away, and Windows has none
        os.chown(new, status.st_uid, status.st_gid)
    os.chmod(new, status.st_mode & 0o777)


@contextmanager
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
    with closing(file), sqlite_errors.translated_errors(path, real_path):
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
        raise NotADatabase(
            f"{path} is another program's SQLite database, not lshdb's: it is not replaced"
        )


def _busy(path: Path) -> Busy:
    return Busy(
        f"{path} is open in another program, or in this one: close it there, and restore it then"
    )


@contextmanager
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
    files = [Path(f"{real_path}{end}") for end in ("", *BESIDE)]
    there = [file for file in files if file.exists() and file.stat().st_size]
    aside = _new_name(real_path)
    for file in there:
        new = f"{aside}{file.name.removeprefix(real_path.name)}"
        if file.name.endswith("-shm"):
            continue
        if file != real_path:
            os.rename(file, new)
            continue
        try:
            if not _is_linked(file, new):
                os.link(file, new)
        except OSError:  # a file system without links
            os.rename(file, new)
    Path(f"{real_path}-shm").unlink(missing_ok=True)  # it is made again from the log
    Path(f"{real_path}-wal").unlink(missing_ok=True)  # an empty one
    return aside if there else None


def _new_name(real_path: Path) -> Path:
    """NAME.replaced, or NAME.replaced.2 and so on: one that is free, or has the file already."""
    number, name = 1, Path(f"{real_path}{_ASIDE}")
    while any(os.path.lexists(f"{name}{end}") for end in ("", *BESIDE)):
        if _is_linked(real_path, name):
            break  # by a run that was killed
        number += 1
        name = Path(f"{real_path}{_ASIDE}.{number}")
    return name


def _is_linked(path: Path, other: str | Path) -> bool:
    """Whether two names, which are no links, are hard links to one file."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except OSError:
        return False
