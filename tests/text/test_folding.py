"""Folding is NFKC and then case folding, as Unicode 14.0 has them."""

from __future__ import annotations

import random
import unicodedata

import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshdb.text.folding import code_points, fold, separate_parts

ON_UNICODE_14 = unicodedata.unidata_version == "14.0.0"
needs_unicode_14 = pytest.mark.skipif(
    not ON_UNICODE_14, reason="unicodedata is the oracle only where it has version 14.0"
)

CHARACTERS = st.characters() if ON_UNICODE_14 else st.characters().filter(oracles.assigned_in_14)
TEXTS = st.text(st.one_of(CHARACTERS, st.sampled_from(oracles.NASTY)))


@settings(max_examples=150)
@given(TEXTS)
@example("n\ufe77\u0301")
def test_fold_is_nfkc_then_casefold_without_silent_signs(text: str) -> None:
    assert fold(text) == oracles.fold(text)


def test_every_character_among_random_neighbours() -> None:
    """Replacing character for character must not miss what the neighbours do to each other."""
    characters = [c for c in map(chr, range(0x110000)) if oracles.assigned_in_14(c)]
    random.Random(14).shuffle(characters)
    everything = "".join(characters)
    for start in range(0, len(everything), 1000):
        text = everything[start : start + 1000]
        assert fold(text) == oracles.fold(text)


FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e007f"


@pytest.mark.parametrize(
    "text",
    [
        "\u4f60\u597d\uff0c\u4e16\uff01\u3002",  # full-width punctuation
        "o\ufb03ce \u0e19\u0e49\u0e33",  # ligatures and the like
        "caf\uff45\u0301 \uff21\u0323\u0302",  # marks compose with a replaced character
        "\u212b\u0323 d\u0307\u0323",  # marks come into their order
        "\uff76\uff9e \u1112\u1161\u11ab \u314e\u314f\u11ab",  # characters compose
        "\u3000\xa0\u2003\u0130\u0131\u1e9e\u03a3\u0149",
        "\xdf\u0307",  # folded once, not normalised again
        "\ud83d \ude00\uff21\udfff \ude00\ud83d",  # lone surrogates
        f"{FLAG} {FLAG[:2]}\u200d{FLAG[2:]} {FLAG[0]}x{FLAG[1:]}\uff21",  # tags of flags only
        "\u0645\u064f\u0640\u0640\u062d \ufef3\u064e \u0643\u064a \u064a\u0654 \u0622\u0649\u0624",
        "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \ufb2a",
    ],
)
def test_texts_whose_characters_change(text: str) -> None:
    assert fold(text) == oracles.fold(text)
    assert fold(f"{text} plain \u4e00") == f"{oracles.fold(text)} plain \u4e00"


@pytest.mark.parametrize("kinds", [64, 65, 90])
def test_however_many_kinds_of_characters_change(kinds: int) -> None:
    """Beyond some number of kinds, characters are no longer replaced one kind at a time."""
    full_width = "".join(map(chr, range(0xFF01, 0xFF01 + kinds)))
    half_width = "".join(map(chr, range(0x21, 0x21 + kinds))).lower()
    assert fold(full_width + "E\u0301") == half_width + "\xe9"


@pytest.mark.parametrize("knows_more", [False, True])
@pytest.mark.parametrize(
    "character",
    ["\U0001e030", "\u0cf3", "\U00010efd", "\u1c89", "\u0378", "\U0001fae8"],
)
def test_characters_that_unicode_14_had_not_assigned_stay(character: str, knows_more: bool) -> None:
    """Later versions gave U+1E030 a decomposition and U+1C89 a lower case, others are marks."""
    newer = knows_more or not ON_UNICODE_14
    assert fold(character, newer) == character
    assert fold(f"\uff21{character}\u0301 \xdf", newer) == f"a{character}\u0301 ss"
    assert fold(f"q\u0301{character}\xdf", newer) == f"q\u0301{character}ss"
    assert fold(f"{character * 2}E\u0301{character}", newer) == f"{character * 2}\xe9{character}"


@needs_unicode_14
@given(st.text(st.one_of(st.characters(), st.sampled_from("\u0378\U0001e030\u0301\uff25\xdf"))))
def test_later_pythons_fold_around_unassigned_characters_alike(text: str) -> None:
    """What a Python with more characters does gives here what needs no such care."""
    assert fold(text, newer=True) == oracles.fold(text)


@settings(max_examples=150)
@given(TEXTS, st.integers(1, 3))
def test_a_text_folded_in_parts_is_the_folded_text(text: str, size: int) -> None:
    parts = [*separate_parts(text, size)]
    assert "".join(parts) == text
    assert "".join(map(fold, parts)) == fold(text)


@given(st.text(st.characters()))
def test_code_points_are_those_of_the_characters(text: str) -> None:
    assert code_points(text).tolist() == [ord(character) for character in text]
