"""Text normalisation: signs without width are dropped, then NFKC, then case folding.

Frozen at Unicode 14.0, as shingle hashes are part of the file format: a text must fold to the same
characters whatever Unicode version the running Python has. Normalisation and folding of characters
that Unicode 14.0 assigned never change in later versions (its stability policies), so only
characters assigned later need care: they stay as they are. The classes of all code points are read
from `unicode14.bin`, which `scripts/make_unicode_table` wrote.

Dropped, before normalising and again after it, are the signs that Unicode calls ignorable by
default, as its NFKC_Casefold does: joiners, soft hyphens, variation selectors. Flags of regions
keep their tag characters, as the flags of Scotland and Wales differ in nothing else. Dropped as
well are signs that one copy of a text has and another has not: Arabic and Hebrew vowel signs and
accents, and the tatweel, which only makes a line longer. Two letters that keyboards for Arabic type
in their Arabic form in Persian texts become the Persian ones.
"""

import functools
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.text.arrays import IntArray, Mask

WORD = 1
"""Class bit: part of a word (letters, numbers, combining marks, underscore)."""
IDEOGRAPH = 2
"""Class bit: an ideograph or kana, which is one word."""
_NOT_NFKC = 4
UNASSIGNED = 8
"""Class bit: a code point that Unicode 14.0 had not assigned."""
DROPPED = 16
"""Class bit: folding drops it."""
COMBINES = 32
"""Class bit: a mark, or a Hangul vowel or final, which may combine with the character before it."""
SYLLABIC = 64
"""Class bit: a letter of a script that has no blanks between words, and is cut into syllables."""
_LATER = 128
"""Class bit: normalising the character gives a character that is dropped or replaced."""

_CODE_POINTS = 0x110000
UTF32 = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
"""The encoding whose bytes are code points, uint32."""
_NEWER_UNICODE = unicodedata.unidata_version != "14.0.0"
_MAX_REPLACED = 64
_TAGS = re.compile("(\U0001f3f4[\U000e0020-\U000e007f]+)|[\U000e0020-\U000e007f]+")
"""Tag characters; the group matches a flag with its tags."""
_PERSIAN = {"\u064a": "\u06cc", "\u0643": "\u06a9"}
"""Yeh and kaf."""

# The parts of syllables that are not plain letters or vowel signs.
LEADING = "\u0e40-\u0e44\u0ec0-\u0ec4"
"""Vowels of Thai and Lao that are written before their consonant."""
FOLLOWING = "\u0e30\u0e32\u0e45\u0eb0\u0eb2\u0ebd"
"""Vowels of Thai and Lao that are letters, written behind their consonant."""
STACKING = "\u17d2\u1039\ua9c0\u1b44"
"""Signs that put the next consonant below this one."""
_KILLING = "\u0e3a\u0e4c\u0e4e\u0eba\u0ecc\u17cb\u17cd\u17d1\u103a\ua9c0\u1b44"
"""Signs of a consonant without a vowel, at the end of a syllable."""
_DOT_BELOW = "\u1037"
"""A tone of Burmese, which normalising puts before the sign of no vowel."""


@functools.cache
def character_classes() -> npt.NDArray[np.uint8]:
    """The class bits of every code point, uint8[0x110000]."""
    # By its loader, as the package may be a zip; importing importlib.resources would take longer
    # than a query. Path would drop the ./ of a zip that Spark has sent, and the loader wants it.
    loader: Any = __spec__.loader
    packed = loader.get_data(os.path.join(os.path.dirname(__file__), "unicode14.bin"))
    runs = np.frombuffer(packed, dtype="<u4")
    lengths = np.diff(runs >> 8, append=_CODE_POINTS)
    classes = np.repeat((runs & 0xFF).astype(np.uint8), lengths)
    classes.flags.writeable = False
    return classes


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The code points of a text, uint32[len(text)], lone surrogates included."""
    return np.frombuffer(text.encode(UTF32, "surrogatepass"), dtype=np.uint32)


def word_bounds(
    codes: npt.NDArray[np.uint32],
) -> tuple[IntArray, IntArray]:
    """Where words begin and end in a folded text of code points, int64[words] both.

    An ideograph is one word, and so is a syllable of a script without blanks.
    """
    classes = np.zeros(len(codes) + 2, dtype=np.uint8)
    classes[1:-1] = character_classes().take(codes)
    word = (classes & WORD) != 0
    ideograph = (classes & IDEOGRAPH) != 0
    begins, ends = ideograph.copy(), ideograph
    begins[1:] |= word[1:] & ~word[:-1]
    ends[:-1] |= word[:-1] & ~word[1:]
    if np.bitwise_or.reduce(classes) & SYLLABIC:
        new = _syllable_begins(codes, classes[1:-1]) + 1
        begins[new] = True
        ends[new - 1] |= word[new - 1]
    return np.flatnonzero(begins) - 1, np.flatnonzero(ends)


def _syllable_begins(codes: npt.NDArray[np.uint32], classes: npt.NDArray[np.uint8]) -> IntArray:
    """Where syllables begin, and where a word next to a syllable begins or ends: int64[any].

    A syllable begins at a vowel that is written before its consonant, and at a letter with a vowel
    sign; not after such a vowel or a stacking sign, and not at a letter without a vowel, which
    ends the syllable before it. So an additional letter changes only the cuts next to it.
    These are not always what a reader calls syllables, but about two letters with their marks:
    unrelated texts share runs of 8 and 13 of them as rarely as of Chinese characters
    (docs/choosing.md has the figures).
    """
    letter = (classes & SYLLABIC) != 0
    # The sound marks of kana are words, as kana are.
    mark = (classes & (COMBINES | IDEOGRAPH)) == COMBINES
    letters = np.flatnonzero(letter)
    # The code points before and after each letter.
    around = np.append(codes, [0, 0, 0])
    before, behind = around[letters - 1], around[letters + 1]
    dotted = behind == ord(_DOT_BELOW)
    killed = np.where(dotted, around[letters + 2], behind)
    has_vowel = np.append(mark, [False] * 2)[letters + 1] & ~is_any(killed, _KILLING)
    has_vowel |= is_any(behind, FOLLOWING)
    has_vowel &= ~is_any(codes[letters], FOLLOWING)
    free = ~is_any(before, LEADING) & ~is_any(before, STACKING)
    begins = is_any(codes[letters], LEADING) | (has_vowel & free)
    # The last character that is no mark decides whether a syllable goes on.
    solid = np.maximum.accumulate(np.where(mark, 0, np.arange(len(codes), dtype=np.int32)))
    after_letter = np.append(False, letter[solid[:-1]])
    plain = ((classes & WORD) != 0) & ~letter & ~mark
    new = plain & after_letter
    new[letters] = begins | ~after_letter[letters]
    return np.flatnonzero(new)


def is_any(codes: npt.NDArray[np.uint32], characters: str) -> Mask:
    """True for each code point among the characters, where `a-z` is a range, bool[n]."""
    matches = np.zeros(len(codes), dtype=np.bool_)
    for first, last in re.findall("(.)(?:-(.))?", characters):
        matches |= (codes >= ord(first)) & (codes <= ord(last or first))
    return matches


def fold(text: str, newer: bool = _NEWER_UNICODE) -> str:
    r"""Drop silent signs, NFKC-normalise and case-fold; `newer`: Python knows more than 14.0.

    >>> fold("Ｓtraße ① №")
    'strasse 1 no'
    >>> fold("soft\u00adhyphen")
    'softhyphen'
    """
    if text.isascii():
        return text.lower()
    characters = code_points(text)
    classes = character_classes().take(characters)
    kinds = int(np.bitwise_or.reduce(classes))
    if kinds & DROPPED:
        text = _without_silent(text, characters, classes)
        characters = code_points(text)
        classes = character_classes().take(characters)
        kinds = int(np.bitwise_or.reduce(classes))
    if newer and kinds & UNASSIGNED:
        # The parts between characters that Unicode 14.0 had not assigned.
        unassigned = (classes & UNASSIGNED) != 0
        edges = np.flatnonzero(unassigned[1:] != unassigned[:-1]) + 1
        folded = "".join(
            text[start:end]
            if unassigned[start]
            else unicodedata.normalize("NFKC", text[start:end]).casefold()
            for start, end in pairwise([0, *edges.tolist(), len(text)])
        )
    else:
        folded = _nfkc(text, characters, classes, kinds).casefold()
    return _replaced(folded) if kinds & _LATER else folded


def never_combines(character: str) -> bool:
    """Whether a text may be cut before the character, and both parts folded separately.

    It is false for all marks, whether they compose or not, and for characters that folding drops,
    as these may be between a letter and its mark.
    """
    return not character_classes()[ord(character)] & (COMBINES | DROPPED)


def separate_parts(text: str, size: int) -> Iterator[str]:
    """A text in parts of at least `size` characters, each of which can be folded separately."""
    start = 0
    while start < len(text):
        end = start + size
        while end < len(text) and not never_combines(text[end]):
            end += 1
        yield text[start:end]
        start = end


def cut_before(text: str, safe: str, size: int) -> Iterator[str]:
    """Cut a text into pieces of at least `size` characters, before characters safe to cut at."""
    pattern = re.compile(safe)
    start = 0
    while start < len(text):
        cut = pattern.search(text, start + size)
        end = cut.start() if cut else len(text)
        yield text[start:end]
        start = end


def _without_silent(
    text: str, characters: npt.NDArray[np.uint32], classes: npt.NDArray[np.uint8]
) -> str:
    """The text without characters that are dropped, but with the tags of flags."""
    tags = (characters >= 0xE0020) & (characters <= 0xE007F)
    kept = ((classes & DROPPED) == 0) | tags
    if not kept.all():
        text = characters[kept].tobytes().decode(UTF32, "surrogatepass")
    return _TAGS.sub(r"\1", text) if tags.any() else text


def _replaced(folded: str) -> str:
    """Drop the silent signs that normalising added, and use the Persian letters."""
    characters = code_points(folded)
    folded = _without_silent(folded, characters, character_classes().take(characters))
    for arabic, persian in _PERSIAN.items():
        folded = folded.replace(arabic, persian)
    return folded


def _nfkc(
    text: str, characters: npt.NDArray[np.uint32], classes: npt.NDArray[np.uint8], kinds: int
) -> str:
    """NFKC-normalise, by replacing single characters where that is enough.

    `unicodedata.normalize` takes about 100 ns per character if only one needs it, and in Chinese
    text the full-width comma always does. Replacing each such character by its own NFKC
    form gives a text with the same compatibility decomposition; if that text is in NFKC, it is
    the NFKC of the original. It is, if no character of the text may combine with another.
    """
    if not kinds & _NOT_NFKC and (not kinds & COMBINES or unicodedata.is_normalized("NFKC", text)):
        return text
    changing = np.unique(characters[(classes & _NOT_NFKC) != 0])
    if len(changing) <= _MAX_REPLACED:
        for character in map(chr, changing.tolist()):
            text = text.replace(character, unicodedata.normalize("NFKC", character))
        if not kinds & COMBINES:
            return text
    return unicodedata.normalize("NFKC", text)
