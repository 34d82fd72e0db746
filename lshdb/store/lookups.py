"""Reading documents, signatures and bands.

A join is read as a stream, for minutes if there are many pairs. It has its own reader
(`StoreReader.snapshot`), so that the caller may write meanwhile.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lshdb import errors
from lshdb.json_text import dumps
from lshdb.model import Bucket
from lshdb.options import ConditionOptions, Parameters, SqlValue
from lshdb.progress import Progress
from lshdb.sketch.settings import parts_of
from lshdb.store import guard, index, readonly_sql, sqlite_errors
from lshdb.store import statements as sql
from lshdb.store.connection import file_size
from lshdb.store.rows import (
    FileState,
    checked,
    integers,
    lanes_of,
    record,
    settings_of,
    typed,
    typed_column,
)
from lshdb.text.arrays import IntArray, Lanes, Mask, chunks, first_of_each, is_new
from lshdb.text.content import DIGEST_BYTES, LARGEST

_T = TypeVar("_T")
_NAMES_BANDS = re.compile(r"\b(bands|buckets|bucket_members|candidate_pairs)\b", re.IGNORECASE)
"""In a user's SQL: the table of band rows, and the views of it."""
_NO_CONDITION = ConditionOptions()
_LANES = 1 << 21
"""Lanes of all signatures that are read at once."""


@dataclass(frozen=True)
class DocumentRow:
    """A document as stored; the signature is None if it has no shingles."""

    doc_id: int
    key: str
    shingles: int
    metadata: str | None
    content: str | None
    signature: Lanes | None


class StoredFile(NamedTuple):
    """A document, and the state of the file that it was read from, if it was (see FileState)."""

    doc_id: int
    key: str
    digest: bytes
    size: int | None
    mtime_ns: int | None
    extracted: str | None
    ctime_ns: int | None
    device: int | None
    inode: int | None
    file_digest: bytes | None

    @property
    def state(self) -> FileState | None:
        """The state of that file."""
        return None if self.size is None else record(FileState, self[3:])


class StoreReader:
    """Reads an open database file; values are typed, and errors are lshdb's.

    Attributes:
        settings: the settings in the open transaction, or in the last one: another process may
            reindex.
        indexed_to, indexed_bucket: as in the settings, see schema.sql; None if all band rows are
            written.
        parts: the names of the parts whose tables the file has (see lshdb.store.schema).
        root: the real path of the directory that keys of files are relative to.
    """

    def __init__(self, connection: guard.Connection) -> None:
        self.path, self.real_path = connection.path, connection.real_path
        self.limits = connection.limits
        self._connection = connection
        self.rows = connection.rows
        self.integers = connection.integers
        self._settings_rows: Any = None
        self._read_settings()

    def _read_settings(self) -> None:
        """Read the settings again if they have changed.

        Another process may reindex the file while it is open here, and what is read and written of
        the index must fit the settings of the same moment: at the start of each transaction, this
        takes 4 us, a hundredth of a query.
        """
        rows = self.rows(sql.SELECT_SETTINGS)
        if rows != self._settings_rows:
            stored = settings_of(self.path, rows, self.rows(sql.BASE_TEXTS))
            self.settings, self.parts, self.indexed_to, self.indexed_bucket, root = stored
            self.root = os.path.normpath(os.path.join(self.real_path.parent, root or os.curdir))
            if missing := parts_of(self.settings).keys() - self.parts:
                raise errors.DamagedFile(
                    f"{self.path}: table {min(missing)} is missing: {sqlite_errors.RESTORE}"
                )
            self._settings_rows = rows

    @contextmanager
    def snapshot(
        self, condition: ConditionOptions = _NO_CONDITION
    ) -> Iterator[tuple[StoreReader, readonly_sql.DocumentFilter | None]]:
        """A reader of a snapshot of the file, on a connection of its own.

        The caller may write meanwhile. For a user's condition, the second value is a function that
        finds the matching documents. The reader's settings are those of the index that it reads:
        another process may have reindexed the file.
        """
        where = condition.where
        if where is None:
            self._connection.check_open()  # any thread may read all, on a connection of its own
        else:
            self._connection.check_owner()
        connection = readonly_sql.sealed_connection(self._connection)
        try:
            keep = None
            if where is not None:
                keep = readonly_sql.condition(connection, where, condition.parameters)
            yield StoreReader(connection), keep
        finally:
            connection.close()

    def documents_of_buckets(
        self, buckets: IntArray, first: int | None = None, max_rows: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """The documents in some buckets.

        In the order of the buckets, pages of the table are read in order.

        Args:
            buckets: int64[n], as lshdb.sketch.banding.bucket_codes gives them.
            first: how many documents of each bucket are read, those added first; None for all.
            max_rows: how many rows are read; None for all.

        Returns:
            int64[r], the indices of the buckets, and int64[r], doc_ids; ordered by both.
        """
        limit = -1 if max_rows is None else max_rows
        indices, doc_ids = self.rows_of_values(sql.MEMBERS, buckets, first, limit)
        if self.indexed_to is not None:
            # The rows that are not in the table yet, from all signatures of these documents, which
            # are read at a million per second.
            written = index.BEFORE_ALL if self.indexed_bucket is None else self.indexed_bucket
            tables = [np.empty((2, 0), dtype=np.int64)]
            for unindexed_ids, signatures in self.unindexed_signatures():
                rows = np.stack(index.band_codes(unindexed_ids, signatures, self.settings))
                tables.append(rows[:, np.isin(rows[0], buckets) & (rows[0] > written)])
            codes, members = np.concatenate(tables, axis=1)
            order = buckets.argsort()
            indices = np.append(indices, order[buckets[order].searchsorted(codes)])
            doc_ids = np.append(doc_ids, members)
            chosen = first_of_each(indices, first, doc_ids)
            indices, doc_ids = indices[chosen], doc_ids[chosen]
        return indices[:max_rows], doc_ids[:max_rows]

    def rows_of_values(
        self, statement: str, values: Sequence[str] | IntArray, *parameters: SqlValue
    ) -> tuple[IntArray, IntArray]:
        """Run a statement for n values, some thousands at a time: indices of values, integers."""
        tables = [np.empty((0, 2), dtype=np.int64)]
        for part in chunks(len(values), self.limits.documents_read):
            json_values = dumps(np.asarray(values[part]).tolist())
            pairs = self.integers(statement, json_values, *parameters).reshape(-1, 2)
            pairs[:, 0] += part.start
            tables.append(pairs)
        table = np.concatenate(tables)
        return table[:, 0], table[:, 1]

    def records(self, kind: type[_T], statement: str, *parameters: SqlValue) -> list[_T]:
        """The rows of a result as objects, whose attributes are its columns."""
        return [record(kind, row) for row in self.rows(statement, *parameters)]

    def document(self, key: str) -> DocumentRow | None:
        """The document of a key, None if there is none."""
        try:
            rows = self.rows(sql.DOCUMENT_OF_KEY, key)
        except UnicodeEncodeError:  # a lone surrogate, which no stored key has
            return None
        kinds = (int, str, int, str | None, str | None, bytes | None)
        if not rows:
            return None
        doc_id, stored_key, shingles, metadata, content, signature = typed(rows[0], *kinds)
        if content is None and self.settings.content:
            raise errors.DamagedFile(
                f"{self.path}: the content of document {doc_id} is gone; {sqlite_errors.RESTORE}"
            )
        self._counts([(shingles,)])
        lanes = None
        if signature is not None:
            lanes = self._signature_matrix([(doc_id, signature)])[1][0]
        return DocumentRow(doc_id, stored_key, shingles, metadata, content, lanes)

    def contents(self, doc_ids: IntArray) -> Iterator[str]:
        """The stored contents of these documents, in this order, read lazily."""
        return self._column(sql.CONTENTS, str, doc_ids)

    def sizes(self, doc_ids: IntArray) -> tuple[IntArray, npt.NDArray[np.void]]:
        """Shingles of these documents, repetitions counted, int64[n], and their digests V16[n]."""
        shingles = np.empty(len(doc_ids), dtype=np.int64)
        digests = np.empty(len(doc_ids), dtype=f"V{DIGEST_BYTES}")
        for part in chunks(len(doc_ids), self.limits.documents_read):
            counts, stored = zip(*self._rows_of(sql.SIZES, doc_ids[part]), strict=True)
            shingles[part] = self._counts([counts])
            blobs = self._packed(stored, DIGEST_BYTES, "digest")
            digests[part] = np.frombuffer(blobs, dtype=digests.dtype)
        return shingles, digests

    def identities(
        self, doc_ids: IntArray
    ) -> tuple[Sequence[str], Sequence[bytes], Sequence[str | None]]:
        """The keys of documents, the digests of their texts, and `bytes_digests`."""
        rows = [*self._rows_of(sql.IDENTITIES, doc_ids)]
        keys, texts, bytes_digests = zip(*rows, strict=True) if rows else ((), (), ())
        strings = typed_column(bytes_digests, str, type(None))
        return typed_column(keys, str), typed_column(texts, bytes), strings

    def bytes_digests(self, doc_ids: IntArray) -> Sequence[str | None]:
        """Of these documents what says that their bytes are the same; None if it is not known."""
        return self.identities(doc_ids)[2]

    def has_files(self) -> bool:
        """Whether a document was read from a file."""
        return self.number(sql.LAST_FILE) > 0

    def have_same_bytes(self, a: IntArray, b: IntArray) -> Mask:
        """Which pairs int64[c] of documents with the same text have the same bytes, bool[c]."""
        if not self.has_files():
            return np.ones(len(a), dtype=np.bool_)
        pairs = zip(self.bytes_digests(a), self.bytes_digests(b), strict=True)
        return np.fromiter((x is not None and x == y for x, y in pairs), np.bool_, len(a))

    def files_below(self, directory: str) -> list[StoredFile]:
        """The documents whose keys begin with this text, in the order of their keys.

        It ends with a slash, or is empty for all keys.
        """
        end = directory[:-1] + chr(ord("/") + 1) if directory else "\U0010ffff"
        return self.records(StoredFile, sql.FILES_BELOW, directory, end)

    def files_of(self, doc_ids: Sequence[int]) -> list[StoredFile]:
        """The existing ones of these documents, with the files that they were read from."""
        return self.records(StoredFile, sql.FILES_OF, dumps(list(doc_ids)))

    def keys_of_files(self) -> Iterator[tuple[int, str]]:
        """The ids and keys of all documents that were read from files, read lazily."""
        return (typed(row, int, str) for row in self._connection.lazy_rows(sql.KEYS_OF_FILES))

    def lengths(self, doc_ids: IntArray) -> IntArray:
        """The lengths of these documents, in characters; in shingles without content: int64[n]."""
        return self._counts(self._rows_of(sql.LENGTHS, doc_ids))

    def byte_lengths(self, doc_ids: IntArray) -> IntArray:
        """The lengths of these documents in bytes of UTF-8, 0 without content: int64[n]."""
        return self._counts(self._rows_of(sql.BYTES, doc_ids))

    def keys_of(self, doc_ids: IntArray) -> list[str]:
        """The keys of these documents, in this order."""
        return [checked(key, str) for (key,) in self._rows_of(sql.KEYS_OF, doc_ids)]

    def metadata_of(self, doc_ids: IntArray, fields: Sequence[str] = ()) -> Iterator[str | None]:
        """The stored metadata of these documents, in this order, read lazily.

        If `text` is among the fields that the caller wants, the content is a field of that name.
        """
        statement = sql.METADATA_AND_TEXT_OF if "text" in fields else sql.METADATA_OF
        return self._column(statement, str | None, doc_ids)

    def _column(self, statement: str, kind: Any, doc_ids: IntArray) -> Iterator[Any]:
        """A value of this type for each of these documents, in this order, read lazily."""
        return (typed(row, kind)[0] for row in self._rows_of(statement, doc_ids, at_once=1))

    def _rows_of(
        self, statement: str, doc_ids: IntArray, *, at_once: int | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """One row for each of these documents, in this order, read lazily.

        `at_once`: how many are in memory; None for `limits.documents_read`.
        """
        rows_read = 0
        for part in chunks(len(doc_ids), self.limits.documents_read):
            json_ids = dumps(doc_ids[part].tolist())
            for rows in (
                self._connection.parts(statement, json_ids, size=at_once)
                if at_once
                else [self.rows(statement, json_ids)]
            ):
                rows_read += len(rows)
                yield from rows
        if rows_read != len(doc_ids):
            raise errors.DamagedFile(
                f"{self.path}: buckets hold documents that do not exist; {sqlite_errors.RESTORE}"
            )

    def signatures(self, doc_ids: IntArray) -> index.Signatures:
        """The ids of those documents that have a signature, and the signatures [n, k]."""
        return self._signature_matrix(self.rows(sql.SIGNATURES, dumps(doc_ids.tolist())))

    def signatures_of(self, doc_ids: IntArray) -> Lanes:
        """The signatures [n, k] of these documents, in this order; all must have one."""
        return self._signature_matrix([*self._rows_of(sql.SIGNATURES, doc_ids)])[1]

    def shared_buckets(self, progress: Progress) -> Iterator[tuple[IntArray, IntArray]]:
        """The rows of the buckets of two documents or more, by band, many at a time.

        Buckets come one after another, the documents of each in the order of addition. They are
        computed from the signatures again: SQLite takes as long to group the band rows of a million
        short documents, and longer for fewer.

        Yields:
            int64[n], the bucket of each row, as banding.bucket_codes gives them, and int64[n], the
            doc_ids.

        Raises:
            DamagedFile: a document with shingles has no signature, or a signature no document.
        """
        documents, empty = self.count()
        signed, rows_read = documents - empty, 0

        def signatures() -> Iterator[index.Signatures]:
            nonlocal rows_read
            for doc_ids, lanes in self.all_signatures():
                progress(rows_read, signed, "signatures read")
                yield doc_ids, lanes
                rows_read += len(doc_ids)
            if rows_read != signed:
                raise errors.DamagedFile(
                    f"{self.path} is damaged: it has {rows_read} signatures of {signed} documents "
                    f"with shingles; {sqlite_errors.RESTORE}"
                )

        for _, codes, doc_ids in index.sorted_bands(signatures(), self.settings, self.limits):
            differs = np.append(is_new(codes), True)
            shared = ~(differs[:-1] & differs[1:])
            yield codes[shared], doc_ids[shared]

    def all_signatures(
        self, max_rows: int | None = None, after: int = 0
    ) -> Iterator[index.Signatures]:
        """All signatures by doc_id, some thousands or `max_rows` a time: int64[n], [n, k].

        Only documents with an id above `after`.
        """
        size = max_rows or min(self.limits.documents_read, _LANES // self.settings.permutations)
        for rows in self._connection.parts(sql.ALL_SIGNATURES, after, size=size):
            yield self._signature_matrix(rows)

    def indexed(self) -> IntArray:
        """The documents after `indexed_to` whose band rows are written, or that were removed."""
        return self.integers(sql.INDEXED)

    def unindexed(self) -> int:
        """How many documents wait for some of their band rows."""
        return self.number(sql.COUNT_UNINDEXED)

    def warn_of_unindexed(self, operation: str) -> None:
        """A LimitWarning if documents wait for their band rows: buckets do not show them yet."""
        if count := self.unindexed():
            waiting = "1 document waits" if count == 1 else f"{count:,} documents wait"
            errors.warn_of_limit(
                errors.Cut(
                    operation,
                    count,
                    f"{waiting} for rows of the index, so that buckets lack them: the next "
                    "addition or lshdb check --repair writes these rows",
                )
            )

    def unindexed_signatures(self) -> Iterator[index.Signatures]:
        """The signatures of the documents that wait for band rows, as `all_signatures`."""
        indexed = self.indexed()
        for doc_ids, signatures in self.all_signatures(after=self.indexed_to or 0):
            waiting = ~np.isin(doc_ids, indexed)
            yield doc_ids[waiting], signatures[waiting]

    def bucket_sizes(self, bucket_keys: IntArray) -> list[Bucket]:
        """The buckets int64[b], one per band, with their numbers of documents."""
        return self.records(Bucket, sql.BUCKETS_OF_DOCUMENT, dumps(bucket_keys.tolist()))

    def count(self) -> tuple[int, int]:
        """How many documents there are, and how many of them have no shingle."""
        return self.number(sql.COUNT_DOCUMENTS), self.number(sql.COUNT_EMPTY)

    def number(self, statement: str) -> int:
        """The integer that a statement gives."""
        ((number,),) = self.rows(statement)
        return checked(number, int)

    def all_keys(self) -> Iterator[tuple[IntArray, list[str]]]:
        """All documents in the order of addition, some thousands at a time: int64[n], n keys.

        The caller may write meanwhile: no statement is open while one of them is used.
        """
        last = 0
        while rows := self.rows(sql.KEYS_AFTER, last, self.limits.documents_read):
            doc_ids, keys = zip(*rows, strict=True)
            yield integers([doc_ids]), [checked(key, str) for key in keys]
            if doc_ids[-1] <= last:  # in a damaged table it would never end
                raise errors.DamagedFile(f"{self.path} is damaged: {sqlite_errors.RESTORE}")
            last = doc_ids[-1]

    def doc_ids(self, min_shingles: int = 0) -> IntArray:
        """All documents with at least this many shingles, in the order of addition: int64[n]."""
        return self.integers(sql.DOC_IDS, min_shingles)

    def not_found(self, key: str) -> errors.KeyNotFound:
        """The error for a missing key."""
        return errors.KeyNotFound(f"no document has the key {key!r}")

    def bytes(self) -> int:
        """The size of the file with its write-ahead log, in bytes."""
        return file_size(self.real_path)

    def table_bytes(self) -> dict[str, int] | None:
        """The bytes of each table, with those of its indexes, the largest first.

        Reads the whole file. None where SQLite was built without the table dbstat.
        """
        if not self.number(sql.HAS_DBSTAT):
            return None
        return dict(typed(row, str, int) for row in self.rows(sql.TABLE_BYTES))

    def free_bytes(self) -> int:
        """How many bytes of the file are free for later writes."""
        return self.number(sql.FREE_PAGES) * self.number(sql.PAGE_SIZE)

    def sql(
        self, statement: str, parameters: Parameters
    ) -> tuple[list[str], Iterator[tuple[SqlValue, ...]]]:
        """Run a user's SQL on a connection that only reads: column names and rows.

        A LimitWarning says if it names a table or view that lacks rows which are still to be
        written.
        """
        if _NAMES_BANDS.search(statement):
            self.warn_of_unindexed("sql")
        return readonly_sql.run_readonly(self._connection, statement, parameters)

    def _signature_matrix(self, rows: list[tuple[SqlValue, ...]]) -> index.Signatures:
        doc_ids, signatures = zip(*rows, strict=True) if rows else ((), ())
        packed = self._packed(signatures, self.settings.signature_bytes, "signature")
        return integers([doc_ids]), lanes_of(packed, self.settings)

    def _counts(self, rows: Iterable[tuple[SqlValue, ...]]) -> IntArray:
        """Counts of shingles or characters of documents, one per row: int64[n]."""
        counts = integers(rows)
        if len(counts) and (counts.min() < 0 or counts.max() > LARGEST):
            strange = int(counts[(counts < 0) | (counts > LARGEST)][0])
            raise errors.DamagedFile(
                f"{self.path} is damaged: a document has {strange:,} shingles instead of 0 to "
                f"{LARGEST:,}; {sqlite_errors.RESTORE}"
            )
        return counts

    def _packed(self, values: Sequence[SqlValue], width: int, name: str) -> bytearray:
        """BLOBs of documents, which must all have this width, one after another."""
        blobs = typed_column(values, bytes)
        if not set(map(len, blobs)) <= {width}:
            raise errors.DamagedFile(
                f"{self.path}: a {name} does not have {width} bytes; {sqlite_errors.RESTORE}"
            )
        return bytearray().join(blobs)
