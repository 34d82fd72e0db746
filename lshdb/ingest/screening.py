"""Which of the documents to be added are similar to one that is kept.

Documents come in order. One is dropped if it shares a bucket with a kept one (stored, or earlier
among these) that is listed there (lshdb.ingest.listing) and has the minimum similarity or more;
else it is kept. So no two of those kept are similar, as far as the index shows, and it does not
matter how the documents are cut into batches.

All candidates are found and verified in blocks, as if every document were kept; only then, over
the few similar pairs, it is decided document by document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.ingest.listing import LISTED, Listing, Mask, Numbers
from lshdb.model import OnSimilar
from lshdb.search.verifying import Estimates, Exact, Scorer
from lshdb.sketching.signing import Signed
from lshdb.store.store import Store

_BLOCK: Final = 1000
_BLOCK_WITH_UPDATES: Final = 200
"""Documents decided in one go; copies among those of the latter take quadratic time."""
_32: Final = 32
_LOW: Final = (1 << _32) - 1

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Screening:
    """What is asked of lshdb.ingest.screening.

    Attributes:
        threshold: the similarity from which on a document is dropped; None for the database's.
        estimate: whether signatures decide even where contents are kept.
    """

    threshold: float | None = None
    estimate: bool = False

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(f"threshold {self.threshold:g} is not above 0 and at most 1")


def screening(on_similar: OnSimilar) -> Screening | None:
    """What `on_similar` asks for: None to keep all; UsageError if it is neither keep nor skip."""
    if on_similar not in get_args(OnSimilar):
        raise UsageError(f"on_similar {on_similar!r} is not {' or '.join(get_args(OnSimilar))}")
    return Screening() if on_similar == "skip" else None


@dataclass(frozen=True, slots=True)
class NewDocuments:
    """The documents to be decided on, in order; n of them.

    Attributes:
        signed: their signatures.
        digests: of their contents.
        stored: their stored forms; none where they are not needed.
        own: int64[n], the doc_id of the stored document that each will replace; -1 where it is new.
    """

    signed: Signed
    digests: list[bytes]
    stored: list[str]
    own: Numbers


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was decided.

    Attributes:
        like: int64[n], the number of the kept document that each one resembles most; -1 where it
            is itself kept.
        similarities: float64[n], to that.
        exact: whether these are exact.
        doc_ids: of the stored documents: number n + i is doc_ids[i].
        cut: how many kept documents were compared with a part of a bucket only.
    """

    like: Numbers
    similarities: Scores
    exact: bool
    doc_ids: Numbers
    cut: int


def decide(store: Store, new: NewDocuments, asked: Screening) -> Decisions | None:
    """Decide on documents, within the transaction that will write them.

    Returns:
        None where documents that replace stored ones (`own`) must be decided on one by one: they
        change which documents a full bucket lists.
    """
    listing = Listing(new.signed.bucket_keys, new.signed.shingles > 0, store.first_of_buckets)
    replaces = bool((new.own >= 0).any())
    if replaces and listing.may_overflow and len(new.own) > 1:
        return None
    decider = _Decider(store, new, asked, listing)
    size = _BLOCK_WITH_UPDATES if replaces else _BLOCK
    first = 0
    while first < len(new.own):
        first = decider.decide(first, min(first + size, len(new.own)))
    return Decisions(
        decider.like, decider.similarities, decider.exact, listing.doc_ids, decider.cut
    )


class _Decider:
    """Decides block by block."""

    def __init__(self, store: Store, new: NewDocuments, asked: Screening, listing: Listing) -> None:
        n = len(new.own)
        self._listing = listing
        own = store.settings.threshold
        self._least = own if asked.threshold is None else asked.threshold
        self.like = np.full(n, -1)
        self.similarities = np.zeros(n)
        self.cut = 0
        shingles, digests = store.sizes(listing.doc_ids)
        joined = np.frombuffer(b"".join([*new.digests, *digests]), dtype="V16")
        _, first, of_document = np.unique(joined, return_index=True, return_inverse=True)
        self._same: Numbers = first[of_document]
        # A copy of an earlier document need not be compared with: if that is kept, both are not.
        self._source: Mask = self._same[:n] == np.arange(n)
        self._source |= new.signed.shingles == 0
        self._order = np.concatenate([np.arange(n) + (1 << 62), listing.doc_ids])
        updates = new.own >= 0
        self._order[:n][updates] = new.own[updates]
        place = np.searchsorted(listing.doc_ids, new.own).clip(max=max(0, len(listing.doc_ids) - 1))
        self._own = np.full(n, -1)
        if len(listing.doc_ids):
            there = updates & (listing.doc_ids[place] == new.own)
            self._own[there] = place[there] + n
        self._gone = np.zeros(n + len(listing.doc_ids), dtype=np.bool_)
        reader = _Reader(store, new, listing.doc_ids)
        self._construction = store.settings.construction
        # The buckets tell candidates by themselves only where there is no level above them.
        self._cascade: Estimates | None = None
        if self._construction.higher:
            self._cascade = Estimates(reader, np.arange(len(self._same)), self._same)
        self.exact = store.settings.content and not asked.estimate
        self._scorer: Scorer
        if self.exact:
            sizes = np.concatenate([new.signed.shingles, shingles])
            numbers = np.arange(len(sizes))
            self._scorer = Exact(reader, numbers, self._same, sizes, store.settings)
        else:
            self._scorer = Estimates(reader, np.arange(len(self._same)), self._same)

    def decide(self, first: int, last: int) -> int:
        """Decide on the documents from `first` to `last`, or to where the returned number says."""
        documents = np.arange(first, last)
        keys = self._listing.candidates(documents)
        keys = keys[~self._gone[keys & _LOW]]
        among = self._listing.candidates_among(documents, self._source[first:last])
        keys = np.concatenate([keys, among])
        one, other, scores = self._similar(keys >> _32, keys & _LOW)
        last = self._take(first, last, one, other, scores)
        kept = np.flatnonzero(self.like[first:last] < 0) + first
        cut, nowhere = self._listing.add(kept)
        self.cut += int(cut.sum())
        if nowhere.any():
            # Nobody is compared with these, so that copies of them are kept.
            self._source |= np.isin(self._same[: len(self._source)], self._same[kept[nowhere]])
        return last

    def _similar(self, one: Numbers, other: Numbers) -> tuple[Numbers, Numbers, Scores]:
        """Those of the pairs int64[c] that are similar, the best of each document first."""
        others = other != self._own[one]
        one, other = one[others], other[others]
        # Copies are compared once.
        keys = self._same[one] << _32 | self._same[other]
        pairs, of_pair = np.unique(keys, return_inverse=True)
        scores = self._scorer.scores(pairs >> _32, pairs & _LOW, self._least)
        enough = scores >= self._least
        if self._cascade is not None:
            a, b = pairs[enough] >> _32, pairs[enough] & _LOW
            enough[enough] = self._cascade.share_bucket(a, b, self._construction)
        similar, scores = enough[of_pair], scores[of_pair]
        one, other, scores = one[similar], other[similar], scores[similar]
        order = np.lexsort((self._order[other], -scores, one))
        return one[order], other[order], scores[order]

    def _take(self, first: int, last: int, one: Numbers, other: Numbers, scores: Scores) -> int:
        """Go through the documents in order; how far that could be done."""
        documents = np.arange(first, last)
        filling = self._listing.filling(documents)
        places = _Places(self._listing, filling, first) if filling.any() else None
        bounds = np.searchsorted(one, np.arange(first, last + 1)).tolist()
        if places is None:
            # The others have nothing similar, and are kept.
            replaces = np.flatnonzero(self._own[first:last] >= 0) + first
            documents = np.union1d(one, replaces)
        others, found = other.tolist(), scores.tolist()
        for d in documents.tolist():
            for at in range(bounds[d - first], bounds[d - first + 1]):
                k = others[at]
                if self._gone[k]:
                    continue
                if first <= k < d and (
                    self.like[k] >= 0 or (places is not None and not places.share(d, k))
                ):
                    continue
                self.like[d], self.similarities[d] = k, found[at]
                break
            else:
                if not self._source[d]:
                    # A copy of a dropped document that now is to be kept, so others must be
                    # compared with it: go on from here.
                    self._source |= self._same[: len(self._source)] == self._same[d]
                    return d
                if self._own[d] >= 0:
                    self._gone[self._own[d]] = True
                if places is not None:
                    places.take(d)
        return last


class _Places:
    """Who is listed in the buckets that are filled up within a block."""

    def __init__(self, listing: Listing, filling: Mask, first: int) -> None:
        self._filling = set(np.flatnonzero(filling).tolist())
        self._left = {g: LISTED - int(listing.listed[g]) for g in self._filling}
        self._listing = listing
        self._listed: dict[int, set[int]] = {}
        self._first = first

    def take(self, document: int) -> None:
        """Let a kept document take its places."""
        own = set()
        for g in self._listing.bucket[document].tolist():
            if g in self._filling and self._left[g] > 0:
                self._left[g] -= 1
                own.add(g)
        self._listed[document] = own

    def share(self, document: int, kept: int) -> bool:
        """Whether a document is in a bucket in which a kept one of the block is listed."""
        bucket = self._listing.bucket
        both = bucket[document][(bucket[document] == bucket[kept]) & (bucket[kept] >= 0)].tolist()
        own = self._listed[kept]
        return any(
            g in own if g in self._filling else self._listing.listed[g] < LISTED for g in both
        )


class _Reader:
    """Reads new and stored documents by their numbers, for lshdb.search.verifying."""

    def __init__(self, store: Store, new: NewDocuments, doc_ids: Numbers) -> None:
        self.lanes = store.settings.permutations
        self._store = store
        self._new = new
        self._doc_ids = doc_ids

    def contents(self, numbers: Numbers) -> list[str]:
        """The stored forms of documents int64[n], ascending."""
        new, old = self._parted(numbers)
        found = [self._new.stored[i] for i in new.tolist()]
        if len(old):
            found += self._store.contents(self._doc_ids[old])
        return found

    def signatures(self, numbers: Numbers) -> npt.NDArray[np.uint32]:
        """The signatures uint32[n, k] of documents int64[n], ascending."""
        new, old = self._parted(numbers)
        own = self._new.signed.signatures[new]
        if not len(old):
            return own
        return np.concatenate([own, self._store.signatures(self._doc_ids[old])[1]])

    def _parted(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        n = len(self._new.own)
        return numbers[numbers < n], numbers[numbers >= n] - n
