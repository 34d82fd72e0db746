"""Reading and writing a file that may be damaged, for check and its repair.

Nothing is assumed: a text may not be UTF-8, and has then lone surrogates; tables may be missing;
what SQLite itself cannot read raises DamagedFile. All is of one moment, in one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lshdb.errors import DamagedFile
from lshdb.json_text import dumps
from lshdb.shingling.arrays import bounded
from lshdb.sketching.settings import Settings
from lshdb.sketching.signing import Signed
from lshdb.store import guard, index, lookups, schema, sqlite_errors, transactions
from lshdb.store import statements as sql
from lshdb.store.connection import connect
from lshdb.store.rows import integers, settings_of, typed

_BYTES_AT_ONCE = 8_000_000
"""Bytes of signatures and contents read at once."""
_ROW = 2_000
"""Bytes of a row's other values as Python's objects; about."""
_COMPLAINTS = 100
"""Maximum number of messages of SQLite's own check, as by its default."""


class StoredDocument(NamedTuple):
    """A document as stored.

    `filled`: whether content is stored; `content` is None if it was not requested.
    """

    doc_id: int
    key: str
    shingles: int
    digest: bytes
    signature: bytes | None
    filled: int
    content: str | None
    metadata: str | None


_TYPES = int, str, int, bytes, bytes | None, int, str | None, str | None


@contextmanager
def audited(path: Path, timeout: float, *, write: bool) -> Iterator[Auditor]:
    """Open a file to be checked, in one transaction; only what is committed is written.

    Raises:
        StoreError: the file cannot be opened, is not lshdb's, or is damaged in its first page.
    """
    connection = connect(path, "write" if write else "read", timeout, whole=False)
    connection.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    try:
        with sqlite_errors.translated_errors(path):
            if write:
                transactions.begin_writing(connection)
            else:
                connection.execute("BEGIN")
        yield Auditor(path, connection)
    finally:
        connection.close()


@dataclass(eq=False)
class Auditor:
    """Checks and repairs a file, in a transaction.

    Attributes:
        path: the file.
        connection: to it.
        index: the rows of the index.
        rows: runs a statement of statements, and returns its rows.
    """

    path: Path
    connection: guard.Connection

    def __post_init__(self) -> None:
        self.index = index.Index(self.connection)
        self.rows = self.connection.rows

    def commit(self) -> None:
        """Commit the changes."""
        self.rows("COMMIT")

    # reading

    def problems(self) -> list[str]:
        """The problems that SQLite's own check finds; lshdb checks constraints itself."""
        # Otherwise the file's own expressions would run.
        self.rows("PRAGMA ignore_check_constraints = ON")
        rows = self.rows(f"PRAGMA integrity_check({_COMPLAINTS})")
        self.rows("PRAGMA ignore_check_constraints = OFF")
        lines = [" ".join(line.split()) for (line,) in rows]
        return [] if lines == ["ok"] else lines

    def schema_faults(self) -> list[schema.Fault]:
        """How tables, indexes, views and triggers differ from those of the format."""
        with sqlite_errors.translated_errors(self.path):
            return list(schema.faults(self.connection))

    def settings(self) -> Settings:
        """The settings; DamagedFile unless there is exactly one valid row."""
        rows = self.rows(sql.SELECT_SETTINGS)
        if len(rows) != 1:
            raise DamagedFile(f"{self.path} has {len(rows)} rows of settings instead of one")
        return settings_of(rows[0], self.path)

    def written(self, rows: index.IndexRows) -> index.IndexRows:
        """Those of band rows that should be in the table already."""
        ((*_, indexed_to, bucket),) = self.rows(sql.SELECT_SETTINGS)
        if indexed_to is None:
            return rows
        late = (rows[2] > indexed_to) & ~np.isin(rows[2], integers(self.rows(sql.INDEXED)))
        return rows[:, ~late | (index.codes_of(rows) <= (bucket or index.BEFORE_ALL))]

    def documents(
        self, *, contents: bool, slots: Collection[int] | None = None
    ) -> Iterator[list[StoredDocument]]:
        """All documents by their ids, or those in some slots (see Index), some thousands at a time.

        Those that were read may be changed meanwhile.
        """
        some = None if slots is None else dumps(list(slots))
        rows = self.connection.each(sql.ALL_AS_STORED, contents, some)
        documents = (StoredDocument(*typed(row, *_TYPES)) for row in rows)
        return bounded(documents, _size, _BYTES_AT_ONCE)

    def decisions(self) -> Iterator[tuple[Any, ...]]:
        """The rows of decisions in order, as of DecisionRow."""
        return (typed(row, *lookups.DECISION_TYPES) for row in self.rows(sql.DECISIONS))

    # writing

    def make_missing(self) -> int:
        """Create missing tables, indexes and views; return how many."""
        with sqlite_errors.translated_errors(self.path):
            return schema.make_missing(self.connection)

    def all_indexed(self) -> None:
        """Note that no band row is left to be written later."""
        self.rows(sql.SET_INDEXED, None, None)
        self.rows(sql.DELETE_INDEXED)

    def derive(self, doc_ids: Sequence[int], stored: Sequence[str], signed: Signed) -> None:
        """Write the values derived from the stored forms of n documents, newly signed."""
        counts = signed.shingles.tolist()
        self.connection.run_many(sql.UPDATE_DERIVED, zip(doc_ids, counts, stored, strict=True))
        self.index.delete_signatures(doc_ids)
        filled = np.flatnonzero(signed.shingles)
        self.index.insert_signatures(np.array(doc_ids)[filled], signed.signatures[filled])


def _size(document: StoredDocument) -> int:
    return _ROW + len(document.signature or b"") + len(document.content or "")
