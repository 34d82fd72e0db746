"""Writing only those documents of a batch that are similar to none that is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Final

import numpy as np

from lshdb.ingest.parts import SignedPart
from lshdb.ingest.screening import Decisions, NewDocuments, Screening, decide
from lshdb.ingest.writing import Writer, signatures_of, unindex
from lshdb.model import AddReport, Skipped
from lshdb.sketching.signing import Signed, sign
from lshdb.store.store import KnownDocument, Store

_DIGITS: Final = 12


class SelectiveWriter:
    """Writes a batch, within the transaction that the caller has begun.

    Documents are decided on in order, each as if all before it were written already. One whose
    key is stored replaces that document; its old version is no reason to leave it out. If it is
    left out for another one, the old version stays.

    Attributes:
        report: what became of the documents.
        cut: how many were kept after they were compared with a part of a bucket only.
        stored: how many were stored already, with their content.
    """

    def __init__(self, store: Store, screening: Screening, first: int | None = None) -> None:
        """With `first`, keys may be repeated: they are stored with a number before them, the
        documents' own, `first` and on. The file is then no one else's.
        """
        self.report = AddReport()
        self.cut = 0
        self.stored = 0
        self._store = store
        self._screening = screening
        self._first = first
        self._writer = Writer(store)

    def write(self, parts: Sequence[SignedPart]) -> list[list[Skipped | None]]:
        """Write the documents that are to be kept.

        Returns:
            For each document of each part None if it is kept, else the kept one that it resembles
            most: itself, if the database has it already.
        """
        documents = _Documents(parts, self._store, self._first)
        total = len(documents.keys)
        begin, cautious = 0, False
        while begin < total:
            end = documents.end_of_run(begin, cautious)
            if not self._write_run(documents, begin, end):
                cautious = True
                continue
            begin = end
            if begin < total:
                self._writer.finish()
        self._writer.finish()
        self.report += AddReport(
            failed=sum(len(part.failures) for part in parts),
            replaced=sum(part.replaced for part in parts),
        )
        return documents.skipped()

    def _write_run(self, documents: _Documents, begin: int, end: int) -> bool:
        """Write documents, of a key all the same; False if they must be fewer at a time."""
        known = documents.known
        asked = [i for i in range(begin, end) if not documents.is_stored(i)]
        keys = [documents.keys[i] for i in asked]
        new = documents.new(asked)
        decisions = decide(self._store, new, self._screening)
        if decisions is None:
            return False
        kept: dict[str, int] = {}
        for row in np.flatnonzero(decisions.like < 0).tolist():
            kept.setdefault(keys[row], row)  # empty ones may be repeated: those are like nothing
        rows = [*kept.values()]
        updated = [known[key].doc_id for key in kept if key in known]
        unindex(self._store, updated)
        signed = new.signed if len(rows) == len(asked) else new.signed.take(np.array(rows, int))
        digests = [new.digests[row] for row in rows]
        stored = [new.stored[row] for row in rows] if self._store.settings.content else None
        metadata = [documents.metadata[asked[row]] for row in rows]
        doc_ids = self._writer.put([*kept], digests, metadata, stored, signed, known)
        like = self._keys_of(decisions, keys)
        now = map(KnownDocument, doc_ids, digests, metadata)
        known.update(zip(kept, now, strict=True))
        self.cut += decisions.cut
        is_kept = {asked[row] for row in rows}
        found = dict(
            zip(asked, zip(like, decisions.similarities.tolist(), strict=True), strict=True)
        )
        unchanged = refreshed = 0
        for i in range(begin, end):
            if i in is_kept:
                continue
            other, similarity = found.get(i, (None, 1.0))
            if other is None or other == documents.keys[i]:
                if self._update_metadata(documents, i):
                    refreshed += 1
                else:
                    unchanged += 1
                documents.drop(i, documents.keys[i], 1.0, exact=True)
            else:
                documents.drop(i, other, similarity, exact=decisions.exact)
        self.report += AddReport(
            added=len(rows) - len(updated),
            updated=len(updated) + refreshed,
            unchanged=unchanged,
            empty=len(rows) - int(np.count_nonzero(signed.shingles)),
            skipped=end - begin - len(rows) - unchanged - refreshed,
        )
        self.stored += unchanged + refreshed
        return True

    def _update_metadata(self, documents: _Documents, i: int) -> bool:
        """Give a stored document the metadata that it has now; whether it had other."""
        stored, metadata = documents.known[documents.keys[i]], documents.metadata[i]
        if stored.metadata == metadata:
            return False
        self._store.set_metadata([(stored.doc_id, metadata)])
        documents.known[documents.keys[i]] = replace(stored, metadata=metadata)
        return True

    def _keys_of(self, decisions: Decisions, keys: list[str]) -> list[str | None]:
        """The keys of the kept documents that those with these keys are like."""
        like = decisions.like
        stored, place = np.unique(like[like >= len(keys)] - len(keys), return_inverse=True)
        of_stored = self._store.keys_of(decisions.doc_ids[stored])
        found: list[str | None] = [keys[k] if 0 <= k < len(keys) else None for k in like.tolist()]
        for row, k in zip(np.flatnonzero(like >= len(keys)).tolist(), place.tolist(), strict=True):
            found[row] = of_stored[k]
        return found


class _Documents:
    """The documents of a batch, one after the other.

    Attributes:
        keys: under which they are stored.
        metadata: as stored.
        known: the stored documents that have these keys.
    """

    def __init__(self, parts: Sequence[SignedPart], store: Store, first: int | None) -> None:
        self._parts = parts
        self._store = store
        self._numbered = first is not None
        self._ends = np.cumsum([len(part.keys) for part in parts])
        self._skipped: list[Skipped | None] = [None] * int(self._ends[-1])
        self.keys = list(chain.from_iterable(part.keys for part in parts))
        self.metadata = list(
            chain.from_iterable(part.metadata_at(range(len(part.keys))) for part in parts)
        )
        self._digests = list(chain.from_iterable(part.digests for part in parts))
        self.known: dict[str, KnownDocument] = {}
        if first is not None:
            # Numbers of one width: keys then come in the order of their index.
            self.keys = [f"{n:0{_DIGITS}d} {key}" for n, key in enumerate(self.keys, first)]
        else:
            self.known = store.known(list(dict.fromkeys(self.keys)))

    def is_stored(self, i: int) -> bool:
        """Whether the database has this very document."""
        known = self.known.get(self.keys[i])
        return known is not None and known.digest == self._digests[i]

    def end_of_run(self, begin: int, cautious: bool) -> int:
        """How far one may go on from a document until a key is given other content.

        Those that replace a stored document are alone if one is cautious.
        """
        if self._numbered:
            return len(self.keys)
        given: dict[str, bytes] = {}
        for i in range(begin, len(self.keys)):
            key, digest = self.keys[i], self._digests[i]
            if given.setdefault(key, digest) != digest:
                return i
            if cautious and key in self.known and self.known[key].digest != digest:
                return max(i, begin + 1)
        return len(self.keys)

    def new(self, asked: list[int]) -> NewDocuments:
        """Some of the documents, signed."""
        part_of = np.searchsorted(self._ends, np.array(asked, dtype=np.int64), side="right")
        settings = self._store.settings
        signed = [sign([], settings)]
        stored: list[str] = []
        for number, part in enumerate(self._parts):
            begin = int(self._ends[number]) - len(part.keys)
            low, high = np.searchsorted(part_of, [number, number + 1]).tolist()
            places = [i - begin for i in asked[low:high]]
            if not places:
                continue
            signed.append(signatures_of(part, places, settings))
            if settings.content:
                stored += [part.stored[place] for place in places]
        own = [self.known[self.keys[i]].doc_id if self.keys[i] in self.known else -1 for i in asked]
        return NewDocuments(
            Signed(
                np.concatenate([one.signatures for one in signed]),
                np.concatenate([one.shingles for one in signed]),
                np.concatenate([one.bucket_keys for one in signed]),
                settings.construction,
            ),
            [self._digests[i] for i in asked],
            stored,
            np.array(own, dtype=np.int64),
        )

    def drop(self, i: int, kept: str, similarity: float, *, exact: bool) -> None:
        """Leave a document out."""
        key = self.keys[i]
        if self._numbered:
            key, kept = key[_DIGITS + 1 :], kept[_DIGITS + 1 :]
        self._skipped[i] = Skipped(key, kept, similarity, exact)

    def skipped(self) -> list[list[Skipped | None]]:
        """For each document of each part why it is left out."""
        bounds = [0, *self._ends.tolist()]
        return [self._skipped[low:high] for low, high in pairwise(bounds)]
