"""Shingle hashes equal the oracle's, however documents are grouped and cut; stored documents."""

from __future__ import annotations

import itertools
import json
import re
import tracemalloc
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from random import Random

import inspection
import oracles
import pytest
from helpers import blocks_of, database_of, shingle
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lshdb
from lshdb.errors import ContentError, DamagedFile
from lshdb.text import shingles
from lshdb.text.content import cleaned, encoded, from_stored
from lshdb.text.folding import IDEOGRAPH, WORD, character_classes, fold, never_combines
from lshdb.text.shingles import BLOCK, distinct_shingles, shingle_group, word_pieces
from lshdb.text.shingling import Content, Element, Shingles, Shingling

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
WORDS = st.builds(Shingling, st.just("word"), st.integers(1, 4))
CHARS = st.builds(
    Shingling,
    st.just("char"),
    st.one_of(st.integers(1, 9), st.sampled_from([16, 40, 64])),
)
ELEMENTS = st.one_of(
    st.text(max_size=12),
    st.text(oracles.NASTY, max_size=3),
    st.integers(-20, 20),
    st.integers(-(1 << 70), 1 << 70),
    st.sampled_from([-(1 << 63) - 1, -(1 << 63), (1 << 63) - 1, 1 << 63]),
)


def oracle(contents: Sequence[Content], kind: Shingling, seed: int = 1) -> list[list[int]]:
    return [
        oracles.shingle_hashes(content, kind.kind, kind.size, seed, kind.options)
        for content in contents
    ]


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


# texts


@settings(max_examples=80)
@given(BATCHES, st.one_of(WORDS, CHARS), st.sampled_from([0, 1, (1 << 63) - 1]))
@example(["?!", "a", "", "\xa7 $", "b c", "--"], Shingling("word", 1), 1)
def test_a_batch_of_texts_equals_the_oracle(texts: list[str], kind: Shingling, seed: int) -> None:
    expected = oracle(texts, kind, seed)
    assert shingled(texts, kind, seed) == expected
    assert by_document(shingle_group(texts, kind, seed)) == expected


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


def test_a_blank_where_a_text_is_cut_is_a_shingle_of_one_character() -> None:
    text = "Aaaaaaa b"
    kind = Shingling("char", 1)
    assert shingled([text], kind, block=7) == oracle([text], kind)


def test_a_large_text_of_less_than_one_shingle_is_folded_once() -> None:
    """Folding twice would join the dot to the second s."""
    text = "\xdf\u0307" + " " * BLOCK["char"]
    kind = Shingling("char", 5)
    assert shingled([text], kind) == [[oracles.shingle_hash("ss\u0307", "char", 1)]]


@pytest.mark.parametrize("character", ["\ufdfa", "\u3316", "\uff76", "\u321d"])
def test_what_becomes_many_words_only_when_it_is_folded_comes_in_pieces(character: str) -> None:
    with blocks_of(64):
        pieces = [*word_pieces(character * 500)]
    assert "".join(pieces) == fold(character * 500)
    assert max(map(len, pieces)) < 2 * 64


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


# stored documents


OF_SETS = Shingling("set")
STORED_ELEMENTS = (
    st.integers(-(1 << 70), 1 << 70) | st.text(max_size=5) | st.sampled_from(["],[", '"', "\n"])
)


@given(st.frozensets(STORED_ELEMENTS, max_size=6))
def test_a_stored_set_is_read_as_it_was_written(elements: frozenset[str | int]) -> None:
    stored = encoded(cleaned(elements, OF_SETS))
    assert stored == json.dumps(json.loads(stored), ensure_ascii=False, separators=(",", ":"))
    assert frozenset(from_stored(stored, OF_SETS)) == elements


@pytest.mark.parametrize(
    "broken", ["[1", '["a', "{}", "[1.5]", "[1e30]", "[true]", "", "[[1]]", "7", "[" * 9999]
)
def test_what_is_no_set_is_reported(broken: str, path: Path) -> None:
    database_of(path, [("a", [1, 2, 3])], shingle="set", threshold=0.5).close()
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE documents SET content = ?", (broken,))
    with lshdb.open(path) as db:
        for action in (lambda: db.query([1, 2, 3]), lambda: db.get("a")):
            with pytest.raises(DamagedFile, match="not a JSON array"):
                action()


@pytest.mark.parametrize("character", ["a", "\x01", "\U0001f98a"])
def test_a_set_is_too_large_when_its_json_is(character: str) -> None:
    elements = (character * 40,)
    size = len(encoded(elements).encode())
    assert cleaned(elements, OF_SETS, size) == elements
    with pytest.raises(ContentError, match=f"has {size} bytes, and {size - 1} is the limit"):
        cleaned(elements, OF_SETS, size - 1)


# scripts without blanks


SCRIPTS = {
    "hangul": "\uac00\ud7a3",
    "kana": "\u3041\u3096",
    "thai": "\u0e01\u0e2e",
    "emoji": "\U0001f300\U0001f5ff",
    "ligatures": "\ufdfa\ufdfa",
    "cyrillic": "\u0400\u0482",
}


def combining_characters(codes: range) -> set[str]:
    """The characters that combine with one before them."""
    both = (unicodedata.decomposition(chr(code)).split() for code in codes)
    seconds = {chr(int(pair[1], 16)) for pair in both if len(pair) == 2 and pair[0][0] != "<"}
    return seconds | {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}


def test_no_text_is_cut_where_characters_combine() -> None:
    every = range(0x32000)  # above are no characters of a language
    classes, combining = character_classes(), combining_characters(every)
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


@pytest.mark.parametrize("shingle", ["word:3", "char:5"])
def test_equal_rows_of_signs_are_copies(path: Path, shingle: str) -> None:
    rows = [
        "\U0001f600 \U0001f44d!",
        " \U0001f600\u3000\U0001f44d\ufe0f!\n",
        "\U0001f600",
        "--",
        "\u2014",
    ]
    with lshdb.open(path, shingle=shingle) as db:
        db.add_many((str(key), row) for key, row in enumerate(rows))
        assert [(pair.a, pair.b, pair.similarity) for pair in db.pairs()] == [("0", "1", 1.0)]
        assert [match.key for match in db.query("-- ")] == ["3"]
