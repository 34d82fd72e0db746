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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

import numpy as np

from lshdb.errors import UsageError, warn_of_limit
from lshdb.ingest.batches import Item, Job, signed, without_number
from lshdb.ingest.cutting import Cutting, covering, without
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.writing import Writer, asked, joined
from lshdb.model import AddReport, CopiedPassage, DroppedRow
from lshdb.options import RowsOptions, RuleOptions
from lshdb.search.limits import dedup_cut, reference_cut
from lshdb.search.passages import Copied
from lshdb.search.query import QueryBatch, contents_of, exact_of
from lshdb.search.similarity import Estimates, Scorer, check_numbers
from lshdb.shingling.arrays import IntArray, Lanes, Mask, int_array
from lshdb.shingling.positions import count
from lshdb.sketching.banding import bucket_codes
from lshdb.sketching.settings import Settings
from lshdb.sources.batch import Batch, Origin, Where
from lshdb.sources.metadata import picked
from lshdb.sources.sinks import rows_of
from lshdb.store import late
from lshdb.store.lookups import StoreReader
from lshdb.store.store import KnownDocument, Store

_LINE_BITS = 40
"""Of a place for the number of a line; the others are for that of the file."""
_OWN_KEY = -1
"""The place of a text file."""
_UNKNOWN = KnownDocument(-1, "", b"", None)
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
        options: what is dropped, and which of similar documents stays.
        threshold: the minimum similarity to drop a document; None for the database's.
        fields: of metadata, which dropped rows have.
        cutting: how passages are cut out of documents, which then are all added; None to drop.
    """

    options: RuleOptions
    threshold: float | None = None
    fields: Sequence[str] = ()
    cutting: Cutting | None = None

    @property
    def contained(self) -> bool:
        """Whether a document is dropped only if a kept one has all of its shingles."""
        return self.options.rule == "contained"

    @property
    def copied(self) -> int:
        """Words of the shortest run for which a document is dropped; 0 for another rule."""
        options = self.options
        cut = options.cut if isinstance(options, RowsOptions) else None
        return cut or int(options.rule.partition(":")[2] or 0)

    @property
    def drop_all(self) -> bool:
        """Whether a document is also dropped because of a later one.

        Then all were added before the first one is decided on.
        """
        return self.options.drop_all

    @property
    def numbers(self) -> bool:
        """Whether documents whose numbers differ are not similar."""
        return self.options.distinguish is not None

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
        return replace(settings, passages=self.copied, reworded=False)

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
        self, cutting: Cutting, texts: Sequence[str], copied: Sequence[Sequence[DroppedRow]]
    ) -> Outcome:
        """The outcome of rows with shorter texts, from theirs and what is copied in each."""
        changed, cuts, dropped = dict[int, str](), list[tuple[int, DroppedRow]](), [*self.dropped]
        for index in range(len(texts)):
            if own := covering(copied[index], texts[index], cutting.kind):
                left = without(texts[index], own)
                changed[self.places[index]] = left
                cuts += ((index, one) for one in own)
                if count(left, cutting.kind) < cutting.min_words:
                    dropped[index] = own[0]
        if self.origin is None or not changed:
            return self
        rows = rows_of(self.origin).with_texts(changed, cutting.field)
        origin = replace(self.origin, rows=rows)
        return replace(self, origin=origin, dropped=dropped, cuts=cuts, before=self.origin)


def decided(
    job: Job,
    items: Iterable[Item],
    rule: Rule,
    screens: Sequence[Screen] = (),
) -> Iterator[tuple[AddReport, list[Outcome]]]:
    """Add the documents that are not similar to a kept one, in batches.

    Yields:
        The report of each batch when it is in the file, and the outcomes of its parts.
    """
    store = job.store
    late.complete(store)  # what a killed addition left: buckets are asked for each batch
    places = Places(store.last_doc_id() + 1)
    deciding = _Deciding(Collection(store, places, job.numbered), rule)
    unsure = 0
    with signed(job, items) as stream:
        for batch in stream:
            parts = [*batch]
            screened: list[DroppedRow | None] = [None] * sum(len(part.keys) for part in parts)
            for screen in screens:
                found, some = screen(parts)
                screened = [one or other for one, other in zip(screened, found, strict=True)]
                unsure += some
            with store.writing():
                report, dropped, copied = deciding.write(parts, screened)
            outcomes, first = list[Outcome](), 0
            for part in parts:
                one, last = part.batch, first + len(part.keys)
                outcome = Outcome(one.origin, one.keys, one.indices, dropped[first:last])
                if rule.cutting is not None:
                    passages = [copied[row] for row in range(first, last)]
                    outcome = outcome.cut(rule.cutting, part.stored, passages)
                outcomes.append(outcome)
                first = last
            del parts
            yield report, outcomes
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
class Collection:
    """Documents with which others are compared: those kept so far, or a reference.

    Attributes:
        store: has them.
        places: where they are from; None for those of a database.
        numbered: whether their keys have a number before them.
        own: whether it has the others themselves, or earlier versions of them. Neither is a reason
            to drop them, nor are documents that they are marked different from.
    """

    store: Store
    places: Places | None = None
    numbered: bool = False
    own: bool = False

    def named(self, doc_id: int, key: str) -> tuple[str, Where]:
        """The key of a document, from the one that is stored, and where it is from."""
        name = without_number(key) if self.numbered else key
        return name, (None, None) if self.places is None else self.places.where(doc_id, name)

    def rows(
        self,
        reader: StoreReader,
        documents: Batch,
        found: Sequence[tuple[int, Reason]],
        fields: Sequence[str],
    ) -> Iterator[tuple[int, DroppedRow]]:
        """The dropped ones of some documents, with their indices, from the reasons for it.

        Args:
            reader: of the collection.
            documents: all of them.
            found: the reasons, with indices.
            fields: of metadata, which dropped rows have.
        """
        doc_ids = np.unique(int_array(one.doc_id for _, one in found))
        stored = reader.metadata_of(doc_ids) if fields else repeat(None)
        columns = zip(doc_ids.tolist(), reader.keys_of(doc_ids), stored, strict=False)
        kept = {doc_id: (self.named(doc_id, key), its) for doc_id, key, its in columns}
        for row, one in found:
            (name, there), its = kept[one.doc_id]
            both = documents.keys[row], *documents.wheres[row], name, *there
            how = one.similarity, one.exact, one.identical
            of_both = both_fields(fields, documents.all_metadata()[row], its)
            yield row, DroppedRow(*both, *how, *of_both, one.passage)

    def similar(
        self, settings: Settings, rule: Rule, parts: Sequence[SignedPart]
    ) -> tuple[Sequence[DroppedRow | None], int]:
        """Drop documents that are similar to one of these; see `Screen`.

        Args:
            settings: by which they are signed.
            rule: which documents are similar.
            parts: the documents.
        """
        rule = replace(rule, threshold=rule.min_similarity(settings))
        with self.store.beside() as (reader, _):
            # Other tables of its index are not asked.
            passages = (reader.settings if rule.copied else settings).passages
            alike = replace(reader.settings, passages=passages, reworded=settings.reworded)
            documents = joined(parts, alike)
            rows = range(len(documents.keys))
            kept, own = Kept(reader, asked(documents), rule), [-1] * len(rows)
            if self.own:
                keys = documents.keys if self.numbered else documents.batch.keys
                known = self.store.known(keys)
                own = [known.get(key, _UNKNOWN).doc_id for key in keys]
                kept.part([*zip(keys, documents.digests, strict=True)])
            reasons = [kept.most_similar(row, own[row]) for row in rows]
            unsure = sum(kept.is_cut(row) for row in rows if reasons[row] is None)
            found = [(row, one) for row, one in enumerate(reasons) if one is not None]
            dropped = dict(self.rows(reader, documents.batch, found, rule.fields))
        return [dropped.get(row) for row in rows], unsure


@dataclass(eq=False)
class _Deciding:
    """Writes the kept documents of one batch after the other.

    Attributes:
        collection: of the file to which they are added.
        rule: which are kept.
        cut: how many were kept so far although compared with only a part of a bucket.
    """

    collection: Collection
    rule: Rule
    cut: int = 0

    def write(
        self, parts: Sequence[SignedPart], screened: Sequence[DroppedRow | None]
    ) -> tuple[AddReport, list[DroppedRow | None], Mapping[int, list[DroppedRow]]]:
        """Write the kept documents of a batch, in the transaction of the caller.

        Documents that are `screened` out already change nothing here.

        Returns:
            The report; for each document None if it is kept, else why not, for itself if the
            database has it already; and with its index what is to be cut out of a document.
        """
        own, rule = self.collection, self.rule
        store, places = own.store, own.places
        documents = joined(parts, store.settings)
        batch, keys, digests = documents.batch, documents.keys, documents.digests
        known = {} if own.numbered else store.known([*dict.fromkeys(keys)])
        versions = {key: (one.doc_id, one.digest) for key, one in known.items()}
        doc_ids = [known.get(key, _UNKNOWN).doc_id for key in keys]
        undecided = np.array(
            [not rule.drop_all and one is None for one in screened], dtype=np.bool_
        )
        kept = Kept(store, asked(documents), rule, doc_ids, undecided)
        if not own.numbered:
            kept.part([*zip(keys, digests, strict=True)])
        next_id = store.last_doc_id() + 1
        written: list[int] = []
        similar: list[tuple[int, Reason]] = []
        copied: list[tuple[int, Reason]] = []
        for row in np.flatnonzero(undecided).tolist():
            doc_id, before = versions.get(keys[row], (-1, b""))
            if digests[row] == before:  # only its metadata may be new
                similar.append((row, Reason(doc_id, 1.0, True, True)))
                written.append(row)
                continue
            reason = kept.most_similar(row, doc_id)
            if reason is not None and rule.cutting is not None:
                copied += ((row, one) for one in kept.copied(row, reason))
            elif reason is not None:
                similar.append((row, reason))
                continue
            is_new = doc_id < 0
            if is_new:
                doc_id, next_id = next_id, next_id + 1
            self.cut += kept.keep(row, doc_id, replaces=not is_new)
            if places is not None:
                places.add(doc_id, batch.wheres[row])
            versions[keys[row]] = doc_id, digests[row]
            written.append(row)
        writer = Writer(store)
        writer.write(documents.take(written))
        writer.finish()
        rows = dict(own.rows(store, batch, similar, rule.fields))
        dropped = [one or rows.get(row) for row, one in enumerate(screened)]
        passages: defaultdict[int, list[DroppedRow]] = defaultdict(list)
        for row, one in own.rows(store, batch, copied, rule.fields):
            passages[row].append(one)
        return replace(writer.report, skipped=len(keys) - len(written)), dropped, passages


@dataclass(eq=False)
class Kept:
    """The kept documents, in the buckets that n new ones share with them or with each other.

    Numbers 0 to n - 1 are the new documents in their order, the others are stored.

    Attributes:
        store: has the stored ones.
        documents: the new ones.
        rule: which are kept.
        own: doc_ids of those with the keys of the new, or -1; None if none of the new is kept.
        undecided: bool[n], which of the new are compared; None for all.
    """

    store: StoreReader
    documents: QueryBatch
    rule: Rule
    own: Sequence[int] | None = None
    undecided: Mask | None = None

    def __post_init__(self) -> None:
        store, documents, rule = self.store, self.documents, self.rule
        settings = store.settings
        n = len(documents)
        self._listed = store.limits.dedup_listed
        its_documents, its_codes = self._codes()
        codes, code_of, count = np.unique(its_codes, return_inverse=True, return_counts=True)
        replaced = sum(doc_id >= 0 for doc_id in self.own or ())
        read = store.documents_of_fingerprints if rule.copied else store.members
        owner, doc_ids = read(codes, self._listed + 1 + replaced)
        shared = count > 1
        shared[owner] = True
        inside = shared[code_of]
        self._members = defaultdict[int, list[int]](list)  # of buckets, in the order of doc_ids
        self._buckets = defaultdict[int, list[int]](list)  # of each document
        for number, its in zip(
            its_documents[inside].tolist(), code_of[inside].tolist(), strict=True
        ):
            self._buckets[number].append(its)
        doc_ids, place = np.unique(doc_ids, return_inverse=True)
        self._doc_id = [0] * n + doc_ids.tolist()
        self._number = {doc_id: number for number, doc_id in enumerate(doc_ids.tolist(), n)}
        for its, number in zip(owner.tolist(), (place + n).tolist(), strict=True):
            self._members[its].append(number)
            self._buckets[number].append(its)
        exact, _ = exact_of(store, documents, doc_ids, None, rule.numbers)
        self._canonical = exact.same
        self._same = self._canonical.tolist()
        self._different = defaultdict[int, set[int]](set)
        self._until = 0  # where the next block begins
        self._compared: dict[int, set[int]] = {}
        self._similar: dict[int, dict[int, float]] = {}
        self._min_similarity = rule.min_similarity(settings)
        self._exact = settings.content and not rule.options.estimate
        if rule.numbers:
            check_numbers(settings)
        self._estimates = Estimates(
            _signatures_of(store, documents, doc_ids), self._canonical, store
        )
        self._scorer: Scorer | Copied = exact if self._exact else self._estimates
        if rule.copied:
            lengths = np.concatenate([[*map(len, documents.stored)], store.lengths(doc_ids)])
            its = settings, store.limits, rule.copied
            self._scorer = Copied(contents_of(store, documents, doc_ids), lengths, *its)

    def _codes(self) -> tuple[IntArray, IntArray]:
        """What the new documents share with candidates, int64[c] each: a document, and a code.

        It is a bucket, or a fingerprint.
        """
        signed = self.documents.signed
        undecided = signed.shingles >= 0 if self.undecided is None else self.undecided
        if self.rule.copied:
            prints = signed.fingerprints
            compared = undecided[prints.documents]
            return prints.documents[compared], prints.values[compared]
        filled = np.flatnonzero(undecided & (signed.shingles > 0) & self.rule.of_similar)
        keys = signed.bucket_keys[filled]
        bands = keys.shape[1]
        return np.repeat(filled, bands), bucket_codes(np.arange(bands), keys).ravel()

    def most_similar(self, number: int, own: int) -> Reason | None:
        """The kept document that a new one is dropped for; None to keep the new one.

        Its `own` doc_id is that of its old version, which does not count; -1 if there is none.
        """
        if not self._buckets[number]:
            return None
        same = self._same[number]
        candidates = self._candidates(number) - self._different[number] - {self._number.get(own)}
        if equal := [other for other in candidates if self._same[other] == same]:
            return self._reason(number, min(equal, key=self._doc_id.__getitem__), 1.0)
        if number >= self._until:
            self._compare_block(number)
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
        return self._reason(number, other, -similarity)

    def copied(self, number: int, reason: Reason) -> Iterator[Reason]:
        """For each passage that a new document copies a reason, one to drop it being known."""
        same, others = self._same[number], self._candidates(number) - self._different[number]
        for other in sorted({*others, self._number[reason.doc_id]}, key=self._doc_id.__getitem__):
            for passage in self._passages(same, self._same[other]):
                yield replace(reason, doc_id=self._doc_id[other], passage=passage)

    def _passages(self, one: int, other: int) -> tuple[CopiedPassage, ...]:
        """Those that a document copies from another one, by the rule `copied`."""
        found = self._scorer.passages if isinstance(self._scorer, Copied) else {}
        return found.get((one, other), ())

    def _reason(self, number: int, other: int, similarity: float) -> Reason:
        same, its = self._same[number], self._same[other]
        if self.rule.copied and not self._passages(same, its):  # equal to one that was compared
            self._compare({same: {other}})
        passage = max(self._passages(same, its), key=attrgetter("words"), default=None)
        return Reason(self._doc_id[other], similarity, self._exact, same == its, passage=passage)

    def part(self, documents: list[tuple[str, bytes]]) -> None:
        """Respect decisions: documents marked different are not duplicates of each other.

        Args:
            documents: the keys and digests of the new ones.
        """
        numbers: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
        for number, document in enumerate(documents):
            numbers[document].append(number)
        for key, own, other, its, doc_id in self.store.different_from([*dict(documents)]):
            others = {*numbers.get((other, its), ()), self._number.get(doc_id, -1)}
            for number in numbers.get((key, own), ()):
                self._different[number].update(others)

    def keep(self, number: int, doc_id: int, *, replaces: bool) -> bool:
        """Keep a document; return whether some earlier ones in its buckets were not compared."""
        cut = self.is_cut(number)
        if replaces:
            old = self._number.get(doc_id, number)
            for its in self._buckets[old] if old != number else ():
                self._members[its].remove(old)
        self._number[doc_id] = number
        self._doc_id[number] = doc_id
        for its in self._buckets[number]:
            insort(self._members[its], number, key=self._doc_id.__getitem__)
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
        self._until = last = min(first + limits.dedup_documents, len(self.documents))
        for number in range(first, last):
            same = self._same[number]
            if same in wanted or not self._buckets[number]:
                continue
            wanted[same] = found = self._candidates(number)
            if self.own is not None:
                for its in self._buckets[number]:
                    found.update(block[its])
                    if len(self._members[its]) + len(block[its]) < self._listed:
                        block[its].append(number)
                found.discard(self._number.get(self.own[number], -1))
            pairs += len(found)
            if pairs >= limits.dedup_pairs:
                self._until = number + 1
                break
        self._compare(wanted)

    def _compare(self, wanted: dict[int, set[int]]) -> None:
        """Find the documents among others that are similar to given ones."""
        counts = [len(others) for others in wanted.values()]
        one = np.repeat(int_array(wanted), counts)
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


def _signatures_of(
    store: StoreReader, documents: QueryBatch, doc_ids: IntArray
) -> Callable[[IntArray], Lanes]:
    """What gives the signatures of n documents, and then of stored ones, by their numbers.

    A function, not a method of `Kept`: its scorer holds it, and a circle of references would
    keep the shingles of one batch, 200 MB, in memory while the next one is compared.
    """
    given = documents.signed.signatures

    def signatures(numbers: IntArray) -> Lanes:
        own, stored = numbers[numbers < len(given)], numbers[numbers >= len(given)] - len(given)
        return np.concatenate([given[own], store.signatures_of(doc_ids[stored])])

    return signatures
