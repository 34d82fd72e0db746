"""Text normalisation: NFKC, then case folding, frozen at Unicode 14.0.

Shingle hashes are part of the file format, so a text must fold to the same characters whatever
Unicode version the running Python has. Normalisation and folding of characters that Unicode 14.0
assigned never change in later versions (its stability policies), so only characters assigned
later need care: they stay as they are. The classes of all code points are read from
`unicode14.bin`, which `scripts/make_unicode_table` wrote.
"""

import functools
import os
import sys
import unicodedata
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.shingling.arrays import IntArray, Mask

WORD = 1
"""Class bit: part of a word (letters, numbers, combining marks, underscore)."""
IDEOGRAPH = 2
"""Class bit: an ideograph or kana, which is one word."""
_NOT_NFKC = 4
_UNASSIGNED = 8

_CODE_POINTS = 0x110000
UTF32 = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
"""The encoding whose bytes are code points, uint32."""
_NEWER_UNICODE = unicodedata.unidata_version != "14.0.0"
_MAX_REPLACED = 64


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

    An ideograph is one word.
    """
    classes = np.zeros(len(codes) + 2, dtype=np.uint8)
    classes[1:-1] = character_classes().take(codes)
    word = (classes & WORD) != 0
    ideograph = (classes & IDEOGRAPH) != 0
    begins, ends = ideograph.copy(), ideograph
    begins[1:] |= word[1:] & ~word[:-1]
    ends[:-1] |= word[:-1] & ~word[1:]
    return np.flatnonzero(begins) - 1, np.flatnonzero(ends)


def fold(text: str, newer: bool = _NEWER_UNICODE) -> str:
    """NFKC-normalise and case-fold a text; `newer`: Python knows more characters than 14.0.

    >>> fold("Ｓtraße ① №")
    'strasse 1 no'
    """
    if text.isascii():
        return text.lower()
    if unicodedata.is_normalized("NFKC", text) and not newer:
        return text.casefold()
    characters = code_points(text)
    classes = character_classes().take(characters)
    if newer and (classes & _UNASSIGNED).any():
        return _fold_around(text, (classes & _UNASSIGNED) != 0)
    return _nfkc(text, characters, classes).casefold()


def _nfkc(text: str, characters: npt.NDArray[np.uint32], classes: npt.NDArray[np.uint8]) -> str:
    """NFKC-normalise, by replacing single characters where that is enough.

    `unicodedata.normalize` takes about 100 ns per character if only one needs it, and in Chinese
    text the full-width comma always does. Replacing each such character by its own NFKC
    form gives a text with the same compatibility decomposition; if that text is in NFKC, it is
    the NFKC of the original.
    """
    if unicodedata.is_normalized("NFKC", text):
        return text
    changing = np.unique(characters[(classes & _NOT_NFKC) != 0])
    if len(changing) <= _MAX_REPLACED:
        for character in map(chr, changing.tolist()):
            text = text.replace(character, unicodedata.normalize("NFKC", character))
    return unicodedata.normalize("NFKC", text)


def _fold_around(text: str, unassigned: Mask) -> str:
    """Fold the parts of a text between characters that Unicode 14.0 had not assigned."""
    edges = np.flatnonzero(unassigned[1:] != unassigned[:-1]) + 1
    bounds = [0, *edges.tolist(), len(text)]
    return "".join(
        text[start:end]
        if unassigned[start]
        else unicodedata.normalize("NFKC", text[start:end]).casefold()
        for start, end in pairwise(bounds)
    )
