"""Documents that wait until they are decided on, in a temporary file: there may be any number."""

import dataclasses
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

from lshdb import json_text
from lshdb.apps.dedup import statements as sql
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.passages.model import CopiedPassage
from lshdb.limits import Limits
from lshdb.store.rows import FileState
from lshdb.store.spool import PrivateFile
from lshdb.text import content
from lshdb.text.arrays import bounded

RowDecision = tuple[int, str, DroppedRow | None]
"""The index of a document among some rows, its key, and why it is dropped (None if it is kept)."""


_ROW = (None,) * len(dataclasses.fields(FileState))
"""In place of the state of a file, of a document that is none."""


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
        self._file = PrivateFile(self.path, sql.SPOOL_TABLES)
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

    def batches_of(self, documents: Iterable[SpooledDocument]) -> Iterator[list[SpooledDocument]]:
        """Documents in batches, as many at a time as fit in memory."""
        return bounded(documents, lambda each: len(each.stored), self.limits.text_batch)

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
        decisions = list[RowDecision]()
        for number, key, reason in rows:
            dropped = None
            if reason is not None:
                *values, passage, references = json_text.loads(reason.encode())
                values += passage and CopiedPassage(*passage), references and tuple(references)
                dropped = DroppedRow(*values)
            decisions.append((number - first, key, dropped))
        return decisions
