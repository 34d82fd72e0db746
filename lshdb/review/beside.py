"""Two documents side by side, as rows of a page, some of them left out."""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from operator import attrgetter

from lshdb.database import Database, store_of
from lshdb.limits import DEFAULTS
from lshdb.model import Passage
from lshdb.search.differences import (
    Line,
    Piece,
    PieceKind,
    Row,
    Span,
    agreement,
    differences,
    sets_beside,
    within,
)
from lshdb.search.reworded import RUN, shared_rare_words
from lshdb.shingling.shingling import Element

PART_ROWS = 500
"""Rows on a page: some 100 KB of lines or sentences."""
StoredContent = str | tuple[Element, ...] | None
Sets = list[tuple[int, list[Element]]]
"""What only one of two sets has, only the other, and both: how many, and the first of them."""
_MAX_CODE = 100_000
"""Characters by which a text looks like code."""
_INDENTED = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)


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
        """Where the differences begin, as indices of rows."""
        same = [True, *(row.kind == "same" for row in self.rows)]
        return [index for index in range(len(self.rows)) if same[index] > same[index + 1]]

    def strip(self, parts: int) -> list[tuple[int, float]]:
        """Where up to `parts` parts of the rows begin, and the share of each that is the same.

        So a picture of both texts shows where they agree.
        """
        same = [row.kind == "same" for row in self.rows]
        size = len(same) // parts + 1
        begins = range(0, len(same), size)
        return [
            (begin, sum(same[begin : begin + size]) / len(same[begin : begin + size]))
            for begin in begins
        ]

    @staticmethod
    def page_of(row: int) -> int:
        """The page that has a row, of all rows."""
        return row // PART_ROWS + 1

    @cached_property
    def _lines(self) -> dict[str, list[tuple[int, int, int]]]:
        """The lines of each text: where they begin, the indices of their rows, their numbers."""
        found: dict[str, list[tuple[int, int, int]]] = {"a": [], "b": []}
        for at, row in enumerate(self.rows):
            for side, lines in found.items():
                if line := getattr(row, side):
                    # A part of a long line has the number of the line.
                    lines.append((line.start, at, line.number or lines[-1][2]))
        return found

    def elsewhere(self, row: Row) -> tuple[int, int] | None:
        """Where the other text has the moved text of a row that only one text has."""
        own, its = "ab" if row.a else "ba"
        line: Line = getattr(row, own)
        before = list(takewhile(lambda piece: piece.kind != "moved", line.pieces))
        if len(before) == len(line.pieces):
            return None
        at = line.start + sum(len(piece.text) for piece in before)
        places = attrgetter(f"{own}_start", f"{own}_end", f"{its}_start")
        for start, end, there in map(places, self.passages):
            if start <= at < end:
                lines = self._lines[its]
                return lines[bisect_right(lines, (there + at - start, sys.maxsize)) - 1][1:]
        return None


@dataclass(frozen=True, slots=True)
class Shown:
    """A row of two texts as it is shown.

    Attributes:
        kind: `same`, `changed`, `only` for a line of one text, or `left out`.
        first: the index of the row, for its address.
        a, b: the lines; None if there is none.
        number: of the difference that begins here, from 1; 0 if none does.
        skipped: how many rows are left out.
        elsewhere: where the other text has the same text: the index of the row, and the line.
    """

    kind: str
    first: int
    a: Line | None = None
    b: Line | None = None
    number: int = 0
    skipped: int = 0
    elsewhere: tuple[int, int] | None = None


def contents_beside(
    database: Database,
    a: StoredContent,
    b: StoredContent,
    *,
    elements: int,
    limit: int = DEFAULTS.text_characters,
    passages: Sequence[Passage] = (),
    blanks: bool = True,
) -> tuple[Beside | None, Sets | None]:
    """Two texts, or two sets; neither if the contents are not kept.

    In a file that indexes rare words, those that both texts have are marked where the texts differ.

    Args:
        database: the file.
        a: the content on the left.
        b: the content on the right.
        elements: how many are shown of a part of sets.
        limit: how many characters of each text are compared.
        passages: what both texts have.
        blanks: whether different blanks count as a difference.
    """
    if isinstance(a, str) and isinstance(b, str):
        programs = database.settings.shingling.of_programs
        own, its = a[:limit], b[:limit]
        rows = differences(own, its, passages=passages, blanks=blanks, programs=programs)
        if database.settings.reworded:
            left, right = shared_rare_words(store_of(database), own, its)
            rows = [replace(row, a=_marked(row.a, left), b=_marked(row.b, right)) for row in rows]
        texts = Beside(
            rows,
            passages,
            agreement(a, b, programs=programs),
            programs or looks_like_code(a) or looks_like_code(b),
            max(len(a) - limit, len(b) - limit, 0),
        )
        return texts, None
    if isinstance(a, tuple) and isinstance(b, tuple):
        return None, [(len(some), some[:elements]) for some in sets_beside(a, b)]
    return None, None


def painted(line: Line, of: PieceKind, spans: Sequence[Span], kind: PieceKind) -> Line:
    """A line whose pieces of one kind have another kind in ascending spans of the text."""
    pieces: list[Piece] = []
    start = line.start
    for piece in line.pieces:
        end = start + len(piece.text)
        done = start
        for low, high in [*(within(spans, start, end) if piece.kind == of else ()), (end, end)]:
            parts = (done, low, piece.kind), (low, high, kind)
            pieces += (
                Piece(piece.text[first - start : last - start], own)
                for first, last, own in parts
                if first < last
            )
            done = high
        start = end
    return replace(line, pieces=pieces)


def _marked(line: Line | None, words: Sequence[Span]) -> Line | None:
    """A line that differs, with some words and the long runs of equal words as their own pieces.

    The words are of the kind `rare`, the runs beside them `run`.
    """
    if line is None or all(piece.kind == "same" for piece in line.pieces):
        return line
    pieces = [
        replace(piece, kind="run")
        if piece.kind == "same" and len(piece.text.split()) >= RUN
        else piece
        for piece in painted(line, "changed", words, "rare").pieces
    ]
    return replace(line, pieces=pieces)


def looks_like_code(text: str) -> bool:
    """Whether several lines of a text are indented."""
    start = text[:_MAX_CODE]
    return 8 * len(_INDENTED.findall(start)) >= max(start.count("\n"), 24)


def lines_of(found: Beside, shown: Iterable[int], low: int, high: int) -> Iterator[Shown]:
    """Some of the rows from `low` to before `high`, and how many are left out between them."""
    numbers = {start: number for number, start in enumerate(found.starts, 1)}
    before: tuple[int, int] | None = None
    done = low
    for at in [*shown, high]:
        if at > done:
            yield Shown("left out", done, skipped=at - done)
        if at < high:
            row = found.rows[at]
            there = found.elsewhere(row)
            # The first row of a block says it.
            says = None if there and before and 0 <= there[0] - before[0] <= 1 else there
            yield Shown(row.kind, at, row.a, row.b, numbers.get(at, 0), elsewhere=says)
            before = there
        done = at + 1
