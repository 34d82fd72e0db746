"""Parts of the index that are a table by value, such as fingerprints and shingles of records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lshdb.progress import Progress
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import Index, IndexRows, IndexTable
from lshdb.store.parts import Documents
from lshdb.store.rows import integers
from lshdb.text.arrays import IntArray, bounded
from lshdb.text.kinds import Tokens

_HELD = 4_000_000
"""Rows held before they are sorted and written: 24 bytes each, and 24 more to sort them."""


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
