"""Words that may be rare, and their index: a reworded copy of a text still shares them with it.

A term is a folded word of four or more bytes of UTF-8; shorter words are in nearly every text.
Where words follow each other without a blank, as ideographs and syllables do, each word and the
next one form a term. A window is WINDOW words, and a window begins every STEP words; the last
windows of a text may be shorter.

The terms of a text are part of the file format: the table rare_words is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from lshdb.apps.passages import positions
from lshdb.apps.passages import statements as sql
from lshdb.apps.passages.line_ends import whole_words
from lshdb.progress import Progress
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import Index, IndexRows
from lshdb.store.parts import Documents
from lshdb.store.rows import integers
from lshdb.text import hashing, shingles
from lshdb.text.arrays import IntArray, expand_ranges, offsets_of
from lshdb.text.shingling import Shingling

WINDOW = 50
"""Words of a window."""
STEP = 15
"""Words from the beginning of a window to that of the next one."""
_SHORTEST = 4
_READ = 100_000
"""Rows that are read at once."""
_WORDS = Shingling("word", 1)


@dataclass(frozen=True)
class Terms:
    """The terms of a text of u words.

    Attributes:
        units: int64[t], the word at which each term begins, from 0; ascending.
        hashes: uint64[t], under the secret seed of the process.
        folded: UTF-8 that contains each term.
        begins, ends: int64[t], the bounds of each term in `folded`, in bytes.
        starts, stops: int64[u], the bounds of each word in the text, in code points.
    """

    units: IntArray
    hashes: hashing.Hashes
    folded: bytes
    begins: IntArray
    ends: IntArray
    starts: IntArray
    stops: IntArray

    @property
    def windows(self) -> int:
        """How many windows the text has, at least 1."""
        return 1 + max(0, -(-(len(self.starts) - WINDOW) // STEP))

    def names(self, indices: IntArray) -> list[str]:
        """The terms with these indices, as `indexed` writes them."""
        bounds = zip(self.begins[indices].tolist(), self.ends[indices].tolist(), strict=True)
        return [self.folded[begin:end].decode() for begin, end in bounds]


def in_windows(units: IntArray, windows: IntArray) -> tuple[IntArray, IntArray]:
    """Each of n terms in every window that contains it.

    Args:
        units: int64[n], the word of its text at which each term begins.
        windows: int64[n], the number of windows of the term's text.

    Returns:
        The index of the term, and the number of the window in its text: int64[m] both.
    """
    first = np.maximum(-(-(units - WINDOW + 1) // STEP), 0)
    sizes = np.minimum(units // STEP, windows - 1) - first + 1
    return np.repeat(np.arange(len(first)), sizes), expand_ranges(first, sizes)


def terms_of(texts: Sequence[str]) -> list[Terms]:
    """The terms of each of n texts."""
    terms: dict[int, Terms] = {}
    hasher = hashing.span_hash(hashing.secret_seed(), "terms")
    for group in shingles.groups(texts, _WORDS):
        group_texts = whole_words((texts[index] for index in group), _WORDS)
        units, words = positions.cut(group_texts, "word"), shingles.cut_words(group_texts)
        term_words, ends = _cut(words)
        begins = words.begins[term_words]
        hashes = hasher.spans(words.buffer, begins, ends - begins)
        bounds = offsets_of(words.counts)
        cuts = np.searchsorted(term_words, bounds)
        for index, (first, end), (low, high) in zip(
            group, pairwise(bounds.tolist()), pairwise(cuts.tolist()), strict=True
        ):
            term_slice, word_slice = slice(low, high), slice(first, end)
            terms[index] = Terms(
                term_words[term_slice] - first,
                hashes[term_slice],
                words.buffer,
                begins[term_slice],
                ends[term_slice],
                units.starts[word_slice],
                units.stops[word_slice],
            )
    return [terms[index] for index in range(len(texts))]


def indexed(texts: Sequence[str]) -> list[str]:
    """The terms of each of n texts, in order and with repetitions, each followed by a blank."""
    return [
        "".join(f"{name} " for name in terms.names(np.arange(len(terms.units))))
        for terms in terms_of(texts)
    ]


def _cut(words: shingles.Words) -> tuple[IntArray, IntArray]:
    """The word at which each term begins, and the byte at which it ends: int64[t] both."""
    followed = np.append(words.ends[:-1] == words.begins[1:], False)
    ends = np.where(followed[: len(words.ends)], np.append(words.ends[1:], 0), words.ends)
    is_long = ends - words.begins >= _SHORTEST
    term_words = np.flatnonzero(is_long)
    return term_words, ends[term_words]


class _RareWords:
    """See lshdb.store.parts.IndexPart; a row is a term's secret hash, the document, and 0."""

    collects = False

    def made(self, texts: Sequence[str], _settings: Settings, _tokens: object) -> PartRows:
        """See IndexPart; the column has the terms of each text."""
        terms = np.array(indexed(texts), dtype=object)
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
        rows = zip(doc_ids.tolist(), indexed(texts), strict=True)
        index.connection.run_many(sql.DELETE_TERMS, rows)

    def rebuild(
        self, index: Index, documents: Documents, _settings: Settings, progress: Progress
    ) -> int:
        """See IndexPart."""
        index.connection.rows(sql.CLEAR_RARE_WORDS)
        total = 0
        for doc_ids, texts in documents:
            self._insert(index, doc_ids, indexed(texts))
            total += len(texts)
            progress(total, None, "documents")
        return total

    def expected(self, doc_ids: IntArray, texts: Sequence[str], _settings: Settings) -> IndexRows:
        """See IndexPart."""
        distinct = [sorted(set(terms.split())) for terms in indexed(texts)]
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
