"""The places of shingles in a text, and shingles as readable text.

Folding (lshdb.shingling.folding) changes lengths. It works on stretches of a text one by one: a
character that never combines with the one before it, and the marks and Hangul vowels after it that
may combine. A stretch that does not change stays character for character; otherwise each folded
character counts as made of the whole stretch, which is usually one character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.model import Content, Element, Shingling
from lshdb.shingling.arrays import offsets_of, parts_of, places_of
from lshdb.shingling.content import cleaned
from lshdb.shingling.folding import code_points, fold, word_bounds
from lshdb.shingling.hashing import Offsets
from lshdb.shingling.shingles import ascii_words

_JAMO: Final = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
"""Hangul vowels and final consonants: they combine, but are not marks."""
_CODE_POINTS: Final = 0x110000
_SEPARATOR: Final = "\0"
"""It never combines, does not fold and is no part of a word."""
_AT_ONCE: Final = 1 << 20
"""Characters of texts whose words are located together."""


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
    units = _units(text, shingling.kind)
    count, size = len(units), shingling.size
    if count < size:
        return Positions(units.starts[:1], units.ends[-1:])
    return Positions(units.starts[: count - size + 1], units.ends[size - 1 :])


def unit_positions(texts: Sequence[str], kind: str) -> tuple[Positions, Offsets]:
    """Where the units of n texts are, each place in its own text.

    Args:
        texts: any texts.
        kind: `word` or `char`: the units are words, or characters as in `char:1` shingles.

    Returns:
        The places of u units, those of a text one after the other, and offsets int64[n+1]: where
        those of each text begin.
    """
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    ascii = np.fromiter(map(str.isascii, texts), dtype=np.bool_, count=len(texts))
    together = _AT_ONCE if kind == "word" else 0
    found: list[tuple[Offsets, Positions]] = []
    sizes = np.zeros(len(texts), dtype=np.int64)
    for some in (np.flatnonzero(ascii), np.flatnonzero(~ascii)):
        for part in parts_of(lengths[some] + 1, together):
            group = some[part]
            units = _units(_SEPARATOR.join([texts[place] for place in group.tolist()]), kind)
            begins = offsets_of(lengths[group] + 1)
            sizes[group] = np.diff(np.searchsorted(units.starts, begins))
            before = np.repeat(begins[:-1], sizes[group])
            found.append((group, Positions(units.starts - before, units.ends - before)))
    offsets = offsets_of(sizes)
    starts, ends = np.empty((2, offsets[-1]), dtype=np.int64)
    for group, units in found:
        at = places_of(offsets[group], sizes[group])
        starts[at], ends[at] = units.starts, units.ends
    return Positions(starts, ends), offsets


def line_starts(text: str) -> Offsets:
    """Where the lines of a text begin, int64[lines]: at 0 and after each line feed."""
    return np.append(0, np.flatnonzero(code_points(text) == ord("\n")) + 1)


def line_numbers(
    texts: Sequence[str], documents: Offsets, starts: Offsets, ends: Offsets
) -> tuple[Offsets, Offsets]:
    """The first and last lines of stretches of n texts, from 1.

    Args:
        texts: n texts.
        documents: int64[m], the place of the text of each stretch.
        starts: int64[m], the first character of each.
        ends: int64[m], the last + 1.

    Returns:
        int64[m] both.
    """
    feeds = np.flatnonzero(code_points("\n".join(["", *texts])) == ord("\n"))
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    begins = offsets_of(lengths + 1)
    before, begins = np.searchsorted(feeds, begins)[documents], begins[documents]
    # Text i begins one character behind begins[i], where the line feed before it is.
    first = np.searchsorted(feeds, begins + starts, side="right") - before
    return first, np.searchsorted(feeds, begins + ends - 1, side="right") - before


def _units(text: str, kind: str) -> Positions:
    if kind == "word" and text.isascii():
        _, starts, ends = ascii_words(f" {text} ")
        return Positions(starts - 1, ends - 1)
    folded, origin = _folded(text)
    return _characters(folded, origin) if kind == "char" else _words(folded, origin)


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
    begins[1:] |= characters[:-1] == ord(_SEPARATOR)
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
