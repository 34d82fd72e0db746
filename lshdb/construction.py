"""The shape of an index: bands of rows, and the levels of AND and OR above them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from lshdb.errors import SettingsError

MOST_LANES: Final = 4096
LONGEST: Final = 1000
"""Characters of a construction as text."""


class Level(NamedTuple):
    """One level of a cascade: whether all (`and`) or any (`or`) of so many must be true."""

    kind: Literal["and", "or"]
    size: int

    def __str__(self) -> str:
        return f"{self.kind} {self.size}"


@dataclass(frozen=True, slots=True, repr=False)
class Construction:
    """The shape of the index: b bands of r rows, and what must collide to make a candidate.

    `and r, or b` is the plain index: one band that collides is enough. A cascade has higher
    levels, innermost first: of `and 4, or 4, and 4, or 4` the 64 bands of 4 rows make 16 groups of
    which one band must collide, and these 4 groups of which all must be true, one of them enough.
    Lanes go to levels in their order. Neighbours of one kind are one level, `and 2, and 2` is
    `and 4`, and levels of 1 are none.

    Attributes:
        rows: r, the first AND level; 1 if the cascade starts with OR.
        bands: b, the product of all other levels.
        higher: those levels; () for the plain index.

    >>> Construction.parse("and 6, or 16")
    Construction(rows=6, bands=16)
    >>> Construction(6, 16).lanes
    96
    >>> cascade = Construction.parse("or 4, and 4")
    >>> cascade.rows, cascade.bands, cascade.least_bands
    (1, 16, 4)
    """

    rows: int
    bands: int
    higher: tuple[Level, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Construction:
        """Read levels, innermost first: `and 6, or 16`, `or 4, and 4, or 2`.

        Raises:
            SettingsError: it is something else, has a level below 1 or more than 4096 lanes.
        """
        if not isinstance(text, str) or len(text) > LONGEST:
            raise SettingsError(f"construction {text!r:.100} is not a text of a few levels")
        levels: list[Level] = []
        lanes = 1
        for part in text.split(","):
            match = re.fullmatch(r"\s*(and|or)\s+([0-9]{1,9})\s*", part)
            if match is None or int(match[2]) < 1:
                raise SettingsError(
                    f'construction {text!r} is not levels of at least 1 like "and 4, or 8" or '
                    '"and 4, or 4, and 4, or 4"'
                )
            kind: Literal["and", "or"] = "and" if match[1] == "and" else "or"
            size = int(match[2])
            lanes *= size
            if size > 1 and levels and levels[-1].kind == kind:
                levels[-1] = Level(kind, levels[-1].size * size)
            elif size > 1:
                levels.append(Level(kind, size))
        if lanes > MOST_LANES:
            raise SettingsError(
                f"construction {text!r} takes {lanes} lanes, and {MOST_LANES} are the most"
            )
        rows = levels.pop(0).size if levels and levels[0].kind == "and" else 1
        higher = tuple(levels)
        plain = not higher or (len(higher) == 1 and higher[0].kind == "or")
        return cls(rows, lanes // rows, () if plain else higher)

    @property
    def lanes(self) -> int:
        """How many lanes of a signature it uses."""
        return self.rows * self.bands

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels above the bands, also of the plain index."""
        return self.higher or (Level("or", self.bands),)

    @property
    def least_bands(self) -> int:
        """How many bands collide at the least where two documents are candidates."""
        return math.prod(level.size for level in self.higher if level.kind == "and")

    def __str__(self) -> str:
        if not self.higher:
            return f"and {self.rows}, or {self.bands}"
        first = [f"and {self.rows}"] if self.rows > 1 else []
        return ", ".join(first + [str(level) for level in self.higher])

    def __repr__(self) -> str:
        if not self.higher:
            return f"Construction(rows={self.rows}, bands={self.bands})"
        return f"Construction.parse({str(self)!r})"
