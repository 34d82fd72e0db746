"""Reading the documents and decisions of files of formats 4 and 5, to add them to a new file.

Of these formats nothing else is read: contents are signed again. Where their keys lead to was not
stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lshdb import errors
from lshdb.limits import Limits
from lshdb.shingling.arrays import NO_NUMBERS, bounded, chunks
from lshdb.store import connection as connections
from lshdb.store import statements as sql
from lshdb.store.lookups import DecisionRow, DocumentColumns
from lshdb.store.rows import FileState, record, typed_column
from lshdb.store.sqlite_errors import RESTORE


class OlderFile:
    """A file of format 4 or 5, open to be read.

    Attributes:
        path, real_path: its name, and where that leads to.
        version: of the format.
        of_sets: whether its documents are sets.
        content: whether it has their contents.
        root: None, as it was not stored.
    """

    root = None

    def __init__(self, path: Path, timeout: float, limits: Limits, *, sealed: bool) -> None:
        self._connection = connections.connect(
            path, "read", timeout, sealed=sealed, is_older=True, limits=limits
        )
        self.path, self.real_path, self.limits = path, self._connection.real_path, limits
        try:
            with self._connection.errors():
                if self._connection.execute(sql.OLDER_TABLES).fetchone() != (4,):
                    raise errors.DamagedFile(f"{path}: a table is missing or has code; {RESTORE}")
                (self.version,) = self._connection.execute(sql.USER_VERSION).fetchone()
                shingle, content = self._connection.execute(sql.OLDER_SETTINGS).fetchone()
        except BaseException:
            self.close()
            raise
        self.of_sets, self.content = shingle == "set", bool(content)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def keys_of_files(self) -> Iterator[tuple[int, str]]:
        """The doc_ids and keys of all documents that were read from files."""
        yield from self._connection.rows(sql.KEYS_OF_FILES)

    def whole_documents(self, max_bytes: int, max_rows: int) -> Iterator[DocumentColumns]:
        """All documents without signatures; as `StoreReader.whole_documents`."""
        rows = self._connection.each(sql.OLDER_DOCUMENTS)
        for block in bounded(rows, lambda row: len(row[3] or "") + len(row[2] or ""), max_bytes):
            for part in chunks(len(block), max_rows):
                keys, digests, metadata, contents, *states = zip(*block[part], strict=True)
                nothing = type(None)
                for column, kind in zip(states, (int, int, str), strict=True):
                    typed_column(column, kind, nothing)
                yield DocumentColumns(
                    typed_column(keys, str),
                    NO_NUMBERS,
                    typed_column(digests, bytes),
                    typed_column(metadata, str, nothing),
                    typed_column(contents, str),
                    NO_NUMBERS.astype("uint32"),
                    [
                        None if state[0] is None else FileState(*state)
                        for state in zip(*states, strict=True)
                    ],
                )

    def different_texts(self) -> list[tuple[int, bytes, int, str]]:
        """None: whether decisions hold is seen where they are added."""
        return []

    def decisions(self) -> list[DecisionRow]:
        """All decisions in order, the rows of each by key."""
        return [record(DecisionRow, row) for row in self._connection.rows(sql.DECISIONS)]
