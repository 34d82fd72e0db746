"""Connected components, from edges that come in batches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lshdb.search.overlaps import runs


class Components:
    """A partition of the numbers 0 to n - 1 that grows coarser with every edge.

    All edges of a batch are hooked at once, the larger root to the smaller, and paths are then
    halved until all point to their root (Shiloach, Vishkin, 1982): a few rounds over arrays,
    however long a chain is.

    >>> components = Components(4)
    >>> components.join(np.array([3, 1]), np.array([1, 2]))
    >>> components.labels.tolist()
    [0, 1, 1, 1]
    """

    def __init__(self, count: int) -> None:
        self._root = np.arange(count)

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """int64[n]: the least number of each one's component."""
        return self._root

    def join(self, one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> None:
        """Join the components of one[i] and other[i], int64[c], for each i."""
        root = self._root
        while True:
            one, other = root[one], root[other]
            apart = one != other
            if not apart.any():
                break
            one, other = one[apart], other[apart]
            np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
            while not np.array_equal(above := root[root], root):
                root[:] = above

    def apart(
        self, one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Whether one[i] and other[i] are in different components, bool[c]."""
        different: npt.NDArray[np.bool_] = self._root[one] != self._root[other]
        return different


def take_greedily(
    one: npt.NDArray[np.int64],
    other: npt.NDArray[np.int64],
    similarity: npt.NDArray[np.float64],
    taken: npt.NDArray[np.int64],
    similarities: npt.NDArray[np.float64],
) -> None:
    """Let documents take those that are similar to them, unless they are taken themselves.

    Args:
        one: int64[c], ascending.
        other: int64[c]: other[i] is similar to one[i], and larger. All pairs of a smaller one are
            here or were given before.
        similarity: float64[c], of these pairs.
        taken: int64[n], by which document each is taken, -1 by none yet; changed in place.
        similarities: float64[n], the similarity to that document; changed in place.
    """
    begins, ends = runs(one)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        taker = int(one[begin])
        if taken[taker] >= 0:
            continue
        its = other[begin:end]
        free = taken[its] < 0
        taken[its[free]] = taker
        similarities[its[free]] = similarity[begin:end][free]
