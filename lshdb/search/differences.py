"""How two texts differ: their lines side by side, and in lines that changed the words.

Lines are aligned by those that both have just once (patience diff, by Bram Cohen), between these
by the longest common blocks (difflib). Long lines are cut at ends of sentences, so that prose is
aligned too. Lines without an equal are paired with the one that shares most of its words.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final, Literal, TypeAlias

_LONG: Final = 300
"""Characters from which on a line is cut at the ends of its sentences."""
_LONGEST: Final = 600
"""Characters from which on a sentence is cut between words."""
_CUT: Final = 32
"""Such a sentence is cut behind one word of so many, by their hashes: so both texts are cut at the
same words, whatever stands before."""
_CELLS: Final = 250_000
"""Pairs of lines that difflib, or pairing by words, looks at in one go: a tenth of a second."""
_MIN_ALIKE: Final = 0.3
"""The share of words from which on two lines are shown as one that changed."""
_MIN_MOVED: Final = 12
"""Characters of what is shown as moved."""
_MAX_TOKENS: Final = 2_000
"""Words of a line that are compared one by one."""

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
        line: the number of the line that begins here, from 1; 0 where none does.
    """

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """Segments that stand side by side: their places in the two texts, None where there is none."""

    a: int | None
    b: int | None
    same: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a segment: the `same` in both, `changed`, or `moved`.

    What moved is of a segment without its like, and stands elsewhere in the other text.
    """

    text: str
    kind: Literal["same", "changed", "moved"]


@dataclass(frozen=True, slots=True)
class Differences:
    """Two texts side by side.

    Attributes:
        a_text, b_text: the texts.
        a, b: their segments.
        rows: all of them, in order.
    """

    a_text: str
    b_text: str
    a: list[Segment]
    b: list[Segment]
    rows: list[Row]

    def pieces(
        self, row: Row, a_moved: Sequence[Span] = (), b_moved: Sequence[Span] = ()
    ) -> tuple[list[Piece], list[Piece]]:
        """The two sides of a row, in pieces.

        Args:
            row: one of the rows.
            a_moved: passages that both texts have, wherever they stand: start and end of each in
                A, ascending and apart.
            b_moved: the same in B.
        """
        one = None if row.a is None else self.a[row.a]
        other = None if row.b is None else self.b[row.b]
        left = "" if one is None else self.a_text[one.start : one.end]
        right = "" if other is None else self.b_text[other.start : other.end]
        if row.same:
            return [Piece(left, "same")], [Piece(right, "same")]
        if one is None or other is None:
            a = [] if one is None else list(_with_moved(left, one.start, a_moved))
            b = [] if other is None else list(_with_moved(right, other.start, b_moved))
            return a, b
        return word_differences(left, right)


def differences(a: str, b: str) -> Differences:
    r"""Align two texts.

    >>> found = differences("one\ntwo\nthree", "one\nthree\nfour")
    >>> [(row.a, row.b, row.same) for row in found.rows]
    [(0, 0, True), (1, None, False), (2, 1, True), (None, 2, False)]
    """
    one, other = list(segments(a)), list(segments(b))
    left = [a[each.start : each.end].rstrip() for each in one]
    right = [b[each.start : each.end].rstrip() for each in other]
    rows: list[Row] = []
    i = j = 0
    for matched_i, matched_j in [*_aligned(left, right), (len(one), len(other))]:
        rows += _gap(left, right, (i, matched_i), (j, matched_j))
        if matched_i < len(one):
            rows.append(Row(matched_i, matched_j, same=True))
        i, j = matched_i + 1, matched_j + 1
    return Differences(a, b, one, other, rows)


def same_words(a: str, b: str) -> bool:
    """Whether two texts have the same words in the same order, but for case and punctuation."""
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
    """How long the segments of a line are."""
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
        elif (high - low) * (other_high - other_low) <= _CELLS:
            matcher = SequenceMatcher(None, a[low:high], b[other_low:other_high], autojunk=False)
            for block in matcher.get_matching_blocks():
                found += (
                    (low + block.a + place, other_low + block.b + place)
                    for place in range(block.size)
                )
    return sorted(found)


def _anchors(a: list[str], b: list[str], one: Span, other: Span) -> list[tuple[int, int]]:
    """Segments that both ranges have just once, as many as are in the same order."""
    places = {}
    counts, other_counts = Counter(a[slice(*one)]), Counter(b[slice(*other)])
    for j in range(*other):
        if other_counts[b[j]] == 1 == counts.get(b[j]):
            places[b[j]] = j
    pairs = [(i, places[a[i]]) for i in range(*one) if a[i] in places and a[i]]
    # The longest ascending subsequence, by piles: each is under the last one of the pile before.
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


def _gap(a: list[str], b: list[str], one: Span, other: Span) -> Iterator[Row]:
    """Rows of segments without an equal: in pairs where they share words."""
    (i, high), (j, other_high) = one, other
    if high - i == 1 == other_high - j:
        yield Row(i, j, same=False)
        return
    pairs: list[tuple[int, int]] = []
    if 0 < (high - i) * (other_high - j) <= _CELLS // 10:
        pairs = _paired(a, b, one, other)
    for paired_i, paired_j in [*pairs, (high, other_high)]:
        yield from (Row(place, None, same=False) for place in range(i, paired_i))
        yield from (Row(None, place, same=False) for place in range(j, paired_j))
        if paired_i < high:
            yield Row(paired_i, paired_j, same=False)
        i, j = paired_i + 1, paired_j + 1


def _paired(a: list[str], b: list[str], one: Span, other: Span) -> list[tuple[int, int]]:
    """Pairs of segments, ascending in both, that share most words in all."""
    left = [Counter(_SIGNS.findall(text)) for text in a[slice(*one)]]
    right = [Counter(_SIGNS.findall(text)) for text in b[slice(*other)]]
    sizes, other_sizes = [x.total() for x in left], [x.total() for x in right]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike: dict[tuple[int, int], float] = {}
    for i, words in enumerate(left):
        for j, its in enumerate(right):
            both = sizes[i] + other_sizes[j]
            shared = 2 * sum(min(n, its[word]) for word, n in words.items() if word in its)
            score = shared / both if both else 0.0
            value = max(best[i][j + 1], best[i + 1][j])
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


def word_differences(a: str, b: str) -> tuple[list[Piece], list[Piece]]:
    """Two lines in pieces: which words of each are not in the other at their place.

    >>> word_differences("a red fox", "a blue fox")[1]
    ... # doctest: +NORMALIZE_WHITESPACE
    [Piece(text='a ', kind='same'), Piece(text='blue', kind='changed'),
     Piece(text=' fox', kind='same')]
    """
    one, other = _TOKEN.findall(a), _TOKEN.findall(b)
    if not a or not b or max(len(one), len(other)) > _MAX_TOKENS:
        return _whole(a), _whole(b)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    kinds, other_kinds = ["changed"] * len(one), ["changed"] * len(other)
    for i, j, size in matcher.get_matching_blocks():
        # A blank between two words that changed says nothing of its own.
        inside = size == 1 and one[i].isspace() and 0 < i < len(one) - 1 and 0 < j < len(other) - 1
        if not inside:
            kinds[i : i + size] = other_kinds[j : j + size] = ["same"] * size
    return _joined(one, kinds), _joined(other, other_kinds)


def _whole(text: str) -> list[Piece]:
    return [Piece(text, "changed")] if text else []


def _joined(tokens: list[str], kinds: list[str]) -> list[Piece]:
    found = []
    for changed, some in groupby(zip(tokens, kinds, strict=True), lambda each: each[1]):
        text = "".join(token for token, _ in some)
        found.append(Piece(text, "same" if changed == "same" else "changed"))
    return found


def _with_moved(text: str, start: int, moved: Sequence[Span]) -> Iterator[Piece]:
    """A segment without its like, in pieces: what stands elsewhere in the other text, and not."""
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
