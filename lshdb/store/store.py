"""Writing documents, decisions and settings; signatures and bands are written by `index`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from lshdb import errors, options
from lshdb.limits import DEFAULTS, Limits
from lshdb.sketch.settings import Settings, parts_of
from lshdb.store import guard, index, location, lookups, schema, transactions
from lshdb.store import statements as sql
from lshdb.store.connection import connect, create_tables, is_new
from lshdb.store.rows import FileState, typed, write_settings

MAX_NUMBER = 1 << 40
"""The largest number of a document or decision; no file ever needs it."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The values that show whether a document given again has changed."""

    doc_id: int
    key: str
    digest: bytes
    metadata: str | None


DocumentValues = tuple[int, str, int, bytes | bytearray, str | None, str | None]
"""The columns of a document: doc_id, key, shingles, digest, metadata, content.

The sqlite3 module looks for an adapter of bytes, and of None, but not of a bytearray: for many rows
that doubles its time.
"""


_values_of = attrgetter(*FileState.__slots__)


class Store(lookups.StoreReader):
    """An open database file. Settings are checked, values are typed, and errors are lshdb's.

    Attributes:
        index: the rows of the index.
        timeout: seconds to wait while another process writes.
        read_only: whether it was opened to be read only.
        keys_repeat: whether several documents may have the same key, in a private file: each is
            then new.
    """

    keys_repeat = False

    def __init__(self, connection: guard.Connection) -> None:
        super().__init__(connection)
        self.index = index.Index(connection)
        self.run_many, self.check_open = connection.run_many, connection.check_open
        self.close = connection.close  # safe to call twice
        self.timeout, self.read_only = connection.timeout, connection.read_only

    @classmethod
    def open(
        cls,
        path: Path,
        mode: options.Mode,
        timeout: float,
        new_settings: Callable[[], Settings] | None = None,
        *,
        beside: Store | None = None,
        sealed: bool = False,
        keys_repeat: bool = False,
        root: options.FileName | None = None,
        limits: Limits = DEFAULTS,
    ) -> Store:
        """Open the file; mode `create` makes a missing file, with the settings `new_settings()`.

        If two processes make the same file at the same moment, one opens the file that the other
        made. For a store `beside` it, and `sealed` in mode `read`, see `connect`. In a private file
        that it makes, `keys_repeat` allows documents of one key. `root` is the directory that keys
        of files in a new file are relative to (None: that of the file), or in one of an older
        format, where it may be unknown.
        """
        other = None if beside is None else beside._connection
        root = None if root is None else location.real_root(root)  # before there is a file
        connection = connect(path, mode, timeout, beside=other, sealed=sealed, limits=limits)
        try:
            if mode == "create" and new_settings is not None:
                with connection.errors():
                    if is_new(connection):
                        settings = new_settings()
                        with transactions.Transaction(connection, "write"):
                            if is_new(connection):
                                create_tables(connection, parts_of(settings))
                                write_settings(connection, settings)
                                real_path = connection.real_path
                                stored = location.root_to_store(
                                    root or os.fspath(real_path.parent), real_path
                                )
                                connection.execute(sql.SET_ROOT, (stored,))
                                if keys_repeat:
                                    connection.execute(sql.DROP_KEYS)
            if other is not None:
                other.check_file()  # or this is another file, which took its name meanwhile
            store = cls(connection)
            store.keys_repeat = keys_repeat
            return store
        except BaseException:
            connection.close()
            raise

    def another_connection(self) -> guard.Connection:
        """Another connection to the file, to read it."""
        connection = self._connection
        return connect(self.path, "read", self.timeout, beside=connection, limits=self.limits)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._connection.closed

    def reading(self) -> transactions.Transaction:
        """A transaction that reads a snapshot of the file."""
        return self._transaction("read")

    def shrink_log(self) -> None:
        """Copy the log into the file and free its space, as far as no reader needs it.

        Raises:
            StoreError: copying failed; all data is safe in the log.
        """
        with self._connection.errors():
            transactions.empty_log(self._connection, 0.0)

    def writing(self) -> transactions.Transaction:
        """A transaction that is written whole or not at all."""
        return self._transaction("write")

    def rebuilding(self) -> transactions.Transaction:
        """A transaction that rebuilds the index, which is not searched before the end."""
        return self._transaction("rebuild")

    def _transaction(self, kind: transactions.TransactionKind) -> transactions.Transaction:
        return transactions.Transaction(self._connection, kind, self._read_settings)

    # writing; the caller holds a transaction

    def last_doc_id(self) -> int:
        """The largest doc_id in use, 0 if there is none."""
        return self.last(sql.LAST_DOC_ID, "document")

    def last(self, statement: str, kind: str) -> int:
        """The largest number of a document or the like, which another one may follow."""
        last = self.number(statement)
        if last > MAX_NUMBER:
            raise errors.DamagedFile(
                f"{self.path} is damaged: a {kind} has the number {last}, so none can follow"
            )
        return last

    def known(self, keys: Sequence[str]) -> dict[str, KnownDocument]:
        """The stored documents among these keys."""
        # A lone surrogate, which only Python's json writes, is in no document's key.
        documents = self.records(KnownDocument, sql.KNOWN_DOCUMENTS, json.dumps(keys))
        return {document.key: document for document in documents}

    def beginnings(self, keys: Sequence[str], size: int) -> dict[str, tuple[str | None, str, int]]:
        """The metadata of documents, the first `size` bytes of their contents, and their bytes.

        Of a set it is the start of its JSON; without contents it is empty.
        """
        rows = self.rows(sql.BEGINNINGS, json.dumps(keys), size)
        return {
            key: (metadata, start.decode(errors="ignore"), length)
            for key, metadata, start, length in (
                typed(row, str, str | None, bytes, int) for row in rows
            )
        }

    def extracted_of(self, key: str) -> str | None:
        """What took the text out of the file of a document, as JSON; None if nothing did."""
        with self.reading():
            files = self.files_of_keys([key])
        return next((file.extracted for file in files), None)

    def files_of_keys(self, keys: Sequence[str]) -> list[lookups.StoredFile]:
        """The documents with these keys, and the states of their files."""
        return self.files_of([document.doc_id for document in self.known(keys).values()])

    def insert(self, documents: Iterable[DocumentValues]) -> None:
        """Insert rows of documents, without their signatures and bands.

        A row of a stored document replaces its values; its old signature and bands are already
        deleted.
        """
        self.run_many(sql.INSERT_DOCUMENT, documents)

    def set_metadata(self, documents: Sequence[tuple[int, str | None]]) -> None:
        """Set the metadata of stored documents, named by their ids."""
        self.run_many(sql.UPDATE_METADATA, documents)

    def set_files(self, files: Iterable[tuple[int, FileState]]) -> None:
        """Note the files that stored documents, named by their ids, were read from."""
        self.run_many(sql.SET_FILE, ((doc_id, *_values_of(state)) for doc_id, state in files))

    def check_root(self, directory: options.FileName | None) -> None:
        """Check the directory that a user names as the root, if any.

        Raises:
            SettingsMismatch: the root is another directory.
        """
        if directory is not None and location.real_root(directory) != self.root:
            raise errors.SettingsMismatch(
                f"{self.path}: keys of files are paths from {self.root}, not from "
                f"{os.fspath(directory)}: leave out the root, or change it with lshdb sync --root"
            )

    def forget_files(self, doc_ids: Iterable[int]) -> None:
        """Forget that documents were read from files."""
        self.run_many(sql.DELETE_FILE, zip(doc_ids))

    def delete(self, doc_ids: Sequence[int]) -> None:
        """Delete rows of documents, whose signatures and bands are already deleted."""
        self.run_many(sql.DELETE_DOCUMENT, zip(doc_ids))

    def make_part(self, part: str) -> None:
        """Make the tables of a part if the file has none."""
        if part not in self.parts:
            with self._connection.errors():
                schema.make_part(self._connection, part)
            self._read_settings()

    def set_indexed(self, to: int | None, bucket: int | None) -> None:
        """Note which band rows are written, see schema.sql; None for all."""
        self.run_many(sql.SET_INDEXED, [(to, bucket)])
        if to is None:
            self.rows(sql.DELETE_INDEXED)
        self._read_settings()

    def note_indexed(self, doc_ids: Iterable[int]) -> None:
        """Note that documents need no late band rows: they have them, or are removed."""
        if self.indexed_to is not None:
            self.run_many(sql.NOTE_INDEXED, zip(doc_ids))

    def set_index(self, settings: Settings) -> None:
        """Write the settings of the index."""
        before, after = parts_of(self.settings), parts_of(settings)
        with self._connection.errors():
            write_settings(self._connection, settings)
            for part in sorted(before.keys() ^ after.keys(), reverse=True):
                self._connection.execute(sql.DROP_PART[part])
                if part in after:
                    schema.make_part(self._connection, part)
