"""Adding what a run kept to a database, all in one transaction, and noting the run."""

from dataclasses import replace

from lshdb.apps.dedup.statements import HAS_RUN, INSERT_RUN
from lshdb.apps.dedup.versions import Versions
from lshdb.apps.merging.merging import documents_of
from lshdb.model import AddReport
from lshdb.store import late
from lshdb.store.store import Store
from lshdb.write.batches import Job, signed
from lshdb.write.parts import SignedPart
from lshdb.write.writing import Writer


def note_run(store: Store, digest: bytes) -> None:
    """Note a run, by the digest of what it read and wrote; see runs.sql."""
    store.make_part("runs")
    store.run_many(INSERT_RUN, [(digest,)])


def has_run(store: Store, digest: bytes) -> bool:
    """Whether a run is noted."""
    return "runs" in store.parts and bool(store.rows(HAS_RUN, digest))


def merge_whole(store: Store, source: Store, run: bytes | None = None) -> AddReport:
    """Add all documents of a private file of this process, all in one transaction.

    A file replaces the stored document of its key. Another document whose key has another content
    stays beside that, under a key of its own.

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
            note_run(store, run)
    return writer.report


def _distinct_key(store: Store, part: SignedPart) -> SignedPart:
    """The documents, each row under a key that no other content has; only one of equal ones."""
    versions = Versions(store)
    versions.look_up(part.keys, part.digests)
    rows = enumerate(zip(part.keys, part.digests, strict=True))
    files = {key for key, _ in part.batch.states}
    # Of equal documents the first is enough.
    index_of_key: dict[str, int] = {}
    for index, (key, content_digest) in rows:
        index_of_key.setdefault(versions.keep(key, content_digest, beside=key not in files), index)
    keys, indices = [*index_of_key], [*index_of_key.values()]
    if keys == part.keys:
        return part
    part = part.take(indices)
    return replace(part, batch=replace(part.batch, keys=keys))
