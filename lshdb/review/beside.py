"""Two documents side by side, as the rows of a page."""

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
"""The elements that only the first set has, only the second, and both: for each of these parts
their number and the first of them."""
_MAX_CODE = 100_000
"""Characters at the start of a text that are searched for signs of code."""
_INDENTED = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)
_PUNCTUATION = re.compile(r"[][{}()<>=;_#\\*&|$@+/]")
"""What programs have much of: 5% and more of their characters, licences and news below 2%."""


@dataclass(frozen=True)
class Beside:
    """Two texts side by side.

    Attributes:
        rows: the rows of the compared beginnings.
        passages: the passages that both texts have.
        says: how the texts differ, in words.
        code: whether to show them in a fixed-width font.
        cut: number of characters of the longer text that are not compared.
    """

    rows: list[Row]
    passages: Sequence[Passage]
    says: str
    code: bool
    cut: int

    @cached_property
    def starts(self) -> list[int]:
        """The indices of the rows where a difference begins."""
        same = [True, *(row.kind == "same" for row in self.rows)]
        return [index for index in range(len(self.rows)) if same[index] > same[index + 1]]

    def strip(self, parts: int) -> list[tuple[int, float]]:
        """The rows in up to `parts` parts, for a picture that shows where the texts agree.

        Returns:
            For each part the index of its first row, and its share of rows that are the same.
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
        """The page that has a row if no row is left out."""
        return row // PART_ROWS + 1

    @cached_property
    def _lines(self) -> dict[str, list[tuple[int, int, int]]]:
        """The lines of each text: the offset of the start, the index of the row, the number."""
        lines_of_side: dict[str, list[tuple[int, int, int]]] = {"a": [], "b": []}
        for index, row in enumerate(self.rows):
            for side, lines in lines_of_side.items():
                if line := getattr(row, side):
                    # A part of a long line has the number of the line.
                    lines.append((line.start, index, line.number or lines[-1][2]))
        return lines_of_side

    def elsewhere(self, row: Row) -> tuple[int, int] | None:
        """The row and the line where the other text has the moved text of a row of one text."""
        side, other_side = "ab" if row.a else "ba"
        line: Line = getattr(row, side)
        before = list(takewhile(lambda piece: piece.kind != "moved", line.pieces))
        if len(before) == len(line.pieces):
            return None
        moved_start = line.start + sum(len(piece.text) for piece in before)
        offsets = attrgetter(f"{side}_start", f"{side}_end", f"{other_side}_start")
        for start, end, other_start in map(offsets, self.passages):
            if start <= moved_start < end:
                lines = self._lines[other_side]
                target = (other_start + moved_start - start, sys.maxsize)
                return lines[bisect_right(lines, target) - 1][1:]
        return None


@dataclass(frozen=True, slots=True)
class Shown:
    """A row of two texts as it is shown.

    Attributes:
        kind: `same`, `changed`, `only` for a line of one text, or `left out`.
        first: the index of the row, for its address.
        a, b: the line of each text; None if the row has none.
        number: the number of the difference that begins with this row, from 1; 0 if none does.
        skipped: number of rows that are left out.
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
    """Two texts side by side, or what two sets share; neither if the contents are not stored.

    In a file that indexes rare words, those that both texts have are marked where the texts differ.

    Args:
        database: the file.
        a: the content on the left.
        b: the content on the right.
        elements: maximum number of elements of each part of the sets.
        limit: number of characters of each text that are compared.
        passages: the passages that both texts have.
        blanks: whether different blanks count as a difference.
    """
    if isinstance(a, str) and isinstance(b, str):
        programs = database.settings.shingling.of_programs
        start_a, start_b = a[:limit], b[:limit]
        rows = differences(start_a, start_b, passages=passages, blanks=blanks, programs=programs)
        if database.settings.reworded:
            left, right = shared_rare_words(store_of(database), start_a, start_b)
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
        return None, [(len(part), part[:elements]) for part in sets_beside(a, b)]
    return None, None


def painted(line: Line, of: PieceKind, spans: Sequence[Span], kind: PieceKind) -> Line:
    """A line in which pieces of the kind `of` become `kind` within ascending spans of the text."""
    pieces: list[Piece] = []
    start = line.start
    for piece in line.pieces:
        end = start + len(piece.text)
        done = start
        for low, high in [*(within(spans, start, end) if piece.kind == of else ()), (end, end)]:
            parts = (done, low, piece.kind), (low, high, kind)
            pieces += (
                Piece(piece.text[first - start : last - start], piece_kind)
                for first, last, piece_kind in parts
                if first < last
            )
            done = high
        start = end
    return replace(line, pieces=pieces)


def _marked(line: Line | None, words: Sequence[Span]) -> Line | None:
    """A line that differs, with rare words and long runs of equal words as pieces of their own.

    A word is a piece of the kind `rare`, a run of the kind `run`.
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
    r"""Whether a text has several indented lines, and as much punctuation as code has.

    >>> looks_like_code("  A poem,\n" * 9), looks_like_code("  poem(9);\n" * 9)
    (False, True)
    """
    start = text[:_MAX_CODE]
    return 8 * len(_INDENTED.findall(start)) >= max(start.count("\n"), 24) and 25 * len(
        _PUNCTUATION.findall(start)
    ) >= len(start) - start.count(" ")


def lines_of(texts: Beside, shown: Iterable[int], low: int, high: int) -> Iterator[Shown]:
    """The shown rows from `low` to before `high`, and how many are left out between them."""
    numbers = {start: number for number, start in enumerate(texts.starts, 1)}
    previous: tuple[int, int] | None = None
    done = low
    for index in [*shown, high]:
        if index > done:
            yield Shown("left out", done, skipped=index - done)
        if index < high:
            row = texts.rows[index]
            elsewhere = texts.elsewhere(row)
            # Of rows that moved together, only the first names its other place.
            moved_on = elsewhere and previous and 0 <= elsewhere[0] - previous[0] <= 1
            yield Shown(
                row.kind,
                index,
                row.a,
                row.b,
                numbers.get(index, 0),
                elsewhere=None if moved_on else elsewhere,
            )
            previous = elsewhere

        done = index + 1
