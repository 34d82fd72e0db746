"""Looking at what a database has: documents, keys, buckets, sizes, SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lshdb.content import from_stored
from lshdb.errors import UsageError
from lshdb.lookup import buckets_of
from lshdb.model import Bucket, Info, Settings, StoredDocument
from lshdb.search import row_of_key
from lshdb.signing import distinct_shingles
from lshdb.store import SqlValue, Store

_MOST_ROWS: Final = (1 << 63) - 1


class Inside:
    """The part of lshdb.Database that only looks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def settings(self) -> Settings:
        """What the database was made with."""
        return self._store.settings

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

    def get(self, key: str) -> StoredDocument:
        """The document of a key; KeyNotFound if there is none.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.get("fox").content
        'The fox and the grapes'
        """
        row = row_of_key(self._store, key)
        keys = None
        if row.signature is not None:
            keys = buckets_of(self._store, row.signature)
        content = None
        if row.content is not None:
            content = from_stored(row.content, self.settings.shingling)
        return StoredDocument(row.doc_id, row.key, content, row.shingles, row.signature, keys)

    def __contains__(self, key: str) -> bool:
        return self._store.document(key) is not None

    def __len__(self) -> int:
        return self._store.count()[0]

    def keys(self) -> list[str]:
        """All keys, in the order of first addition."""
        return self._store.keys()

    def info(self) -> Info:
        """Settings, numbers of documents, size of the file."""
        with self._store.reading():
            documents, empty = self._store.count()
        return Info(self.settings, documents, empty, self._store.bytes())

    def buckets(self, top: int = 10) -> list[Bucket]:
        """The buckets with the most documents, largest first; UsageError if top is below 1."""
        if top < 1:
            raise UsageError(f"top {top} is not at least 1")
        return self._store.largest_buckets(min(top, _MOST_ROWS))

    def buckets_of(self, key: str) -> list[Bucket]:
        """The buckets that a document is in, one of each band; KeyNotFound without one."""
        with self._store.reading():
            row = row_of_key(self._store, key)
            if row.signature is None:
                return []
            return self._store.bucket_sizes(buckets_of(self._store, row.signature))

    def count_distinct(self, document: StoredDocument) -> int | None:
        """How many distinct shingles a document has; None where content is not kept."""
        if document.content is None:
            return None
        settings = self.settings
        return len(distinct_shingles([document.content], settings.shingling, settings.seed).hashes)

    def sql(self, statement: str) -> tuple[list[str], Iterator[tuple[SqlValue, ...]]]:
        """Run a SELECT on the file's tables and views: column names, and rows as they come.

        Raises:
            QueryError: the SQL is wrong, or would do anything but read.
        """
        return self._store.sql(statement)
