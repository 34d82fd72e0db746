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
from dataclasses import dataclass, replace
from pathlib import Path

from lshdb import errors
from lshdb.keys import key_fault
from lshdb.limits import DEFAULTS, Limits
from lshdb.model import NAMED_CONFLICTS
from lshdb.read import paths
from lshdb.read.batch import Batch
from lshdb.read.metadata import from_json
from lshdb.sketch.banding import bucket_keys
from lshdb.sketch.settings import Settings, settings_record
from lshdb.sketch.signing import Signed, base_of
from lshdb.store import guard
from lshdb.store.lookups import DocumentColumns
from lshdb.store.store import Store
from lshdb.text.content import digest, from_stored
from lshdb.write.batches import PARTS
from lshdb.write.parts import SignedPart
from lshdb.write.writing import conflict, conflicts_of

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


@dataclass(frozen=True)
class Rebased:
    """Keys of files from the root of one database as those from the root of another.

    Attributes:
        old_root: of the database that is read.
        root: of the other one.
    """

    old_root: str
    root: str

    def key(self, key: str) -> str:
        """The key of a file."""
        return paths.key_of_real(os.path.join(self.old_root, key), self.root)

    def taken(self, columns: DocumentColumns) -> DocumentColumns:
        """The documents, those of files with their new keys."""
        rows = zip(columns.keys, columns.states, strict=True)
        return replace(
            columns, keys=[key if state is None else self.key(key) for key, state in rows]
        )


def rebased(source: Store, root: str) -> Rebased | None:
    """What keys of files in a database are from another root; None if they stay the same."""
    if source.root == root:
        return None
    with reading_other(source):
        keys = [key for _, key in source.keys_of_files()]
    return Rebased(source.root, root) if keys else None


def documents_of(
    source: Store, settings: Settings, new_keys: Rebased | None = None
) -> Iterator[SignedPart]:
    """All documents of another database, as they are at this moment, in the order of addition.

    With metadata and the states of files; and with signatures if these are what the settings ask
    for: otherwise contents are to be signed.

    Args:
        source: the other database, which is only read.
        settings: of the database that they are added to.
        new_keys: what keys of files become there; None for those that they have.

    Raises:
        SettingsMismatch: it has other signatures and no contents to sign, or sets in place of
            texts.
        InputError: it cannot be read, or is damaged.
    """
    differences = _differences(source, settings)
    same_kind = source.settings.shingling.of_sets == settings.shingling.of_sets
    can_sign = source.settings.content and same_kind and not settings.shingling.foreign
    if differences and not can_sign:
        raise errors.SettingsMismatch(
            f"{source.path} has {', '.join(differences)}: its documents cannot be merged; add the "
            "files that they are from, or use a database with its settings"
        )
    limits = source.limits
    with reading_other(source), source.reading():
        for columns in source.whole_documents(limits.batch_bytes // PARTS, limits.batch_documents):
            _check_documents(source, columns, settings)
            if new_keys is not None:
                columns = new_keys.taken(columns)
            texts = [text for text in columns.contents if text is not None]
            states = zip(columns.keys, columns.states, strict=True)
            batch = Batch(
                columns.keys,
                [from_stored(text, settings.shingling) for text in texts] if differences else (),
                columns.metadata,
                states=[(key, state) for key, state in states if state is not None],
                size=columns.signatures.nbytes + sum(map(len, texts)),
            )
            signed = None
            if not differences:
                signatures = columns.signatures.astype(settings.lane_type, copy=False)
                shape, base = settings.construction, base_of(settings.shingling)
                buckets = bucket_keys(signatures, shape, settings.seed)
                signed = Signed(signatures, columns.shingles, buckets, shape, base=base)
            yield SignedPart(batch, texts, columns.digests, signed)


def check_keys(store: Store, source: Store, new_keys: Rebased | None) -> None:
    """ContentError if keys of another database have other contents or metadata here."""
    keys: list[str] = []
    count = 0
    for part in documents_of(source, store.settings, new_keys):
        conflicts = conflicts_of(part, store.known(part.keys))
        count += len(conflicts)
        keys += conflicts[: NAMED_CONFLICTS - len(keys)]
    if keys:
        raise conflict(store, keys, count)


def _differences(of_source: Store, settings: Settings) -> Sequence[str]:
    """Why the signatures of another database cannot be taken over, each reason in words."""
    source = of_source.settings
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
def reading_other(source: Store) -> Iterator[None]:
    """InputError in place of a StoreError: it is the other file that cannot be read."""
    try:
        yield
    except errors.StoreError as error:
        raise errors.InputError(f"{error}; lshdb check -d {source.path} says more") from error


def _check_documents(source: Store, columns: DocumentColumns, settings: Settings) -> None:
    """DamagedFile if a document is not as lshdb stores it.

    Signatures are not made again, as `lshdb check --deep` of the source does.
    """
    shingling = settings.shingling
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
