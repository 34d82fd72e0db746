"""The door for parts of the index: tables that an app derives from the texts of documents."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from lshdb import offers
from lshdb.progress import Progress
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import Index, IndexRows, IndexTable
from lshdb.store.rows import integers
from lshdb.text.arrays import IntArray, bounded
from lshdb.text.kinds import Tokens

_HELD = 4_000_000
"""Rows held before they are sorted and written: 24 bytes each, and 24 more to sort them."""

Documents = Iterable[tuple[IntArray, list[str]]]
"""The ids int64[n] and texts of some documents at a time."""


class IndexPart(Protocol):
    """A part of the index that follows from the texts of documents, such as fingerprints.

    To add one: its name in `offers.PARTS` and in `offers.TABLES`, its tables in NAME.sql of the
    app's folder, and in `settings.parts_of` which files have it. A file has all of its tables or
    none: the core makes them with the file or when it is reindexed, and drops them.

    The core calls `made` for the documents of a batch, in whichever process signs them, with no
    file. All else is called in the writer's process and transaction, but `stored` and `expected`
    also in that of a check that only reads. Only documents with shingles have rows.

    Attributes:
        collects: whether rows of several batches are held, up to `limits.fingerprints`, and then
            written together, as a table is filled fastest in the order of its key.
    """

    collects: bool

    def made(self, texts: Sequence[str], settings: Settings, tokens: Tokens | None, /) -> PartRows:
        """The rows of n texts, documents 0 to n - 1.

        Args:
            texts: n texts that are shingled together, at least one.
            settings: of the file.
            tokens: of the texts, where the kind of shingles has cut them already; else None.
        """

    def write(self, index: Index, rows: PartRows, /) -> None:
        """Insert rows, whose documents are the doc_ids, none of which has a row."""

    def remove(
        self, index: Index, doc_ids: IntArray, texts: Sequence[str], settings: Settings, /
    ) -> None:
        """Delete the rows of documents int64[n] with these n texts, as they were inserted."""

    def rebuild(
        self, index: Index, documents: Documents, settings: Settings, progress: Progress, /
    ) -> int:
        """Replace all rows by those of all documents; return how many were written.

        `progress` is called with the number so far.
        """

    def expected(self, doc_ids: IntArray, texts: Sequence[str], settings: Settings, /) -> IndexRows:
        """What `stored` must give for documents int64[n] with n texts, in any order."""

    def stored(self, index: Index, /) -> Iterator[IndexRows]:
        """Integers of each row, int64[c, r], some thousands at a time."""


class Counts(NamedTuple):
    """Statements of a table that counts the documents of each value.

    Attributes:
        add: adds to the count of a value, also a negative number.
        clear: deletes all counts.
        wrong: the values whose count is not the number of their rows, each with a 0.
    """

    add: str
    clear: str
    wrong: str


@dataclass(frozen=True)
class TablePart:
    """An IndexPart of one table by value: hashes of what the texts have.

    Attributes:
        table: the table, of a value, the document, and any other numbers.
        made: the rows of texts, as IndexPart.made; the columns are the values and these numbers.
        counts: a second table, which counts the rows of each value, or None.
    """

    table: IndexTable
    made: Callable[[Sequence[str], Settings, Tokens | None], PartRows]
    counts: Counts | None = None
    collects: ClassVar[bool] = True

    def write(self, index: Index, rows: PartRows) -> None:
        """See IndexPart."""
        self._insert(index, _table_rows(rows))

    def _insert(self, index: Index, rows: IndexRows) -> None:
        # A stable sort is twice as fast here: it merges the sorted rows of batches.
        rows = rows[:, np.argsort(rows[0], kind="stable")]
        index.insert(self.table, rows)
        self._count(index, rows, 1)

    def _count(self, index: Index, rows: IndexRows, sign: int) -> None:
        if self.counts:
            values, counts = np.unique(rows[0], return_counts=True)
            added = np.stack([values, sign * counts], axis=1).tolist()
            index.connection.run_many(self.counts.add, added)

    def remove(
        self, index: Index, doc_ids: IntArray, texts: Sequence[str], settings: Settings
    ) -> None:
        """See IndexPart."""
        rows = self.expected(doc_ids, texts, settings)
        index.delete(self.table, map(tuple, rows.T.tolist()))
        self._count(index, rows, -1)

    def rebuild(
        self, index: Index, documents: Documents, settings: Settings, progress: Progress
    ) -> int:
        """See IndexPart."""
        index.clear(self.table)
        if self.counts:
            index.connection.rows(self.counts.clear)
        total = 0
        batches = (self.expected(doc_ids, texts, settings) for doc_ids, texts in documents)
        for held in bounded(batches, lambda rows: rows.shape[1], _HELD):
            rows = np.concatenate(held, axis=1)
            self._insert(index, rows)
            total += rows.shape[1]
            progress(total, None, self.table.name.replace("_", " "))
        return total

    def expected(self, doc_ids: IntArray, texts: Sequence[str], settings: Settings) -> IndexRows:
        """See IndexPart."""
        return _table_rows(self.made(texts, settings, None).numbered(doc_ids))

    def stored(self, index: Index) -> Iterator[IndexRows]:
        """See IndexPart; a wrong count is one more row, which nothing expects."""
        yield from index.rows(self.table)
        if self.counts:
            yield integers(index.connection.rows(self.counts.wrong)).reshape(-1, 2).T


def _table_rows(rows: PartRows) -> IndexRows:
    values, *others = rows.columns
    return np.stack([values, rows.documents, *others])


def part(name: str) -> IndexPart:
    """A part of the index by its name; UsageError if its app is missing."""
    index_part: IndexPart = offers.offered(offers.PARTS, name)
    return index_part
