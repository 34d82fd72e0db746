"""Similarity weighted by rarity: of fingerprints, or of the shingles of records.

The rarity of a fingerprint or shingle is its inverse document frequency (Sparck Jones: A
statistical interpretation of term specificity, Journal of Documentation 28, 1972), by the other
documents that have it, and less log 2, so that it is 0 where half of the documents have it:

    rarity = max(0, log(N / (2 max(1, df - 1))))

of N stored documents (at least 4), of which df have it. Of a pair with sets A and B, where w adds
up weights, `weighted` is w(A & B) / w(A | B), the weighted Jaccard similarity, and
`weighted_share` is w(A & B) / min(w(A), w(B)); 0 where nothing has a weight. By
df - 1, what only two documents have weighs as much as what one has.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from lshdb.errors import UsageError
from lshdb.options import WeightedOptions
from lshdb.search.query import QueryBatch, QueryPairs, contents_of
from lshdb.search.similarity import Contents
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text import arrays
from lshdb.text.arrays import IntArray, Shares, is_in

_MIN_DOCUMENTS = 4
"""With fewer, what a pair shares would be half of all, and weigh nothing."""
_PER_CHUNK = 1 << 20
"""How many values are compared in one array."""
_EQUAL = 1 - 1e-9
"""The share of the larger document from which both are equal, as sums are rounded."""

T = TypeVar("T")


def rarity(counts: IntArray | Shares, documents: int) -> Shares:
    """The weights float64[n] of what counts [n] of some documents have."""
    halves = max(documents, _MIN_DOCUMENTS) / (2 * np.maximum(counts - 1, 1))
    return np.maximum(np.log(halves), 0)


def compared(
    documents: IntArray,
    number: IntArray,
    weights: Shares,
    counts: IntArray,
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
        counts: int64[d], how many of these documents have each.
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
    # What one document has, or what weighs nothing, adds nothing to what a pair shares.
    shareable = ((counts > 1) & (weights > 0))[number]
    documents, number = documents[shareable], number[shareable]
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
            distinct, number, counts = np.unique(values, return_inverse=True, return_counts=True)
            columns = documents, number, self.weights_of(distinct), counts
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
