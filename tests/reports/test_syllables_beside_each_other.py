"""Of two Thai texts that differ in a syllable, nothing was equal on a page up to the next blank."""

from __future__ import annotations

import pytest

from lshdb.apps.compare.differences import agreement, differences


@pytest.mark.parametrize(
    ("a", "b", "changed"),
    [
        pytest.param("ประเทศไทยมีภาษา", "ประเทศลาวมีภาษา", ["ไทย", "ลาว"], id="Thai"),
        pytest.param("မြန်မာဘာသာ", "မြန်မာစာသာ", ["ဘာ", "စာ"], id="Burmese"),
        pytest.param("हिन्दी में लिखो", "हिन्दी से लिखो", ["में", "से"], id="marks of Hindi"),
        pytest.param(
            "cafe\u0301 au lait", "cafe\u0300 au lait", ["cafe\u0301", "cafe\u0300"], id="accents"
        ),
        pytest.param(
            "東京\U000e0100都", "東京都", ["京\U000e0100", "京"], id="a form of an ideograph"
        ),
    ],
)
def test_what_changed_is_shown_in_whole_syllables(a: str, b: str, changed: list[str]) -> None:
    [row] = differences(a, b)
    assert row.a is not None
    assert row.b is not None
    pieces = [piece for line in (row.a, row.b) for piece in line.pieces]
    assert [piece.text for piece in pieces if piece.kind == "changed"] == changed


def test_texts_with_the_same_words_are_said_to_have_them() -> None:
    """As they are compared: signs without width, and forms of letters, make no difference."""
    assert "same words" in agreement(
        "So\u00adft caf\u00e9, here", "soft cafe\u0301 here!", programs=False
    )
    assert not agreement("soft caf\u00e9", "soft cafe", programs=False)
    assert not agreement("\U0001f600", "\U0001f601", programs=False)
