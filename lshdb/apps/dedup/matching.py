"""Which kept document each of a batch resembles: a matcher for each kind of rule.

Records are compared among all rows (RecordMatcher), identical documents are found by their digests
(IdenticalMatcher), and others by codes that both have (BucketMatcher): buckets, or the fingerprints
of runs. Documents are decided on in order, each as if all
before it were kept or dropped already. Of each code, only the first `dedup_listed` kept documents
are compared: in a bucket that a common header fills, every document would be a candidate of every
other; `Decider` counts the documents to which that happens, however often a run stands in each. The
result depends only on the order of documents, not on how they are cut into batches.
"""

import dataclasses
import os
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import chain, pairwise
from typing import Protocol

import numpy as np

from lshdb.apps.dedup.collection import Collection, DropReason
from lshdb.apps.passages.passages import CopiedShares, Copies
from lshdb.options import RankingOptions, SimilarOptions
from lshdb.search.query import QueryBatch, measure_of
from lshdb.search.similarity import Scorer
from lshdb.store.lookups import StoreReader
from lshdb.text import content
from lshdb.text.arrays import IntArray, Lanes, Mask, int_array
from lshdb.write.parts import SignedPart

Filter = Callable[[IntArray, IntArray], Mask]
"""Says which pairs of documents, by their numbers, are similar besides: bool[c] for int64[c]."""


class Matcher(Protocol):
    """Compares the documents of one batch, in order, with a collection that may grow by them.

    A rule that compares with all documents, and has no passages, needs the first three methods.
    """

    def reason(self, row: int, without: Set[int]) -> DropReason | None:
        """Why a document goes; None if it may stay.

        Args:
            row: its index in the batch.
            without: doc_ids that are no reason.
        """

    def matches(self, row: int) -> dict[int, float]:
        """The similarities of all that are a reason to drop a document, by doc_id."""

    def keep(self, row: int, doc_id: int, *, replaces: bool) -> None:
        """Note that a document stays: later ones are compared with it, too.

        Args:
            row: its index in the batch.
            doc_id: in the collection.
            replaces: whether the collection had an earlier version with this doc_id.
        """

    def cut_codes(self, row: int) -> Sequence[int]:  # noqa: ARG002
        """The codes that a document shares with more than it is compared with; see RowRule.named.

        A document with none is compared with all that it may resemble.
        """
        return ()

    def note_passages(self, row: int, without: Set[int]) -> None:  # noqa: ARG002
        """Note that the passages of a document are cut out."""
        return

    def passages(self) -> Iterator[Copies]:
        """The passages that the noted documents copy, from doc_ids; none by other rules.

        All at once, which takes a tenth of the time: `lshdb dedup --cut` of tables.
        """
        return iter(())

    def named(self, reasons: Sequence[tuple[int, DropReason]]) -> Sequence[tuple[int, DropReason]]:
        """The reasons of documents, with the longest passage of each, if the rule names one."""
        return reasons


@dataclasses.dataclass(frozen=True, slots=True)
class Scored:
    """How candidates are compared, by number: n documents of a batch, then the stored ones.

    Attributes:
        scorer: gives the similarities of pairs.
        same: one number for documents with the same content.
        min_similarity: of a pair that counts.
        is_exact: whether similarities are exact.
        also: what a similar pair has to fulfil besides.
        bytes_digests: of the files of the batch, and of stored documents, what says that their
            bytes are the same, if that has to be so; a number that is not here may go for any.
    """

    scorer: Scorer | CopiedShares
    same: IntArray
    min_similarity: float
    is_exact: bool
    also: Sequence[Filter] = ()
    bytes_digests: Mapping[int, str | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False)
class BucketMatcher(Matcher):
    """Finds the kept documents that those of a batch resemble.

    Numbers 0 to n - 1 are the documents of the batch in their order, the others are stored.

    Attributes:
        reader: of the stored ones.
        count: n.
        codes: documents int64[c] and codes int64[c], of the batch.
        look_up: gives the indices of codes int64[n] and the doc_ids of the stored documents that
            have these, int64[r] both: the first ones of each code.
        scored: how candidates are compared, from the doc_ids of the stored ones, ascending.
        replaced: how many documents of the batch may replace a stored one; None if none of the
            batch is kept.
        whole_texts: further reasons to drop documents, the best first, which counts if it is more
            similar than all others.
    """

    reader: StoreReader
    count: int
    codes: tuple[IntArray, IntArray]
    look_up: Callable[[IntArray, int], tuple[IntArray, IntArray]]
    scored: Callable[[IntArray], Scored]
    replaced: int | None
    whole_texts: Mapping[int, Sequence[DropReason]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        count = self.count
        self._listed = self.reader.limits.dedup_listed
        documents, all_codes = self.codes
        codes, code_of, sizes = np.unique(all_codes, return_inverse=True, return_counts=True)
        # One more shows whether all are listed.
        first = self._listed + 1 + (self.replaced or 0)
        owner, doc_ids = self.look_up(codes, first)
        doc_ids, index = np.unique(doc_ids, return_inverse=True)
        self._values: list[int] = codes.tolist()
        shared = sizes > 1
        shared[owner] = True
        # Codes that the same documents have, as those of a line of a table do, are one.
        numbers = np.frombuffer(os.urandom(8 * (count + len(doc_ids))), dtype=np.int64)
        sums = np.zeros(len(codes), dtype=np.int64)
        np.add.at(sums, code_of, numbers[documents])
        np.add.at(sums, owner, numbers[count + index])
        is_first = np.zeros(len(codes), dtype=np.bool_)
        is_first[np.unique(sums, return_index=True)[1]] = True
        shared &= is_first
        inside, listed = shared[code_of], shared[owner]
        self._doc_id = [0] * count + doc_ids.tolist()
        self._number = {doc_id: number for number, doc_id in enumerate(doc_ids.tolist(), count)}
        stored = index[listed] + count
        self._members = defaultdict[int, list[int]](list)  # of codes, in the order of doc_ids
        for code, number in zip(owner[listed].tolist(), stored.tolist(), strict=True):
            self._members[code].append(number)
        having = np.append(documents[inside], stored)
        order = np.argsort(having, kind="stable")
        ordered = np.append(code_of[inside], owner[listed])[order].tolist()
        bounds = having[order].searchsorted(np.arange(len(self._doc_id) + 1)).tolist()
        self._codes = [ordered[first:end] for first, end in pairwise(bounds)]  # of each document
        self._scored = self.scored(doc_ids)
        self._same = self._scored.same.tolist()
        self._reasons: dict[int, int] = {}  # the number of the kept document, by row
        self._noted: dict[int, Set[int]] = {}  # by row, the numbers that are no reason
        self._until = 0  # where the next block begins
        self._compared: dict[int, set[int]] = {}
        self._similar: dict[int, dict[int, float]] = {}

    def reason(self, row: int, without: Set[int]) -> DropReason | None:
        """See Matcher: the kept document that is most similar, of equal ones the first."""
        scores, (whole, *_) = self._scores(row, without), self.whole_texts.get(row, (None,))
        if not scores:
            return whole
        other = min(scores, key=lambda number: (-scores[number], self._doc_id[number]))
        if whole is not None and whole.similarity > scores[other]:
            return whole
        self._reasons[row] = other
        return DropReason(self._doc_id[other], scores[other], self._scored.is_exact)

    def _scores(self, row: int, without: Set[int], *, every: bool = False) -> dict[int, float]:
        """The similarities of similar documents, by number; of equal ones only, if there are some.

        With `every`, those of all.
        """
        if not self._codes[row]:
            return {}
        same = self._same[row]
        candidates = self._candidates(row) - {self._number.get(doc_id, -1) for doc_id in without}
        equal = {other: 1.0 for other in candidates if self._same[other] == same}
        if not candidates or (equal and not every):
            return equal
        if row >= self._until:
            self._compare_block(row)
        if others := candidates - self._compared[same]:
            self._compare({same: others})
            self._compared[same] |= others
        similar = self._similar.get(same, {})
        return {other: similar[other] for other in candidates & similar.keys()} | equal

    def matches(self, row: int) -> dict[int, float]:
        """See Matcher."""
        whole = {reason.doc_id: reason.similarity for reason in self.whole_texts.get(row, ())}
        scores = self._scores(row, frozenset(), every=True)
        return whole | {self._doc_id[number]: score for number, score in scores.items()}

    def note_passages(self, row: int, without: Set[int]) -> None:
        """See Matcher."""
        self._noted[row] = {self._number.get(doc_id, -1) for doc_id in without}

    def passages(self) -> Iterator[Copies]:
        """See Matcher: those that cover all that the documents copy from kept ones."""
        scorer, codes_of = self._scored.scorer, defaultdict[int, set[int]](set)
        if not isinstance(scorer, CopiedShares) or not self._noted:
            return
        for code, members in self._members.items():
            for number in members[: self._listed]:
                codes_of[number].add(code)

        def is_source(copies: IntArray, sources: IntArray) -> Mask:
            pairs = zip(copies.tolist(), sources.tolist(), strict=True)
            return np.fromiter(
                (
                    other not in self._noted[row]
                    and not codes_of[other].isdisjoint(self._codes[row])
                    for row, other in pairs
                ),
                np.bool_,
                len(copies),
            )

        doc_ids = int_array(self._doc_id)
        # What is not kept in this collection comes after all that is.
        order = np.where(doc_ids > 0, doc_ids, np.iinfo(np.int64).max)
        sides = int_array(self._noted), int_array(sorted(codes_of))
        for found in scorer.covering(*sides, is_source, order):
            yield found._replace(sources=doc_ids[found.sources])

    def named(self, reasons: Sequence[tuple[int, DropReason]]) -> Sequence[tuple[int, DropReason]]:
        """See Matcher."""
        copied, same = self._scored.scorer, self._scored.same
        if not isinstance(copied, CopiedShares):
            return reasons
        rows = [row for row, reason in reasons if reason.passage is None and row in self._reasons]
        others = same[int_array(self._reasons[row] for row in rows)]
        passages = dict(zip(rows, copied.longest(same[int_array(rows)], others), strict=True))
        return [
            (row, dataclasses.replace(reason, passage=reason.passage or passages.get(row)))
            for row, reason in reasons
        ]

    def keep(self, row: int, doc_id: int, *, replaces: bool) -> None:
        """See Matcher."""
        if replaces:
            old = self._number.get(doc_id, row)
            for code in self._codes[old] if old != row else ():
                self._members[code].remove(old)
        self._number[doc_id] = row
        self._doc_id[row] = doc_id
        all_members, doc_ids = self._members, self._doc_id
        for code in self._codes[row]:
            members = all_members[code]
            if members and doc_ids[members[-1]] > doc_id:
                insort(members, row, key=doc_ids.__getitem__)
            else:
                members.append(row)

    def cut_codes(self, row: int) -> list[int]:
        """See Matcher: those that more documents have than are listed."""
        codes, listed = self._codes[row], self._listed
        return [self._values[code] for code in codes if len(self._members[code]) > listed]

    def _candidates(self, row: int) -> set[int]:
        numbers = set().union(*(self._members[code][: self._listed] for code in self._codes[row]))
        if row not in (digests := self._scored.bytes_digests):
            return numbers
        wanted = digests[row]
        return {other for other in numbers if wanted and digests.get(other) == wanted}

    def _compare_block(self, first: int) -> None:
        """Compare documents from the first on with all that may be needed.

        That assumes that all earlier documents of the block are kept, or the first of copies.
        """
        self._similar = {}
        block: defaultdict[int, list[int]] = defaultdict(list)
        self._compared = candidates_of = dict[int, set[int]]()
        limits = self.reader.limits
        pairs = 0
        self._until = last = min(first + limits.dedup_documents, self.count)
        for row in range(first, last):
            same = self._same[row]
            if same in candidates_of or not self._codes[row]:
                continue
            candidates_of[same] = candidates = self._candidates(row)
            if self.replaced is not None:
                for code in self._codes[row]:
                    candidates.update(block[code])
                    if len(self._members[code]) + len(block[code]) < self._listed:
                        block[code].append(row)
            pairs += len(candidates)
            if pairs >= limits.dedup_pairs:
                self._until = row + 1
                break
        self._compare(candidates_of)

    def _compare(self, candidates_of: dict[int, set[int]]) -> None:
        """Find the candidates of documents that are similar to them."""
        counts = [len(others) for others in candidates_of.values()]
        numbers = np.repeat(int_array(candidates_of), counts)
        candidates = np.fromiter(chain.from_iterable(candidates_of.values()), np.int64, sum(counts))
        scored = self._scored
        scores = scored.scorer.scores(numbers, scored.same[candidates], scored.min_similarity)
        similar = np.flatnonzero(scores >= scored.min_similarity)
        for keep in scored.also:
            similar = similar[keep(numbers[similar], candidates[similar])]
        columns = numbers[similar].tolist(), candidates[similar].tolist(), scores[similar].tolist()
        for row_number, candidate, score in zip(*columns, strict=True):
            self._similar.setdefault(row_number, {})[candidate] = score


class RecordMatcher(Matcher):
    """See Matcher.

    Args:
        reader: of the file that rows are compared with.
        batch: the rows.
        threshold: the minimum similarity.
        first: how many rows came before these.
        kept: the documents that are kept, by their doc_ids in the file; None if all are.
    """

    def __init__(
        self,
        reader: StoreReader,
        batch: QueryBatch,
        threshold: float | None,
        first: int,
        kept: dict[int, int] | None,
    ) -> None:
        ranking = RankingOptions(similar=SimilarOptions(threshold=threshold))
        pairs, _ = measure_of(reader).matches(ranking, batch, None)
        self._similar: list[list[tuple[int, float]]] = [[] for _ in range(len(batch))]
        doc_ids = pairs.doc_ids[pairs.document].tolist()
        columns = pairs.query.tolist(), doc_ids, pairs.similarities.tolist()
        for row, doc_id, similarity in zip(*columns, strict=True):
            self._similar[row].append((doc_id, similarity))
        self._first, self._kept = first, kept

    def matches(self, row: int) -> dict[int, float]:
        """See Matcher."""
        similar = self._similar[row]
        if self._kept is None:
            return dict(similar)
        return {
            self._kept[number]: similarity for number, similarity in similar if number in self._kept
        }

    def reason(self, row: int, without: Set[int]) -> DropReason | None:
        """See Matcher."""
        for doc_id, similarity in self.matches(row).items():
            if doc_id not in without:
                return DropReason(doc_id, similarity, True)
        return None

    def keep(self, row: int, doc_id: int, *, replaces: bool) -> None:
        """See Matcher."""
        if self._kept is None:
            return
        if replaces:
            for number in [number for number, old in self._kept.items() if old == doc_id]:
                del self._kept[number]
        self._kept[self._first + row + 1] = doc_id


@dataclasses.dataclass(eq=False)
class IdenticalMatcher(Matcher):
    """Finds the kept documents that are the same as those of one batch after the other.

    Nothing is shingled, normalised or folded for it, and no bucket is too large. A document takes
    some 300 bytes of memory.

    Attributes:
        collection: has the kept documents.
    """

    collection: Collection

    def __post_init__(self) -> None:
        # By digest, those of replaced versions, too; in hexadecimal.
        self._doc_ids = defaultdict[str | None, list[int]](list)
        self._replaced: dict[int, str | None] = {}  # the digests of new versions
        self._digests: list[str | None] = []  # of the batch; None is like no other
        for reader, doc_ids, _ in self.collection.parts():
            for digest, doc_id in zip(reader.bytes_digests(doc_ids), doc_ids.tolist(), strict=True):
                self._doc_ids[digest].append(doc_id)

    def of_batch(self, _: StoreReader, part: SignedPart, *_others: object) -> Matcher:
        """The matcher for a batch; see Comparing."""
        of_sets = self.collection.store.settings.shingling.of_sets
        nothing = content.digest(b"[]" if of_sets else b"").hex()
        files = part.batch.files
        digests = (files.get(row, digest.hex()) for row, digest in enumerate(part.digests))
        self._digests = [None if digest == nothing else digest for digest in digests]
        return self

    def _same(self, row: int) -> Iterator[int]:
        if (digest := self._digests[row]) is not None:
            for doc_id in self._doc_ids.get(digest, ()):
                if self._replaced.get(doc_id, digest) == digest:
                    yield doc_id

    def reason(self, row: int, without: Set[int]) -> DropReason | None:
        """See Matcher: the first one."""
        doc_ids = (doc_id for doc_id in self._same(row) if doc_id not in without)
        return next((DropReason(doc_id, 1.0, True) for doc_id in doc_ids), None)

    def matches(self, row: int) -> dict[int, float]:
        """See Matcher."""
        return dict.fromkeys(self._same(row), 1.0)

    def keep(self, row: int, doc_id: int, *, replaces: bool) -> None:
        """See Matcher."""
        if replaces:
            self._replaced[doc_id] = self._digests[row]
        insort(self._doc_ids[self._digests[row]], doc_id)


def signatures_of(
    reader: StoreReader, query: QueryBatch, doc_ids: IntArray
) -> Callable[[IntArray], Lanes]:
    """What gives the signatures of n documents, and then of stored ones, by their numbers.

    A function that holds no matcher: a circle of references would keep the shingles of one batch,
    200 MB, in memory while the next one is compared.
    """
    of_batch, count = query.signed.signatures, len(query)

    def signatures(numbers: IntArray) -> Lanes:
        in_batch, stored = numbers[numbers < count], numbers[numbers >= count] - count
        return np.concatenate([of_batch[in_batch], reader.signatures_of(doc_ids[stored])])

    return signatures
