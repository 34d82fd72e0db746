"""A text of a script without blanks took forty times its size in memory, all in one piece."""

from __future__ import annotations

import re
import tracemalloc
import unicodedata
from random import Random

import pytest
from helpers import blocks_of

from lshdb.text import shingles
from lshdb.text.folding import IDEOGRAPH, WORD, character_classes, fold, never_combines
from lshdb.text.shingling import Shingling

SCRIPTS = {
    "hangul": "\uac00\ud7a3",
    "kana": "\u3041\u3096",
    "thai": "\u0e01\u0e2e",
    "emoji": "\U0001f300\U0001f5ff",
    "ligatures": "\ufdfa\ufdfa",
    "cyrillic": "\u0400\u0482",
}


def parts(codes: range) -> set[str]:
    """The characters that combine with one before them."""
    both = (unicodedata.decomposition(chr(code)).split() for code in codes)
    seconds = {chr(int(pair[1], 16)) for pair in both if len(pair) == 2 and pair[0][0] != "<"}
    return seconds | {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}


def test_no_text_is_cut_where_characters_combine() -> None:
    every = range(0x32000)  # above are no characters of a language
    classes, combining = character_classes(), parts(every)
    alone = re.compile(shingles._WORD_CUT)
    for character in map(chr, every):
        is_safe = never_combines(character)
        if is_safe:
            first = unicodedata.normalize("NFKD", character)[0]
            assert not unicodedata.combining(first), ascii(character)
            assert first not in combining, ascii(character)
        if alone.match(character):
            assert is_safe
            if character in "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4":
                continue  # a syllable begins with a vowel that is written first
            kinds = [int(classes[ord(each)]) for each in fold(character)]
            assert kinds[0] & IDEOGRAPH or not any(kind & WORD for kind in kinds), ascii(character)


@pytest.mark.parametrize(
    ("script", "kind"),
    [*((script, Shingling("char", 5)) for script in SCRIPTS), ("ligatures", Shingling("word", 3))],
)
def test_a_long_text_takes_the_memory_of_a_piece(script: str, kind: Shingling) -> None:
    first, last = map(ord, SCRIPTS[script])
    random = Random(1)
    text = "".join(chr(random.randint(first, last)) for _ in range(20_000))
    block = 500
    tracemalloc.start()
    with blocks_of(block):
        for _ in shingles.pieces(text, kind, 1):
            pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1_000 * block
