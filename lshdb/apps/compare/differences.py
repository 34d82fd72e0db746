"""How two texts differ: one list of rows, which terminals, pages and reports show.

Words are aligned (apps.compare.alignment); blanks and line breaks make no difference. Rows are cut
where a line begins in both texts; between, where lines break elsewhere or are long, at the ends of
the sentences that both have. So a PDF and a web page of one text stand beside each other, too.
"""

import itertools
import re
import unicodedata
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import itemgetter
from typing import Literal

import numpy as np

from lshdb.apps.compare import alignment, renaming
from lshdb.apps.compare.model import Change, Rename
from lshdb.apps.passages import line_ends
from lshdb.apps.passages.positions import cut
from lshdb.apps.programs import tokens
from lshdb.text import folding
from lshdb.text.arrays import IntArray, int_array
from lshdb.text.shingling import Element

SHORTEST = 8
"""Minimum words of a text that is shown as moved."""
_LONG = 300
"""Lines side by side of which one has more characters are cut at the ends of sentences."""
_LONGEST = 600
"""A sentence of more characters is cut between words."""
_CUT = 32
"""Such a sentence is cut after one word in this many, by their hashes, so that both texts are cut
at the same words, whatever comes before."""

_SENTENCE = re.compile(r"(?<=[.!?…])(?<!\b[A-Z]\.)[\"'”’»)\]]*\s+|(?<=[。！？])[」』”’]*\s*")
_LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_ALIKE = str.maketrans(
    {"\u00ad": None} | dict.fromkeys("‘’‚‛", "'") | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("\u2010\u2011", "-")
)  # fmt: skip
"""Signs that programs for documents put in place of those that were typed."""
_LINE, _SENTENCE_BEGINS = 2, 1
_SAME, _CHANGED, _RENAMED, _MOVED = range(4)
"""What is known of a word; of one that moved, _MOVED and the number of its run."""


_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of Chinese and Japanese, each of which is a word between blanks."""
_BETWEEN_BLANKS = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")
_PUNCTUATION = ".,;:!?\"'()[]{}<>«»“”„‘’…。，、；：！？「」『』（）"
"""What around a word does not belong to it; a sign before a number does."""

Span = tuple[int, int]
PieceKind = Literal["same", "changed", "moved", "renamed", "rare", "run", "file"]
RowKind = Literal["same", "changed", "only"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line: the `same` in both texts, `changed`, `moved`, or a name that is `renamed`.

    Beside what changed, words that both texts have and that are rare can be `rare`, and copied
    passages and long equal runs a `run` (apps.review.beside); before a line there can be the name
    of its `file`.

    Attributes:
        text: the part.
        kind: what it is.
        place: of text that moved, where the other text has it; else None.
        number: of a copied passage, from 1; 0 for other pieces.
    """

    text: str
    kind: PieceKind
    place: int | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text, a part of a long one, or a sentence on several lines.

    Attributes:
        start: where it is in the text.
        number: of the first line that begins here, from 1; 0 if none does.
        pieces: its text, without the line end behind it.
        page: of the page that begins here, in the text of a PDF; else None.
        flows: whether it has line ends, which prose shows as spaces.
    """

    start: int
    number: int
    pieces: list[Piece]
    page: int | None = None
    flows: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Lines side by side, None for no line; `only` one text has what differs in it."""

    kind: RowKind
    a: Line | None
    b: Line | None


_UNFOLDED_FOLLOWING = folding.FOLLOWING + "\u0e33\u0eb3"
"""With a mark and a vowel each that folding takes apart."""


@cache
def _word_pattern() -> re.Pattern[str]:
    """A regular expression for what is compared before readers: a word, or a sign between words.

    An ideograph is a word, and in scripts without blanks a consonant with its vowels. Marks, and
    signs without width, belong to the character before.
    """
    marks, letters = _ranges(folding.COMBINES | folding.DROPPED), _ranges(folding.SYLLABIC)
    consonant = f"[{letters}](?:[{marks}]|(?<=[{folding.STACKING}])[{letters}])*+"
    syllable = f"(?:[{folding.LEADING}][{marks}]*+)?+{consonant}[{_UNFOLDED_FOLLOWING}]*+"
    plain = rf"[^\W{_HAN}{letters}]"
    word = f"{plain}++(?:[{marks}]++{plain}*+)*+"
    return re.compile(rf"(?:{word}|[{_HAN}][{marks}]*+|{syllable}|[^\w\s][{marks}]*+)")


def _ranges(kind: int) -> str:
    """The characters of a class, for a set of a regular expression."""
    chosen = np.concatenate([[False], (folding.character_classes() & kind) != 0, [False]])
    edges = np.flatnonzero(chosen[1:] != chosen[:-1]).reshape(-1, 2)
    return "".join(f"{chr(first)}-{chr(behind - 1)}" for first, behind in edges.tolist())


def differences(a: str, b: str, *, programs: bool = False, shortest: int = SHORTEST) -> list[Row]:
    r"""Align two texts: all of their lines, in order.

    Args:
        a: the text on the left.
        b: the text on the right.
        programs: whether both are programs, whose names may be renamed.
        shortest: minimum number of words that are shown as moved.

    >>> rows = differences("one\ntwo\nthree", "one\nthree\nfour")
    >>> [(row.a and row.a.number, row.b and row.b.number, row.kind) for row in rows]
    [(1, 1, 'same'), (2, None, 'only'), (3, 2, 'same'), (None, 3, 'only')]
    """
    left, right = (_Side(text, programs=programs) for text in (a, b))
    numbers, b_numbers = _numbered(left.values, right.values)
    runs = alignment.aligned(numbers, b_numbers)
    runs = alignment.settled(runs, numbers, b_numbers, left.all_begins, right.all_begins)
    for a_start, b_start, size in runs:
        left.tags[a_start : a_start + size] = right.tags[b_start : b_start + size] = _SAME
    for number, moved in enumerate(alignment.moved_runs(runs, numbers, b_numbers, shortest)):
        left.tags[moved.a : moved.a + moved.size] = _MOVED + number
        right.tags[moved.b : moved.b + moved.size] = _MOVED + number
        left.places[_MOVED + number] = int(right.starts[moved.b])
        right.places[_MOVED + number] = int(left.starts[moved.a])
    if programs:
        code, b_code = (
            renaming.Code.of(side.text, side.values, side.starts.tolist()) for side in (left, right)
        )
        for i, j in renaming.renamed(code, b_code, runs):
            left.tags[i] = right.tags[j] = _RENAMED
    return list(_rows(left, right, _cuts(left, right, runs)))


def _numbered(*texts: Sequence[str]) -> tuple[IntArray, ...]:
    """Numbers of words, the same for equal ones."""
    numbers: dict[str, int] = {}
    return tuple(
        int_array(numbers.setdefault(word, len(numbers)) for word in words) for words in texts
    )


class _Side:
    """One of two texts: its lines, and its words or tokens.

    Attributes:
        text: the text.
        lines: the start and end of each, without line ends.
        pages: of the lines that begin a page the number of the page.
        values: what is compared of each word.
        starts, ends: int64[n], the offsets of the words.
        tags: int64[n], what is known of each.
        places: of runs that moved, by their tags, the offset in the other text.
    """

    starts: IntArray
    ends: IntArray
    values: list[str]

    def __init__(self, text: str, *, programs: bool) -> None:
        self.text = text
        self.lines, self.pages = _lines(text)
        self.places: dict[int, int] = {}
        matches = list(_word_pattern().finditer(text if programs else line_ends.joined(text)))
        self.starts = int_array(match.start() for match in matches)
        self.ends = int_array(match.end() for match in matches)
        self.values = [_compared(match[0]) for match in matches]

    @cached_property
    def tags(self) -> IntArray:
        return np.full(len(self.values), _CHANGED, dtype=np.int64)

    @cached_property
    def line_of(self) -> IntArray:
        """int64[n + 1]: the index of the line of each word, and behind them the number of lines."""
        return np.append(self._lines_at(self.starts), len(self.lines))

    @cached_property
    def line_before(self) -> IntArray:
        """int64[n + 1]: the index of the line where the word before each ends; -1 for the first."""
        return np.concatenate([[-1], self._lines_at(self.ends - 1)])

    def _lines_at(self, offsets: IntArray) -> IntArray:
        line_starts = int_array(start for start, _ in self.lines)
        return np.searchsorted(line_starts, offsets, side="right") - 1

    @cached_property
    def begins(self) -> IntArray:
        """int64[n + 1]: before each word and at the end _LINE where a line begins, else 0."""
        return np.where(self.line_of > self.line_before, _LINE, 0)

    @cached_property
    def all_begins(self) -> IntArray:
        """`begins`, with _SENTENCE_BEGINS where a sentence begins, or a part of a long one."""
        begins = self.begins.copy()
        ends = int_array(match.end() for match in _SENTENCE.finditer(self.text))
        words = np.searchsorted(self.starts, ends)
        begins[words] = np.maximum(begins[words], _SENTENCE_BEGINS)
        (places,) = begins.nonzero()
        offsets = np.append(self.starts, len(self.text))
        lengths = np.diff(offsets[places])
        for index in (lengths > _LONGEST).nonzero()[0].tolist():
            begun = int(offsets[places[index]])
            for word in range(int(places[index]) + 1, int(places[index + 1])):
                spelled = self.text[self.starts[word - 1] : self.ends[word - 1]]
                is_cut = zlib.crc32(spelled.encode("utf-8", "surrogatepass")) % _CUT == 0
                if is_cut or self.ends[word] - begun > _LONGEST:
                    begins[word] = _SENTENCE_BEGINS
                    begun = int(self.starts[word])
        return begins

    def offset(self, word: int) -> int:
        """Where a row begins whose first word this is: at the start of its line, or there."""
        if word < len(self.starts) and self.begins[word] < _LINE:
            return int(self.starts[word])
        line = int(self.line_of[word])
        return self.lines[line][0] if line < len(self.lines) else len(self.text)

    def line(self, start: int, end: int, words: range) -> Line:
        """A part of the text with its words as pieces."""
        first = bisect_left(self.lines, start, key=itemgetter(0))
        begins = first < len(self.lines) and self.lines[first][0] < max(end, start + 1)
        page = None
        if begins and self.pages:
            line_ends = range(first, bisect_left(self.lines, end, key=itemgetter(0)) or first + 1)
            page = next((self.pages[index] for index in line_ends if index in self.pages), None)
        text = self.text[start:end].rstrip(_LINE_ENDS)
        pieces = list(self._pieces(start, text, words))
        flows = len(text.splitlines()) > 1
        return Line(start, first + 1 if begins else 0, pieces, page, flows)

    def _pieces(self, start: int, text: str, words: range) -> Iterator[Piece]:
        """The pieces of a part of the text: words with the same tag in a row are one."""
        tags = self.tags[words.start : words.stop]
        done = 0
        edges = [0, *((tags[1:] != tags[:-1]).nonzero()[0] + 1).tolist(), len(tags)]
        for low, high in itertools.pairwise(edges):
            if low == high or (tag := int(tags[low])) == _SAME:
                continue
            begun = int(self.starts[words[low]]) - start
            ended = int(self.ends[words[high - 1]]) - start
            if done < begun:
                yield Piece(text[done:begun], "same")
            kind: PieceKind = (
                "changed" if tag == _CHANGED else "renamed" if tag == _RENAMED else "moved"
            )
            yield Piece(text[begun:ended], kind, self.places.get(tag))
            done = ended
        if done < len(text):
            yield Piece(text[done:], "same")


def _compared(word: str) -> str:
    """What is compared of a word: not ligatures, soft hyphens and the shape of quotation marks."""
    word = word.strip()
    return word if word.isascii() else unicodedata.normalize("NFKC", word).translate(_ALIKE)


def _lines(text: str) -> tuple[list[Span], dict[int, int]]:
    """The lines of a text, without line ends and form feeds before them, and those of pages."""
    lines: list[Span] = []
    pages = {0: 1} if "\f" in text else {}
    start = previous = 0
    page = 1
    for number, line in enumerate(text.replace("\n\f", "\n ").splitlines(keepends=True)):
        end = start + len(line)
        start += text[start] == "\f" and len(line) > 1
        page += text.count("\f", previous, start)
        if text[start - 1 : start] == "\f":
            pages[number] = page
        lines.append((start, start + len(text[start:end].rstrip(_LINE_ENDS))))
        previous, start = start, end
    return lines, pages


def _cuts(left: _Side, right: _Side, runs: Sequence[alignment.Run]) -> list[tuple[int, int]]:
    """Before which words of both texts rows begin, ascending; the last are behind all words."""
    every = [*runs, alignment.Run(len(left.values), len(right.values), 0)]
    hard = _common_cuts(left.begins, right.begins, every)
    soft: list[tuple[int, int]] = []
    cuts: list[tuple[int, int]] = []
    for first, behind in itertools.pairwise([*hard, (len(left.values), len(right.values))]):
        cuts.append(first)
        if not _is_long(left, first[0], behind[0]) and not _is_long(right, first[1], behind[1]):
            continue
        soft = soft or _common_cuts(left.all_begins, right.all_begins, every)
        low, high = bisect_right(soft, first), bisect_left(soft, behind)
        cuts += (each for each in soft[low:high] if first[1] <= each[1] <= behind[1])
    return [*cuts, (len(left.values), len(right.values))]


def _is_long(side: _Side, first: int, behind: int) -> bool:
    """Whether words are on several lines, or on a long one."""
    if first == behind:
        return False
    several = side.line_of[first] != side.line_before[behind]
    return bool(several or side.ends[behind - 1] - side.starts[first] > _LONG)


def _common_cuts(
    a_begins: IntArray, b_begins: IntArray, runs: list[alignment.Run]
) -> list[tuple[int, int]]:
    """Where something begins in both texts, ascending in both: within equal words, and changes.

    In a change all that begins in A comes before what begins in B, but what is last in each: the
    words behind it, which both texts have, go on from there.
    """
    a_any, b_any = a_begins > 0, b_begins > 0
    cuts = [(0, 0)]
    end = b_end = 0
    for a, b, size in runs:
        first = (a_any[end : a + 1].nonzero()[0] + end).tolist()
        second = (b_any[b_end : b + 1].nonzero()[0] + b_end).tolist()
        if first and second:
            cuts += ((each, second[0]) for each in first)
            cuts += ((first[-1], each) for each in second[1:])
        both = (a_any[a + 1 : a + size] & b_any[b + 1 : b + size]).nonzero()[0] + 1
        cuts += zip((both + a).tolist(), (both + b).tolist(), strict=True)
        end, b_end = a + size, b + size
    return sorted(set(cuts) - {(end, b_end)})


def _rows(left: _Side, right: _Side, cuts: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """The rows between cuts, and those of lines without words."""
    before = (-1, -1)
    for (a, b), (a_end, b_end) in itertools.pairwise([*cuts, cuts[-1]]):
        is_hard = left.begins[a] == right.begins[b] == _LINE
        if is_hard:
            yield from _wordless(
                left, _loose(left, a) if a != before[0] else range(0),
                right, _loose(right, b) if b != before[1] else range(0),
            )  # fmt: skip
        before = a, b
        if (a, b) == (a_end, b_end):
            return
        ends_hard = left.begins[a_end] == right.begins[b_end] == _LINE
        first = _part(left, a, a_end, ends_hard)
        second = _part(right, b, b_end, ends_hard)
        tags = left.tags[a:a_end], right.tags[b:b_end]
        changed = any(((each != _SAME) & (each != _RENAMED)).any() for each in tags)
        kind: RowKind = "same"
        if changed:
            kind = "changed" if first and second else "only"
        yield Row(kind, first, second)


def _part(side: _Side, first: int, behind: int, ends_hard: bool) -> Line | None:
    """The line of some words; None for none. It ends with its last line, or where a row begins."""
    if first == behind:
        return None
    end = side.lines[int(side.line_before[behind])][1] if ends_hard else side.offset(behind)
    return side.line(side.offset(first), end, range(first, behind))


def _loose(side: _Side, word: int) -> range:
    """The lines without words before a word."""
    return range(int(side.line_before[word]) + 1, int(side.line_of[word]))


def _wordless(left: _Side, lines: range, right: _Side, b_lines: range) -> Iterator[Row]:
    """Rows of lines without words: blank ones."""
    for i, j in itertools.zip_longest(lines, b_lines):
        a = None if i is None else left.line(*left.lines[i], range(0))
        b = None if j is None else right.line(*right.lines[j], range(0))
        yield Row("same", a, b)


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
        from lshdb.apps.programs.families import blanked

        a_tokens, b_tokens = (tokens.cut_tokens([blanked(text)]).text for text in (a, b))
        same = a_tokens == b_tokens
        return "The same tokens; names, comments or blanks differ" if same else ""
    if a == b:
        return "The same text"
    for kind, differ in (("word", "words; case, punctuation or"), ("char", "signs;")):
        first, second = (cut([text], kind).folded for text in (a, b))
        if any(first + second):  # texts of signs have no words
            return f"The same {differ} blanks differ" if first == second else ""
    return ""


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
    numbers, stored_numbers = _numbered(*values)
    runs = alignment.aligned(numbers, stored_numbers)
    for given_end, stored_end, size in [
        *runs,
        alignment.Run(len(given_words), len(stored_words), 0),
    ]:
        if i < given_end or j < stored_end:
            only_given = _joined(given, given_words[i:given_end])
            changes.append(Change(only_given, _joined(stored, stored_words[j:stored_end])))
        i, j = given_end + size, stored_end + size
    return changes


def renames(rows: Iterable[Row]) -> list[Rename]:
    """The renamed names of the rows of two programs, the most frequent first."""
    words: tuple[list[str], list[str]] = ([], [])
    for row in rows:
        for line, names in zip((row.a, row.b), words, strict=True):
            for piece in line.pieces if line else ():
                names += piece.text.split() if piece.kind == "renamed" else ()
    counts = Counter(zip(*words, strict=True))
    return [Rename(a, b, times) for (a, b), times in counts.most_common()]


def renames_of(a: str, b: str) -> list[Rename]:
    """The names that differ in step between two programs, the most frequent first.

    >>> loop = "for (item = 0; item < all; item++) { sum += item; }"
    >>> renames_of(loop, loop.replace("item", "i"))
    [Rename(a='item', b='i', times=4)]
    """
    return renames(differences(a, b, programs=True))


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
