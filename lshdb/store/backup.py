"""Copying the file while it is in use: a complete snapshot under the new name, or no file."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lshdb.errors import Busy, StoreError, UsageError
from lshdb.options import BackupOptions
from lshdb.progress import Progress, shown
from lshdb.store import guard, partial_files, sqlite_errors
from lshdb.store import statements as sql
from lshdb.store.store import Store

BLOCK_PAGES = 512
"""Pages that are copied between two reports of progress: 8 MB."""
SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of files that SQLite keeps beside a database in use; a killed process leaves them."""


def back_up(store: Store, target: Path, options: BackupOptions) -> None:
    """Copy the file of an open database, as it is at this moment; others may write meanwhile.

    The copy is written beside the target, as NAME.N.partial, and takes its name when it is on the
    disk.

    Raises:
        UsageError: the target is the database itself.
        StoreError: the target exists and `replace` is false, is in use or is not a file, or
            reading or writing failed; the target is unchanged.
    """
    # A link stays, and the file that it leads to is replaced.
    real = Path(os.path.realpath(target))
    if os.fspath(real) in [f"{store.real_path}{end}" for end in SIDE_FILES]:
        raise UsageError(f"{target} is part of the database: name another file")
    if os.path.exists(real):
        if store.real_path.exists() and real.samefile(store.real_path):
            raise UsageError(f"{target} is the database itself: name another file")
        if not real.is_file():
            raise StoreError(f"{target} is not a file: name a file to create")
        if not options.replace:
            raise StoreError(f"{target} already exists; replace=True (--replace) replaces it")
    # SQLite would use the old file's log with the new file.
    for end in SIDE_FILES:
        if os.path.exists(f"{real}{end}"):
            raise StoreError(f"{target} is in use ({real.name}{end} exists): name another file")
    with (
        partial_files.file_errors(f"{target} cannot be written"),
        shown(options.progress, "copying") as progress,
        copied(store.another_connection(), target, progress) as partial,
    ):
        if not real.exists():
            shutil.copymode(store.real_path, partial.path)
        try:
            partial.take_name(replace=options.replace, sync=True)
        except FileExistsError as error:
            raise StoreError(
                f"{target} was made meanwhile; replace=True (--replace) replaces it"
            ) from error


@contextlib.contextmanager
def copied(
    reader: guard.Connection, target: Path, progress: Progress
) -> Iterator[partial_files.PartialFile]:
    """A copy of what a connection reads, beside a file whose name it may take; else it is deleted.

    The connection is closed at the end.
    """
    with contextlib.closing(reader):
        with reader.errors():
            # The copy is a snapshot. Otherwise it would begin again whenever others write.
            reader.execute("BEGIN")
            reader.execute(sql.COUNT_SCHEMA)
        partial = partial_files.PartialFile(target, private=True)
        try:
            with (
                sqlite_errors.translated_errors(target),
                contextlib.closing(sqlite3.connect(partial.path, isolation_level=None)) as new,
            ):
                new.execute("PRAGMA journal_mode = OFF")  # it needs none until it is complete
                copy_pages(reader, new, target, progress)
            yield partial
        finally:
            partial.discard()


def copy_pages(
    source: sqlite3.Connection, copy: sqlite3.Connection, path: Path, progress: Progress
) -> None:
    """Copy all pages in one transaction; Busy if another process writes to the copy, `path`."""

    def report(status: int, left: int, total: int) -> None:
        if status == sqlite3.SQLITE_BUSY:  # Python would try again for ever
            raise Busy(f"{path} is locked by another process; try again when it has finished")
        progress(total - left, total, "pages")

    source.backup(copy, pages=BLOCK_PAGES, progress=report)
