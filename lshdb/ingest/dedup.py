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

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Final, Protocol, get_args

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.writing import Writer, numbered_keys, signatures_of, unindex, without_number
from lshdb.model import AddReport, OnSimilar, Settings, Skipped
from lshdb.search.similarity import Estimates, Exact, Scorer, first_of_equal
from lshdb.sketching.signing import Signed, sign
from lshdb.sources.metadata import picked
from lshdb.store.store import KnownDocument, Store

_32: Final = 32

Numbers = npt.NDArray[np.int64]


class Known(Protocol):
    """Documents that others are compared with besides those of the file that they go to."""

    def similar(
        self, parts: Sequence[SignedPart], settings: Settings, selection: Selection
    ) -> tuple[list[Skipped | None], int]:
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


@dataclass(frozen=True, slots=True)
class Selected:
    """The results of a batch.

    Attributes:
        report: of its documents.
        skipped: for each document of each part None if it is kept, else the kept one that is most
            similar to it: itself, if the database has it already.
        cut: how many were kept although compared with only a part of a bucket.
        stored: how many were stored already, with their content.
    """

    report: AddReport
    skipped: list[list[Skipped | None]]
    cut: int
    stored: int


def write_selected(
    store: Store,
    parts: Sequence[SignedPart],
    selection: Selection,
    first: int | None = None,
    left_out: Sequence[Skipped | None] = (),
) -> Selected:
    """Write the kept documents of a batch, in the transaction of the caller.

    With `first`, keys may be repeated: they are stored with a number before them, from `first` on.
    The file must then be used by this process only. Documents that are `left_out` already, because
    of another file, change nothing here.
    """
    fields = selection.fields
    keys = list(chain.from_iterable(part.keys for part in parts))
    digests = list(chain.from_iterable(part.digests for part in parts))
    metadata = list(chain.from_iterable(part.metadata_at(range(len(part.keys))) for part in parts))
    known: dict[str, KnownDocument] = {}
    given = keys
    if first is None:
        known = store.known(list(dict.fromkeys(keys)))
    else:
        keys = numbered_keys(keys, first)
    # A document that is stored unchanged needs no decision, and may have no signature.
    changed: dict[str, None] = {}
    places: list[int] = []
    for place, (key, digest) in enumerate(zip(keys, digests, strict=True)):
        if left_out and left_out[place] is not None:
            continue
        if key in changed or key not in known or known[key].digest != digest:
            changed[key] = None
            places.append(place)
    new = _new_documents(parts, places, store)
    own = [known[keys[i]].doc_id if keys[i] in known else -1 for i in places]
    kept = _Kept(store, new, selection, own)
    if first is None and store.last_decision():
        kept.part([(keys[i], digests[i]) for i in places])
    versions = dict(known)
    rows: dict[str, int] = {}  # of the last kept version of a key
    numbers = iter(range(len(places)))
    skipped: list[Skipped | None] = [None] * len(keys)
    like: dict[int, tuple[int, float, bool]] = {}
    next_id = store.last_doc_id() + 1
    unchanged = refreshed = updated = empty = cut = 0
    waiting = iter(places)
    next_place = next(waiting, -1)
    for place, (key, digest) in enumerate(zip(keys, digests, strict=True)):
        if left_out and left_out[place] is not None:
            skipped[place] = left_out[place]
            continue
        row = -1
        if place == next_place:
            row, next_place = next(numbers), next(waiting, -1)
        version = versions.get(key)
        if version is not None and version.digest == digest:
            if version.metadata == metadata[place]:
                unchanged += 1
            else:
                refreshed += 1
                versions[key] = replace(version, metadata=metadata[place])
            same = Skipped(given[place], given[place], 1.0, True, True)
            skipped[place] = with_fields(same, fields, metadata[place], version.metadata)
            continue
        found = kept.most_similar(row, None if version is None else version.doc_id)
        if found is not None:
            like[place] = *found, kept.identical(row, found[0])
            continue
        doc_id = next_id if version is None else version.doc_id
        cut += kept.keep(row, doc_id, replaces=version is not None)
        next_id += version is None
        updated += version is not None
        empty += not new.signed.shingles[row]
        versions[key] = KnownDocument(doc_id, digest, metadata[place])
        rows[key] = row
    _write(store, new, rows, versions, known)
    others = [number for number, _, _ in like.values()]
    names = kept.of_stored(others, store.keys_of)
    of_others = kept.of_stored(others, store.metadata_of) if fields else names
    found_of = zip(like.items(), names, of_others, strict=True)
    for (place, (number, similarity, identical)), name, stored in found_of:
        if name is None:
            other, stored = given[places[number]], metadata[places[number]]
        else:
            other = name if first is None else without_number(name)
        one = Skipped(given[place], other, similarity, kept.exact, identical)
        skipped[place] = with_fields(one, fields, metadata[place], stored)
    report = AddReport(
        added=len(rows.keys() - known.keys()),
        updated=updated + refreshed,
        unchanged=unchanged,
        empty=empty,
        skipped=len(like) + sum(one is not None for one in left_out),
        failed=sum(len(part.failures) for part in parts),
        replaced=sum(part.replaced for part in parts),
    )
    ends = accumulate((len(part.keys) for part in parts), initial=0)
    by_part = [skipped[low:high] for low, high in pairwise(ends)]
    return Selected(report, by_part, cut, unchanged + refreshed)


def with_fields(one: Skipped, fields: Sequence[str], own: str | None, its: str | None) -> Skipped:
    """A document left out, with fields of its metadata and of the kept one's, if any are given."""
    if not fields:
        return one
    return replace(one, metadata=picked(own, fields), kept_metadata=picked(its, fields))


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
    ends = np.cumsum([len(part.keys) for part in parts])
    bounds = np.searchsorted(places, ends).tolist()
    for part, end, low, high in zip(parts, ends.tolist(), [0, *bounds], bounds, strict=False):
        own = [place - end + len(part.keys) for place in places[low:high]]
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
        if old:
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
        same = first_of_equal(np.concatenate([own_digests, digests]))
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
        self, numbers: list[int], read: Callable[[Numbers], Iterable[str | None]]
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
    doc_ids: Numbers

    def contents(self, numbers: Numbers) -> list[str]:
        """The stored forms of documents int64[n], ascending."""
        new, old = self._parted(numbers)
        return [self.new.stored[i] for i in new.tolist()] + [*self.store.contents(old)]

    def signatures(self, numbers: Numbers) -> npt.NDArray[np.uint32]:
        """The signatures uint32[n, k] of documents int64[n], ascending."""
        new, old = self._parted(numbers)
        own = self.new.signed.signatures[new]
        return np.concatenate([own, self.store.signatures_of(old)]) if len(old) else own

    def _parted(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """The numbers of new documents, and the doc_ids of the stored ones."""
        n = len(self.new.digests)
        return numbers[numbers < n], self.doc_ids[numbers[numbers >= n] - n]
