"""Rows and texts of files as the source of a run."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lshdb.apps.dedup import rows, rules
from lshdb.apps.dedup.deciding import DecidedBatch
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.dedup.options import DedupOptions, RowsOptions
from lshdb.apps.dedup.run import Run, reads_twice, references_checked
from lshdb.errors import InputError
from lshdb.read.batch import Batch
from lshdb.read.files import identity_of, resolved
from lshdb.read.paths import printable_path
from lshdb.read.proof import CHANGED
from lshdb.read.session import Session, session_of
from lshdb.results import Result
from lshdb.sketch.settings import Settings
from lshdb.store.store import Store


@dataclass(frozen=True, slots=True)
class DecidedRow(Result):
    """A row of a file, and whether it is kept.

    Attributes:
        key: the key of its document.
        file: the file that it is from; for a text its key.
        line: the number of its line, from 1; for CSV the number of its first line.
        data: a line of JSON, unchanged, with its newline if it has one; a row of another format,
            written as a line of JSON; empty for a text.
        dropped: why it is not kept; None if it is.
    """

    key: str
    file: str
    line: int
    data: bytes = field(repr=False)
    dropped: DroppedRow | None


@dataclass(frozen=True)
class FilesOfRows:
    """Files, read again whenever they are needed: those of rows only if they are as they were.

    Attributes:
        paths: files, directories and patterns.
        session: reads the files.
    """

    paths: Iterable[str]
    session: Session

    def batches(self) -> Iterator[Batch]:
        """The rows or texts of the files."""
        self.session.counts.statuses = {}
        return self.session.batches(self.paths)

    def again(self, *, only_rows: bool = True) -> Iterator[Batch]:
        """The rows or texts once more, not counted again; rows with or without their documents.

        Raises:
            InputError: a file of rows has changed since; now, or when all are read.
        """
        self._check_unchanged()
        counts, again = self.session.counts, self.session.apart(only_rows=only_rows)

        def batches() -> Iterator[Batch]:
            for batch in again.batches(self.paths):
                counts.bytes_read = again.counts.bytes_read  # shown as progress
                yield batch
            self._check_unchanged()

        return batches()

    def _check_unchanged(self) -> None:
        for path, before in (self.session.counts.statuses or {}).items():
            now = resolved(path).status
            if now is None or _version(now, path) != _version(before, path):
                raise InputError(f"{printable_path(path)}: {CHANGED}: run dedup again")


def _version(status: os.stat_result, path: str) -> object:
    """What differs if a file is written, or another one takes its place."""
    return identity_of(status, path), status.st_size, status.st_mtime_ns


def session_of_rows(rows: RowsOptions, settings: Settings, **others: Any) -> Session:
    """The session that reads the rows of a run, by their options; see `session_of` for the others.

    Files that git ignores are read: data is often kept out of git.
    """
    values: dict[str, Any] = {
        "fallback": "jsonl",
        "any_id": True,
        "whole": True,
        "rules": replace(rows.walk, ignore=False),
        "on_null": rows.choice.drop.on_null,
        "order_field": rows.choice.order.field,
    }
    return session_of(rows.read, settings.shingling, **(values | others))


def rows_of(batch: DecidedBatch) -> Iterator[DecidedRow]:
    """The rows and texts of a batch, each kept or dropped."""
    origin = batch.origin
    if origin is None:  # texts, whose keys are their paths
        for key, dropped in zip(batch.keys, batch.dropped, strict=True):
            yield DecidedRow(key, key, 1, b"", dropped)
        return
    lines = rows.rows_of(origin).lines(batch.indices)
    decisions = zip(batch.keys, batch.indices, lines, batch.dropped, strict=True)
    for key, index, line, dropped in decisions:
        yield DecidedRow(key, origin.name, origin.numbers[index], bytes(line), dropped)


def decided_files(
    store: Store, paths: Iterable[str], options: DedupOptions
) -> Iterator[DecidedBatch]:
    """The decisions on rows of files; kept ones go into an open database batch by batch.

    Raises:
        UsageError, InputError: options, a reference or paths that cannot be; before the iteration.
    """
    settings, choice = store.settings, options.rows.choice
    rule = rules.rule_of(choice, options.threshold, cut=options.rows.cut)
    stored, path = (None, None) if choice.drop.only_against else (store, store.path)
    session = session_of_rows(
        options.rows, settings, reader=options.reader, on_failure=options.on_failure
    )
    # Also of the caller's reader.
    session = session.like(root=store.root, order_field=choice.order.field, limits=store.limits)
    if reads_twice(rule, choice, settings):
        paths = list(paths)
    run = Run(
        rows=options.rows,
        rule=rule,
        references=references_checked(choice, path),
        settings=settings,
        session=session,
        source=FilesOfRows(paths, session),
        paths=paths,
        timeout=store.timeout,
        write=options.write,
        stored=stored,
        # There is room for temporary files beside the database.
        beside=None if os.environ.get("TMPDIR") else store.real_path.parent,
    )
    return _decided(run)


def _decided(run: Run) -> Iterator[DecidedBatch]:
    """The decisions of a run; a warning of failures at the end, or where the caller stops."""
    with contextlib.suppress(GeneratorExit), run:
        yield from run.decided()
    run.session.counts.failures.warn("on_failure= gets each")
    run.warn_of_ids()
