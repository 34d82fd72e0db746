"""The index: signatures, and the rows of bands that follow from documents."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from lshdb.limits import Limits
from lshdb.sketch import banding
from lshdb.sketch.settings import Settings
from lshdb.sketch.signing import Signed
from lshdb.store import statements as sql
from lshdb.store.guard import Connection
from lshdb.store.partial_files import temporary_file_errors
from lshdb.store.rows import integers
from lshdb.text.arrays import NO_NUMBERS, IntArray, Lanes, chunks, chunks_of, sizes_of

IndexRows = IntArray
"""Rows of a table, as the columns int64[c, n] in the table's order."""

BEFORE_ALL = -(1 << 48)
"""settings.indexed_bucket before the first bucket."""
_ROWS = 100_000
"""Maximum number of rows that are Python objects at one time."""


@dataclass(frozen=True)
class IndexTable:
    """A table of the index and its statements; a row has integers.

    Attributes:
        name: name of the table.
        read: reads all rows.
        insert: inserts a row, and `insert_many` BLOCK_ROWS of them.
        delete: deletes a row, and `clear` all of them; their pages are free for new rows.
    """

    name: str
    read: str
    insert: str
    insert_many: str
    delete: str
    clear: str


BANDS = IndexTable(
    "bands",
    sql.BAND_ROWS,
    sql.INSERT_BAND,
    sql.INSERT_BANDS,
    sql.DELETE_BAND,
    sql.DELETE_BANDS,
)
Signatures = tuple[IntArray, Lanes]
"""Signatures of n documents: the ids int64[n], and the lanes [n, k]."""


def codes_of_keys(doc_ids: IntArray, keys: banding.BucketKeys) -> tuple[IntArray, IntArray]:
    """The band rows of documents int64[n] with bucket keys int64[n, b], by document.

    Returns:
        The codes of the buckets (banding.bucket_codes), whose order is the table's, and the ids of
        the documents: int64[n * b] both.
    """
    return banding.bucket_codes(keys).ravel(), doc_ids.repeat(keys.shape[1])


def band_codes(
    doc_ids: IntArray, signatures: Lanes, settings: Settings
) -> tuple[IntArray, IntArray]:
    """The band rows of documents with signatures [n, k], as `codes_of_keys` returns them."""
    keys = banding.bucket_keys(signatures, settings.construction, settings.seed)
    return codes_of_keys(doc_ids, keys)


def rows_of(codes: IntArray, doc_ids: IntArray) -> IndexRows:
    """Rows of the table of bands, from codes of buckets int64[n] and doc_ids int64[n]."""
    bands = (codes + (1 << 47)) >> 48
    return np.stack((bands, codes - (bands << 48), doc_ids))


def sorted_bands(
    signatures: Iterable[Signatures],
    settings: Settings,
    limits: Limits,
) -> Iterator[tuple[int, IntArray, IntArray]]:
    """The band rows of documents in the table's order, some at a time (`limits.reindex_rows`).

    All signatures are read before the first rows are yielded. The rows of each block are sorted
    and kept, in a temporary file beyond `limits.reindex_bytes`; then the parts of all blocks are
    sorted together.

    Args:
        signatures: blocks of signatures, in the order of their ids: int64[n], [n, k].
        settings: the settings that bands are made by.
        limits: how much is in memory.

    Yields:
        A code above all codes so far, and the codes and doc_ids of rows: int64[r] both.
    """
    construction, kept_bytes = settings.construction, limits.reindex_bytes // 2
    # Bucket keys have 48 bits and a sign; a band has 64 parts.
    edges = np.arange(64 * construction.bands + 1) - 32 << 42
    blocks: list[IntArray] = []  # where the parts of each begin
    rows = 0
    with (
        temporary_file_errors(),
        tempfile.SpooledTemporaryFile(kept_bytes, prefix="lshdb-") as of_codes,
        tempfile.SpooledTemporaryFile(kept_bytes, prefix="lshdb-") as of_doc_ids,
    ):
        for doc_ids, lanes in signatures:
            keys = banding.bucket_keys(lanes, construction, settings.seed)
            # Band by band, which is also the order of their codes.
            codes = banding.bucket_codes(keys).T
            order = codes.argsort(axis=1, kind="stable")
            codes = np.take_along_axis(codes, order, axis=1).ravel()
            blocks.append(rows + codes.searchsorted(edges))
            rows += len(codes)
            of_codes.write(codes.tobytes())
            of_doc_ids.write(doc_ids[order].tobytes())
        sizes = sum(map(sizes_of, blocks), np.zeros(len(edges) - 1, dtype=np.int64))
        for part in chunks_of(sizes, limits.reindex_rows):
            ranges = [begins[[part.start, part.stop]].tolist() for begins in blocks]
            codes, doc_ids = _read(of_codes, ranges), _read(of_doc_ids, ranges)
            # Blocks come in the order of ids, which a stable sort keeps in each bucket; it is also
            # fast, as the parts are sorted already.
            order = codes.argsort(kind="stable")
            yield int(edges[part.stop]), codes[order], doc_ids[order]


def _read(file: IO[bytes], ranges: Iterable[tuple[int, int]]) -> IntArray:
    """The numbers int64[any] in some ranges of a file, one range after another."""
    numbers = [NO_NUMBERS]
    for first, end in ranges:
        file.seek(8 * first)
        numbers.append(np.frombuffer(file.read(8 * (end - first)), dtype=np.int64))
    return np.concatenate(numbers)


class Index:
    """Reads and writes rows of the index, within the transaction of its `connection`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._run_many = connection.run_many

    def rows(self, table: IndexTable) -> Iterator[IndexRows]:
        """All rows, some thousands at a time."""
        for rows in self.connection.parts(table.read, size=_ROWS):
            yield integers(rows).reshape(len(rows), -1).T

    def clear(self, table: IndexTable) -> None:
        """Delete all rows."""
        self.connection.rows(table.clear)

    def insert(self, table: IndexTable, rows: IndexRows) -> None:
        """Insert rows, which are fastest in the order of the table."""
        for part in chunks(rows.shape[1], _ROWS):
            values = np.ascontiguousarray(rows[:, part].T)
            block_rows = len(values) - len(values) % sql.BLOCK_ROWS
            blocks = values[:block_rows].reshape(-1, sql.BLOCK_ROWS * values.shape[1])
            self._run_many(table.insert_many, (block.tolist() for block in blocks))
            self._run_many(table.insert, values[block_rows:].tolist())

    def delete(self, table: IndexTable, rows: Iterable[tuple[int, ...]]) -> None:
        """Delete rows; a missing row is no error."""
        self._run_many(table.delete, rows)

    def insert_signatures(self, doc_ids: IntArray, signatures: Lanes) -> None:
        """Insert the signatures [n, k] of documents int64[n]."""
        little = np.ascontiguousarray(signatures, dtype=signatures.dtype.newbyteorder("<"))
        width = signatures.shape[1] * signatures.itemsize
        packed = bytearray(little)  # see store.DocumentValues
        blobs = (packed[start : start + width] for start in range(0, len(packed), width))
        self._run_many(sql.INSERT_SIGNATURE, zip(doc_ids.tolist(), blobs, strict=True))

    def sign_again(self, doc_ids: IntArray, signed: Signed) -> None:
        """Replace the signatures and counts of shingles of documents int64[n]."""
        counts = signed.shingles
        rows = zip(doc_ids.tolist(), counts.tolist(), strict=True)
        self._run_many(sql.UPDATE_SHINGLES, rows)
        self.delete_signatures(doc_ids.tolist())
        self.insert_signatures(doc_ids[counts > 0], signed.signatures[counts > 0])

    def delete_signatures(self, doc_ids: Iterable[int]) -> None:
        """Delete the signatures of documents, if they exist."""
        self._run_many(sql.DELETE_SIGNATURE, zip(doc_ids))

    def insert_bands(self, codes: IntArray, doc_ids: IntArray) -> None:
        """Insert band rows of the buckets of these codes int64[r] and documents int64[r]."""
        order = codes.argsort()  # pages are then visited in order, each once
        self.insert(BANDS, rows_of(codes[order], doc_ids[order]))

    def unindex(self, doc_ids: IntArray, signatures: Lanes, settings: Settings) -> None:
        """Delete the signatures [n, k] and band rows of documents int64[n]."""
        codes, members = band_codes(doc_ids, signatures, settings)
        order = np.lexsort((members, codes))  # pages are then visited in order, each once
        rows = rows_of(codes[order], members[order])
        self.delete(BANDS, zip(*rows.tolist(), strict=True))
        self.delete_signatures(doc_ids.tolist())
