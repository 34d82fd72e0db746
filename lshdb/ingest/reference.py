"""A reference: a collection that is only read; near duplicates of it are left out elsewhere."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lshdb.errors import InputError, SettingsMismatch
from lshdb.ingest import add, batches, dedup
from lshdb.ingest.parts import SignedPart
from lshdb.limits import Limits
from lshdb.model import AddReport, DroppedRow
from lshdb.options import TIMEOUT, DedupOptions
from lshdb.progress import Progress, silent
from lshdb.search.query import snapshot
from lshdb.shingling.arrays import chunks_of
from lshdb.shingling.content import digest
from lshdb.sketching.settings import Settings
from lshdb.sources import batch, paths, readers
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store

Without = Callable[[Sequence[str], Sequence[bytes]], list[set[str]]]
"""Finds for the keys and digests of documents the keys of stored ones to ignore for each."""

Group = tuple[Sequence[tuple[str, batch.Where]], Sequence[str], Sequence[dict[str, Any] | None]]
"""The keys of some documents and where they are from, their stored forms, and wanted metadata."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An open reference.

    Attributes:
        store: of the reference.
        name: the file's, as it was given.
        places: where its documents are from, each with a number before its key; None for a
            database.
        without: finds the documents to ignore; None to ignore none.
    """

    store: Store
    name: str
    places: dedup.Places | None = None
    without: Without | None = None

    def known(self, fields: Sequence[str]) -> dedup.Known:
        """What is known of its documents."""
        return dedup.Known(self.places, self.places is not None, fields)

    def check(self, settings: Settings) -> None:
        """SettingsMismatch if its signatures are made differently from those of a database."""
        own = self.store.settings
        for what in ("shingling", "permutations", "sketch", "seed"):
            here, there = getattr(settings, what), getattr(own, what)
            if here != there:
                name = "shingle" if what == "shingling" else what
                if str(here) == str(there):
                    raise SettingsMismatch(
                        f"{self.name} has other base texts than the documents are compared by: "
                        "their signatures cannot be compared"
                    )
                raise SettingsMismatch(
                    f"{self.name} has {name} {there}, and the documents are compared by {here}: "
                    "their signatures cannot be compared"
                )

    def similar(
        self, settings: Settings, rule: dedup.Rule, parts: Sequence[SignedPart]
    ) -> tuple[Sequence[DroppedRow | None], int]:
        """Drop documents similar to one of the reference; see `lshdb.ingest.dedup.Screen`.

        Args:
            settings: by which they are signed.
            rule: which documents are similar.
            parts: the documents.
        """
        rule = replace(rule, threshold=rule.min_similarity(settings))
        with snapshot(self.store, None, ()) as (reader, _):
            alike = reader.settings
            if not rule.copied:
                alike = replace(alike, passages=settings.passages)
            documents = dedup.Documents.of(parts, alike)
            every = np.ones(len(documents.where), dtype=np.bool_)
            kept = dedup.Kept(reader, documents.asked, rule, [-1] * len(every), every)
            if self.without is not None:
                named = self.without(documents.part.batch.keys, documents.asked.digests)
                for row, names in enumerate(named):
                    there = self.store.known([*names]).values()
                    kept.ignore(row, [one.doc_id for one in there])
            reasons = [kept.most_similar(row, -1) for row in range(len(every))]
            unsure = sum(kept.is_cut(row) for row, one in enumerate(reasons) if one is None)
            found = [(row, one) for row, one in enumerate(reasons) if one is not None]
            rows = dict(self.known(rule.fields).rows(reader, documents, found))
        return [rows.get(row) for row in range(len(every))], unsure

    def documents(self, fields: Sequence[str]) -> Iterator[Group]:
        """All documents, some at a time, with these fields of their metadata."""
        known = self.known(fields)
        with snapshot(self.store, None, ()) as (reader, _):
            for doc_ids, keys in reader.all_keys():
                for part in chunks_of(reader.lengths(doc_ids), reader.limits.text_batch):
                    some = doc_ids[part]
                    metadata = reader.metadata_of(some)
                    yield (
                        [*map(known.named, some.tolist(), keys[part])],
                        [*reader.contents(some)],
                        [dedup.both_fields(fields, None, one)[1] for one in metadata],
                    )

    def ignores(self, number: int, stored: str, key: str) -> bool:
        """Whether a document of the reference is no reason to drop a waiting one."""
        if self.without is None:
            return False
        return key in self.without([str(number)], [digest(stored.encode())])[0]


def check_there(path: str) -> None:
    """InputError for a path that is not a file, a directory or a matching pattern."""
    is_pattern = glob.has_magic(path) and bool(glob.glob(path, recursive=True))
    if not os.path.exists(path) and not is_pattern:
        raise InputError(f"{path}: no such file")


def outermost(fields: Sequence[str]) -> list[str]:
    """The fields of rows to keep so that these can be taken from them: a for a.b."""
    return [*dict.fromkeys([*fields, *(name.partition(".")[0] for name in fields)])]


@contextmanager
def reference(
    options: DedupOptions,
    reader: readers.Reader,
    settings: Settings,
    timeout: float,
    limits: Limits,
    beside: Path | None,
) -> Iterator[Reference]:
    """A database, or a temporary one with the documents of a file, a directory or a pattern.

    Args:
        options: `against`, and what is to be known of it.
        reader: a reader with the same options reads the files, all of them or none;
            its counts of skipped files grow.
        settings: of the database whose documents are compared with it.
        timeout: of a database.
        limits: of either.
        beside: directory of a temporary one; None for the system's.

    Raises:
        InputError: the file does not exist, or a part of it gives no document: what resembles that
            part would stay, and nobody would know.
        SettingsMismatch: signatures of the database are made differently.
    """
    assert options.against is not None
    name = os.fspath(options.against)
    rule = dedup.Rule.of(options, options.threshold)
    check_there(name)
    if paths.is_database(name):
        with database(name, rule, settings, timeout, limits) as found:
            yield found
        return
    skipped_files = reader.skipped_files
    reader = replace(
        reader,
        format="auto",
        fallback=reader.fallback if reader.format == "auto" else reader.format,
        stdin=None,
        auto_key=True,
        metadata=bool(options.fields),
        metadata_fields=outermost(options.fields),
        whole=False,
    )
    reader.skipped_files = skipped_files
    with temporary_store(rule.temporary(settings), limits, beside) as known:
        job = batches.Job(known, on_failure=options.on_failure, numbered=True)
        with reader.shown(options.progress, "indexing", [name]) as show:
            found = indexed(job, reader.batches([name]), name, show)
        yield found


@contextmanager
def database(
    name: str, rule: dedup.Rule, settings: Settings, timeout: float, limits: Limits
) -> Iterator[Reference]:
    """A database as a reference, for documents that are signed by some settings."""
    with closing(Store.open(Path(name), "read", timeout, limits=limits)) as known:
        found = Reference(known, name)
        rule.check(known.settings, name)
        found.check(settings)
        yield found


def indexed(
    job: batches.Job, items: Iterable[batch.Batch], name: str, show: Progress = silent
) -> Reference:
    """Documents as a reference, added to the temporary file of a job.

    Raises:
        InputError: one cannot be read, or there is none.
    """
    total, places = AddReport(), dedup.Places(1)
    for report in add.added(job, items, places):
        total += report
        show(total.documents, None, "documents")
    if total.failed:
        raise InputError(
            f"{name} cannot be read whole ({total.failed:,} failed), and rows similar to what "
            "is missing would stay: nothing is written; repair it, or add the rest of it to a "
            "database with lshdb add, and compare with that"
        )
    if not total.documents:
        raise InputError(f"{name}: no document in it to compare with")
    return Reference(job.store, name, places)


def directory_of(store: Store) -> Path | None:
    """Where temporary files have room: beside the database, unless TMPDIR names another place."""
    return None if os.environ.get("TMPDIR") else store.path.absolute().parent


@contextmanager
def temporary_store(
    settings: Settings, limits: Limits, beside: Path | None = None
) -> Iterator[Store]:
    """A file that is deleted at the end, in a directory or in that of the system."""
    with temporary_directory(beside) as directory:
        path = directory / "dedup.db"
        with closing(Store.open(path, "create", TIMEOUT, lambda: settings, limits=limits)) as store:
            yield store
