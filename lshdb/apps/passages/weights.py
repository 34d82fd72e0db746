"""Weights by rarity, of fingerprints and of terms: what half of a collection has proves nothing.

The weight of a fingerprint is its rarity, by the documents that have it; see `rarity`.
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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lshdb.apps.passages import lookups, rare_words, rarity, winnowing
from lshdb.limits import Limits
from lshdb.search import similarity
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text import arrays
from lshdb.text.arrays import is_in
from lshdb.text.content import from_stored
from lshdb.text.shingles import distinct_shingles

MAX_HASHES = 1 << 23
"""Hashes of all documents that are weighed together: some 300 MB while they are sorted."""
COMMON = 0.02
"""The share of windows above which a term does not count."""
_MIN_WINDOWS = 1_000
"""A smaller collection counts as one of this many windows: else nothing in it would be rare."""
_FREQUENT = 500
"""Documents of a term above which it leads to none of them."""


@dataclass(frozen=True, slots=True)
class FingerprintWeights:
    """The weights of fingerprints.

    Attributes:
        values: int64[f], sorted.
        weights: float64[f], of these.
        alone: that of all others, which one document has.
        base: int64[any], sorted: those of base texts weigh nothing.
    """

    values: arrays.IntArray
    weights: arrays.Shares
    alone: float
    base: arrays.IntArray

    @classmethod
    def of(
        cls,
        values: arrays.IntArray,
        counts: arrays.IntArray,
        documents: int,
        limits: Limits,
        base: arrays.IntArray,
    ) -> FingerprintWeights:
        """The weights of sorted fingerprints int64[f] that int64[f] of some documents have.

        What more than `query_first` documents have weighs nothing, so that nobody counts them.
        """
        weights = np.where(counts > limits.query_first, 0, rarity.rarity(counts, documents))
        return cls(values, weights, float(rarity.rarity(np.ones(1), documents)[0]), base)

    def compared(
        self, prints: winnowing.Fingerprints, left: arrays.IntArray, right: arrays.IntArray
    ) -> arrays.Shares:
        """How similar pairs of n documents with these fingerprints are; see `compared`."""
        values, number, counts = np.unique(prints.values, return_inverse=True, return_counts=True)
        order = np.argsort(prints.documents, kind="stable")
        columns = prints.documents[order], number[order], self.of_values(values), counts
        return rarity.compared(*columns, left, right)

    def of_values(self, values: arrays.IntArray) -> arrays.Shares:
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
        absent: the hashes of terms that no document has.
        alone: the hashes of terms that one document has.
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
        self.absent: set[int] = set()
        self.alone: set[int] = set()
        self._known: dict[int, float] = {}
        for terms in rare_words.terms_of([*base]):
            self._known.update(dict.fromkeys(terms.hashes.tolist(), 0.0))

    def weights_of(self, terms: rare_words.Terms, indices: arrays.IntArray) -> arrays.Shares:
        """The weights of terms int64[n] of a text, float64[n]; 0 for those that do not count."""
        hashes = terms.hashes[indices].tolist()
        new = dict(zip(hashes, indices.tolist(), strict=True))
        new = {term_hash: index for term_hash, index in new.items() if term_hash not in self._known}
        if new:
            names = terms.names(np.array(list(new.values())))
            counts = lookups.term_counts(self.reader, names, self._last)
            self.absent.update(
                term_hash for term_hash, count in zip(new, counts, strict=True) if not count
            )
            self.alone.update(
                term_hash for term_hash, count in zip(new, counts, strict=True) if count == 1
            )
            shares = np.maximum(counts, 1.0) * self._per_document
            new_weights = np.where(shares <= COMMON, -np.log(shares), 0.0)
            self._known.update(zip(new, new_weights.tolist(), strict=True))
        return np.fromiter(
            (self._known[term_hash] for term_hash in hashes), dtype=np.float64, count=len(hashes)
        )


class Prints(rarity.Weighing):
    """Weighs documents of a file by their fingerprints."""

    def __init__(self, reader: StoreReader, base: Sequence[str] = ()) -> None:
        super().__init__(reader)
        self._documents = reader.count()[0]
        self._base = base_of(reader.settings, base)

    def values_of(self, texts: Sequence[str]) -> tuple[arrays.IntArray, arrays.IntArray]:
        """See Weighing."""
        settings = self.reader.settings
        prints = winnowing.fingerprints(texts, settings.shingling, settings.passages, settings.seed)
        order = np.argsort(prints.documents, kind="stable")
        return prints.values[order], prints.documents[order]

    def weights_of(self, values: arrays.IntArray) -> arrays.Shares:
        """See Weighing."""
        limits = self.reader.limits
        number, _ = lookups.documents_of_fingerprints(self.reader, values, limits.query_first + 1)
        counts = np.bincount(number, minlength=len(values))
        weights = FingerprintWeights.of(values, counts, self._documents, limits, self._base)
        return weights.of_values(values)


def weigh_all(
    reader: StoreReader,
    doc_ids: arrays.IntArray,
    sizes: arrays.IntArray,
    left: arrays.IntArray,
    right: arrays.IntArray,
) -> arrays.Shares:
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
    weights = rarity.rarity(counts, len(doc_ids))
    return rarity.compared(np.concatenate(document_parts), number, weights, counts, left, right)


def _values_of(stored: Sequence[str], settings: Settings) -> tuple[arrays.IntArray, ...]:
    """The shingles of texts, or the fingerprints of programs, and the index of the text of each."""
    shingling = settings.shingling
    contents = [from_stored(text, shingling) for text in stored]
    if shingling.kind != "code":
        shingles = distinct_shingles(contents, shingling, settings.seed)
        indices = np.repeat(np.arange(len(contents)), arrays.sizes_of(shingles.offsets))
        return (shingles.hashes >> np.uint64(1)).view(np.int64), indices
    prints = winnowing.fingerprints(contents, shingling, settings.passages, settings.seed)
    order = np.argsort(prints.documents, kind="stable")
    order = order[~is_in(prints.values[order], base_of(settings, ()))]
    return prints.values[order], prints.documents[order]


def base_of(settings: Settings, more: Sequence[str]) -> arrays.IntArray:
    """The fingerprints of the base texts of a file, and of more, int64[any], sorted."""
    return winnowing.base_fingerprints(
        settings.shingling.without(more), settings.passages, settings.seed
    )
