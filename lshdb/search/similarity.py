"""How similar documents are: exactly, by their distinct shingle hashes, or by signatures.

Shingles are hashed under the seed of this process (lshdb.text.hashing.secret_seed), as hashes
under the file's seed can be forged.

For sets A and B the Jaccard similarity is J = |A and B| / |A or B| (Broder, 1997).

One document is compared with others by `similarities`, many pairs by `shared_by_pairs`; `Exact`
and `Estimates` read the documents of a join's pairs. They use numbers, a document's index among all
of the join. What they read is kept while there is room, and then all dropped: pairs come in the
order of their documents, so that most of the next ones were just read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lshdb.errors import DamagedFile
from lshdb.sketch import minhash
from lshdb.sketch.constructions import collided_bands, evaluate
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text.arrays import (
    IntArray,
    Lanes,
    Mask,
    Shares,
    bounded,
    chunks,
    chunks_of,
    expand_ranges,
    offsets_of,
    runs,
    sizes_of,
    sums,
)
from lshdb.text.content import from_stored
from lshdb.text.hashing import Hashes, secret_seed
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Shingles

Parities = npt.NDArray[np.uint64]
Contents = Callable[[IntArray], Iterable[str]]
"""What gives the stored contents of documents, by ascending numbers int64[n]."""

_MARGIN = 5.0
"""Standard errors by which an estimate may be below a similarity that is still verified."""
_PARITIES = 128_000_000
"""Maximum bytes of the parities of all documents of a join."""
_COMPARED_AT_ONCE = 1 << 11
"""Pairs compared at once: 512 bytes each, of signatures or parities, fit in a cache."""
ROUNDING = 1e-6
"""Hashes by which a limit may be wrong as it is computed with 53 bits."""
_CELLS = 1 << 22
"""Cells of parities made at once, a byte each."""
_FEW_PAIRS = 3
"""Pairs of one set that take longer together than one by one."""
_LOOKED_UP = 1 << 17
"""Hashes looked up in one set at once: 1 MB."""


# from counts and signatures


def jaccard(shared: IntArray, a_sizes: int | IntArray, b_sizes: int | IntArray) -> Shares:
    """Jaccard similarities from the sizes of intersections int64[n] and of the sets.

    float64[n]; 0 for two empty sets: an empty document is similar to nothing.
    """
    similarities: Shares = shared / np.maximum(a_sizes + b_sizes - shared, 1)
    return similarities


def estimates(a_lanes: Lanes, b_lanes: Lanes) -> Shares:
    """Estimated similarities of signatures [n, k], or one [k], to others: float64[n].

    By minhash.estimate, from how many lanes agree; the lanes of both have the same type.
    """
    agreeing = (a_lanes == b_lanes).sum(axis=-1, dtype=np.uint16)
    return minhash.estimate(agreeing, b_lanes.shape[-1], 8 * b_lanes.itemsize)


def standard_error(similarity: Shares | float, settings: Settings, lanes: int) -> Shares:
    """The standard error of the estimate of a similarity J from k lanes, float64[n].

    With the probability e of an accident a lane agrees with probability p = J + (1 - J) e, so the
    error is sqrt(p (1 - p) / k) / (1 - e) = sqrt(p (1 - J) / ((1 - e) k)). Without accidents it is
    sqrt(J (1 - J) / k).
    """
    by_accident = minhash.accident(settings.lane_bits)
    different = 1.0 - similarity
    agree = similarity + different * by_accident
    errors: Shares = np.sqrt(agree * different / ((1 - by_accident) * lanes))
    return errors


def min_estimate(similarity: Shares | float, settings: Settings) -> Shares:
    """The lowest estimate of a pair that is still verified at a similarity, float64[n].

    At 0.8 with 128 lanes, one or two pairs in a million are lower. A lower bound would verify twice
    as many under a header of 70%.
    """
    errors = standard_error(similarity, settings, settings.permutations)
    return similarity - _MARGIN * errors


# one set and many


def intersections(hashes: Hashes, others: Shingles) -> IntArray:
    """How many hashes of one set are in each of n sets.

    Args:
        hashes: uint64[any], sorted and distinct.
        others: n documents' hashes, each distinct.

    Returns:
        int64[n].
    """
    if not len(hashes):
        return np.zeros(len(others), dtype=np.int64)
    index = np.searchsorted(hashes, others.hashes)
    return sums(hashes.take(index, mode="clip") == others.hashes, others.offsets)


def similarities(store: StoreReader, stored: str, doc_ids: IntArray) -> Shares:
    """The Jaccard similarities of a document, in its stored form, to stored ones, float64[n]."""
    shingling = store.settings.shingling
    query_hashes: Hashes | None = None
    scores: list[float] = []
    same: list[bool] = []
    for batch in batches_of_text(store, doc_ids):
        same += [text == stored for text in batch]
        others = [text for text in batch if text != stored]
        if not others:
            continue
        # Shingled with the first of them, which takes half of the time of two calls.
        texts = [stored, *others] if query_hashes is None else others
        contents = [from_stored(text, shingling) for text in texts]
        sets = distinct_shingles(contents, shingling, secret_seed())
        if query_hashes is None:
            query_hashes = sets.hashes[: sets.offsets[1]]
            sets = Shingles(sets.hashes[sets.offsets[1] :], sets.offsets[1:] - sets.offsets[1])
        shared = intersections(query_hashes, sets)
        scores += jaccard(shared, len(query_hashes), sizes_of(sets.offsets)).tolist()
    all_scores: Shares = np.ones(len(same))
    all_scores[~np.array(same, dtype=np.bool_)] = scores
    return all_scores


def canonical_ids(digests: npt.NDArray[np.void]) -> IntArray:
    """For each of n documents the first one with the same digest, V16[n] -> int64[n]."""
    # As byte strings they are sorted in half of the time; these ignore zeros at their ends, which
    # makes no difference, as all have one length.
    of_length = digests.view(f"S{digests.dtype.itemsize}")
    _, first, of_document = np.unique(of_length, return_index=True, return_inverse=True)
    return first[of_document]


def batches_of_text(store: StoreReader, doc_ids: IntArray) -> Iterator[list[str]]:
    """The stored forms of documents int64[n], in batches of a bounded number of characters."""
    return bounded(store.contents(doc_ids), len, store.limits.text_batch)


# pairs of sets


def shared_by_pairs(
    hashes: Hashes, starts: IntArray, sizes: IntArray, a_sets: IntArray, b_sets: IntArray
) -> IntArray:
    """How many hashes pairs of sets share.

    Args:
        hashes: uint64[any], the hashes of all sets, sorted and distinct in each.
        starts: int64[m], where each set begins.
        sizes: int64[m], how many hashes it has.
        a_sets: int64[c], the first of each pair; pairs with the same first are adjacent.
        b_sets: int64[c], the second.

    Returns:
        int64[c].
    """
    counts = np.zeros(len(a_sets), dtype=np.int64)
    begins, ends = runs(a_sets)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        low, partners = starts[a_sets[begin]], b_sets[begin:end]
        a_hashes = hashes[low : low + sizes[a_sets[begin]]]
        if end - begin < _FEW_PAIRS:
            for index, number in enumerate(partners.tolist(), begin):
                start = starts[number]
                counts[index] = _shared_by_two(a_hashes, hashes[start : start + sizes[number]])
            continue
        for part in chunks_of(sizes[partners], _LOOKED_UP):
            size = sizes[partners[part]]
            b_hashes = hashes[expand_ranges(starts[partners[part]], size)]
            counts[begin:end][part] = intersections(a_hashes, Shingles(b_hashes, offsets_of(size)))
    return counts


def _shared_by_two(larger: Hashes, smaller: Hashes) -> int:
    if len(larger) < len(smaller):
        larger, smaller = smaller, larger
    if not len(smaller):
        return 0
    index = larger.searchsorted(smaller)
    return int(np.count_nonzero(larger.take(index, mode="clip") == smaller))


def parities(shingles: Shingles, words: int) -> Parities:
    """For n sets, whether each of 64 w cells holds an odd number of the set's hashes.

    Args:
        shingles: n sets, hashes distinct in each.
        words: w, a power of two.

    Returns:
        uint64[n, w].
    """
    cells = 64 * words
    shift = np.uint64(64 - (cells.bit_length() - 1))
    made = np.empty((len(shingles), words), dtype=np.uint64)
    at_once = max(1, _CELLS // cells)
    for start in range(0, len(shingles), at_once):
        offsets = shingles.offsets[start : start + at_once + 1]
        count = len(offsets) - 1
        cell = (shingles.hashes[offsets[0] : offsets[-1]] >> shift).view(np.int64)
        cell += np.repeat(np.arange(0, count * cells, cells), np.diff(offsets))
        odd = np.zeros(count * cells, dtype=np.uint8)
        np.add.at(odd, cell, np.uint8(1))
        odd &= 1
        made[start : start + count] = np.packbits(odd).view(np.uint64).reshape(count, words)
    return made


def may_reach(
    sizes: IntArray,
    table: Parities,
    a_sets: IntArray,
    b_sets: IntArray,
    min_similarity: Shares | float,
) -> Mask:
    """Which pairs of sets may reach a Jaccard similarity, by their sizes and parities.

    A cell whose parities differ holds a hash of only one of the two, so that x = |A xor B| is at
    least the number of such cells (the bitmap filter of Sandes, Teodoro, Melo, 2020), and at least
    the difference of the sizes. J = (|A| + |B| - x) / (|A| + |B| + x) reaches t if x is at most
    (|A| + |B|) (1 - t) / (1 + t). It takes some nanoseconds per pair of any size, the exact count
    some microseconds: without it, pairs under one header take ten times as long. Half of the cells
    rule out most of them.

    Args:
        sizes: int64[m], of all sets.
        table: uint64[m, w], their parities, w even.
        a_sets: int64[c], the first of each pair.
        b_sets: int64[c], the second.
        min_similarity: t, of all pairs or float64[c].

    Returns:
        bool[c].
    """
    a_sizes, b_sizes = sizes[a_sets], sizes[b_sets]
    limit = (a_sizes + b_sizes) * ((1 - min_similarity) / (1 + min_similarity)) + ROUNDING
    possible: Mask = np.abs(a_sizes - b_sizes) <= limit
    differ = np.zeros(len(a_sets), dtype=np.int64)
    halves = table.reshape(2 * len(table), -1)
    for half in range(2):
        (pairs,) = possible.nonzero()
        for part in chunks(len(pairs), _COMPARED_AT_ONCE):
            compared = pairs[part]
            cells = halves.take(2 * a_sets[compared] + half, axis=0)
            cells ^= halves.take(2 * b_sets[compared] + half, axis=0)
            differ[compared] += np.bitwise_count(cells).sum(axis=1, dtype=np.uint16)
        possible &= differ <= limit
    return possible


# pairs of a join


class Scorer(Protocol):
    """What computes the similarities of pairs of documents, by their numbers."""

    def scores(self, a: IntArray, b: IntArray, min_similarity: float, /) -> Shares:
        """The similarities of pairs int64[c], float64[c]; below the minimum any number below it."""


@dataclass(eq=False)
class Exact:
    """Exact similarities, of documents whose contents are kept.

    Digests show documents with the same content. Other pairs are first bounded by sizes and
    parities (see `may_reach`); sets are compared only if a pair may reach `min_similarity`.

    Attributes:
        contents: of the documents.
        same: int64[m], one number for equal documents.
        shingles: int64[m], how many shingles each has, repetitions counted.
        store: the database, whose settings and limits count.
        pairs: how many pairs are compared, None if that is unknown. Bounds cost more than they
            save if there are fewer pairs than documents.
        sizes: int64[m], how many distinct shingles each document has, or an upper bound before it
            was read.
    """

    contents: Contents
    same: IntArray
    shingles: IntArray
    store: StoreReader
    pairs: int | None = None

    def __post_init__(self) -> None:
        self.limits = limits = self.store.limits
        self._settings = self.store.settings
        self.sizes = self.shingles.copy()
        self._read = np.zeros(len(self.same), dtype=np.bool_)
        words = _words(self.shingles) if self.pairs is None or self.pairs > len(self.same) else 0
        self._parities = np.zeros((len(self.same), words), dtype=np.uint64)
        # Memory is used as it is filled.
        self._hashes = np.empty(min(limits.join_hashes, int(self.shingles.sum())), dtype=np.uint64)
        self._starts = np.full(len(self.same), -1)
        self._used = 0

    def scores(
        self, a_documents: IntArray, b_documents: IntArray, min_similarity: Shares | float
    ) -> Shares:
        """The Jaccard similarity of pairs int64[c] of numbers, float64[c].

        If it is below `min_similarity`, the result may be any number below that. It is fastest if
        pairs with the same `a` are adjacent.
        """
        scores = np.zeros(len(a_documents))
        scores[self.same[a_documents] == self.same[b_documents]] = 1.0
        (different,) = (scores == 0).nonzero()
        a, b = self.same[a_documents[different]], self.same[b_documents[different]]
        if self._parities.size:
            self._read_unread(_marked(a, b, len(self.same)))
            wanted = np.broadcast_to(min_similarity, len(a_documents))[different]
            chosen = may_reach(self.sizes, self._parities, a, b, wanted)
            different, a, b = different[chosen], a[chosen], b[chosen]
        for part in chunks_of(self.sizes[a] + self.sizes[b], self.limits.join_hashes):
            self._keep(_marked(a[part], b[part], len(self.same)))
            shared = shared_by_pairs(self._hashes, self._starts, self.sizes, a[part], b[part])
            scores[different[part]] = jaccard(shared, self.sizes[a[part]], self.sizes[b[part]])
        return scores

    def distinct(self, documents: IntArray) -> IntArray:
        """How many distinct shingles documents int64[n] have, int64[n]; reads them."""
        documents = self.same[documents]
        self._read_unread(np.unique(documents))
        return self.sizes[documents]

    def public_sets(self, documents: IntArray) -> Iterator[tuple[IntArray, Shingles]]:
        """Some of the documents at a time, and their distinct shingle hashes by the file's seed.

        For choosing the pairs to compare, which must not depend on the seed of this process.
        """
        for batch in self._batches(documents):
            yield batch, self._shingled(batch, self._settings.seed)

    def _batches(self, documents: IntArray) -> Iterator[IntArray]:
        """Cut documents into batches of about as many shingles as are read at once."""
        return (documents[part] for part in chunks_of(self.sizes[documents], self.limits.join_read))

    def _read_unread(self, documents: IntArray) -> None:
        """Read those of the documents that were never read."""
        for batch in self._batches(documents[~self._read[documents]]):
            self._take(batch)

    def _keep(self, documents: IntArray) -> None:
        """Load the hashes of these documents, which were read before and fit into memory."""
        missing = documents[self._starts[documents] < 0]
        if self._used + self.sizes[missing].sum() > len(self._hashes):
            self._make_room(int(self.sizes[documents].sum()))
            missing = documents
        for batch in self._batches(missing):
            self._take(batch)

    def _make_room(self, count: int) -> None:
        """Make room for more hashes."""
        if self._used + count <= len(self._hashes):
            return
        self._starts[:] = -1
        self._used = 0
        if count > len(self._hashes):
            self._hashes = np.empty(count, dtype=np.uint64)

    def _take(self, documents: IntArray) -> None:
        """Read documents."""
        shingles = self._shingled(documents, secret_seed())
        if not self._read[documents].all():
            sizes = sizes_of(shingles.offsets)
            if (sizes > self.sizes[documents]).any():
                raise DamagedFile(
                    "the file is damaged: a document has more shingles than are stored for it: "
                    "run lshdb check --deep"
                )
            self.sizes[documents] = sizes
            if self._parities.size:
                self._parities[documents] = parities(shingles, self._parities.shape[1])
            self._read[documents] = True
        self._make_room(len(shingles.hashes))
        self._hashes[self._used : self._used + len(shingles.hashes)] = shingles.hashes
        self._starts[documents] = self._used + shingles.offsets[:-1]
        self._used += len(shingles.hashes)

    def _shingled(self, documents: IntArray, seed: int) -> Shingles:
        shingling = self._settings.shingling
        stored = self.contents(documents)
        contents = [from_stored(content, shingling) for content in stored]
        return distinct_shingles(contents, shingling, seed)


@dataclass(eq=False)
class Estimates:
    """Estimated similarities, from signatures.

    Attributes:
        signatures: gives the signatures [n, lanes] of documents, by numbers int64[n].
        same: int64[m], one number for equal documents, whose signatures are equal.
        store: the database, whose settings and limits count.
    """

    signatures: Callable[[IntArray], Lanes]
    same: IntArray
    store: StoreReader

    def __post_init__(self) -> None:
        settings = self.store.settings
        # At least those of a pair. Memory is used as it is filled.
        max_kept = max(2, self.store.limits.join_signatures // settings.signature_bytes)
        shape = min(max_kept, len(self.same)), settings.permutations
        self._kept = np.empty(shape, dtype=settings.lane_type)
        self._rows = np.full(len(self.same), -1)
        self._used = 0

    def scores(self, a_documents: IntArray, b_documents: IntArray, min_similarity: float) -> Shares:  # noqa: ARG002
        """Like Exact.scores; an estimate costs the same for any `min_similarity`."""
        scores = np.ones(len(a_documents))
        different = np.flatnonzero(self.same[a_documents] != self.same[b_documents])
        for part, a, b in self._lanes(a_documents[different], b_documents[different]):
            scores[different[part]] = estimates(a, b)
        return scores

    def share_bucket(self, a_documents: IntArray, b_documents: IntArray) -> Mask:
        """Whether pairs int64[c] share a bucket, or enough of them for a cascade, bool[c]."""
        collide = np.ones(len(a_documents), dtype=np.bool_)
        construction = self.store.settings.construction
        for part, a, b in self._lanes(a_documents, b_documents):
            collide[part] = evaluate(collided_bands(a == b, construction), construction)
        return collide

    def _lanes(self, a: IntArray, b: IntArray) -> Iterator[tuple[slice, Lanes, Lanes]]:
        """Some pairs of documents int64[c] at a time: their indices, and lanes [p, k] of both."""
        for block in chunks(len(a), max(1, len(self._kept) // 2)):
            self._keep(_marked(a[block], b[block], len(self.same)))
            for part in chunks(len(a[block]), _COMPARED_AT_ONCE):
                here = slice(block.start + part.start, block.start + part.stop)
                a_lanes, b_lanes = (self._kept[self._rows[side[here]]] for side in (a, b))
                yield here, a_lanes, b_lanes

    def _keep(self, documents: IntArray) -> None:
        """Read the signatures of these distinct documents, some of which were read before."""
        missing = documents[self._rows[documents] < 0]
        if self._used + len(missing) > len(self._kept):
            self._rows[:] = -1
            self._used, missing = 0, documents
        if len(missing):
            rows = np.arange(self._used, self._used + len(missing))
            self._kept[rows] = self.signatures(missing)
            self._rows[missing] = rows
            self._used += len(missing)


def _words(shingles: IntArray) -> int:
    """64-bit words for the parities of a document: four cells per shingle of an average one."""
    if not len(shingles):
        return 1
    wanted = int(4 * shingles.mean()) // 64
    max_words = _PARITIES // (8 * len(shingles))
    return 1 << max(2, min(wanted.bit_length(), max_words.bit_length() - 1, 5))


def _marked(a_documents: IntArray, b_documents: IntArray, count: int) -> IntArray:
    """The distinct documents of pairs, ascending."""
    marks = np.zeros(count, dtype=np.bool_)
    marks[a_documents] = True
    marks[b_documents] = True
    documents: IntArray = marks.nonzero()[0]
    return documents
