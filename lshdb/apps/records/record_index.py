"""The part of the index that has the shingles of each record, and how many records have each.

Pages (`--for scans`) have many shingles, of five characters or more: every second one is enough.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lshdb.apps.passages.table_part import Counts, TablePart
from lshdb.apps.records import statements as sql
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import IndexTable
from lshdb.text.arrays import IntArray, sizes_of
from lshdb.text.kinds import Tokens
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Shingling

EVERY = -1
"""The shingle that every record has: its count is the number of records."""
_OF_PAGES = 5
"""Characters of a shingle from which on those with an odd hash are left out: half of the rows. With
one in four, F1 of noisy scans is some hundredths lower."""
_BETWEEN = re.compile(r"[\s!-/:-@\[-`{-~]+")
"""Blanks and ASCII signs, which sources of one record write in their own ways."""


def spaced(text: str) -> str:
    """A text with one bar between words and at its ends, which say where words begin.

    >>> spaced("Wall-Mount, 20 lb.")
    '|Wall|Mount|20|lb|'
    """
    words = _BETWEEN.sub("|", text).strip("|")
    return f"|{words}|" if words else text


def is_of_pages(shingling: Shingling) -> bool:
    """Whether texts are pages, as their shingles are long."""
    return shingling.kind == "char" and shingling.size >= _OF_PAGES


def record_shingles(texts: Sequence[str], settings: Settings) -> tuple[IntArray, IntArray]:
    """The distinct shingles of n spaced texts, with EVERY, and the index of the text of each.

    Returns:
        int64[v] both, by text. A text without shingles has none.
    """
    base = tuple((name, spaced(text)) for name, text in settings.shingling.base)
    shingling = replace(settings.shingling, base=base)
    sets = distinct_shingles([*map(spaced, texts)], shingling, settings.seed)
    values = sets.hashes.view(np.int64)
    documents = np.repeat(np.arange(len(texts)), sizes_of(sets.offsets))
    if is_of_pages(shingling):
        kept = values % 2 == 0
        kept |= (np.bincount(documents, kept, len(texts)) == 0)[documents]  # of the shortest all
        values, documents = values[kept], documents[kept]
    sizes = np.bincount(documents, minlength=len(texts))
    ends = np.cumsum(sizes)[sizes > 0]
    return np.insert(values, ends, EVERY), np.insert(documents, ends, np.flatnonzero(sizes))


def _made(texts: Sequence[str], settings: Settings, _tokens: Tokens | None) -> PartRows:
    """See IndexPart; the column has the shingles."""
    values, documents = record_shingles(texts, settings)
    return PartRows(1, documents, (values,))


PART = TablePart(
    IndexTable(
        "record_shingles",
        sql.SHINGLE_ROWS,
        sql.INSERT_SHINGLE,
        sql.INSERT_SHINGLES,
        sql.DELETE_SHINGLE,
        sql.DELETE_SHINGLES,
    ),
    _made,
    Counts(sql.ADD_COUNT, sql.DELETE_COUNTS, sql.WRONG_COUNTS),
)
