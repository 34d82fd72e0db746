"""Where the shingles of a text are in it: offsets of each, although folding changes lengths.

Folding (lshdb.folding) works on stretches of a text one by one: a character that never combines
with what stands before it, and the marks and Hangul vowels behind it that may. A stretch that it
leaves as it is stays character for character; else each folded character counts as made of the
whole stretch, which is mostly one character.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.folding import IDEOGRAPH, WORD, character_classes, code_points, fold
from lshdb.hashing import Offsets
from lshdb.model import Shingling

_JAMO: Final = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
"""Hangul vowels and final consonants: they combine, and are no marks."""
_CODE_POINTS: Final = 0x110000


@dataclass(frozen=True, slots=True)
class Positions:
    """Where n pieces of a text are: piece i is in text[starts[i]:ends[i]], int64[n] each."""

    starts: Offsets
    ends: Offsets

    def __len__(self) -> int:
        return len(self.starts)


def shingle_positions(text: str, shingling: Shingling) -> Positions:
    """Where the shingles of a text are, in the order of lshdb.shingling.shingle.

    Args:
        text: any text.
        shingling: `char:k` or `word:w`.

    Returns:
        Offsets in code points; both never decrease. A blank in a `char` shingle covers the whole
        run of white space that it stands for.
    """
    folded, origin = _folded(text)
    units = _characters(folded, origin) if shingling.kind == "char" else _words(folded, origin)
    count, size = len(units), shingling.size
    if count < size:
        return Positions(units.starts[:1], units.ends[-1:])
    return Positions(units.starts[: count - size + 1], units.ends[size - 1 :])


def _folded(text: str) -> tuple[npt.NDArray[np.uint32], Positions]:
    """The code points of the folded text, uint32[m], and where each comes from."""
    folded = code_points(fold(text))
    if text.isascii():
        return folded, Positions(np.arange(len(text)), np.arange(1, len(text) + 1))
    characters = code_points(text)
    seen = np.zeros(_CODE_POINTS, dtype=np.bool_)
    seen[characters] = True
    lengths = np.zeros(_CODE_POINTS, dtype=np.int64)
    opens = np.zeros(_CODE_POINTS, dtype=np.bool_)
    for code_point in np.flatnonzero(seen).tolist():
        lengths[code_point] = len(fold(chr(code_point)))
        opens[code_point] = never_combines(chr(code_point))
    begins = opens[characters]
    begins[:1] = True
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(text))
    several = np.flatnonzero(ends - starts > 1)
    known: dict[str, int] = {}
    longer: list[tuple[int, int]] = []
    for start, end in zip(starts[several].tolist(), ends[several].tolist(), strict=True):
        stretch = text[start:end]
        if stretch not in known:
            becomes = fold(stretch)
            known[stretch] = 0 if becomes == stretch else len(becomes)
        if known[stretch]:
            longer.append((start, known[stretch]))
        else:
            begins[start:end] = True  # each of its characters stays what it is
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(text))
    counts = lengths[characters[starts]]
    changed = np.array(longer, dtype=np.int64).reshape(-1, 2)
    counts[np.searchsorted(starts, changed[:, 0])] = changed[:, 1]
    return folded, Positions(np.repeat(starts, counts), np.repeat(ends, counts))


def never_combines(character: str) -> bool:
    """Whether a text may be cut before the character, and both parts folded by themselves.

    More careful than it need be: it says no to all marks, whether they compose or not.
    """
    first = unicodedata.normalize("NFKD", character)[0]
    if unicodedata.combining(first) or unicodedata.category(first).startswith("M"):
        return False
    return not any(ord(first) in vowels for vowels in _JAMO)


def _characters(folded: npt.NDArray[np.uint32], origin: Positions) -> Positions:
    """The characters of a folded text, each white-space run as one, none at the ends."""
    codes = np.unique(folded)
    blanks = codes[[chr(code).isspace() for code in codes.tolist()]]
    solid = np.flatnonzero(~np.isin(folded, blanks))
    gap = np.flatnonzero(np.diff(solid) > 1)
    places = np.arange(len(solid))
    places[1:] += np.cumsum(np.diff(solid) > 1)
    starts = np.empty(len(solid) + len(gap), dtype=np.int64)
    ends = np.empty_like(starts)
    starts[places], ends[places] = origin.starts[solid], origin.ends[solid]
    between = places[gap] + 1
    starts[between] = origin.starts[solid[gap] + 1]
    ends[between] = origin.ends[solid[gap + 1] - 1]
    return Positions(starts, ends)


def _words(folded: npt.NDArray[np.uint32], origin: Positions) -> Positions:
    """The words of a folded text."""
    classes = np.zeros(len(folded) + 2, dtype=np.uint8)
    classes[1:-1] = character_classes().take(folded)
    word = (classes & WORD) != 0
    ideograph = (classes & IDEOGRAPH) != 0
    begins, finishes = ideograph.copy(), ideograph
    begins[1:] |= word[1:] & ~word[:-1]
    finishes[:-1] |= word[:-1] & ~word[1:]
    first, last = np.flatnonzero(begins) - 1, np.flatnonzero(finishes) - 1
    return Positions(origin.starts[first], origin.ends[last])
