"""Reading the parts of the index: the documents of fingerprints and of terms, and how many."""

from collections.abc import Sequence

import numpy as np

from lshdb.apps.passages import statements as sql
from lshdb.apps.passages.winnowing import fingerprints
from lshdb.errors import Cut
from lshdb.json_text import dumps
from lshdb.store.lookups import StoreReader
from lshdb.store.rows import checked
from lshdb.store.statements import LAST_DOC_ID
from lshdb.text.arrays import IntArray, Shares

MANY = (1 << 15) - 1
"""Maximum count of a fingerprint's documents, see SHARED_FINGERPRINTS."""
_COUNTS = 512
"""The base of the counts in TERM_COUNTS."""
_SAMPLED = 1_000
"""Number of documents whose sizes are read as a sample."""
_COUNTED = 64
"""Documents of a term that are counted: a weight is then exact to about a tenth."""


def documents_of_fingerprints(
    reader: StoreReader, values: IntArray, first: int | None
) -> tuple[IntArray, IntArray]:
    """The documents that have some fingerprints int64[n], the first `first` of each or all.

    Returns:
        int64[r], the indices of the fingerprints, and int64[r], doc_ids; ordered by both.
    """
    return reader.rows_of_values(sql.FIRST_OF_FINGERPRINTS, values, first)


def frequent_fingerprints(reader: StoreReader, values: IntArray, limit: int) -> IntArray:
    """Those of some fingerprints int64[n] that more than `limit` documents have."""
    index, _ = documents_of_fingerprints(reader, values, limit + 1)
    return values[np.bincount(index, minlength=len(values)) > limit]


def documents_sharing_runs(reader: StoreReader, text: str) -> tuple[IntArray, list[Cut]]:
    """All documents that share a fingerprint with a text, and what limits cut.

    A fingerprint that more than `query_first` documents have leads to none.
    """
    settings, limit = reader.settings, reader.limits.query_first
    codes = fingerprints([text], settings.shingling, settings.passages, settings.seed).values
    index, doc_ids = documents_of_fingerprints(reader, codes, limit + 1)
    hot = np.bincount(index, minlength=len(codes)) > limit
    text = (
        f"runs of {settings.passages} words of the query are in more than {limit:,} documents; "
        "documents that share nothing else with it may be missing: exhaustive compares with all"
    )
    cuts = [Cut("query", int(hot.sum()), text)] if hot.any() else []
    return np.unique(doc_ids[~hot[index]]), cuts


def shared_fingerprints(reader: StoreReader) -> tuple[IntArray, IntArray]:
    """The fingerprints that several documents have, in order, and how many have each.

    Returns:
        int64[any] both; the count MANY means MANY or more.
    """
    values = reader.integers(sql.SHARED_FINGERPRINTS)
    return values >> 15, values & MANY


def term_counts(reader: StoreReader, terms: Sequence[str], last: int) -> Shares:
    """How many documents have each of n terms, float64[n]; an estimate for frequent terms.

    The estimate takes the first documents of a frequent term as a sample of all, whose ids are up
    to `last`.
    """
    _, packed = reader.rows_of_values(sql.TERM_COUNTS, terms, _COUNTED)
    counts, seen = packed & (_COUNTS - 1), packed // _COUNTS
    estimates: Shares = counts * last / np.maximum(seen, 1)
    return np.where(counts < _COUNTED, counts.astype(np.float64), estimates)


def documents_of_terms(
    reader: StoreReader, terms: Sequence[str], after: int
) -> tuple[IntArray, IntArray]:
    """The documents that have some terms: indices of the terms and doc_ids, int64[r] both.

    Only documents with an id above `after`.
    """
    packed = reader.integers(sql.DOCUMENTS_OF_TERMS, dumps(list(terms)), after)
    return np.divmod(packed, 1 << 40)


def mean_shingles(reader: StoreReader) -> tuple[int, int]:
    """About how many documents there are, and the mean shingles of a document, by a sample."""
    last = reader.number(LAST_DOC_ID)
    # A damaged file may have a number that no float is exact for.
    sample = np.unique(np.linspace(1, min(last, 1 << 40), _SAMPLED).astype(np.int64))
    ((mean,),) = reader.rows(sql.MEAN_SHINGLES, dumps(sample.tolist()))
    return last, checked(mean, int)
