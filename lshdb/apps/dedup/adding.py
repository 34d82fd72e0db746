"""Adding what a run kept to a database, all in one transaction, and noting the run.

A database may have documents of one key: `Versions` says which, and under which keys further ones
stay.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from lshdb.apps.dedup.statements import HAS_RUN, INSERT_RUN
from lshdb.apps.merging.merging import documents_of
from lshdb.keys import DIGEST_SHOWN, distinct_key
from lshdb.model import AddReport
from lshdb.store import late
from lshdb.store.store import KnownDocument, Store
from lshdb.write.batches import Job, signed
from lshdb.write.parts import SignedPart
from lshdb.write.writing import Writer


@dataclass(eq=False)
class Versions:
    """The documents that a database has under the keys of a batch.

    Attributes:
        store: the database.
        before: the last doc_id of earlier runs.
        known: the documents by key, with those that are kept meanwhile.
    """

    store: Store
    before: int = 0
    known: dict[str, KnownDocument] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._looked_up = set[str]()

    def look_up(self, keys: Sequence[str], digests: Sequence[bytes]) -> None:
        """Find the documents under the keys of a batch, and under those that distinguish them.

        All at once, which takes a fifth of the time: an id may be in all files of a series.
        """
        self._add(keys)
        self._add(
            distinct_key(key, digest, {key: self.known[key].digest}.get)
            for key, digest in zip(keys, digests, strict=True)
            if key in self.known
        )

    def _add(self, keys: Iterable[str]) -> None:
        new = {*keys} - self._looked_up - self.known.keys()
        if new:
            self.known |= self.store.known([*new])
            self._looked_up |= new

    def key_of(self, key: str, digest: bytes) -> str:
        """The key under which a document is stored, or can be beside the others of its key."""

        def digest_at(key: str) -> bytes | None:
            self._add([key])
            return self.known[key].digest if key in self.known else None

        return distinct_key(key, digest, digest_at)

    def same(self, key: str, digest: bytes) -> KnownDocument | None:
        """The document of a key with the same content."""
        return self.known.get(self.key_of(key, digest))


def is_key_of(stored: str, key: str, same_text: bool) -> bool:
    """Whether a document is stored under a key, or under the key that a later row of it got.

    Args:
        stored: the key that it is stored under.
        key: the document's key.
        same_text: whether the stored document has the same content, and so the same digest.

    >>> is_key_of("a#0000000000000000-2", "a", True), is_key_of("a#b", "a", True)
    (True, False)
    """
    made = rf"{re.escape(key)}#[0-9a-f]{{{2 * DIGEST_SHOWN}}}(-[0-9]+)?"
    return stored == key or (same_text and re.fullmatch(made, stored) is not None)


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
    files = {key for key, _ in part.batch.states}
    # Of equal documents the first is enough.
    index_of_key: dict[str, int] = {}
    for index, (key, digest) in enumerate(zip(part.keys, part.digests, strict=True)):
        if key not in files:
            key = versions.key_of(key, digest)
        versions.known[key] = KnownDocument(0, key, digest, None)
        index_of_key.setdefault(key, index)
    keys, indices = [*index_of_key], [*index_of_key.values()]
    if keys == part.keys:
        return part
    part = part.take(indices)
    return replace(part, batch=replace(part.batch, keys=keys))
