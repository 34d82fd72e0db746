"""Merging: the documents of another database, read as any input.

Where the other database signs documents in the same way, its signatures are taken over; otherwise
its texts are signed again. The index follows from what is stored, by the settings of the open
database: bands from signatures, fingerprints and rare words from contents.

A merge takes several transactions, each of whole documents. A killed one leaves a valid file, and
the same merge again completes it: what is stored already is unchanged.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lshdb import errors
from lshdb.ingest.batches import PARTS, Job, signed
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.versions import Versions
from lshdb.ingest.writing import Writer, conflict, conflicts_of
from lshdb.keys import key_fault
from lshdb.limits import DEFAULTS, Limits
from lshdb.model import NAMED_CONFLICTS, AddReport, Decision
from lshdb.search.decisions import read_decisions
from lshdb.shingling.content import digest, from_stored
from lshdb.sketching.banding import bucket_keys
from lshdb.sketching.settings import Settings, settings_record
from lshdb.sketching.signing import Signed, base_of
from lshdb.sources.batch import Batch
from lshdb.sources.metadata import from_json
from lshdb.store import guard, late
from lshdb.store.lookups import DocumentColumns
from lshdb.store.store import Store

_OF_FOREIGN = ("shingle", "permutations")
_OF_SIGNATURES = (*_OF_FOREIGN, "sketch", "seed")
"""The settings that signatures follow from. Of those that another program made, fewer are known."""


@contextlib.contextmanager
def opened(
    path: str | os.PathLike[str], timeout: float, limits: Limits = DEFAULTS
) -> Iterator[Store]:
    """Another database to be merged, which is only read: its file and its log stay as they are.

    Raises:
        InputError: it cannot be opened, or is not lshdb's.
    """
    # The last connection that may write copies a log into the file. Without a log it changes
    # nothing, and removes the empty one that SQLite makes; a sealed one would leave that.
    sealed = guard.log_size(Path(os.path.realpath(path))) > 0
    try:
        source = Store.open(Path(path), "read", timeout, sealed=sealed, limits=limits)
    except errors.StoreError as error:
        raise errors.InputError(str(error)) from error
    with contextlib.closing(source):
        yield source


def documents_of(source: Store, settings: Settings) -> Iterator[SignedPart]:
    """All documents of another database, as they are at this moment, in the order of addition.

    With metadata and the states of files; and with signatures if these are what the settings ask
    for: otherwise contents are to be signed.

    Args:
        source: the other database, which is only read.
        settings: of the database that they are added to.

    Raises:
        SettingsMismatch: it has other signatures and no contents to sign, or sets in place of
            texts.
        InputError: it cannot be read, or is damaged.
    """
    differences = _differences(source.settings, settings)
    same_kind = source.settings.shingling.of_sets == settings.shingling.of_sets
    can_sign = source.settings.content and same_kind and not settings.shingling.foreign
    if differences and not can_sign:
        raise errors.SettingsMismatch(
            f"{source.path} has {', '.join(differences)}: its documents cannot be merged; add the "
            "files that they are from, or use a database with its settings"
        )
    limits = source.limits
    with _reading(source), source.reading():
        for columns in source.whole_documents(limits.batch_bytes // PARTS, limits.batch_documents):
            _check_documents(source, columns)
            texts = [text for text in columns.contents if text is not None]
            states = zip(columns.keys, columns.states, strict=True)
            batch = Batch(
                columns.keys,
                [from_stored(text, settings.shingling) for text in texts] if differences else (),
                columns.metadata,
                states=[(key, state) for key, state in states if state is not None],
                size=columns.signatures.nbytes + sum(map(len, texts)),
            )
            signatures = None if differences else _signed(columns, settings)
            yield SignedPart(batch, texts, columns.digests, signatures)


def _signed(columns: DocumentColumns, settings: Settings) -> Signed:
    """The signatures of documents, and the buckets that follow from these."""
    signatures = columns.signatures.astype(settings.lane_type, copy=False)
    shape, base = settings.construction, base_of(settings.shingling)
    buckets = bucket_keys(signatures, shape, settings.seed)
    return Signed(signatures, columns.shingles, buckets, shape, base=base)


def decisions_of(source: Store) -> list[Decision]:
    """All decisions of another database; InputError if it is damaged."""
    with _reading(source):
        return read_decisions(source)


def check_keys(store: Store, source: Store) -> None:
    """ContentError if keys of another database have other contents or metadata here."""
    keys: list[str] = []
    count = 0
    for part in documents_of(source, store.settings):
        conflicts = conflicts_of(part, store.known(part.keys))
        count += len(conflicts)
        keys += conflicts[: NAMED_CONFLICTS - len(keys)]
    if keys:
        raise conflict(store, keys, count)


def merge_whole(store: Store, source: Store, run: bytes | None = None) -> AddReport:
    """Add all documents of a private file of this process, all in one transaction.

    A document whose key has another content stays beside that, under a key of its own.

    Args:
        store: where they are added.
        source: the private file, in which keys may be repeated.
        run: the digest of the run of dedup that adds them, which is noted, too.

    Raises:
        SettingsMismatch: another process has replaced the database by one with other signatures.
        StoreError: writing failed; then nothing is added.
    """
    late.complete(store)
    with store.writing(), signed(Job(store), documents_of(source, store.settings)) as stream:
        writer = Writer(store)
        for batch in stream:
            for part in batch:
                writer.write(_distinct_key(store, part))
            if writer.is_full:
                writer.finish()
        writer.finish()
        if run is not None:
            store.insert_run(run)
    return writer.report


def _distinct_key(store: Store, part: SignedPart) -> SignedPart:
    """The documents, each under a key that no other content has; only one of equal documents."""
    versions = Versions(store)
    versions.look_up(part.keys, part.digests)
    rows = enumerate(zip(part.keys, part.digests, strict=True))
    # Of equal documents the first is enough.
    index_of_key: dict[str, int] = {}
    for index, (key, content_digest) in rows:
        index_of_key.setdefault(versions.keep(key, content_digest), index)
    keys, indices = [*index_of_key], [*index_of_key.values()]
    if keys == part.keys:
        return part
    part = part.take(indices)
    return replace(part, batch=replace(part.batch, keys=keys))


def _differences(source: Settings, settings: Settings) -> Sequence[str]:
    """Why the signatures of another database cannot be taken over, each reason in words."""
    record, source_record = settings_record(settings), settings_record(source)
    names = _OF_FOREIGN if settings.shingling.foreign else _OF_SIGNATURES
    differences = [
        f"{name} {source_record[name]}, not {record[name]}"
        for name in names
        if record[name] != source_record[name]
    ]
    if source.lane_bits < settings.lane_bits:
        differences.append(f"lanes of {source.lane_bits} bits, not {settings.lane_bits}")
    if settings.shingling.base != source.shingling.base:
        differences.append("other base texts")
    if settings.content and not source.content:
        differences.append("no contents")
    return differences


@contextlib.contextmanager
def _reading(source: Store) -> Iterator[None]:
    """InputError in place of a StoreError: it is the other file that cannot be read."""
    try:
        yield
    except errors.StoreError as error:
        raise errors.InputError(f"{error}; lshdb check -d {source.path} says more") from error


def _check_documents(source: Store, columns: DocumentColumns) -> None:
    """DamagedFile if a document is not as lshdb stores it.

    Signatures are not made again, as `lshdb check --deep` of the source does.
    """
    shingling = source.settings.shingling
    rows = columns.keys, columns.digests, columns.contents, columns.metadata
    for key, content_digest, stored, metadata in zip(*rows, strict=True):
        if fault := key_fault(key):
            raise errors.DamagedFile(f"{source.path} is damaged: the key {key!r:.100} {fault}")
        if metadata is not None:
            from_json(metadata)
        if stored is None:
            continue
        if digest(stored.encode()) != content_digest:
            raise errors.DamagedFile(
                f"{source.path} is damaged: the content of {key!r:.100} is not that of its digest"
            )
        if shingling.of_sets:
            from_stored(stored, shingling)
