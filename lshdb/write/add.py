"""Adding documents: each batch is signed, compared with stored documents, and written whole.

The caller's thread reads and writes batches in parts; other processes (lshdb.workers) sign these,
so that some are signed while others are read and written. Batches are written in order, each in one
transaction. Within one nothing is read: a slow stream never keeps other processes from writing.

Of the CPU time of adding 100,000 documents of 3 KB (62 us each on two slow cores, in both
processes together) signing takes 33%, band rows 16%, rows of documents 8%, the digest 7%, copying
the log into the file 7%, passing documents between processes 6%, parsing 5%, signatures 4%.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import replace

from lshdb import offers
from lshdb.model import AddReport, Failure
from lshdb.options import AddFilesOptions, AddManyOptions, RemoveOptions
from lshdb.progress import Progress, shown, silent
from lshdb.read import counts
from lshdb.read.batch import RowPlace
from lshdb.read.files import File
from lshdb.read.session import session_of
from lshdb.store import late
from lshdb.store.lookups import StoreReader
from lshdb.store.readonly_sql import DocumentFilter
from lshdb.store.store import Store
from lshdb.write import writing
from lshdb.write.batches import Addable, Job, signed

Select = Callable[[Job, Iterable[Addable]], Iterator[AddReport]]
"""Adds some of the documents of a job; the report of each batch."""


def added(
    job: Job,
    items: Iterable[Addable],
    locate: Callable[[int, RowPlace], object] | None = None,
) -> Iterator[AddReport]:
    """Add documents, or blocks of them, in batches.

    A file that nobody else reads (`limits.durable` is false) gets the rows of its index at the end,
    or when too many are in memory.

    Args:
        job: how they are read.
        items: documents, or blocks of them.
        locate: of documents that are all new, called with the doc_id of each and where it is from.

    Yields:
        The report of each batch when it is in the file.
    """
    documents = 0
    store = job.store
    is_shared = store.limits.durable
    writer: writing.Writer | None = None
    late.complete(store, job.progress)  # what a killed process left
    is_reserved = False
    with contextlib.ExitStack() as stack, signed(job, items) as stream:
        for batch in stream:
            transaction, report = store.writing(), AddReport()
            try:
                with transaction:
                    is_late = job.late and documents >= store.limits.late_from
                    if is_late and not is_reserved:
                        is_reserved = stack.enter_context(late.reserved(store))
                    if writer is None or is_shared or is_late != writer.late:
                        if writer is not None:
                            writer.finish()
                        writer = writing.Writer(store, is_late, job.of_run, job.on_conflict)
                    # The first parts are written while the last ones are still being signed.
                    for part in batch:
                        if locate is not None:
                            for doc_id, where in enumerate(part.batch.where(), writer.next_id):
                                locate(doc_id, where)
                        report += writer.write(part)
                        stream.sign = bool(writer.signed) or not writer.report.documents
                    # In order, the rows of all batches take half the time of those of one by one.
                    if is_shared or writer.is_full:
                        writer.finish()
            except KeyboardInterrupt:
                if transaction.committed:
                    yield report
                raise
            documents += report.documents
            yield report
        if writer is not None and not is_shared:
            with store.writing():
                writer.finish()
    late.complete(store, job.progress)


def _adding(options: AddManyOptions) -> Select:
    """What adds documents: all of them, or only those that are not similar to others."""
    if options.on_similar == "keep":
        return added
    select: Select = offers.offered(offers.SELECTING, "on_similar")(options)
    return select


def add_documents(
    store: Store,
    items: Iterable[Addable],
    options: AddManyOptions,
    on_failure: Callable[[Failure], None] | None = None,
    *,
    progress: Progress = silent,
    late_bands: bool = False,
) -> AddReport:
    """Add documents in batches; see Database.add_many.

    Args:
        store: the file.
        items: the documents.
        options: how they are added.
        on_failure: called with each item that gives no document.
        progress: called with the number of documents.
        late_bands: whether the band rows of a large addition may be written later.
    """
    failures = counts.Failures(on_failure)
    count = len(items) if isinstance(items, Sized) else None
    job = _job(store, options, failures, late_bands, progress)
    return _summed(job, _adding(options)(job, items), options, failures, count)


def _job(
    store: Store,
    options: AddManyOptions,
    on_failure: counts.Failures,
    late_bands: bool,
    progress: Progress,
) -> Job:
    """How documents are added by these options."""
    on_conflict = None if options.on_conflict == "replace" else options.on_conflict
    return Job(store, options.write.workers, on_failure, late_bands, progress, on_conflict)


def _summed(
    job: Job,
    reports: Iterable[AddReport],
    options: AddManyOptions,
    failures: counts.Failures,
    count: int | None = None,
) -> AddReport:
    """The sum of the reports of batches, each of which is passed on."""
    total = AddReport()
    for report in reports:
        total += report
        if options.write.on_batch is not None:
            options.write.on_batch(report)
        job.progress(total.documents + total.failed, count, "documents")
    failures.warn()
    return replace(total, failures=tuple(failures.kept))


def add_many(
    store: Store,
    documents: Iterable[Addable],
    options: AddManyOptions,
) -> AddReport:
    """Add documents of a program; see Database.add_many.

    Their band rows are written with them: the program may query what it added while it gives more.
    """
    with shown(options.write.progress, "adding") as report:
        return add_documents(store, documents, options, progress=report)


def add_files(
    store: Store,
    paths: Iterable[str],
    options: AddFilesOptions,
) -> AddReport:
    """Add the documents of files; see Database.add_files."""
    store.check_root(options.root)
    session = session_of(
        options.read,
        store.settings.shingling,
        options.files,
        options.sets,
        reader=options.reader,
        on_failure=options.on_failure,
        limits=store.limits,
    ).like(stored_guess=store.extracted_of, root=store.root)
    documents_of, skipped = session.options.whole_documents, session.counts.skipped
    damaged, guessed = skipped["damaged"], skipped["guessed"]
    add = _adding(options.add)

    def reports(job: Job) -> Iterator[AddReport]:
        """Add files in batches, and each database among them by merging it, in their order."""
        files = session.files(paths)
        # A database has no rows of a long table.
        is_database = File.is_database if options.sets.set_item is None else lambda _: False
        for is_merged, of_kind in itertools.groupby(files, is_database):
            if is_merged:
                merge = offers.offered(offers.DATABASES, "documents of a database")
                yield from merge(job, session, of_kind, options)
            else:
                batches = session.of_files(of_kind)
                yield from add(job, documents_of(batches, store.real_path.parent))

    with session.shown(options.add.write.progress, "adding", paths) as progress:
        job = _job(store, options.add, session.counts.failures, True, progress)
        total = _summed(job, reports(job), options.add, session.counts.failures)
    return replace(
        total, damaged=skipped["damaged"] - damaged, guessed=skipped["guessed"] - guessed
    )


def removed(
    store: Store, options: RemoveOptions, check: Callable[[list[str]], None] | None = None
) -> list[str]:
    """Remove documents, see Database.remove; their keys.

    `check` gets the keys before anything is removed, and may raise to remove nothing.
    """
    keys = [options.keys] if isinstance(options.keys, str) else options.keys
    with store.reading() if options.removal.dry_run else store.writing():
        # Other writers wait, so that exactly the documents that are read are removed.
        if options.removal.decided:
            keys = offers.offered(offers.OF_OPTIONS, "decided")(store)
        if keys is None:
            with store.snapshot(options.removal.condition) as snapshot:
                doc_ids_by_key = chosen_ids(*snapshot)
        else:
            keys = list(keys)
            known = store.known(keys)
            for key in keys if not options.removal.missing_ok else ():
                if key not in known:
                    raise store.not_found(key)
            doc_ids_by_key = {key: document.doc_id for key, document in known.items()}
        if not options.removal.dry_run:
            if check is not None:
                check(list(doc_ids_by_key))
            writing.delete(store, sorted(doc_ids_by_key.values()))
    return list(doc_ids_by_key)


def chosen_ids(reader: StoreReader, keep: DocumentFilter | None) -> dict[str, int]:
    """The ids of the documents that a condition chooses, by their keys, in their order."""
    doc_ids_by_key: dict[str, int] = {}
    for doc_ids, keys in reader.all_keys():
        chosen = [True] * len(keys) if keep is None else keep(doc_ids)
        rows = zip(keys, doc_ids.tolist(), strict=True)
        doc_ids_by_key.update(itertools.compress(rows, chosen))
    return doc_ids_by_key
