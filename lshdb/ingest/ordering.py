"""Deduplicating the rows of an input, in the order in which similar ones are rather kept.

For another order than that of the input, it is read twice. First all documents go into a temporary
file, from which they are read in the order of decisions; then the input is read again, for the
kept rows.
"""

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from lshdb.errors import InputError, UsageError
from lshdb.groups import regrouped
from lshdb.ingest import containing
from lshdb.ingest.add import added
from lshdb.ingest.batches import Job
from lshdb.ingest.cutting import Cutting
from lshdb.ingest.dedup import Collection, Outcome, Places, Rule, Screen, decided
from lshdb.ingest.failures import Failures
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.reference import directory_of, reference, temporary_store
from lshdb.model import AddReport, DroppedRow
from lshdb.options import DedupOptions, RuleOptions, WalkingOptions
from lshdb.progress import Progress
from lshdb.shingling.arrays import bounded
from lshdb.shingling.content import encoded, from_stored
from lshdb.sources.batch import Batch, Origin
from lshdb.sources.identity import FilesRead
from lshdb.sources.metadata import picked
from lshdb.sources.paths import (
    STDIN,
    escaped,
    expanded,
    is_database,
    paths_of_key,
)
from lshdb.sources.readers import Reader, reader_of
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store
from lshdb.store.waiting import Decision, WaitingDocuments

_CHANGED = "the input has changed while it was read"
_NO_REFERENCE = nullcontext()
_NUMBER = re.compile(r"\s*[+-]?(\d{1,300}(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?\s*", re.ASCII)
"""A text that is a number, as all numbers of CSV are."""


def _is_descending(options: RuleOptions) -> bool:
    """Whether the largest ranks come first."""
    down = options.keep in ("last", "longest", "newest")
    return down or options.keep_max is not None or options.rule == "contained"


def _inside(options: RuleOptions) -> Callable[[str], bool] | None:
    """Whether a file is in the directory that `keep_in` names; None without one.

    Directories are compared by device and inode: links and mounts have other names.

    Raises:
        InputError: there is no such directory.
    """
    directory = options.keep_in
    if directory is None:
        return None
    if not os.path.isdir(directory):
        raise InputError(f"keep_in {escaped(directory)}: no such directory")
    status, real = os.stat(directory), os.path.realpath(directory)

    @lru_cache
    def holds(folder: str) -> bool:
        path = os.path.realpath(folder)
        while path != real:
            with suppress(OSError):  # in an archive
                if status.st_ino and os.path.samestat(os.stat(path), status):
                    return True
            path, inner = os.path.dirname(path), path
            if path == inner:
                return False
        return True

    def holds_file(path: str) -> bool:
        return holds(os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path))

    return holds_file


def _ranks(
    options: RuleOptions,
    batch: Batch,
    numbers: Sequence[int],
    sizes: Iterable[int],
    inside: Callable[[str], bool] | None,
) -> Iterator[tuple[int, object]]:
    """The place and the rank of each document; UsageError if it has no file that is needed.

    Args:
        options: which documents come first.
        batch: the documents.
        numbers: of each.
        sizes: its length, or how many shingles it has.
        inside: whether a file is in the directory of `keep_in`.
    """
    keep, field = options.keep, next(iter(options.ranked_by), None)
    root = options.root or "" if isinstance(options, WalkingOptions) else ""
    columns = numbers, sizes, batch.all_metadata(), batch.where()
    for number, size, metadata, (file, line) in zip(*columns, strict=True):
        path = os.path.abspath(os.path.join("" if line else root, file or ""))
        if "\\x" in path:  # as bytes that are not UTF-8 are written
            path = next(iter(paths_of_key(path)), path)
        if file is None and (inside or keep in ("newest", "oldest", "shortest-path")):
            raise UsageError(f"keep {keep}: these rows are in no file")
        rank: object = None
        if field is not None:
            rank = _rank_of(picked(metadata, [field])[field])
        elif keep in ("newest", "oldest"):
            rank = os.stat(path).st_mtime_ns
        elif keep == "shortest-path":
            rank = len(file or "")
        elif keep == "last":
            rank = number
        elif keep == "longest" or options.rule == "contained":
            rank = size
        elsewhere = inside is not None and not inside(path)
        place = 0
        if field is not None:  # numbers come first, then texts, then rows without either
            place = 2 if rank is None else int(isinstance(rank, str))
        yield 3 * elsewhere + place, rank


def _rank_of(value: object) -> object:
    """A field's value to compare: a text that is a number is that; None for other values."""
    if isinstance(value, str) and not value.strip():
        return None  # as an empty field of CSV
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        digits = value.strip()
        value = int(digits) if digits.lstrip("+-").isdigit() else float(digits)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return float(value)
    return value if isinstance(value, int | float | str) else None


def deduplicated_files(
    store: Store, paths: Iterable[str], options: DedupOptions, against: Collection | None = None
) -> Iterator[Outcome]:
    """The decisions about rows and text files, in the blocks in which they were read.

    See Database.dedup_files. With `keep`, the input is read twice.

    Args:
        store: as for `deduplicated`.
        paths: the input.
        options: those of Database.dedup_files.
        against: the reference, if it is open already.
    """
    reader = options.reader
    if reader is None:
        # Data is often kept out of git.
        rules = regrouped(options, WalkingOptions, ignore=False)
        shingling, limits = store.settings.shingling, store.limits
        reader = reader_of(
            options, shingling, fallback="jsonl", rules=rules, whole=True, limits=limits
        )
    known: AbstractContextManager[Collection | None] = nullcontext(against)
    if against is None and options.against is not None:
        if not is_database(options.against):
            reader.reference_files = FilesRead()
        known = reference(
            options,
            replace(reader),
            store.settings,
            store.timeout,
            store.limits,
            directory_of(store),
        )
    rule = Rule(options, options.threshold, options.fields)
    if options.cut is not None:
        kind = store.settings.shingling.kind
        cutting = Cutting(kind, reader.content_field, options.min_words)
        rule = replace(rule, cutting=cutting)
    if not options.numbered:
        rule.check(store.settings, str(store.path))
    if options.read_twice:
        paths = list(paths)
        check_read_twice(options, paths)
    failures = Failures(options.on_failure)
    outcomes = deduplicated(
        Job(store, options.workers, failures, numbered=options.numbered),
        reader.batches(paths),
        _read_again(reader, paths, only_rows=options.numbered),
        rule,
        reader.shown(options.progress, "dedup", paths),
        known,
        options.on_batch,
    )
    return _warned(outcomes, failures)


def _warned(outcomes: Iterator[Outcome], failures: Failures) -> Iterator[Outcome]:
    """The same; at their end, or where the caller stops, a warning about what has no document."""
    with suppress(GeneratorExit):
        yield from outcomes
    failures.warn("on_failure= gets each")


def deduplicated(
    job: Job,
    items: Iterable[Batch],
    again: Iterable[Batch],
    rule: Rule,
    progress: AbstractContextManager[Progress],
    against: AbstractContextManager[Collection | None] = _NO_REFERENCE,
    on_batch: Callable[[AddReport], object] | None = None,
) -> Iterator[Outcome]:
    """The decisions about documents, in the order of the input; see Database.dedup_files.

    Args:
        job: adds the kept documents, in the order of the input; to a temporary file if it is
            `numbered`. The documents it has at the beginning are a reference.
        items: documents, or blocks of them.
        again: the same items once more, which are read when all is decided in another order.
        rule: which documents are similar, and in which order they are decided on.
        progress: shown from the first item to the last; its units name the step.
        against: a reference.
        on_batch: called with the results of each batch, when it is decided on or in the file.
    """
    store = job.store
    on_batch = on_batch or (lambda _: None)
    with ExitStack() as stack:
        references = [*filter(None, [stack.enter_context(against)])]
        show = stack.enter_context(progress)

        def written(
            items: Iterable[Batch], screens: Sequence[Screen], unit: str
        ) -> Iterator[Outcome]:
            done = 0
            for report, outcomes in decided(job, items, rule, screens):
                yield from outcomes
                done += report.documents + report.failed
                show(done, None, unit)
                on_batch(report)

        def screens() -> list[Screen]:
            return [partial(one.similar, store.settings, rule) for one in references]

        if not rule.options.read_twice:
            yield from written(items, screens(), "documents")
            return
        beside = directory_of(store)
        directory = stack.enter_context(temporary_directory(beside))
        spool = stack.enter_context(
            closing(WaitingDocuments(directory / "waiting.db", store.limits))
        )
        codes = containing.Codes(store.settings.shingling) if rule.contained else None
        count, empty = _take_in(spool, items, job, show, rule.options, codes)
        spool.order(descending=_is_descending(rule.options))
        deciding = store
        if not job.numbered:
            # Those in the store are a reference, as decisions come in another order.
            made = rule.temporary(store.settings)
            deciding = stack.enter_context(temporary_store(made, store.limits, beside))
            references.append(Collection(store, own=True))
        if codes is not None:
            codes.finish(count)
            on_batch(AddReport(empty=empty))
            for rows in containing.decisions(
                spool, codes, references, rule.fields, drop_all=rule.drop_all
            ):
                spool.drop(rows)
                show(int(np.count_nonzero(codes.dropped)), None, "documents dropped")
        else:
            by_number = Job(deciding, workers=job.workers, numbered=True)
            if rule.drop_all:
                everything = Collection(deciding, Places(1), numbered=True, own=True)
                with closing(_in_order(spool, deciding, rule)) as ordered:
                    for report in added(by_number, ordered, everything.places):
                        on_batch(report)
                references.append(everything)
            ordered = stack.enter_context(closing(_in_order(spool, deciding, rule)))
            done = 0
            for report, outcomes in decided(by_number, ordered, rule, screens()):
                for origin, dropped in ((one.origin, one.dropped) for one in outcomes):
                    assert origin is not None
                    spool.drop(zip(origin.numbers, dropped, strict=True))
                if job.numbered:
                    on_batch(report)
                done += report.documents
                show(done, None, "documents decided")
        seen = 0

        def decisions(batch: Batch) -> list[Decision]:
            nonlocal seen
            first, seen = seen, seen + batch.count
            return spool.decisions(first, seen)

        if job.numbered:
            for batch in again:
                show(seen, count, "rows written")
                yield _outcome(batch, decisions(batch))
        else:
            job = replace(job, on_failure=None)
            yield from written(again, [_as_decided(decisions)], "documents written")
        if seen != count:
            raise InputError(_CHANGED)


def _in_order(spool: WaitingDocuments, store: Store, rule: Rule) -> Generator[Batch]:
    """The documents in the order of decisions; the rows of their origin have their numbers."""
    ordered = spool.in_order()
    with closing(ordered):
        for some in bounded(ordered, lambda one: len(one.stored), spool.limits.block_bytes):
            yield Batch(
                [one.key for one in some],
                [from_stored(one.stored, store.settings.shingling) for one in some],
                [one.metadata for one in some] if rule.fields else (),
                Origin("", [one.number for one in some]),
                range(len(some)),
                size=sum(one.stored.__sizeof__() for one in some),
                wheres=[(one.file, one.line) for one in some],
            )


def _as_decided(decisions: Callable[[Batch], list[Decision]]) -> Screen:
    """Decisions about documents, in their order; InputError if the keys differ."""

    def screen(parts: Sequence[SignedPart]) -> tuple[list[DroppedRow | None], int]:
        dropped = list[DroppedRow | None]()
        for part in parts:
            found = _outcome(part.batch, decisions(part.batch))
            if found.keys != [*part.keys]:
                raise InputError(_CHANGED)
            dropped += found.dropped
        return dropped, 0

    return screen


def _outcome(batch: Batch, found: Sequence[Decision]) -> Outcome:
    """The lines, rows or files of a batch, each with its decision."""
    keys, dropped = [key for _, key, _ in found], [one for _, _, one in found]
    return Outcome(batch.origin, keys, [place for place, _, _ in found], dropped)


def _take_in(
    waiting: WaitingDocuments,
    items: Iterable[Batch],
    job: Job,
    progress: Progress,
    options: RuleOptions,
    codes: containing.Codes | None,
) -> tuple[int, int]:
    """Write all documents to the temporary file; return the number of rows, and of empty ones."""
    count = empty = ranked = 0
    inside = _inside(options)
    for batch in items:
        for _, failure in batch.failures:
            if job.on_failure is not None:
                job.on_failure(failure)
        forms, sizes = [*map(encoded, batch.contents)], [*map(len, batch.contents)]
        numbers = [count + place for place in batch.indices or range(len(forms))]
        if codes is not None:
            sizes = codes.add(numbers, forms)
            empty += sizes.count(0)
        ranks = [*_ranks(options, batch, numbers, sizes, inside)]
        ranked += sum(rank is not None for _, rank in ranks)
        columns = numbers, batch.keys, ranks, forms, batch.all_metadata(), batch.where()
        waiting.add(
            (number, key, *rank, form, metadata, *where)
            for number, key, rank, form, metadata, where in zip(*columns, strict=True)
        )
        count += batch.count
        progress(count, None, "rows read")
    if count and not ranked and options.ranked_by:
        raise UsageError(f"no row has a number or text in field {options.ranked_by[0]!r}")
    return count, empty


def check_read_twice(options: RuleOptions, paths: Iterable[str]) -> None:
    """UsageError if the input is read twice, and can be read only once.

    Raises:
        InputError: the directory of `keep_in` does not exist.
    """
    _inside(options)
    for path in expanded(paths) if options.read_twice else ():
        is_pipe = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
        if path == STDIN or is_pipe:
            raise UsageError(
                "this order or rule reads the input twice, and standard input or a pipe can be "
                "read only once: save it to a file"
            )


def _read_again(reader: Reader, paths: Iterable[str], *, only_rows: bool) -> Iterator[Batch]:
    """The batches of files once more, perhaps without the documents of rows."""
    again = replace(reader, only_rows=only_rows)  # which counts for itself
    for item in again.batches(paths):
        reader.bytes_read = again.bytes_read
        yield item
