"""Adding documents: a batch is signed, compared with what is stored, and written whole.

Batches are read and written by the caller's thread, in parts; these are parsed and signed by
other processes (lshdb.signers), so that one batch is signed while the next is read and the one
before is written. They are written in order, each in one transaction, and nothing is read within
one: a slow stream keeps no other process from writing.

Band rows are spread over the whole table, so that a batch touches each of its pages: the larger
the batch, the fewer times. Batches therefore grow with the file, as far as memory allows.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from lshdb.content import cleaned
from lshdb.errors import ContentError, KeyNotFound, LimitWarning
from lshdb.hashing import reuse_freed_memory
from lshdb.listing import LISTED
from lshdb.metadata import to_json
from lshdb.model import AddReport, Content, Document, Settings
from lshdb.outcomes import Line, Skipped
from lshdb.parts import Part, SignedPart
from lshdb.records import Failure, Lines, RecordParser
from lshdb.screening import Screening
from lshdb.selecting import SelectiveWriter
from lshdb.signers import Pending, Signers
from lshdb.store import Store
from lshdb.writing import Writer, unindex

Item: TypeAlias = Document | tuple[str, Content] | Lines | Failure
"""What is added: documents, also as pairs of key and content, or lines; failures are counted."""

_BATCH_DOCUMENTS: Final = 4_000
_BATCH_SHARE: Final = 5
"""A batch takes at least one document for so many that the file has."""
_MOST_DOCUMENTS: Final = 200_000
"""But never more: the bucket keys of a batch are in memory all at once."""
_BATCH_BYTES: Final = 44_000_000
"""Memory that the documents of a batch take at the most; two batches are under way at once."""
_READ_LATER: Final = 3
"""A batch of documents that are read where they are signed takes so many times as many bytes: of
these only some are in memory at once (see lshdb.signers)."""
_BATCH_SECONDS: Final = 5.0
"""How long a document of a slow stream waits at the most for others, when one more comes."""
_PART_BYTES: Final = 1_000_000
"""Memory of the documents that are signed in one go."""


@dataclass(slots=True)
class _Batch:
    """Parts that are written together, signed or being signed."""

    parts: deque[tuple[Lines | None, Pending]] = field(default_factory=deque)
    documents: int = 0
    size: int = 0
    begun: float = field(default_factory=time.monotonic)

    def is_full(self, stored: int) -> bool:
        """Whether it is time to write it; the file has `stored` documents."""
        return bool(self.parts) and (
            self.documents >= min(_MOST_DOCUMENTS, max(_BATCH_DOCUMENTS, stored // _BATCH_SHARE))
            or self.size >= _BATCH_BYTES
            or time.monotonic() - self.begun > _BATCH_SECONDS
        )

    def is_rest_of(self, other: _Batch) -> bool:
        """Whether it is so small that its band rows had better be written with another's."""
        return 2 * self.documents < other.documents

    def add(self, other: _Batch) -> None:
        """Take another's parts too."""
        self.parts += other.parts
        self.documents += other.documents
        self.size += other.size


@dataclass(frozen=True, slots=True)
class Selection:
    """That only documents are added which are similar to none that is kept.

    Attributes:
        screening: what decides.
        numbered: whether keys may be repeated; see SelectiveWriter.
        keep_lines: whether the outcomes shall have the lines.
    """

    screening: Screening
    numbered: bool = False
    keep_lines: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the documents of a part.

    Attributes:
        lines: what they were made of, where that is wanted.
        part: the documents.
        skipped: why each is not kept; None for those that are.
    """

    lines: Lines | None
    part: SignedPart
    skipped: list[Skipped | None]


@dataclass(frozen=True, slots=True)
class Written:
    """A batch that is in the file.

    Attributes:
        report: what became of its documents.
        outcomes: of each part of a selection.
        signed: how many documents needed a signature.
    """

    report: AddReport
    outcomes: list[Outcome]
    signed: int


def write_documents(
    store: Store,
    items: Iterable[Item],
    workers: int,
    parser: RecordParser | None = None,
    on_failure: Callable[[Failure], None] = lambda _: None,
    selection: Selection | None = None,
) -> Iterator[Written]:
    """Add documents in batches; each is told when it is in the file."""
    if store.settings.shingling.foreign:
        cleaned("", store.settings.shingling)  # says why not, once and not for each document
    reuse_freed_memory()
    cut = 0
    with (
        Signers(store.settings, parser, workers) as signers,
        store.batches() as checkpoints,
    ):
        stream = _Stream(store, items, signers, selection)
        count = 0
        while (batch := next(stream, None)) is not None:
            if selection is None:
                checkpoints.before_begin(last=stream.at_end)
                with store.writing():
                    report, signed = _write(store, batch, signers, on_failure)
                    written = Written(report, [], signed)
                    checkpoints.before_commit()
            else:
                parts = [
                    (lines, part)
                    for lines, pending in batch.parts
                    for part in signers.results(pending)
                ]
                batch.parts.clear()
                for _, part in parts:
                    for failure in part.failures:
                        on_failure(failure)
                checkpoints.before_begin(last=stream.at_end)
                with store.writing():
                    first = count if selection.numbered else None
                    writer = SelectiveWriter(store, selection.screening, first)
                    skipped = writer.write([part for _, part in parts])
                    outcomes = [Outcome(*one, s) for one, s in zip(parts, skipped, strict=True)]
                    report = writer.report
                    written = Written(report, outcomes, report.documents - writer.stored)
                    cut += writer.cut
                    checkpoints.before_commit()
                del parts
            checkpoints.after_commit()
            count += report.documents
            stream.sign = bool(written.signed) or not report.documents
            yield written
            del written
    if cut:
        warnings.warn(_what_was_cut(cut), LimitWarning, stacklevel=2)
    if stream.error is not None:
        raise stream.error


def add_documents(
    store: Store,
    items: Iterable[Item],
    on_batch: Callable[[AddReport], None],
    workers: int,
    parser: RecordParser | None = None,
    on_failure: Callable[[Failure], None] = lambda _: None,
    screening: Screening | None = None,
    on_skip: Callable[[Skipped], None] = lambda _: None,
) -> AddReport:
    """Add documents in batches; see Database.add_many and add_files."""
    total = AddReport()
    selection = None if screening is None else Selection(screening)
    for written in write_documents(store, items, workers, parser, on_failure, selection):
        total += written.report
        for outcome in written.outcomes:
            for skipped in outcome.skipped:
                if skipped is not None and skipped.kept != skipped.key:
                    on_skip(skipped)
        on_batch(written.report)
    return total


def deduplicated_lines(
    store: Store,
    items: Iterable[Item],
    on_batch: Callable[[AddReport], None],
    workers: int,
    parser: RecordParser,
    on_failure: Callable[[Failure], None],
    selection: Selection,
) -> Iterator[Line]:
    """The lines among the items, and which are kept; see Database.dedup."""
    for written in write_documents(store, items, workers, parser, on_failure, selection):
        for outcome in written.outcomes:
            if outcome.lines is not None:
                yield from _lines(outcome.lines, outcome)
        on_batch(written.report)


def _lines(block: Lines, outcome: Outcome) -> Iterator[Line]:
    data = block.data.split(b"\n")
    last = len(data) - 1
    rows = zip(outcome.part.keys, outcome.part.lines, outcome.skipped, strict=True)
    for key, place, skipped in rows:
        line = data[place] + b"\n" if place < last else data[place]
        yield Line(key, block.name, block.first + place, line, skipped)


def _write(
    store: Store, batch: _Batch, signers: Signers, on_failure: Callable[[Failure], None]
) -> tuple[AddReport, int]:
    """Write a batch; what became of it, and how many documents needed a signature."""
    writer = Writer(store)
    # The first parts are written while the last ones are still being signed.
    while batch.parts:
        for part in signers.results(batch.parts.popleft()[1]):
            for failure in part.failures:
                on_failure(failure)
            writer.write(part)
    writer.finish()
    return writer.report, writer.signed


def _what_was_cut(documents: int) -> str:
    return (
        f"{documents:,} documents were kept that share a bucket with more than {LISTED} kept "
        f"before them; they were compared with the first {LISTED} of it and with what is in their "
        "smaller buckets, and may be similar to others"
    )


class _Stream:
    """The batches of a stream of documents, each when it is read and its signing has begun.

    An error of the stream (a document that cannot be read or taken, Ctrl-C) ends it, so that what
    was read before can be written; it is then in `error`.

    Attributes:
        sign: whether parts are signed as they come. Else they are only digested: most likely
            they are stored already.
        at_end: whether it is known that the batch given last is the last one.
    """

    def __init__(
        self, store: Store, items: Iterable[Item], signers: Signers, selection: Selection | None
    ) -> None:
        self.error: BaseException | None = None
        self.sign = True
        self.at_end = False
        self._signers = signers
        self._selective = selection is not None  # which takes all of a batch at once
        self._keep_lines = selection is not None and selection.keep_lines
        self._stored = store.last_doc_id()
        self._source = _parts(items, store.settings)
        self._under_way: deque[_Batch] = deque()

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> _Batch:
        ahead = 1 if self._signers.workers else 0
        while self.error is None and len(self._under_way) <= ahead:
            try:
                batch = self._read()
                if not batch.parts:
                    self.at_end = True
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

    def _read(self) -> _Batch:
        batch = _Batch()
        for part, documents, size in self._source:
            if isinstance(part, Failure):
                failed = SignedPart([], [], [], None, [part], 0)
                batch.parts.append((None, Pending.done(failed)))
            else:
                lines = part.lines if self._keep_lines else None
                pending = self._signers.submit(replace(part, sign=self.sign), size)
                batch.parts.append((lines, pending))
                if part.rows is not None and self._signers.workers and not self._selective:
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
            or len(documents) >= _BATCH_DOCUMENTS
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


def remove(store: Store, keys: Sequence[str]) -> None:
    """Remove documents in one transaction; KeyNotFound, and none removed, if a key is not there."""
    with store.writing():
        known = store.known(keys)
        for key in keys:
            if key not in known:
                raise KeyNotFound(f"no document has the key {key!r}")
        doc_ids = sorted({document.doc_id for document in known.values()})
        unindex(store, doc_ids)
        store.delete(doc_ids)
