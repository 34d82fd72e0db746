"""Merging: the documents of another database, with their signatures, into an open one.

Nothing is read from files, and nothing signed again unless the open database has wider lanes, which
is why both must sign documents in the same way.
The index follows from what is stored, by the settings of the open database: bands from signatures,
fingerprints and rare words from contents, as reading them in the order of documents takes three and
twenty times as long as making them (20,000 texts of 2.8 KB: 2.1 s and 7.7 s of CPU to read, 0.7 s
and 0.4 s to make).

A merge takes several transactions, each of whole documents. A killed one leaves a valid file, and
the same merge again completes it: what is stored already is unchanged.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lshdb import errors, options
from lshdb.ingest.batches import Job
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.writing import Writer
from lshdb.keys import distinct_key, key_fault
from lshdb.limits import DEFAULTS, Limits
from lshdb.model import AddReport
from lshdb.shingling import winnowing
from lshdb.shingling.content import digest, from_stored
from lshdb.shingling.rare_words import indexed
from lshdb.sketching import signing
from lshdb.sketching.banding import bucket_keys
from lshdb.sketching.settings import Settings, plain_settings, settings_record
from lshdb.sources.batch import Batch
from lshdb.sources.counts import MAX_KEPT
from lshdb.sources.identity import is_same_file
from lshdb.sources.metadata import from_json
from lshdb.store import guard, late
from lshdb.store.lookups import DocumentColumns
from lshdb.store.store import KnownDocument, Store

_OF_FOREIGN = ("shingle", "permutations")
_OF_SIGNATURES = (*_OF_FOREIGN, "sketch", "seed", "content")
"""The settings that must be equal; the others are of the index, which is made again. Of signatures
that another program made, fewer are known."""
_PARTS = 10
"""Parts that the bytes of a transaction are divided into, so that less is in memory twice."""
_HELD = 500_000
"""Documents whose band rows are sorted together: they take 192 bytes each in memory."""
_NAMED = 3
"""Keys that an error names."""


def merged(
    job: Job, source: Store, on_conflict: options.OnConflict = "replace"
) -> Iterator[AddReport]:
    """Add all documents of another database, as they are at this moment, in transactions.

    Documents get new numbers, in the order of the source. Contents, metadata, signatures and the
    states of files are copied; decisions are not. Other processes may write between transactions.
    Killed, it leaves whole documents, and the same call again adds the others.

    Args:
        job: how and where they are added.
        source: the other database, which is only read.
        on_conflict: of a key that has another content or metadata here, which document stays:
            `replace` takes that of the source, `keep` that of the store, and with `error` nothing
            is added if there is such a key. The report names these keys.

    Yields:
        The report of each transaction when it is in the file; at last, that of decisions.

    Raises:
        UsageError: both are the same file.
        SettingsMismatch: the source signs documents in another way.
        ContentError: `on_conflict` is `error`, and keys have other contents here.
        InputError: the source cannot be read, or is damaged; earlier transactions stay.
        StoreError: writing failed, likewise.
    """
    store = job.store
    if is_same_file(store.real_path, source.real_path):
        raise errors.UsageError(f"{source.path} is the database itself: name another one")
    late.complete(store, job.progress)  # what a killed process left
    with contextlib.ExitStack() as stack:
        documents, decisions = _begin(store, source, on_conflict, stack)
        is_large = job.late and documents >= store.limits.late_from
        if is_large:
            stack.enter_context(late.reserved(store))
        read_count = conflicts_shown = 0
        for parts in _transactions(source):
            with store.writing():
                _check_settings(store, source)  # another process may have reindexed it
                report = _write(store, source, parts, on_conflict, is_large=is_large)
            read_count += sum(len(part.keys) for part in parts)
            job.progress(read_count, documents, "documents")
            yield replace(report, conflicts=report.conflicts[: max(0, MAX_KEPT - conflicts_shown)])
            conflicts_shown += len(report.conflicts)
    late.complete(store, job.progress)
    if decisions:
        yield AddReport(decisions=decisions)


def _begin(
    store: Store, source: Store, on_conflict: options.OnConflict, stack: contextlib.ExitStack
) -> tuple[int, int]:
    """Begin to read the source, and check it; how many documents and decisions it has."""
    with _reading(source):
        stack.enter_context(source.reading())
        documents, decisions = source.count()[0], source.count_decisions()
    with store.reading():
        _check_settings(store, source)
        if on_conflict == "error":
            _check_keys(store, source)
    return documents, decisions


def merge_whole(store: Store, source: Store) -> AddReport:
    """Add all documents of a private file of this process, all in one transaction.

    A document whose key has another content stays beside that, under a key of its own.

    Args:
        store: where they are added.
        source: the private file, in which keys may be repeated.

    Raises:
        SettingsMismatch: another process has replaced the database by one with other signatures.
        StoreError: writing failed; then nothing is added.
    """
    late.complete(store)
    held = 0
    with source.reading(), store.writing():
        _check_settings(store, source)
        writer = Writer(store)
        for part in _parts(source, checked=True):
            part = _distinct_key(store, part)
            known, _ = _known(store, part)
            writer.write(_signed(part, store.settings), known)
            held += len(part.keys)
            if held >= _HELD:
                writer.finish()
                held = 0
        writer.finish()
    return writer.report


def _distinct_key(store: Store, part: DocumentColumns) -> DocumentColumns:
    """The documents, each under a key that no other content has; only one of equal documents."""
    rows = [*zip(part.keys, part.digests, strict=True)]
    other_keys = [distinct_key(key, content_digest) for key, content_digest in rows]
    known = store.known([*dict.fromkeys([*part.keys, *other_keys])])
    digests_by_key = {key: document.digest for key, document in known.items()}
    keys, indices = [], []
    for index, ((key, content_digest), other_key) in enumerate(zip(rows, other_keys, strict=True)):
        new_key = key if digests_by_key.get(key, content_digest) == content_digest else other_key
        if new_key not in digests_by_key or new_key in known:  # one of equal documents is enough
            keys.append(new_key)
            indices.append(index)
        digests_by_key[new_key] = content_digest
    if keys == part.keys:
        return part
    return replace(part.take(indices), keys=keys)


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], store: Store) -> Iterator[Store]:
    """Another database to be merged, which is only read: its file and its log stay as they are.

    Raises:
        InputError: it is the file of the store, or cannot be opened, or is not lshdb's.
    """
    if is_same_file(path, store.real_path):
        raise errors.InputError(f"{path} is the database itself: name another one")
    with contextlib.closing(_opened(path, store.timeout, store.limits)) as source:
        yield source


def settings_of(path: str | os.PathLike[str], timeout: float) -> Settings:
    """The settings of another database, whose file and log stay as they are.

    Raises:
        InputError: it cannot be opened, or is not lshdb's.
    """
    with contextlib.closing(_opened(path, timeout, DEFAULTS)) as source:
        return source.settings


def _opened(path: str | os.PathLike[str], timeout: float, limits: Limits) -> Store:
    # The last connection that may write copies a log into the file. Without a log it changes
    # nothing, and removes the empty one that SQLite makes; a sealed one would leave that.
    sealed = guard.log_size(Path(os.path.realpath(path))) > 0
    try:
        return Store.open(Path(path), "read", timeout, sealed=sealed, limits=limits)
    except errors.StoreError as error:
        raise errors.InputError(str(error)) from error


def _write(
    store: Store,
    source: Store,
    parts: Sequence[DocumentColumns],
    on_conflict: options.OnConflict,
    *,
    is_large: bool,
) -> AddReport:
    """Write parts of documents, within a transaction."""
    writer = Writer(store, late=is_large)
    kept_count = unchanged_count = 0
    conflicts: list[str] = []
    for part in parts:
        known, differing = _known(store, part)
        keys = [part.keys[index] for index in differing]
        if keys and on_conflict == "error":  # another process has written them meanwhile
            raise _conflict(store, source, keys)
        conflicts += keys
        unchanged_count += len(known) - len(differing)
        indices = [index for index, key in enumerate(part.keys) if key not in known]
        if on_conflict == "keep":
            kept_count += len(differing)
        else:
            indices = sorted(indices + differing)
        if indices:
            selected = part if len(indices) == len(part.keys) else part.take(indices)
            replaced = {key: known[key] for key in (keys if on_conflict == "replace" else ())}
            writer.write(_signed(selected, store.settings), replaced)
    writer.finish()
    unwritten = AddReport(unchanged=unchanged_count, kept=kept_count, conflicts=tuple(conflicts))
    return writer.report + unwritten


def _signed(part: DocumentColumns, settings: Settings) -> SignedPart:
    """Documents with all that the index takes of them, by the settings of the store."""
    run = settings.passages
    texts = [text for text in part.contents if text is not None]
    signatures = part.signatures.astype(settings.lane_type, copy=False)
    if signatures.itemsize > part.signatures.itemsize:  # these lanes lack bits
        contents = [from_stored(text, settings.shingling) for text in texts]
        signatures = signing.sign(contents, plain_settings(settings)).signatures
    files = [(key, state) for key, state in zip(part.keys, part.states, strict=True) if state]
    signed = signing.Signed(
        signatures,
        part.shingles,
        bucket_keys(signatures, settings.construction, settings.seed),
        settings.construction,
        run,
        winnowing.fingerprints(texts, settings.shingling, run, settings.seed)
        if run
        else winnowing.NO_FINGERPRINTS,
        indexed(texts) if settings.reworded else None,
        signing.base_of(settings.shingling),
    )
    return SignedPart(
        Batch(part.keys, metadata=part.metadata, states=files), texts, part.digests, signed
    )


def _known(store: Store, part: DocumentColumns) -> tuple[Mapping[str, KnownDocument], list[int]]:
    """The stored documents with keys of a part, and the indices of those that differ."""
    known = store.known(part.keys)
    columns = zip(part.keys, part.digests, part.metadata, strict=True)
    differing = [
        index
        for index, (key, digest, metadata) in enumerate(columns if known else ())
        if key in known and (known[key].digest, known[key].metadata) != (digest, metadata)
    ]
    return known, differing


def _check_keys(store: Store, source: Store) -> None:
    """ContentError if keys of the source have other contents or metadata here."""
    keys: list[str] = []
    for part in _parts(source, checked=True):
        keys += [part.keys[index] for index in _known(store, part)[1]]
    if keys:
        raise _conflict(store, source, keys)


def _conflict(store: Store, source: Store, keys: Sequence[str]) -> errors.ContentError:
    named = ", ".join(f"{key!r:.100}" for key in keys[:_NAMED])
    more = f" and {len(keys) - _NAMED:,} more" if len(keys) > _NAMED else ""
    return errors.ContentError(
        f"{source.path} has other documents than {store.path} under the same keys ({named}{more}): "
        "take these instead (replace), or keep those here (keep)"
    )


def _check_settings(store: Store, source: Store) -> None:
    """SettingsMismatch, with each difference, if the documents are signed in another way."""
    settings, source_settings = store.settings, source.settings
    record, source_record = settings_record(settings), settings_record(source_settings)
    names = _OF_FOREIGN if settings.shingling.foreign else _OF_SIGNATURES
    differences = [
        f"{name} {source_record[name]}, not {record[name]}"
        for name in names
        if record[name] != source_record[name]
    ]
    if not settings.content and source_settings.lane_bits < settings.lane_bits:
        differences.append(f"lanes of {source_settings.lane_bits} bits, not {settings.lane_bits}")
    if settings.shingling.base != source_settings.shingling.base:
        differences.append("other base texts")
    if differences:
        raise errors.SettingsMismatch(
            f"{source.path} has {', '.join(differences)}: its documents cannot be merged into "
            f"{store.path}; add the files that they are from, or use a database with its settings"
        )


@contextlib.contextmanager
def _reading(source: Store) -> Iterator[None]:
    """InputError in place of a StoreError: it is the other file that cannot be read."""
    try:
        yield
    except errors.StoreError as error:
        raise errors.InputError(f"{error}; lshdb check -d {source.path} says more") from error


def _parts(source: Store, *, checked: bool = False) -> Iterator[DocumentColumns]:
    """All documents of a database, some at a time, and checked if they are not yet.

    What this process has written needs no check, which takes a tenth of the CPU of merging.
    """
    limits = source.limits
    size = limits.batch_bytes // (2 * _PARTS)
    with _reading(source):
        for part in source.whole_documents(size, limits.batch_documents):
            if not checked:
                _check_documents(source, part)
            yield part


def _transactions(source: Store) -> Iterator[list[DocumentColumns]]:
    """The same, those of a transaction at a time."""
    limits = source.limits
    parts: list[DocumentColumns] = []
    documents = 0
    for part in _parts(source):
        parts.append(part)
        documents += len(part.keys)
        if documents >= limits.batch_documents or len(parts) == _PARTS:
            yield parts
            parts, documents = [], 0
    if parts:
        yield parts


def _check_documents(source: Store, part: DocumentColumns) -> None:
    """DamagedFile if a document is not as lshdb stores it.

    Signatures are not made again, as `lshdb check --deep` of the source does.
    """
    shingling = source.settings.shingling
    columns = part.keys, part.digests, part.contents, part.metadata
    for key, content_digest, stored, metadata in zip(*columns, strict=True):
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
