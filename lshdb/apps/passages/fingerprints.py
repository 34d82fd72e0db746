"""The part of the index that finds passages: the fingerprints of texts, with their positions."""

from collections.abc import Iterator, Sequence

import numpy as np

from lshdb.apps.passages import statements as sql
from lshdb.apps.passages import winnowing
from lshdb.progress import Progress
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import Index, IndexRows, IndexTable
from lshdb.store.parts import Documents
from lshdb.text import arrays
from lshdb.text.kinds import Tokens

_HELD = 4_000_000
"""Fingerprints held before they are sorted and written: 24 bytes each, and 24 more to sort them."""


class _Fingerprints:
    """See lshdb.store.parts.IndexPart; a row is a fingerprint, the document and the position."""

    collects = True
    table = IndexTable(
        "fingerprints",
        sql.FINGERPRINT_ROWS,
        sql.INSERT_FINGERPRINT,
        sql.INSERT_FINGERPRINTS,
        sql.DELETE_FINGERPRINT,
        sql.DELETE_FINGERPRINTS,
    )

    def made(self, texts: Sequence[str], settings: Settings, tokens: Tokens | None) -> PartRows:
        """See IndexPart; the columns are the values and the positions, by value."""
        run = settings.passages
        numbers = range(len(texts))
        group = winnowing.of_group(texts, numbers, settings.shingling, run, settings.seed, tokens)
        prints = winnowing.of_groups([group])
        return PartRows(run, prints.documents, (prints.values, prints.positions))

    def write(self, index: Index, rows: PartRows) -> None:
        """See IndexPart."""
        values, positions = rows.columns
        self._insert(index, np.stack([values, rows.documents, positions]))

    def _insert(self, index: Index, rows: IndexRows) -> None:
        # A stable sort is twice as fast here: it merges the sorted rows of batches.
        index.insert(self.table, rows[:, np.argsort(rows[0], kind="stable")])

    def remove(
        self, index: Index, doc_ids: arrays.IntArray, texts: Sequence[str], settings: Settings
    ) -> None:
        """See IndexPart."""
        rows = self.expected(doc_ids, texts, settings)
        index.delete(self.table, map(tuple, rows.T.tolist()))

    def rebuild(
        self, index: Index, documents: Documents, settings: Settings, progress: Progress
    ) -> int:
        """See IndexPart."""
        index.clear(self.table)
        total = 0
        batches = (self.expected(doc_ids, texts, settings) for doc_ids, texts in documents)
        for held in arrays.bounded(batches, lambda rows: rows.shape[1], _HELD):
            rows = np.concatenate(held, axis=1)
            self._insert(index, rows)
            total += rows.shape[1]
            progress(total, None, "fingerprints")
        return total

    def expected(
        self, doc_ids: arrays.IntArray, texts: Sequence[str], settings: Settings
    ) -> IndexRows:
        """See IndexPart."""
        run, seed = settings.passages, settings.seed
        prints = winnowing.fingerprints(texts, settings.shingling, run, seed)
        return np.stack([prints.values, doc_ids[prints.documents], prints.positions])

    def stored(self, index: Index) -> Iterator[IndexRows]:
        """See IndexPart."""
        return index.rows(self.table)


PART = _Fingerprints()
