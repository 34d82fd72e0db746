"""The sketch `minhash`, the textbook's (Broder 1997): a hash function for each of k lanes.

Lane j is made from the minimum of the j-th function. `fast`, the core's sketch, needs fewer hashes.
"""

from dataclasses import dataclass

import numpy as np

from lshdb.sketch import minhash
from lshdb.text import arrays
from lshdb.text.hashing import Hashes, constants
from lshdb.text.shingling import Shingles

_32 = np.uint64(32)


@dataclass(eq=False)
class MinHashSketch:
    """The textbook's MinHash, in lanes of 32 bits.

    Hash functions: h_j(x) = a_j * mix(x) + b_j mod 2^64, multiply-shift (Dietzfelbinger et al.
    1997), exact in 64-bit arithmetic. Lane j is the high half of m * min h_j(x) mod 2^64.

    The product is needed because neither half of the minimum can be kept as it is: its highest bits
    are zeros, the more the larger the set, and its lowest bits depend only on those of mix(x), so
    that two shingles would agree in all lanes or in none.
    """

    lanes: int
    seed: int

    def __post_init__(self) -> None:
        self._factors = constants(self.seed, "minhash factors", self.lanes)
        self._terms = constants(self.seed, "minhash terms", self.lanes)
        self._multipliers = constants(self.seed, "minhash multipliers", 3)

    def signatures(self, shingles: Shingles) -> arrays.Lanes:
        """The signatures of n documents, uint32[n, lanes]."""
        return self.lanes_of(self.minima(shingles))

    def minima(self, shingles: Shingles) -> Hashes:
        """The smallest hash of each function for n documents, uint64[n, lanes]."""
        counts = arrays.sizes_of(shingles.offsets)
        minima = np.full((len(counts), self.lanes), minhash.NOTHING)
        filled = np.flatnonzero(counts)
        # For an empty segment reduceat returns its first element: leave those documents out.
        starts, sizes = shingles.offsets[filled], counts[filled]
        for part in arrays.chunks_of(sizes, minhash.BLOCK_HASHES):
            begin, end = starts[part][0], starts[part][-1] + sizes[part][-1]
            # Mixed, as multiply-shift alone is biased on sets with structure.
            mixed = shingles.hashes[begin:end] * self._multipliers[0]
            mixed ^= mixed >> _32
            mixed *= self._multipliers[1]
            mixed ^= mixed >> _32
            minimum = np.empty((part.stop - part.start, self.lanes), dtype=np.uint64)
            for lane in range(self.lanes):
                h = mixed * self._factors[lane]
                h += self._terms[lane]
                minimum[:, lane] = np.minimum.reduceat(h, starts[part] - begin)
            minima[filled[part]] = minimum
        return minima

    def lanes_of(self, minima: Hashes) -> arrays.Lanes:
        """The lanes uint32[n, k] of minima uint64[n, k]; EMPTY for a document without shingles."""
        lanes: arrays.Lanes = ((minima * self._multipliers[2]) >> _32).astype(np.uint32)
        lanes[(minima == minhash.NOTHING).all(axis=1)] = minhash.EMPTY
        return lanes
