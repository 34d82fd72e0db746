"""Files that hold a copy of a dropped document, so that the dropped file can be removed.

A copy is a document that is not dropped, and has the same content or is as similar as the
database's threshold asks for. It counts if a file holds it now: a file of its own, an archive or a
mailbox, whose size and time or whose text are still those of the document. Rows of tables do not
count, as the database does not know their files. Of a document without text, such as a PDF of
pictures, only a file with the same bytes is a copy.
"""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lshdb.errors import InputError
from lshdb.ingest import sync
from lshdb.options import QueryOptions
from lshdb.search.decisions import contents_in_force
from lshdb.search.query import search
from lshdb.shingling.content import digest, encoded
from lshdb.sources.archives import archive_of
from lshdb.sources.extracting import file_of_message
from lshdb.sources.identity import is_same_file
from lshdb.sources.paths import paths_of_key
from lshdb.sources.session import state_of
from lshdb.store.rows import FileState

if TYPE_CHECKING:
    from lshdb.store.store import Store

_SIMILAR = 1_000
"""Documents of which one may be the copy: more are looked at only if they have the same content."""


class _Copy(NamedTuple):
    """A document that is a copy of a dropped one; its state is None if no file is known."""

    key: str
    digest: bytes
    state: FileState | None


@dataclass(frozen=True)
class KeptCopy:
    """A file that holds a copy.

    Attributes:
        key: of the copy.
        path: of the file.
        status: of the file before it was read.
        is_file: whether the document is the whole file, and not a member or a message in it.
    """

    key: str
    path: str
    status: os.stat_result
    is_file: bool

    def is_unchanged(self) -> bool:
        """Whether the file is as it was when it was looked at."""
        try:
            now = os.stat(self.path)
        except OSError:
            return False
        before = self.status
        return (now.st_size, now.st_mtime_ns, now.st_ino) == (
            before.st_size,
            before.st_mtime_ns,
            before.st_ino,
        )


class KeptCopies:
    """Looks for the copies of dropped documents.

    Args:
        store: the database.
        root: the directory that keys are relative to, None for the current one.
    """

    def __init__(self, store: Store, root: str | None) -> None:
        self._store = store
        self._root = root
        self._session = sync.text_session(store, root)
        with store.reading():
            self._decided = contents_in_force(store)
            verdicts = self._decided.of_key
            dropped_digests = {
                content_digest
                for (_, content_digest), verdict in verdicts.items()
                if verdict == "drop"
            }
            self._same: dict[bytes, list[_Copy]] = {
                content_digest: [] for content_digest in dropped_digests
            }
            for document in sync.with_digests(store, dropped_digests):
                self._same[document.digest].append(
                    _Copy(document.key, document.digest, document.state)
                )
        # What was decided to be kept may be a document no longer, and still a file.
        for (key, content_digest), verdict in verdicts.items():
            if verdict == "keep" and content_digest in dropped_digests:
                self._same[content_digest].append(_Copy(key, content_digest, None))
        self._held: dict[tuple[str, bytes], KeptCopy | None] = {}

    def of(self, dropped: sync.DroppedFile) -> Iterator[KeptCopy]:
        """The files that hold a copy of a dropped document, those with its content first.

        None of them is its own file under another name.
        """
        tried, has_text = set(), self._has_text(dropped)
        for copy in self._copies(dropped):
            document = copy.key, copy.digest
            if document in tried or self._decided.of_key.get(document) == "drop":
                continue
            tried.add(document)
            if document not in self._held:
                self._held[document] = self._holder(copy)
            held = self._held[document]
            if held is None or is_same_file(held.path, dropped.path):
                continue
            if has_text or (held.is_file and _has_same_bytes(held.path, dropped.path)):
                yield held

    def _has_text(self, dropped: sync.DroppedFile) -> bool:
        content = dropped.content
        if not isinstance(content, str):
            with self._store.reading():
                row = self._store.document(dropped.key)
            if row is None or row.content is None:
                return row is not None and row.shingles > 0
            content = row.content
        # Signs that are left of a scan say as little of a file as no text does.
        return any(map(str.isalnum, content))

    def _copies(self, dropped: sync.DroppedFile) -> Iterator[_Copy]:
        yield from self._same.get(dropped.digest, ())
        # The content is that of the stored document if the file was not read.
        if dropped.content is None:
            query = QueryOptions(key=dropped.key, top=_SIMILAR)
        else:
            query = QueryOptions(dropped.content, top=_SIMILAR)
        keys = [match.key for match in search(self._store, query.ranking, query)]
        with self._store.reading():
            files = {file.key: file for file in self._store.files_of_keys(keys)}
        dropped_content = dropped.key, dropped.digest
        for file in filter(None, map(files.get, keys)):
            if not self._decided.apart(dropped_content, (file.key, file.digest)):
                yield _Copy(file.key, file.digest, file.state)

    def _holder(self, copy: _Copy) -> KeptCopy | None:
        """The file that holds a document now; None if none does, or it is not known."""
        whole = file_of_message(copy.key) or copy.key
        for path in paths_of_key(whole, self._root) or [os.path.join(self._root or "", whole)]:
            file = archive_of(path) or path
            try:
                status, member = os.stat(file), self._session.archives.status(path)
            except (InputError, OSError):
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            state = copy.state
            is_read = state is not None and state.extracted and state.mtime_ns
            if (is_read and state == state_of(member)) or any(
                digest(encoded(content).encode()) == copy.digest
                for batch in self._session.file(path, whole)
                for key, content in zip(batch.keys, batch.contents, strict=True)
                if key == copy.key
            ):
                return KeptCopy(copy.key, file, status, file == path and whole == copy.key)
        return None


def _has_same_bytes(path: str, other: str) -> bool:
    try:
        return filecmp.cmp(path, other, shallow=False)
    except OSError:
        return False
