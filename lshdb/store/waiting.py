"""Documents that wait for their turn in a temporary file, and the decisions about them.

In a file, not in memory: there may be any number of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from lshdb.model import Skipped
from lshdb.store.connection import CACHE_KIB, translated_errors

Order: TypeAlias = Literal["first", "longest", "last"]
"""Which of similar documents comes first, and so is kept."""

_TABLES: Final = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, length INTEGER NOT NULL, content TEXT NOT NULL
) STRICT;
CREATE TABLE dropped (
    number INTEGER PRIMARY KEY, kept INTEGER NOT NULL, similarity REAL NOT NULL,
    exact INTEGER NOT NULL, identical INTEGER NOT NULL
) STRICT;
"""
_ADD: Final = "INSERT INTO documents (number, key, length, content) VALUES (?, ?, ?, ?)"
_DROP: Final = (
    "INSERT INTO dropped (number, kept, similarity, exact, identical) VALUES (?, ?, ?, ?, ?)"
)
_IN_ORDER: Final = {
    "longest": "SELECT number, content FROM documents ORDER BY length DESC, number",
    "last": "SELECT number, content FROM documents ORDER BY number DESC",
}
_DECISIONS: Final = """
SELECT documents.number, documents.key, kept.key, similarity, exact, identical
FROM documents
LEFT JOIN dropped ON dropped.number = documents.number
LEFT JOIN documents AS kept ON kept.number = dropped.kept
WHERE documents.number >= ? AND documents.number < ?
ORDER BY documents.number
"""


class Waiting:
    """Numbered documents in a new, private file, which need not survive a crash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._errors():
            self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                f"PRAGMA cache_size = -{CACHE_KIB}; " + _TABLES
            )

    def add(self, documents: Iterable[tuple[int, str, int, str]]) -> None:
        """Add documents: number, key, length, stored form."""
        self._write(_ADD, documents)

    def in_order(self, order: Literal["longest", "last"]) -> Iterator[tuple[int, str]]:
        """The numbers and stored forms: the longest or the last first, the first of equals."""
        with self._errors():
            yield from self._connection.execute(_IN_ORDER[order])

    def drop(self, dropped: Iterable[tuple[int, int, float, bool, bool]]) -> None:
        """Record dropped documents: number, that of the kept one, similarity, exact, identical."""
        self._write(_DROP, dropped)

    def decisions(self, first: int, end: int) -> list[tuple[int, str, Skipped | None]]:
        """The documents numbered from `first` to below `end`, in order, as number and key.

        Each comes with the kept one that it is dropped for, or None.
        """
        with self._errors():
            rows = self._connection.execute(_DECISIONS, (first, end)).fetchall()
        return [
            (
                number,
                key,
                None
                if kept is None
                else Skipped(key, kept, similarity, bool(exact), bool(identical)),
            )
            for number, key, kept, similarity, exact, identical in rows
        ]

    def close(self) -> None:
        """Close the file, which the caller deletes."""
        self._connection.close()

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._errors():
            self._connection.execute("BEGIN")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")

    def _errors(self) -> AbstractContextManager[None]:
        return translated_errors(self._path)
