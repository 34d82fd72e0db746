"""Writing only documents of a batch that are not similar to a kept one.

Documents are decided on in order, each as if all before it were written already. One is left out
if it shares a bucket with a kept one, stored or earlier in the batch, and has the minimum
similarity to it or more; else it is kept. A document whose key is stored replaces that document:
it is not compared with its old version, which stays if the new one is left out.

Of each bucket, only the first `dedup_listed` kept documents are compared: in a bucket that a common
header fills, every document would be a candidate of every other. The result depends only on the
order of documents, not on how they are cut into batches.

By another rule, documents that share a run of words with a kept one are left out (`copied`): the
fingerprints that both have take the place of buckets. Those that another one contains are decided
on in lshdb.ingest.containing.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.ingest.batches import Item, Job, signed, without_number
from lshdb.ingest.cutting import Cutting
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.writing import Writer, joined
from lshdb.model import AddReport, CopiedPassage, DroppedRow
from lshdb.options import RowsOptions, RuleOptions
from lshdb.search.limits import dedup_cut, reference_cut
from lshdb.search.passages import Copied
from lshdb.search.query import QueryBatch
from lshdb.search.similarity import (
    Estimates,
    Exact,
    Scorer,
    Signatures,
    canonical_ids,
    check_numbers,
)
from lshdb.shingling.arrays import IntArray
from lshdb.sketching.banding import bucket_codes
from lshdb.sketching.settings import Settings
from lshdb.sources.batch import Origin, Where
from lshdb.sources.metadata import picked
from lshdb.sources.sinks import rows_of
from lshdb.store import late
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_LINE_BITS = 40
"""Of a place for the number of a line; the others are for that of the file."""
_OWN_KEY = -1
"""The place of a text file."""
_ANY_SHARE = 1e-12
"""Less than the share of its words that a document of any length shares."""
_USUAL_RUN = 8
"""Words of the passages of an index that is suggested."""


Screen = Callable[[Sequence[SignedPart]], tuple[Sequence[DroppedRow | None], int]]
"""Drops documents because of others than those of the file that they go to.

Returns for each document of parts why it is dropped, None for the others; and how many of the
others were compared with only a part of a large bucket.
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """How to keep only documents that are not similar to a kept one.

    Attributes:
        threshold: the minimum similarity to drop a document; None for the database's.
        estimate: whether signatures decide even where contents are kept.
        fields: of metadata, which dropped rows have.
        contained: whether a document is dropped only if a kept one has all of its shingles.
        copied: words of the shortest run for which a document is dropped; 0 for another rule.
        drop_all: whether a document is also dropped because of a later one: then all are added,
            and only who reads the outcomes knows which are kept.
        cutting: how passages are cut out of documents, which then are all added; None to drop.
        numbers: whether documents whose numbers differ are not similar.
    """

    threshold: float | None = None
    estimate: bool = False
    fields: Sequence[str] = ()
    contained: bool = False
    copied: int = 0
    drop_all: bool = False
    cutting: Cutting | None = None
    numbers: bool = False

    @classmethod
    def of(cls, options: RuleOptions, threshold: float | None, fields: Sequence[str] = ()) -> Rule:
        """The rule that options ask for; without `cutting`, which needs a reader's field."""
        _, _, words = options.rule.partition(":")
        contained = options.rule == "contained"
        cut = options.cut if isinstance(options, RowsOptions) else None
        how = contained, cut or int(words or 0), options.drop_all
        numbers = options.distinguish is not None
        return cls(threshold, options.estimate, tuple(fields), *how, numbers=numbers)

    @property
    def of_similar(self) -> bool:
        """Whether the similarity of two documents decides."""
        return not (self.contained or self.copied)

    def min_similarity(self, settings: Settings) -> float:
        """The minimum similarity to drop a document in a database of these settings."""
        if self.copied:
            return _ANY_SHARE
        return settings.threshold if self.threshold is None else self.threshold

    def temporary(self, settings: Settings) -> Settings:
        """The settings of a temporary file for documents that are to be compared by the rule.

        Raises:
            SettingsError: there are no passages of such documents.
        """
        return replace(settings, passages=self.copied)

    def check(self, settings: Settings, name: str) -> None:
        """UsageError if a file of these settings, called `name`, lacks what the rule needs."""
        if not self.of_similar and not settings.content:
            raise UsageError(
                f"{name} keeps no contents, which this rule compares: make a file without "
                "--no-content"
            )
        if self.copied and not 0 < settings.passages <= self.copied:
            raise UsageError(
                f"{name} has no index of passages of {self.copied} words or fewer, which this rule "
                f"needs: make it with `lshdb reindex --passages {min(self.copied, _USUAL_RUN)}`"
            )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of some documents.

    Attributes:
        origin: the rows that they came from; None for text files.
        keys: of the documents.
        places: of their rows, from 0.
        dropped: why each is not kept; None for those that are.
        cuts: what is cut out of their texts, with the indices of the documents.
        before: the rows as they came, if texts are cut in those of `origin`.
    """

    origin: Origin | None
    keys: Sequence[str]
    places: Sequence[int]
    dropped: Sequence[DroppedRow | None]
    cuts: Sequence[tuple[int, DroppedRow]] = ()
    before: Origin | None = None

    @property
    def kept(self) -> list[int]:
        """The places of the lines or rows that are kept."""
        of_both = zip(self.places, self.dropped, strict=True)
        return [place for place, dropped in of_both if dropped is None]

    def cut(
        self, cutting: Cutting, texts: Sequence[str], copied: Iterable[tuple[int, DroppedRow]]
    ) -> Outcome:
        """The outcome of rows with shorter texts, from theirs and what is copied in them."""
        changed, cuts, short = cutting.applied(texts, copied)
        if self.origin is None or not changed:
            return self
        at_places = {self.places[index]: text for index, text in changed.items()}
        rows = rows_of(self.origin).with_texts(at_places, cutting.field)
        dropped = [short.get(index, one) for index, one in enumerate(self.dropped)]
        origin = replace(self.origin, rows=rows)
        return replace(self, origin=origin, dropped=dropped, cuts=cuts, before=self.origin)


def decided(
    job: Job,
    items: Iterable[Item],
    rule: Rule,
    screens: Sequence[Screen] = (),
) -> Iterator[tuple[AddReport, list[Outcome], list[DroppedRow | None], list[DroppedRow]]]:
    """Add the documents that are not similar to a kept one, in batches.

    Yields:
        The report of each batch when it is in the file, the outcomes of its parts, what the
        screens alone drop of it, and which earlier documents are dropped because of it.
    """
    store, settings = job.store, job.store.settings
    if screens:
        settings = replace(settings, content=True)  # compared there, even if not stored
    late.complete(store)  # what a killed addition left: buckets are asked for each batch
    deciding, unsure = _Deciding(store, rule, numbered=job.numbered), 0
    with signed(job, items, settings) as stream:
        for batch in stream:
            parts = [*batch]
            screened: list[DroppedRow | None] = [None] * sum(len(part.keys) for part in parts)
            for screen in screens:
                found, some = screen(parts)
                screened = [one or other for one, other in zip(screened, found, strict=True)]
                unsure += some
            with store.writing():
                report, dropped, others = deciding.write(parts, screened)
            rest, first = iter(dropped), 0
            outcomes = []
            for part in parts:
                one, last = part.batch, first + len(part.keys)
                outcome = Outcome(one.origin, one.keys, one.indices, [*islice(rest, len(one.keys))])
                if rule.cutting is not None:
                    copied = [(row - first, one) for row, one in others if first <= row < last]
                    outcome = outcome.cut(rule.cutting, part.stored, copied)
                outcomes.append(outcome)
                first = last
            del parts
            yield report, outcomes, screened, [one for _, one in others]
            del outcomes
        if deciding.cut:
            warn_of_limit(dedup_cut(deciding.cut, store.limits.dedup_listed))
        if unsure:
            warn_of_limit(reference_cut(unsure, store.limits.dedup_listed))


@dataclass(eq=False)
class Places:
    """Where documents are from, by their doc_ids: 8 bytes for each of a run.

    Attributes:
        first: the first doc_id of the run.
    """

    first: int

    def __post_init__(self) -> None:
        self._files: dict[str | None, int] = {None: 0}
        self._names: list[str | None] = [None]
        self._places = array("q")
        self._replaced = dict[int, int]()  # of lower doc_ids

    def add(self, doc_id: int, where: Where) -> None:
        """Note where a document is from."""
        file, line = where
        # A text file is its own key, and the names of millions take room.
        place = 0 if file is None else _OWN_KEY
        if line is not None:
            number = self._files.setdefault(file, len(self._names))
            self._names += [file] if number == len(self._names) else []
            place = number << _LINE_BITS | line
        if doc_id >= self.first:
            self._places.extend([0] * (doc_id - self.first - len(self._places)))  # of others
            self._places.append(place)
        else:
            self._replaced[doc_id] = place

    def where(self, doc_id: int, key: str) -> Where:
        """Where a document is from; without a file and a line if it is not of this run."""
        index = doc_id - self.first
        place = (
            self._places[index] if 0 <= index < len(self._places) else self._replaced.get(doc_id, 0)
        )
        if place == _OWN_KEY:
            return key, None
        line = place & (1 << _LINE_BITS) - 1
        return self._names[place >> _LINE_BITS], line or None


def both_fields(
    fields: Sequence[str], own: str | None, its: str | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The fields of the metadata of a dropped row and of the kept one; None if none is wanted."""
    return (picked(own, fields), picked(its, fields)) if fields else (None, None)


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a batch.

    Attributes:
        part: all of them.
        asked: their signatures and stored forms.
        where: each is from.
    """

    part: SignedPart
    asked: QueryBatch
    where: list[Where]

    @classmethod
    def of(cls, parts: Sequence[SignedPart], settings: Settings) -> Documents:
        """The documents of parts, signed by these settings."""
        return cls(*joined(parts, settings), [one for part in parts for one in part.batch.where()])


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a document is dropped.

    Attributes:
        doc_id: of the kept document.
        similarity: to that.
        exact: whether the similarity is exact.
        identical: whether both have the same content.
        passage: the longest that both share, by the rule `copied`.
    """

    doc_id: int
    similarity: float
    exact: bool
    identical: bool
    passage: CopiedPassage | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """Documents with which others are compared.

    Attributes:
        places: where they are from; None for those of a database.
        numbered: whether their keys have a number before them.
        fields: of metadata, which dropped rows have.
    """

    places: Places | None
    numbered: bool
    fields: Sequence[str]

    def named(self, doc_id: int, key: str) -> tuple[str, Where]:
        """The key of a document, from the one that is stored, and where it is from."""
        name = without_number(key) if self.numbered else key
        return name, (None, None) if self.places is None else self.places.where(doc_id, name)

    def rows(
        self, reader: StoreReader, documents: Documents, found: Sequence[tuple[int, Reason]]
    ) -> Iterator[tuple[int, DroppedRow]]:
        """The dropped ones of some documents, with their indices, from the reasons for it."""
        doc_ids = np.unique(np.array([one.doc_id for _, one in found], dtype=np.int64))
        stored = reader.metadata_of(doc_ids) if self.fields else repeat(None)
        columns = zip(doc_ids.tolist(), reader.keys_of(doc_ids), stored, strict=False)
        kept = {doc_id: (self.named(doc_id, key), its) for doc_id, key, its in columns}
        names, own = documents.part.batch.keys, documents.part.batch.metadata
        for row, one in found:
            (name, there), its = kept[one.doc_id]
            both = names[row], *documents.where[row], name, *there
            how = one.similarity, one.exact, one.identical
            yield (
                row,
                DroppedRow(*both, *how, *both_fields(self.fields, own[row], its), one.passage),
            )


@dataclass(eq=False)
class _Deciding:
    """Writes the kept documents of one batch after the other.

    Attributes:
        store: to which they are added.
        rule: which are kept.
        numbered: whether keys are stored with a number before them.
        cut: how many were kept so far although compared with only a part of a bucket.
    """

    store: Store
    rule: Rule
    numbered: bool

    def __post_init__(self) -> None:
        self._places = Places(self.store.last_doc_id() + 1)
        self._known = Known(self._places, self.numbered, self.rule.fields)
        self.cut = 0

    def write(
        self, parts: Sequence[SignedPart], screened: Sequence[DroppedRow | None]
    ) -> tuple[AddReport, list[DroppedRow | None], list[tuple[int, DroppedRow]]]:
        """Write the kept documents of a batch, in the transaction of the caller.

        Documents that are `screened` out already change nothing here.

        Returns:
            The report; for each document None if it is kept, else why not, for itself if the
            database has it already; and with the index of the document that is the reason, earlier
            ones that are dropped now, or with that of each document what is cut out of it.
        """
        store, rule = self.store, self.rule
        documents = Documents.of(parts, store.settings)
        keys, digests = documents.part.keys, documents.part.digests
        known = {} if self.numbered else store.known([*dict.fromkeys(keys)])
        versions = {key: (one.doc_id, one.digest) for key, one in known.items()}
        none = -1, b""
        own = [versions.get(key, none)[0] for key in keys]
        undecided = np.array([one is None for one in screened], dtype=np.bool_)
        kept = Kept(store, documents.asked, rule, own, undecided)
        if not self.numbered and store.last_decision():
            kept.part([*zip(keys, digests, strict=True)])
        next_id = store.last_doc_id() + 1
        written: list[int] = []
        similar: list[tuple[int, Reason]] = []
        cuts: list[tuple[int, Reason]] = []
        earlier: list[tuple[int, Reason]] = []
        for row in np.flatnonzero(undecided).tolist():
            key, digest = keys[row], digests[row]
            doc_id, before = versions.get(key, none)
            if digest == before:  # only its metadata may be new
                similar.append((row, Reason(doc_id, 1.0, True, True)))
                written.append(row)
                continue
            reason = kept.most_similar(row, doc_id)
            if reason is not None and rule.cutting is not None:
                cuts += ((row, one) for one in kept.copied(row, reason))
            elif reason is not None:
                similar.append((row, reason))
                if not rule.drop_all:
                    continue
                earlier += ((row, one) for one in kept.others(row))
            is_new = doc_id < 0
            if is_new:
                doc_id, next_id = next_id, next_id + 1
            self.cut += kept.keep(row, doc_id, replaces=not is_new)
            self._places.add(doc_id, documents.where[row])
            versions[key] = doc_id, digest
            written.append(row)
        writer = Writer(store)
        writer.write(documents.part.take(written))
        writer.finish()
        rows = dict(self._known.rows(store, documents, similar))
        dropped = [one or rows.get(row) for row, one in enumerate(screened)]
        also = [*self._known.rows(store, documents, cuts)]
        names = store.keys_of(np.array([one.doc_id for _, one in earlier], dtype=np.int64))
        for name, (row, one) in zip(names, earlier, strict=True):
            both = without_number(name), None, None, documents.part.batch.keys[row], None, None
            how = one.similarity, one.exact, one.identical
            also.append((row, DroppedRow(*both, *how, passage=one.passage)))
        skipped = len(keys) - len(written)
        return replace(writer.report, skipped=skipped), dropped, also


@dataclass(eq=False)
class Kept:
    """The kept documents, in the buckets that n new ones share with them or with each other.

    Numbers 0 to n - 1 are the new documents in their order, the others are stored.

    Attributes:
        store: has the stored ones.
        documents: the new ones.
        rule: which are kept.
        own: doc_ids of those with the keys of the new, or -1.
        undecided: bool[n], which of the new are compared.
    """

    store: StoreReader
    documents: QueryBatch
    rule: Rule
    own: list[int]
    undecided: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        n = len(self.own)
        self._listed = self.store.limits.dedup_listed
        max_members = (
            self._listed + 1 + sum(doc_id >= 0 for doc_id in self.own)
        )  # left after updates
        self._members: list[list[int]] = []  # of each bucket, in the order of their doc_ids
        self._buckets: list[list[int]] = [[] for _ in range(n)]  # of each document
        its_documents, its_codes = self._codes()
        codes, code_of, count = np.unique(its_codes, return_inverse=True, return_counts=True)
        store = self.store
        found = store.documents_of_fingerprints if self.rule.copied else store.members
        owner, doc_ids = found(codes, max_members)
        shared = count > 1
        shared[owner] = True
        bucket = np.cumsum(shared) - 1
        self._members += ([] for _ in range(np.count_nonzero(shared)))
        inside = shared[code_of]
        own_buckets = its_documents[inside], bucket[code_of[inside]]
        for number, its in zip(*(column.tolist() for column in own_buckets), strict=True):
            self._buckets[number].append(its)
        doc_ids, place = np.unique(doc_ids, return_inverse=True)
        self._doc_id = [0] * n + doc_ids.tolist()
        self._number = {doc_id: n + i for i, doc_id in enumerate(doc_ids.tolist())}
        self._buckets += ([] for _ in self._number)
        for its, number in zip(bucket[owner].tolist(), (place + n).tolist(), strict=True):
            self._members[its].append(number)
            self._buckets[number].append(its)
        shingles, digests = self.store.sizes(doc_ids)
        own_digests = np.frombuffer(b"".join(self.documents.digests), dtype=digests.dtype)
        self._canonical = canonical_ids(np.concatenate([own_digests, digests]))
        self._same = self._canonical.tolist()
        self._different: dict[int, set[int]] = {}
        self._equal: dict[int, int] = {}
        self._until = 0  # where the next block begins
        self._compared: dict[int, set[int]] = {}
        self._similar: dict[int, dict[int, float]] = {}
        self._min_similarity = self.rule.min_similarity(self.store.settings)
        settings = self.store.settings
        self._exact = settings.content and not self.rule.estimate
        if self.rule.numbers:
            check_numbers(settings)
        contents, signatures = _sources(self.store, self.documents, doc_ids)
        self._estimates = Estimates(signatures, self._canonical, self.store)
        self._scorer: Scorer | Copied = self._estimates
        self._copied: Copied | None = None
        if self.rule.copied:
            own_lengths = [*map(len, self.documents.stored)]
            lengths = np.concatenate([own_lengths, self.store.lengths(doc_ids)])
            its = self.store.settings, self.store.limits, self.rule.copied
            copied = Copied(contents, lengths, *its)
            self._scorer = self._copied = copied
        elif self._exact:
            sizes = np.concatenate([self.documents.signed.shingles, shingles])
            self._scorer = Exact(
                contents, self._canonical, sizes, self.store, numbers=self.rule.numbers
            )

    def _codes(self) -> tuple[IntArray, IntArray]:
        """What the new documents share with candidates, int64[c] each: a document, and a code.

        It is a bucket, or a fingerprint.
        """
        signed = self.documents.signed
        if self.rule.copied:
            prints = signed.fingerprints
            compared = self.undecided[prints.documents]
            return prints.documents[compared], prints.values[compared]
        filled = np.flatnonzero(self.undecided & (signed.shingles > 0) & self.rule.of_similar)
        keys = signed.bucket_keys[filled]
        bands = keys.shape[1]
        return np.repeat(filled, bands), bucket_codes(np.arange(bands), keys).ravel()

    def most_similar(self, number: int, own: int) -> Reason | None:
        """The kept document that a new one is dropped for; None to keep the new one.

        Its `own` doc_id is that of its old version, which does not count; -1 if there is none.
        """
        if not self._buckets[number]:
            return None
        same, different = self._same[number], self._different.get(number, set())
        equal = self._equal.get(same)
        if equal is not None and self._doc_id[equal] != own and equal not in different:
            return self._reason(number, equal, 1.0)
        if number >= self._until:
            self._compare_block(number)
        candidates = self._candidates(number) - different - {self._number.get(own)}
        if others := candidates - self._compared[same]:
            self._compare({same: others})
            self._compared[same] |= others
        found = [
            (-similarity, self._doc_id[other], other)
            for other, similarity in self._similar.get(same, {}).items()
            if other in candidates
        ]
        if not found:
            return None
        similarity, _, other = min(found)
        if similarity == -1:
            self._equal[same] = other
        return self._reason(number, other, -similarity)

    def others(self, number: int) -> list[Reason]:
        """Every kept document that a new one is similar to, and how similar it is to that."""
        same, different = self._same[number], self._different.get(number, set())
        similar = self._similar.get(same, {})
        found = [
            other
            for other in sorted(self._candidates(number) - different)
            if other in similar or self._same[other] == same
        ]
        if self._copied is not None:
            self._compare({self._same[other]: {number} for other in found})
        of_each = ((other, self._similar.get(self._same[other], {})) for other in found)
        return [
            replace(
                self._reason(other, number, its.get(number, similar.get(other, 1.0))),
                doc_id=self._doc_id[other],
            )
            for other, its in of_each
        ]

    def copied(self, number: int, reason: Reason) -> Iterator[Reason]:
        """For each passage that a new document copies a reason, one to drop it being known."""
        same, copied = self._same[number], self._copied
        assert copied is not None, "the rule compares passages"
        others = {*self._candidates(number)} - self._different.get(number, set())
        for other in sorted({*others, self._number[reason.doc_id]}, key=self._doc_id.__getitem__):
            for passage in copied.passages.get((same, self._same[other]), ()):
                yield replace(reason, doc_id=self._doc_id[other], passage=passage)

    def _reason(self, number: int, other: int, similarity: float) -> Reason:
        same, its = self._same[number], self._same[other]
        passage = None
        if self._copied is not None:
            if (same, its) not in self._copied.passages:  # equal to one that was compared
                self._compare({same: {other}})
            passage = max(self._copied.passages[same, its], key=attrgetter("words"))
        return Reason(self._doc_id[other], similarity, self._exact, same == its, passage=passage)

    def ignore(self, number: int, doc_ids: Iterable[int]) -> None:
        """Take some documents for no reason to drop a new one."""
        others = {self._number.get(doc_id, -1) for doc_id in doc_ids}
        self._different.setdefault(number, set()).update(others)

    def part(self, documents: list[tuple[str, bytes]]) -> None:
        """Respect decisions: documents marked different are not duplicates of each other.

        Args:
            documents: the keys and digests of the new ones.
        """
        numbers: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
        for number, document in enumerate(documents):
            numbers[document].append(number)
        for document, other, doc_id in self.store.different_from([*dict(documents)]):
            others = {*numbers.get(other, ()), self._number.get(doc_id, -1)}
            for number in numbers.get(document, ()):
                self._different.setdefault(number, set()).update(others)

    def keep(self, number: int, doc_id: int, *, replaces: bool) -> bool:
        """Keep a document; return whether some earlier ones in its buckets were not compared."""
        buckets = self._buckets[number]
        cut = self.is_cut(number)
        if replaces:
            self._equal.clear()  # whose places in buckets may change
            old = self._number.get(doc_id, number)
            for its in self._buckets[old] if old != number else ():
                self._members[its].remove(old)
        self._number[doc_id] = number
        self._doc_id[number] = doc_id
        for its in buckets:
            members = self._members[its]
            insort(members, number, key=self._doc_id.__getitem__)
            if len(members) <= self._listed:
                # No earlier document equals it, or it would not be kept.
                self._equal[self._same[number]] = number
        return cut

    def is_cut(self, number: int) -> bool:
        """Whether only a part of a new document's buckets is compared."""
        return any(len(self._members[its]) > self._listed for its in self._buckets[number])

    def _candidates(self, number: int) -> set[int]:
        return set().union(*(self._members[its][: self._listed] for its in self._buckets[number]))

    def _compare_block(self, first: int) -> None:
        """Compare documents from the first on with all that may be needed.

        That assumes that all earlier documents of the block are kept, or the first of copies.
        """
        self._similar = {}
        block: defaultdict[int, list[int]] = defaultdict(list)
        self._compared = wanted = dict[int, set[int]]()
        limits = self.store.limits
        pairs = 0
        self._until = last = min(first + limits.dedup_documents, len(self.own))
        for number in range(first, last):
            same = self._same[number]
            if same in wanted or not self._buckets[number]:
                continue
            if same in self._equal:
                wanted[same] = set()
                continue
            found = self._candidates(number)
            for its in self._buckets[number]:
                found.update(block[its])
                if len(self._members[its]) + len(block[its]) < self._listed:
                    block[its].append(number)
            found.discard(self._number.get(self.own[number], -1))
            wanted[same] = found
            pairs += len(found)
            if pairs >= limits.dedup_pairs:
                self._until = number + 1
                break
        self._compare(wanted)

    def _compare(self, wanted: dict[int, set[int]]) -> None:
        """Find the documents among others that are similar to given ones."""
        counts = [len(others) for others in wanted.values()]
        one = np.repeat(np.array([*wanted], dtype=np.int64), counts)
        other = np.fromiter(chain.from_iterable(wanted.values()), np.int64, sum(counts))
        scores = self._scorer.scores(one, self._canonical[other], self._min_similarity)
        similar = np.flatnonzero(scores >= self._min_similarity)
        if self.store.settings.construction.higher and self.rule.of_similar:
            # In a cascade, sharing one bucket is not enough for a candidate.
            share = self._estimates.share_bucket(one[similar], other[similar])
            similar = similar[share]
        found = zip(
            one[similar].tolist(), other[similar].tolist(), scores[similar].tolist(), strict=True
        )
        for number, its, score in found:
            self._similar.setdefault(number, {})[its] = score


def _sources(
    store: StoreReader, documents: QueryBatch, doc_ids: IntArray
) -> tuple[Callable[[IntArray], list[str]], Callable[[IntArray], Signatures]]:
    """Read the contents and the signatures of n documents and then stored ones, by their numbers.

    Functions, not methods of `Kept`: its scorer holds these, and a circle of references would
    keep the shingles of one batch, 200 MB, in memory while the next one is compared.
    """
    n = len(documents.digests)

    def contents(numbers: IntArray) -> list[str]:
        own, stored = numbers[numbers < n], numbers[numbers >= n] - n
        return [documents.stored[i] for i in own.tolist()] + [*store.contents(doc_ids[stored])]

    def signatures(numbers: IntArray) -> Signatures:
        own, stored = numbers[numbers < n], numbers[numbers >= n] - n
        return np.concatenate(
            [documents.signed.signatures[own], store.signatures_of(doc_ids[stored])]
        )

    return contents, signatures
