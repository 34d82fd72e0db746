"""Reading for joins: the buckets that documents share, and what is known of many documents.

A join is read as a stream, for minutes where there are many pairs. It has a connection of its own,
so that the caller may write meanwhile, and one transaction, so that all of it is of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lshdb.errors import DamagedFile
from lshdb.model import Settings
from lshdb.store import statements as sql
from lshdb.store.connection import connect, translated_errors
from lshdb.store.rows import SettingsRow, integers, text

_ROWS_AT_ONCE: Final = 50_000
_DOCUMENTS_AT_ONCE: Final = 10_000

DocIds = npt.NDArray[np.int64]


class JoinReader:
    """Reads for one join. Use as a context manager, in one thread.

    Attributes:
        settings: those of the index that is read; what was known before may be of another.
        lanes: of a signature.
    """

    settings: Settings
    lanes: int

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._connection = connect(path, "read", timeout)

    def __enter__(self) -> JoinReader:
        try:
            with translated_errors(self._path):
                self._connection.execute("BEGIN")
                self.settings = SettingsRow(self._connection, self._path).settings
        except BaseException:
            self._connection.close()
            raise
        self.lanes = self.settings.permutations
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()

    def shared_buckets(self) -> Iterator[tuple[DocIds, DocIds]]:
        """The rows of all buckets of two documents or more, some thousands at a time.

        Buckets come one after the other, in each the documents in the order of addition.

        Yields:
            int64[n], how many documents the bucket of each row has, and int64[n], their doc_ids.
        """
        with translated_errors(self._path):
            cursor = self._connection.execute(sql.SHARED_BUCKETS)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                self._connection.check_unchanged()
                table = integers(rows).reshape(-1, 2)
                yield table[:, 0], table[:, 1]
                self._connection.check_owner()

    def digests(self, doc_ids: DocIds) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
        """The digests V16[n] and numbers of shingles int64[n] of documents int64[n]."""
        digests = np.empty(len(doc_ids), dtype="V16")
        shingles = np.empty(len(doc_ids), dtype=np.int64)
        for start in range(0, len(doc_ids), _DOCUMENTS_AT_ONCE):
            some = doc_ids[start : start + _DOCUMENTS_AT_ONCE]
            rows = self._rows(sql.DIGESTS, some)
            shingles[start : start + len(some)] = integers(row[1:2] for row in rows)
            blobs = self._joined([row[2] for row in rows], 16, "digest", some)
            digests[start : start + len(some)] = np.frombuffer(blobs, dtype="V16")
        return digests, shingles

    def signatures(self, doc_ids: DocIds) -> npt.NDArray[np.uint32]:
        """The signatures uint32[n, k] of documents int64[n] that have one."""
        rows = self._rows(sql.SIGNATURES, doc_ids)
        packed = self._joined([row[1] for row in rows], self.lanes * 4, "signature", doc_ids)
        matrix = np.frombuffer(packed, dtype="<u4").reshape(len(rows), self.lanes)
        return matrix.astype(np.uint32, copy=False)

    def contents(self, doc_ids: DocIds) -> list[str]:
        """The stored contents of documents int64[n], in order."""
        return [text(content) for (content,) in self._rows(sql.CONTENTS, doc_ids)]

    def lengths(self, doc_ids: DocIds) -> npt.NDArray[np.int64]:
        """The lengths of documents int64[n], in characters; in shingles without content."""
        lengths = [np.empty(0, dtype=np.int64)]
        for start in range(0, len(doc_ids), _DOCUMENTS_AT_ONCE):
            rows = self._rows(sql.LENGTHS, doc_ids[start : start + _DOCUMENTS_AT_ONCE])
            lengths.append(integers(rows))
        return np.concatenate(lengths)

    def keys(self, doc_ids: DocIds) -> list[str]:
        """The keys of documents int64[n], in order."""
        return [text(key) for (key,) in self._rows(sql.KEYS_OF, doc_ids)]

    def _rows(self, statement: str, doc_ids: DocIds) -> list[Any]:
        """One row for each document."""
        wanted = json.dumps(doc_ids.tolist())
        with translated_errors(self._path):
            rows = self._connection.execute(statement, (wanted,)).fetchall()
        self._connection.check_unchanged()
        if len(rows) != len(doc_ids):
            raise DamagedFile(
                f"{self._path}: buckets hold documents that are not there; "
                "restore the file from a copy"
            )
        return rows

    def _joined(self, blobs: list[Any], width: int, what: str, doc_ids: DocIds) -> bytes:
        for doc_id, blob in zip(doc_ids.tolist(), blobs, strict=True):
            if not isinstance(blob, bytes) or len(blob) != width:
                raise DamagedFile(
                    f"{self._path}: the {what} of document {doc_id} does not have {width} bytes; "
                    "restore the file from a copy"
                )
        return b"".join(blobs)
