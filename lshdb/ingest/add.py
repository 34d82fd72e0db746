"""Adding documents: each batch is signed, compared with stored documents, and written whole.

The caller's thread reads and writes batches in parts; other processes (lshdb.ingest.workers) parse
and sign these, so that some are signed while others are read and written. Batches are written in
order, each in one transaction. Within one only files are read: a slow stream never keeps other
processes from writing.

Of the CPU time of adding 100,000 documents of 3 KB (62 us each on two slow cores, in both
processes together) signing takes 33%, band rows 16%, rows of documents 8%, the digest 7%, copying
the log into the file 7%, passing documents between processes 6%, parsing 5%, signatures 4%.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import chain, islice

from lshdb.errors import warn_of_limit
from lshdb.ingest.batches import Item, Stream, signed
from lshdb.ingest.dedup import Places, Selecting, Selection, selection_for
from lshdb.ingest.parts import SignedPart, Signing
from lshdb.ingest.writing import Writer, delete, numbered_keys
from lshdb.model import AddReport, DroppedRow, Failure
from lshdb.options import AddFilesOptions, AddManyOptions, RemoveOptions
from lshdb.progress import Progress, shown, silent
from lshdb.search.limits import dedup_cut, reference_cut
from lshdb.shingling.arrays import chunks
from lshdb.shingling.content import cleaned
from lshdb.sources.paths import STDIN
from lshdb.sources.readers import reader_of
from lshdb.sources.records import Block, RecordParser
from lshdb.store.store import Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of some documents.

    Attributes:
        block: the block that they came from, if wanted.
        keys: of the documents.
        places: of their lines or rows in the block, from 0.
        dropped: why each is not kept; None for those that are.
    """

    block: Block | None
    keys: Sequence[str]
    places: Sequence[int]
    dropped: Sequence[DroppedRow | None]

    @property
    def kept(self) -> list[int]:
        """The places of the lines or rows that are kept."""
        of_both = zip(self.places, self.dropped, strict=True)
        return [place for place, dropped in of_both if dropped is None]


@dataclass(frozen=True, slots=True)
class Job:
    """How documents are added.

    Attributes:
        store: the file.
        parser: makes documents of blocks.
        workers: processes that sign documents beside this one; None for the usual number.
        on_failure: called with each line, row or file that gives no document.
        selection: the rule for similar documents; None to add all.
        local: whether reading items never blocks, so that they may be read in a transaction.
        numbered: whether keys may be repeated: they are stored with a number before them, in a
            file that only this process uses.
        places: notes where documents are from, if all are added; or None.
    """

    store: Store
    parser: RecordParser | None = None
    workers: int | None = None
    on_failure: Callable[[Failure], None] | None = None
    selection: Selection | None = None
    local: bool = False
    numbered: bool = False
    places: Places | None = None

    def failed(self, parts: Iterable[SignedPart]) -> None:
        """Report what gave no document."""
        if self.on_failure is not None:
            for part in parts:
                for failure in part.failures:
                    self.on_failure(failure)


def write_documents(job: Job, items: Iterable[Item]) -> Iterator[tuple[AddReport, list[Outcome]]]:
    """Add documents, or blocks of them, in batches.

    Yields:
        The report of each batch when it is in the file, and with a selection the outcomes of its
        parts.
    """
    store, selection, settings = job.store, job.selection, job.store.settings
    if settings.shingling.foreign:
        cleaned("", settings.shingling)  # raises once, and not for each document
    if selection is None:
        signing = Signing(settings, job.parser, store.limits)
        with signed(store, items, signing, job.workers, local=job.local) as stream:
            documents = 0
            for batch in stream:
                report = _write(job, stream, batch, documents)
                documents += report.documents
                yield report, []
        return
    if selection.against is not None:
        settings = replace(settings, content=True)  # compared there, even if not stored
    signing, keep = Signing(settings, job.parser, store.limits), selection.keep_blocks
    selecting, unsure = Selecting(store, selection, numbered=job.numbered), 0
    with signed(store, items, signing, job.workers, keep_blocks=keep) as stream:
        for batch in stream:
            parts = [*batch]
            job.failed(parts)
            left_out: Sequence[DroppedRow | None] = ()
            if selection.against is not None:
                left_out, some = selection.against.similar(parts, store.settings, selection)
                unsure += some
            with store.writing():
                report, dropped = selecting.write(parts, left_out)
            rest = iter(dropped)
            outcomes = [
                Outcome(part.block, part.keys, part.places, list(islice(rest, len(part.keys))))
                for part in parts
            ]
            del parts
            yield report, outcomes
            del outcomes
        if selecting.cut:
            warn_of_limit(dedup_cut(selecting.cut, store.limits.dedup_listed))
        if unsure:
            warn_of_limit(reference_cut(unsure, store.limits.dedup_listed))


def add_documents(
    store: Store,
    items: Iterable[Item],
    options: AddManyOptions,
    parser: RecordParser | None = None,
    on_failure: Callable[[Failure], None] | None = None,
    *,
    progress: Progress = silent,
    local: bool = False,
) -> AddReport:
    """Add documents in batches; see Database.add_many and `write_documents`."""
    selection = selection_for(options.on_similar)
    total = AddReport()
    count = len(items) if isinstance(items, Sized) else None
    job = Job(store, parser, options.workers, on_failure, selection, local)
    for report, outcomes in write_documents(job, items):
        total += report
        for one in chain.from_iterable(outcome.dropped for outcome in outcomes):
            if one is not None and one.kept != one.key and options.on_skip is not None:
                options.on_skip(one)
        progress(total.documents + total.failed, count, "documents")
        if options.on_batch is not None:
            options.on_batch(report)
    return total


def add_many(store: Store, documents: Iterable[Item], options: AddManyOptions) -> AddReport:
    """Add documents; see Database.add_many."""
    with shown(options.progress, "adding") as report:
        return add_documents(store, documents, options, progress=report)


def add_files(store: Store, paths: Iterable[str], options: AddFilesOptions) -> AddReport:
    """Add the documents of files; see Database.add_files."""
    reader = options.reader
    if reader is None:
        reader = reader_of(options, store.settings.shingling.of_sets, limits=store.limits)
    replaced = reader.replaced
    with reader.shown(options.progress, "adding", paths) as report:
        added = add_documents(
            store,
            reader.items(paths),
            options,
            reader.parser,
            options.on_failure,
            progress=report,
            local=is_local_input(paths),
        )
    # Text files are decoded by the reader itself.
    return added + AddReport(replaced=reader.replaced - replaced)


def is_local_input(paths: Iterable[str]) -> bool:
    """Whether paths are files, directories and patterns, not pipes or a list that is read."""
    return isinstance(paths, Sequence) and not any(
        path == STDIN
        or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))
        for path in paths
    )


def _write(job: Job, stream: Stream, batch: Iterable[SignedPart], first: int) -> AddReport:
    """Write a batch, whose keys may get numbers from `first` on; its results."""
    with job.store.writing():
        writer = Writer(job.store)
        # The first parts are written while the last ones are still being signed.
        for part in batch:
            job.failed([part])
            if job.numbered:
                if job.places is not None:
                    for doc_id, where in enumerate(part.where(), first + 1):
                        job.places.add(doc_id, where)
                keys = numbered_keys(part.keys, first)
                first += len(keys)
                part = replace(part, keys=keys, files=())
            writer.write(part)
            stream.sign = bool(writer.signed) or not writer.report.documents
        writer.finish()
    return writer.report


def remove(store: Store, options: RemoveOptions) -> int:
    """Remove documents; see Database.remove."""
    keys = [options.keys] if isinstance(options.keys, str) else options.keys
    with store.reading() if options.dry_run else store.writing():
        # Other writers wait, so that exactly the documents that are read are removed.
        doc_ids = _matching(store, options) if keys is None else _known(store, list(keys))
        if not options.dry_run:
            delete(store, sorted(doc_ids))
    return len(doc_ids)


def _known(store: Store, keys: Sequence[str]) -> set[int]:
    """The ids of the documents with these keys; KeyNotFound if one is missing."""
    doc_ids: set[int] = set()
    for part in chunks(len(keys), store.limits.documents_read):
        some = keys[part]
        known = store.known(some)
        for key in some:
            if key not in known:
                raise store.not_found(key)
        doc_ids.update(document.doc_id for document in known.values())
    return doc_ids


def _matching(store: Store, options: RemoveOptions) -> set[int]:
    """The ids of the documents that match the condition."""
    doc_ids: set[int] = set()
    with store.where(options.where or "", options.parameters) as (reader, condition):
        for some, _ in reader.all_keys():
            doc_ids.update(some[condition.matching(some)].tolist())
    return doc_ids
