"""Two documents side by side, as the rows of a page."""

import re
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from lshdb.apps.compare.differences import (
    SHORTEST,
    Line,
    Piece,
    PieceKind,
    Row,
    agreement,
    differences,
    renames,
    sets_beside,
)
from lshdb.apps.compare.model import Passage, Rename
from lshdb.apps.passages import reworded
from lshdb.database import Database, store_of
from lshdb.formatting import counted, listed
from lshdb.limits import DEFAULTS
from lshdb.maintain.resolve import PASSAGES_OF_PROGRAMS
from lshdb.sketch.settings import Settings, unit_of
from lshdb.text.shingling import Element

PART_ROWS = 500
"""Rows on a page: some 100 KB of lines or sentences."""
StoredContent = str | tuple[Element, ...] | None
Sets = list[tuple[int, list[Element]]]
"""The elements that only the first set has, only the second, and both: for each of these parts
their number and the first of them."""
_RENAMES = 8
"""Renamed names that a line lists."""
_MAX_CODE = 100_000
"""Characters at the start of a text that are searched for signs of code."""
_INDENTED = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)
_PUNCTUATION = re.compile(r"[][{}()<>=;_#\\*&|$@+/]")
"""What programs have much of: 5% and more of their characters, licences and news below 2%."""

Marked = tuple[int, int, int]
"""A part of a text that is marked: its start, its end, and the number of its passage, or 0."""
_COPIED: tuple[PieceKind, ...] = ("same", "renamed", "moved")
"""Pieces that are coloured in copied passages; what changed stays marked as changed."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A passage that both texts have.

    Attributes:
        passage: the passage; no other one of the list has a part of it, in either text.
        units: its length in words, tokens or characters.
    """

    passage: Passage
    units: int


@dataclass(frozen=True)
class Beside:
    """Two texts side by side.

    Attributes:
        rows: the rows of the compared beginnings.
        copied: the passages that both texts have, the longest first.
        unit: what lengths of passages are in: word, token or character.
        coloured: whether these are pieces of the rows, each with its number in `copied`, from 1;
            they are not if they are more than half of a text, and no base text is left out.
        says: how the texts differ, in words.
        code: whether to show them in a fixed-width font.
        cut: number of characters of the longer text that are not compared.
    """

    rows: list[Row]
    copied: Sequence[Copied]
    unit: str
    coloured: bool
    says: str
    code: bool
    cut: int

    @cached_property
    def kinds(self) -> frozenset[PieceKind]:
        """The kinds of pieces of the texts, but for what is the same."""
        lines = (line for row in self.rows for line in (row.a, row.b) if line)
        pieces = [piece for line in lines for piece in line.pieces]
        kinds: set[PieceKind] = {piece.kind for piece in pieces} - {"same", "file"}
        if any(piece.number for piece in pieces):
            kinds.add("run")
        return frozenset(kinds)

    @cached_property
    def renames(self) -> list[Rename]:
        """The names that differ in step between two programs, the most frequent first."""
        return renames(self.rows)

    @property
    def renamed(self) -> str:
        """`renames` in words; empty if there are none."""
        names = self.renames
        each = [f"{name.a}\u2192{name.b} {counted(name.times, 'time')}" for name in names]
        shown = listed(each, _RENAMES)
        return f"{counted(len(names), 'name')} changed in step: {shown}" if names else ""

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

    def row_at(self, side: str, offset: int) -> tuple[int, int]:
        """The row that has a character of a text, `a` or `b`, and the number of its line."""
        lines = self._lines[side]
        return lines[bisect_right(lines, (offset, sys.maxsize)) - 1][1:]

    def elsewhere(self, row: Row, side: str) -> tuple[int, int] | None:
        """The row and the line where the other text has what moved of a row of one text."""
        line: Line | None = getattr(row, side)
        places = (piece.place for piece in line.pieces) if line else ()
        place = next((place for place in places if place is not None), None)
        return None if place is None else self.row_at("b" if side == "a" else "a", place)

    def chips(self, most: int) -> list[tuple[int, int, tuple[int, int], tuple[int, int]]]:
        """Up to `most` passages: number, length, and the row and line of each text."""
        return [
            (
                number,
                copied.units,
                self.row_at("a", copied.passage.a_start),
                self.row_at("b", copied.passage.b_start),
            )
            for number, copied in enumerate(self.copied[:most], 1)
        ]


@dataclass(frozen=True, slots=True)
class Shown:
    """A row of two texts as it is shown.

    Attributes:
        kind: `same`, `changed`, `only` for a line of one text, or `left out`.
        first: the index of the row, for its address.
        a, b: the line of each text; None if the row has none.
        number: the number of the difference that begins with this row, from 1; 0 if none does.
        skipped: number of rows that are left out.
        a_elsewhere, b_elsewhere: where the other text has what moved of a line: the index of the
            row, and the number of the line.
    """

    kind: str
    first: int
    a: Line | None = None
    b: Line | None = None
    number: int = 0
    skipped: int = 0
    a_elsewhere: tuple[int, int] | None = None
    b_elsewhere: tuple[int, int] | None = None


def contents_beside(
    database: Database,
    a: StoredContent,
    b: StoredContent,
    *,
    elements: int,
    limit: int = DEFAULTS.text_characters,
    passages: Sequence[Passage] = (),
) -> tuple[Beside | None, Sets | None]:
    """Two texts side by side, or what two sets share; neither if the contents are not stored.

    In a file that indexes rare words, those that both texts have are marked where the texts differ;
    in one of programs, or that indexes passages, copied passages in both texts.

    Args:
        database: the file.
        a: the content on the left.
        b: the content on the right.
        elements: maximum number of elements of each part of the sets.
        limit: number of characters of each text that are compared.
        passages: the passages that both texts have, in any order.
    """
    if isinstance(a, str) and isinstance(b, str):
        programs = database.settings.shingling.of_programs
        start_a, start_b = a[:limit], b[:limit]
        shortest = shortest_passage(database.settings)
        rows = differences(start_a, start_b, programs=programs, shortest=shortest)
        if database.settings.reworded:
            left, right = (
                [(*span, 0) for span in spans]
                for spans in reworded.shared_rare_words(store_of(database), start_a, start_b)
            )
            rows = [_rare_marked(row, left, right) for row in rows]
        copied = _copied(database.settings, passages, shortest, limit)
        share = sum(each.passage.a_end - each.passage.a_start for each in copied)
        # In near duplicates what differs says more, unless colours leave out a text that all have.
        is_part = 2 * share <= min(len(start_a), len(start_b)) or database.settings.shingling.base
        coloured = bool(copied and (programs or database.settings.passages) and is_part)
        if coloured:
            rows = _coloured(rows, copied)
        texts = Beside(
            rows,
            copied,
            unit_of(database.settings.shingling),
            coloured,
            agreement(a, b, programs=programs),
            programs or looks_like_code(a) or looks_like_code(b),
            max(len(a) - limit, len(b) - limit, 0),
        )
        return texts, None
    if isinstance(a, tuple) and isinstance(b, tuple):
        return None, [(len(part), part[:elements]) for part in sets_beside(a, b)]
    return None, None


def shortest_passage(settings: Settings) -> int:
    """The least number of words or tokens that is shown as copied, or as moved."""
    if settings.passages and settings.shingling.kind != "char":
        return settings.passages
    return PASSAGES_OF_PROGRAMS if settings.shingling.of_programs else SHORTEST


def _copied(
    settings: Settings, passages: Iterable[Passage], shortest: int, limit: int
) -> list[Copied]:
    """The longest passages, of which none has a part of a longer one."""
    kind, size = settings.shingling.kind, settings.shingling.size
    shortest = (settings.passages or 5 * shortest) if kind == "char" else shortest
    chosen: list[Copied] = []
    taken: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for passage in sorted(passages, key=lambda each: (-each.shingles, each.a_start)):
        units = passage.shingles + size - 1
        spans = (passage.a_start, passage.a_end), (passage.b_start, passage.b_end)
        if units < shortest or max(passage.a_end, passage.b_end) > limit:
            continue
        places = [bisect_right(each, span) for each, span in zip(taken, spans, strict=True)]
        if all(
            (place == 0 or each[place - 1][1] <= start)
            and (place == len(each) or end <= each[place][0])
            for each, place, (start, end) in zip(taken, places, spans, strict=True)
        ):
            for each, place, span in zip(taken, places, spans, strict=True):
                each.insert(place, span)
            chosen.append(Copied(passage, units))
    return chosen


def _coloured(rows: Iterable[Row], copied: Sequence[Copied]) -> list[Row]:
    """The rows with copied passages as pieces of the kind `run`."""
    numbered = [(each.passage, number) for number, each in enumerate(copied, 1)]
    left = sorted((passage.a_start, passage.a_end, number) for passage, number in numbered)
    right = sorted((passage.b_start, passage.b_end, number) for passage, number in numbered)
    return [
        replace(
            row,
            a=row.a and painted(row.a, _COPIED, left, "run"),
            b=row.b and painted(row.b, _COPIED, right, "run"),
        )
        for row in rows
    ]


def _within(spans: Sequence[Marked], start: int, end: int) -> Iterator[Marked]:
    """The parts of ascending spans that are between two offsets."""
    for index in range(bisect_right(spans, start, key=itemgetter(1)), len(spans)):
        low, high, number = spans[index]
        if low >= end:
            return
        yield max(low, start), min(high, end), number


def painted(
    line: Line, of: Collection[PieceKind], spans: Sequence[Marked], kind: PieceKind
) -> Line:
    """A line in which pieces of some kinds become `kind` within ascending spans of the text.

    Blanks at the beginning stay as they are; so does what is renamed or moved, with the number.
    """
    pieces: list[Piece] = []
    start = line.start
    for piece in line.pieces:
        end = start + len(piece.text)
        done = start
        marked = _within(spans, start, end) if piece.kind in of else ()
        for low, high, number in [*marked, (end, end, 0)]:
            text = piece.text[low - start : high - start]
            if low == line.start:
                low += len(text) - len(text.lstrip())
            if done < low:
                pieces.append(replace(piece, text=piece.text[done - start : low - start]))
            if low < high:
                kept = piece.kind if piece.kind in ("renamed", "moved") else kind
                text = piece.text[low - start : high - start]
                pieces.append(replace(piece, text=text, kind=kept, number=number))
            done = high
        start = end
    return replace(line, pieces=pieces)


def _rare_marked(row: Row, left: Sequence[Marked], right: Sequence[Marked]) -> Row:
    """A row that differs, with rare words as pieces of the kind `rare`, and long equal runs of
    words that both lines have as pieces of the kind `run`.
    """
    if row.kind == "same":
        return row
    lines = (row.a, left), (row.b, right)
    a, b = (line and painted(line, ["changed"], spans, "rare") for line, spans in lines)
    if a and b:
        a_runs, b_runs = (
            {tuple(piece.text.split()) for piece in line.pieces if piece.kind == "same"}
            for line in (a, b)
        )
        runs = {words for words in a_runs & b_runs if len(words) >= reworded.RUN}
        a, b = (
            replace(line, pieces=[
                replace(piece, kind="run")
                if piece.kind == "same" and tuple(piece.text.split()) in runs else piece
                for piece in line.pieces
            ])
            for line in (a, b)
        )  # fmt: skip
    return replace(row, a=a, b=b)


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
    before = dict.fromkeys("ab", (-2, 0))
    done = low
    for index in [*shown, high]:
        if index > done:
            yield Shown("left out", done, skipped=index - done)
        if index < high:
            row = texts.rows[index]
            places: list[tuple[int, int] | None] = []
            for side in "ab":
                place = texts.elsewhere(row, side)
                # Of rows that moved together, only the first names its other place.
                moved_on = place and 0 <= place[0] - before[side][0] <= 1
                places.append(None if moved_on else place)
                before[side] = place or (-2, 0)
            yield Shown(row.kind, index, row.a, row.b, numbers.get(index, 0), 0, *places)
        done = index + 1
