"""Reading and writing a file that may be damaged, for check and its repair.

Nothing is assumed: a text may not be UTF-8, and has then lone surrogates; tables may be missing;
what SQLite itself cannot read raises DamagedFile. All is of one moment, in one transaction.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lshdb.errors import DamagedFile
from lshdb.json_text import dumps
from lshdb.shingling.arrays import bounded
from lshdb.sketching.settings import Settings
from lshdb.sketching.signing import Signed
from lshdb.store import index, sqlite_errors, transactions
from lshdb.store import statements as sql
from lshdb.store.connection import connect
from lshdb.store.guard import Connection
from lshdb.store.rows import integers, record, settings_of

_BYTES_AT_ONCE = 8_000_000
"""Bytes of signatures and contents read at once."""
_ROW = 2_000
"""Bytes of a row's other values as Python's objects; about."""


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


@contextmanager
def audited(path: Path, timeout: float, *, write: bool) -> Iterator[Connection]:
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
        yield connection
    finally:
        connection.close()


def settings(connection: Connection) -> Settings:
    """The settings; DamagedFile unless there is exactly one valid row."""
    rows = connection.rows(sql.SELECT_SETTINGS)
    if len(rows) != 1:
        raise DamagedFile(f"{connection.path} has {len(rows)} rows of settings instead of one")
    return settings_of(rows[0], connection.path, connection.rows(sql.BASE_TEXTS))


def written(connection: Connection, rows: index.IndexRows) -> index.IndexRows:
    """Those of band rows that should be in the table already."""
    ((*_, indexed_to, bucket),) = connection.rows(sql.SELECT_SETTINGS)
    if indexed_to is None:
        return rows
    late = (rows[2] > indexed_to) & ~np.isin(rows[2], integers(connection.rows(sql.INDEXED)))
    return rows[:, ~late | (index.codes_of(rows) <= (bucket or index.BEFORE_ALL))]


def documents(
    connection: Connection, *, contents: bool, slots: Collection[int] | None = None
) -> Iterator[list[StoredDocument]]:
    """All documents by their ids, or those in some slots (see Index), some thousands at a time.

    Those that were read may be changed meanwhile.
    """
    some = None if slots is None else dumps(list(slots))
    rows = connection.each(sql.ALL_AS_STORED, contents, some)
    return bounded((record(StoredDocument, row) for row in rows), _size, _BYTES_AT_ONCE)


def derive(
    connection: Connection, doc_ids: Sequence[int], stored: Sequence[str], signed: Signed
) -> None:
    """Write the values derived from the stored forms of n documents, newly signed."""
    counts = signed.shingles.tolist()
    connection.run_many(sql.UPDATE_DERIVED, zip(doc_ids, counts, stored, strict=True))
    rows = index.Index(connection)
    rows.delete_signatures(doc_ids)
    filled = np.flatnonzero(signed.shingles)
    rows.insert_signatures(np.array(doc_ids)[filled], signed.signatures[filled])


def _size(document: StoredDocument) -> int:
    return _ROW + len(document.signature or b"") + len(document.content or "")
