"""Reading and writing documents, signatures and bands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lshdb.errors import DamagedFile, LshdbError, QueryError
from lshdb.model import Bucket, Construction, Settings, Shingling
from lshdb.store import statements as sql
from lshdb.store.connection import (
    Mode,
    connect,
    create_tables,
    is_new,
    transaction,
    translated_errors,
)
from lshdb.store.joins import JoinReader
from lshdb.store.readonly_sql import SqlValue, run_readonly

if TYPE_CHECKING:
    from lshdb.store.checkpoint import Checkpointer

_T = TypeVar("_T")
_AT_ONCE: Final = 10_000
"""Signatures read in one go when all are wanted, and buckets when many are."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What tells whether a document given again has changed."""

    doc_id: int
    digest: bytes


DocumentValues: TypeAlias = tuple[int, str, int, bytes, str | None]
"""What is written of a document: doc_id, key, shingles, digest, content."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as stored; the signature is None where it has no shingles."""

    doc_id: int
    key: str
    shingles: int
    content: str | None
    signature: npt.NDArray[np.uint32] | None


class Store:
    """One open database file. Its settings are checked, its values typed, its errors lshdb's."""

    def __init__(self, path: Path, connection: sqlite3.Connection, timeout: float) -> None:
        self.path = path
        self._connection = connection
        self._timeout = timeout
        try:
            self.settings = self._run(self._read_settings)
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
                                _insert_settings(connection, settings)
            return cls(path, connection, timeout)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._connection.close()

    def reading(self) -> AbstractContextManager[None]:
        """A transaction in which everything read is of one moment."""
        return self._transaction("read")

    def join_reader(self) -> JoinReader:
        """A connection of its own that reads what joins need, all of one moment."""
        return JoinReader(self.path, self._timeout, self.settings.permutations)

    def checkpoints(self) -> Checkpointer:
        """Checkpoints beside the writing of many large batches."""
        # It starts threads: what they need takes longer to import than a query takes.
        from lshdb.store.checkpoint import Checkpointer

        return Checkpointer(self._connection, self.path, self._timeout)

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that is written whole or not at all."""
        return self._transaction("write")

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        with (
            translated_errors(self.path),
            transaction(self._connection, "write" if kind == "write" else "read"),
        ):
            yield

    def _run(self, action: Callable[[], _T]) -> _T:
        with translated_errors(self.path):
            return action()

    def _run_many(self, statement: str, rows: Iterable[Sequence[SqlValue]]) -> None:
        self._run(lambda: self._connection.executemany(statement, rows))

    def _rows(self, statement: str, *parameters: SqlValue) -> list[tuple[SqlValue, ...]]:
        return self._run(lambda: self._connection.execute(statement, parameters).fetchall())

    def _read_settings(self) -> Settings:
        row = self._connection.execute(sql.SELECT_SETTINGS).fetchone()
        try:
            threshold, recall, shingle, permutations, construction, sketch, seed, content = row
            return Settings(
                threshold,
                recall,
                Shingling.parse(shingle),
                permutations,
                Construction.parse(construction),
                sketch,
                seed,
                bool(content),
            )
        except (LshdbError, TypeError) as error:
            raise DamagedFile(f"{self.path} has settings that are not legal: {error}") from error

    # writing; the caller holds a transaction

    def last_doc_id(self) -> int:
        """The largest doc_id in use, 0 where there is none."""
        return _integer(self._rows(sql.LAST_DOC_ID)[0][0])

    def known(self, keys: Sequence[str]) -> dict[str, KnownDocument]:
        """Those of the keys that the database has."""
        rows = self._rows(sql.KNOWN_DOCUMENTS, json.dumps(keys))
        return {str(key): KnownDocument(_integer(i), _blob(digest)) for key, i, digest in rows}

    def insert(self, documents: Iterable[DocumentValues]) -> None:
        """Insert rows of documents; their signatures and bands are added apart."""
        self._run_many(sql.INSERT_DOCUMENT, documents)

    def update(self, documents: Iterable[DocumentValues]) -> None:
        """Set new values of stored documents; their old signatures and bands are gone already."""
        self._run_many(sql.UPDATE_DOCUMENT, documents)

    def delete(self, doc_ids: Sequence[int]) -> None:
        """Delete rows of documents; their signatures and bands are gone already."""
        self._run_many(sql.DELETE_DOCUMENT, [(doc_id,) for doc_id in doc_ids])

    def insert_signatures(
        self, doc_ids: npt.NDArray[np.int64], signatures: npt.NDArray[np.uint32]
    ) -> None:
        """Insert the signatures uint32[n, k] of documents int64[n]."""
        width = signatures.shape[1] * 4
        packed = np.ascontiguousarray(signatures, dtype="<u4").tobytes()
        blobs = (packed[start : start + width] for start in range(0, len(packed), width))
        pairs = zip(doc_ids.tolist(), blobs, strict=True)
        self._run_many(sql.INSERT_SIGNATURE, pairs)

    def insert_bands(
        self, doc_ids: npt.NDArray[np.int64], bucket_keys: npt.NDArray[np.int64]
    ) -> None:
        """Insert the band rows int64[n, b] of documents int64[n]."""
        for band in range(bucket_keys.shape[1]):
            rows = _sorted_band_rows(doc_ids, bucket_keys[:, band], band)
            whole = len(rows) // sql.BANDS_AT_ONCE * sql.BANDS_AT_ONCE
            chunks = rows[:whole].reshape(-1, sql.BANDS_AT_ONCE * 3)
            self._run_many(sql.INSERT_BANDS, (chunk.tolist() for chunk in chunks))
            self._run_many(sql.INSERT_BAND, rows[whole:].tolist())

    def unindex(self, doc_ids: npt.NDArray[np.int64], bucket_keys: npt.NDArray[np.int64]) -> None:
        """Delete the signatures and band rows of documents int64[n], buckets int64[n, b]."""
        for band in range(bucket_keys.shape[1]):
            rows = _sorted_band_rows(doc_ids, bucket_keys[:, band], band)
            self._run_many(sql.DELETE_BAND, rows.tolist())
        self._run_many(sql.DELETE_SIGNATURE, [(doc_id,) for doc_id in doc_ids.tolist()])

    # reading

    def candidates(
        self, bucket_keys: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Documents that share a bucket with keys int64[b]: doc_ids int64[c], bands int64[c]."""
        doc_ids, bands = np.unique(self.members(bucket_keys), return_counts=True)
        return doc_ids, bands

    def members(
        self, bucket_keys: npt.NDArray[np.int64], most: int | None = None
    ) -> npt.NDArray[np.int64]:
        """The documents in the buckets int64[b], one of each band, repeated; the first `most`."""
        limit = -1 if most is None else most
        return self._integers(sql.CANDIDATES, json.dumps(bucket_keys.tolist()), limit)

    def members_by_band(
        self, bucket_keys: npt.NDArray[np.int64], most: int | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The same with the numbers of their bands: int64[n] and doc_ids int64[n]."""
        limit = -1 if most is None else most
        keys = json.dumps(bucket_keys.tolist())
        table = self._integers(sql.CANDIDATES_BY_BAND, keys, limit).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def first_members(self, band_no: int, bucket_key: int, most: int) -> npt.NDArray[np.int64]:
        """The `most` documents of a bucket that were added first, their ids in order."""
        return self._integers(sql.FIRST_OF_BUCKET, band_no, bucket_key, most)

    def first_of_buckets(
        self, band_no: int, bucket_keys: npt.NDArray[np.int64], most: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The first documents of some buckets int64[n] of a band, at most so many of each.

        Returns:
            int64[r], the places of the buckets, and int64[r], doc_ids; ordered by both.
        """
        parts = [np.empty((0, 2), dtype=np.int64)]
        for start in range(0, len(bucket_keys), _AT_ONCE):
            some = json.dumps(bucket_keys[start : start + _AT_ONCE].tolist())
            found = self._integers(sql.FIRST_OF_BUCKETS, some, band_no, most).reshape(-1, 2)
            found[:, 0] += start
            parts.append(found)
        table = np.concatenate(parts)
        return table[:, 0], table[:, 1]

    def _integers(self, statement: str, *parameters: SqlValue) -> npt.NDArray[np.int64]:
        """The values of a result, row by row, int64[any], without a list of all its rows."""

        def read() -> npt.NDArray[np.int64]:
            cursor = self._connection.execute(statement, parameters)
            return np.fromiter(chain.from_iterable(cursor), dtype=np.int64)

        return self._run(read)

    def document(self, key: str) -> DocumentRow | None:
        """The document of a key, None where there is none."""
        try:
            rows = self._rows(sql.DOCUMENT_OF_KEY, key)
        except UnicodeEncodeError:  # a lone surrogate, which no stored key has
            return None
        return self._document(rows[0]) if rows else None

    def contents(self, doc_ids: npt.NDArray[np.int64]) -> Iterator[str]:
        """The stored contents of these documents, in this order, read as they are taken."""
        with translated_errors(self.path):
            for (content,) in self._connection.execute(
                sql.CONTENTS, (json.dumps(doc_ids.tolist()),)
            ):
                yield str(content)

    def sizes(self, doc_ids: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], list[bytes]]:
        """Shingles of these documents, repetitions counted, int64[n], and their digests."""
        rows = self._rows(sql.SIZES, json.dumps(doc_ids.tolist()))
        shingles = np.array([row[0] for row in rows], dtype=np.int64)
        return shingles, [_blob(row[1]) for row in rows]

    def keys_of(self, doc_ids: npt.NDArray[np.int64]) -> list[str]:
        """The keys of these documents, in this order."""
        rows = self._rows(sql.KEYS_OF, json.dumps(doc_ids.tolist()))
        return [str(key) for (key,) in rows]

    def signatures(
        self, doc_ids: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """The signatures uint32[n, k] of those of the documents that have one, and their ids."""
        rows = self._rows(sql.SIGNATURES, json.dumps(doc_ids.tolist()))
        return self._signature_matrix(rows)

    def all_signatures(
        self,
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]]:
        """All signatures, some thousands at a time: doc_ids int64[n], signatures uint32[n, k]."""
        last = 0
        while rows := self._rows(sql.SIGNATURES_AFTER, last, _AT_ONCE):
            doc_ids, signatures = self._signature_matrix(rows)
            last = int(doc_ids[-1])
            yield doc_ids, signatures

    def bucket_sizes(self, bucket_keys: npt.NDArray[np.int64]) -> list[Bucket]:
        """The buckets int64[b], one of each band, with their numbers of documents."""
        rows = self._rows(sql.BUCKETS_OF_DOCUMENT, json.dumps(bucket_keys.tolist()))
        return [Bucket(*map(_integer, row)) for row in rows]

    def largest_buckets(self, top: int) -> list[Bucket]:
        """The buckets with the most documents, largest first."""
        return [Bucket(*map(_integer, row)) for row in self._rows(sql.LARGEST_BUCKETS, top)]

    def count(self) -> tuple[int, int]:
        """How many documents there are, and how many of them have no shingle."""
        (documents,), (empty,) = self._rows(sql.COUNT_DOCUMENTS) + self._rows(sql.COUNT_EMPTY)
        return _integer(documents), _integer(empty)

    def keys(self) -> list[str]:
        """All keys, in the order of first addition."""
        return [str(key) for (key,) in self._rows(sql.KEYS)]

    def bytes(self) -> int:
        """The size of the file with its write-ahead log, in bytes."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def sql(self, statement: str) -> tuple[list[str], Iterator[tuple[SqlValue, ...]]]:
        """Run a user's SQL on a connection that only reads: column names and rows."""
        return run_readonly(self.path, statement, self._timeout)

    def _document(self, row: tuple[SqlValue, ...]) -> DocumentRow:
        doc_id, key, shingles, content, signature = row
        return DocumentRow(
            _integer(doc_id),
            str(key),
            _integer(shingles),
            None if content is None else str(content),
            None if signature is None else self._signature_matrix([(doc_id, signature)])[1][0],
        )

    def _signature_matrix(
        self, rows: list[tuple[SqlValue, ...]]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        lanes = self.settings.permutations
        doc_ids = np.array([row[0] for row in rows], dtype=np.int64)
        blobs = [_blob(row[1]) for row in rows]
        for doc_id, blob in zip(doc_ids.tolist(), blobs, strict=True):
            if len(blob) != lanes * 4:
                raise DamagedFile(
                    f"{self.path}: the signature of document {doc_id} has {len(blob)} bytes, "
                    f"not {lanes * 4}; restore the file from a copy"
                )
        matrix = np.frombuffer(b"".join(blobs), dtype="<u4").reshape(len(blobs), lanes)
        return doc_ids, matrix.astype(np.uint32, copy=False)


def _insert_settings(connection: sqlite3.Connection, settings: Settings) -> None:
    values = (
        settings.threshold,
        settings.recall,
        str(settings.shingling),
        settings.permutations,
        str(settings.construction),
        settings.sketch,
        settings.seed,
        int(settings.content),
    )
    connection.execute(sql.INSERT_SETTINGS, values)


def _sorted_band_rows(
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


def _integer(value: SqlValue) -> int:
    if not isinstance(value, int):
        raise DamagedFile(f"expected an integer in the file, found {type(value).__name__}")
    return value


def _blob(value: SqlValue) -> bytes:
    if not isinstance(value, bytes):
        raise DamagedFile(f"expected a BLOB in the file, found {type(value).__name__}")
    return value
