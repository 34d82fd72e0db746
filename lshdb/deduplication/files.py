"""Rows and texts of files as the source of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace

from lshdb.deduplication.cutting import Cutting
from lshdb.deduplication.deciding import Decided
from lshdb.deduplication.ordering import check_read_twice, reads_twice
from lshdb.deduplication.references import Opening, Reference, directory_of, references_of
from lshdb.deduplication.rules import Copied, Rule, rule_of
from lshdb.deduplication.run import Run
from lshdb.errors import UsageError
from lshdb.ingest.failures import Failures
from lshdb.model import DecidedRow
from lshdb.options import DedupOptions, RowsOptions
from lshdb.progress import Progress
from lshdb.sketching.settings import Settings
from lshdb.sources import json_rows
from lshdb.sources.batch import Batch
from lshdb.sources.identity import FilesRead
from lshdb.sources.readers import Reader, reader_of
from lshdb.store.store import Store


@dataclass(frozen=True)
class Files:
    """Files, read again whenever they are needed.

    Attributes:
        paths: files, directories and patterns.
        reader: reads them; its count of bytes grows.
    """

    paths: Sequence[str] | Iterable[str]
    reader: Reader

    def batches(self) -> Iterator[Batch]:
        """Their rows or texts."""
        return self.reader.batches(self.paths)

    def again(self) -> Iterator[Batch]:
        """The same once more: rows without their documents."""
        again = replace(self.reader, only_rows=True)  # which counts for itself
        for batch in again.batches(self.paths):
            self.reader.bytes_read = again.bytes_read
            yield batch


def rule_of_rows(options: RowsOptions, threshold: float | None) -> Rule:
    """The rule for rows: to cut runs out is to find what is copied."""
    if options.cut is not None:
        return Copied(options.cut, cuts=True)
    return rule_of(options.choice, threshold)


def cutting_of(options: RowsOptions, settings: Settings, reader: Reader) -> Cutting | None:
    """How passages are cut out; None if rows are dropped."""
    if options.cut is None:
        return None
    return Cutting(settings.shingling.kind, reader.content_field, options.min_words)


def reference_files(references: Sequence[Reference]) -> FilesRead | None:
    """What notes the files of references, which are no input; None if all are databases."""
    return None if all(reference.is_database for reference in references) else FilesRead()


def decided_rows(store: Store, paths: Iterable[str], options: DedupOptions) -> Iterator[DecidedRow]:
    """The rows of files as JSON lines, and texts; whether each is kept: Database.dedup_files."""
    batches = decided_files(store, paths, options)  # wrong options are errors here and now
    return (row for batch in batches for row in _rows_of(batch))


def _rows_of(batch: Decided) -> Iterator[DecidedRow]:
    origin = batch.origin
    if origin is None:  # texts, whose keys are their paths
        for key, dropped in zip(batch.keys, batch.dropped, strict=True):
            yield DecidedRow(key, key, 1, b"", dropped)
        return
    lines = json_rows.lines_of(origin, batch.indices)
    rows = zip(batch.keys, batch.indices, lines, batch.dropped, strict=True)
    for key, index, line, dropped in rows:
        yield DecidedRow(key, origin.name, origin.numbers[index], bytes(line), dropped)


def decided_files(store: Store, paths: Iterable[str], options: DedupOptions) -> Iterator[Decided]:
    """What is decided of the rows of files, whose kept ones go into an open database at once.

    Raises:
        UsageError, InputError: options, a reference or paths that cannot be; before the iteration.
    """
    settings, limits, reader = store.settings, store.limits, options.reader
    if reader is None:
        # Data is often kept out of git.
        rules = replace(options.rows.walk, ignore=False)
        reader = reader_of(
            options.rows.read,
            settings.shingling,
            fallback="jsonl",
            rules=rules,
            on_null=options.rows.on_null,
            whole=True,
            limits=limits,
        )
    references = references_of(options.rows.against)
    for reference in references:
        if not reference.is_path:
            raise UsageError(f"against {reference.data!r:.100} is not the name of a file")
        reference.check()
    reader.reference_files = reference_files(references)
    rule = rule_of_rows(options.rows, options.threshold)
    if reads_twice(options.rows.choice):
        paths = list(paths)
        check_read_twice(options.rows.choice, paths)
    failures, beside = Failures(options.on_failure), directory_of(store)
    opening = Opening(
        rule=rule,
        settings=settings,
        reader=replace(reader),
        limits=limits,
        fields=options.rows.fields,
        workers=options.write.workers,
        on_failure=options.on_failure,
        timeout=store.timeout,
        beside=beside,
        files_read=reader.reference_files,
        progress=options.write.progress,
    )
    run = Run(
        options=options.rows.choice,
        root=options.rows.walk.root or "",
        rule=rule,
        settings=settings,
        source=Files(paths, reader),
        opening=opening,
        references=references,
        only_against=options.rows.only_against,
        database=None if options.rows.only_against else lambda: store,
        stored=None if options.rows.only_against else store,
        cutting=cutting_of(options.rows, settings, reader),
        fields=options.rows.fields,
        workers=options.write.workers,
        limits=limits,
        on_failure=failures,
        beside=beside,
        on_batch=options.write.on_batch or (lambda _: None),
    )
    return _decided(run, reader.shown(options.write.progress, "dedup", paths), failures)


def _decided(
    run: Run, progress: AbstractContextManager[Progress], failures: Failures
) -> Iterator[Decided]:
    """What a run decides; at the end, or where the caller stops, a warning of what failed."""
    with suppress(GeneratorExit), run, progress as run.progress:
        yield from run.decided()
    failures.warn("on_failure= gets each")
