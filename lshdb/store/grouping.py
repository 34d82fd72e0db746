"""Elements of sets in a temporary file, until all elements of each set have been read.

They are in a file, not in memory, as the rows of a set may be anywhere in a table of any length.
SQLite sorts them in temporary files of its own.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lshdb.json_text import loads
from lshdb.store import connection, sqlite_errors
from lshdb.store import statements as sql

ElementRow = tuple[str, str, str]
"""A key, the kind of its id (see lshdb.keys.kind_of_id), and an element of its set."""


@dataclass(eq=False)
class GroupedElements:
    """Elements of sets in a new, private file, which need not survive a crash."""

    path: Path

    def __post_init__(self) -> None:
        with sqlite_errors.translated_errors(self.path):
            self._connection = sqlite3.connect(self.path, isolation_level=None)
            self._connection.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                f"PRAGMA cache_size = -{connection.CACHE_KIB}; " + sql.GROUPING_TABLE
            )

    def add(self, rows: Iterable[ElementRow]) -> None:
        """Add elements."""
        with sqlite_errors.translated_errors(self.path):
            self._connection.execute("BEGIN")
            self._connection.executemany(sql.GROUPING_ADD, rows)
            self._connection.execute("COMMIT")

    def sets(self) -> Iterator[tuple[str, set[str], list[str]]]:
        """The sets in the order of their first rows, read lazily.

        Yields:
            The key of a set, up to two kinds of its ids, and its elements, with repetitions.
        """
        with sqlite_errors.translated_errors(self.path):
            for key, kind, other, elements in self._connection.execute(sql.GROUPING_SETS):
                yield key, {kind, other}, loads(elements.encode())

    def close(self) -> None:
        """Close the file, which the caller deletes."""
        self._connection.close()
