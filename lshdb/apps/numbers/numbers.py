"""The numbers of a text, in its order, as they are written.

A number is a word with digits, such as `12`, `3rd` or `A4`, with the decimal points and commas in
it and the sign before it: `-1.50`, `1,000`, `-$5`, `1e-5`. A hyphen after a letter, a digit or a
mark is no sign: `COVID-19`, `2024-01-31` and `3-1` have the numbers 19; 2024, 01, 31; 3, 1. Letters
of scripts without blanks between words are no part of a number.

Decimal digits of all scripts are the same, and so are the forms of the minus sign; superscripts and
fractions are other digits: `10²` is not `102`, `½` is not `⅓`.
"""

import re
import unicodedata

import numpy as np

from lshdb.errors import UsageError
from lshdb.search.similarity import Contents
from lshdb.sketch.settings import Settings
from lshdb.text.arrays import NO_NUMBERS, IntArray, Mask
from lshdb.text.hashing import secret_seed

_LETTER = r"[^\W\u0e00-\U0010ffff]"
"""Thai and all that follow are left out: what else has no letters below is cut off likewise."""
_DIGIT = "[0-9²³¹¼-¾⁰-₉⅐-⅟①-⒛⓪-⓿]"
_NUMBER = (
    rf"(?:(?:(?<!{_LETTER})|(?<=[0-9]e))[-+±][$¢-¥₠-⃀]?)?"  # sign, sign of a currency
    rf"(?:(?<![\w.])\.)?"
    rf"(?<!{_LETTER}){_LETTER}*{_DIGIT}(?:{_LETTER}|{_DIGIT})*"
    rf"(?:[.,]{_DIGIT}(?:{_LETTER}|{_DIGIT})*)*"
)
"""Compiled when it is first used: that takes a twentieth of a query from the command line."""
_MARKS = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63", "-"),
    "\u066b": ".",
    "\u066c": ",",
}
"""Hyphens, dashes and minus signs; the decimal and the thousands separator of Arabic."""
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_TO_ASCII = 0xFEE0


def numbers_of(text: str) -> list[str]:
    """The numbers of a text.

    >>> numbers_of("At \u22121.10 °C on 2024-01-31, by 3:1, in room A4 of COVID-19")
    ['-1.10', '2024', '01', '31', '3', '1', 'a4', '19']
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = text.translate({ord(character): _plain(character) for character in {*text}})
    return re.findall(_NUMBER, text.casefold())


def _plain(character: str) -> str:
    """The ASCII form of a digit or a mark; nothing for signs without width."""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if ord(character) in _FULL_WIDTH:
        return chr(ord(character) - _TO_ASCII)
    if unicodedata.category(character) == "Cf":
        return ""
    return _MARKS.get(character, character)


def same_numbers(settings: Settings) -> type["SameNumbers"]:
    """What makes the filter of documents, by what gives their contents.

    Raises:
        UsageError: a file with these settings keeps no texts.
    """
    if settings.shingling.of_sets or not settings.content:
        raise UsageError("distinguish compares the numbers of texts: this file keeps no texts")
    return SameNumbers


class SameNumbers:
    """Keeps texts apart whose numbers differ: a lshdb.search.pair_filters.PairFilter.

    Different numbers have the same hash, under the seed of this process, once in 2^60 pairs.

    Attributes:
        marked: none, as equal texts have the same numbers.
    """

    marked = NO_NUMBERS

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._hashes = np.zeros(0, dtype=np.int64)  # 0 for texts that were not read

    def keep(self, left: IntArray, right: IntArray) -> Mask:
        """Which pairs int64[c] have the same numbers, bool[c]; reads each text once."""
        kept: Mask = left == right
        (others,) = np.logical_not(kept).nonzero()
        documents = np.unique([left[others], right[others]])
        if len(documents) and documents[-1] >= len(self._hashes):
            missing = 2 * int(documents[-1]) + 1 - len(self._hashes)
            self._hashes = np.pad(self._hashes, (0, missing))
        unread = documents[self._hashes[documents] == 0]
        self._hashes[unread] = [
            hash((secret_seed(), *numbers_of(text))) for text in self._contents(unread)
        ]
        kept[others] = self._hashes[left[others]] == self._hashes[right[others]]
        return kept

    def rank(self, documents: IntArray) -> IntArray:
        """No text stays or goes for its numbers."""
        return np.zeros_like(documents)
