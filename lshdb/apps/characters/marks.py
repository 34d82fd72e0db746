"""Plain spelling: one form for letters that are written with and without their marks.

Copies of a text differ in marks that keyboards, encodings and authors leave out: the accents and
tones of Latin, Greek and Cyrillic letters, the points of Hebrew, the vowel signs and the seats of
hamza of Arabic, the nukta of Devanagari. Other scripts stay as they are, as their marks are vowels
or make other letters. Digits of all scripts become those of ASCII.

The rules follow names and decompositions of characters, which Unicode never changes; characters
that Unicode 14.0 had not assigned stay. `docs/format.md` has them for other programs.
"""

import functools
import unicodedata
from collections.abc import Sequence

import numpy as np

from lshdb.text import arrays, folding

_SILENT = "\u034f"
"""What a dropped mark becomes, so that offsets stay: folding drops it."""
_NUKTA = "\u093c"
_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC")
"""Scripts, as the names of characters begin, whose letters lose all marks."""
_OTHER_FORMS = str.maketrans(
    "\u0110\u0126\u0141\u00d8\u0166\u0111\u0127\u0142\u00f8\u0167\u0131"
    "\u0671\u0649\u0629\u06c0\ufef5\ufef6\ufef7\ufef8\ufef9\ufefa",
    "DHLOTdhloti\u0627\u064a\u0647\u0647\ufefb\ufefb\ufefb\ufefb\ufefb\ufefb",
)
"""Letters with a stroke, and the i without its dot; alef wasla, alef maksura, teh marbuta, heh with
yeh above, and ligatures of lam with an alef that has a mark."""


_BLOCK = 1 << 18
"""Characters that are looked up at a time: the arrays for one take 20 times its bytes."""


def plain(texts: Sequence[str]) -> list[str]:
    """Texts in plain spelling, each character at the same offset as before.

    >>> plain(["Đường Łódź", "१२ أحمد"])
    ['Duong Lodz', '12 احمد']
    """
    joined = "\0".join(texts)
    if not joined.isascii():
        joined = "".join(map(_plain_part, folding.separate_parts(joined, _BLOCK)))
    starts = arrays.offsets_of(arrays.lengths_of(texts) + 1).tolist()
    return [joined[start : start + len(text)] for start, text in zip(starts, texts, strict=False)]


def _plain_part(text: str) -> str:
    codes = folding.code_points(text)
    (distinct,) = np.bincount(codes).nonzero()
    table = np.zeros((3, distinct[-1] + 1), dtype=np.uint32)
    table[:, distinct] = np.transpose([*map(_plain_form, distinct.tolist())])
    letters, loses_marks, is_mark = table[:, codes]
    bases = np.maximum.accumulate(np.where(is_mark == 0, np.arange(len(codes)), 0))
    letters[is_mark & loses_marks[bases] != 0] = ord(_SILENT)
    return str(letters.tobytes(), folding.UTF32, "surrogatepass")


@functools.cache
def _plain_form(code: int) -> tuple[int, bool, bool]:
    """What a character becomes; whether marks behind it are dropped; whether it is a mark."""
    character = chr(code)
    if folding.character_classes()[code] & folding.UNASSIGNED:
        return code, False, False
    if character.isdecimal():
        return ord(str(unicodedata.decimal(character))), False, False
    if unicodedata.combining(character):
        return ord(_SILENT) if character == _NUKTA else code, False, True
    character = character.translate(_OTHER_FORMS)
    letter, *others = [*unicodedata.normalize("NFKD", character)]
    script = unicodedata.name(letter, "").split(" ")[0]
    if script in (*_SCRIPTS, "DEVANAGARI") and all(map(unicodedata.combining, others)):
        character = letter.translate(_OTHER_FORMS)
    return ord(character), script in _SCRIPTS, False
