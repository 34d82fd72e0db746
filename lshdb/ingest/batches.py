"""Cutting a stream of documents into batches, and these into parts that are signed in one go.

Band rows are spread over the whole table, so that a batch touches each of its pages: the larger
the batch, the fewer times. Batches therefore grow with the file, as far as memory allows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from lshdb.errors import ContentError
from lshdb.ingest.parts import Part, SignedPart
from lshdb.ingest.workers import Pending, Workers
from lshdb.model import Content, Document, Settings
from lshdb.shingling.content import cleaned
from lshdb.sources.metadata import to_json
from lshdb.sources.records import Failure, Lines
from lshdb.store.store import Store

Item: TypeAlias = Document | tuple[str, Content] | Lines | Failure
"""What is added: documents, also as pairs of key and content, or lines; failures are counted."""

_BATCH_DOCUMENTS: Final = 8_000
_BATCH_SHARE: Final = 5
"""A batch takes at least one document for so many that the file has."""
_BATCH_ROWS: Final = 3_200_000
"""Band rows of a batch at the most: their bucket keys are in memory all at once."""
_BATCH_BYTES: Final = 30_000_000
"""Memory that the documents of a batch take at the most; two batches are under way at once."""
_READ_LATER: Final = 9
"""A batch of documents that are read where they are signed takes so many times as many bytes: of
these only some are in memory at once (see lshdb.ingest.workers)."""
_BATCH_SECONDS: Final = 5.0
"""How long a document of a slow stream waits at the most for others, when one more comes."""
_PART_BYTES: Final = 1_000_000
_PART_DOCUMENTS: Final = 4_000
"""Memory, and number, of the documents that are signed in one go."""


@dataclass(slots=True)
class Batch:
    """Parts that are written together, signed or being signed; of so many documents at the most."""

    most: int
    parts: deque[tuple[Lines | None, Pending]] = field(default_factory=deque)
    documents: int = 0
    size: int = 0
    begun: float = field(default_factory=time.monotonic)

    def is_full(self, stored: int) -> bool:
        """Whether it is time to write it; the file has `stored` documents."""
        return bool(self.parts) and (
            self.documents >= min(self.most, max(_BATCH_DOCUMENTS, stored // _BATCH_SHARE))
            or self.size >= _BATCH_BYTES
            or time.monotonic() - self.begun > _BATCH_SECONDS
        )

    def is_rest_of(self, other: Batch) -> bool:
        """Whether it is so small that its band rows had better be written with another's."""
        return 2 * self.documents < other.documents

    def add(self, other: Batch) -> None:
        """Take another's parts too."""
        self.parts += other.parts
        self.documents += other.documents
        self.size += other.size


class Stream:
    """The batches of a stream of documents, each when it is read and its signing has begun.

    An error of the stream (a document that cannot be read or taken, Ctrl-C) ends it, so that what
    was read before can be written; it is then in `error`.

    Attributes:
        sign: whether parts are signed as they come. Else they are only digested: most likely
            they are stored already.
    """

    def __init__(
        self,
        store: Store,
        items: Iterable[Item],
        pool: Workers,
        *,
        at_once: bool = False,
        keep_lines: bool = False,
    ) -> None:
        """Read items for a store, to be signed by `pool`.

        Args:
            store: what they are added to.
            items: documents.
            pool: by whom they are signed.
            at_once: whether all of a batch will be in memory at once.
            keep_lines: whether batches shall have the lines that documents come in.
        """
        self.error: BaseException | None = None
        self.sign = True
        self._pool = pool
        self._at_once = at_once
        self._keep_lines = keep_lines
        self._most = max(1, _BATCH_ROWS // store.settings.construction.bands)
        self._stored = store.last_doc_id()
        self._source = _parts(items, store.settings)
        self._under_way: deque[Batch] = deque()

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Batch:
        ahead = 1 if self._pool.count else 0
        while self.error is None and len(self._under_way) <= ahead:
            try:
                batch = self._read()
                if not batch.parts:
                    break
                self._stored += batch.documents
                last = self._under_way[-1] if self._under_way else None
                if last and not batch.is_full(self._stored) and batch.is_rest_of(last):
                    last.add(batch)
                else:
                    self._under_way.append(batch)
            except Exception as error:
                self.error = error
            except BaseException as error:
                # Interrupted: what is being signed is not waited for.
                self.error = error
                self._under_way.clear()
        if not self._under_way:
            raise StopIteration
        return self._under_way.popleft()

    def _read(self) -> Batch:
        batch = Batch(self._most)
        for part, documents, size in self._source:
            if isinstance(part, Failure):
                failed = SignedPart([], [], [], None, [part], 0)
                batch.parts.append((None, Pending(Part(), signed=failed)))
            else:
                lines = part.lines if self._keep_lines else None
                pending = self._pool.submit(replace(part, sign=self.sign), size)
                batch.parts.append((lines, pending))
                if part.rows is not None and self._pool.count and not self._at_once:
                    size //= _READ_LATER
            batch.documents += documents
            batch.size += size
            if batch.is_full(self._stored):
                break
        return batch


def _parts(items: Iterable[Item], settings: Settings) -> Iterator[tuple[Part | Failure, int, int]]:
    """Cut a stream into parts; each with its number of documents and about its bytes."""
    documents: list[tuple[str, Content]] = []
    metadata: list[str | None] = []
    size = 0
    begun = time.monotonic()
    for item in items:
        alone = isinstance(item, Lines | Failure)
        if documents and (
            alone
            or size >= _PART_BYTES
            or len(documents) >= min(_PART_DOCUMENTS, _BATCH_DOCUMENTS)
            or time.monotonic() - begun > _BATCH_SECONDS
        ):
            yield _part(documents, metadata), len(documents), size
            documents, metadata, size = [], [], 0
        if isinstance(item, Lines):
            yield Part(lines=item), item.count, item.size
        elif isinstance(item, Failure):
            yield item, 0, 0
        else:
            if not documents:
                begun = time.monotonic()
            document = item if isinstance(item, Document) else Document(*item)
            key, content, other = _checked(document, settings)
            documents.append((key, content))
            metadata.append(other)
            size += _memory(content) + len(other or "")
    if documents:
        yield _part(documents, metadata), len(documents), size


def _part(documents: list[tuple[str, Content]], metadata: list[str | None]) -> Part:
    return Part(documents, metadata=metadata if any(metadata) else ())


def _memory(content: Content) -> int:
    """About how many bytes a document takes, an element of a set counted as 100."""
    return content.__sizeof__() if isinstance(content, str) else 100 * len(content)


def _checked(document: Document, settings: Settings) -> tuple[str, Content, str | None]:
    """A document's key, cleaned content and metadata as stored; ContentError tells the key."""
    key = checked_key(document.key)
    try:
        return key, cleaned(document.content, settings.shingling), to_json(document.metadata)
    except ContentError as error:
        raise ContentError(f"{key!r}: {error}") from error


def checked_key(key: str) -> str:
    """The key itself; ContentError if it is none."""
    if not isinstance(key, str) or not key or "\0" in key:
        raise ContentError(f"key {key!r} is not a string of at least one character without NUL")
    try:
        if not key.isascii():
            key.encode()
    except UnicodeEncodeError as error:
        raise ContentError(f"key {key!r} has a lone surrogate") from error
    return key
