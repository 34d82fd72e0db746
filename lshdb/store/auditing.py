"""Reading and writing a file that may be damaged, for check and its repair.

Nothing is assumed: texts come as bytes, tables may be missing, and what SQLite itself cannot read
raises DamagedFile. Everything is from one moment, in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.errors import DamagedFile
from lshdb.model import Settings
from lshdb.shingling.arrays import bounded
from lshdb.sketching.signing import Signed
from lshdb.store import schema
from lshdb.store import statements as sql
from lshdb.store.connection import connect
from lshdb.store.guard import Connection
from lshdb.store.rows import integers, settings_of
from lshdb.store.sqlite_errors import translated_errors
from lshdb.store.store import Index
from lshdb.store.transactions import begin_writing

_ROWS_AT_ONCE: Final = 1 << 16
_BYTES_AT_ONCE: Final = 8_000_000
"""Bytes of signatures and contents read at once."""
_ROW: Final = 2_000
"""Bytes of a row's other values as Python's objects; about."""
_COMPLAINTS: Final = 100
"""Maximum number of messages of SQLite's own check, as by its default."""

Integers = npt.NDArray[np.int64]


class StoredDocument(NamedTuple):
    """A document as stored; keys, contents and metadata are UTF-8 if all is well.

    `filled`: whether content is stored; `content` is None if it was not requested.
    """

    doc_id: int
    key: bytes
    shingles: int
    digest: bytes
    signature: bytes | None
    filled: int
    content: bytes | None
    metadata: bytes | None
    typed: int


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
        yield Auditor(path, connection)
    finally:
        connection.close()


class Auditor:
    """Checks and repairs a file, in a transaction.

    Attributes:
        index: writes rows of the index.
    """

    def __init__(self, path: Path, connection: Connection) -> None:
        self.index = Index(connection)
        self._path = path
        self._connection = connection
        self._rows = connection.rows

    def commit(self) -> None:
        """Commit the changes."""
        self._rows("COMMIT")

    # reading

    def problems(self) -> list[str]:
        """The problems that SQLite's own check finds; lshdb checks constraints itself."""
        # Otherwise the file's own expressions would run.
        self._rows("PRAGMA ignore_check_constraints = ON")
        rows = self._rows(f"PRAGMA integrity_check({_COMPLAINTS})")
        self._rows("PRAGMA ignore_check_constraints = OFF")
        lines = [" ".join(_decoded(line).split()) for (line,) in rows]
        return [] if lines == ["ok"] else lines

    def schema_faults(self) -> list[schema.Fault]:
        """How tables, indexes, views and triggers differ from those of the format."""
        with translated_errors(self._path):
            return list(schema.faults(self._connection))

    def broken_references(self) -> list[tuple[str, int]]:
        """Rows that refer to missing rows: table and rowid."""
        return [(_decoded(row[0]), row[1] or 0) for row in self._rows("PRAGMA foreign_key_check")]

    def settings(self) -> Settings:
        """The settings; DamagedFile unless there is exactly one valid row."""
        rows = self._rows(sql.SELECT_SETTINGS)
        if len(rows) != 1:
            raise DamagedFile(f"{self._path} has {len(rows)} rows of settings instead of one")
        try:
            values = [v.decode() if isinstance(v, bytes) else v for v in rows[0]]
        except UnicodeDecodeError as error:
            raise DamagedFile(f"{self._path} has settings that are not UTF-8") from error
        return settings_of(values, self._path)

    def counts(self) -> tuple[int, int]:
        """The number of documents and of band rows."""
        (documents,), (bands,) = self._rows(sql.COUNT_DOCUMENTS) + self._rows(sql.COUNT_BANDS)
        return int(documents), int(bands)

    def documents(self, *, contents: bool) -> Iterator[list[StoredDocument]]:
        """All documents by their ids, some thousands at a time.

        Those that were read may be changed meanwhile.
        """
        rows = self._connection.each(sql.ALL_AS_STORED, contents)
        for some in bounded(map(StoredDocument._make, rows), _size, _BYTES_AT_ONCE):
            if not all(one.typed for one in some):
                raise DamagedFile("a value of another type than its column's")
            yield some

    def orphan_signatures(self) -> list[int]:
        """The doc_ids of signatures that have no document."""
        return [int(doc_id) for (doc_id,) in self._rows(sql.ORPHAN_SIGNATURES)]

    def band(self, band_no: int) -> Iterator[Integers]:
        """The rows of a band: bucket keys and doc_ids, int64[2, n], some thousands at a time."""
        return self._tables(sql.BAND, band_no)

    def foreign_bands(self, bands: int) -> list[tuple[int, int]]:
        """Bands below 0 and from `bands` on, and how many rows each has."""
        return self._rows(sql.FOREIGN_BANDS, bands)

    def fingerprints(self) -> Iterator[Integers]:
        """Fingerprints, doc_ids and positions, int64[3, n], some thousands at a time."""
        return self._tables(sql.FINGERPRINTS)

    def _tables(self, statement: str, *parameters: int) -> Iterator[Integers]:
        for rows in self._connection.parts(statement, *parameters, size=_ROWS_AT_ONCE):
            yield integers(rows).reshape(len(rows), -1).T

    def decisions(self) -> Iterator[tuple[Any, ...]]:
        """The rows of decisions in order: DecisionRow without its last field; texts are bytes."""
        parts = self._connection.parts(sql.DECISIONS, size=_ROWS_AT_ONCE)
        return (row[:-1] for row in chain.from_iterable(parts))

    # writing

    def make_missing(self) -> int:
        """Create missing tables, indexes and views; return how many."""
        with translated_errors(self._path):
            return schema.make_missing(self._connection)

    def derive(self, doc_ids: Sequence[int], stored: Sequence[str], signed: Signed) -> None:
        """Write the values derived from the stored forms of n documents, newly signed."""
        counts = signed.shingles.tolist()
        self._connection.run_many(sql.UPDATE_DERIVED, zip(doc_ids, counts, stored, strict=True))
        self.delete_signatures(doc_ids)
        lanes = signed.signatures.astype("<u4")
        rows = zip(doc_ids, lanes, counts, strict=True)
        filled = ((doc_id, own.tobytes()) for doc_id, own, count in rows if count)
        self._connection.run_many(sql.INSERT_SIGNATURE, filled)

    def delete_signatures(self, doc_ids: Sequence[int]) -> None:
        """Delete the signatures of documents, if they exist."""
        self._connection.run_many(sql.DELETE_SIGNATURE, ((doc_id,) for doc_id in doc_ids))


def _size(document: StoredDocument) -> int:
    return _ROW + len(document.signature or b"") + len(document.content or b"")


def _decoded(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
