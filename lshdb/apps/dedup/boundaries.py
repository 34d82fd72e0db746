"""Where a text may be cut so that people can read the rest.

Shingles of characters begin and end anywhere. A cut is never within a word with blanks or
punctuation around it, such as `don't`, `3.14` or `well-known`; nor before a mark or a sign without
width, within a joined emoji or a flag, between a vowel and its consonant, or within a line end.
Ideographs, and letters of scripts without blanks, may be cut apart: where their words end cannot be
seen.
"""

from collections.abc import Sequence

import numpy as np

from lshdb.text import arrays, folding

_WITHIN_WORDS = [*map(ord, "'.-\u00b7\u2010\u2011\u2019")]
_REGIONAL = "\U0001f1e6-\U0001f1ff"
"""Two of them are a flag."""
_SKIN_TONES = "\U0001f3fb-\U0001f3ff"
_JOINER = "\u200d"
_NEAR = 8
"""Characters that say whether two belong together."""


def readable_cuts(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Make spans of a text shorter, so that they begin and end where it may be cut.

    Spans that overlap or touch are cut out together, so only the ends of all of them count.

    Args:
        text: n characters.
        spans: the beginning and end of each, ascending.

    Returns:
        As many spans; an empty one where nothing is left.

    >>> readable_cuts("one fine day", [(2, 9)])
    [(3, 8)]
    >>> readable_cuts("don't go", [(0, 4)])
    [(0, 0)]
    """
    cuts = np.flatnonzero(may_be_cut(text))
    stretches: list[tuple[int, int]] = []
    for begin, end in spans:
        if stretches and begin <= stretches[-1][1]:
            begin, before = stretches.pop()
            end = max(end, before)
        stretches.append((begin, end))
    found, index = [], 0
    for begin, end in spans:
        while end > stretches[index][1]:
            index += 1
        low, high = _readable(text, cuts, *stretches[index])
        begin = max(begin, low)
        found.append((begin, max(begin, min(end, high))))
    return found


def _readable(text: str, cuts: arrays.IntArray, begin: int, end: int) -> tuple[int, int]:
    """The largest part of a stretch behind which no word or sign goes on that is before it."""
    low = int(cuts[np.searchsorted(cuts, begin)])
    last = int(np.searchsorted(cuts, end, side="right")) - 1
    start = max(low - _NEAR, 0)
    while low < cuts[last]:
        high = int(cuts[last])
        if may_be_cut(text[start:low] + text[high : high + _NEAR])[low - start]:
            return low, high
        last -= 1
    return low, low


def may_be_cut(text: str) -> arrays.Mask:
    """Whether a text of n characters may be cut before each, and at its end: bool[n+1]."""
    codes = folding.code_points(text)
    allowed = np.ones(len(codes) + 1, dtype=np.bool_)
    if len(codes) < 2:
        return allowed
    classes = folding.character_classes().take(codes)
    silent, mark = (classes & folding.DROPPED) != 0, (classes & folding.COMBINES) != 0
    plain = ((classes & (folding.WORD | folding.SYLLABIC)) == folding.WORD) & ~mark
    # Of each character but the first: the one before it, without marks and signs without width.
    base = arrays.last_true(~mark & ~silent)[:-1]
    visible = arrays.last_true(~silent)[:-1]
    before, behind = codes[:-1], codes[1:]
    between = allowed[1:-1]  # a view
    between &= ~(mark | silent)[1:]
    between &= ~(plain[base] & plain[1:])
    between &= ~folding.is_any(behind, _SKIN_TONES) & (before != ord(_JOINER))
    between &= ~folding.is_any(codes[base], folding.LEADING) & ~folding.is_any(
        codes[visible], folding.STACKING
    )
    between &= ~folding.is_any(behind, folding.UNFOLDED_FOLLOWING)
    between &= (before != ord("\r")) | (behind != ord("\n"))
    regional = folding.is_any(codes, _REGIONAL)
    # Each is the second of two, or not, by how many are in a row up to it.
    in_row = np.arange(1, len(codes) + 1) - arrays.last_true(~np.append(False, regional))[1:]
    between &= ~regional[1:] | (in_row[1:] % 2 == 1)
    joins = np.isin(codes[1:-1], _WITHIN_WORDS) & plain[base[:-1]] & plain[2:]
    between[:-1] &= ~joins
    between[1:] &= ~joins
    return allowed
