"""MinHash sketches: a set of shingle hashes becomes a signature of k lanes of 16 or 32 bits.

A lane of 16 bits is the low half of the lane of 32 bits, so that a wide signature can be cut to a
narrow one. There are several sketches, one here, others of apps:

`fast`: fast similarity sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017, arXiv 1704.04370). Round
i < k throws every shingle into one random lane, round k + j every shingle into lane j; a lane
keeps the smallest hash of the first round that reaches it, and rounds end when no lane is empty.

A document without shingles has all bits set in every lane; it is similar to nothing, and callers
keep it out of comparisons.

Two sets of Jaccard similarity J have the same hash in a lane with probability J; of other hashes w
bits are equal by accident, with probability 2^-w. So the mean share of lanes that agree is
J + (1 - J) 2^-w, and `estimate` takes the accidents out (b-bit minwise hashing: Li, König, 2010).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lshdb import offers
from lshdb.sketch.settings import SketchName
from lshdb.text import arrays
from lshdb.text.hashing import Hashes, Offsets, constants
from lshdb.text.shingles import distinct_in_each, distinct_of_pieces, select_documents
from lshdb.text.shingling import Shingles

_ShortHashes = npt.NDArray[np.uint32]

EMPTY = 0xFFFFFFFF
"""A lane of 32 bits of a document without shingles."""

_32 = np.uint64(32)
NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
"""What no shingle has lowered yet."""
BLOCK_HASHES = 1 << 15
"""Hashes computed in one numpy call: their arrays fit in the processor's cache."""


class Sketch(Protocol):
    """Makes signatures of `lanes` lanes of 32 bits; the same for the same seed on every machine."""

    lanes: int

    def minima(self, shingles: Shingles) -> Hashes:
        """What later shingles of n documents may still lower, uint64[n, lanes]; all bits if empty.

        The minima of a document are the smallest ones of its parts.
        """

    def lanes_of(self, table: Hashes) -> arrays.Lanes:
        """The lanes uint32[n, k] of minima uint64[n, k], of which none is empty."""

    def signatures(self, shingles: Shingles) -> arrays.Lanes:
        """The signatures of n documents, uint32[n, lanes]."""


@dataclass(eq=False)
class FastSketch:
    """Fast similarity sketching, in lanes of 32 bits.

    Round 0 has a hash of 64 bits: h(x) = mix(x XOR c_0); mix multiplies, folds the high half onto
    the low one and multiplies again, with seeded odd constants. The high half of h(x), scaled to
    k, is the lane; the smallest h(x) wins; the kept value is its low half. With enough shingles no
    other round is needed.

    Later rounds, of which small documents need dozens, have a hash of 32 bits, twice as fast:
    y = (x * m mod 2^64) >> 32; g_i(x) is y XOR c_i, mixed in the same way in 32-bit arithmetic.
    Lane, order and value all come from g_i(x).
    """

    lanes: int
    seed: int

    def __post_init__(self) -> None:
        drawn = constants(self.seed, "fast first round", 4)
        self._first_constant, self._wide = drawn[0], drawn[1:]
        self._rounds = (constants(self.seed, "fast rounds", 2 * self.lanes) >> _32).astype(
            np.uint32
        )
        self._narrow = constants(self.seed, "fast multipliers", 2).astype(np.uint32)

    def minima(self, shingles: Shingles) -> Hashes:
        """Round 0 of n documents: the smallest hash of each lane, uint64[n, lanes]."""
        hashes, counts = shingles.hashes, arrays.sizes_of(shingles.offsets)
        table = np.full((len(counts), self.lanes), NOTHING)
        flat = table.ravel()
        several = len(counts) > 1  # not a query, of which adding zeros would take a 50th
        row = np.repeat(np.arange(len(counts)) * self.lanes, counts) if several else counts
        for part in arrays.chunks(len(hashes), BLOCK_HASHES):
            h = hashes[part] ^ self._first_constant
            h *= self._wide[0]
            h ^= h >> _32
            h *= self._wide[1]
            index = self._lane(h >> _32)
            if several:
                index += row[part]
            np.minimum.at(flat, index, h)
        return table

    def signatures(self, shingles: Shingles) -> arrays.Lanes:
        """The signatures of n documents, uint32[n, lanes]."""
        counts = arrays.sizes_of(shingles.offsets)
        table = self.minima(shingles)
        (unfilled,) = ((table == NOTHING).any(axis=1) & (counts > 0)).nonzero()
        if len(unfilled):
            rows = table[unfilled]
            unfinished = (
                shingles if len(unfilled) == len(counts) else select_documents(shingles, unfilled)
            )
            self._later_rounds(rows, unfinished)
            table[unfilled] = rows
        return self.lanes_of(table)

    @staticmethod
    def lanes_of(table: Hashes) -> arrays.Lanes:
        """The lanes uint32[n, k] that are kept of minima uint64[n, k]."""
        return table.astype(np.uint32)

    def _lane(self, g: Hashes) -> Offsets:
        """The lanes of 32-bit hashes in uint64[...], overwritten: g k / 2^32, below k."""
        g *= np.uint64(self.lanes)
        g >>= _32
        return g.view(np.int64)

    def _round(self, y: _ShortHashes, i: arrays.IntArray) -> _ShortHashes:
        """g_i(x) for the rounds i of shape [r, 1] or [1], uint32[r, T] or uint32[T]."""
        g: _ShortHashes = y ^ self._rounds[i]
        g *= self._narrow[0]
        g ^= g >> np.uint32(16)
        g *= self._narrow[1]
        return g

    def _later_rounds(self, table: Hashes, shingles: Shingles) -> None:
        """Rounds 1 to 2k-1: fill the empty lanes of the documents in table uint64[n, k]."""
        if (arrays.sizes_of(shingles.offsets) > 8 * self.lanes).any():
            # Such a document leaves lanes empty only if it repeats a few shingles very often; all
            # of them in every round would take k times as long as reading the document.
            shingles = distinct_in_each(shingles)
        y = ((shingles.hashes * self._wide[2]) >> _32).astype(np.uint32)
        counts = arrays.sizes_of(shingles.offsets)
        for part in arrays.chunks_of(counts + self.lanes, BLOCK_HASHES):
            begin, end = shingles.offsets[part.start], shingles.offsets[part.stop]
            self._fill(table[part], y[begin:end], counts[part])

    def _fill(self, table: Hashes, y: _ShortHashes, counts: Offsets) -> None:
        """Rounds 1 to 2k-1 for documents with y uint32[T] together, into uint64[n, k], in place.

        A cell filled here holds round << 32 | hash, so that the earliest round wins.
        """
        rows = np.arange(len(table))
        later = np.where(table == NOTHING, NOTHING, np.uint64(0))
        cell_of_row = np.repeat(rows * self.lanes, counts)
        i = 1
        while len(rows) and i < self.lanes:
            # Every k / |document| rounds leave about 1/e of the empty lanes: twice as many at once
            # sign texts of 60 words in a tenth less time.
            many = min(self.lanes - i, max(1, 2 * self.lanes * len(rows) // len(y)))
            rounds = np.arange(i, i + many)[:, np.newaxis]
            g = self._round(y, rounds).astype(np.uint64)
            cells = g | (rounds.astype(np.uint64) << _32)
            index = self._lane(g)
            index += cell_of_row
            np.minimum.at(later.ravel(), index.ravel(), cells.ravel())
            i += many
            still = (later == NOTHING).any(axis=1)
            if not still.any():  # as of a query
                break
            if not still.all():
                self._keep(table, rows[~still], later[~still])
                y = y[np.repeat(still, counts)]
                rows, later, counts = rows[still], later[still], counts[still]
                cell_of_row = np.repeat(np.arange(len(rows)) * self.lanes, counts)
        else:
            self._last_rounds(later, y, counts)
        self._keep(table, rows, later)

    @staticmethod
    def _keep(table: Hashes, rows: Offsets, later: Hashes) -> None:
        cells = table[rows]
        table[rows] = np.where(cells == NOTHING, later, cells)

    def _last_rounds(self, later: Hashes, y: _ShortHashes, counts: Offsets) -> None:
        """Rounds k to 2k-1: lane j, if still empty, takes the smallest g_(k+j), in place."""
        starts = np.cumsum(counts) - counts
        empty = later == NOTHING
        for lane in np.flatnonzero(empty.any(axis=0)).tolist():
            g = self._round(y, np.array([self.lanes + lane]))
            later[empty[:, lane], lane] = np.minimum.reduceat(g, starts)[empty[:, lane]]


def of_pieces(sketch: Sketch, pieces: Callable[[], Iterable[Hashes]]) -> tuple[arrays.Lanes, int]:
    """The signature uint32[lanes] of one document too large to hold, and its shingle count.

    `pieces` gives the document's hashes, uint64[any] at a time; it may be called twice.
    """
    table = np.full((1, sketch.lanes), NOTHING)
    total = 0
    for hashes in pieces():
        total += len(hashes)
        piece = Shingles(hashes, np.array([0, len(hashes)]))
        np.minimum(table, sketch.minima(piece), out=table)
    if total and (table == NOTHING).any():
        # This many shingles leave a lane empty only if few of them are distinct.
        few = distinct_of_pieces(pieces())
        return sketch.signatures(Shingles(few, np.array([0, len(few)])))[0], total
    return sketch.lanes_of(table)[0], total


@lru_cache(maxsize=8)
def make_sketch(name: SketchName, lanes: int, seed: int) -> Sketch:
    """The sketch of that name, with its seeded constants; UsageError if its app is missing."""
    kind = FastSketch if name == "fast" else offers.offered(offers.SKETCHES, name)
    sketch: Sketch = kind(lanes, seed)
    return sketch


def is_empty(signatures: arrays.Lanes) -> arrays.Mask:
    """Which of the signatures [n, k], or whether one [k], are those of no shingle."""
    empty: arrays.Mask = (signatures == np.iinfo(signatures.dtype).max).all(axis=-1)
    return empty


def accident(lane_bits: int) -> float:
    """The probability that lanes of different winners agree: 2^-16 for lanes of 16 bits.

    It is 0 for lanes of 32 bits: 2^-32 is a hundred-millionth of the error of an estimate, and the
    lanes of other programs may have another one.
    """
    return 0.0 if lane_bits > 16 else 2.0**-lane_bits


def estimate(agreeing: npt.NDArray[np.integer] | int, lanes: int, lane_bits: int) -> arrays.Shares:
    """The similarity of pairs of which this many of k lanes agree, float64[n].

    (a - e) / (1 - e) for the share a of the lanes and the probability e of an accident: unbiased,
    but for a pair that agrees in no lane, whose estimate is 0.

    >>> estimate(np.array([0, 64, 128]), 128, 16).round(6).tolist()
    [0.0, 0.499992, 1.0]
    """
    by_accident = accident(lane_bits)
    return np.maximum(agreeing / lanes - by_accident, 0) / (1 - by_accident)
