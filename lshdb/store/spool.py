"""Temporary files of what waits, as there may be any number of it, with tables of the caller."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lshdb.store import connection, sqlite_errors


class PrivateFile:
    """Tables in a new file of this process, which need not survive a crash."""

    def __init__(self, path: Path, tables: str) -> None:
        self._errors = sqlite_errors.translated_errors(path)
        with self._errors:
            self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                f"PRAGMA cache_size = -{connection.CACHE_KIB}; {tables}"
            )

    def write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Run a statement for each row of values, in one transaction."""
        with self._errors:
            self._connection.execute("BEGIN")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")

    def read(self, statement: str, *parameters: object) -> Iterator[tuple[Any, ...]]:
        """The rows of a result, read lazily."""
        with self._errors:
            yield from self._connection.execute(statement, parameters)

    def close(self) -> None:
        """Close the file, which the caller deletes."""
        self._connection.close()
