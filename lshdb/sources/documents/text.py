"""Pages to one text that is as comparable as a text file.

What is left out of paper (PDF) must never make two documents equal: a line goes only where the
text has it elsewhere, or where it counts the pages.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

_EDGE = 3
"""Minimum number of pages that have a header or footer at their upper or lower edge; and the number
of lines of an edge."""
_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.)?\s*(\d{1,6}|[ivxlc]{1,12})(?:\s*(?:of|von|/)\s*\d{1,6})?\W*", re.I
)
"""A line that may be the number of a page."""
_LONGEST_NUMBER = 40
_CUT = "(?:\ufffe|[-\u2010]\n)"
"""The end of a line within a word; U+FFFE is PDFium's sign for that."""
_CUT_WORD = re.compile(rf"\b\w+(?:{_CUT}[^\W\d_]\w*)+")
_REST = re.compile(rf"([^\W\d_]\w*(?:{_CUT}[^\W\d_]\w*)*)([^\w\s\-\u2010\ufffe]*)")
"""The rest of a word, and the punctuation after it."""
_COMPOUND = re.compile(r"\b\w+-\w+")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CHARACTERS = {
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\0"), None),
    **dict(zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)),
}
"""Soft hyphens, characters without a width, and ligatures; with the replacement of each."""
_DIGITS = re.compile(r"\d{1,9}")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_PageLine = tuple[int, int]
"""The indices of a page, and of a line of it."""


def normalized(pages: list[str], *, of_paper: bool) -> str:
    """One text of pages, as comparable as a text file.

    Soft hyphens, zero-width characters and ligatures go, spaces of all kinds are one, and there are
    no blank lines. On paper (PDF) words cut at the end of a line or page are joined, unless the
    text has them with a hyphen elsewhere; numbers that count at least three pages go, and lines at
    the same edge of at least three pages stay once: headers and footers. A form feed begins the
    next page.
    """
    texts = [_lines(page, of_paper=of_paper) for page in pages]
    if not of_paper:
        return "\n".join("\n".join(lines) for lines in texts).strip("\n")
    _drop_headers(texts)
    whole = ["\n".join(lines) for lines in texts]
    compounds = set(_COMPOUND.findall("\n".join(whole)))
    _join_pages(whole, compounds)

    def joined(match: re.Match[str]) -> str:
        return _joined(re.split(_CUT, match[0]), compounds)

    whole = [_CUT_WORD.sub(joined, text) for text in whole]
    return ("\n\f" if any(whole) else "\n").join(whole).strip("\n")


def _lines(page: str, *, of_paper: bool) -> list[str]:
    """The lines of a page that are not blank."""
    text = _joined_pairs(page)
    if of_paper:
        text = re.sub("\u00ad\r?\n", "\ufffe", text)
    lines = text.translate(_CHARACTERS).splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


def _joined_pairs(text: str) -> str:
    """The text with one character for both halves of a surrogate pair; RTF writes them apart."""
    if _SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _joined(pieces: list[str], compounds: set[str]) -> str:
    """A word of the pieces that ends of lines cut it into."""
    text = pieces[0]
    for before, after in pairwise(pieces):
        text += f"-{after}" if f"{before}-{after}" in compounds else after
    return text


def _join_pages(texts: list[str], compounds: set[str]) -> None:
    """Move the rest of a word that the end of a page cuts to that page."""
    for index in range(len(texts) - 1):
        text = texts[index]
        if not text.endswith(("-", "\u2010", "\ufffe")):
            continue
        piece = re.split(r"\W", text[text.rfind("\n") + 1 : -1])[-1]
        match = _REST.match(texts[index + 1])
        if piece and match:
            word = _joined([piece, *re.split(_CUT, match[1])], compounds) + match[2]
            texts[index] = text[: -1 - len(piece)] + word
            texts[index + 1] = texts[index + 1][match.end() :].lstrip()


def _drop_headers(texts: list[list[str]]) -> None:
    """Leave out the numbers of pages, and all but the first of headers and footers."""
    edges = [
        (page, index)
        for page, lines in enumerate(texts)
        for index in sorted({*range(len(lines))[:_EDGE], *range(len(lines))[-_EDGE:]})
    ]
    dropped = {*_page_numbers(texts, edges), *_repeated(texts, edges)}
    for page, index in sorted(dropped, reverse=True):
        del texts[page][index]


def _page_numbers(texts: list[list[str]], edges: list[_PageLine]) -> Iterator[_PageLine]:
    """The lines that are numbers of pages: those of at least three pages that count them."""
    by_offset = defaultdict(list)
    for page, index in edges:
        line = texts[page][index]
        if len(line) <= _LONGEST_NUMBER and (match := _NUMBER.fullmatch(line)):
            by_offset[_value(match[1]) - page].append((page, index))
    for same_offset in by_offset.values():
        if len({page for page, _ in same_offset}) >= _EDGE:
            yield from same_offset


def _value(number: str) -> int:
    """The value of a number in digits of any script, or in Roman ones."""
    if number.isdecimal():
        return int(number)
    values = [_ROMAN[letter] for letter in number.lower()]
    following = [*values[1:], 0]
    return sum(-a if a < b else a for a, b in zip(values, following, strict=True))


def _repeated(texts: list[list[str]], edges: list[_PageLine]) -> Iterator[_PageLine]:
    """The lines that repeat a header or footer of an earlier page, of at least three in all.

    Its numbers are the same on each page, or count the pages. A line with other differences, such
    as sums, is no repetition.
    """
    shapes = defaultdict(list)
    for page, index in edges:
        line = texts[page][index]
        shapes[_DIGITS.sub("0", line)].append((page, index, _DIGITS.findall(line)))
    for same_shape in shapes.values():
        if len({page for page, _, _ in same_shape}) < _EDGE:
            continue
        counting = [
            Counter(int(numbers[column]) - page for page, _, numbers in same_shape)
            .most_common(1)[0][1] >= max(_EDGE, len(same_shape) // 2 + 1)
            for column in range(len(same_shape[0][2]))
        ]  # fmt: skip
        equal = defaultdict(list)
        for page, index, numbers in same_shape:
            counted_numbers = tuple(
                int(number) - page if counts_pages else number
                for number, counts_pages in zip(numbers, counting, strict=True)
            )
            equal[counted_numbers].append((page, index))
        for places in equal.values():
            yield from _between(places, len(texts))


def _between(repetitions: list[_PageLine], pages: int) -> Iterator[_PageLine]:
    """All but the first of the lines on each page, or each second page, of a range.

    The last one stays, too, if pages without the line follow: so the range can be seen.
    """
    run: list[_PageLine] = []
    step = 0
    for page_line in repetitions:
        gap = page_line[0] - run[-1][0] if run else 0
        if gap > 2 or (gap and step and gap != step):
            yield from _repeated_in(run, step, pages)
            run, step, gap = [], 0, 0
        step = step or gap
        run.append(page_line)
    yield from _repeated_in(run, step, pages)


def _repeated_in(run: list[_PageLine], step: int, pages: int) -> list[_PageLine]:
    """The same, of one range in which pages with the line are `step` apart."""
    if len({page for page, _ in run}) < _EDGE:
        return []
    return run[1:] if run[-1][0] + step >= pages else run[1:-1]
