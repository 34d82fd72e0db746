"""Merging: the documents of another database, added as any input.

Where the other database signs documents in the same way, its signatures are taken over; otherwise
its texts are signed again. The index follows from what is stored, by the settings of the open
database: bands from signatures, fingerprints and rare words from contents.

A merge takes several transactions, each of whole documents. A killed one leaves a valid file, and
the same merge again completes it: what is stored already is unchanged.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lshdb import errors, offers
from lshdb.keys import key_fault
from lshdb.limits import DEFAULTS, OBJECT_BYTES, Limits
from lshdb.model import NAMED_CONFLICTS, AddReport
from lshdb.options import AddFilesOptions
from lshdb.read import counts, paths
from lshdb.read.batch import Batch
from lshdb.read.files import File, is_same_file
from lshdb.read.metadata import from_json
from lshdb.read.session import Session
from lshdb.sketch.banding import bucket_keys
from lshdb.sketch.settings import Settings, settings_record
from lshdb.sketch.signing import Signed, base_of
from lshdb.store import guard
from lshdb.store.lookups import StoredFile
from lshdb.store.store import Store
from lshdb.text.arrays import IntArray, chunks_of
from lshdb.text.content import digest, from_stored
from lshdb.write.add import added
from lshdb.write.batches import PARTS, Job
from lshdb.write.parts import SignedPart
from lshdb.write.writing import conflicts_of, differ

_OF_FOREIGN = ("shingle", "permutations")
_OF_SIGNATURES = (*_OF_FOREIGN, "sketch", "seed")
"""The settings that signatures follow from. Of those that another program made, fewer are known."""


def first_settings(files: Iterable[File], timeout: float) -> tuple[str, Settings] | None:
    """The first of these databases that can be opened, and its settings; None without one."""
    for file in files:
        # Adding one that cannot be opened reports why.
        with contextlib.suppress(errors.InputError), _opened(file.path, timeout) as source:
            return file.path, source.settings
    return None


def merged(
    job: Job, session: Session, files: Iterable[File], options: AddFilesOptions
) -> Iterator[AddReport]:
    """Add the documents of other databases; each that cannot be added is a failure.

    Raises:
        UsageError: one has a part whose app is not installed.
    """
    for file in files:
        if earlier := session.files_read.earlier(file):
            session.counts.skipped.add_repeated(file.path, earlier)
            continue
        try:
            if options.add.on_similar == "skip":
                skip = session.options.option("--on-similar skip", "on_similar")
                raise errors.InputError(f"a database, which is added whole: leave out {skip}")
            yield from _merged(replace(job, on_conflict=options.add.on_conflict), file)
        except (errors.ContentError, errors.InputError, errors.SettingsMismatch) as error:
            failure = errors.InputError(str(error).removeprefix(f"{file.path} "))
            session.counts.failures(counts.failure_of(file.path, failure))
            yield AddReport(failed=1)


def _merged(job: Job, file: File) -> Iterator[AddReport]:
    """Add the documents of a database, then what apps add of its parts (`offers.MERGED`).

    That is a function of the file, the other database, which is only read, and what keys of files
    in it become (None if they stay), in no transaction; it returns a report.
    """
    store = job.store
    if is_same_file(file.path, store.real_path):
        raise errors.InputError("is the database itself: name another one")
    with _opened(file.path, store.timeout, store.limits) as source:
        merges = [
            offers.offered(offers.MERGED, part) for part in offers.MERGED if part in source.parts
        ]
        new_keys = rebased(source, store.root)
        if job.on_conflict == "error":
            _check_keys(store, source, new_keys)
        yield from added(job, documents_of(source, store.settings, new_keys))
        for merge in merges:
            yield merge(store, source, new_keys)


@contextlib.contextmanager
def _opened(
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
    with reading_other(source), source.reading():
        for doc_ids, _ in source.all_keys():
            sizes = source.lengths(doc_ids) + source.settings.signature_bytes + OBJECT_BYTES
            for chunk in chunks_of(sizes, source.limits.batch_bytes // PARTS):
                yield _part(source, doc_ids[chunk], settings, new_keys, bool(differences))


def _check_keys(store: Store, source: Store, new_keys: Rebased | None) -> None:
    """ContentError if keys of another database have other contents or metadata here."""
    keys: list[str] = []
    count = 0
    for part in documents_of(source, store.settings, new_keys):
        conflicts = conflicts_of(part, store.known(part.keys))
        count += len(conflicts)
        keys += [*conflicts.values()][: NAMED_CONFLICTS - len(keys)]
    if keys:
        raise errors.ContentError(f"{differ(store, keys)}; {count:,} in all")


def _part(
    source: Store,
    doc_ids: IntArray,
    settings: Settings,
    new_keys: Rebased | None,
    sign_again: bool,
) -> SignedPart:
    """Documents int64[n], signed or to be signed; DamagedFile if one is not as lshdb stores it."""
    files = source.files_of(doc_ids.tolist())
    shingles, _ = source.sizes(doc_ids)
    metadata = [*source.metadata_of(doc_ids)]
    texts = [*source.contents(doc_ids)] if source.settings.content else []
    _check_documents(source, files, metadata, texts)
    keys = [
        file.key if new_keys is None or file.state is None else new_keys.key(file.key)
        for file in files
    ]
    states = [(key, file.state) for key, file in zip(keys, files, strict=True) if file.state]
    contents = [from_stored(text, settings.shingling) for text in texts] if sign_again else ()
    batch = Batch(
        keys,
        contents,
        metadata,
        states=states,
        size=len(doc_ids) * source.settings.signature_bytes + sum(map(len, texts)),
    )
    digests = [file.digest for file in files]
    if sign_again:
        return SignedPart(batch, texts, digests)
    signed_ids, signatures = source.signatures(doc_ids)
    if not np.array_equal(signed_ids, doc_ids[shingles > 0]):
        raise errors.DamagedFile(
            f"{source.path} is damaged: a document has shingles and no signature, or a signature "
            "and no shingles"
        )
    lanes = np.zeros((len(doc_ids), source.settings.permutations), settings.lane_type)
    lanes[shingles > 0] = signatures
    buckets = bucket_keys(lanes, settings.construction, settings.seed)
    base = base_of(settings.shingling)
    signed = Signed(lanes, shingles, buckets, settings.construction, base=base)
    return SignedPart(batch, texts, digests, signed)


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


def _check_documents(
    source: Store,
    files: Sequence[StoredFile],
    metadata: Sequence[str | None],
    texts: Sequence[str],
) -> None:
    """DamagedFile if a document is not as lshdb stores it.

    Signatures are not made again, as `lshdb check --deep` of the source does.
    """
    for file, fields in zip(files, metadata, strict=True):
        if fault := key_fault(file.key):
            raise errors.DamagedFile(f"{source.path} is damaged: the key {file.key!r:.100} {fault}")
        if fields is not None:
            from_json(fields)
    for file, text in zip(files, texts, strict=False):  # without contents there are no texts
        if digest(text.encode()) != file.digest:
            raise errors.DamagedFile(
                f"{source.path} is damaged: the content of {file.key!r:.100} is not that of its "
                "digest"
            )
        from_stored(text, source.settings.shingling)
