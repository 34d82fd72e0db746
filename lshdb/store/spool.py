"""Temporary files of what waits, as there may be any number of it, with tables of the caller.

Elements of sets wait until all of each set have been read.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lshdb import json_text
from lshdb.store import connection, sqlite_errors
from lshdb.store import statements as sql

ElementRow = tuple[str, str]
"""A key and an element of its set."""


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


class GroupedElements:
    """Elements of sets; SQLite sorts them in temporary files of its own."""

    def __init__(self, path: Path) -> None:
        self._file = PrivateFile(path, sql.GROUPING_TABLE)
        self.close = self._file.close

    def add(self, rows: Iterable[ElementRow]) -> None:
        """Add elements."""
        self._file.write(sql.GROUPING_ADD, rows)

    def sets(self) -> Iterator[tuple[str, list[str]]]:
        """The sets in the order of their first rows, read lazily.

        Yields:
            The key of a set and its elements, with repetitions.
        """
        for key, elements in self._file.read(sql.GROUPING_SETS):
            yield key, json_text.loads(elements.encode())
