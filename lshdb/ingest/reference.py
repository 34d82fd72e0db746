"""A reference: a collection that is only read; near duplicates of it are left out elsewhere."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from lshdb.errors import InputError
from lshdb.ingest import add, batches, dedup
from lshdb.ingest.failures import Failures
from lshdb.limits import Limits
from lshdb.model import AddReport
from lshdb.options import TIMEOUT, DataOptions, DedupOptions
from lshdb.progress import Progress, silent
from lshdb.shingling.arrays import chunks_of
from lshdb.shingling.content import digest
from lshdb.sketching.settings import Settings
from lshdb.sketching.signature_sets import Sketching, check_comparable
from lshdb.sources import batch, paths, readers
from lshdb.store.partial_files import temporary_directory
from lshdb.store.store import Store
from lshdb.store.waiting import WaitingDocument

_SILENT = nullcontext(silent)


def documents(known: dedup.Collection) -> Iterator[list[WaitingDocument]]:
    """All documents of a reference, some at a time, without numbers: -1."""
    with known.store.beside() as (reader, _):
        for doc_ids, keys in reader.all_keys():
            for part in chunks_of(reader.lengths(doc_ids), reader.limits.text_batch):
                some = doc_ids[part]
                names = map(known.named, some.tolist(), keys[part])
                both = zip(names, reader.contents(some), reader.metadata_of(some), strict=True)
                yield [
                    WaitingDocument(-1, key, stored or "", metadata, *where)
                    for (key, where), stored, metadata in both
                ]


def ignores(known: dedup.Collection, key: str, stored: str, other: str) -> bool:
    """Whether the document of another key in a reference is no reason to drop a document."""
    if not known.own:
        return False
    own = [key, digest(stored.encode())]
    return key == other or any(
        one == own and its == other and doc_id
        for *one, its, _, doc_id in known.store.different_from([key])
    )


def check_there(path: str) -> None:
    """InputError for a path that is not a file, a directory or a matching pattern."""
    is_pattern = glob.has_magic(path) and bool(glob.glob(path, recursive=True))
    if not os.path.exists(path) and not is_pattern:
        raise InputError(f"{path}: no such file")


def outermost(fields: Sequence[str]) -> list[str]:
    """The fields of rows to keep so that these can be taken from them: a for a.b."""
    return [*dict.fromkeys([*fields, *(name.partition(".")[0] for name in fields)])]


def reference(
    options: DedupOptions,
    reader: readers.Reader,
    settings: Settings,
    timeout: float,
    limits: Limits,
    beside: Path | None,
) -> AbstractContextManager[dedup.Collection]:
    """A database, or a temporary one with the documents of a file, a directory or a pattern.

    Args:
        options: `against`, and what is to be known of it.
        reader: a reader with the same options reads the files, all of them or none;
            its counts of skipped files grow, and its `reference_files`.
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
    check_there(name)
    if paths.is_database(name):
        return database(name, dedup.Rule(options), settings, timeout, limits)
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
    progress = reader.shown(options.progress, "indexing", [name])
    batches_of_files = reader.batches([name], reader.reference_files)
    return indexed(batches_of_files, name, settings, options, limits, beside, progress)


@contextmanager
def database(
    name: str, rule: dedup.Rule, settings: Settings, timeout: float, limits: Limits
) -> Iterator[dedup.Collection]:
    """A database as a reference, for documents that are signed by some settings."""
    with closing(Store.open(Path(name), "read", timeout, limits=limits)) as known:
        rule.check(known.settings, name)
        check_comparable(name, Sketching.of(known.settings), Sketching.of(settings))
        yield dedup.Collection(known)


@contextmanager
def indexed(
    items: Iterable[batch.Batch],
    name: str,
    settings: Settings,
    options: DedupOptions | DataOptions,
    limits: Limits,
    beside: Path | None = None,
    progress: AbstractContextManager[Progress] = _SILENT,
) -> Iterator[dedup.Collection]:
    """Documents as a reference, in a temporary file.

    Args:
        items: the documents.
        name: theirs, in messages.
        settings: of the database whose documents are compared with them.
        options: how rows are dropped, and what is called with failures.
        limits: of the file.
        beside: its directory; None for the system's.
        progress: shown while they are added.

    Raises:
        InputError: one cannot be read, or there is none.
    """
    total, places = AddReport(), dedup.Places(1)
    with temporary_store(dedup.Rule(options).temporary(settings), limits, beside) as store:
        failures = Failures(options.on_failure)
        job = batches.Job(store, options.workers, failures, numbered=True)
        with progress as show:
            for report in add.added(job, items, places):
                total += report
                show(total.documents, None, "documents")
        if total.failed:
            first = failures.kept[0]
            raise InputError(
                f"{name} cannot be read whole ({total.failed:,} failed, the first: {first.where}: "
                f"{first.reason}), and rows similar to what "
                "is missing would stay: nothing is written; repair it, or add the rest of it to a "
                "database with lshdb add, and compare with that"
            )
        if not total.documents:
            raise InputError(f"{name}: no document in it to compare with")
        yield dedup.Collection(store, places, numbered=True)


def directory_of(store: Store) -> Path | None:
    """Where temporary files have room: beside the database, unless TMPDIR names another place."""
    return None if os.environ.get("TMPDIR") else store.real_path.parent


@contextmanager
def temporary_store(
    settings: Settings, limits: Limits, beside: Path | None = None
) -> Iterator[Store]:
    """A file that is deleted at the end, in a directory or in that of the system."""
    with temporary_directory(beside) as directory:
        path = directory / "dedup.db"
        with closing(Store.open(path, "create", TIMEOUT, lambda: settings, limits=limits)) as store:
            yield store
