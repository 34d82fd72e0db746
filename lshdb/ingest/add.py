"""Adding documents: each batch is signed, compared with stored documents, and written whole.

The caller's thread reads and writes batches in parts; other processes (lshdb.workers) sign these,
so that some are signed while others are read and written. Batches are written in order, each in one
transaction. Within one nothing is read: a slow stream never keeps other processes from writing.

Of the CPU time of adding 100,000 documents of 3 KB (62 us each on two slow cores, in both
processes together) signing takes 33%, band rows 16%, rows of documents 8%, the digest 7%, copying
the log into the file 7%, passing documents between processes 6%, parsing 5%, signatures 4%.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, compress

from lshdb.ingest import dedup, writing
from lshdb.ingest.batches import Item, Job, number_of, signed
from lshdb.ingest.failures import Failures
from lshdb.ingest.parts import SignedPart
from lshdb.model import AddReport, Failure
from lshdb.options import AddFilesOptions, AddManyOptions, RemoveOptions, RuleOptions
from lshdb.progress import Progress, shown, silent
from lshdb.search.decisions import read_decisions
from lshdb.shingling.arrays import chunks
from lshdb.sources.readers import reader_of
from lshdb.store import late
from lshdb.store.store import Store


def added(
    job: Job,
    items: Iterable[Item],
    places: dedup.Places | None = None,
    progress: Progress = silent,
) -> Iterator[AddReport]:
    """Add documents, or blocks of them, in batches.

    Args:
        job: how they are read.
        items: documents, or blocks of them.
        places: notes where numbered documents are from.
        progress: called with the band rows that are written later.

    Yields:
        The report of each batch when it is in the file.
    """
    documents = 0
    store = job.store
    late.complete(store, progress)  # what a killed process left
    asked = store.asked
    is_reserved = False
    with ExitStack() as stack, signed(job, items) as stream:
        for batch in stream:
            with store.writing():
                # A stream that asks the file it goes to needs its buckets.
                is_large = documents >= store.limits.late_from and asked == store.asked
                if job.late and is_large and not is_reserved:
                    is_reserved = stack.enter_context(late.reserved(store))
                writer = writing.Writer(store, late=job.late and is_large)
                # The first parts are written while the last ones are still being signed.
                for part in batch:
                    if places is not None:
                        for key, where in zip(part.keys, part.batch.where(), strict=True):
                            places.add(number_of(key) + 1, where)
                    writer.write(part)
                    stream.sign = bool(writer.signed) or not writer.report.documents
                writer.finish()
            documents += writer.report.documents
            yield writer.report
    late.complete(store, progress)


def _together(job: Job, items: Iterable[Item]) -> Iterator[AddReport]:
    """Add a document, with those that other threads add to the file at the same time.

    Where 32 threads do so, and the disk takes 5 ms, that is four times as fast.
    """
    late.complete(job.store)
    with job.store.alone(), signed(job, items) as stream:
        parts = [part for batch in stream for part in batch]
    for part in parts:
        yield job.store.together(part, partial(_written, job.store))


def _written(store: Store, parts: Iterable[SignedPart]) -> list[AddReport]:
    """Write some parts, within a transaction."""
    writer = writing.Writer(store)
    reports = [writer.write(part) for part in parts]
    writer.finish()
    return reports


def add_documents(
    store: Store,
    items: Iterable[Item],
    options: AddManyOptions,
    on_failure: Callable[[Failure], None] | None = None,
    *,
    progress: Progress = silent,
) -> AddReport:
    """Add documents in batches; see Database.add_many."""
    total, failures = AddReport(), Failures(on_failure)
    count = len(items) if isinstance(items, Sized) else None
    job = Job(store, options.workers, failures, late=options.index == "auto")
    if options.on_similar == "skip":
        reports = _selected(job, items, options)
    elif count == 1:
        reports = _together(job, items)
    else:
        reports = added(job, items, progress=progress)
    for report in reports:
        total += report
        progress(total.documents + total.failed, count, "documents")
        if options.on_batch is not None:
            options.on_batch(report)
    failures.warn()
    return replace(total, failures=failures.kept)


def _selected(job: Job, items: Iterable[Item], options: AddManyOptions) -> Iterator[AddReport]:
    """Add the documents that are not similar to a kept one."""
    for report, outcomes in dedup.decided(job, items, dedup.Rule(RuleOptions())):
        for one in chain.from_iterable(outcome.dropped for outcome in outcomes):
            if one is not None and one.kept != one.key and options.on_skip is not None:
                options.on_skip(one)
        yield report


def add_many(store: Store, documents: Iterable[Item], options: AddManyOptions) -> AddReport:
    """Add documents; see Database.add_many."""
    with shown(options.progress, "adding") as report:
        return add_documents(store, documents, options, progress=report)


def add_files(store: Store, paths: Iterable[str], options: AddFilesOptions) -> AddReport:
    """Add the documents of files; see Database.add_files."""
    reader = options.reader
    if reader is None:
        reader = reader_of(options, store.settings.shingling, limits=store.limits)
    reader.stored_guess = store.extracted_of
    with reader.shown(options.progress, "adding", paths) as report:
        items = reader.batches(paths)
        return add_documents(store, items, options, options.on_failure, progress=report)


def removed(store: Store, options: RemoveOptions) -> list[str]:
    """Remove documents, see Database.remove; their keys."""
    keys = [options.keys] if isinstance(options.keys, str) else options.keys
    with store.reading() if options.dry_run else store.writing():
        # Other writers wait, so that exactly the documents that are read are removed.
        if options.decided:
            made = read_decisions(store)
            keys = sorted(
                one.keys[0] for one in made if one.verdict == "drop" and one.state == "holds"
            )
        if keys is None:
            found = _matching(store, options)
        else:
            found = _known(store, list(keys), missing_ok=options.missing_ok)
        if not options.dry_run:
            writing.delete(store, sorted(found.values()))
    return list(found)


def _known(store: Store, keys: Sequence[str], *, missing_ok: bool) -> dict[str, int]:
    """The documents with these keys, and their ids; KeyNotFound if one is missing and may not."""
    found: dict[str, int] = {}
    for part in chunks(len(keys), store.limits.documents_read):
        some = keys[part]
        known = store.known(some)
        for key in some:
            if key in known:
                found[key] = known[key].doc_id
            elif not missing_ok:
                raise store.not_found(key)
    return found


def _matching(store: Store, options: RemoveOptions) -> dict[str, int]:
    """The documents that match the condition, in the order of addition, and their ids."""
    found: dict[str, int] = {}
    with store.beside(options.where or "", options.parameters) as (reader, keep):
        assert keep is not None
        for some, keys in reader.all_keys():
            fits = keep(some)
            found.update(zip(compress(keys, fits), some[fits].tolist(), strict=True))
    return found
