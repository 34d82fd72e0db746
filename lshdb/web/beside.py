"""Two documents side by side, as rows of a page, some of them left out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from lshdb.limits import DEFAULTS
from lshdb.model import Passage
from lshdb.search.differences import Line, Row, differences, same_words

PART_ROWS = 500
"""Rows on a page: some 100 KB of lines or sentences."""
_LISTED = 20
"""Shared passages that are listed."""
_MAX_CODE = 100_000
"""Characters by which a text looks like code."""


@dataclass(frozen=True)
class Beside:
    """Two texts side by side.

    Attributes:
        rows: of their beginnings.
        passages: what both have.
        says: how they differ, in words.
        code: whether to show them in a fixed-width font.
        cut: how many characters of the longer one are not compared.
    """

    rows: list[Row]
    passages: Sequence[Passage]
    says: str
    code: bool
    cut: int

    @cached_property
    def starts(self) -> list[int]:
        """Where the differences begin, as places of rows."""
        same = [True, *(row.kind == "same" for row in self.rows)]
        return [place for place in range(len(self.rows)) if same[place] > same[place + 1]]

    @cached_property
    def _lines(self) -> dict[str, list[tuple[int, int, int]]]:
        """Of each text, where its lines begin, the places of their rows and their numbers."""
        found: dict[str, list[tuple[int, int, int]]] = {"a": [], "b": []}
        for side, lines in found.items():
            number = 0
            for place, row in enumerate(self.rows):
                if (line := getattr(row, side)) is not None:
                    number = line.number or number
                    lines.append((line.start, place, number))
        return found

    def row_of(self, side: str, start: int) -> tuple[int, int]:
        """The row that has a place of the text `a` or `b`, and the number of the line."""
        lines = self._lines[side]
        at = max(bisect_right(lines, start, key=itemgetter(0)) - 1, 0)
        return lines[at][1:]


@dataclass(frozen=True, slots=True)
class Shown:
    """A row of two texts as it is shown.

    Attributes:
        kind: `same`, `changed`, `only` for a line of one text, or `left out`.
        first: the place of the row, for its address.
        a, b: the lines; None if there is none.
        number: of the difference that begins here, from 1; 0 if none does.
        skipped: how many rows are left out.
        elsewhere: where the other text has the same text: the row's place and line.
    """

    kind: str
    first: int
    a: Line | None = None
    b: Line | None = None
    number: int = 0
    skipped: int = 0
    elsewhere: tuple[int, int] | None = None


def texts_beside(
    a: str,
    b: str,
    *,
    most: int = DEFAULTS.text_characters,
    passages: Sequence[Passage] = (),
    blanks: bool = True,
) -> Beside:
    """Align two texts.

    Args:
        a: the text on the left.
        b: the text on the right.
        most: how many characters of each are compared.
        passages: what both have.
        blanks: whether different blanks count as a difference.
    """
    return Beside(
        differences(a[:most], b[:most], passages=passages, blanks=blanks),
        passages,
        "The same words; case, punctuation or blanks differ" if same_words(a, b) else "",
        looks_like_code(a) or looks_like_code(b),
        max(len(a) - most, len(b) - most, 0),
    )


def looks_like_code(text: str) -> bool:
    """Whether several lines of a text are indented."""
    lines = [line for line in text[:_MAX_CODE].splitlines() if line.strip()]
    indented = sum(line[0] in " \t" for line in lines)
    return len(lines) >= 5 and indented >= len(lines) / 8


def lines_of(found: Beside, shown: Iterable[int], low: int, high: int) -> Iterator[Shown]:
    """Some of the rows from `low` to before `high`, and how many are left out between them."""
    numbers = {start: number for number, start in enumerate(found.starts, 1)}
    before: tuple[int, int] | None = None
    done = low
    for place in [*shown, high]:
        if place > done:
            yield Shown("left out", done, skipped=place - done)
        if place < high:
            row = found.rows[place]
            there = _elsewhere(found, row)
            # The first row of a block says it.
            says = None if there and before and 0 <= there[0] - before[0] <= 1 else there
            yield Shown(row.kind, place, row.a, row.b, numbers.get(place, 0), elsewhere=says)
            before = there
        done = place + 1


def longest_passages(found: Beside) -> list[tuple[Passage, int, int]]:
    """The longest shared passages, each with the places of the rows where it begins in A and B."""
    return [
        (each, found.row_of("a", each.a_start)[0], found.row_of("b", each.b_start)[0])
        for each in sorted(found.passages, key=lambda each: -each.shingles)[:_LISTED]
    ]


def _elsewhere(found: Beside, row: Row) -> tuple[int, int] | None:
    """Where the other text has the moved text of a row that only one text has."""
    line = row.a or row.b
    if line is None or not any(piece.kind == "moved" for piece in line.pieces):
        return None
    end = line.start + sum(len(piece.text) for piece in line.pieces)
    for each in found.passages:
        if row.a is not None and each.a_start < end and line.start < each.a_end:
            return found.row_of("b", each.b_start + max(line.start - each.a_start, 0))
        if row.b is not None and each.b_start < end and line.start < each.b_end:
            return found.row_of("a", each.a_start + max(line.start - each.b_start, 0))
    return None
