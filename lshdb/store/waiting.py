"""Documents that wait for their turn in a temporary file, and the decisions about them.

In a file, not in memory: there may be any number of them.
"""

import sqlite3
from collections.abc import Container, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from lshdb.json_text import dumps, loads
from lshdb.limits import Limits
from lshdb.model import CopiedPassage, DroppedRow
from lshdb.store import connection, sqlite_errors
from lshdb.store import statements as sql


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

    def in_order(self) -> Generator[tuple[int, str]]:
        """The numbers and stored forms in the order that was made."""
        with self._errors():
            yield from self._connection.execute(self._ordered)

    def contents(self, numbers: Iterable[int]) -> Iterator[str]:
        """The stored forms of documents, by their numbers, read lazily."""
        return self._texts(sql.WAITING_CONTENTS, numbers)

    def keys(self, numbers: Iterable[int]) -> list[str]:
        """The keys of documents, by their numbers."""
        return list(self._texts(sql.WAITING_KEYS, numbers))

    def _texts(self, statement: str, numbers: Iterable[int]) -> Iterator[str]:
        with self._errors():
            for (text,) in self._connection.execute(statement, (dumps(list(numbers)),)):
                yield text

    def drop(self, dropped: Iterable[DroppedRow], for_others: Container[str]) -> None:
        """Record documents that are dropped; their keys are numbers.

        So are the keys of the kept ones, except where the dropped one is `for_others`: the kept one
        is then elsewhere. Of several reasons to drop one, the first counts.
        """
        rows: list[tuple[object, ...]] = []
        there: tuple[object, ...]
        for one in dropped:
            how = int(one.key), one.similarity, one.exact, one.identical
            if one.key in for_others:
                metadata = None if one.kept_metadata is None else dumps(one.kept_metadata)
                there = None, one.kept, metadata, one.kept_file, one.kept_line
            else:
                there = int(one.kept), None, None, None, None
            passage = None if one.passage is None else dumps(astuple(one.passage))
            rows.append((*how, *there, passage))
        self._write(sql.WAITING_DROP, rows)

    def decisions(
        self, first: int, end: int
    ) -> list[tuple[int, str, DroppedRow | None, str | None, str | None]]:
        """The decisions about the documents numbered from `first` to below `end`, in order.

        Returns:
            Of each its number and key, why it is dropped (None if it is kept), its metadata as
            stored, and that of the kept document.
        """
        with self._errors():
            rows = self._connection.execute(sql.WAITING_DECISIONS, (first, end)).fetchall()
        found = []
        for number, key, *there, similarity, exact, identical, own, its, passage in rows:
            file, line, kept, kept_file, kept_line = there
            one = None
            if kept is not None:
                both = key, file, line, kept, kept_file, kept_line
                one = DroppedRow(*both, similarity, bool(exact), bool(identical))
            if one is not None and passage is not None:
                one = replace(one, passage=CopiedPassage(*loads(passage.encode())))
            found.append((number, key, one, own, its))
        return found

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
