"""Deduplicating the rows of an input: which of similar ones are kept, first, longest or last.

To keep the longest or the last, the input is read twice. First all documents go into a temporary
file, from which they are read in the order of decisions; then the input is read again, for the
kept rows.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import replace
from itertools import chain
from typing import Final

from lshdb.errors import ContentError, InputError, UsageError
from lshdb.groups import regrouped
from lshdb.ingest.add import Job, Outcome, write_documents
from lshdb.ingest.dedup import Selection, both_fields
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.reference import Reference, Without, reference
from lshdb.model import AddReport, Document, DroppedRow, Failure, Settings
from lshdb.options import DedupOptions, Keep, WalkingOptions
from lshdb.progress import Progress
from lshdb.shingling.content import cleaned, encoded, from_stored
from lshdb.sources.metadata import to_json
from lshdb.sources.paths import STDIN
from lshdb.sources.readers import Item, Reader, parsed, reader_of
from lshdb.sources.records import Block, Lines, Rows, TextFile, Where
from lshdb.store.connection import TIMEOUT
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store
from lshdb.store.waiting import WaitingDocuments

_NO_REFERENCE: Final = nullcontext()
_CHANGED: Final = "the input has changed while it was read"


def deduplicated_files(
    store: Store, paths: Iterable[str], options: DedupOptions, against: Reference | None = None
) -> Iterator[Outcome]:
    """The decisions about rows and text files, in the blocks in which they were read.

    See Database.dedup. With `keep`, the input is read twice.

    Args:
        store: as for `deduplicated`.
        paths: the input.
        options: those of Database.dedup.
        against: the reference, if it is open already.
    """
    reader = options.reader
    if reader is None:
        # Data is often kept out of git.
        rules = regrouped(options, WalkingOptions, ignore=False)
        of_sets, limits = store.settings.shingling.of_sets, store.limits
        reader = reader_of(
            options, of_sets, fallback="jsonl", rules=rules, whole=True, limits=limits
        )
    selection = Selection(
        options.threshold, options.estimate, keep_blocks=True, fields=tuple(options.fields)
    )
    known: AbstractContextManager[Reference | None] = nullcontext(against)
    if against is None and options.against is not None:
        known = reference(
            options.against,
            options.against_reader or replace(reader),
            store.settings,
            store.timeout,
            limits=store.limits,
            fields=options.fields,
            on_failure=options.on_failure,
        )
    if options.keep != "first":
        paths = list(paths)
    parser, workers = reader.parser, options.workers
    job = Job(store, parser, workers, options.on_failure, selection, numbered=options.numbered)
    return deduplicated(
        job,
        reader.items(paths),
        read_again(reader, paths),
        options.keep,
        reader.shown(options.progress, "dedup", paths),
        known,
        options.on_batch,
    )


def deduplicated(
    job: Job,
    items: Iterable[Item],
    again: Iterable[Item],
    order: Keep,
    progress: AbstractContextManager[Progress],
    against: AbstractContextManager[Reference | None] = _NO_REFERENCE,
    on_batch: Callable[[AddReport], None] | None = None,
) -> Iterator[Outcome]:
    """The decisions about documents, in the order of the input; see Database.dedup.

    Args:
        job: adds the kept documents, in the order of the input, by its selection; to a temporary
            file if it is `numbered`. The documents it has at the beginning are a reference.
        items: documents, or blocks of them.
        again: the same items once more, which are read when all is decided in another order.
        order: which of similar documents is kept.
        progress: shown from the first item to the last; its units name the step.
        against: a reference.
        on_batch: called with the results of each batch, when it is decided on or in the file.
    """
    selection, store = job.selection, job.store
    assert selection is not None, "a rule"
    on_batch = on_batch or (lambda _: None)
    with ExitStack() as stack:
        reference = stack.enter_context(against)
        show = stack.enter_context(progress)
        done = 0
        if order == "first":
            job = replace(job, selection=replace(selection, against=reference))
            for report, outcomes in write_documents(job, items):
                yield from outcomes
                done += report.documents + report.failed
                show(done, None, "documents")
                on_batch(report)
            return
        beside = None if os.environ.get("TMPDIR") else store.path.absolute().parent
        directory = stack.enter_context(temporary_directory(beside))
        waiting = stack.enter_context(
            closing(WaitingDocuments(directory / "waiting.db", store.limits))
        )
        count = _take_in(waiting, items, job, show)
        known = _References([reference] if reference else [])
        deciding = store
        if not job.numbered:
            # Those in the store are a reference, as decisions come in another order.
            made = replace(store.settings, passages=0)
            path = directory / "dedup.db"
            deciding = Store.open(path, "create", TIMEOUT, lambda: made, limits=store.limits)
            stack.callback(deciding.close)
            own = Reference(store, str(store.path), without=_without(store, waiting))
            known.references.append(own)
        ordered = stack.enter_context(closing(waiting.in_order(order)))
        documents = (
            Document(str(number), from_stored(content, store.settings.shingling))
            for number, content in ordered
        )
        against_all = known if known.references else None
        screened = replace(selection, keep_blocks=False, against=against_all)
        decided = 0
        for report, outcomes in write_documents(
            Job(deciding, workers=job.workers, selection=screened, numbered=True), documents
        ):
            dropped = [one for outcome in outcomes for one in outcome.dropped if one]
            waiting.drop(dropped, for_others=known.found)
            known.found.clear()
            if job.numbered:
                on_batch(report)
            decided += report.documents
            show(decided, None, "documents decided")
        if job.numbered:
            yield from _outcomes(waiting, again, count, selection.fields, show)
            return
        decisions = _decisions(waiting, 0, count, selection.fields)
        chosen = replace(selection, against=_Decisions(decisions))
        for report, outcomes in write_documents(
            replace(job, on_failure=None, selection=chosen), again
        ):
            yield from outcomes
            done += report.documents
            show(done, None, "documents written")
            on_batch(report)
        if next(decisions, None) is not None:
            raise InputError(_CHANGED)


def _without(store: Store, waiting: WaitingDocuments) -> Without:
    """For each waiting document the stored ones that are no reason to drop it.

    These are its own old version, and those that it is marked different from.
    """

    def without(numbers: Sequence[str], digests: Sequence[bytes]) -> list[set[str]]:
        keys = waiting.keys(map(int, numbers))
        passed = [{key} for key in keys]
        if store.last_decision():
            places: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
            for place, document in enumerate(zip(keys, digests, strict=True)):
                places[document].append(place)
            for document, (other, _), doc_id in store.different_from([*dict.fromkeys(keys)]):
                for place in places.get(document, ()) if doc_id else ():
                    passed[place].add(other)
        return passed

    return without


class _References:
    """Several references as one: a document is left out for the first that has a similar one.

    Attributes:
        references: the references.
        found: the keys of those left out, until the caller clears it.
    """

    def __init__(self, references: list[Reference]) -> None:
        self.references = references
        self.found: set[str] = set()

    def similar(
        self, parts: Sequence[SignedPart], settings: Settings, selection: Selection
    ) -> tuple[list[DroppedRow | None], int]:
        """As Reference.similar."""
        dropped: list[DroppedRow | None] = [None] * sum(len(part.keys) for part in parts)
        unsure = 0
        for one_of in self.references:
            of_one, some = one_of.similar(parts, settings, selection)
            dropped = [one or other for one, other in zip(dropped, of_one, strict=True)]
            unsure += some
        self.found.update(one.key for one in dropped if one)
        return dropped, unsure


class _Decisions:
    """Decisions about documents, returned in their order as if by a reference."""

    def __init__(self, decisions: Iterator[tuple[int, str, DroppedRow | None]]) -> None:
        self._decisions = decisions

    def similar(
        self, parts: Sequence[SignedPart], *_: object, **__: object
    ) -> tuple[list[DroppedRow | None], int]:
        """The decisions about the next documents; InputError if their keys differ."""
        found = []
        for key in chain.from_iterable(part.keys for part in parts):
            _number, decided, dropped = next(self._decisions, (0, "", None))
            if decided != key:
                raise InputError(_CHANGED)
            found.append(dropped)
        return found, 0


def _decisions(
    waiting: WaitingDocuments, first: int, end: int, fields: Sequence[str]
) -> Iterator[tuple[int, str, DroppedRow | None]]:
    """The numbers and keys of documents in order, and why each is dropped."""
    at_once = waiting.limits.batch_documents
    for start in range(first, end, at_once):
        some = waiting.decisions(start, min(end, start + at_once))
        for number, key, one, *metadata in some:
            if one is not None and fields:
                own, its = both_fields(fields, *metadata)
                one = replace(one, metadata=own, kept_metadata=its)
            yield number, key, one


def _take_in(waiting: WaitingDocuments, items: Iterable[Item], job: Job, progress: Progress) -> int:
    """Write all documents to the temporary file; return the number of lines, rows and files."""
    shingling, limits = job.store.settings.shingling, job.store.limits
    on_failure = job.on_failure or (lambda _: None)
    rows: list[tuple[object, ...]] = []
    count = 0

    def take(number: int, document: Document, name: str, where: Where) -> None:
        try:
            content = cleaned(document.content, shingling, limits.largest_document)
            metadata = to_json(document.metadata)
        except ContentError as error:
            on_failure(Failure(name, str(error)))
            return
        stored = encoded(content) if shingling.of_sets else str(content)
        rows.append((number, document.key, len(content), stored, metadata, *where))

    def take_block(block: Block) -> None:
        assert job.parser is not None
        file, numbers = block.origin
        for place, one in parsed(block, job.parser):
            if isinstance(one, Failure):
                on_failure(one)
            else:
                document = Document(*one) if isinstance(one, tuple) else one
                take(count + place, document, block.where(place), (file, numbers[place]))

    item: Item | None
    for item in items:
        if isinstance(item, Failure):
            on_failure(item)
        elif isinstance(item, Lines | Rows):
            take_block(item)
            count += item.count
            item = None  # a line may have hundreds of megabytes: nothing holds it here
        else:
            document = item.document if isinstance(item, TextFile) else item
            file = document.key if isinstance(item, TextFile) else None
            take(count, document, document.key, (file, None))
            count += 1
        if len(rows) >= limits.batch_documents or item is None:
            waiting.add(rows)
            rows.clear()
            progress(count, None, "rows read")
    waiting.add(rows)
    return count


def read_again(reader: Reader, paths: Iterable[str]) -> Iterator[Item]:
    """The items of files once more; UsageError for standard input, which cannot be read twice."""
    if STDIN in (paths := list(paths)):
        raise UsageError("standard input can be read only once: save it to a file")
    again = replace(reader)  # which counts for itself
    for item in again.items(paths):
        reader.bytes_read = again.bytes_read
        yield item


def _outcomes(
    waiting: WaitingDocuments,
    again: Iterable[Item],
    count: int,
    fields: Sequence[str],
    progress: Progress,
) -> Iterator[Outcome]:
    """The lines, rows and files again, each with its decision."""
    first = 0
    for item in again:
        if isinstance(item, Failure):
            continue
        block = item if isinstance(item, Lines | Rows) else None
        end = first + (1 if block is None else block.count)
        found = list(_decisions(waiting, first, end, fields))
        places = [] if block is None else [number - first for number, _, _ in found]
        progress(first, count, "rows written")
        yield Outcome(block, [key for _, key, _ in found], places, [one for _, _, one in found])
        first = end
    if first != count:
        raise InputError(_CHANGED)
