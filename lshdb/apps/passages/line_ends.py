"""Words that the ends of lines break in two, as in scans, mail and old e-texts, made whole.

Passages and reworded copies are found by whole words, so a text with `inter-` at the end of a line
and one with `international` would share few of them. Whether a break is within a word is decided
from the text alone, so that the same text has the same words wherever it is.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from lshdb.apps.passages import positions
from lshdb.text import folding, shingles
from lshdb.text.shingling import Shingling

_HYPHENS = "-\u00ad\u2010"
_BREAK = rf"[{_HYPHENS}]\r?\n[ \t]*"
"""A hyphen, the end of the line and the indentation of the next one."""
_LINE_END = rf"(?<![{_HYPHENS}])(?<![{_HYPHENS}]\r)\n"
"""Where a large text is cut: never in a word that a line end breaks."""
_DROPPED = "\u00ad"
"""A soft hyphen: folding drops it, so the letters around it are one word."""


def whole_words(texts: Iterable[str], shingling: Shingling) -> list[str]:
    """Texts in which passages are looked for: `joined`, except programs."""
    return [*texts] if shingling.of_programs else [*map(joined, texts)]


def joined(text: str) -> str:
    r"""The text with its broken words whole, each other character at the same offset as before.

    A break goes if the text has the whole word without a break, or does not have both halves as
    words elsewhere: `inter-` and `national` become one word, `well-` and `known` stay two.

    >>> joined("an inter-\nnational treaty").replace("\u00ad", "")
    'an international treaty'
    >>> joined("well-\nknown: known as well") == "well-\nknown: known as well"
    True
    """
    hyphens = "-" if text.isascii() else _HYPHENS
    if "\n" not in text or not any(
        f"{hyphen}{end}" in text for hyphen in hyphens for end in ("\n", "\r\n")
    ):
        return text
    counts = Counter[bytes]()
    breaks: list[tuple[int, int, bytes, bytes]] = []
    start = 0
    for piece in folding.cut_before(text, _LINE_END, shingles.BLOCK["word"]):
        units = positions.cut([piece], "word")
        words = units.folded.split(b"\0")
        counts.update(words)
        for begin, end, index in _breaks(piece, units):
            breaks.append((start + begin, start + end, words[index - 1], words[index]))
        start += len(piece)
    counts.subtract(half for _, _, *halves in breaks for half in halves)
    pieces, last = list[str](), 0
    for begin, end, first, second in breaks:
        if counts[first + second] > 0 or min(counts[first], counts[second]) <= 0:
            pieces += text[last:begin], _DROPPED * (end - begin)
            last = end
    return "".join([*pieces, text[last:]])


def _breaks(text: str, units: positions.Units) -> Iterator[tuple[int, int, int]]:
    """The bounds of each break between two words, and the index of the second of these.

    None is before a digit, as in `1914-` and `1918`, a mark, a sign that folding drops, or one that
    begins a word by a mark after it alone.
    """
    spans = np.array([match.span() for match in re.finditer(_BREAK, text)], dtype=np.int64)
    begins, ends = spans.reshape(-1, 2).T
    after = np.searchsorted(units.starts, ends)
    is_between = (after > 0) & (np.append(units.starts, -1)[after] == ends)
    # A soft hyphen belongs to the word.
    is_between &= np.append(0, units.stops)[after] >= begins
    for begin, end, index in np.stack([begins, ends, after])[:, is_between].T.tolist():
        follows = text[end]
        classes = folding.character_classes()[folding.code_points(folding.fold(follows))]
        is_word = (classes & (folding.WORD | folding.IDEOGRAPH)).any()
        if is_word and not follows.isdecimal() and folding.never_combines(follows):
            yield begin, end, index
