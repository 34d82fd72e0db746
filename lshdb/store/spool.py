"""Temporary files of what waits, as there may be any number of it.

Documents wait until they are decided on, and elements of sets until all of each set have been read.
"""

import dataclasses
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

from lshdb import json_text
from lshdb.limits import Limits
from lshdb.model import CopiedPassage, DroppedRow
from lshdb.store import connection, sqlite_errors
from lshdb.store import statements as sql
from lshdb.store.rows import FileState
from lshdb.text import content

RowDecision = tuple[int, str, DroppedRow | None]
"""The index of a document among some rows, its key, and why it is dropped (None if it is kept)."""
_ROW = (None,) * len(dataclasses.fields(FileState))
"""In place of the state of a file, of a document that is none."""
ElementRow = tuple[str, str]
"""A key and an element of its set."""


class _PrivateFile:
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
        self._file = _PrivateFile(path, sql.GROUPING_TABLE)
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


class SpooledDocument(NamedTuple):
    """A document: its number, key and stored form, its metadata as stored, its file and line.

    Of a file also the state; see FileState.
    """

    number: int
    key: str
    stored: str
    metadata: str | None
    file: str | None
    line: int | None
    state: FileState | None

    @classmethod
    def of(cls, row: Sequence[Any]) -> "SpooledDocument":
        """A document as `Spool.add` wrote it."""
        return cls._make([*row[:6], None if row[6] is None else FileState(*row[6:])])

    @property
    def bytes_digest(self) -> str | None:
        """What says that its bytes are those of another one; see `StoreReader.bytes_digests`."""
        if self.state is not None:
            return self.state.bytes_digest
        return content.digest(self.stored.encode()).hex()


@dataclasses.dataclass(eq=False)
class Spool:
    """Numbered documents in a new, private file, which need not survive a crash.

    Attributes:
        path: path of the file.
        limits: maximum amounts that are read at once.
        count: all numbers are below it; rows without a document have numbers, too.
    """

    path: Path
    limits: Limits
    count: int = 0

    def __post_init__(self) -> None:
        self._file = _PrivateFile(self.path, sql.SPOOL_TABLES)
        self.close = self._file.close

    def add(self, documents: Iterable[tuple[Any, ...]]) -> None:
        """Add documents: number, key, place, rank, stored form, metadata, file, line, state.

        They are decided on by place, then by rank, which is of any type of SQLite.
        """
        rows = ((*row, *(_ROW if state is None else astuple(state))) for *row, state in documents)
        self._file.write(sql.SPOOL_ADD, rows)

    def order(self, *, descending: bool) -> None:
        """Order the documents by their ranks, and those of equal rank by their numbers."""
        list(self._file.read(sql.SPOOL_DOWN if descending else sql.SPOOL_UP))
        self._ordered = sql.SPOOL_DESCENDING if descending else sql.SPOOL_ASCENDING

    def in_order(self) -> Generator[SpooledDocument]:
        """The documents in the order that `order` has set."""
        yield from map(SpooledDocument.of, self._file.read(self._ordered))

    def documents(self, numbers: Iterable[int]) -> Iterator[SpooledDocument]:
        """Documents by their numbers, read lazily."""
        rows = self._file.read(sql.SPOOL_DOCUMENTS, json_text.dumps(list(numbers)))
        return map(SpooledDocument.of, rows)

    def drop(self, decided: Iterable[tuple[int, DroppedRow]]) -> None:
        """Record why documents are dropped, by number; the first reason of a document counts."""
        self._file.write(
            sql.SPOOL_DROP,
            ((number, json_text.dumps(astuple(row))) for number, row in decided),
        )

    def decisions(self, first: int, end: int) -> list[RowDecision]:
        """The decisions about the documents numbered from `first` to below `end`, in order."""
        rows = self._file.read(sql.SPOOL_DECISIONS, first, end)
        return [(number - first, key, reason and _dropped(reason)) for number, key, reason in rows]


def _dropped(reason: str) -> DroppedRow:
    """A row as it was recorded."""
    *values, passage, references = json_text.loads(reason.encode())
    values += passage and CopiedPassage(*passage), references and tuple(references)
    return DroppedRow(*values)
