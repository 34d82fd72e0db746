"""Copying the file while it is in use: one moment of it, whole under its new name or not at all."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from lshdb.errors import StoreError, UsageError
from lshdb.store.connection import connect, translated_errors
from lshdb.store.partial_files import PARTIAL, lock

_PAGES_AT_ONCE: Final = 512
"""Between two reports of progress: 8 MB."""
_BESIDE: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a file that is in use, or was when its process died."""


def back_up(
    path: Path,
    target: Path,
    timeout: float,
    *,
    replace: bool,
    on_progress: Callable[[int, int], None],
) -> None:
    """Copy a database file, as it is at this moment; others may write meanwhile.

    The copy is made beside the target, as NAME.N.partial, and takes its name when it is on the
    disk.

    Raises:
        UsageError: the target is the database itself.
        StoreError: the target is there and `replace` is false, or it is in use, or it is no
            file, or reading or writing failed; the target is as before.
    """
    shown = target
    # A link stays one, and the file that it leads to is replaced.
    target = Path(os.path.realpath(target))
    _check_target(path, target, shown, replace)
    connection = connect(path, "read", timeout)
    try:
        with translated_errors(path):
            # The copy is of this moment. Without, it would begin again whenever others write.
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_schema")
        with _partial(target, shown) as partial:
            _copy(connection, partial, shown, on_progress)
            if target.exists():
                shutil.copymode(target, partial)
            else:
                shutil.copymode(path, partial)
            with _named(shown):
                _rename(partial, target, replace)
    finally:
        connection.close()


def _check_target(path: Path, target: Path, shown: Path, replace: bool) -> None:
    own = os.path.realpath(path)
    if os.fspath(target) in [own + end for end in _BESIDE]:
        raise UsageError(f"{shown} is a part of the database itself: name another file")
    if target.exists():
        if path.exists() and target.samefile(path):
            raise UsageError(f"{shown} is the database itself: name another file")
        if not target.is_file():
            raise StoreError(f"{shown} is no file: name one to be made")
        if not replace:
            raise StoreError(f"{shown} is there already; --force replaces it")
    # A new file would be read and written with the old one's log.
    for end in _BESIDE:
        beside = target.with_name(target.name + end)
        if beside.exists():
            raise StoreError(f"{shown} is in use, for there is {beside.name}: name another file")


@contextmanager
def _partial(target: Path, shown: Path) -> Iterator[Path]:
    """A new file beside the target, which is gone at the end if it has no other name."""
    partial = target.with_name(f"{target.name}.{os.getpid()}{PARTIAL}")
    with _named(shown):
        # Until it is complete, nobody else may read what perhaps only the owner may.
        file = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, stat.S_IRUSR | stat.S_IWUSR)
    lock(file)
    if os.name != "posix":  # there it is not locked, and what is open cannot be renamed
        os.close(file)
    try:
        yield partial
    finally:
        if os.name == "posix":
            os.close(file)
        for end in ("", *_BESIDE):
            with suppress(OSError):
                partial.with_name(partial.name + end).unlink()


def _copy(
    connection: sqlite3.Connection,
    partial: Path,
    shown: Path,
    on_progress: Callable[[int, int], None],
) -> None:
    with translated_errors(shown):
        copy = sqlite3.connect(partial, isolation_level=None)
        try:
            # It has its name only when it is complete: no journal is needed.
            copy.execute("PRAGMA journal_mode = OFF")
            connection.backup(
                copy,
                pages=_PAGES_AT_ONCE,
                progress=lambda _, left, total: on_progress(total - left, total),
            )
        finally:
            copy.close()


def _rename(partial: Path, target: Path, replace: bool) -> None:
    _sync(partial)
    if replace:
        os.replace(partial, target)
    else:
        _link(partial, target)
    if os.name == "posix":  # elsewhere directories cannot be opened, and need not be
        _sync(target.parent)


def _link(partial: Path, target: Path) -> None:
    """Give the file its name, which nothing may have; the other is taken away later."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, where the name may be taken at this moment
        if target.exists():
            raise FileExistsError from None
        os.rename(partial, target)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _named(shown: Path) -> Iterator[None]:
    """Tell what the system complains of by the name that the user gave."""
    try:
        yield
    except FileExistsError as error:
        raise StoreError(f"{shown} was made meanwhile; --force replaces it") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(f"{shown} cannot be written: {reason}") from error
