"""Weights by rarity, of fingerprints and of terms: what half of a collection has proves nothing.

The weight of a fingerprint is its inverse document frequency (Sparck Jones: A statistical
interpretation of term specificity, Journal of Documentation 28, 1972), by the other documents that
have it, and less log 2, so that it is 0 where half of the documents have it:

    weight = max(0, log(N / (2 max(1, df - 1))))

of N stored documents (at least 4), of which df have it. Of a pair with fingerprints A and B, where
w adds up weights, `weighted` is w(A & B) / w(A | B), the weighted Jaccard similarity, and
`weighted_share` is w(A & B) / min(w(A), w(B)); 0 where nothing has a weight. By
df - 1, what only two documents have weighs as much as what one has.

A term of a reworded copy weighs log(1 / f), where f is the share of all windows of texts that have
it (lshdb.shingling.rare_words); those in more than COMMON of them weigh nothing. It is another
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
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.limits import Limits
from lshdb.options import WeightedOptions
from lshdb.search import lookup
from lshdb.search.passage_windows import is_in
from lshdb.shingling import rare_words
from lshdb.shingling.arrays import IntArray, bounded, chunks_of, expand_ranges, offsets_of
from lshdb.shingling.rare_words import STEP, WINDOW, Terms
from lshdb.shingling.winnowing import Fingerprints, base_fingerprints, fingerprints
from lshdb.sketching.settings import Settings
from lshdb.store.lookups import StoreReader

_MIN_DOCUMENTS = 4
"""With fewer, what a pair shares would be half of all, and weigh nothing."""
_AT_ONCE = 1 << 20
"""Fingerprints that are compared at once."""
COMMON = 0.02
"""The share of windows above which a term does not count."""
_MIN_WINDOWS = 1_000
"""A smaller collection counts as one of this many windows: else nothing in it would be rare."""
_FREQUENT = 500
"""Documents of a term above which it leads to none of them."""

T = TypeVar("T")
Shares = npt.NDArray[np.float64]


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
        cls, values: IntArray, counts: IntArray, documents: int, limits: Limits, base: IntArray
    ) -> FingerprintWeights:
        """The weights of sorted fingerprints int64[f] that int64[f] of some documents have.

        What more than `query_first` documents have weighs nothing, so that nobody counts them.
        """
        documents = max(documents, _MIN_DOCUMENTS)
        weights = np.log(documents / (2 * np.maximum(counts - 1, 1)))
        weights = np.where(counts > limits.query_first, 0, np.maximum(weights, 0))
        return cls(values, weights, float(np.log(documents / 2)), base)

    def compared(self, prints: Fingerprints, one: IntArray, other: IntArray) -> Shares:
        """How similar pairs int64[p] of n documents are: `weighted` and `weighted_share`.

        Args:
            prints: the fingerprints of the documents.
            one: int64[p], the index of the one of each pair.
            other: int64[p], that of the other.

        Returns:
            float64[2, p].
        """
        order = np.argsort(prints.documents, kind="stable")
        documents, values = prints.documents[order], prints.values[order]
        weights = np.full(len(values), self.alone)
        (known,) = is_in(values, self.values).nonzero()
        weights[known] = self.weights[np.searchsorted(self.values, values[known])]
        weights[is_in(values, self.base)] = 0
        count = 1 + int(max(one.max(initial=0), other.max(initial=0)))
        totals = np.bincount(documents, weights, minlength=count)
        sizes = np.bincount(documents, minlength=count)
        distinct, number = np.unique(values, return_inverse=True)
        codes = documents * len(distinct) + number
        begins, both = offsets_of(sizes), np.zeros(len(one))
        for part in chunks_of(sizes[one], _AT_ONCE):
            own = expand_ranges(begins[one[part]], sizes[one[part]])
            pair = np.repeat(np.arange(part.start, part.start + len(one[part])), sizes[one[part]])
            shared = is_in(other[pair] * len(distinct) + number[own], codes)
            both += np.bincount(pair[shared], weights[own[shared]], minlength=len(one))
        a, b = totals[one], totals[other]
        found = np.zeros((2, len(one)))
        for shares, of in zip(found, (a + b - both, np.minimum(a, b)), strict=True):
            # Sums in another order may differ in their last bits.
            np.divide(both, of, out=shares, where=both > 0)
        return np.minimum(found, 1)


class TermWeights:
    """The weights of terms in a file.

    Attributes:
        reader: of the file.
        leading: the lowest weight of a term by which documents are found.
        absent: the hashes of terms that no document has.
    """

    def __init__(self, reader: StoreReader, base: Iterable[str] = ()) -> None:
        self.reader = reader
        documents, mean = reader.mean_shingles()
        each = 1 + max(0.0, (mean - WINDOW) / STEP)
        self._per_document = min(WINDOW / STEP, each) / max(_MIN_WINDOWS, documents * each)
        self.leading = -np.log(_FREQUENT * self._per_document)
        self.absent: set[int] = set()
        self._known: dict[int, float] = {}
        for terms in rare_words.terms_of([*base]):
            self._known.update(dict.fromkeys(terms.hashes.tolist(), 0.0))

    def weights_of(self, terms: Terms, indices: IntArray) -> Shares:
        """Those of some terms int64[n] of a text, float64[n]; 0 for what does not count."""
        hashes = terms.hashes[indices].tolist()
        new = dict(zip(hashes, indices.tolist(), strict=True))
        new = {one: at for one, at in new.items() if one not in self._known}
        if new:
            names = terms.names(np.array(list(new.values())))
            counts = self.reader.term_counts(names)
            self.absent.update(one for one, count in zip(new, counts, strict=True) if not count)
            shares = np.maximum(counts, 1.0) * self._per_document
            found = np.where(shares <= COMMON, -np.log(shares), 0.0)
            self._known.update(zip(new, found.tolist(), strict=True))
        return np.fromiter(
            (self._known[one] for one in hashes), dtype=np.float64, count=len(hashes)
        )


def weigh(
    reader: StoreReader,
    contents: Callable[[IntArray], Iterable[str]],
    sizes: IntArray,
    one: IntArray,
    other: IntArray,
    base: Sequence[str] = (),
) -> list[list[Any]]:
    """`weighted` and `weighted_share` of pairs of documents; None without an index of passages.

    Args:
        reader: the file.
        contents: gives the texts of documents, by ascending numbers int64[n].
        sizes: int64[m], about how long each document is, by its number.
        one: int64[p], the number of the one of each pair.
        other: int64[p], that of the other.
        base: texts that do not count, besides those of the file.
    """
    settings, limits = reader.settings, reader.limits
    if not settings.passages:
        return [[None] * len(one)] * 2
    documents = reader.count()[0]
    found = np.zeros((2, len(one)))
    order = np.argsort(one, kind="stable").tolist()
    for some in bounded(order, (sizes[one] + sizes[other]).__getitem__, limits.join_read):
        pairs = np.array(some)
        numbers, places = np.unique([one[pairs], other[pairs]], return_inverse=True)
        texts = [*contents(numbers)]
        prints = fingerprints(texts, settings.shingling, settings.passages, settings.seed)
        values = np.unique(prints.values)
        having = lookup.members(reader, lookup.FingerprintCodes(values), limits.query_first + 1)
        counts = np.bincount(having.code, minlength=len(values))
        weights = FingerprintWeights.of(values, counts, documents, limits, base_of(settings, base))
        found[:, pairs] = weights.compared(prints, *places.reshape(2, -1))
    return found.tolist()


def base_of(settings: Settings, more: Sequence[str]) -> IntArray:
    """The fingerprints of the base texts of a file, and of more, int64[any], sorted."""
    return base_fingerprints(settings.shingling.without(more), settings.passages, settings.seed)


def check_weighted(request: WeightedOptions, settings: Settings) -> None:
    """UsageError if similarities weighted by rarity are asked for, and the file has none."""
    if (request.sort or request.min_weighted is not None) and not settings.passages:
        raise UsageError(
            "similarity weighted by rarity needs the index of passages: make it with "
            "`lshdb reindex --passages 8`, or a new file with `lshdb init --passages 8`"
        )


def ranked(
    found: Iterable[T],
    request: WeightedOptions,
    top: int | None,
    usual: str = "",
    value: Callable[[str], Callable[[T], Any]] = attrgetter,
) -> Iterable[T]:
    """Those of some results that are rare enough, in the order that is asked for.

    Args:
        found: results.
        request: what is asked.
        top: how many of them, if not all.
        usual: the field that orders equal ones, and all without `request.sort`; empty if they are
            in order.
        value: gives what reads a field of a result.
    """
    if (minimum := request.min_weighted) is not None:
        weighted = value("weighted")
        found = (one for one in found if weighted(one) >= minimum)
    order = [name for name in (request.sort, usual) if name]
    if request.sort is not None or (order and top is not None):
        keys = [*map(value, order)]
        found = sorted(found, key=lambda one: [key(one) for key in keys], reverse=True)
    return islice(found, None if top is None else min(top, sys.maxsize))
