"""Similarity weighted by rarity: of fingerprints, of terms, of the shingles of records.

What half of a collection has proves nothing.

The rarity of a fingerprint or shingle is its inverse document frequency (Sparck Jones: A
statistical interpretation of term specificity, Journal of Documentation 28, 1972), by the other
documents that have it, and less log 2, so that it is 0 where half of the documents have it:

    rarity = max(0, log(N / (2 max(1, df - 1))))

of N stored documents (at least 4), of which df have it. Of a pair with sets A and B, where w adds
up weights, `weighted` is w(A & B) / w(A | B), the weighted Jaccard similarity, and
`weighted_share` is w(A & B) / min(w(A), w(B)); 0 where nothing has a weight. By
df - 1, what only two documents have weighs as much as what one has.

Fingerprints are a sample, so these are estimates. A report, which reads all documents, weighs all
shingles of texts (`weigh_all`): of 2,783 pairs of sections of law it has 2,668 among its first
5,566, and by fingerprints 2,633. Of programs it weighs fingerprints, too, whose shingles are longer
than the file's: six tokens in a row occur in many programs that nobody copied.

A term of a reworded copy weighs log(1 / f), where f is the share of all windows of texts that have
it (lshdb.apps.passages.rare_words); those in more than COMMON of them weigh nothing. It is another
formula, as its unit is another: a window of some 50 words, of which a long document has many. A
file does not know how often a text repeats a term, so f is taken from the number of documents that
have it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from lshdb.apps.passages import lookups, rare_words, winnowing
from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.options import WeightedOptions
from lshdb.search import similarity
from lshdb.search.query import QueryBatch, QueryPairs, contents_of
from lshdb.search.similarity import Contents
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text import arrays
from lshdb.text.arrays import IntArray, Shares, is_in
from lshdb.text.content import from_stored
from lshdb.text.shingles import distinct_shingles

_MIN_DOCUMENTS = 4
"""With fewer, what a pair shares would be half of all, and weigh nothing."""
_PER_CHUNK = 1 << 20
"""How many values are compared in one array."""
_EQUAL = 1 - 1e-9
"""The share of the larger document from which both are equal, as sums are rounded."""
MAX_HASHES = 1 << 23
"""Hashes of all documents that are weighed together: some 300 MB while they are sorted."""
COMMON = 0.02
"""The share of windows above which a term does not count."""
_MIN_WINDOWS = 1_000
"""A smaller collection counts as one of this many windows: else nothing in it would be rare."""
_FREQUENT = 500
"""Documents of a term above which it leads to none of them."""

T = TypeVar("T")


def rarity(counts: IntArray | Shares, documents: int) -> Shares:
    """The weights float64[n] of what counts [n] of some documents have."""
    halves = max(documents, _MIN_DOCUMENTS) / (2 * np.maximum(counts - 1, 1))
    return np.maximum(np.log(halves), 0)


def compared(
    documents: IntArray,
    number: IntArray,
    weights: Shares,
    left: IntArray,
    right: IntArray,
    min_total: float = 0,
    min_part: float = 0,
) -> Shares:
    """How similar pairs int64[p] of documents are: `weighted` and `weighted_share`.

    Args:
        documents: int64[v], ascending: the index of the document that has each value.
        number: int64[v], which value that is, once a document.
        weights: float64[d], of the distinct values.
        left: int64[p], the index of the first document of each pair.
        right: int64[p], that of the second.
        min_total: what a document weighs at least, where it is the smaller one; two that share all
            they have are equal however little that is.
        min_part: the same, as a part of the larger one.

    Returns:
        float64[2, p].
    """
    count = 1 + int(max(left.max(initial=0), right.max(initial=0)))
    totals = np.bincount(documents, weights[number], minlength=count)
    sizes = np.bincount(documents, minlength=count)
    codes = np.sort(documents * len(weights) + number)
    number = codes % max(len(weights), 1)
    begins, common = arrays.offsets_of(sizes), np.zeros(len(left))
    for part in arrays.chunks_of(sizes[left], _PER_CHUNK):
        of_left = arrays.expand_ranges(begins[left[part]], sizes[left[part]])
        pair = np.repeat(np.arange(len(left[part])), sizes[left[part]])
        shared = is_in(right[part][pair] * len(weights) + number[of_left], codes)
        common[part] = np.bincount(
            pair[shared], weights[number[of_left[shared]]], minlength=len(left[part])
        )
    a, b = totals[left], totals[right]
    weighted = np.zeros((2, len(left)))
    # Sums in another order may differ in their last bits.
    larger = np.maximum(a, b)
    smaller = np.maximum(np.minimum(a, b), np.maximum(larger * min_part, min_total))
    for shares, total in zip(weighted, (a + b - common, smaller), strict=True):
        np.divide(common, total, out=shares, where=common > 0)
    weighted[:, (common > 0) & (common >= larger * _EQUAL)] = 1
    return np.minimum(weighted, 1)


class Weighing:
    """Weighs documents of a file by some of their values; see lshdb.search.query.measure_of.

    Attributes:
        reader: of the file.
        min_total, min_part: see `compared`.
    """

    min_total = min_part = 0.0

    def __init__(self, reader: StoreReader) -> None:
        self.reader = reader

    def values_of(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """The values of n texts, and the index of the text of each, int64[v] both, by text."""
        raise NotImplementedError

    def weights_of(self, values: IntArray) -> Shares:
        """The weights float64[d] of distinct values int64[d]."""
        raise NotImplementedError

    def weigh(self, contents: Contents, sizes: IntArray, left: IntArray, right: IntArray) -> Shares:
        """`weighted` and `weighted_share` of pairs of documents, float64[2, p].

        Args:
            contents: gives the texts of documents, by ascending numbers.
            sizes: int64[m], about how long each document is, by its number.
            left: int64[p], the number of the first document of each pair.
            right: int64[p], that of the second.
        """
        weighted = np.zeros((2, len(left)))
        order = np.argsort(left, kind="stable").tolist()
        at_once = self.reader.limits.join_read
        for chunk in arrays.bounded(order, (sizes[left] + sizes[right]).__getitem__, at_once):
            pairs = np.array(chunk)
            numbers, indices = np.unique([left[pairs], right[pairs]], return_inverse=True)
            values, documents = self.values_of([*contents(numbers)])
            distinct, number = np.unique(values, return_inverse=True)
            columns = documents, number, self.weights_of(distinct)
            a, b = indices.reshape(2, -1)
            weighted[:, pairs] = compared(*columns, a, b, self.min_total, self.min_part)
        return weighted

    def of_matches(self, batch: QueryBatch, pairs: QueryPairs) -> Shares:
        """`weighted` and `weighted_share` of matches of queries, float64[2, c]."""
        used, document = np.unique(pairs.document, return_inverse=True)
        contents = contents_of(self.reader, batch, pairs.doc_ids[used])
        sizes = np.append(batch.signed.shingles, self.reader.sizes(pairs.doc_ids[used])[0])
        return self.weigh(contents, sizes, pairs.query, document + len(batch))


def ranked(
    results: Iterable[T], request: WeightedOptions, top: int | None, usual: str = ""
) -> Iterable[T]:
    """The results whose weighted similarity is high enough, in the order of `request.sort`.

    Args:
        results: any number.
        request: the minimum and the order.
        top: how many are returned, if not all.
        usual: the field that orders equal ones, and all without `request.sort`; empty if they are
            in order.
    """
    if (minimum := request.min_weighted) is not None:
        weighted = attrgetter("weighted")
        results = (result for result in results if weighted(result) >= minimum)
    order = [name for name in (request.sort, usual) if name]
    if request.sort is not None or (order and top is not None):
        results = sorted(results, key=attrgetter(*order), reverse=True)
    return islice(results, None if top is None else min(top, sys.maxsize))


def ranking(settings: Settings) -> Callable[..., Iterable[Any]]:
    """`ranked`, for results of a file with these settings.

    Raises:
        UsageError: nothing weighs documents in this file.
    """
    if not settings.passages and not settings.records:
        raise UsageError(
            "similarity weighted by rarity needs the index of passages: make it with "
            "`lshdb reindex --passages 8`, or a new file with `lshdb init --passages 8`"
        )
    return ranked


@dataclass(frozen=True, slots=True)
class FingerprintWeights:
    """The weights of fingerprints.

    Attributes:
        values: int64[f], sorted.
        weights: float64[f], of these.
        alone: that of all others, which one document has.
        base: int64[any], sorted: those of base texts weigh nothing.
    """

    values: IntArray
    weights: Shares
    alone: float
    base: IntArray

    @classmethod
    def of(
        cls,
        values: IntArray,
        counts: IntArray,
        documents: int,
        limits: Limits,
        base: IntArray,
    ) -> FingerprintWeights:
        """The weights of sorted fingerprints int64[f] that int64[f] of some documents have.

        What more than `query_first` documents have weighs nothing, so that nobody counts them.
        """
        weights = np.where(counts > limits.query_first, 0, rarity(counts, documents))
        return cls(values, weights, float(rarity(np.ones(1), documents)[0]), base)

    def compared(self, prints: winnowing.Fingerprints, left: IntArray, right: IntArray) -> Shares:
        """How similar pairs of n documents with these fingerprints are; see `compared`."""
        values, documents = prints.by_document
        distinct, number = np.unique(values, return_inverse=True)
        return compared(documents, number, self.of_values(distinct), left, right)

    def of_values(self, values: IntArray) -> Shares:
        """The weights of distinct fingerprints int64[f], float64[f]."""
        weights = np.full(len(values), self.alone)
        (known,) = is_in(values, self.values).nonzero()
        weights[known] = self.weights[np.searchsorted(self.values, values[known])]
        weights[is_in(values, self.base)] = 0
        return weights


class TermWeights:
    """The weights of terms in a file.

    Attributes:
        reader: of the file.
        leading: the lowest weight of a term by which documents are found.
        documents: how many documents have each term that was weighed, by its hash; infinite for
            the terms of base texts.
    """

    def __init__(self, reader: StoreReader, base: Iterable[str] = ()) -> None:
        self.reader = reader
        documents, mean = lookups.mean_shingles(reader)
        self._last = documents
        windows = 1 + max(0.0, (mean - rare_words.WINDOW) / rare_words.STEP)
        self._per_document = min(rare_words.WINDOW / rare_words.STEP, windows) / max(
            _MIN_WINDOWS, documents * windows
        )
        self.leading = -np.log(_FREQUENT * self._per_document)
        self.documents: dict[int, float] = {}
        for terms in rare_words.terms_of([*base]):
            self.documents.update(dict.fromkeys(terms.hashes.tolist(), np.inf))

    def weights_of(self, terms: rare_words.Terms, indices: IntArray) -> Shares:
        """The weights of terms int64[n] of a text, float64[n]; 0 for those that do not count."""
        hashes = terms.hashes[indices].tolist()
        new = dict(zip(hashes, indices.tolist(), strict=True))
        new = {term: index for term, index in new.items() if term not in self.documents}
        if new:
            names = terms.names(np.array(list(new.values())))
            counts = lookups.term_counts(self.reader, names, self._last)
            self.documents.update(zip(new, counts.tolist(), strict=True))
        known = np.array([self.documents[term] for term in hashes], dtype=np.float64)
        shares: Shares = np.maximum(known, 1.0) * self._per_document
        return np.where(shares <= COMMON, -np.log(shares), 0.0)


class Prints(Weighing):
    """Weighs documents of a file by their fingerprints."""

    def __init__(self, reader: StoreReader, base: Sequence[str] = ()) -> None:
        super().__init__(reader)
        self._documents = reader.count()[0]
        self._base = winnowing.base_fingerprints(reader.settings, base)

    def values_of(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """See Weighing."""
        settings = self.reader.settings
        prints = winnowing.fingerprints(texts, settings.shingling, settings.passages, settings.seed)
        return prints.by_document

    def weights_of(self, values: IntArray) -> Shares:
        """See Weighing."""
        limits = self.reader.limits
        number, _ = lookups.documents_of_fingerprints(self.reader, values, limits.query_first + 1)
        counts = np.bincount(number, minlength=len(values))
        weights = FingerprintWeights.of(values, counts, self._documents, limits, self._base)
        return weights.of_values(values)


def weigh_all(
    reader: StoreReader,
    doc_ids: IntArray,
    sizes: IntArray,
    left: IntArray,
    right: IntArray,
) -> Shares:
    """`weighted` and `weighted_share` of pairs, by all that each of the documents has.

    Texts are read once. In memory are at most MAX_HASHES of their shingles, or of the fingerprints
    of programs: of more, those whose hash is a multiple of a number.

    Args:
        reader: the file.
        doc_ids: int64[n], the documents among which rarity is counted.
        sizes: int64[n], how many shingles each has.
        left: int64[p], the index of the first document of each pair.
        right: int64[p], that of the second.

    Returns:
        float64[2, p].
    """
    sampled = 1 + int(sizes.sum()) // MAX_HASHES
    parts, document_parts, count = [arrays.NO_NUMBERS], [arrays.NO_NUMBERS], 0
    for batch in similarity.batches_of_text(reader, doc_ids):
        values, documents = _values_of(batch, reader.settings)
        kept = values % sampled == 0
        parts.append(values[kept])
        document_parts.append(documents[kept] + count)
        count += len(batch)
    _, number, counts = np.unique(np.concatenate(parts), return_inverse=True, return_counts=True)
    weights = rarity(counts, len(doc_ids))
    return compared(np.concatenate(document_parts), number, weights, left, right)


def _values_of(stored: Sequence[str], settings: Settings) -> tuple[IntArray, ...]:
    """The shingles of texts, or the fingerprints of programs, and the index of the text of each."""
    shingling = settings.shingling
    contents = [from_stored(text, shingling) for text in stored]
    if shingling.kind != "code":
        shingles = distinct_shingles(contents, shingling, settings.seed)
        indices = np.repeat(np.arange(len(contents)), arrays.sizes_of(shingles.offsets))
        return (shingles.hashes >> np.uint64(1)).view(np.int64), indices
    prints = winnowing.fingerprints(contents, shingling, settings.passages, settings.seed)
    values, indices = prints.by_document
    counted = ~is_in(values, winnowing.base_fingerprints(settings, ()))
    return values[counted], indices[counted]
