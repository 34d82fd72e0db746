"""Two documents side by side, as rows of a page, some of them left out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Final

from lshdb.errors import KeyNotFound
from lshdb.limits import DEFAULTS
from lshdb.model import Element, Passage
from lshdb.search.differences import (
    Differences,
    Piece,
    Row,
    Segment,
    Span,
    differences,
    near_differences,
    same_words,
)

PART_ROWS: Final = 500
"""Rows on a page: some 100 KB of lines or sentences."""
_LISTED: Final = 20
"""Shared passages that are listed."""
_MAX_CODE: Final = 100_000
"""Characters by which a text looks like code."""


@dataclass(frozen=True)
class Side:
    """One of two texts side by side.

    Attributes:
        segments: all of them.
        rows: the places of their rows.
        shared: the passages that both texts have, by their ends: start and end in this text, and
            start in the other.
    """

    segments: list[Segment]
    rows: list[int]
    shared: list[tuple[int, int, int]]

    @cached_property
    def moved(self) -> list[Span]:
        """The places of the shared passages, ascending and not overlapping."""
        return _apart((start, end) for start, end, _ in self.shared)

    def segment_at(self, start: int) -> int:
        """The segment that a place of the text is in."""
        return max(bisect_right(self.segments, start, key=lambda each: each.start) - 1, 0)


@dataclass(frozen=True)
class Beside:
    """Two texts side by side.

    Attributes:
        differences: of their beginnings.
        a, b: the two.
        says: how they differ, in words.
        code: whether to show them in a fixed-width font.
        cut: how many characters of the longer one are not compared.
    """

    differences: Differences
    a: Side
    b: Side
    says: str
    code: bool
    cut: int

    @cached_property
    def starts(self) -> list[int]:
        """Where the differences begin, as places of rows."""
        rows = self.differences.rows
        return [i for i, row in enumerate(rows) if not row.same and (i == 0 or rows[i - 1].same)]


@dataclass(frozen=True, slots=True)
class Line:
    """A row of two texts as it is shown.

    Attributes:
        kind: `same`, `changed`, `only` for a line of one text, or `left out`.
        number: of the difference that begins here, from 1; 0 if none does.
        a_line, b_line: numbers of lines; 0 if none begins.
        a, b: the pieces; None if there is nothing.
        skipped: how many rows are left out.
        first: the place of the row, for its address.
        elsewhere: where the other text has the same text: the row's place and line.
    """

    kind: str
    number: int = 0
    a_line: int = 0
    b_line: int = 0
    a: list[Piece] | None = None
    b: list[Piece] | None = None
    skipped: int = 0
    first: int = 0
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
    found = differences(a[:most], b[:most], blanks=blanks)
    return Beside(
        found,
        _side([row.a for row in found.rows], [(p.a_start, p.a_end, p.b_start) for p in passages]),
        _side([row.b for row in found.rows], [(p.b_start, p.b_end, p.a_start) for p in passages]),
        "The same words; case, punctuation or blanks differ" if same_words(a, b) else "",
        looks_like_code(a) or looks_like_code(b),
        max(len(a) - most, len(b) - most, 0),
    )


def _side(segments: list[Segment | None], shared: list[tuple[int, int, int]]) -> Side:
    return Side(
        [each for each in segments if each is not None],
        [place for place, each in enumerate(segments) if each is not None],
        sorted(shared, key=itemgetter(1)),
    )


def sets_beside(
    a: Sequence[Element], b: Sequence[Element]
) -> tuple[list[Element], list[Element], list[Element]]:
    """The elements that only one of two sets has, only the other, and both."""
    held, its = set(a), set(b)
    return (
        [each for each in a if each not in its],
        [each for each in b if each not in held],
        [each for each in a if each in its],
    )


def looks_like_code(text: str) -> bool:
    """Whether several lines of a text are indented."""
    lines = [line for line in text[:_MAX_CODE].splitlines() if line.strip()]
    indented = sum(line[0] in " \t" for line in lines)
    return len(lines) >= 5 and indented >= len(lines) / 8


def part_of(found: Beside, page: int, around: int | None) -> tuple[list[Line], list[int]]:
    """The rows of one page, and of each page the place of its first row.

    Args:
        found: the two texts.
        page: its number, from 1; KeyNotFound if there is none.
        around: how many equal rows are shown beside those that differ; None for all.
    """
    rows = found.differences.rows
    near = range(len(rows)) if around is None else near_differences(rows, around)
    begins = [0, *near[PART_ROWS::PART_ROWS]]
    pages = len(begins)
    if page > pages:
        raise KeyNotFound(f"there is no page {page:,}: the last is page {pages:,}")
    low = begins[page - 1]
    high = begins[page] if page < pages else len(rows)
    shown = near[bisect_left(near, low) : bisect_left(near, high)]
    return list(lines_of(found, shown, low, high)), begins


def lines_of(found: Beside, shown: Iterable[int], low: int, high: int) -> Iterator[Line]:
    """Some of the rows from `low` to before `high`, and how many are left out between them."""
    numbers = {start: number for number, start in enumerate(found.starts, 1)}
    before: tuple[int, int] | None = None
    done = low
    for place in [*shown, high]:
        if place > done:
            yield Line("left out", skipped=place - done, first=done)
        if place < high:
            line = _line(found, place, numbers.get(place, 0))
            there = line.elsewhere
            if there and before and 0 <= there[0] - before[0] <= 1:
                line = replace(line, elsewhere=None)  # the first row of a block says it
            yield line
            before = there
        done = place + 1


def longest_passages(found: Beside, passages: Sequence[Passage]) -> list[tuple[Passage, int, int]]:
    """The longest shared passages, each with the places of the rows where it begins in A and B."""
    return [
        (
            each,
            found.a.rows[found.a.segment_at(each.a_start)],
            found.b.rows[found.b.segment_at(each.b_start)],
        )
        for each in sorted(passages, key=lambda each: -each.shingles)[:_LISTED]
    ]


def _line(found: Beside, place: int, number: int) -> Line:
    """A row as it is shown; `number` is that of the difference which begins here, or 0."""
    row = found.differences.rows[place]
    a, b = found.differences.pieces(row, found.a.moved, found.b.moved)
    moved = any(piece.kind == "moved" for piece in (*a, *b))
    return Line(
        "same" if row.same else "only" if row.a is None or row.b is None else "changed",
        number,
        0 if row.a is None else row.a.line,
        0 if row.b is None else row.b.line,
        None if row.a is None else a,
        None if row.b is None else b,
        first=place,
        elsewhere=_elsewhere(found, row) if moved else None,
    )


def _elsewhere(found: Beside, row: Row) -> tuple[int, int] | None:
    """Where the other text has the text of a row that only one text has."""
    own, other = (found.a, found.b) if row.b is None else (found.b, found.a)
    segment = row.a or row.b
    if segment is None or (row.a and row.b):
        return None
    at = bisect_right(own.shared, segment.start, key=itemgetter(1))
    if at == len(own.shared) or own.shared[at][0] >= segment.end:
        return None
    start, _, there = own.shared[at]
    first = place = other.segment_at(there + max(segment.start - start, 0))
    while not other.segments[first].line:
        first -= 1
    return other.rows[place], other.segments[first].line


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Spans as stretches that do not touch, ascending."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
