"""The shape of an index: which pairs are candidates, from their bands or by probability.

`evaluate` and `candidates_among` evaluate its levels on the bands that collided. They are
monotone: another colliding band never removes a candidate. The probabilities are the
S-curve. Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, sections 3.4 and 3.6.3.
"""

import itertools
import math
import re
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal, NamedTuple, Self

import numpy as np

from lshdb.errors import SettingsError
from lshdb.text.arrays import IntArray, Mask

MAX_LANES = 4096
_LONGEST = 1000
"""Characters of a construction as text."""
_LEVELS = re.compile(r"(\s*(and|or)\s+0*[1-9][0-9]{0,8}\s*(,|$))+(?<!,)")


class Level(NamedTuple):
    """One level of a cascade: whether all (`and`) or any (`or`) of `size` must be true."""

    kind: Literal["and", "or"]
    size: int

    def __str__(self) -> str:
        return f"{self.kind} {self.size}"


@dataclass(frozen=True, repr=False)
class Construction:
    """The shape of the index: b bands of r rows, and which bands make a candidate by colliding.

    `and r, or b` is the plain index: one band that collides is enough. A cascade has higher
    levels, innermost first: `and 4, or 4, and 4, or 4` has 64 bands of 4 rows in 16 groups. A
    group is true if one of its 4 bands collides; 4 groups together are true if all of them are,
    and a pair is a candidate if one such foursome is true. Lanes go to levels in their order.
    Neighbouring levels of one kind are merged, so `and 2, and 2` is `and 4`; a level of 1 changes
    nothing.

    Attributes:
        rows: r, the first AND level; 1 if the cascade starts with OR.
        bands: b, the product of all other levels.
        higher: those levels; () for the plain index.

    >>> Construction.parse("and 6, or 16")
    Construction(rows=6, bands=16)
    >>> Construction(6, 16).lanes
    96
    >>> cascade = Construction.parse("or 4, and 4")
    >>> cascade.rows, cascade.bands, cascade.min_bands
    (1, 16, 4)
    """

    rows: int
    bands: int
    higher: tuple[Level, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read levels, innermost first: `and 6, or 16`, `or 4, and 4, or 2`.

        Raises:
            SettingsError: the text is something else, has a level below 1 or more than 4096 lanes.
        """
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise SettingsError(f"construction {text!r:.100} is not a text of a few levels")
        if _LEVELS.fullmatch(text) is None:
            raise SettingsError(
                f'construction {text!r} is not levels of at least 1 like "and 4, or 8" or '
                '"and 4, or 4, and 4, or 4"'
            )
        parts = (part.split() for part in text.split(","))
        groups = itertools.groupby((part for part in parts if int(part[1]) > 1), itemgetter(0))
        levels = [
            Level("and" if kind == "and" else "or", math.prod(int(size) for _, size in group))
            for kind, group in groups
        ]
        lanes = math.prod(level.size for level in levels)
        if lanes > MAX_LANES:
            raise SettingsError(
                f"construction {text!r} takes {lanes} lanes; the maximum is {MAX_LANES}"
            )
        rows = levels.pop(0).size if levels and levels[0].kind == "and" else 1
        higher = tuple(levels)
        plain = not higher or (len(higher) == 1 and higher[0].kind == "or")
        return cls(rows, lanes // rows, () if plain else higher)

    @property
    def lanes(self) -> int:
        """How many lanes of a signature the index uses."""
        return self.rows * self.bands

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels above the bands, also of the plain index."""
        return self.higher or (Level("or", self.bands),)

    @property
    def min_bands(self) -> int:
        """Minimum number of bands that collide if two documents are candidates."""
        return math.prod(level.size for level in self.higher if level.kind == "and")

    def __str__(self) -> str:
        levels = [Level("and", self.rows)] if self.rows > 1 or not self.higher else []
        return ", ".join(map(str, [*levels, *self.levels]))

    def __repr__(self) -> str:
        if not self.higher:
            return f"Construction(rows={self.rows}, bands={self.bands})"
        return f"Construction.parse({str(self)!r})"


def collided_bands(agree: Mask, construction: Construction) -> Mask:
    """In which bands pairs share a bucket, bool[c, bands], by the lanes that agree, bool[c, k]."""
    lanes = agree[:, : construction.lanes]
    bands = lanes.reshape(-1, construction.bands, construction.rows)
    collided: Mask = np.logical_and.reduce(bands, axis=2)
    return collided


def evaluate(collided: Mask, construction: Construction) -> Mask:
    """Whether pairs are candidates, from the bands in which each collided.

    Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.6.3. The
    first level takes the bands in their order, and each further level the results of the last.

    Args:
        collided: bool[c, bands].
        construction: the plain index or a cascade.

    Returns:
        bool[c].
    """
    # Pairs along the last axis, so that each step of a reduction is one long run of memory.
    true = np.ascontiguousarray(collided.T)
    for kind, size in construction.levels:
        groups = true.reshape(len(true) // size, size, len(collided))
        reduce = np.logical_and.reduce if kind == "and" else np.logical_or.reduce
        true = reduce(groups, axis=1)
    candidates: Mask = true[0]
    return candidates


def candidates_among(band_nos: IntArray, doc_ids: IntArray, construction: Construction) -> IntArray:
    """The candidates among the documents that share buckets with a query.

    Args:
        band_nos: int64[n], the band in which a document shares a bucket with it.
        doc_ids: int64[n], the document.
        construction: the plain index or a cascade.

    Returns:
        int64[c], the candidates, ascending.
    """
    documents, index = np.unique(doc_ids, return_inverse=True)
    collided = np.zeros((len(documents), construction.bands), dtype=np.bool_)
    collided[index, band_nos] = True
    return documents[evaluate(collided, construction)]


def candidate_probability(similarity: float, construction: Construction) -> float:
    """The probability that a pair of this Jaccard similarity is a candidate.

    A level AND r turns a probability p into p^r, and OR b into 1 - (1 - p)^b: for b bands of r rows
    1 - (1 - s^r)^b.

    >>> round(candidate_probability(0.8, Construction(rows=6, bands=16)), 4)
    0.9923
    >>> round(candidate_probability(0.8, Construction.parse("or 4, and 4")), 4)
    0.9936
    """
    return candidate_probabilities(similarity, construction)[0]


def candidate_probabilities(similarity: float, construction: Construction) -> tuple[float, float]:
    """The probabilities that a pair of this similarity is a candidate, and that it is not.

    Both have full precision, which 1 minus the other would lose.
    """
    true = float(similarity**construction.rows)
    false = _any(1 - similarity, construction.rows)
    for kind, size in construction.levels:
        if kind == "or":
            true, false = _any(true, size), false**size
        else:
            true, false = true**size, _any(false, size)
    return true, false


def _any(probability: float, count: int) -> float:
    """1 - (1 - p)^n: the probability that any of n events happens, precise also for small p."""
    if probability >= 1:
        return 1.0
    return -math.expm1(count * math.log1p(-probability)) or 0.0
