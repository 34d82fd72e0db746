"""A text of a script without blanks took forty times its size in memory, all in one piece."""

from __future__ import annotations

import re
import tracemalloc
import unicodedata
from random import Random

import numpy as np
import pytest
from helpers import blocks_of, shingle
from hypothesis import given
from hypothesis import strategies as st

from lshdb.shingling import shingles
from lshdb.shingling.folding import IDEOGRAPH, WORD, character_classes, fold
from lshdb.shingling.shingling import Shingling, ShinglingKind

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
    safe, alone = re.compile(shingles._CHAR_CUT), re.compile(shingles._WORD_CUT)
    for character in map(chr, every):
        if safe.match(character):
            first = unicodedata.normalize("NFKD", character)[0]
            assert not unicodedata.combining(first), ascii(character)
            assert first not in combining, ascii(character)
        if alone.match(character):
            assert safe.match(character)
            if character in "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4":
                continue  # a syllable begins with a vowel that is written first
            kinds = [int(classes[ord(each)]) for each in fold(character)]
            assert kinds[0] & IDEOGRAPH or not any(kind & WORD for kind in kinds), ascii(character)


# Marks, jamo and sounds that combine with the character before, among those of every script.
MIXED = (
    "\u0301\u3099\u1161\u11a8\u0e31\u0e33\uff9e\u200d\ufe0f\u1100\u093c\u0645\u0653 a\U0001f3fd"
    "\U0001fae8\u2017\uff76\u304b\uac01\u03c3\u03a3"
)


@given(
    st.text(st.sampled_from(MIXED + "".join(SCRIPTS.values())), max_size=60),
    st.sampled_from(["char", "word", "code"]),
    st.integers(1, 8),
)  # fmt: skip
def test_pieces_have_the_shingles_of_the_whole(text: str, kind: ShinglingKind, block: int) -> None:
    shingling = Shingling(kind, 3)
    whole = shingle([text], shingling, 1)
    np.testing.assert_array_equal(shingle([text], shingling, 1, block).hashes, whole.hashes)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_long_text_takes_the_memory_of_a_piece(script: str) -> None:
    first, last = map(ord, SCRIPTS[script])
    random = Random(1)
    text = "".join(chr(random.randint(first, last)) for _ in range(20_000))
    block = 500
    tracemalloc.start()
    with blocks_of(block):
        for _ in shingles.pieces(text, Shingling("char", 5), 1):
            pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1_000 * block
