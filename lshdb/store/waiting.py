"""Documents that wait for their turn in a temporary file, and the decisions about them.

In a file, not in memory: there may be any number of them.
"""

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from lshdb.json_text import dumps, loads
from lshdb.limits import Limits
from lshdb.model import CopiedPassage, DroppedRow
from lshdb.store import connection, sqlite_errors
from lshdb.store import statements as sql

Decision = tuple[int, str, DroppedRow | None]
"""The place of a document among some rows, its key, and why it is dropped; None if it is kept."""


class WaitingDocument(NamedTuple):
    """A document: its number, key and stored form, its metadata as stored, its file and line."""

    number: int
    key: str
    stored: str
    metadata: str | None
    file: str | None
    line: int | None


@dataclass(eq=False)
class WaitingDocuments:
    """Numbered documents in a new, private file, which need not survive a crash."""

    path: Path
    limits: Limits

    def __post_init__(self) -> None:
        with self._errors():
            self._connection = sqlite3.connect(self.path, isolation_level=None)
            self._connection.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                f"PRAGMA cache_size = -{connection.CACHE_KIB}; " + sql.WAITING_TABLES
            )

    def add(self, documents: Iterable[tuple[object, ...]]) -> None:
        """Add documents: number, key, place, rank, stored form, metadata, file, line.

        They are decided on by place, then by rank, which is of any type of SQLite.
        """
        self._write(sql.WAITING_ADD, documents)

    def order(self, *, descending: bool) -> None:
        """Order the documents by their ranks, equals by their numbers."""
        with self._errors():
            self._connection.execute(sql.WAITING_DOWN if descending else sql.WAITING_UP)
        self._ordered = sql.WAITING_DESCENDING if descending else sql.WAITING_ASCENDING

    def in_order(self) -> Generator[WaitingDocument]:
        """The documents in the order that was made."""
        with self._errors():
            yield from map(WaitingDocument._make, self._connection.execute(self._ordered))

    def documents(self, numbers: Iterable[int]) -> Iterator[WaitingDocument]:
        """Documents by their numbers, read lazily."""
        with self._errors():
            rows = self._connection.execute(sql.WAITING_DOCUMENTS, (dumps(list(numbers)),))
            yield from map(WaitingDocument._make, rows)

    def drop(self, decided: Iterable[tuple[int, DroppedRow | None]]) -> None:
        """Record why documents are dropped, by number; of several reasons the first counts."""
        dropped = ((number, dumps(astuple(one))) for number, one in decided if one is not None)
        self._write(sql.WAITING_DROP, dropped)

    def decisions(self, first: int, end: int) -> list[Decision]:
        """The decisions about the documents numbered from `first` to below `end`, in order."""
        with self._errors():
            rows = self._connection.execute(sql.WAITING_DECISIONS, (first, end)).fetchall()
        return [(number - first, key, reason and _dropped(reason)) for number, key, reason in rows]

    def close(self) -> None:
        """Close the file, which the caller deletes."""
        self._connection.close()

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._errors():
            self._connection.execute("BEGIN")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")

    def _errors(self) -> AbstractContextManager[None]:
        return sqlite_errors.translated_errors(self.path)


def _dropped(reason: str) -> DroppedRow:
    """A row as it was recorded."""
    *values, passage = loads(reason.encode())
    row = DroppedRow(*values)
    return row if passage is None else replace(row, passage=CopiedPassage(*passage))
