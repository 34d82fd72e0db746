"""Writing signed documents, within the caller's transaction."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from lshdb.errors import ContentError
from lshdb.model import NAMED_CONFLICTS, AddReport, Outcome
from lshdb.options import OnConflict
from lshdb.read.batch import Batch
from lshdb.search.query import QueryBatch
from lshdb.sketch import signing
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings, parts_of
from lshdb.store.index import codes_of_keys
from lshdb.store.parts import part as part_of_index
from lshdb.store.store import KnownDocument, Store
from lshdb.text import arrays, content
from lshdb.write.doc_ids import DocIds
from lshdb.write.parts import SignedPart

_DELETED = 2_000
"""Documents deleted at once: their signatures, and contents if parts need them, are in memory."""


_COUNTED: tuple[Outcome, ...] = ("added", "updated", "unchanged")


@dataclasses.dataclass(eq=False)
class Writer:
    """Writes the parts of a batch.

    Attributes:
        late: whether band rows of new documents are left to lshdb.store.late, if they can be.
        of_run: the documents that the run has written so far, or found unchanged; None if nobody
            wants to know which keys repeat, or they may.
        on_conflict: what happens to a document whose key has another one; None if it replaces
            that, and such keys are not counted.
        report: the counts of documents so far.
        signed: how many needed a signature; the others were stored with the same content.
        next_id: the doc_id of the next new document.
    """

    store: Store
    late: bool = False
    of_run: DocIds | None = None
    on_conflict: OnConflict | None = None

    def __post_init__(self) -> None:
        if self.store.keys_repeat:
            self.of_run = None
        self.report = AddReport()
        self.signed = 0
        last = self.store.last_doc_id()
        if self.late:
            if self.store.indexed_to is None:
                self.store.set_indexed(last, None)
            # What is added while the rows are being written would be missed.
            self.late = self.store.indexed_bucket is None
        self.next_id = self._first_id = last + 1
        self._updated: set[int] = set()
        self._bands: list[tuple[arrays.IntArray, arrays.IntArray]] = []
        self._held: dict[str, list[PartRows]] = {}

    def write(self, part: SignedPart) -> AddReport:
        """Write documents and signatures; their band rows are written with those of other parts.

        Returns:
            The counts of this part.

        Raises:
            ContentError: `on_conflict` is `error`, and a key has another document.
        """
        store = self.store
        states = dict(part.batch.states)  # without documents, of a file that was not read whole
        known = {} if store.keys_repeat else store.known(part.keys or [*states])
        conflicts = {} if self.on_conflict is None else conflicts_of(part, known)
        conflict_keys = [*conflicts.values()][:NAMED_CONFLICTS]
        if conflicts and self.on_conflict == "error":
            raise ContentError(
                f"{differ(store, conflict_keys)}; this batch is not added, earlier ones stay"
            )
        kept = len(conflicts) if self.on_conflict == "keep" else 0
        if kept:
            part = part.take([i for i in range(len(part.keys)) if i not in conflicts])
            known = {key: known[key] for key in part.keys if key in known}
        index_of_key = {key: index for index, key in enumerate(part.keys)}
        indices: Sequence[int] = [
            index
            for key, index in index_of_key.items()
            if key not in known or known[key].digest != part.digests[index]
        ]
        if store.keys_repeat:
            indices = range(len(part.keys))
        part_outcomes, repeated = outcomes(part, known, self.of_run or ())
        metadata = part.batch.all_metadata()
        store.set_metadata(
            [
                (document.doc_id, metadata[index])
                for key, index in index_of_key.items()
                if (document := known.get(key))
                and document.digest == part.digests[index]
                and document.metadata != metadata[index]
            ]
        )
        written = part.take(indices)
        doc_ids, signed = self._store(written, known)
        known_ids = [document.doc_id for document in known.values()]
        if self.of_run is not None:
            self.of_run.add(arrays.int_array([*known_ids, *doc_ids]))
        self.signed += len(indices)
        empty = len(indices) - int(np.count_nonzero(signed.shingles))
        added, updated, unchanged = map(part_outcomes.count, _COUNTED)
        report = AddReport(
            added,
            updated,
            unchanged,
            len(part.batch.failures),
            empty,
            part.batch.replaced,
            kept=kept,
            conflicts=len(conflicts),
            conflict_keys=tuple(conflict_keys),
            repeated=0 if self.of_run is None else repeated,
        )
        self.report += report
        if states:
            keys_of_ids = dict(zip(known_ids, known, strict=True))
            keys_of_ids |= zip(doc_ids, written.keys, strict=True)
            rows = keys_of_ids.items()
            store.set_files((doc_id, states[key]) for doc_id, key in rows if key in states)
        return report

    def _store(
        self, part: SignedPart, known: Mapping[str, KnownDocument]
    ) -> tuple[list[int], signing.Signed]:
        """Write documents that are new or have changed, and what finds them.

        Args:
            part: the documents, each key once.
            known: the stored ones of these keys, and perhaps of others.

        Returns:
            Their doc_ids and signatures.
        """
        store, keys = self.store, part.keys
        old_ids = [known[key].doc_id for key in keys if key in known]
        if any(doc_id >= self._first_id or doc_id in self._updated for doc_id in old_ids):
            self.finish()  # a key of an earlier part: its band rows must be deleted again
        unindex(store, old_ids)
        signed = signatures_of(part, store.settings)
        new_ids = itertools.count(self.next_id)
        doc_ids = [known[key].doc_id if key in known else next(new_ids) for key in keys]
        self.next_id = next(new_ids)
        shingles, blobs = signed.shingles.tolist(), map(bytearray, part.digests)
        contents = part.stored if store.settings.content else [None] * len(keys)
        metadata = part.batch.all_metadata()
        store.insert(zip(doc_ids, keys, shingles, blobs, metadata, contents, strict=True))
        self._index(arrays.int_array(doc_ids), signed, old_ids)
        self._updated.update(old_ids)
        return doc_ids, signed

    @property
    def is_full(self) -> bool:
        """Whether it holds more band rows than should be in memory."""
        return sum(len(codes) for codes, _ in self._bands) > self.store.limits.fingerprints

    def finish(self) -> None:
        """Write the rows of the index that are held."""
        if self._bands:
            codes, doc_ids = map(np.concatenate, zip(*self._bands, strict=True))
            self.store.index.insert_bands(codes, doc_ids)
            self._bands = []
        for name in [*self._held]:
            self._write_part(name)

    def _write_part(self, name: str) -> None:
        held = self._held.pop(name)
        rows = PartRows.joined(held[0].value, held)
        if len(rows):
            part_of_index(name).write(self.store.index, rows)

    def _index(self, ids: arrays.IntArray, signed: signing.Signed, old_ids: Sequence[int]) -> None:
        """Write the signatures of documents int64[n], and keep their band rows for `finish`.

        `old_ids` are those that were stored before.
        """
        if not signed.shingles.all():
            filled = np.flatnonzero(signed.shingles)
            ids, signed = ids[filled], signed.take(filled)
        self.store.index.insert_signatures(ids, signed.signatures)
        for name, rows in signed.parts.items():
            held = self._held.setdefault(name, [])
            held.append(rows.numbered(ids))
            is_full = sum(map(len, held)) > self.store.limits.fingerprints
            if is_full or not part_of_index(name).collects:
                self._write_part(name)
        keys = signed.bucket_keys
        if self.late:
            was_stored = np.isin(ids, old_ids)
            ids, keys = ids[was_stored], keys[was_stored]
        self.store.note_indexed(ids.tolist())
        self._bands.append(codes_of_keys(ids, keys))


def conflicts_of(part: SignedPart, known: Mapping[str, KnownDocument]) -> dict[int, str]:
    """The documents whose keys have another one, stored or earlier in the part: keys by index."""
    first = {key: (document.digest, document.metadata) for key, document in known.items()}
    rows = zip(part.digests, part.batch.all_metadata(), strict=True)
    return {
        index: key
        for index, (key, row) in enumerate(zip(part.keys, rows, strict=True))
        if first.setdefault(key, row) != row
    }


def differ(store: Store, keys: Sequence[str]) -> str:
    """That other documents have some keys, in words."""
    named = ", ".join(f"{key!r:.100}" for key in keys)
    return (
        f"other documents than in {store.path} have the same keys ({named}): take these instead "
        "(replace), or keep those there (keep)"
    )


def signatures_of(part: SignedPart, settings: Settings) -> signing.Signed:
    """The signatures of documents, made now if not made before.

    All that an index has of them follows `settings`, even if the index has changed since they were
    signed.
    """
    if part.signed is None or not part.signed.fits(settings):
        contents = [content.from_stored(form, settings.shingling) for form in part.stored]
        return signing.sign(contents, settings)
    return part.signed.indexed(settings, part.stored)


def joined(parts: Sequence[SignedPart], settings: Settings) -> SignedPart:
    """The documents of parts in one, signed by these settings."""
    flat = itertools.chain.from_iterable
    signed = [signatures_of(part, settings) for part in parts]
    return SignedPart(
        Batch.joined([part.batch for part in parts]),
        [*flat(part.stored for part in parts)],
        [*flat(part.digests for part in parts)],
        signing.Signed.joined(signed),
    )


def query_batch(part: SignedPart) -> QueryBatch:
    """The signed documents of a part, as queries."""
    assert part.signed is not None
    return QueryBatch(part.stored, part.digests, part.signed, files=part.batch.files)


def outcomes(
    part: SignedPart, known: Mapping[str, KnownDocument], of_run: DocIds | tuple[int, ...] = ()
) -> tuple[list[Outcome], int]:
    """What adding does with each document, as if they came one by one.

    Args:
        part: the documents.
        known: the stored ones of their keys.
        of_run: the ids of those that the run has written before, or found unchanged.

    Returns:
        What it does, and how many documents take the place of another text that the run gave the
        same key.
    """
    if not known and len(set(part.keys)) == len(part.keys):
        return ["added"] * len(part.keys), 0
    current = {key: (document.digest, document.metadata) for key, document in known.items()}
    given = {key for key, document in known.items() if document.doc_id in of_run}
    part_outcomes: list[Outcome] = []
    repeated = 0
    rows = zip(part.digests, part.batch.all_metadata(), strict=True)
    for key, row in zip(part.keys, rows, strict=True):
        before = current.get(key, row)
        repeated += key in given and before[0] != row[0]
        is_new = key not in current
        part_outcomes.append("added" if is_new else "unchanged" if before == row else "updated")
        current[key] = row
        given.add(key)
    return part_outcomes, repeated


def unindex(store: Store, doc_ids: Sequence[int]) -> None:
    """Delete the signatures of documents, and all that the index has of them.

    They are computed again from the signatures and contents, which are still there. The link of
    the documents to files is deleted too.
    """
    if not doc_ids:
        return
    store.forget_files(doc_ids)
    store.note_indexed(doc_ids)
    ids = arrays.int_array(doc_ids)
    with_signature, signatures = store.signatures(ids)
    settings = store.settings
    store.index.unindex(with_signature, signatures, settings)
    if parts := parts_of(settings):
        texts = list(store.contents(with_signature))
        for name in parts:
            part_of_index(name).remove(store.index, with_signature, texts, settings)


def delete(store: Store, doc_ids: Sequence[int]) -> None:
    """Delete documents with all that is derived from them, some thousands at a time."""
    for part in arrays.chunks(len(doc_ids), _DELETED):
        part_ids = doc_ids[part]
        unindex(store, part_ids)
        store.delete(part_ids)
