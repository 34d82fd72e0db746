"""How two texts differ: one list of rows, which terminals, pages and reports show.

Lines are aligned first, by the longest common subsequence of equal ones. Between equal lines, the
words of all lines are aligned in the same way, so that a paragraph whose lines are broken elsewhere
is still equal word by word; lines that share enough words stand side by side. Long lines are cut at
the ends of sentences, so that prose is aligned too.

The time is bounded for all texts: an alignment takes one operation on a large integer per line or
word, and long ranges are aligned part by part.
"""

import re
import unicodedata
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise, zip_longest
from math import isqrt
from operator import itemgetter
from typing import Literal

from lshdb.model import Change, Passage
from lshdb.shingling import families, tokens
from lshdb.shingling.boundaries import visible_word
from lshdb.shingling.positions import cut, page_at
from lshdb.shingling.shingling import Element

_LONG = 300
"""A line of more characters is cut at the ends of its sentences."""
_LONGEST = 600
"""A sentence of more characters is cut between words."""
_CUT = 32
"""Such a sentence is cut after one word in this many, by their hashes, so that both texts are cut
at the same words, whatever comes before."""
_CELLS = 100_000_000
"""Pairs of lines or words aligned at once, a bit each; longer ranges are cut into parts."""
_MIN_ALIKE = 0.3
"""Minimum share of equal words to show two lines as one changed line."""
_MIN_MOVED = 12
"""Minimum characters of text that is shown as moved."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_CHUNK = re.compile(r"\S+\s*")


@cache
def _word_pattern() -> re.Pattern[str]:
    """A word or sign, with the blanks behind it, and before it at the start of a line."""
    return re.compile(rf"(\s*)({visible_word()})(\s*)")


_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of Chinese and Japanese, each of which is a word between blanks."""
_BETWEEN_BLANKS = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")
_PUNCTUATION = ".,;:!?\"'()[]{}<>«»“”„‘’…。，、；：！？「」『』（）"
"""What around a word does not belong to it; a sign before a number does."""

Span = tuple[int, int]
PieceKind = Literal["same", "changed", "moved", "rare", "run", "file"]
RowKind = Literal["same", "changed", "only"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line: the `same` in both texts, `changed`, or `moved` to elsewhere.

    Beside what changed, words that both texts have and that are rare can be `rare`, and long equal
    runs a `run` (lshdb.review.beside); before a line there can be the name of its `file`.
    """

    text: str
    kind: PieceKind


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text, or a part of a long one.

    Attributes:
        start: where it is in the text.
        number: of the line that begins here, from 1; 0 if none does.
        pieces: its text, without its newline.
        page: of the page that begins here, in the text of a PDF; else None.
    """

    start: int
    number: int
    pieces: list[Piece]
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Lines side by side, None for no line; `only` one text has it."""

    kind: RowKind
    a: Line | None
    b: Line | None


def differences(
    a: str,
    b: str,
    *,
    passages: Sequence[Passage] = (),
    blanks: bool = True,
    programs: bool = False,
) -> list[Row]:
    r"""Align two texts: all of their lines, in order.

    Args:
        a: the text on the left.
        b: the text on the right.
        passages: what both have, in any order; shown as moved in lines that only one has.
        blanks: whether different blanks count as a difference; at the ends of lines they never do.
        programs: whether tokens that say nothing of names are aligned instead of words.

    >>> rows = differences("one\ntwo\nthree", "one\nthree\nfour")
    >>> [(row.a and row.a.number, row.b and row.b.number, row.kind) for row in rows]
    [(1, 1, 'same'), (2, None, 'only'), (3, 2, 'same'), (None, 3, 'only')]
    """
    left = _Side(a, [(p.a_start, p.a_end) for p in passages], blanks, programs)
    right = _Side(b, [(p.b_start, p.b_end) for p in passages], blanks, programs)
    rows: list[Row] = []
    i = j = 0
    equal = _common(left.contents(), right.contents())
    for matched in [*equal, (len(left.lines), len(right.lines))]:
        pairs = _words_aligned(left, right, range(i, matched[0]), range(j, matched[1]))
        for index, b_index in [*pairs, matched]:
            rows += (_alone(left.line(line, alone=True), None) for line in range(i, index))
            rows += (_alone(None, right.line(line, alone=True)) for line in range(j, b_index))
            i, j = index + 1, b_index + 1
            if index == len(left.lines):
                break
            if (index, b_index) == matched:
                left.same.append(left.lines[index][:2])
                right.same.append(right.lines[b_index][:2])
            kind: RowKind = "same" if (index, b_index) == matched else "changed"
            rows.append(Row(kind, left.line(index), right.line(b_index)))
    return rows


def _alone(a: Line | None, b: Line | None) -> Row:
    """A row of one line, `changed` if some of its words are the same as in a line nearby."""
    pieces = (piece for line in (a, b) if line for piece in line.pieces)
    shares_words = any(piece.kind == "same" and piece.text.strip() for piece in pieces)
    return Row("changed" if shares_words else "only", a, b)


@dataclass(eq=False)
class _Side:
    """One of two texts.

    Attributes:
        text: the text.
        moved: what stands elsewhere in the other.
        blanks: whether different blanks count.
        programs: whether programs are compared, by their tokens.
        lines: the start, end and number of each.
        same: what the other has too, by offset, ascending.
    """

    text: str
    moved: Iterable[Span]
    blanks: bool
    programs: bool

    def __post_init__(self) -> None:
        self.lines = list(segments(self.text))
        self.same: list[Span] = []
        self._moved = joined_spans(self.moved)
        self._blanks = self.blanks and not self.programs
        self._compared = tokens.masked(families.blanked(self.text)) if self.programs else self.text

    def contents(self) -> list[str]:
        """The lines, as they are compared."""
        compared = (self._compared[start:end] for start, end, _ in self.lines)
        if self.programs:
            return [tokens.unmasked(each) for each in compared]
        return [each.rstrip() if self._blanks else " ".join(each.split()) for each in compared]

    def words(self, line_indices: range) -> list[tuple[int, re.Match[str]]]:
        """The words and signs of some lines, each with the index of its line."""
        return [
            (index, word)
            for index in line_indices
            for word in _word_pattern().finditer(self._compared, *self.lines[index][:2])
        ]

    def value(self, word: str) -> str:
        """What is compared of a word."""
        return tokens.unmasked(word) if self.programs else word

    def line(self, index: int, *, alone: bool = False) -> Line:
        """A line in pieces, when what is the same in the other text is known.

        If it is alone and nothing is the same, passages are shown as moved.
        """
        start, end, number = self.lines[index]
        page = page_at(self.text, start) if self.text[start - 1 : start] in ("", "\f") else None
        same = list(within(self.same, start, end))
        if same or not alone:
            return Line(start, number, list(self._cut(start, end, same, "same")), page)
        moved = [
            (low, high)
            for low, high in within(self._moved, start, end)
            if self.text[low:high].strip()
            and (high - low >= _MIN_MOVED or (low, high) == (start, end))
        ]
        return Line(start, number, list(self._cut(start, end, moved, "moved")), page)

    def _cut(self, start: int, end: int, spans: Iterable[Span], kind: PieceKind) -> Iterator[Piece]:
        """A line in pieces: spans, and what is changed between them."""
        done = start
        for low, high in [*spans, (end, end)]:
            if text := self.text[done:low]:
                if kind == "same":
                    # Blanks behind changed words say nothing.
                    text = text.rstrip() or text
                    low = done + len(text)
                blank = text.isspace() and not self._blanks
                yield Piece(text, "same" if blank else "changed")
            if low < high:
                yield Piece(self.text[low:high], kind)
            done = high


def within(spans: Sequence[Span], start: int, end: int) -> Iterator[Span]:
    """The parts of ascending spans that are between two offsets."""
    for index in range(bisect_right(spans, start, key=itemgetter(1)), len(spans)):
        low, high = spans[index]
        if low >= end:
            return
        yield max(low, start), min(high, end)


def joined_spans(spans: Iterable[Span]) -> list[Span]:
    """Spans as stretches that do not touch, ascending."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def differs(row: Row) -> bool:
    """Whether the two lines of a row are not the same."""
    return row.kind != "same"


def shown_rows(
    rows: Sequence[Row], around: int | None, chosen: Callable[[Row], bool] = differs
) -> list[int]:
    """The indices of the rows that differ, or of others that are chosen, with those around them.

    Args:
        rows: of two texts.
        around: how many beside each; None for all rows.
        chosen: which rows.
    """
    if around is None:
        return list(range(len(rows)))
    near: set[int] = set()
    for index, row in enumerate(rows):
        if chosen(row):
            near.update(range(max(index - around, 0), min(index + around + 1, len(rows))))
    return sorted(near)


def sets_beside(
    a: Sequence[Element], b: Sequence[Element]
) -> tuple[list[Element], list[Element], list[Element]]:
    """The elements that only one of two sets has, only the other, and both."""
    in_a, in_b = set(a), set(b)
    return (
        [each for each in a if each not in in_b],
        [each for each in b if each not in in_a],
        [each for each in a if each in in_b],
    )


def agreement(a: str, b: str, *, programs: bool) -> str:
    """What two texts agree in, if they have the same words (or tokens) in order; else nothing."""
    if programs:
        masked = [tokens.masked(families.blanked(text)) for text in (a, b)]
        same = tokens.unmasked(masked[0]) == tokens.unmasked(masked[1])
        return "The same tokens; names, comments or blanks differ" if same else ""
    first, second = (cut([text], "word").folded for text in (a, b))
    same = first == second
    return "The same words; case, punctuation or blanks differ" if same else ""


def changed_words(given: str, stored: str) -> list[Change]:
    """Where two texts differ, word by word, in order; by a longest common subsequence.

    A word is what stands between blanks, without punctuation around it, so that numbers and
    versions stay whole; each Chinese or Japanese character is one. Case does not count.

    >>> changed_words("Ann lives in Munich.", "Ann Lee lives in Berlin!")
    [Change(given='', stored='Lee'), Change(given='Munich', stored='Berlin')]
    """
    given_words, stored_words = _bare_words(given), _bare_words(stored)
    values = [
        [unicodedata.normalize("NFKC", text[start:end]).casefold() for start, end in words]
        for text, words in ((given, given_words), (stored, stored_words))
    ]
    changes: list[Change] = []
    i = j = 0
    for given_end, stored_end in [*_common(*values), (len(given_words), len(stored_words))]:
        if i < given_end or j < stored_end:
            only_given = _joined(given, given_words[i:given_end])
            changes.append(Change(only_given, _joined(stored, stored_words[j:stored_end])))
        i, j = given_end + 1, stored_end + 1
    return changes


def _bare_words(text: str) -> list[Span]:
    """The words of a text, without punctuation around them."""
    words: list[Span] = []
    for match in _BETWEEN_BLANKS.finditer(text):
        word = match[0]
        start = match.start() + len(word) - len(word.lstrip(_PUNCTUATION))
        end = match.end() - len(word) + len(word.rstrip(_PUNCTUATION))
        if start < end:
            words.append((start, end))
    return words


def _joined(text: str, words: Sequence[Span]) -> str:
    """Some words of a text, one after another, without the punctuation between them."""
    joined, last = "", 0
    for start, end in words:
        is_apart = joined and any(map(str.isspace, text[last:start]))
        joined += f" {text[start:end]}" if is_apart else text[start:end]
        last = end
    return joined


def segments(text: str) -> Iterator[tuple[int, int, int]]:
    """Cut a text into lines, and long lines into sentences.

    Yields:
        The start and end of each, without its newline or a form feed before it, and the number of
        the line that begins there, from 1; 0 if none does.
    """
    start = 0
    for number, line in enumerate(text.replace("\n\f", "\n ").splitlines(keepends=True), 1):
        end = start + len(line)
        start += text[start] == "\f" and len(line) > 1
        body = text[start:end].rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        first = number
        for length in _lengths(body):
            yield start, start + length, first
            start, first = start + length, 0
        start = end


def _lengths(line: str) -> Iterator[int]:
    """The lengths of the parts of a line."""
    if len(line) <= _LONG:
        yield len(line)
        return
    ends = [match.end() for match in _SENTENCE.finditer(line)] + [len(line)]
    done = 0
    for end in ends:
        if end - done > _LONGEST:
            begun = done
            for word in _CHUNK.finditer(line, done, end):
                cut = zlib.crc32(word[0].strip().encode("utf-8", "surrogatepass")) % _CUT == 0
                if cut or word.end() - begun > _LONGEST:
                    yield word.end() - begun
                    begun = word.end()
            done = begun
        if end > done:
            yield end - done
        done = end


def _common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence, ascending in both; of long ranges, part by part."""
    start, ends = 0, (len(a), len(b))
    while start < min(ends) and a[start] == b[start]:
        start += 1
    behind = 0
    while start < min(ends) - behind and a[-1 - behind] == b[-1 - behind]:
        behind += 1
    sizes = [end - behind - start for end in ends]
    parts = isqrt(sizes[0] * sizes[1] // _CELLS) + 1
    cuts = [[start + size * part // parts for part in range(parts + 1)] for size in sizes]
    pairs = [(index, index) for index in range(start)]
    for (low, high), (b_low, b_high) in zip(*map(pairwise, cuts), strict=True):
        part_pairs = _longest_common(a[low:high], b[b_low:b_high])
        pairs += ((low + i, b_low + j) for i, j in part_pairs)
    return pairs + [(ends[0] - back, ends[1] - back) for back in range(behind, 0, -1)]


def _longest_common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence, ascending in both.

    The table of its lengths has a row for each of A and a column for each of B. The lengths of a
    row grow by 0 or 1 from column to column, so a row is one integer with a bit for each column:
    1 where the length stays. See H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004.
    """
    columns: dict[str, int] = {}
    for j, item in enumerate(b):
        columns[item] = columns.get(item, 0) | 1 << j
    every = (1 << len(b)) - 1
    rows = [row := every]
    for item in a:
        if (equal := row & columns.get(item, 0)) != 0:
            row = (row + equal | row - equal) & every
        rows.append(row)
    pairs = []
    i, j = len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif rows[i] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return pairs[::-1]


def _words_aligned(
    left: _Side, right: _Side, a_lines: range, b_lines: range
) -> list[tuple[int, int]]:
    """Align the words of some lines, and note what is the same.

    Returns:
        The lines to show side by side, ascending in both.
    """
    if not a_lines or not b_lines:
        return []
    a_words, b_words = left.words(a_lines), right.words(b_lines)
    a_texts = [left.value(a_word[2]) for _, a_word in a_words]
    b_texts = [right.value(a_word[2]) for _, a_word in b_words]
    a_sizes, b_sizes = _sizes(a_words), _sizes(b_words)
    a_same: list[Span] = []
    b_same: list[Span] = []
    shared: Counter[tuple[int, int]] = Counter()
    equal = _meaningful(a_texts, b_texts, _common(a_texts, b_texts))
    for (i, j), following in zip_longest(equal, equal[1:]):
        (a_line, a_word), (b_line, b_word) = a_words[i], b_words[j]
        shared[a_line, b_line] += len(a_word[2])
        ends = a_word.end() == left.lines[a_line][1] or b_word.end() == right.lines[b_line][1]
        loose = ends or following != (i + 1, j + 1)
        a_same.append(_span(a_word, b_word, loose))
        b_same.append(_span(b_word, a_word, loose))
    left.same += joined_spans(a_same)
    right.same += joined_spans(b_same)
    if len(a_lines) == len(b_lines) == 1:
        return [(a_lines[0], b_lines[0])]
    # What is equal ascends in both texts, so pairs of different lines never cross.
    pairs: list[tuple[int, int]] = []
    taken: tuple[set[int], set[int]] = set(), set()
    for (a_line, b_line), size in shared.most_common():
        alike = 2 * size >= _MIN_ALIKE * (a_sizes[a_line] + b_sizes[b_line])
        if alike and a_line not in taken[0] and b_line not in taken[1]:
            pairs.append((a_line, b_line))
            taken[0].add(a_line)
            taken[1].add(b_line)
    return sorted(pairs)


def _sizes(words: Iterable[tuple[int, re.Match[str]]]) -> Counter[int]:
    """The characters of the words of each line."""
    sizes: Counter[int] = Counter()
    for line, word in words:
        sizes[line] += len(word[2])
    return sizes


def _span(word: re.Match[str], other: re.Match[str], loose: bool) -> Span:
    """What is equal of a word and the blanks around it; `loose` if those behind it do not count."""
    start = word.start(0 if word[1] == other[1] else 2)
    return start, word.end(0 if loose or word[3] == other[3] else 2)


def _meaningful(a: list[str], b: list[str], pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Equal words in runs that matter: not one short word between two long changes.

    A run that is shorter than the changes before and after it is left out, as in the semantic
    cleanup of diff-match-patch (N. Fraser), unless one text only has more than the other.
    """
    runs: list[tuple[int, int, int]] = []
    for i, j in pairs:
        if runs and (i, j) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = *runs[-1][:2], runs[-1][2] + 1
        else:
            runs.append((i, j, 1))
    a_size_to, b_size_to = ([0, *accumulate(map(len, words))] for words in (a, b))
    kept: list[tuple[int, int]] = []
    a_done = b_done = 0
    for (i, j, size), (a_following, b_following, _) in pairwise([*runs, (len(a), len(b), 0)]):
        a_end, b_end = i + size, j + size
        before = min(a_size_to[i] - a_size_to[a_done], b_size_to[j] - b_size_to[b_done])
        behind = min(
            a_size_to[a_following] - a_size_to[a_end], b_size_to[b_following] - b_size_to[b_end]
        )
        inside = (i, j) != (a_done, b_done) and (a_end, b_end) != (a_following, b_following)
        if not inside or a_size_to[a_end] - a_size_to[i] > min(before, behind):
            kept += zip(range(i, a_end), range(j, b_end), strict=True)
            a_done, b_done = a_end, b_end
    return kept
