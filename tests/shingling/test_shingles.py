"""Shingle hashes equal the oracle's, however documents are grouped and cut."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import oracles
import pytest
from helpers import blocks_of, shingle
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshdb.shingling.content import cleaned
from lshdb.shingling.positions import shingle_texts
from lshdb.shingling.shingles import BLOCK, distinct_shingles, shingle_group
from lshdb.shingling.shingling import Content, Element, Shingles, Shingling

TEXTS = st.one_of(
    st.text(oracles.ASCII_NASTY, max_size=30),
    st.text(oracles.NASTY, max_size=30),
    st.text(st.sampled_from("a \xa0\u4e00\xdf\u0307_"), max_size=30),
)
THAI_AND_LAO = (
    "\u0e40\u0e41\u0e01\u0e02\u0e32\u0e31\u0e48\u0e4c\u0e33\u0ec0\u0e81\u0eb2\u0eb5\u0e50"
)
KHMER_AND_BURMESE = "\u1780\u179a\u17d2\u17b6\u17cd\u1000\u1039\u1037\u103a\u102c\u1031\u103c"
JAVANESE_AND_BALINESE = "\ua98f\ua9b2\ua9c0\ua9b6\ua982\u1b13\u1b33\u1b44\u1b36\u1b34"
SYLLABLES = st.sampled_from([THAI_AND_LAO, KHMER_AND_BURMESE, JAVANESE_AND_BALINESE]).flatmap(
    lambda letters: st.text(letters + " a\u200b\u0301", max_size=40)
)
BATCHES = st.lists(TEXTS | SYLLABLES, max_size=8)
WORDS = st.integers(1, 4).map(lambda size: Shingling("word", size))
CHARS = st.one_of(st.integers(1, 9), st.sampled_from([16, 40, 64])).map(
    lambda size: Shingling("char", size)
)
ELEMENTS = st.one_of(
    st.text(max_size=12),
    st.text(oracles.NASTY, max_size=3),
    st.integers(-20, 20),
    st.integers(-(1 << 70), 1 << 70),
    st.sampled_from([-(1 << 63) - 1, -(1 << 63), (1 << 63) - 1, 1 << 63]),
)


def oracle(contents: Sequence[Content], kind: Shingling, seed: int = 1) -> list[list[int]]:
    return [oracles.shingle_hashes(content, kind.kind, kind.size, seed) for content in contents]


def by_document(shingles: Shingles) -> list[list[int]]:
    assert shingles.offsets[0] == 0
    assert shingles.offsets[-1] == len(shingles.hashes)
    offsets = shingles.offsets.tolist()
    return [shingles.hashes[i:j].tolist() for i, j in itertools.pairwise(offsets)]


def shingled(
    contents: Sequence[Content], kind: Shingling, seed: int = 1, block: int = 0
) -> list[list[int]]:
    """With a block, short texts are cut."""
    return by_document(shingle(contents, kind, seed, block))


# the specification, spelled out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\u3000\x1c\u2028", []),
        ("Ab", ["ab"]),
        ("  Ab \x85\xa0\n c ", ["ab ", "b c"]),
        ("A\u0308\uff22c\ufb01", ["\xe4bc", "bcf", "cfi"]),
        ("a\u200bb\xad", ["ab"]),
        ("\U0001f600\ud800\0\u4e00", ["\U0001f600\ud800\0", "\ud800\0\u4e00"]),
        ("aaaa", ["aaa", "aaa"]),
    ],
)
def test_char_shingles(text: str, expected: list[str]) -> None:
    """Blanks collapse, none is at an end, a short text is one shingle, repetitions stay."""
    assert oracles.char_shingles(text, 3) == expected
    kind = Shingling("char", 3)
    assert shingled([text], kind) == [[oracles.shingle_hash(s, "char", 1) for s in expected]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\u200b \ufeff", []),
        (" ... \0  \U0001f600-\u3001\xa0", [("... \0 \U0001f600-\u3001",)]),
        (
            "so\xadft a\u200db \u0645\u06cc\u200c\u062e",
            [("soft", "ab"), ("ab", "\u0645\u06cc\u062e")],
        ),
        ("Word", [("word",)]),
        ("It's_ok, 2nd (Caf\xe9)", [("it", "s_ok"), ("s_ok", "2nd"), ("2nd", "caf\xe9")]),
        ("a\u4e00\u30abb", [("a", "\u4e00"), ("\u4e00", "\u30ab"), ("\u30ab", "b")]),
        ("\u0939\u093f\u0928 \xbd", [("\u0939\u093f\u0928", "1"), ("1", "2")]),
        ("\u2167\uff3f\u0301 \u0663", [("viii_\u0301", "\u0663")]),
        ("\U000323af\u31f0\u3040x", [("\U000323af", "\u31f0"), ("\u31f0", "x")]),
        ("a a a", [("a", "a"), ("a", "a")]),
        (
            "\u0e01\u0301x\u0e01\u0e32 \u0301\u0e01",
            [
                ("\u0e01\u0301", "x"),
                ("x", "\u0e01\u0e32"),
                ("\u0e01\u0e32", "\u0301"),
                ("\u0301", "\u0e01"),
            ],
        ),
    ],
)
def test_word_shingles(text: str, expected: list[tuple[str, ...]]) -> None:
    """Words are letters, numbers, marks and underscores; ideographs and kana stand alone."""
    assert oracles.word_shingles(text, 2) == expected
    kind = Shingling("word", 2)
    assert shingled([text], kind) == [[oracles.shingle_hash(s, "word", 1) for s in expected]]


# texts


@settings(max_examples=80)
@given(BATCHES, st.one_of(WORDS, CHARS), st.sampled_from([0, 1, (1 << 63) - 1]))
def test_a_batch_of_texts_equals_the_oracle(texts: list[str], kind: Shingling, seed: int) -> None:
    expected = oracle(texts, kind, seed)
    assert shingled(texts, kind, seed) == expected
    assert by_document(shingle_group(texts, kind, seed)) == expected
    for text in texts:
        whole = oracles.shingles(cleaned(text, kind), kind.kind, kind.size)
        distinct = dict.fromkeys(" ".join(s) if isinstance(s, tuple) else s for s in whole)
        assert shingle_texts(text, kind) == list(distinct)


@settings(max_examples=50)
@given(st.data(), st.sampled_from([8, 17, 40, 64]))
def test_long_char_shingles_of_several_bytes_a_character(data: st.DataObject, size: int) -> None:
    """Windows of 20 to 256 bytes: several chunks, of which every width of character has some."""
    alphabet = st.sampled_from("\U0001f600\U00020000\u4e00\u20ac\xe9e ")
    texts = data.draw(st.lists(st.text(alphabet, min_size=size - 3, max_size=90), max_size=3))
    kind = Shingling("char", size)
    assert shingled(texts, kind) == oracle(texts, kind)


@pytest.mark.parametrize("size", [1, 2])
def test_words_around_the_longest_chained_length(size: int) -> None:
    """A word of more than 256 bytes is hashed by XXH64, whatever its characters."""
    lengths = (255, 256, 257, 1000)
    texts = [" ".join("ab"[i % 2] * n for i, n in enumerate(lengths))]
    texts += ["\xe9" * 128 + ", " + "\xe9" * 128 + "x " + "e" * 300 + "\u4e00"]
    texts += ["Z" * 5000, "short"]
    kind = Shingling("word", size)
    assert shingled(texts, kind) == oracle(texts, kind)


# large texts


@settings(max_examples=80)
@given(BATCHES, st.one_of(WORDS, CHARS), st.sampled_from([1, 2, 7, 16, 1 << 15]))
@example(["", "a", "", "\xe9 b", "", "a " * 12, "\u4e00", ""], Shingling("word", 1), 20)
def test_texts_in_pieces_equal_the_oracle(texts: list[str], kind: Shingling, block: int) -> None:
    expected = oracle(texts, kind)
    assert shingled(texts, kind, block=block) == expected
    with blocks_of(block):
        distinct = by_document(distinct_shingles(texts, kind, 1))
    assert distinct == [sorted(set(hashes)) for hashes in expected]


@pytest.mark.parametrize(
    "text",
    [
        "so\u0301me words,cafe\u0301",
        "\u0e40\u0e01\u0e48\u0e32\u0e40\u0e01\u0e40\u0e01\u0e4c\u0e41\u0e02",
        "\u1000\u102c\u1000\u1039\u1000\u102c\u1000\u103a\u1000\u102c\u1000\u1037\u103a\u1000",
        "\u1780\u17b6\u179a\u17d2\u1780\u17b6\u1780\u17cd\u1780\u17b6 \u1780",
        "\ua98f\ua9b6\ua9b2\ua9c0\ua98f\ua9b6\ua9b2\ua9c0 \u1b13\u1b36\u1b33\u1b44\u1b13\u1b36",
        "\u4f60\u597d\uff0c\u4e16 \u0645\u064a\u200c\u062e\u0648 \U0001f3f4\U000e0067\U000e007f!",
        "... \U0001f600 - !",
    ],
)
@pytest.mark.parametrize("sign", ["", "\u200b", "\xad\ufe0f"])
def test_a_sign_without_width_at_each_cut(text: str, sign: str) -> None:
    """Pieces are cut at the same places as whole texts, whatever stands there."""
    for index in range(len(text)):
        changed = text[:index] + sign + text[index:]
        for kind in (Shingling("word", 1), Shingling("word", 3), Shingling("char", 2)):
            expected = oracle([changed], kind)
            for block in (1, 3, index or 2):
                assert shingled([changed], kind, block=block) == expected


def test_a_text_with_a_syllable_more_is_cut_as_before_around_it() -> None:
    """Thai: each syllable changes the shingles that have it, and no others."""
    words = (
        "\u0e1b\u0e23\u0e30\u0e40\u0e17\u0e28\u0e44\u0e17\u0e22\u0e21\u0e35\u0e20\u0e32\u0e29\u0e32\u0e02\u0e2d\u0e07"
        "\u0e15\u0e31\u0e27\u0e40\u0e2d\u0e07\u0e41\u0e25\u0e30\u0e21\u0e35\u0e2d\u0e32\u0e2b\u0e32\u0e23"
    )
    assert oracles.words(words) == [
        "\u0e1b",
        "\u0e23\u0e30",
        "\u0e40\u0e17\u0e28",
        "\u0e44\u0e17\u0e22",
        "\u0e21\u0e35",
        "\u0e20\u0e32",
        "\u0e29\u0e32\u0e02\u0e2d\u0e07",
        "\u0e15\u0e31\u0e27",
        "\u0e40\u0e2d\u0e07",
        "\u0e41\u0e25\u0e30",
        "\u0e21\u0e35",
        "\u0e2d\u0e32",
        "\u0e2b\u0e32\u0e23",
    ]
    kind = Shingling("word", 3)
    more = words.replace("\u0e44\u0e17\u0e22", "\u0e44\u0e17\u0e22\u0e41\u0e17\u0e49")
    (before,), (after,) = shingled([words], kind), shingled([more], kind)
    assert (len(before), len(after), len({*before} - {*after})) == (11, 12, 2)


def test_a_blank_where_a_text_is_cut_is_a_shingle_of_one_character() -> None:
    text = "Aaaaaaa b"
    kind = Shingling("char", 1)
    assert shingled([text], kind, block=7) == oracle([text], kind)


def test_a_large_text_of_less_than_one_shingle_is_folded_once() -> None:
    """Folding twice would join the dot to the second s."""
    text = "\xdf\u0307" + " " * BLOCK["char"]
    kind = Shingling("char", 5)
    assert shingled([text], kind) == [[oracles.shingle_hash("ss\u0307", "char", 1)]]


def test_a_text_of_nine_million_characters_has_the_shingles_that_it_repeats() -> None:
    few, again = (
        distinct_shingles(["A wolf, " + "the fox. " * times], Shingling("char", 5), 1)
        for times in (3, 1_000_000)
    )
    assert again.hashes.tolist() == few.hashes.tolist()


# sets


@settings(max_examples=80)
@given(st.lists(st.lists(ELEMENTS, max_size=12), max_size=6), st.sampled_from([0, 1, 9]))
@example([["", "1", 1, -1], [], [1 << 64, str(1 << 64)], ["\ud800", "x" * 300], []], 1)
def test_a_batch_of_sets_equals_the_oracle(sets: list[list[Element]], seed: int) -> None:
    assert shingled(sets, Shingling("set"), seed) == oracle(sets, Shingling("set"), seed)
