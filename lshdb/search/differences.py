"""How two texts differ: their lines side by side, and the words of changed lines.

Lines are aligned by those that both texts have exactly once (patience diff, by Bram Cohen), and
between these by the longest common subsequence. Long lines are cut at the ends of sentences, so
that prose is aligned too. A line without an equal one is paired with that which shares most words.

The time is bounded for all texts: an alignment takes one operation on a large integer per line or
word, and the number of pairs of lines that are compared by words is limited.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import isqrt
from operator import itemgetter
from typing import Final, Literal, TypeAlias

_LONG: Final = 300
"""A line of more characters is cut at the ends of its sentences."""
_LONGEST: Final = 600
"""A sentence of more characters is cut between words."""
_CUT: Final = 32
"""Such a sentence is cut after one word in this many, by their hashes, so that both texts are cut
at the same words, whatever comes before."""
_CELLS: Final = 10_000_000
"""Pairs of lines aligned at once, a bit each; longer ranges are cut into parts."""
_PAIRED: Final = 100_000
"""Pairs of lines of two texts that are compared by words, a tenth of a second in all; and at once a
quarter of them, as two texts differ in several places."""
_MIN_ALIKE: Final = 0.3
"""Minimum share of equal words to show two lines as one changed line."""
_MIN_MOVED: Final = 12
"""Minimum characters of text that is shown as moved."""
_MAX_TOKENS: Final = 2_000
"""Maximum words of a line that are compared one by one."""

_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+")
_WORD: Final = re.compile(r"\S+\s*")
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
_WORDS: Final = re.compile(r"\w+")
_SIGNS: Final = re.compile(r"\w+|[^\w\s]")

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Segment:
    """A line of a text, or a part of a long one.

    Attributes:
        start, end: where it is in the text, without its newline.
        line: the number of the line that begins here, from 1; 0 if none does.
    """

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """Segments side by side, None for no segment."""

    a: Segment | None
    b: Segment | None
    same: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a segment: the `same` in both, `changed`, or `moved`.

    Moved text is in a segment that has no pair, and is elsewhere in the other text.
    """

    text: str
    kind: Literal["same", "changed", "moved"]


@dataclass(frozen=True, slots=True)
class Differences:
    """Two texts side by side.

    Attributes:
        a_text, b_text: the texts.
        rows: all of their segments, in order.
        blanks: whether different blanks count as a difference.
    """

    a_text: str
    b_text: str
    rows: list[Row]
    blanks: bool = True

    def pieces(
        self, row: Row, a_moved: Sequence[Span] = (), b_moved: Sequence[Span] = ()
    ) -> tuple[list[Piece], list[Piece]]:
        """The two sides of a row, in pieces.

        Args:
            row: one of the rows.
            a_moved: passages that both texts have, in any place: start and end of each in A,
                ascending and not overlapping.
            b_moved: the same in B.
        """
        left = "" if row.a is None else self.a_text[row.a.start : row.a.end]
        right = "" if row.b is None else self.b_text[row.b.start : row.b.end]
        if row.same:
            return [Piece(left, "same")], [Piece(right, "same")]
        if row.a is None or row.b is None:
            a = [] if row.a is None else list(_with_moved(left, row.a.start, a_moved))
            b = [] if row.b is None else list(_with_moved(right, row.b.start, b_moved))
            return a, b
        sides = word_differences(left, right)
        if not self.blanks:
            for side in sides:
                side[:] = [Piece(x.text, "same") if x.text.isspace() else x for x in side]
        return sides


def differences(a: str, b: str, *, blanks: bool = True) -> Differences:
    r"""Align two texts.

    Without `blanks`, lines that differ only in blanks are equal. Blanks at the ends of lines never
    count.

    >>> found = differences("one\ntwo\nthree", "one\nthree\nfour")
    >>> [(row.a and row.a.line, row.b and row.b.line, row.same) for row in found.rows]
    [(1, 1, True), (2, None, False), (3, 2, True), (None, 3, False)]
    """
    one, other = list(segments(a)), list(segments(b))
    left = [_bare(a[each.start : each.end], blanks=blanks) for each in one]
    right = [_bare(b[each.start : each.end], blanks=blanks) for each in other]
    rows: list[Row] = []
    i = j = 0
    cells = _PAIRED
    for matched in [*_aligned(left, right), (len(one), len(other))]:
        count = (matched[0] - i) * (matched[1] - j)
        pairs: list[tuple[int, int]] = []
        if count == 1:
            pairs = [(i, j)]
        elif 0 < count <= min(cells, _PAIRED // 4):
            cells -= count
            pairs = _paired(left, right, (i, matched[0]), (j, matched[1]))
        for place, its_place in [*pairs, matched]:
            rows += (Row(each, None, same=False) for each in one[i:place])
            rows += (Row(None, each, same=False) for each in other[j:its_place])
            if place < len(one):
                same = (place, its_place) == matched
                rows.append(Row(one[place], other[its_place], same))
            i, j = place + 1, its_place + 1
    return Differences(a, b, rows, blanks)


def near_differences(rows: Sequence[Row], beside: int) -> list[int]:
    """The places of the rows that differ, and of some rows around each."""
    near: set[int] = set()
    for place, row in enumerate(rows):
        if not row.same:
            near.update(range(max(place - beside, 0), min(place + beside + 1, len(rows))))
    return sorted(near)


def _bare(line: str, *, blanks: bool) -> str:
    return line.rstrip() if blanks else " ".join(line.split())


def same_words(a: str, b: str) -> bool:
    """Whether two texts have the same words in order, apart from case and punctuation."""
    return _WORDS.findall(a.casefold()) == _WORDS.findall(b.casefold())


def segments(text: str) -> Iterator[Segment]:
    """Cut a text into lines, and long lines into sentences."""
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        body = line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        first = number
        for length in _lengths(body):
            yield Segment(start, start + length, first)
            start, first = start + length, 0
        start += len(line) - len(body)


def _lengths(line: str) -> Iterator[int]:
    """The lengths of the segments of a line."""
    if len(line) <= _LONG:
        yield len(line)
        return
    ends = [match.end() for match in _SENTENCE.finditer(line)] + [len(line)]
    done = 0
    for end in ends:
        if end - done > _LONGEST:
            begun = done
            for word in _WORD.finditer(line, done, end):
                cut = zlib.crc32(word[0].strip().encode("utf-8", "surrogatepass")) % _CUT == 0
                if cut or word.end() - begun > _LONGEST:
                    yield word.end() - begun
                    begun = word.end()
            done = begun
        if end > done:
            yield end - done
        done = end


def _aligned(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """Places of equal segments, ascending in both."""
    found: list[tuple[int, int]] = []
    ranges = [(0, len(a), 0, len(b))]
    while ranges:
        low, high, other_low, other_high = ranges.pop()
        while low < high and other_low < other_high and a[low] == b[other_low]:
            found.append((low, other_low))
            low, other_low = low + 1, other_low + 1
        while low < high and other_low < other_high and a[high - 1] == b[other_high - 1]:
            high, other_high = high - 1, other_high - 1
            found.append((high, other_high))
        if low == high or other_low == other_high:
            continue
        anchors = _anchors(a, b, (low, high), (other_low, other_high))
        if anchors:
            for i, j in [*anchors, (high, other_high)]:
                ranges.append((low, i, other_low, j))
                low, other_low = i + 1, j + 1
            found += anchors
            continue
        parts = isqrt((high - low) * (other_high - other_low) // _CELLS) + 1
        if parts == 1:
            pairs = _longest_common(a[low:high], b[other_low:other_high])
            found += ((low + i, other_low + j) for i, j in pairs)
            continue
        cuts = [low + (high - low) * part // parts for part in range(parts + 1)]
        size = other_high - other_low
        other_cuts = [other_low + size * part // parts for part in range(parts + 1)]
        ranges += (
            (*one, *other) for one, other in zip(pairwise(cuts), pairwise(other_cuts), strict=True)
        )
    return sorted(found)


def _anchors(a: list[str], b: list[str], one: Span, other: Span) -> list[tuple[int, int]]:
    """Segments that both ranges have exactly once, as many as are in the same order."""
    places = {}
    counts, other_counts = Counter(a[slice(*one)]), Counter(b[slice(*other)])
    for j in range(*other):
        if other_counts[b[j]] == 1 == counts.get(b[j]):
            places[b[j]] = j
    pairs = [(i, places[a[i]]) for i in range(*one) if a[i] in places and a[i]]
    # The longest ascending subsequence, by patience sorting.
    tops: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(last[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [j]
        last[pile : pile + 1] = [number]
    chain = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _longest_common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence, ascending in both.

    The table of its lengths has a row for each of A and a column for each of B. The lengths of a
    row grow by 0 or 1 from column to column, so a row is one integer with a bit for each column:
    1 where the length stays. See H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004.
    """
    if len(b) > len(a):
        return [(i, j) for j, i in _longest_common(b, a)]
    same = 0
    while same < len(b) and a[same] == b[same]:
        same += 1
    places: dict[Hashable, int] = {}
    for j in range(same, len(b)):
        places[b[j]] = places.get(b[j], 0) | 1 << (j - same)
    every = (1 << (len(b) - same)) - 1
    row = every
    rows = [row]
    for i in range(same, len(a)):
        if (equal := row & places.get(a[i], 0)) != 0:
            row = (row + equal | row - equal) & every
        rows.append(row)
    found = []
    i, j = len(a), len(b)
    while i > same and j > same:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            found.append((i, j))
        elif rows[i - same] >> (j - same - 1) & 1:
            j -= 1
        else:
            i -= 1
    return [(place, place) for place in range(same)] + found[::-1]


def _paired(a: list[str], b: list[str], one: Span, other: Span) -> list[tuple[int, int]]:
    """Pairs of segments, ascending in both, that together share most words."""
    bits: dict[tuple[str, int], int] = {}
    left = [_words_as_bits(text, bits) for text in a[slice(*one)]]
    right = [_words_as_bits(text, bits) for text in b[slice(*other)]]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike: dict[tuple[int, int], float] = {}
    for i, (words, size) in enumerate(left):
        for j, (its, its_size) in enumerate(right):
            value = max(best[i][j + 1], best[i + 1][j])
            score = 2 * (words & its).bit_count() / (size + its_size or 1)
            if score >= _MIN_ALIKE and best[i][j] + score > value:
                value = best[i][j] + score
                alike[i, j] = score
            best[i + 1][j + 1] = value
    pairs = []
    i, j = len(left), len(right)
    while i and j:
        score = alike.get((i - 1, j - 1), 0.0)
        if score and best[i][j] == best[i - 1][j - 1] + score:
            i, j = i - 1, j - 1
            pairs.append((one[0] + i, other[0] + j))
        elif best[i][j] == best[i - 1][j]:
            i -= 1
        else:
            j -= 1
    return pairs[::-1]


def _words_as_bits(text: str, bits: dict[tuple[str, int], int]) -> tuple[int, int]:
    """The words and signs of a text, a bit for each, and their number.

    The second of two equal words has its own bit, so that two texts share a word as often as both
    have it.
    """
    counts: Counter[str] = Counter()
    found = 0
    for word in _SIGNS.findall(text):
        found |= 1 << bits.setdefault((word, counts[word]), len(bits))
        counts[word] += 1
    return found, counts.total()


def word_differences(a: str, b: str) -> tuple[list[Piece], list[Piece]]:
    """Two lines in pieces: the words of each that are not in the other at the same place.

    >>> word_differences("a red fox", "a blue fox")[1]
    ... # doctest: +NORMALIZE_WHITESPACE
    [Piece(text='a ', kind='same'), Piece(text='blue', kind='changed'),
     Piece(text=' fox', kind='same')]
    """
    one, other = _TOKEN.findall(a), _TOKEN.findall(b)
    same, its_same = [False] * len(one), [False] * len(other)
    if max(len(one), len(other)) <= _MAX_TOKENS:
        for i, j, size in _meaningful(one, other, _longest_common(one, other)):
            same[i : i + size] = its_same[j : j + size] = [True] * size
    return _joined(one, same), _joined(other, its_same)


def _meaningful(
    a: list[str], b: list[str], pairs: list[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Runs of equal words that matter: not a comma between two changed words.

    A run that is shorter than the changes before and after it is left out, as in the semantic
    cleanup of diff-match-patch (N. Fraser), unless one text only has more than the other. A run is
    its places in the two lines and its number of words.
    """
    runs: list[tuple[int, int, int]] = []
    for i, j in pairs:
        if runs and (i, j) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = *runs[-1][:2], runs[-1][2] + 1
        else:
            runs.append((i, j, 1))
    done = other_done = 0
    for (i, j, size), (following, its, _) in pairwise([*runs, (len(a), len(b), 0)]):
        before = min(_signs(a[done:i]), _signs(b[other_done:j]))
        behind = min(_signs(a[i + size : following]), _signs(b[j + size : its]))
        inside = (i, j) != (done, other_done) and (i + size, j + size) != (following, its)
        if not inside or _signs(a[i : i + size]) > min(before, behind):
            yield i, j, size
            done, other_done = i + size, j + size


def _signs(tokens: Sequence[str]) -> int:
    """The number of non-blank characters of some tokens."""
    return sum(len(token) for token in tokens if not token.isspace())


def _joined(tokens: list[str], same: list[bool]) -> list[Piece]:
    """A line in pieces, by its words and whether each is the same in the other line."""
    return [
        Piece("".join(token for token, _ in some), "same" if kind else "changed")
        for kind, some in groupby(zip(tokens, same, strict=True), itemgetter(1))
    ]


def _with_moved(text: str, start: int, moved: Sequence[Span]) -> Iterator[Piece]:
    """A segment without a pair, in pieces: text that is elsewhere in the other one, or nowhere."""
    done, end = start, start + len(text)
    for low, high in moved[bisect_right(moved, start, key=lambda span: span[1]) :]:
        if low >= end:
            break
        low, high = max(low, done), min(high, end)
        blank = not text[low - start : high - start].strip()
        if not blank and (high - low >= _MIN_MOVED or (low, high) == (start, end)):
            if low > done:
                yield Piece(text[done - start : low - start], "changed")
            yield Piece(text[low - start : high - start], "moved")
            done = high
    if done < end:
        yield Piece(text[done - start :], "changed")
