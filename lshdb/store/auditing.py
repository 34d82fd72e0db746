"""Reading and writing a file that may be damaged, for check and its repair.

Nothing is assumed: texts come as bytes, tables may be missing, and what SQLite itself cannot read
raises DamagedFile. Everything is from one moment, in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lshdb.errors import DamagedFile
from lshdb.model import Settings
from lshdb.shingling.winnowing import Fingerprints
from lshdb.sketching.signing import Signed
from lshdb.store import schema
from lshdb.store import statements as sql
from lshdb.store.connection import connect
from lshdb.store.guard import Connection
from lshdb.store.rows import SqlValue, integers, settings_of
from lshdb.store.sqlite_errors import translated_errors
from lshdb.store.store import Index
from lshdb.store.transactions import begin_writing

_ROWS_AT_ONCE: Final = 1 << 16
_DOCUMENTS_AT_ONCE: Final = 4_000
_BYTES_AT_ONCE: Final = 8_000_000
"""Bytes of signatures and contents read at once."""
_FIRST_ID: Final = -(1 << 63)
_COMPLAINTS: Final = 100
"""Maximum number of messages of SQLite's own check, as by its default."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AuditedDocuments:
    """n documents as stored, in the order of their numbers.

    Attributes:
        doc_ids: int64[n].
        keys: UTF-8, if all is well.
        shingles: int64[n].
        digests: of 16 bytes, if all is well.
        signatures: None if there is none.
        filled: bool[n], whether content is stored.
        contents: the stored contents, UTF-8 if all is well; None if there is none, or if they were
            not requested.
        metadata: as stored, UTF-8 if all is well; None if there is none.
    """

    doc_ids: Integers
    keys: Sequence[bytes]
    shingles: Integers
    digests: Sequence[bytes]
    signatures: Sequence[bytes | None]
    filled: npt.NDArray[np.bool_]
    contents: Sequence[bytes | None]
    metadata: Sequence[bytes | None]


@contextmanager
def audited(path: Path, timeout: float, *, write: bool) -> Iterator[Auditor]:
    """Open a file to be checked, in one transaction; only what is committed is written.

    Raises:
        StoreError: the file cannot be opened, is not lshdb's, or is damaged in its first page.
    """
    connection = connect(path, "write" if write else "read", timeout, whole=False)
    connection.text_factory = bytes
    try:
        with translated_errors(path):
            if write:
                begin_writing(connection)
            else:
                connection.execute("BEGIN")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        yield Auditor(path, connection, int(version))
    finally:
        connection.close()


class Auditor:
    """Checks and repairs a file, in a transaction.

    Attributes:
        version: the format of the file.
        index: writes rows of the index.
    """

    def __init__(self, path: Path, connection: Connection, version: int) -> None:
        self.version = version
        self.index = Index(path, connection)
        self._path = path
        self._connection = connection

    def commit(self) -> None:
        """Commit the changes."""
        self._rows("COMMIT")

    def _rows(self, statement: str, *parameters: SqlValue) -> list[Any]:
        """All rows of a result."""
        return list(self._each(statement, *parameters))

    def _each(self, statement: str, *parameters: SqlValue) -> Iterator[Any]:
        """The rows of a result, read lazily."""
        with translated_errors(self._path):
            yield from self._connection.execute(statement, parameters)

    # reading

    def problems(self) -> list[str]:
        """The problems that SQLite's own check finds; lshdb checks constraints itself."""
        # Otherwise the file's own expressions would run.
        self._rows("PRAGMA ignore_check_constraints = ON")
        rows = self._rows(f"PRAGMA integrity_check({_COMPLAINTS})")
        self._rows("PRAGMA ignore_check_constraints = OFF")
        lines = [_decoded(row[0]) for row in rows]
        return [] if lines == ["ok"] else [" ".join(line.split()) for line in lines]

    def schema_faults(self) -> list[schema.Fault]:
        """How tables, indexes, views and triggers differ from those of the format."""
        with translated_errors(self._path):
            return list(schema.faults(self._connection))

    def broken_references(self) -> Iterator[tuple[str, int]]:
        """Rows that refer to missing rows: table and rowid."""
        for row in self._each("PRAGMA foreign_key_check"):
            yield _decoded(row[0]), 0 if row[1] is None else int(row[1])

    def settings(self) -> Settings:
        """The settings; DamagedFile unless there is exactly one valid row."""
        rows = list(islice(self._each(sql.SELECT_SETTINGS), 2))
        if len(rows) != 1:
            raise DamagedFile(f"{self._path} has {'no' if not rows else 'more than one'} settings")
        try:
            values = [v.decode() if isinstance(v, bytes) else v for v in rows[0]]
        except UnicodeDecodeError as error:
            raise DamagedFile(f"{self._path} has settings that are not UTF-8") from error
        return settings_of(values, self._path)

    def counts(self) -> tuple[int, int]:
        """The number of documents and of band rows."""
        (documents,), (bands,) = self._rows(sql.COUNT_DOCUMENTS) + self._rows(sql.COUNT_BANDS)
        return int(documents), int(bands)

    def documents(self, *, contents: bool) -> Iterator[AuditedDocuments]:
        """All documents, some thousands at a time; they may be changed meanwhile."""
        first = _FIRST_ID
        while rows := self._some_documents(first, contents):
            yield _documents(rows)
            if rows[-1][0] == -_FIRST_ID - 1:
                return
            first = rows[-1][0] + 1

    def _some_documents(self, first: int, contents: bool) -> list[Any]:
        rows, size = [], 0
        with translated_errors(self._path):
            cursor = self._connection.execute(sql.DOCUMENTS_FROM, (first, bool(contents)))
            for row in cursor:
                rows.append(row)
                size += sum(len(row[column] or b"") for column in (4, 6, 7))
                if len(rows) >= _DOCUMENTS_AT_ONCE or size > _BYTES_AT_ONCE:
                    break
            cursor.close()
        return rows

    def orphan_signatures(self) -> Iterator[int]:
        """The doc_ids of signatures that have no document."""
        return (int(doc_id) for (doc_id,) in self._each(sql.ORPHAN_SIGNATURES))

    def band(self, band_no: int) -> Iterator[tuple[Integers, Integers]]:
        """The rows of a band, some thousands at a time: bucket_keys int64[n], doc_ids int64[n]."""
        for table in self._tables(2, sql.BAND, band_no):
            yield table[:, 0], table[:, 1]

    def foreign_bands(self, bands: int) -> list[tuple[int, int]]:
        """Bands below 0 and from `bands` on, and how many rows each has."""
        return self._rows(sql.FOREIGN_BANDS, bands)

    def fingerprints(self) -> Iterator[Fingerprints]:
        """The rows of the fingerprints, some thousands at a time, in order."""
        for table in self._tables(3, sql.FINGERPRINTS):
            yield Fingerprints(table[:, 0], table[:, 1], table[:, 2])

    def _tables(self, columns: int, statement: str, *parameters: SqlValue) -> Iterator[Integers]:
        """The rows of a result, int64[n, columns], some thousands at a time."""
        with translated_errors(self._path):
            cursor = self._connection.execute(statement, parameters)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield integers(rows).reshape(-1, columns)

    def decisions(self) -> Iterator[tuple[Any, ...]]:
        """The rows of decisions in order: DecisionRow without its last field; texts are bytes."""
        return (row[:-1] for row in self._each(sql.DECISIONS))

    # writing

    def make_missing(self) -> int:
        """Create missing tables, indexes and views; return how many."""
        with translated_errors(self._path):
            return schema.make_missing(self._connection)

    def derive(
        self,
        doc_ids: Integers,
        stored: Sequence[str],
        signed: Signed,
    ) -> None:
        """Write the values derived from the stored forms of n documents int64[n], newly signed."""
        values = zip(doc_ids.tolist(), signed.shingles.tolist(), stored, strict=True)
        self._run_many(sql.UPDATE_DERIVED, values)
        self.delete_signatures(doc_ids.tolist())
        filled = np.flatnonzero(signed.shingles)
        packed = signed.signatures[filled].astype("<u4")
        rows = zip(doc_ids[filled].tolist(), (row.tobytes() for row in packed), strict=True)
        self._run_many(sql.INSERT_SIGNATURE, rows)

    def delete_signatures(self, doc_ids: Sequence[int]) -> None:
        """Delete the signatures of documents, if they exist."""
        self._run_many(sql.DELETE_SIGNATURE, ((doc_id,) for doc_id in doc_ids))

    def _run_many(self, statement: str, rows: Iterable[Sequence[SqlValue]]) -> None:
        with translated_errors(self._path):
            self._connection.executemany(statement, rows)


def _documents(rows: list[Any]) -> AuditedDocuments:
    columns = zip(*rows, strict=True)
    doc_ids, keys, shingles, digests, signatures, filled, contents, metadata = columns
    try:
        return AuditedDocuments(
            np.array(doc_ids, dtype=np.int64),
            [_bytes(key) for key in keys],
            np.array(shingles, dtype=np.int64),
            [_bytes(digest) for digest in digests],
            [None if signature is None else _bytes(signature) for signature in signatures],
            np.array(filled, dtype=np.bool_),
            [None if content is None else _bytes(content) for content in contents],
            [None if fields is None else _bytes(fields) for fields in metadata],
        )
    except (TypeError, ValueError) as error:
        raise DamagedFile(f"a value of another type than its column's: {error}") from error


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} in place of bytes")
    return value


def _decoded(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
