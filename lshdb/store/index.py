"""The index: signatures, and the rows of bands and fingerprints that follow from documents."""

import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.json_text import dumps
from lshdb.limits import Limits
from lshdb.shingling.arrays import IntArray, chunks, chunks_of
from lshdb.sketching import banding
from lshdb.sketching.settings import Settings
from lshdb.store import statements as sql
from lshdb.store.guard import Connection
from lshdb.store.partial_files import temporary_file_errors
from lshdb.store.rows import integers

IndexRows = IntArray
"""Rows of a table, as the columns int64[3, n] in the table's order."""

_EDGES = np.arange(-32, 33) << 42
"""Where parts of a band's bucket keys, which have 48 bits and a sign, begin and end."""
BEFORE_ALL = -(1 << 48)
"""settings.indexed_bucket before the first bucket."""
SLOTS = sql.SLOTS
_ROWS = 100_000
"""Rows that are Python's objects at once."""


class BandRows(NamedTuple):
    """All rows of a band with bucket keys from `low` to below `high`.

    Attributes:
        keys, doc_ids: int64[n] both, in order.
    """

    band: int
    low: int
    high: int
    keys: IntArray
    doc_ids: IntArray


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A table of the index and its statements; each row has three integers.

    Attributes:
        name: of the table.
        document: which of the columns has the ids of documents.
        read: reads the rows of some slots, or all.
        insert: inserts a row, and `insert_many` as many as ROWS_AT_ONCE.
        delete: deletes a row, and `clear` all of them; their pages are free for new rows.
    """

    name: str
    document: int
    read: str
    insert: str
    insert_many: str
    delete: str
    clear: str


BANDS = IndexTable(
    "bands",
    2,
    sql.BAND_ROWS,
    sql.INSERT_BAND,
    sql.INSERT_BANDS,
    sql.DELETE_BAND,
    sql.DELETE_BANDS,
)
FINGERPRINTS = IndexTable(
    "fingerprints",
    1,
    sql.FINGERPRINT_ROWS,
    sql.INSERT_FINGERPRINT,
    sql.INSERT_FINGERPRINTS,
    sql.DELETE_FINGERPRINT,
    sql.DELETE_FINGERPRINTS,
)


def band_rows(doc_ids: IntArray, bucket_keys: IntArray) -> IndexRows:
    """The rows of bands of documents int64[n] with bucket keys int64[n, b]."""
    bands = np.arange(bucket_keys.shape[1])
    columns = np.broadcast_arrays(bands, bucket_keys, doc_ids[:, np.newaxis])
    return np.stack(columns).reshape(3, -1)


def is_written(rows: IndexRows, indexed_to: int, bucket: int | None, indexed: IntArray) -> IntArray:
    """Which rows of bands, int64[3, n], are in the table by the state of the settings: bool[n]."""
    known: IntArray = (rows[2] <= indexed_to) | np.isin(rows[2], indexed)
    return known if bucket is None else known | (positions(rows) <= bucket)


def positions(rows: IndexRows) -> IntArray:
    """Where buckets stand in the table's order, as settings.indexed_bucket says it."""
    positions: IntArray = (rows[0] << 48) + rows[1]
    return positions


def sorted_bands(
    signatures: Iterable[tuple[IntArray, npt.NDArray[np.uint32]]],
    settings: Settings,
    limits: Limits,
) -> Iterator[BandRows]:
    """The band rows of documents in the table's order, some at a time (`limits.reindex_rows`).

    All signatures are read before the first rows come. Those of each block are sorted and kept, in
    a temporary file beyond `limits.reindex_bytes`; then the blocks' parts are sorted together.

    Args:
        signatures: blocks of them, in the order of their ids: int64[n], uint32[n, k].
        settings: by which they are cut into bands.
        limits: how much is in memory.
    """
    bands = settings.construction.bands
    blocks: list[tuple[int, int, type[np.generic], int]] = []
    offsets = [np.zeros((bands, len(_EDGES)), dtype=np.int64)]
    with tempfile.SpooledTemporaryFile(limits.reindex_bytes, prefix="lshdb-") as file:
        for doc_ids, some in signatures:
            if not len(doc_ids):
                continue
            keys = banding.bucket_keys(some, settings.construction, settings.seed).T
            order = np.argsort(keys, axis=1, kind="stable")
            keys = np.take_along_axis(keys, order, axis=1)
            offsets.append(np.stack([band.searchsorted(_EDGES) for band in keys]))
            first, last = doc_ids[[0, -1]].tolist()
            small = np.uint32 if last - first < 1 << 32 else np.int64
            with temporary_file_errors():
                blocks.append((file.tell(), len(doc_ids), small, first))
                file.write(keys.tobytes())
                file.write((doc_ids - first).astype(small)[order].tobytes())
        sizes = np.diff(np.sum(offsets, axis=0))
        for band in range(bands):
            for part in chunks_of(sizes[band], limits.reindex_rows):
                low, high = part.start, min(part.stop, len(_EDGES) - 1)
                all_keys = [np.empty(0, dtype=np.int64)]
                all_ids = [np.empty(0, dtype=np.int64)]
                for (place, count, kind, first), ends in zip(blocks, offsets[1:], strict=True):
                    begin, end = ends[band, [low, high]].tolist()
                    width = np.dtype(kind).itemsize
                    with temporary_file_errors():
                        file.seek(place + 8 * (count * band + begin))
                        keys_data = file.read(8 * (end - begin))
                        file.seek(place + 8 * count * bands + width * (count * band + begin))
                        ids_data = file.read(width * (end - begin))
                    all_keys.append(np.frombuffer(keys_data, dtype=np.int64))
                    all_ids.append(np.frombuffer(ids_data, dtype=kind).astype(np.int64) + first)
                keys, doc_ids = np.concatenate(all_keys), np.concatenate(all_ids)
                # Blocks come in the order of ids, which a stable sort keeps in each bucket; and it
                # is fast on what is sorted in parts.
                order = np.argsort(keys, kind="stable")
                low, high = int(_EDGES[low]), int(_EDGES[high])
                yield BandRows(band, low, high, keys[order], doc_ids[order])


class Index:
    """Reads and writes rows of the index, within the caller's transaction."""

    def __init__(self, connection: Connection) -> None:
        self.limits = connection.limits
        self._connection = connection

    def rows(self, table: IndexTable, slots: Collection[int] | None = None) -> Iterator[IndexRows]:
        """All rows, or those of the documents in some slots, some thousands at a time.

        A document is in the slot of its id modulo SLOTS.
        """
        some = None if slots is None else dumps(list(slots))
        for rows in self._connection.parts(table.read, some, size=_ROWS):
            yield integers(rows).reshape(-1, 3).T

    def clear(self, table: IndexTable) -> None:
        """Delete all rows."""
        self._connection.rows(table.clear)

    def insert(self, table: IndexTable, rows: IndexRows) -> None:
        """Insert rows, which are fastest in the order of the table."""
        for part in chunks(rows.shape[1], _ROWS):
            some = np.ascontiguousarray(rows[:, part].T)
            whole = len(some) - len(some) % sql.ROWS_AT_ONCE
            blocks = some[:whole].reshape(-1, sql.ROWS_AT_ONCE * 3)
            self._connection.run_many(table.insert_many, (block.tolist() for block in blocks))
            self._connection.run_many(table.insert, some[whole:].tolist())

    def delete(self, table: IndexTable, rows: Iterable[tuple[int, ...]]) -> None:
        """Delete rows; those that are not there are no error."""
        self._connection.run_many(table.delete, rows)

    def insert_signatures(self, doc_ids: IntArray, signatures: npt.NDArray[np.uint32]) -> None:
        """Insert the signatures uint32[n, k] of documents int64[n]."""
        little = np.ascontiguousarray(signatures, dtype="<u4")
        width = signatures.shape[1] * 4
        packed = bytearray(little)  # see store.DocumentValues
        blobs = (packed[start : start + width] for start in range(0, len(packed), width))
        self._connection.run_many(sql.INSERT_SIGNATURE, zip(doc_ids.tolist(), blobs, strict=True))

    def delete_signatures(self, doc_ids: Iterable[int]) -> None:
        """Delete the signatures of documents, if they exist."""
        self._connection.run_many(sql.DELETE_SIGNATURE, ((doc_id,) for doc_id in doc_ids))

    def insert_band(self, rows: BandRows, which: IntArray | slice = slice(None)) -> None:
        """Insert rows of a band, all or those at int64[m]."""
        keys, doc_ids = rows.keys[which], rows.doc_ids[which]
        self.insert(BANDS, np.stack((np.broadcast_to(rows.band, len(keys)), keys, doc_ids)))

    def insert_bands(self, doc_ids: IntArray, bucket_keys: Sequence[IntArray]) -> None:
        """Insert the band rows of documents int64[n].

        Their keys int64[n, b] are in pieces of some documents each, for a large batch best in
        Fortran order: in C order each key of a band is in another cache line.
        """
        for band in range(bucket_keys[0].shape[1]):
            keys = np.concatenate([piece[:, band] for piece in bucket_keys])
            order = np.argsort(keys)  # pages are then visited in order, each once
            rows = np.broadcast_to(band, len(order)), keys[order], doc_ids[order]
            self.insert(BANDS, np.stack(rows))

    def unindex(self, doc_ids: IntArray, bucket_keys: IntArray) -> None:
        """Delete the signatures and band rows of documents int64[n], buckets int64[n, b]."""
        rows = band_rows(doc_ids, bucket_keys)
        rows = rows[:, np.lexsort(rows[::-1])]  # pages are then visited in order, each once
        self.delete(BANDS, zip(*rows.tolist(), strict=True))
        self.delete_signatures(doc_ids.tolist())
