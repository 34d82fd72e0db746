"""Writing documents, signatures and bands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lshdb.columns import Blobs, Texts
from lshdb.errors import DamagedFile, QueryError, UsageError
from lshdb.model import Settings
from lshdb.store import statements as sql
from lshdb.store.ahead import one_ahead
from lshdb.store.connection import (
    Mode,
    connect,
    create_tables,
    is_new,
    transaction,
    translated_errors,
)
from lshdb.store.direct_rows import DirectRows
from lshdb.store.guard import Connection
from lshdb.store.joins import JoinReader
from lshdb.store.lookups import StoreReader
from lshdb.store.rows import (
    SettingsRow,
    SqlValue,
    blob,
    insert_settings,
    integer,
    text,
    update_index_settings,
)

if TYPE_CHECKING:
    from lshdb.store.checkpoint import Checkpointer

_T = TypeVar("_T")

_MANY: Final = 30_000
"""Documents whose band rows are sorted in a thread, a band ahead of the one that is written."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What tells whether a document given again has changed."""

    doc_id: int
    digest: bytes
    metadata: str | None


DocumentValues: TypeAlias = tuple[int, str, int, bytes | bytearray, str | None, str | None]
"""What is written of a document: doc_id, key, shingles, digest, metadata, content.

The sqlite3 module looks for an adapter of bytes, and of None, but not of a bytearray: of many rows
that takes as long as what else it does with them.
"""


class Store(StoreReader):
    """One open database file. Its settings are checked, its values typed, its errors lshdb's."""

    def __init__(self, path: Path, connection: Connection, timeout: float) -> None:
        self.path = path
        self._connection = connection
        self._timeout = timeout
        self._rebuilding = False
        self._direct = DirectRows(connection)
        try:
            self._settings = self._run(lambda: SettingsRow(connection, path))
        except QueryError as error:
            raise DamagedFile(f"{path} lacks lshdb's tables: {error}") from error

    @classmethod
    def open(cls, path: Path, mode: Mode, timeout: float, wanted: Callable[[], Settings]) -> Store:
        """Open the file; mode `create` makes it with the settings `wanted()` where there is none.

        A process that makes the same file at the same moment wins or loses whole: the loser
        opens what the winner made.
        """
        connection = connect(path, mode, timeout)
        try:
            if mode == "create":
                with translated_errors(path):
                    if is_new(connection):
                        settings = wanted()
                        with transaction(connection, "write"):
                            if is_new(connection):
                                create_tables(connection)
                                insert_settings(connection, settings)
            return cls(path, connection, timeout)
        except BaseException:
            connection.close()
            raise

    @property
    def timeout(self) -> float:
        """Seconds to wait while another process writes."""
        return self._timeout

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._connection.close()

    def reading(self) -> AbstractContextManager[None]:
        """A transaction in which everything read is of one moment."""
        return self._transaction("read")

    def join_reader(self) -> JoinReader:
        """A connection of its own that reads what joins need, all of one moment."""
        self._connection.check_file()
        return JoinReader(self.path, self._timeout)

    @contextmanager
    def batches(self) -> Iterator[Checkpointer]:
        """The writing of many large batches, with checkpoints beside it."""
        # It starts threads: what they need takes longer to import than a query takes.
        from lshdb.store.checkpoint import Checkpointer

        with Checkpointer(self._connection, self.path, self._timeout) as checkpoints, self._direct:
            yield checkpoints

    def shrink_log(self) -> None:
        """Copy the log into the file and give its room back, as far as no reader needs it."""
        # What cannot be copied now (the disk is full) is safe in the log, and is copied later.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._connection.execute(f"PRAGMA busy_timeout = {int(self._timeout * 1000)}")

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that is written whole or not at all."""
        return self._transaction("write")

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        """A transaction that makes the index anew; nothing is found in it before it is done."""
        with self.writing():
            self._rebuilding = True
            try:
                yield
            finally:
                self._rebuilding = False

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        if self._rebuilding:
            raise UsageError("the database is being reindexed: finish that first")
        with translated_errors(self.path):
            outermost = not self._connection.in_transaction
            with transaction(self._connection, "write" if kind == "write" else "read"):
                if outermost:
                    self._settings.refresh()
                yield

    def _run_many(self, statement: str, rows: Iterable[Sequence[SqlValue | bytearray]]) -> None:
        self._run(lambda: self._connection.executemany(statement, rows))

    # writing; the caller holds a transaction

    def last_doc_id(self) -> int:
        """The largest doc_id in use, 0 where there is none."""
        return integer(self._rows(sql.LAST_DOC_ID)[0][0])

    def known(self, keys: Sequence[str]) -> dict[str, KnownDocument]:
        """Those of the keys that the database has."""
        rows = self._rows(sql.KNOWN_DOCUMENTS, json.dumps(keys))
        return {
            text(key): KnownDocument(
                integer(i), blob(digest), None if metadata is None else text(metadata)
            )
            for key, i, digest, metadata in rows
        }

    def insert(self, documents: Iterable[DocumentValues]) -> None:
        """Insert rows of documents; their signatures and bands are added apart."""
        self._run_many(sql.INSERT_DOCUMENT, documents)

    def insert_new(
        self,
        doc_ids: npt.NDArray[np.int64],
        keys: Sequence[str],
        shingles: npt.NDArray[np.int64],
        digests: Sequence[bytes],
        stored: Sequence[str] | None,
        metadata: Sequence[str | None],
    ) -> bool:
        """Insert rows of documents whose keys are thought to be new.

        Their doc_ids int64[n] follow the last one in use. `stored` is None where no content is
        kept, `metadata` is empty where there is none.

        Returns:
            False if a key is there already, or twice among these; then none is inserted.
        """

        def insert() -> bool:
            try:
                self._insert_new(doc_ids, keys, shingles, digests, stored, metadata)
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                    raise
                self._connection.execute(sql.DELETE_DOCUMENTS_FROM, (int(doc_ids[0]),))
                return False
            return True

        return self._run(insert)

    def _insert_new(
        self,
        doc_ids: npt.NDArray[np.int64],
        keys: Sequence[str],
        shingles: npt.NDArray[np.int64],
        digests: Sequence[bytes],
        stored: Sequence[str] | None,
        metadata: Sequence[str | None],
    ) -> None:
        n = len(keys)
        if not metadata and self._direct.are_worth(n):
            texts = None if stored is None else Texts.packed(stored)
            blobs = Blobs.packed(digests).matrix
            columns = doc_ids, Texts.packed(keys), shingles, blobs, texts
            self._direct.run(sql.INSERT_PLAIN_DOCUMENTS, n, columns)
            return
        rows: list[Iterable[SqlValue | bytearray]] = [doc_ids.tolist(), keys, shingles.tolist()]
        rows.append(map(bytearray, digests))  # see DocumentValues
        if metadata:
            rows.append(metadata)
        rows.append(repeat(None, n) if stored is None else stored)
        statement = sql.INSERT_DOCUMENT if metadata else sql.INSERT_PLAIN_DOCUMENTS.one
        self._connection.executemany(statement, zip(*rows, strict=True))

    def update(self, documents: Iterable[DocumentValues]) -> None:
        """Set new values of stored documents; their old signatures and bands are gone already."""
        self._run_many(sql.UPDATE_DOCUMENT, documents)

    def set_metadata(self, documents: Sequence[tuple[int, str | None]]) -> None:
        """Set the metadata of stored documents, named by their ids."""
        if documents:
            self._run_many(sql.UPDATE_METADATA, documents)

    def delete(self, doc_ids: Sequence[int]) -> None:
        """Delete rows of documents; their signatures and bands are gone already."""
        self._run_many(sql.DELETE_DOCUMENT, [(doc_id,) for doc_id in doc_ids])

    def insert_signatures(
        self, doc_ids: npt.NDArray[np.int64], signatures: npt.NDArray[np.uint32]
    ) -> None:
        """Insert the signatures uint32[n, k] of documents int64[n]."""
        little = np.ascontiguousarray(signatures, dtype="<u4")
        if self._direct.are_worth(len(doc_ids)):
            columns = doc_ids, little.view(np.uint8)
            self._run(lambda: self._direct.run(sql.INSERT_SIGNATURES, len(doc_ids), columns))
            return
        width = signatures.shape[1] * 4
        packed = bytearray(little)  # see DocumentValues
        blobs = (packed[start : start + width] for start in range(0, len(packed), width))
        pairs = zip(doc_ids.tolist(), blobs, strict=True)
        self._run_many(sql.INSERT_SIGNATURES.one, pairs)

    def insert_bands(
        self, doc_ids: npt.NDArray[np.int64], bucket_keys: Sequence[npt.NDArray[np.int64]]
    ) -> None:
        """Insert the band rows of documents int64[n].

        Their keys int64[n, b] are in pieces of some documents each, for a large batch best in
        Fortran's order: a key picked out of a row is in a cache line of its own.
        """

        def in_order(band: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
            keys = np.concatenate([piece[:, band] for piece in bucket_keys])
            order = np.argsort(keys)  # see sorted_band_rows
            return keys[order], doc_ids[order]

        rows = map(in_order, range(bucket_keys[0].shape[1]))
        for band, (keys, ids) in enumerate(one_ahead(rows) if len(doc_ids) >= _MANY else rows):
            self.append_bands(band, keys, ids)

    def append_bands(
        self, band: int, keys: npt.NDArray[np.int64], doc_ids: npt.NDArray[np.int64]
    ) -> None:
        """Insert sorted rows of a band, int64[n] both."""
        if not self._direct.are_worth(len(keys)):
            insert_rows(self._run_many, band, keys, doc_ids)
            return
        self._run(
            lambda: self._direct.run(sql.INSERT_BANDS, len(keys), (keys, doc_ids), shared=[band])
        )

    def clear_bands(self) -> None:
        """Delete all band rows; their pages are free for what is inserted next."""
        self._run(lambda: self._connection.execute(sql.DELETE_BANDS))

    def set_index(self, settings: Settings) -> None:
        """Write the threshold, recall and construction of the index."""
        self._run(lambda: update_index_settings(self._connection, settings))

    def unindex(self, doc_ids: npt.NDArray[np.int64], bucket_keys: npt.NDArray[np.int64]) -> None:
        """Delete the signatures and band rows of documents int64[n], buckets int64[n, b]."""
        for band in range(bucket_keys.shape[1]):
            rows = sorted_band_rows(doc_ids, bucket_keys[:, band], band)
            self._run_many(sql.DELETE_BAND, rows.tolist())
        self._run_many(sql.DELETE_SIGNATURE, [(doc_id,) for doc_id in doc_ids.tolist()])


def sorted_band_rows(
    doc_ids: npt.NDArray[np.int64], keys: npt.NDArray[np.int64], band: int
) -> npt.NDArray[np.int64]:
    """The rows of one band in the order of the table, int64[n, 3]: band_no, bucket_key, doc_id.

    B-tree pages are then visited in order, each once; rows in the order of documents take many
    times as long.
    """
    order = np.argsort(keys)
    rows = np.empty((len(keys), 3), dtype=np.int64)
    rows[:, 0] = band
    rows[:, 1] = keys[order]
    rows[:, 2] = doc_ids[order]
    return rows


def insert_rows(
    run_many: Callable[[str, Iterable[Sequence[SqlValue]]], None],
    band: int,
    keys: npt.NDArray[np.int64],
    doc_ids: npt.NDArray[np.int64],
) -> None:
    """Insert sorted rows of a band, int64[n] both, many at once, by a function that runs SQL."""
    rows = sql.INSERT_BANDS
    statements, rest = divmod(len(keys), rows.at_once)
    whole = len(keys) - rest
    values = np.empty((statements, 1 + 2 * rows.at_once), dtype=np.int64)
    values[:, 0] = band
    values[:, 1::2] = keys[:whole].reshape(statements, rows.at_once)
    values[:, 2::2] = doc_ids[:whole].reshape(statements, rows.at_once)
    run_many(rows.many, (row.tolist() for row in values))
    last = zip(repeat(band), keys[whole:].tolist(), doc_ids[whole:].tolist(), strict=False)
    run_many(rows.one, list(last))
