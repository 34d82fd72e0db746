"""Pages to one text that is as comparable as a text file.

What is left out of paper (PDF) must not make two texts the same: a line goes only where one of the
pages around has it, too, or where it counts the pages.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

_EDGE = 3
"""Minimum number of pages that have a header or footer at their upper or lower edge; and the number
of lines of an edge."""
_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.)?\s*(\d{1,6})(?:\s*(?:of|von|/)\s*\d{1,6})?\W*", re.IGNORECASE
)
"""A line that may be the number of a page."""
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
_APART = 2
"""Pages from one header or footer to the next, at most: sums that agree by chance are further."""
_PageLine = tuple[int, int]
"""The indices of a page, and of a line of it."""
_Form = tuple[str, int | None, str]
"""A line before and after a number, and what the number is beyond the index of its page; or a whole
line, and None."""
_DIGITS = re.compile(r"\d{1,9}")


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

    whole = [_CUT_WORD.sub(joined, text) if re.search(_CUT, text) else text for text in whole]
    return ("\n\f" if any(whole) else "\n").join(whole).strip("\n")


def _lines(page: str, *, of_paper: bool) -> list[str]:
    """The lines of a page that are not blank."""
    if _SURROGATES.search(page):  # one character for both halves; RTF writes them apart
        page = page.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if of_paper:
        page = re.sub("\u00ad\r?\n", "\ufffe", page)
    lines = page.translate(_CHARACTERS).splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


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
    alike = defaultdict[_Form, list[_PageLine]](list)
    for page, lines in enumerate(texts):
        for index in sorted({*range(len(lines))[:_EDGE], *range(len(lines))[-_EDGE:]}):
            for form in _forms(lines[index], page):
                alike[form].append((page, index))
    dropped, counting = set[_PageLine](), set[int | None]()
    for form, indices in alike.items():
        for run in _runs(indices):
            if len({page for page, _ in run}) >= _EDGE:
                counting.add(form[1])
                dropped.update(run[1:])
    for offset in counting - {None}:
        dropped.update(alike["", offset, ""])
    for page, index in sorted(dropped, reverse=True):
        del texts[page][index]


def _forms(line: str, page: int) -> Iterator[_Form]:
    """What a header or footer has in common with those of other pages: itself, and its numbers.

    Each number may count the pages, from an offset on. Sums do not, and have no form in common. A
    line that is only the number of a page has no text.
    """
    yield line, None, ""
    for number in _DIGITS.finditer(line):
        yield line[: number.start()], int(number[0]) - page, line[number.end() :]
    if match := _NUMBER.fullmatch(line):
        yield "", int(match[1]) - page, ""


def _runs(indices: list[_PageLine]) -> list[list[_PageLine]]:
    """The lines of pages, cut into those of each page, or of each second page, of a range."""
    runs, step = [indices[:1]], 0
    for (page, _), following in pairwise(indices):
        gap = following[0] - page
        if gap > _APART or (gap and step and gap != step):
            runs.append([])
            step = gap = 0
        step = step or gap
        runs[-1].append(following)
    return runs
