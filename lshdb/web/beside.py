"""Two documents side by side, as rows of a page, some of them left out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from lshdb.errors import KeyNotFound, UsageError, warn_of_limit
from lshdb.model import Comparison, Element, Passage
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
from lshdb.search.limits import TEXT_CHARACTERS, text_cut
from lshdb.web.colouring import Words, words_of

_PART: Final = 100_000
"""Characters of two texts on a page, and rows of them."""
_PART_ROWS: Final = 1_000
_BESIDE: Final = 2
"""Equal rows shown beside those that differ."""
STEP: Final = 20
"""Additional rows shown by one click."""
_MAX_OPENED: Final = 2_000
"""Maximum additional rows on a page."""
_LISTED: Final = 20
"""Shared passages that are listed."""
_MAX_CODE: Final = 100_000
"""Characters by which a text looks like code."""

Shown: TypeAlias = list[tuple[str, list[tuple[str, str]]]]
"""One side of a row: the kind of each piece, and its words, each with its class or none."""


@dataclass(frozen=True)
class Compared:
    """Two documents that were compared.

    Attributes:
        comparison: without their contents.
        differences: of two texts, side by side.
        a_words, b_words: of code, the words that have colours.
        says: how they differ, in words.
        only: for two sets, the elements of the one, of the other, and of both.
        code: whether to show them in a fixed-width font.
    """

    comparison: Comparison
    differences: Differences | None = None
    a_words: Words | None = None
    b_words: Words | None = None
    says: str = ""
    only: tuple[tuple[Element, ...], ...] = ()
    code: bool = False

    @cached_property
    def moved(self) -> tuple[list[Span], list[Span]]:
        """The places of the shared passages in the two texts, ascending and not overlapping."""
        passages = self.comparison.passages or ()
        return (
            _apart((each.a_start, each.a_end) for each in passages),
            _apart((each.b_start, each.b_end) for each in passages),
        )

    @cached_property
    def parts(self) -> list[int]:
        """Where the pages begin, as places of rows."""
        return [0] if self.differences is None else list(_parts(self.differences)) or [0]

    @cached_property
    def starts(self) -> list[int]:
        """Where the differences begin, as places of rows."""
        rows = [] if self.differences is None else self.differences.rows
        return [i for i, row in enumerate(rows) if not row.same and (i == 0 or rows[i - 1].same)]

    @cached_property
    def places(self) -> tuple[list[int], list[int]]:
        """By the segments of the two texts, the places of their rows."""
        rows = [] if self.differences is None else self.differences.rows
        return (
            [place for place, row in enumerate(rows) if row.a is not None],
            [place for place, row in enumerate(rows) if row.b is not None],
        )

    @cached_property
    def passages(self) -> tuple[list[Passage], list[Passage]]:
        """The shared passages, by where they end in the two texts."""
        found = self.comparison.passages or ()
        return sorted(found, key=lambda x: x.a_end), sorted(found, key=lambda x: x.b_end)


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
    a: Shown | None = None
    b: Shown | None = None
    skipped: int = 0
    first: int = 0
    elsewhere: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """The part of two texts that a page shows.

    Attributes:
        lines: the rows, and how many are left out between them.
        pages: how many pages there are.
        begins: of each page, the place of its first row.
    """

    lines: list[Line]
    pages: int
    begins: list[int]

    def page_of(self, place: int) -> int:
        """The page that a row is on."""
        return max(bisect_right(self.begins, place), 1)


def compared(comparison: Comparison, a_key: str, b_key: str, *, blanks: bool) -> Compared:
    """The comparison for the page of two documents, made once for all of its parts.

    Args:
        comparison: of the two, with their contents.
        a_key: its file name decides how the text of A is coloured.
        b_key: the same for B.
        blanks: whether different blanks count as a difference.
    """
    a, b = comparison.a_content, comparison.b_content
    bare = replace(comparison, a_content=None, b_content=None)
    says = "Identical" if comparison.identical else ""
    if isinstance(a, tuple) and isinstance(b, tuple):
        held, other, shared = set(a), set(b), set(comparison.shared_elements or ())
        only = (
            tuple(each for each in a if each not in other),
            tuple(each for each in b if each not in held),
            tuple(each for each in a if each in shared),
        )
        return Compared(bare, says=says, only=only)
    if not isinstance(a, str) or not isinstance(b, str):
        return Compared(bare, says=says)
    if (longest := max(len(a), len(b))) > TEXT_CHARACTERS:
        warn_of_limit(text_cut(longest - TEXT_CHARACTERS, TEXT_CHARACTERS))
    found = differences(a[:TEXT_CHARACTERS], b[:TEXT_CHARACTERS], blanks=blanks)
    if not says and same_words(a, b):
        says = "The same words; case, punctuation or blanks differ"
    a_words, b_words = words_of([(a_key, a), (b_key, b)])
    code = a_words is not None or b_words is not None or looks_like_code(a) or looks_like_code(b)
    return Compared(bare, found, a_words, b_words, says, code=code)


def looks_like_code(text: str) -> bool:
    """Whether several lines of a text are indented."""
    lines = [line for line in text[:_MAX_CODE].splitlines() if line.strip()]
    indented = sum(line[0] in " \t" for line in lines)
    return len(lines) >= 5 and indented >= len(lines) / 8


def opened_rows(text: str) -> list[Span]:
    """The additional rows in an address, as `120-140,300-320`; UsageError for others."""
    found: list[Span] = []
    for each in text.split(",") if text else []:
        low, dash, high = each.partition("-")
        if not (dash and low.isdecimal() and high.isdecimal() and len(each) < 20):
            raise UsageError(f"more {each!r:.50} is not two numbers of rows")
        found.append((int(low), int(high)))
    found = _apart(found)
    if sum(high - low for low, high in found) > _MAX_OPENED:
        raise UsageError(f"a page shows {_MAX_OPENED:,} rows more: show all of them instead")
    return found


def part_of(
    found: Compared, all_of: Differences, page: int, *, only: bool, opened: Sequence[Span] = ()
) -> Part:
    """The rows of one page.

    Args:
        found: the two documents.
        all_of: their differences.
        page: its number, from 1; KeyNotFound if there is none.
        only: whether rows far from a difference are left out.
        opened: ranges of rows that are shown anyway, as first and last + 1.
    """
    rows = all_of.rows
    near = near_differences(rows, _BESIDE) if only else range(len(rows))
    begins = [near[at] for at in range(0, len(near), _PART_ROWS)] or [0] if only else found.parts
    pages = len(begins)
    if page > pages:
        raise KeyNotFound(f"there is no page {page:,}: the last is page {pages:,}")
    low = 0 if page == 1 else begins[page - 1]
    high = begins[page] if page < pages else len(rows)
    shown = set(near[bisect_left(near, low) : bisect_left(near, high)])
    for first, behind in opened:
        shown.update(range(max(first, low), min(behind, high)))
    numbers = {start: number for number, start in enumerate(found.starts, 1)}
    lines: list[Line] = []
    before: tuple[int, int] | None = None
    done = low
    for place in [*sorted(shown), high]:
        if place > done:
            lines.append(Line("left out", skipped=place - done, first=done))
        if place < high:
            line = line_of(all_of, place, found, numbers.get(place, 0))
            there = line.elsewhere
            if there and before and 0 <= there[0] - before[0] <= 1:
                line = replace(line, elsewhere=None)  # the first row of a block says it
            lines.append(line)
            before = there
        done = place + 1
    return Part(lines, pages, begins)


def longest_passages(found: Compared, all_of: Differences) -> list[tuple[Passage, int, int]]:
    """The longest shared passages, each with the places of the rows where it begins in A and B."""
    passages = sorted(found.comparison.passages or (), key=lambda each: -each.shingles)
    return [
        (
            each,
            found.places[0][_segment_at(all_of.a, each.a_start)],
            found.places[1][_segment_at(all_of.b, each.b_start)],
        )
        for each in passages[:_LISTED]
    ]


def line_of(
    all_of: Differences, place: int, found: Compared | None = None, number: int = 0
) -> Line:
    """A row as it is shown, with the colours and passages of the documents if given."""
    row = all_of.rows[place]
    a, b = all_of.pieces(row, *(([], []) if found is None else found.moved))
    one = None if row.a is None else all_of.a[row.a]
    other = None if row.b is None else all_of.b[row.b]
    moved = any(piece.kind == "moved" for piece in (*a, *b))
    return Line(
        "same" if row.same else "only" if one is None or other is None else "changed",
        number,
        0 if one is None else one.line,
        0 if other is None else other.line,
        None if one is None else worded(a, one.start, None if found is None else found.a_words),
        None if other is None else worded(b, other.start, None if found is None else found.b_words),
        first=place,
        elsewhere=_elsewhere(found, all_of, row) if found and moved else None,
    )


def worded(pieces: list[Piece], start: int, words: Words | None) -> Shown:
    """The pieces of a line that begins at a place of its text, cut at coloured words."""
    if words is None:
        return [(piece.kind, [("", piece.text)]) for piece in pieces]
    found: Shown = []
    at = bisect_right(words, start, key=lambda word: word[1])
    for piece in pieces:
        done, end = start, start + len(piece.text)
        cut: list[tuple[str, str]] = []
        while at < len(words) and words[at][0] < end:
            low, high = max(words[at][0], done), min(words[at][1], end)
            if low > done:
                cut.append(("", piece.text[done - start : low - start]))
            cut.append((words[at][2], piece.text[low - start : high - start]))
            done = high
            if words[at][1] > end:
                break
            at += 1
        if done < end:
            cut.append(("", piece.text[done - start :]))
        found.append((piece.kind, cut))
        start = end
    return found


def _elsewhere(found: Compared, all_of: Differences, row: Row) -> tuple[int, int] | None:
    """Where the other text has the text of a row that only one text has."""
    if row.a is not None and row.b is None:
        segment, passages = all_of.a[row.a], found.passages[0]
        at = bisect_right(passages, segment.start, key=lambda each: each.a_end)
        if at == len(passages) or passages[at].a_start >= segment.end:
            return None
        offset = max(segment.start - passages[at].a_start, 0)
        wanted, others, places = passages[at].b_start + offset, all_of.b, found.places[1]
    elif row.b is not None and row.a is None:
        segment, passages = all_of.b[row.b], found.passages[1]
        at = bisect_right(passages, segment.start, key=lambda each: each.b_end)
        if at == len(passages) or passages[at].b_start >= segment.end:
            return None
        offset = max(segment.start - passages[at].b_start, 0)
        wanted, others, places = passages[at].a_start + offset, all_of.a, found.places[0]
    else:
        return None
    segment_no = _segment_at(others, wanted)
    first = segment_no
    while first and not others[first].line:
        first -= 1
    return places[segment_no], others[first].line


def _segment_at(segments: list[Segment], start: int) -> int:
    """The segment that a place of a text is in."""
    return max(bisect_right(segments, start, key=lambda each: each.start) - 1, 0)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Spans as stretches that do not touch, ascending."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _parts(found: Differences) -> Iterator[int]:
    """Where the pages of two texts begin."""
    size = rows = 0
    for place, row in enumerate(found.rows):
        if place == 0 or size > _PART or rows >= _PART_ROWS:
            yield place
            size = rows = 0
        rows += 1
        for segment in (
            None if row.a is None else found.a[row.a],
            None if row.b is None else found.b[row.b],
        ):
            size += 0 if segment is None else segment.end - segment.start
