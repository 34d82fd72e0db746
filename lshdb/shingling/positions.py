"""The places of shingles in a text, and shingles as readable text.

Folding (lshdb.shingling.folding) changes lengths. It works on stretches of a text one by one: a
character that never combines with the one before it, and the marks and Hangul vowels after it that
may combine. A stretch that does not change stays character for character; otherwise each folded
character counts as made of the whole stretch, which is usually one character.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.model import Content, Element, Shingling
from lshdb.shingling.content import cleaned
from lshdb.shingling.folding import code_points, fold, word_bounds
from lshdb.shingling.hashing import Offsets

_JAMO: Final = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
"""Hangul vowels and final consonants: they combine, but are not marks."""
_CODE_POINTS: Final = 0x110000


@dataclass(frozen=True, slots=True)
class Positions:
    """Where n pieces of a text are: piece i is in text[starts[i]:ends[i]], int64[n] each."""

    starts: Offsets
    ends: Offsets

    def __len__(self) -> int:
        return len(self.starts)


def shingle_positions(text: str, shingling: Shingling) -> Positions:
    """Where the shingles of a text are, in the order of lshdb.shingling.shingles.shingle.

    Args:
        text: any text.
        shingling: `char:k` or `word:w`.

    Returns:
        Offsets in code points; both never decrease. A blank in a `char` shingle covers the whole
        run of white space that it replaces.
    """
    folded, origin = _folded(text)
    units = _characters(folded, origin) if shingling.kind == "char" else _words(folded, origin)
    count, size = len(units), shingling.size
    if count < size:
        return Positions(units.starts[:1], units.ends[-1:])
    return Positions(units.starts[: count - size + 1], units.ends[size - 1 :])


def line_starts(text: str) -> Offsets:
    """Where the lines of a text begin, int64[lines]: at 0 and after each line feed."""
    return np.append(0, np.flatnonzero(code_points(text) == ord("\n")) + 1)


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
    """Whether a text may be cut before the character, and both parts folded separately.

    This is careful: it is false for all marks, whether they compose or not.
    """
    first = unicodedata.normalize("NFKD", character)[0]
    if unicodedata.combining(first) or unicodedata.category(first).startswith("M"):
        return False
    return not any(ord(first) in vowels for vowels in _JAMO)


def _characters(folded: npt.NDArray[np.uint32], origin: Positions) -> Positions:
    """The characters of a folded text, with each white-space run as one, and none at the ends."""
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
    starts, ends = word_bounds(folded)
    return Positions(origin.starts[starts], origin.ends[ends - 1])


def shingle_texts(content: Content, shingling: Shingling) -> list[Element]:
    """The distinct shingles of a document, in the order of first occurrence.

    Args:
        content: a text; for `set` shingling a collection of strings and integers.
        shingling: the kind and length of the shingles.

    Returns:
        Runs of characters of the folded text, in which each white-space run is one blank; runs of
        words with a blank between two; or the elements of the set, integers first.

    Raises:
        ContentError: a set for text shingles, or a text for set shingles.

    >>> shingle_texts("To be, or not to be", Shingling("word", 2))
    ['to be', 'be or', 'or not', 'not to']
    >>> shingle_texts("Banana", Shingling("char", 3))
    ['ban', 'ana', 'nan']
    """
    clean = cleaned(content, shingling)
    if not isinstance(clean, str):
        return list(clean)
    folded = fold(clean)
    size = shingling.size
    if shingling.kind == "char":
        text = " ".join(folded.split())
        windows = [text[i : i + size] for i in range(max(len(text) - size, 0) + bool(text))]
    else:
        starts, ends = word_bounds(code_points(folded))
        bounds = zip(starts.tolist(), ends.tolist(), strict=True)
        words = [folded[start:end] for start, end in bounds]
        windows = [
            " ".join(words[i : i + size]) for i in range(max(len(words) - size, 0) + bool(words))
        ]
    return list(dict.fromkeys(windows))
