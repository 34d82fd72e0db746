"""Folding is NFKC and then case folding, as Unicode 14.0 has them."""

from __future__ import annotations

import random
import unicodedata

import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshdb.shingling import folding
from lshdb.shingling.folding import character_classes, code_points, fold

ON_UNICODE_14 = unicodedata.unidata_version == "14.0.0"
needs_unicode_14 = pytest.mark.skipif(
    not ON_UNICODE_14, reason="unicodedata is the oracle only where it has version 14.0"
)

CHARACTERS = st.characters() if ON_UNICODE_14 else st.characters().filter(oracles.assigned_in_14)
TEXTS = st.text(st.one_of(CHARACTERS, st.sampled_from(oracles.NASTY)))


@settings(max_examples=150)
@given(TEXTS)
@example("\uff25\u0323\u0301\xdf")
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
    assert fold(everything) == oracles.fold(everything)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        pytest.param(
            "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u3002",
            "\u4f60\u597d,\u4e16\u754c!\u3002",
            id="full-width Chinese punctuation",
        ),
        pytest.param("o\ufb03ce \ufb02ow", "office flow", id="ligatures"),
        pytest.param("\u0e19\u0e49\u0e33", "\u0e19\u0e49\u0e4d\u0e32", id="Thai sara am"),
        pytest.param("caf\uff45\u0301", "caf\xe9", id="mark composes with a replaced character"),
        pytest.param("\uff21\u0323\u0302", "\u1ead", id="two marks, one replaced character"),
        pytest.param("\u212b\u0323", "\u1ea1\u030a", id="replaced character's own mark moves"),
        pytest.param("\uff76\uff9e", "\u30ac", id="two replaced characters compose"),
        pytest.param("\u1112\u1161\u11ab", "\ud55c", id="Hangul jamo compose"),
        pytest.param("\u314e\u314f\u11ab", "\ud55c", id="replaced Hangul jamo compose"),
        pytest.param("d\u0307\u0323", "\u1e0d\u0307", id="marks in canonical order"),
        pytest.param("\u3000\xa0\u2003", "   ", id="blanks"),
        pytest.param("\u0130\u1e9e\u03a3\u0149", "i\u0307ss\u03c3\u02bcn", id="folding lengthens"),
        pytest.param("\xdf\u0307", "ss\u0307", id="folded once, not normalised again"),
    ],
)
def test_texts_whose_characters_change(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert fold(f"{text} plain \u4e00") == f"{folded} plain \u4e00"


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


def test_lone_surrogates_survive() -> None:
    text = "\ud83d \ude00\uff21\udfff"
    assert fold(text) == "\ud83d \ude00a\udfff"
    assert fold("\ude00\ud83d") == "\ude00\ud83d"


@given(st.text(st.characters()))
def test_code_points_are_those_of_the_characters(text: str) -> None:
    assert code_points(text).tolist() == [ord(character) for character in text]


@needs_unicode_14
def test_character_classes_are_those_of_unicode_14() -> None:
    classes = character_classes().tobytes()
    none = range(0x40000, 0xE0000)  # planes without characters
    assert classes[none.start : none.stop] == bytes([8]) * len(none)
    expected = bytearray()
    for character in map(chr, (*range(none.start), *range(none.stop, 0x110000))):
        category = unicodedata.category(character)
        if oracles.is_ideograph(character):
            bits = folding.IDEOGRAPH
        else:
            bits = folding.WORD if category[0] in "LNM" or character == "_" else 0
        bits |= 8 * (category == "Cn")
        normal = unicodedata.normalize("NFKC", character)
        changes = character in oracles.SILENT or normal != character
        if changes or category[0] in "LM" or "\ud7b0" <= character < "\ud800":
            bits |= 4 * (normal != character)
            parts = oracles.without_optional(unicodedata.normalize("NFKD", character))
            if not parts:
                bits |= 16
            else:
                bits |= 32 * oracles.combines(parts[0]) | 64 * oracles.is_syllabic(character)
                heard = oracles.without_optional(normal)
                bits |= 128 * (heard != normal or "\u064a" in heard or "\u0643" in heard)
        expected.append(bits)
    assert classes[: none.start] + classes[none.stop :] == expected
    # As DerivedCoreProperties.txt of Unicode 14.0 counts them, and ours.
    assert len(oracles.SILENT) == 4174 + 51 + 10


@pytest.mark.parametrize(
    "marks", ["\u200d", "\xad", "\ufe0f\u2060", "\u034f", "\U000e0067", "\U000e0fff"]
)
def test_signs_without_width_say_nothing(marks: str) -> None:
    text = "Cafe\u0301 \u4e16\u754c \u0645\u06cc\u062e\u0648\u0627\u0647 \u0915\u094d\u0937 \uac00"
    for plain in (text, unicodedata.normalize("NFD", text), "plain words"):
        assert fold(marks + marks.join(plain) + marks) == fold(plain)


def test_flags_keep_their_tags() -> None:
    """The flags of Scotland and Wales differ in nothing else; tags elsewhere say nothing."""
    scotland, wales = (
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in name) + "\U000e007f"
        for name in ("gbsct", "gbwls")
    )
    assert fold(scotland) == scotland != fold(wales)
    assert fold(scotland[:2] + "\u200d" + scotland[2:]) == scotland
    assert fold(scotland[:1] + "x" + scotland[1:]) == "\U0001f3f4x"
    assert fold("\uff21" + wales) == "a" + wales


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param(
            "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",
            "\u0645\u062d\u0645\u062f",
            id="Arabic vowel signs",
        ),
        pytest.param(
            "\u0645\u0640\u0640\u062d\u0645\u062f", "\u0645\u062d\u0645\u062f", id="tatweel"
        ),
        pytest.param("\ufef3\u064e", "\u06cc", id="a form of yeh"),
        pytest.param(
            "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
            "\u05e9\u05dc\u05d5\u05dd",
            id="Hebrew points",
        ),
        pytest.param("\ufb2a", "\u05e9", id="a Hebrew letter with its point"),
        pytest.param(
            "\u0643\u062a\u0627\u0628\u064a",
            "\u06a9\u062a\u0627\u0628\u06cc",
            id="Persian with Arabic letters",
        ),
        pytest.param("\u064a\u0654", "\u0626", id="yeh with a hamza is another letter"),
    ],
)
def test_letters_that_are_written_in_two_ways(text: str, same: str) -> None:
    assert fold(text) == fold(same) == same


def test_letters_that_stay_two() -> None:
    """The text does not say its language: a dotless i is no i, and hamza and madda make letters."""
    for one, other in ("\u0131i", "\u0622\u0627", "\u0649\u06cc", "\u0624\u0648"):
        assert fold(one) != fold(other)
    assert fold("\u0130") == "i\u0307"
