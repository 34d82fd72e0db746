"""Rebuilding the index from the stored signatures, in one transaction: for `reindex` and repair.

Signatures are read once, and their band rows sorted (lshdb.store.index). Then the table of bands is
emptied, and filled in the order of its key: SQLite appends, instead of visiting a page per row, and
uses the pages of the old rows (`scripts/bench scale`). SQLite's own sorter, over a temporary
table, takes 2.8 times the CPU time for a million documents. Two parts that are sorted separately
take a tenth to a third more for two million. Readers see the new rows only at the end: until then
the pages are in the write-ahead log, and the table itself is unchanged.
"""

from collections.abc import Iterable, Iterator

from lshdb.apps.passages import rare_words, winnowing
from lshdb.maintain.resolve import reindexed
from lshdb.model import Reindexed
from lshdb.options import ReindexOptions
from lshdb.progress import Progress, shown
from lshdb.search.similarity import batches_of_text
from lshdb.sketch.settings import Settings, plain_settings
from lshdb.sketch.signing import sign
from lshdb.store.index import (
    BANDS,
    FINGERPRINTS,
    RARE_WORDS,
    Index,
    IndexRows,
    Signatures,
    rows_of,
    sorted_bands,
)
from lshdb.store.store import Store
from lshdb.text import arrays

_LANES = 1 << 21
"""Lanes of the signatures read at once."""
_FINGERPRINTS = 4_000_000
"""Fingerprints held before they are sorted and written: 24 bytes each, and 24 more to sort them."""


def reindex(store: Store, request: ReindexOptions) -> Reindexed:
    """Rebuild the index; see Database.reindex."""
    with store.reading():
        reindexed(request, store.settings)  # refuses invalid settings without waiting for writers
    rows = 0
    with shown(request.progress, "reindexing") as progress, store.rebuilding():
        before = store.settings
        after = reindexed(request, before)
        is_late = store.indexed_to is not None
        if after != before:
            store.set_index(after)
        # The band rows of a cascade are those of its lowest level.
        shape, old = after.construction, before.construction
        # A document without shingles has no rows, and other base texts change which ones have none.
        signs = after.shingling != before.shingling
        if signs:
            _sign_again(store, after, progress)
        everything, empty = store.count()
        documents = everything - empty
        if signs or is_late or (shape.bands, shape.rows) != (old.bands, old.rows):
            store.set_indexed(None, None)
            block = max(1, min(store.limits.documents_read, _LANES // after.permutations))
            signatures = store.all_signatures(block)
            rows = rebuild_bands(store.index, after, signatures, documents, progress)
        if after.reworded and (signs or not before.reworded):
            rows += rebuild_terms(store.index, _texts(store), progress)
        if signs or after.passages != before.passages:
            arguments = after.shingling, after.passages, after.seed
            fingerprints = (
                winnowing.fingerprints(texts, *arguments).rows(doc_ids)
                for doc_ids, texts in _texts(store)
            )
            if after.passages:
                rows += rebuild_fingerprints(store.index, fingerprints, progress)
    if rows:
        store.shrink_log()
    return Reindexed(before, after, documents, rows, store.free_bytes())


def _sign_again(store: Store, settings: Settings, progress: Progress) -> None:
    """Sign all documents again, under other base texts."""
    documents = 0
    for doc_ids, texts in _texts(store, min_shingles=0):
        store.index.sign_again(doc_ids, sign(texts, plain_settings(settings)))
        documents += len(texts)
        progress(documents, None, "documents")


def _texts(store: Store, *, min_shingles: int = 1) -> Iterator[tuple[arrays.IntArray, list[str]]]:
    """The ids and contents of all documents with at least this many shingles, in parts."""
    doc_ids, first = store.doc_ids(min_shingles), 0
    for texts in batches_of_text(store, doc_ids):
        yield doc_ids[first : first + len(texts)], texts
        first += len(texts)


def rebuild_terms(
    index: Index, documents: Iterable[tuple[arrays.IntArray, list[str]]], progress: Progress
) -> int:
    """Replace all rows of rare words, within the caller's transaction.

    Args:
        index: of the file.
        documents: the ids int64[n] and contents of some documents at a time, of all with shingles.
        progress: called with the number that were read.

    Returns:
        The number of documents.
    """
    index.clear(RARE_WORDS)
    total = 0
    for doc_ids, texts in documents:
        index.insert_terms(doc_ids, rare_words.indexed(texts))
        total += len(texts)
        progress(total, None, "documents")
    return total


def rebuild_fingerprints(index: Index, batches: Iterable[IndexRows], progress: Progress) -> int:
    """Replace all fingerprints, within the caller's transaction.

    Args:
        index: of the file.
        batches: the rows of all documents, some documents at a time.
        progress: called with the number that were written.

    Returns:
        The number of rows.
    """
    index.clear(FINGERPRINTS)
    total = 0
    for rows_read in arrays.bounded(batches, lambda rows: rows.shape[1], _FINGERPRINTS):
        rows = winnowing.joined(rows_read)
        index.insert(FINGERPRINTS, rows)
        total += rows.shape[1]
        progress(total, None, "fingerprints")
    return total


def rebuild_bands(
    index: Index,
    settings: Settings,
    signatures: Iterable[Signatures],
    expected: int,
    progress: Progress,
) -> int:
    """Replace all band rows, within the caller's transaction.

    Args:
        index: of the file.
        settings: of the new index.
        signatures: of all documents that have one, some at a time and in the order of their ids:
            int64[n], [n, k].
        expected: how many documents these are; about, where the file is damaged.
        progress: called with the number of signatures that were read and rows that were written.

    Returns:
        The number of band rows.
    """
    total = expected * (1 + settings.construction.bands)
    documents = rows = 0

    def read() -> Iterator[Signatures]:
        nonlocal documents
        for doc_ids, lanes in signatures:
            yield doc_ids, lanes
            documents += len(doc_ids)
            progress(documents, total, "rows")

    index.clear(BANDS)
    for _, codes, doc_ids in sorted_bands(read(), settings, index.limits):
        index.insert(BANDS, rows_of(codes, doc_ids))
        rows += len(codes)
        progress(documents + rows, total, "rows")
    return rows
