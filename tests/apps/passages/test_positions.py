"""Offsets of shingles: as many as there are shingles, and each slice holds its shingle."""

from __future__ import annotations

import sys
import unicodedata
from typing import Literal

import oracles
from helpers import shingle
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import ASCII_NASTY, NASTY, collapsed, fold

from lshdb.apps.passages.positions import Units, cut
from lshdb.text.folding import never_combines
from lshdb.text.shingling import Shingling

SEED = 1
SHINGLINGS = st.builds(Shingling, st.sampled_from(["word", "char"]), st.integers(1, 6))
ANY_TEXT = st.text(st.characters(), max_size=60)
NASTY_TEXT = st.text(st.sampled_from(NASTY), max_size=60)
TEXTS = ANY_TEXT | NASTY_TEXT | st.text(max_size=60)


def hashes(text: str, shingling: Shingling) -> list[int]:
    found: list[int] = shingle([text], shingling, SEED).hashes.tolist()
    return found


def bounds(text: str, shingling: Shingling) -> list[tuple[int, int]]:
    """Where each shingle of a text begins and ends."""
    units = cut([text], shingling.kind)
    size = min(shingling.size, len(units.starts)) or 1
    return list(zip(units.starts.tolist(), units.stops[size - 1 :].tolist(), strict=False))


def slices(text: str, shingling: Shingling) -> list[str]:
    """The stretch of a text of each of its shingles."""
    return [text[i:j] for i, j in bounds(text, shingling)]


@given(TEXTS, SHINGLINGS)
@example("", Shingling("char", 1))
@example(" \u3000", Shingling("char", 1))
@example("\u0301", Shingling("word", 1))
@example("e\u0301a\u0308\u0323", Shingling("char", 1))
@example("\u1112\u1161\u11ab\u1112", Shingling("char", 2))
@example("\ufdfa", Shingling("word", 1))
@example("\uff76\uff9e", Shingling("word", 1))
@example("\xb4\xb4", Shingling("char", 1))
@example("\U0001f3f4\U000e007f a", Shingling("char", 1))
def test_there_is_a_stretch_for_every_shingle(text: str, shingling: Shingling) -> None:
    found = bounds(text, shingling)
    has_words = shingling.kind == "char" or any(map(oracles.is_word_character, oracles.fold(text)))
    assert len(found) == (len(hashes(text, shingling)) if has_words else 0)
    for indices in zip(*found, strict=True):
        assert list(indices) == sorted(indices)
    assert all(0 <= start < end <= len(text) for start, end in found)


@given(st.text(st.sampled_from(ASCII_NASTY)) | TEXTS, SHINGLINGS)
@example("Stra\xdfe \ufb01 \u3392 x\u0301\u0323y", Shingling("char", 3))
@example("\xbd\u0e33\u0e01 \u1fb3\u0345", Shingling("char", 2))
@example("Stra\xdfe, Gro\xdf. One two", Shingling("word", 1))
def test_a_stretch_holds_its_shingle(text: str, shingling: Shingling) -> None:
    """And more only where a character of the text folds to several, or at blanks."""
    for stretch, own in zip(slices(text, shingling), hashes(text, shingling), strict=True):
        found = hashes(stretch, shingling)
        if own not in found:
            # Stretches are folded without the blanks at their ends.
            assert shingling.kind == "char"
            assert collapsed("|" + stretch + "|")[1:-1] != collapsed(stretch)
        elif text.isascii() or (fold(text) == text and fold(stretch) == stretch):
            assert found == [own] or stretch != stretch.strip()


def test_offsets_of_a_text_that_changes_its_length() -> None:
    assert slices("Gro\xdfe \ufb01sche, e\u0301te\u0301!", Shingling("word", 1)) == [
        "Gro\xdfe",
        "\ufb01sche",
        "e\u0301te\u0301",
    ]
    assert slices("a \t b\xdf", Shingling("char", 2)) == ["a \t ", " \t b", "b\xdf", "\xdf"]
    assert slices("  one  ", Shingling("char", 9)) == ["one"]
    assert slices("\uff76\uff9e!", Shingling("char", 1)) == ["\uff76\uff9e", "!"]
    assert slices("東京 tower", Shingling("word", 2)) == ["東京", "京 tower"]


def test_what_composes_with_a_character_before_it_is_known() -> None:
    """By Unicode's own data: the second characters of all canonical compositions."""
    seconds: set[str] = set()
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.normalize("NFD", chr(code))
        if unicodedata.normalize("NFC", parts) == chr(code):
            seconds.update(parts[1:])
    assert len(seconds) > 100
    assert not [hex(ord(second)) for second in seconds if never_combines(second)]
    letters = "a\xdfß東あ가\u05d0\u0627\U0001f600 1"
    assert all(map(never_combines, letters))


@given(st.lists(TEXTS | st.just(""), min_size=1, max_size=5), st.sampled_from(["word", "char"]))
@example(["\xe9", "\u0344b", "", "a"], "word")
@example(["", ""], "char")
@example(["one two", "", "Two"], "word")
@example(["0", "\xad\u200b", "1"], "word")
def test_units_of_texts_together_are_those_of_each_alone(
    texts: list[str], kind: Literal["word", "char"]
) -> None:
    units = cut(texts, kind)
    every = [*zip(folded(units), units.starts.tolist(), units.stops.tolist(), strict=True)]
    for text, count in zip(texts, units.counts.tolist(), strict=True):
        alone = cut([text], kind)
        expected = [*collapsed(text)] if kind == "char" else oracles.words(text)
        if kind == "word" and not any(map(oracles.is_word_character, oracles.fold(text))):
            expected = []  # a text of signs is one shingle, and has no words
        assert folded(alone) == expected
        some, every = every[:count], every[count:]
        bounds = alone.starts.tolist(), alone.stops.tolist()
        assert some == [*zip(folded(alone), *bounds, strict=True)]
    assert not every


def folded(units: Units) -> list[str]:
    bounds = zip(units.begins.tolist(), units.ends.tolist(), strict=True)
    return [units.folded[i:j].decode("utf-8", "surrogatepass") for i, j in bounds]
