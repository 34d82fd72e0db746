"""Reading documents, signatures and bands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from lshdb.errors import DamagedFile
from lshdb.model import Bucket, Settings
from lshdb.store import statements as sql
from lshdb.store.conditions import Condition, Parameters
from lshdb.store.connection import file_size, translated_errors
from lshdb.store.guard import Connection
from lshdb.store.readonly_sql import run_readonly
from lshdb.store.rows import SettingsRow, SqlValue, blob, integer, integers, text

_T = TypeVar("_T")
_AT_ONCE: Final = 10_000
"""Signatures read in one go when all are wanted, and buckets when many are."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as stored; the signature is None where it has no shingles."""

    doc_id: int
    key: str
    shingles: int
    metadata: str | None
    content: str | None
    signature: npt.NDArray[np.uint32] | None


class StoreReader:
    """What is read of an open database file, its values typed and its errors lshdb's."""

    path: Path
    _settings: SettingsRow
    _connection: Connection
    _timeout: float

    @property
    def settings(self) -> Settings:
        """Those of the open transaction, or the last one: another process may reindex the file."""
        return self._settings.settings

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
        return self._run(lambda: integers(self._connection.execute(statement, parameters)))

    def document(self, key: str) -> DocumentRow | None:
        """The document of a key, None where there is none."""
        try:
            rows = self._rows(sql.DOCUMENT_OF_KEY, key)
        except UnicodeEncodeError:  # a lone surrogate, which no stored key has
            return None
        return self._document(rows[0]) if rows else None

    def contents(self, doc_ids: npt.NDArray[np.int64]) -> Iterator[str]:
        """The stored contents of these documents, in this order, read as they are taken."""
        found = 0
        with translated_errors(self.path):
            for (content,) in self._connection.execute(
                sql.CONTENTS, (json.dumps(doc_ids.tolist()),)
            ):
                found += 1
                yield text(content)
        self._check_number(found, doc_ids)

    def sizes(self, doc_ids: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], list[bytes]]:
        """Shingles of these documents, repetitions counted, int64[n], and their digests."""
        rows = self._rows(sql.SIZES, json.dumps(doc_ids.tolist()))
        self._check_number(len(rows), doc_ids)
        return integers(row[:1] for row in rows), [blob(row[1]) for row in rows]

    def keys_of(self, doc_ids: npt.NDArray[np.int64]) -> list[str]:
        """The keys of these documents, in this order."""
        rows = self._rows(sql.KEYS_OF, json.dumps(doc_ids.tolist()))
        self._check_number(len(rows), doc_ids)
        return [text(key) for (key,) in rows]

    def _check_number(self, found: int, doc_ids: npt.NDArray[np.int64]) -> None:
        if found != len(doc_ids):
            raise DamagedFile(
                f"{self.path}: buckets hold documents that are not there; restore the file from a "
                "copy"
            )

    def signatures(
        self, doc_ids: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """The signatures uint32[n, k] of those of the documents that have one, and their ids."""
        rows = self._rows(sql.SIGNATURES, json.dumps(doc_ids.tolist()))
        return self._signature_matrix(rows)

    def all_signatures(
        self, most: int | None = None
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]]:
        """All signatures by doc_id, some thousands or `most` at a time: int64[n], uint32[n, k]."""
        last = 0
        while rows := self._rows(sql.SIGNATURES_AFTER, last, most or _AT_ONCE):
            doc_ids, signatures = self._signature_matrix(rows)
            if (np.diff(doc_ids, prepend=last) <= 0).any():
                # In a damaged table it would go on and on.
                raise DamagedFile(
                    f"{self.path} is damaged: signatures are not in order; restore it from a copy"
                )
            last = int(doc_ids[-1])
            yield doc_ids, signatures

    def bucket_sizes(self, bucket_keys: npt.NDArray[np.int64]) -> list[Bucket]:
        """The buckets int64[b], one of each band, with their numbers of documents."""
        rows = self._rows(sql.BUCKETS_OF_DOCUMENT, json.dumps(bucket_keys.tolist()))
        return [Bucket(*map(integer, row)) for row in rows]

    def largest_buckets(self, top: int) -> list[Bucket]:
        """The buckets with the most documents, largest first."""
        return [Bucket(*map(integer, row)) for row in self._rows(sql.LARGEST_BUCKETS, top)]

    def buckets_of_size(self) -> dict[int, int]:
        """How many buckets there are of each number of documents, the smallest first."""
        return {integer(size): integer(n) for size, n in self._rows(sql.BUCKETS_OF_SIZE)}

    def data_version(self) -> int:
        """A number that is another one after other connections have changed the file."""
        return integer(self._rows(sql.DATA_VERSION)[0][0])

    def count(self) -> tuple[int, int]:
        """How many documents there are, and how many of them have no shingle."""
        (documents,), (empty,) = self._rows(sql.COUNT_DOCUMENTS) + self._rows(sql.COUNT_EMPTY)
        return integer(documents), integer(empty)

    def keys(self) -> list[str]:
        """All keys, in the order of first addition."""
        return [text(key) for (key,) in self._rows(sql.KEYS)]

    def keys_from(self, first: str, most: int) -> list[str]:
        """At most so many keys from this text on, in the order of their UTF-8 bytes."""
        return [text(key) for (key,) in self._rows(sql.KEYS_FROM, first, most)]

    def bytes(self) -> int:
        """The size of the file with its write-ahead log, in bytes."""
        return file_size(self.path)

    def free_bytes(self) -> int:
        """How much of the file is free for what is written next."""
        ((pages,),) = self._rows(sql.FREE_PAGES)
        ((size,),) = self._rows(sql.PAGE_SIZE)
        return integer(pages) * integer(size)

    def sql(self, statement: str) -> tuple[list[str], Iterator[tuple[SqlValue, ...]]]:
        """Run a user's SQL on a connection that only reads: column names and rows."""
        self._connection.check_file()
        return run_readonly(self.path, statement, self._timeout)

    def condition(self, expression: str, parameters: Parameters) -> Condition:
        """A user's condition on documents, to be closed after use."""
        return Condition(self.path, expression, parameters, self._timeout)

    def _document(self, row: tuple[SqlValue, ...]) -> DocumentRow:
        doc_id, key, shingles, metadata, content, signature = row
        if content is None and self.settings.content:
            raise DamagedFile(
                f"{self.path}: the content of document {integer(doc_id)} is gone; restore the file "
                "from a copy"
            )
        return DocumentRow(
            integer(doc_id),
            text(key),
            integer(shingles),
            None if metadata is None else text(metadata),
            None if content is None else text(content),
            None if signature is None else self._signature_matrix([(doc_id, signature)])[1][0],
        )

    def _signature_matrix(
        self, rows: list[tuple[SqlValue, ...]]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        lanes = self.settings.permutations
        doc_ids = integers(row[:1] for row in rows)
        blobs = [blob(row[1]) for row in rows]
        for doc_id, packed in zip(doc_ids.tolist(), blobs, strict=True):
            if len(packed) != lanes * 4:
                raise DamagedFile(
                    f"{self.path}: the signature of document {doc_id} has {len(packed)} bytes, "
                    f"not {lanes * 4}; restore the file from a copy"
                )
        matrix = np.frombuffer(b"".join(blobs), dtype="<u4").reshape(len(blobs), lanes)
        return doc_ids, matrix.astype(np.uint32, copy=False)

    def _run(self, action: Callable[[], _T]) -> _T:
        with translated_errors(self.path):
            result = action()
        self._connection.check_unchanged()
        return result

    def _rows(self, statement: str, *parameters: SqlValue) -> list[tuple[SqlValue, ...]]:
        return self._run(lambda: self._connection.execute(statement, parameters).fetchall())
