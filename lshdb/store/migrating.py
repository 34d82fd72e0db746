"""Making a file of format 7 of one of format 6, in one transaction: all of it, or nothing.

Format 7 has more columns, and knows the directory that keys of files are relative to (its root).
Signatures, band rows and digests stay as they are.
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from lshdb import errors
from lshdb.store import guard, location, schema, transactions
from lshdb.store import statements as sql
from lshdb.store.sqlite_errors import RESTORE


def migrate(connection: guard.Connection, root: str | None) -> None:
    """Give a file of format 6 the tables of format 7; a file of format 7 stays as it is.

    Args:
        connection: open for writing, its schema checked.
        root: the directory that keys of files are relative to, if the user named it.

    Raises:
        DamagedFile: a table is missing or differs; nothing is changed.
        StoreError: SQLite's errors, as lshdb's; nothing is changed.
    """
    with connection.errors():
        if connection.execute(sql.USER_VERSION).fetchone() != (schema.MIGRATED,):
            return
        with transactions.Transaction(connection, "write"):
            if connection.execute(sql.USER_VERSION).fetchone() != (schema.MIGRATED,):
                return  # another process has done it meanwhile
            fault = next(
                (fault for fault in schema.faults(connection) if not fault.tolerable), None
            )
            if fault is not None:
                raise errors.DamagedFile(f"{connection.path}: {fault.what}; {RESTORE}")
            _change_tables(connection)
            keys = (key for (key,) in connection.execute(sql.RELATIVE_KEYS))
            directory = root or likely_root(keys, connection.real_path)
            if directory is not None:
                set_first_root(connection, directory, {"decisions"})
            if not connection.execute(sql.HAS_PASSAGES).fetchone():
                connection.execute(sql.DROP_PART[schema.FINGERPRINTS])
            if not connection.execute(sql.HAS_DECISIONS).fetchone():
                connection.execute(sql.DROP_PART["decisions"])


def _change_tables(connection: guard.Connection) -> None:
    for statement in sql.ADDED_COLUMNS:
        connection.execute(statement)
    # ALTER TABLE writes definitions of its own; those of schema.sql go in their place.
    connection.execute("PRAGMA writable_schema = ON")
    for definition in schema.definitions(("decisions",)):
        if definition.name in ("settings", "files", "decisions"):
            connection.execute(sql.SET_DEFINITION, (definition.name, definition.statement))
    connection.execute("PRAGMA writable_schema = RESET")
    connection.execute(f"PRAGMA user_version = {schema.FORMAT}")


def likely_root(keys: Iterable[str], real_path: Path) -> str | None:
    """The first directory from which a relative key leads to a file; None if there is none.

    Keys were relative to the directory in which they were added, which nobody stored.

    Args:
        keys: the relative keys of files in a database.
        real_path: of the database, whose directory is the first to be tried.
    """
    keys = [*keys]
    directories = [str(real_path.parent), os.curdir]
    leading = (
        directory
        for directory in directories
        if any(_leads_to_file(os.path.join(directory, key)) for key in keys)
    )
    return next(leading, None if keys else directories[0])


def set_first_root(
    connection: guard.Connection, directory: str | os.PathLike[str], parts: Collection[str]
) -> None:
    """Store the root of a file that has none, within the caller's transaction.

    Absolute keys beneath the root become relative to it, with their decisions.

    Args:
        connection: open for writing.
        directory: the root.
        parts: which of offers.TABLES the file has.
    """
    stored = location.root_to_store(directory, connection.real_path)
    connection.execute(sql.SET_ROOT, (stored,))
    real_root = location.directory_of_root(stored, connection.real_path)
    for path in {os.path.abspath(directory), real_root}:
        start = os.path.join(path, "").replace(os.sep, "/")
        for table, statement in sql.MOVE_BENEATH.items():
            if table in ("documents", *parts):
                connection.execute(statement, (start,))


def _leads_to_file(path: str) -> bool:
    """Whether the path of a document leads to a file: its own, or its archive or mailbox."""
    while not os.path.lexists(path):
        shorter, _, _ = path.rpartition("#" if "#" in os.path.basename(path) else "/")
        if not shorter:
            return False
        path = shorter
    return os.path.isfile(path)
