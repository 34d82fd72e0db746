"""Which records are similar: those that share what few others have.

A shingle weighs the square of its rarity (apps.passages.weights), as a term does in the cosine of
two TF-IDF vectors. Two records are as similar as their `weighted_share`: what both have, as a
share of the smaller one, which weighs at least as much as LEAST shingles that no other record has.
So a name alone is found in a name with a description, but not a common word in all.
`scripts/measure/experiments/records.py` compares measures and thresholds. Pages, such as scans,
have longer shingles, of which half are indexed, and the smaller page counts as at least OF_LARGER
of the larger.

Candidates are exact. The shingles of a record are followed in the order of their counts, as in
prefix filters (Chaudhuri, Ganti, Kaushik, ICDE 2006): of what two records share, the rarest comes
first, and it is not among the last ones of either that together weigh less than a similar record
must share. What more than MANY records have is not followed; where it could have led to a similar
record, that is counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from lshdb.apps.passages.weights import Weighing, rarity
from lshdb.apps.records import statements as sql
from lshdb.apps.records.record_index import EVERY, is_of_pages, record_shingles
from lshdb.errors import Cut, UsageError, warn_of_limit
from lshdb.json_text import dumps, loads
from lshdb.options import RankingOptions
from lshdb.progress import Progress
from lshdb.search.lookup import bucket_members
from lshdb.search.query import (
    Found,
    QueryBatch,
    QueryPairs,
    allowed,
    estimated,
)
from lshdb.search.similarity import Contents, batches_of_text
from lshdb.store.lookups import StoreReader
from lshdb.store.readonly_sql import DocumentFilter
from lshdb.text import arrays
from lshdb.text.arrays import IntArray, Shares

MANY = 1_000
"""Records that have a shingle, above which it leads to none of them."""
LEAST = 3
"""A word of one letter that no other record has: a record with less proves nothing. With 2, a query
compares twice as many; with 4, a tenth more of changed records are missed among 100,000."""
OF_LARGER = 0.25
"""The part of the larger page that the smaller one counts as at least: else a query would have to
read each page that shares some rare shingles. A scan weighs up to four times its transcription, as
its errors are rare."""
_LOWEST = 0.01
"""The rarity of what more than half of the records have: equal records share something."""
_ROUNDING = 1 - 1e-6
"""Sums may be this much too small."""
_FOLLOWED = 0.25
"""The share of what must be shared that need not be followed. With less, more documents are read of
each shingle, with more, more of the candidates are compared: with half, a query among 100,000
records takes a fifth longer, and among 4,000 pages half."""
_ROWS = 1 << 20
"""Pairs of a record and one that shares a shingle with it, in one array: some 50 MB."""
_DOC_IDS = 40
"""Bits of a doc_id."""


class Records(Weighing):
    """The records of a file in an open transaction: see lshdb.search.query.measure_of."""

    def __init__(self, reader: StoreReader) -> None:
        super().__init__(reader)
        (self._count,) = self._counts(np.array([EVERY])).tolist()
        self.min_part = OF_LARGER if is_of_pages(self.reader.settings.shingling) else 0.0
        self.min_total = LEAST * float(self._weights(np.ones(1))[0])

    def _counts(self, values: IntArray) -> IntArray:
        """How many records have each of n shingles, int64[n]."""
        [(counts,)] = self.reader.rows(sql.COUNTS, dumps(values.tolist()))
        return np.array(loads(counts.encode()), dtype=np.int64)

    def _weights(self, counts: IntArray | Shares) -> Shares:
        rarities = np.where(counts > MANY, 0, rarity(counts, self._count))
        return np.maximum(rarities, _LOWEST) ** 2

    def values_of(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """See Weighing."""
        return record_shingles(texts, self.reader.settings)

    def weights_of(self, values: IntArray) -> Shares:
        """See Weighing."""
        return self._weights(self._counts(values))

    def sharing(
        self, texts: Sequence[str], threshold: float, *, larger: bool = False
    ) -> tuple[IntArray, IntArray, IntArray]:
        """The stored records that may be similar to texts, and few others.

        Args:
            texts: n texts; one that is stored finds itself.
            threshold: the minimum similarity.
            larger: whether those that weigh less than the text need not be found.

        Returns:
            The index of the text and the doc_id of each record, int64[c] both, ordered by both; and
            how many shingles of each text were not followed, int64[n].
        """
        values, owners = self.values_of(texts)
        distinct, number = np.unique(values, return_inverse=True)
        counts = self._counts(distinct)
        order = np.lexsort((number, counts[number], owners))
        number, owners = number[order], owners[order]
        weights = self._weights(counts)[number]
        totals = np.bincount(owners, weights, minlength=len(texts))
        needed = threshold * np.maximum(totals * max(larger, self.min_part), self.min_total)
        # A record that weighs less is similar to those with the same shingles.
        needed = np.minimum(needed, totals) * _ROUNDING
        # What others can share of a text, from each of its shingles on.
        weights = weights * (counts[number] > (1 if larger else 0))
        shared = np.bincount(owners, weights, minlength=len(texts))
        left = np.cumsum(shared)[owners] - np.cumsum(weights) + weights
        is_many = counts[number] > MANY
        cut = np.bincount(owners, is_many, minlength=len(texts)) * (totals < self.min_total)
        (read,) = ((left >= _FOLLOWED * needed[owners]) & ~is_many & (weights > 0)).nonzero()
        number, owners, weights = number[read], owners[read], weights[read]
        rest = shared - np.bincount(owners, weights, minlength=len(texts))
        begins, doc_ids = self._documents(distinct, number)
        sizes = arrays.sizes_of(begins)[number]
        keys = [arrays.NO_NUMBERS]
        rows = np.bincount(owners, sizes, minlength=len(texts)).astype(np.int64)
        for part in arrays.chunks_of(rows, _ROWS):
            of_part = slice(*owners.searchsorted([part.start, part.stop]).tolist())
            size = sizes[of_part]
            rows_of_part = arrays.expand_ranges(begins[number[of_part]], size)
            of_texts = np.repeat(owners[of_part], size) << _DOC_IDS
            pairs, pair = np.unique(of_texts | doc_ids[rows_of_part], return_inverse=True)
            common = np.bincount(pair, np.repeat(weights[of_part], size), minlength=len(pairs))
            text = pairs >> _DOC_IDS
            keys.append(pairs[common + rest[text] >= needed[text]])
        index, found = np.divmod(np.concatenate(keys), 1 << _DOC_IDS)
        return index, found, cut

    def _documents(self, values: IntArray, number: IntArray) -> tuple[IntArray, IntArray]:
        """The records that have some of n shingles, those of the indices int64[any].

        Returns:
            int64[n + 1], where the records of each shingle begin, and doc_ids int64[any].
        """
        wanted = np.unique(number)
        rows = self.reader.rows(sql.DOCUMENTS, dumps(values[wanted].tolist()))
        lists = [loads(row.encode()) for (row,) in rows]
        sizes = np.zeros(len(values), dtype=np.int64)
        sizes[wanted] = [*map(len, lists)]
        doc_ids = np.array([*chain.from_iterable(lists)], dtype=np.int64)
        return arrays.offsets_of(sizes), doc_ids

    def pairs(self, threshold: float, progress: Progress) -> Iterator[tuple[IntArray, IntArray]]:
        """All pairs that may be similar, each as a bucket of two: buckets and doc_ids int64[2 p].

        In the order of addition.
        """
        ids, first, cut = self.reader.doc_ids(1), 0, 0
        codes = [arrays.NO_NUMBERS]
        for texts in batches_of_text(self.reader, ids):
            index, doc_ids, cut_here = self.sharing(texts, threshold, larger=True)
            number, other = first + index, ids.searchsorted(doc_ids)
            low, high = np.minimum(number, other), np.maximum(number, other)
            codes.append((low * len(ids) + high)[low < high])
            first, cut = first + len(texts), cut + int(cut_here.sum())
            progress(first, len(ids), "records looked up")
        if cut:
            warn_of_limit(_cut("pairs", cut))
        pairs = np.unique(np.concatenate(codes))
        yield np.arange(len(pairs)).repeat(2), ids[np.stack(np.divmod(pairs, len(ids)), 1).ravel()]

    @staticmethod
    def check(*options: object) -> None:
        """UsageError if records are to be compared otherwise: one of these options is given."""
        if any(options):
            raise UsageError(
                "records and scans are compared by the share of the smaller one, weighted by "
                "rarity: give no estimate, distinguish, containment or on_similar"
            )

    def scorer(self, contents: Contents, sizes: IntArray) -> "RecordScorer":
        """What computes the similarities of pairs; for the arguments see `weigh`."""
        return RecordScorer(self, contents, sizes)

    def matches(
        self, query: RankingOptions, batch: QueryBatch, keep: DocumentFilter | None
    ) -> Found:
        """The matches of texts, with `weighted_share` as similarities and `weighted` as `measured`.

        Records are found by rare shingles, or by all of them if they are equal.
        """
        reader, similar = self.reader, query.similar
        self.check(similar.estimate, similar.distinguish, query.containment)
        threshold = similar.threshold or reader.settings.threshold
        index, found, unfollowed = self.sharing(batch.stored, threshold)
        equal = bucket_members(reader, batch.signed.bucket_keys)
        doc_ids, document = np.unique(np.append(found, equal.doc_ids), return_inverse=True)
        named = np.append(index, equal.origins()[0]) * len(doc_ids) + document
        queries, documents = np.divmod(np.unique(named), max(1, len(doc_ids)))
        pairs = QueryPairs.of(doc_ids, queries, documents, np.zeros(len(queries), dtype=np.bool_))
        pairs = pairs.chosen(allowed(doc_ids, batch, keep)[documents])
        both, shares = super().of_matches(batch, pairs)
        pairs = pairs._replace(similarities=shares, measured=both).chosen(shares >= threshold)
        # Signatures are read of the similar ones alone.
        used, document = np.unique(pairs.document, return_inverse=True)
        pairs = pairs._replace(doc_ids=doc_ids[used], document=document)
        pairs = estimated(
            reader, batch, pairs, lambda some: np.zeros(len(some.query)), not query.exhaustive
        )
        cuts = {
            number: [_cut("query", int(unfollowed[number]))]
            for number in np.flatnonzero(unfollowed).tolist()
        }
        return pairs.ranked(pairs.similarities, pairs.estimates, similar.top, threshold), cuts

    def of_matches(self, _batch: QueryBatch, pairs: QueryPairs) -> Shares:
        """See Weighing; they are known."""
        return np.array([pairs.measured, pairs.similarities])


def _cut(where: str, shingles: int) -> Cut:
    """These shingles of records lead to too many others."""
    return Cut(
        where,
        shingles,
        f"shingles of records that are in too many to be followed: {shingles:,}; records that "
        "share no rarer one may be missing: longer ones (--shingle) are rarer",
    )


@dataclass(eq=False)
class RecordScorer:
    """The similarities of records, as lshdb.search.similarity.Exact has those of other documents.

    Attributes:
        records: those of the file.
        contents, sizes: see lshdb.apps.passages.weights.Weighing.
    """

    records: Records
    contents: Contents
    sizes: IntArray

    def scores(self, a: IntArray, b: IntArray, min_similarity: float) -> Shares:  # noqa: ARG002
        """The weighted share of pairs int64[c] of numbers, float64[c]."""
        shares: Shares = self.records.weigh(self.contents, self.sizes, a, b)[1]
        return shares
