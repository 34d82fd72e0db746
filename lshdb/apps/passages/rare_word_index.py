"""The part of the index that finds reworded copies: a full-text table of the terms of texts."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from lshdb.apps.passages import rare_words
from lshdb.apps.passages import statements as sql
from lshdb.progress import Progress
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import Index, IndexRows
from lshdb.store.parts import Documents
from lshdb.store.rows import integers
from lshdb.text import hashing, shingles
from lshdb.text.arrays import IntArray

_READ = 100_000
"""Rows that are read at once."""


class _RareWords:
    """See lshdb.store.parts.IndexPart; a row is a term's secret hash, the document, and 0."""

    collects = False

    def made(self, texts: Sequence[str], _settings: Settings, _tokens: object) -> PartRows:
        """See IndexPart; the column has the terms of each text."""
        terms = np.array(rare_words.indexed(texts), dtype=object)
        return PartRows(1, np.arange(len(texts)), (terms,))

    def write(self, index: Index, rows: PartRows) -> None:
        """See IndexPart."""
        order = np.argsort(rows.documents)  # the full-text table writes what it holds at a lower id
        (terms,) = rows.columns
        self._insert(index, rows.documents[order], terms[order])

    def _insert(self, index: Index, doc_ids: IntArray, terms: Iterable[Any]) -> None:
        index.connection.run_many(sql.INSERT_TERMS, zip(doc_ids.tolist(), terms, strict=True))

    def remove(
        self, index: Index, doc_ids: IntArray, texts: Sequence[str], _settings: Settings
    ) -> None:
        """See IndexPart."""
        rows = zip(doc_ids.tolist(), rare_words.indexed(texts), strict=True)
        index.connection.run_many(sql.DELETE_TERMS, rows)

    def rebuild(
        self, index: Index, documents: Documents, _settings: Settings, progress: Progress
    ) -> int:
        """See IndexPart."""
        index.connection.rows(sql.CLEAR_RARE_WORDS)
        total = 0
        for doc_ids, texts in documents:
            self._insert(index, doc_ids, rare_words.indexed(texts))
            total += len(texts)
            progress(total, None, "documents")
        return total

    def expected(self, doc_ids: IntArray, texts: Sequence[str], _settings: Settings) -> IndexRows:
        """See IndexPart."""
        distinct = [sorted(set(terms.split())) for terms in rare_words.indexed(texts)]
        return _rows([*chain.from_iterable(distinct)], doc_ids.repeat([*map(len, distinct)]))

    def stored(self, index: Index) -> Iterator[IndexRows]:
        """See IndexPart."""
        connection = index.connection
        connection.rows(sql.ALLOW_TEMPORARY)
        connection.rows(sql.READ_RARE_WORDS)
        for rows in connection.parts(sql.RARE_WORDS, size=_READ):
            terms, doc_ids = zip(*rows, strict=True)
            yield _rows(terms, integers([doc_ids]))


def _rows(terms: Sequence[str], doc_ids: IntArray) -> IndexRows:
    hashes = shingles.element_hashes(terms, "terms", hashing.secret_seed()).view(np.int64)
    return np.stack([hashes, doc_ids, np.zeros_like(doc_ids)])


PART = _RareWords()
