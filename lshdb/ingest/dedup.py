"""Writing only documents of a batch that are not similar to a kept one.

Documents are decided on in order, each as if all before it were written already. One is left out
if it shares a bucket with a kept one, stored or earlier in the batch, and has the minimum
similarity to it or more; else it is kept. A document whose key is stored replaces that document:
it is not compared with its old version, which stays if the new one is left out.

Of each bucket, only the first `dedup_listed` kept documents are compared: in a bucket that a common
header fills, every document would be a candidate of every other. The result depends only on the
order of documents, not on how they are cut into batches.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Protocol, get_args

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.writing import Writer, numbered_keys, signatures_of, unindex, without_number
from lshdb.model import AddReport, DroppedRow, OnSimilar, Settings
from lshdb.search.similarity import Estimates, Exact, Scorer, canonical_ids
from lshdb.sketching.signing import Signed, sign
from lshdb.sources.metadata import picked
from lshdb.sources.records import Where
from lshdb.store.store import KnownDocument, Store

_LINE_BITS: Final = 40
"""Of a place for the number of a line; the others are for that of the file."""
_OWN_KEY: Final = -1
"""The place of a text file."""

IntArray = npt.NDArray[np.int64]


class Known(Protocol):
    """Documents that others are compared with besides those of the file that they go to."""

    def similar(
        self, parts: Sequence[SignedPart], settings: Settings, selection: Selection
    ) -> tuple[list[DroppedRow | None], int]:
        """The documents of parts that are left out, None for the others.

        Args:
            parts: documents, with their stored forms.
            settings: of the database that they were signed for.
            selection: the rule.

        Returns:
            One for each document; and how many of those not left out were compared with only a
            part of a large bucket.
        """


@dataclass(frozen=True, slots=True)
class Selection:
    """How to add only documents that are not similar to a kept one.

    Attributes:
        threshold: the minimum similarity to drop a document; None for the database's.
        estimate: whether signatures decide even where contents are kept.
        keep_blocks: whether the outcomes include the blocks.
        against: documents similar to one of these are left out, too.
        fields: of metadata, which the outcomes include for documents left out.
    """

    threshold: float | None = None
    estimate: bool = False
    keep_blocks: bool = False
    against: Known | None = None
    fields: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(f"threshold {self.threshold:g} is not above 0 and at most 1")

    def least(self, settings: Settings) -> float:
        """The minimum similarity to drop a document in a database of these settings."""
        return settings.threshold if self.threshold is None else self.threshold


def selection_for(on_similar: OnSimilar) -> Selection | None:
    """The rule for `on_similar`: None to keep all; UsageError if it is neither keep nor skip."""
    if on_similar not in get_args(OnSimilar):
        raise UsageError(f"on_similar {on_similar!r} is not {' or '.join(get_args(OnSimilar))}")
    return Selection() if on_similar == "skip" else None


class Places:
    """Where documents are from, by their doc_ids: 8 bytes for each of a run."""

    def __init__(self, first: int) -> None:
        """None yet; `first` is the first doc_id of the run."""
        self._first = first
        self._files: dict[str | None, int] = {None: 0}
        self._names: list[str | None] = [None]
        self._new = array("q")
        self._replaced: dict[int, int] = {}  # documents of lower doc_ids

    def add(self, doc_id: int, where: Where) -> None:
        """Note where a document is from."""
        file, line = where
        # A text file is its own key, and the names of millions take room.
        place = 0 if file is None else _OWN_KEY
        if line is not None:
            if file not in self._files:
                self._files[file] = len(self._names)
                self._names.append(file)
            place = self._files[file] << _LINE_BITS | line
        if doc_id < self._first:
            self._replaced[doc_id] = place
            return
        self._new.extend([0] * (doc_id - self._first - len(self._new)))  # added by others
        self._new.append(place)

    def at(self, doc_id: int) -> int:
        """The place of a document, for `where`; 0 if it is not of this run."""
        index = doc_id - self._first
        if 0 <= index < len(self._new):
            return self._new[index]
        return self._replaced.get(doc_id, 0)

    def where(self, place: int, key: str) -> Where:
        """Where a document of a place and key is from."""
        if place == _OWN_KEY:
            return key, None
        line = place & (1 << _LINE_BITS) - 1
        return self._names[place >> _LINE_BITS], line or None


class Selecting:
    """Writes the kept documents of one batch after the other.

    Attributes:
        cut: how many were kept so far although compared with only a part of a bucket.
        any_new: whether the last batch had documents that were not stored already.
    """

    def __init__(self, store: Store, selection: Selection, *, numbered: bool) -> None:
        """Begin.

        Args:
            store: to which they are added.
            selection: the rule.
            numbered: whether keys may be repeated: they are stored with a number before them. The
                file must then be used by this process only.
        """
        self._store, self._selection, self._numbered = store, selection, numbered
        self._count = 0
        self._places = Places(store.last_doc_id() + 1)
        self.cut = 0
        self.any_new = True

    def write(
        self, parts: Sequence[SignedPart], left_out: Sequence[DroppedRow | None] = ()
    ) -> tuple[AddReport, list[DroppedRow | None]]:
        """Write the kept documents of a batch, in the transaction of the caller.

        Documents that are `left_out` already, because of another file, change nothing here.

        Returns:
            The report, and for each document None if it is kept, else why not; for itself, if the
            database has it already.
        """
        store, fields = self._store, self._selection.fields
        given = [*chain.from_iterable(part.keys for part in parts)]
        digests = [*chain.from_iterable(part.digests for part in parts)]
        metadata = [*chain.from_iterable(part.all_metadata() for part in parts)]
        where = [*chain.from_iterable(part.where() for part in parts)]
        keys, known = given, dict[str, KnownDocument]()
        if self._numbered:
            keys = numbered_keys(given, self._count)
            self._count += len(keys)
        else:
            known = store.known(list(dict.fromkeys(keys)))
        dropped = list(left_out) or [None] * len(keys)
        # A document that is stored unchanged needs no decision, and may have no signature.
        changed: set[str] = set()
        indices: list[int] = []
        for i, (key, digest) in enumerate(zip(keys, digests, strict=True)):
            if dropped[i] is None and (
                key in changed or key not in known or known[key].digest != digest
            ):
                changed.add(key)
                indices.append(i)
        new = _new_documents(parts, indices, store)
        own = [known[keys[i]].doc_id if keys[i] in known else -1 for i in indices]
        kept = _Kept(store, new, self._selection, own)
        if not self._numbered and store.last_decision():
            kept.part([(keys[i], digests[i]) for i in indices])
        versions = dict(known)
        rows: dict[str, int] = {}  # of the last kept version of a key
        row_at = {i: row for row, i in enumerate(indices)}
        like: list[tuple[int, int, float, int]] = []  # number and place of the kept one
        next_id = store.last_doc_id() + 1
        unchanged = updated = empty = stored = 0

        def drop(
            i: int, key: str, place: int, how: tuple[float, bool, bool], its: str | None
        ) -> None:
            (file, line), (kept_file, kept_line) = where[i], self._places.where(place, key)
            both = both_fields(fields, metadata[i], its)
            dropped[i] = DroppedRow(given[i], file, line, key, kept_file, kept_line, *how, *both)

        for i, (key, digest) in enumerate(zip(keys, digests, strict=True)):
            if dropped[i] is not None:
                continue
            version = versions.get(key)
            if version is not None and version.digest == digest:
                place = self._places.at(version.doc_id)
                drop(i, given[i], place, (1.0, True, True), version.metadata)
                stored += 1
                if version.metadata == metadata[i]:
                    unchanged += 1
                else:
                    updated += 1
                    versions[key] = replace(version, metadata=metadata[i])
                continue
            row = row_at[i]
            found = kept.most_similar(row, None if version is None else version.doc_id)
            if found is not None:
                like.append((i, *found, self._places.at(kept.doc_id(found[0]))))
                continue
            doc_id = next_id if version is None else version.doc_id
            self.cut += kept.keep(row, doc_id, replaces=version is not None)
            self._places.add(doc_id, where[i])
            next_id += version is None
            updated += version is not None
            empty += not new.signed.shingles[row]
            versions[key] = KnownDocument(doc_id, digest, metadata[i])
            rows[key] = row
        _write(store, new, rows, versions, known)
        numbers = [number for _, number, _, _ in like]
        names = kept.of_stored(numbers, store.keys_of)
        of_others = kept.of_stored(numbers, store.metadata_of) if fields else names
        for (i, number, similarity, place), name, its in zip(like, names, of_others, strict=True):
            if name is None:  # of this batch
                name, its = given[indices[number]], metadata[indices[number]]
            elif self._numbered:
                name = without_number(name)
            identical = kept.identical(row_at[i], number)
            drop(i, name, place, (similarity, kept.exact, identical), its)
        report = AddReport(
            added=len(rows.keys() - known.keys()),
            updated=updated,
            unchanged=unchanged,
            empty=empty,
            skipped=len(like) + sum(one is not None for one in left_out),
            failed=sum(len(part.failures) for part in parts),
            replaced=sum(part.replaced for part in parts),
        )
        self.any_new = stored < report.documents
        return report, dropped


def both_fields(
    fields: Sequence[str], own: str | None, its: str | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The fields of the metadata of a dropped row and of the kept one; None if none is wanted."""
    return (picked(own, fields), picked(its, fields)) if fields else (None, None)


@dataclass(frozen=True, slots=True)
class _NewDocuments:
    """The n documents to decide on, in order.

    Attributes:
        signed: their signatures.
        digests: of their contents.
        stored: their stored forms; empty if the database keeps no content.
    """

    signed: Signed
    digests: list[bytes]
    stored: list[str]


def _new_documents(parts: Sequence[SignedPart], places: list[int], store: Store) -> _NewDocuments:
    """The documents at some places, ascending."""
    settings = store.settings
    signed = [sign([], settings)]
    digests: list[bytes] = []
    stored: list[str] = []
    first = low = 0
    for part in parts:
        high = bisect_left(places, first + len(part.keys), low)
        own = [place - first for place in places[low:high]]
        first, low = first + len(part.keys), high
        if own:
            signed.append(signatures_of(part, own, settings))
            digests += [part.digests[place] for place in own]
            stored += [part.stored[place] for place in own] if settings.content else []
    return _NewDocuments(Signed.joined(signed), digests, stored)


def _write(
    store: Store,
    new: _NewDocuments,
    rows: dict[str, int],
    versions: dict[str, KnownDocument],
    known: dict[str, KnownDocument],
) -> None:
    """Write the kept documents, and the new metadata of those that were stored already."""
    if rows:
        own = [*rows.values()]
        old = [known[key].doc_id for key in rows if key in known]
        unindex(store, old)
        writer = Writer(store)
        writer.put(
            [*rows],
            [new.digests[row] for row in own],
            [versions[key].metadata for key in rows],
            [new.stored[row] for row in own] if store.settings.content else None,
            new.signed.take(np.array(own)),
            known,
        )
        writer.finish()
    store.set_metadata(
        [
            (version.doc_id, version.metadata)
            for key, version in versions.items()
            if key not in rows and version.metadata != known[key].metadata
        ]
    )


class _Kept:
    """The kept documents, in the buckets that n new ones share with them or with each other.

    Numbers 0 to n - 1 are the new documents in their order, the others are stored.

    Attributes:
        exact: whether similarities are exact.
    """

    def __init__(
        self, store: Store, new: _NewDocuments, selection: Selection, own: list[int]
    ) -> None:
        """Look up the stored ones; `own` are doc_ids of those with the keys of the new, or -1."""
        n = len(new.digests)
        self._store = store
        self._own = own
        self._listed = store.limits.dedup_listed
        most = self._listed + 1 + sum(doc_id >= 0 for doc_id in own)  # left after updates
        self._members: list[list[int]] = []  # of each bucket, in the order of their doc_ids
        self._buckets: list[list[int]] = [[] for _ in range(n)]  # of each document
        filled = np.flatnonzero(new.signed.shingles)
        own_ids = np.array(own, dtype=np.int64)
        owners, found = [filled[:0]], [filled[:0]]
        for band in range(new.signed.bucket_keys.shape[1]):
            keys, first, key_of, count = np.unique(
                new.signed.bucket_keys[filled, band],
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            owner, doc_ids = store.first_of_buckets(band, keys, most)
            # A bucket of only a document and its old version does not count.
            alone = (count == 1) & (np.bincount(owner, minlength=len(keys)) == 1)
            others = ~alone[owner] | (own_ids[filled[first[owner]]] != doc_ids)
            owner, doc_ids = owner[others], doc_ids[others]
            shared = count > 1
            shared[owner] = True
            bucket = np.cumsum(shared) - 1 + len(self._members)
            inside = shared[key_of]
            pairs = zip(filled[inside].tolist(), bucket[key_of[inside]].tolist(), strict=True)
            for number, its in pairs:
                self._buckets[number].append(its)
            self._members += ([] for _ in range(np.count_nonzero(shared)))
            owners.append(bucket[owner])
            found.append(doc_ids)
        self._doc_ids, place = np.unique(np.concatenate(found), return_inverse=True)
        self._order = [0] * n + self._doc_ids.tolist()
        self._number = {doc_id: n + i for i, doc_id in enumerate(self._doc_ids.tolist())}
        self._buckets += ([] for _ in self._number)
        stored = zip(np.concatenate(owners).tolist(), (place + n).tolist(), strict=True)
        for its, number in stored:
            self._members[its].append(number)
            self._buckets[number].append(its)
        shingles, digests = store.sizes(self._doc_ids)
        own_digests = np.frombuffer(b"".join(new.digests), dtype=digests.dtype)
        same = canonical_ids(np.concatenate([own_digests, digests]))
        self._same = same.tolist()
        self._different: dict[int, set[int]] = {}
        self._replaced = False
        self._equal: dict[int, int] = {}
        self._until = 0  # where the next block begins
        self._compared: dict[int, set[int]] = {}
        self._similar: dict[int, dict[int, float]] = {}
        self._least = selection.least(store.settings)
        self.exact = store.settings.content and not selection.estimate
        self._all_same = same
        sources = _Sources(store, new, self._doc_ids)
        numbers, lanes = np.arange(len(same)), store.settings.permutations
        self._estimates = Estimates(sources.signatures, numbers, same, lanes, store.limits)
        self._scorer: Scorer = self._estimates
        if self.exact:
            sizes = np.concatenate([new.signed.shingles, shingles])
            self._scorer = Exact(
                sources.contents, numbers, same, sizes, store.settings, store.limits
            )

    def most_similar(self, number: int, own: int | None) -> tuple[int, float] | None:
        """The kept document most similar to a new one, and how similar; None to keep the new one.

        Its `own` doc_id is that of its old version, which does not count.
        """
        if not self._buckets[number]:
            return None
        same = self._same[number]
        different = self._different.get(number, set())
        if (
            not self._replaced
            and same in self._equal
            and self._order[self._equal[same]] != own
            and self._equal[same] not in different
        ):
            return self._equal[same], 1.0
        if number >= self._until:
            self._compare_block(number)
        candidates = self._candidates(number) - different
        if own is not None:
            candidates.discard(self._number.get(own, -1))
        if not candidates <= self._compared[same]:
            self._compare({same: candidates - self._compared[same]})
            self._compared[same] |= candidates
        found = [
            (-similarity, self._order[other], other)
            for other, similarity in self._similar.get(same, {}).items()
            if other in candidates
        ]
        if not found:
            return None
        similarity, _, other = min(found)
        if similarity == -1:
            self._equal[same] = other
        return other, -similarity

    def part(self, documents: list[tuple[str, bytes]]) -> None:
        """Respect decisions: documents marked different are not duplicates of each other.

        Args:
            documents: the keys and digests of the new ones.
        """
        numbers: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
        for number, document in enumerate(documents):
            numbers[document].append(number)
        for document, other, doc_id in self._store.different_from([*dict(documents)]):
            others = {*numbers.get(other, ()), self._number.get(doc_id, -1)}
            for number in numbers.get(document, ()):
                self._different.setdefault(number, set()).update(others)

    def doc_id(self, number: int) -> int:
        """The doc_id of a kept document."""
        doc_id: int = self._order[number]
        return doc_id

    def identical(self, one: int, other: int) -> bool:
        """Whether two documents have the same content."""
        return bool(self._same[one] == self._same[other])

    def keep(self, number: int, doc_id: int, *, replaces: bool) -> bool:
        """Keep a document; return whether some earlier ones in its buckets were not compared."""
        buckets = self._buckets[number]
        cut = any(len(self._members[its]) > self._listed for its in buckets)
        if replaces:
            self._replaced = True
            if (old := self._number.get(doc_id)) is not None:
                for its in self._buckets[old]:
                    self._members[its].remove(old)
        self._number[doc_id] = number
        self._order[number] = doc_id
        for its in buckets:
            members = self._members[its]
            if replaces:
                insort(members, number, key=self._order.__getitem__)
            else:
                members.append(number)
            if len(members) <= self._listed:
                # No earlier document equals it, or it would not be kept.
                self._equal[self._same[number]] = number
        return cut

    def of_stored(
        self, numbers: list[int], read: Callable[[IntArray], Iterable[str | None]]
    ) -> list[str | None]:
        """What is read of stored documents, by their doc_ids; None for new ones."""
        n = len(self._order) - len(self._doc_ids)
        stored, place = np.unique([i - n for i in numbers if i >= n], return_inverse=True)
        found = [*read(self._doc_ids[stored.astype(np.int64)])]
        places = iter(place.tolist())
        return [found[next(places)] if i >= n else None for i in numbers]

    def _candidates(self, number: int) -> set[int]:
        return set().union(*(self._members[its][: self._listed] for its in self._buckets[number]))

    def _compare_block(self, first: int) -> None:
        """Compare documents from the first on with all that may be needed.

        That assumes that all earlier documents of the block are kept, or the first of copies.
        """
        self._similar = {}
        block: defaultdict[int, list[int]] = defaultdict(list)
        wanted: dict[int, set[int]] = {}
        pairs = 0
        last = min(
            first + self._store.limits.dedup_documents, len(self._order) - len(self._doc_ids)
        )
        for number in range(first, last):
            same = self._same[number]
            if same in wanted or not self._buckets[number]:
                continue
            if same in self._equal and not self._replaced:
                wanted[same] = set()
                continue
            found = self._candidates(number)
            for its in self._buckets[number]:
                found.update(block[its])
                if len(self._members[its]) + len(block[its]) < self._listed:
                    block[its].append(number)
            found.discard(self._number.get(self._own[number], -1))
            wanted[same] = found
            pairs += len(found)
            if pairs >= self._store.limits.dedup_pairs:
                last = number + 1
                break
        self._until = last
        self._compared = wanted
        self._compare(wanted)

    def _compare(self, wanted: dict[int, set[int]]) -> None:
        """Find the documents among others that are similar to given ones."""
        counts = [len(others) for others in wanted.values()]
        one = np.repeat(np.array([*wanted], dtype=np.int64), counts)
        other = np.fromiter(chain.from_iterable(wanted.values()), np.int64, sum(counts))
        scores = self._scorer.scores(one, self._all_same[other], self._least)
        similar = np.flatnonzero(scores >= self._least)
        construction = self._store.settings.construction
        if construction.higher:
            # In a cascade, sharing one bucket is not enough for a candidate.
            share = self._estimates.share_bucket(one[similar], other[similar], construction)
            similar = similar[share]
        found = zip(
            one[similar].tolist(), other[similar].tolist(), scores[similar].tolist(), strict=True
        )
        for number, its, score in found:
            self._similar.setdefault(number, {})[its] = score


@dataclass(frozen=True, slots=True)
class _Sources:
    """Reads new and stored documents, by their numbers.

    Not methods of `_Kept`: its scorer holds these, and a circle of references would keep the
    shingles of one batch, 200 MB, in memory while the next one is compared.

    Attributes:
        store: of the stored ones.
        new: the n new ones, which have the numbers below n.
        doc_ids: int64[m], of the stored ones in the order of their numbers.
    """

    store: Store
    new: _NewDocuments
    doc_ids: IntArray

    def contents(self, numbers: IntArray) -> list[str]:
        """The stored forms of documents int64[n], ascending."""
        new, old = self._parted(numbers)
        return [self.new.stored[i] for i in new.tolist()] + [*self.store.contents(old)]

    def signatures(self, numbers: IntArray) -> npt.NDArray[np.uint32]:
        """The signatures uint32[n, k] of documents int64[n], ascending."""
        new, old = self._parted(numbers)
        own = self.new.signed.signatures[new]
        return np.concatenate([own, self.store.signatures_of(old)]) if len(old) else own

    def _parted(self, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """The numbers of new documents, and the doc_ids of the stored ones."""
        n = len(self.new.digests)
        return numbers[numbers < n], self.doc_ids[numbers[numbers >= n] - n]
