"""MinHash sketches: a set of shingle hashes becomes a signature of k lanes of 32 bits.

The share of lanes in which two signatures agree is an unbiased estimate of the Jaccard
similarity of the sets. Two sketches with one interface:

`fast`: fast similarity sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017, arXiv 1704.04370). Round
i < k throws every shingle into one random lane, round k + j every shingle into lane j; a lane
keeps the smallest hash of the first round that reaches it, and rounds end when no lane is empty.

`minhash`: the textbook's (Broder 1997): k hash functions, lane j is the minimum of the j-th.

A document without shingles has the signature EMPTY in every lane; it is similar to nothing, and
callers keep it out of comparisons.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from lshdb.shingling.arrays import IntArray, Lanes, chunks, chunks_of, sizes_of
from lshdb.shingling.hashing import Hashes, Offsets, constants, distinct
from lshdb.shingling.shingles import distinct_in_each, select_documents
from lshdb.shingling.shingling import Shingles
from lshdb.sketching.settings import SketchName

_ShortHashes = npt.NDArray[np.uint32]

EMPTY = 0xFFFFFFFF
"""The value of every lane of a document without shingles."""

_32 = np.uint64(32)
_NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
BLOCK_HASHES = 1 << 15
"""Hashes computed in one numpy call: their arrays fit in the processor's cache."""


@dataclass(eq=False)
class FastSketch:
    """Fast similarity sketching.

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
    block_hashes: int = BLOCK_HASHES

    def __post_init__(self) -> None:
        drawn = constants(self.seed, "fast first round", 4)
        self._first_constant, self._wide = drawn[0], drawn[1:]
        self._rounds = (constants(self.seed, "fast rounds", 2 * self.lanes) >> _32).astype(
            np.uint32
        )
        self._narrow = constants(self.seed, "fast multipliers", 2).astype(np.uint32)

    def signatures(self, shingles: Shingles) -> Lanes:
        """The signatures of n documents, uint32[n, lanes]."""
        counts = sizes_of(shingles.offsets)
        table = np.full((len(counts), self.lanes), _NOTHING)
        self._first_round(table, shingles.hashes, counts)
        (unfilled,) = ((table == _NOTHING).any(axis=1) & (counts > 0)).nonzero()
        if len(unfilled):
            rows = table[unfilled]
            unfinished = (
                shingles if len(unfilled) == len(counts) else select_documents(shingles, unfilled)
            )
            self._later_rounds(rows, unfinished)
            table[unfilled] = rows
        return table.astype(np.uint32)

    def of_pieces(self, pieces: Callable[[], Iterable[Hashes]]) -> tuple[Lanes, int]:
        """The signature uint32[lanes] of one document too large to hold, and its shingle count.

        `pieces` gives the document's hashes, uint64[any] at a time; it may be called twice.
        """
        table = np.full((1, self.lanes), _NOTHING)
        total = 0
        for hashes in pieces():
            self._first_round(table, hashes, np.array([len(hashes)]))
            total += len(hashes)
        if total and (table == _NOTHING).any():
            # This many shingles leave a lane empty only if few of them are distinct.
            few = distinct(np.concatenate([distinct(hashes) for hashes in pieces()]))
            shingles = Shingles(few, np.array([0, len(few)]))
            return self.signatures(shingles)[0], total
        return table[0].astype(np.uint32), total

    def _first_round(self, table: Hashes, hashes: Hashes, counts: Offsets) -> None:
        """Throw n documents' hashes, in order, into table uint64[n, k], in place."""
        flat = table.ravel()
        row = np.repeat(np.arange(len(counts)) * self.lanes, counts) if len(counts) > 1 else counts
        for part in chunks(len(hashes), self.block_hashes):
            h = hashes[part] ^ self._first_constant
            h *= self._wide[0]
            h ^= h >> _32
            h *= self._wide[1]
            index = self._lane(h >> _32)
            if len(counts) > 1:
                index += row[part]
            np.minimum.at(flat, index, h)

    def _lane(self, g: Hashes) -> Offsets:
        """The lanes of 32-bit hashes in uint64[...], overwritten: g k / 2^32, below k."""
        g *= np.uint64(self.lanes)
        g >>= _32
        return g.view(np.int64)

    def _round(self, y: _ShortHashes, i: IntArray) -> _ShortHashes:
        """g_i(x) for the rounds i of shape [r, 1] or [1], uint32[r, T] or uint32[T]."""
        g: _ShortHashes = y ^ self._rounds[i]
        g *= self._narrow[0]
        g ^= g >> np.uint32(16)
        g *= self._narrow[1]
        return g

    def _later_rounds(self, table: Hashes, shingles: Shingles) -> None:
        """Rounds 1 to 2k-1: fill the empty lanes of the documents in table uint64[n, k]."""
        if (sizes_of(shingles.offsets) > 8 * self.lanes).any():
            # Such a document leaves lanes empty only if it repeats a few shingles very often; all
            # of them in every round would take k times as long as reading the document.
            shingles = distinct_in_each(shingles)
        y = ((shingles.hashes * self._wide[2]) >> _32).astype(np.uint32)
        counts = sizes_of(shingles.offsets)
        for part in chunks_of(counts + self.lanes, self.block_hashes):
            begin, end = shingles.offsets[part.start], shingles.offsets[part.stop]
            self._fill(table[part], y[begin:end], counts[part])

    def _fill(self, table: Hashes, y: _ShortHashes, counts: Offsets) -> None:
        """Rounds 1 to 2k-1 for documents with y uint32[T] together, into uint64[n, k], in place.

        A cell filled here holds round << 32 | hash, so that the earliest round wins.
        """
        rows = np.arange(len(table))
        later = np.where(table == _NOTHING, _NOTHING, np.uint64(0))
        cell_of_row = np.repeat(rows * self.lanes, counts)
        i = 1
        while len(rows) and i < self.lanes:
            # Every k / |document| rounds leave about 1/e of the empty lanes.
            many = min(self.lanes - i, max(1, self.lanes * len(rows) // len(y)))
            rounds = np.arange(i, i + many)[:, np.newaxis]
            g = self._round(y, rounds).astype(np.uint64)
            cells = g | (rounds.astype(np.uint64) << _32)
            index = self._lane(g)
            index += cell_of_row
            np.minimum.at(later.ravel(), index.ravel(), cells.ravel())
            i += many
            still = (later == _NOTHING).any(axis=1)
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
        table[rows] = np.where(cells == _NOTHING, later, cells)

    def _last_rounds(self, later: Hashes, y: _ShortHashes, counts: Offsets) -> None:
        """Rounds k to 2k-1: lane j, if still empty, takes the smallest g_(k+j), in place."""
        starts = np.cumsum(counts) - counts
        empty = later == _NOTHING
        for lane in np.flatnonzero(empty.any(axis=0)).tolist():
            g = self._round(y, np.array([self.lanes + lane]))
            later[empty[:, lane], lane] = np.minimum.reduceat(g, starts)[empty[:, lane]]


@dataclass(eq=False)
class MinHashSketch:
    """The textbook's MinHash.

    Hash functions: h_j(x) = (a_j * mix(x) + b_j mod 2^64) >> 32, multiply-shift (Dietzfelbinger
    et al. 1997), exact in 64-bit arithmetic.
    """

    lanes: int
    seed: int
    block_hashes: int = BLOCK_HASHES

    def __post_init__(self) -> None:
        self._factors = constants(self.seed, "minhash factors", self.lanes)
        self._terms = constants(self.seed, "minhash terms", self.lanes)
        self._multipliers = constants(self.seed, "minhash multipliers", 2)

    def signatures(self, shingles: Shingles) -> Lanes:
        """The signatures of n documents, uint32[n, lanes]."""
        counts = np.diff(shingles.offsets)
        signatures = np.full((len(counts), self.lanes), EMPTY, dtype=np.uint32)
        filled = np.flatnonzero(counts)
        # For an empty segment reduceat returns its first element: leave those documents out.
        starts, sizes = shingles.offsets[filled], counts[filled]
        for part in chunks_of(sizes, self.block_hashes):
            begin, end = starts[part][0], starts[part][-1] + sizes[part][-1]
            mixed = self._mix(shingles.hashes[begin:end])
            minimum = np.empty((part.stop - part.start, self.lanes), dtype=np.uint64)
            for lane in range(self.lanes):
                h = mixed * self._factors[lane]
                h += self._terms[lane]
                minimum[:, lane] = np.minimum.reduceat(h, starts[part] - begin)
            signatures[filled[part]] = minimum >> _32
        return signatures

    def of_pieces(self, pieces: Callable[[], Iterable[Hashes]]) -> tuple[Lanes, int]:
        """See FastSketch.of_pieces; `pieces` is called once."""
        signature = np.full(self.lanes, EMPTY, dtype=np.uint32)
        total = 0
        for hashes in pieces():
            total += len(hashes)
            piece = Shingles(hashes, np.array([0, len(hashes)]))
            np.minimum(signature, self.signatures(piece)[0], out=signature)
        return signature, total

    def _mix(self, hashes: Hashes) -> Hashes:
        """Mix hashes: multiply-shift alone is biased on sets with structure."""
        h: Hashes = hashes * self._multipliers[0]
        h ^= h >> _32
        h *= self._multipliers[1]
        h ^= h >> _32
        return h


Sketch = FastSketch | MinHashSketch
"""Makes signatures of `lanes` lanes; the same for the same seed on every machine."""


@lru_cache(maxsize=8)
def make_sketch(name: SketchName, lanes: int, seed: int) -> Sketch:
    """The sketch of that name, `fast` or `minhash`, with its seeded constants."""
    return FastSketch(lanes, seed) if name == "fast" else MinHashSketch(lanes, seed)
