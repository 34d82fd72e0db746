"""Where a text may be cut: against rules for one character after the other."""

from __future__ import annotations

import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshdb.apps.dedup.boundaries import may_be_cut, readable_cuts

EMOJI = "\U0001f468\u200d\U0001f467\U0001f44d\U0001f3fd\u2764\ufe0f\U0001f1e9\U0001f1ea\U0001f1eb"
TEXTS = st.text(
    st.sampled_from(
        "ab1 -'.\r\n\u2019\u0301\xad\u4e00\u304b\u0e40\u0e01\u0e32\u0e33\u1780\u17d2\u17b6" + EMOJI
    ),
    max_size=14,
)


def cut_allowed(text: str, index: int) -> bool:
    """Whether a text may be cut before a character, rule by rule."""
    before, behind = text[:index], text[index:]
    if not before or not behind:
        return True
    character = behind[0]
    silent = character in oracles.SILENT or oracles.combines(character)
    if silent or character in "\u0e32\u0e33" or "\U0001f3fb" <= character <= "\U0001f3ff":
        return False
    if before[-1] == "\u200d" or before[-1] + character == "\r\n":
        return False
    flags = len(before) - len(before.rstrip("\U0001f1e9\U0001f1ea\U0001f1eb"))
    if "\U0001f1e6" <= character <= "\U0001f1ff" and flags % 2:
        return False
    visible = oracles.without_optional(before)
    base = visible.rstrip("\u0301\u17d2\u17b6")[-1:]
    if visible[-1:] == "\u17d2" or base == "\u0e40":
        return False
    letters = "ab1"
    if character in letters and base in letters and base:
        return False
    within = "-'.\u2019"
    if character in within and behind[1:2] and behind[1] in letters and base and base in letters:
        return False
    earlier = oracles.without_optional(before[:-1]).rstrip("\u0301\u17d2\u17b6")[-1:]
    return not (before[-1] in within and character in letters and earlier and earlier in letters)


@given(TEXTS)
def test_a_text_is_cut_where_each_rule_allows_it(text: str) -> None:
    expected = [cut_allowed(text, index) for index in range(len(text) + 1)]
    assert may_be_cut(text).tolist() == expected


@given(TEXTS, st.lists(st.tuples(st.integers(0, 13), st.integers(1, 8)), max_size=4))
def test_spans_end_where_a_text_may_be_cut(text: str, some: list[tuple[int, int]]) -> None:
    """What is cut out is the largest part of what the spans cover, of each stretch of them."""
    found = ((begin, min(begin + size, len(text))) for begin, size in some if begin < len(text))
    spans, last = list[tuple[int, int]](), 0
    for begin, end in sorted(found):
        if end > last:
            spans.append((begin, end))
            last = end
    cuts = readable_cuts(text, spans)
    left = {at for begin, end in cuts for at in range(begin, end)}
    expected, covered = set[int](), {at for begin, end in spans for at in range(begin, end)}
    touching = sorted(covered)
    while touching:
        stretch = [touching.pop(0)]
        while touching and touching[0] == stretch[-1] + 1:
            stretch.append(touching.pop(0))
        inside = [at for at in range(stretch[0], stretch[-1] + 2) if cut_allowed(text, at)]
        # What is left before and behind it does not grow together.
        while inside and not cut_allowed(text[: inside[0]] + text[inside[-1] :], inside[0]):
            inside.pop()
        expected |= {*range(inside[0], inside[-1])} if inside else set()
    assert left == expected
    assert len(cuts) == len(spans)


@pytest.mark.parametrize(
    "whole",
    [
        "well-known",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea",
        "1\ufe0f\u20e3",
        "\uff76\uff9e",
        "\u1112\u1161\u11ab",
    ],
)
def test_what_is_one_sign_or_word_stays_whole(whole: str) -> None:
    text = f"a {whole} b"
    inside = may_be_cut(text)[2 : 3 + len(whole)].tolist()
    assert inside == [True, *[False] * (len(whole) - 1), True]
    assert readable_cuts(text, [(0, 3)]) == [(0, 2)]
    assert readable_cuts(text, [(1, 3 + len(whole))]) == [(1, 2 + len(whole))]
    last = len(whole) + 1
    assert readable_cuts(text, [(last, len(text))]) == [(last + 1, len(text))]
    assert readable_cuts(text, [(0, 3), (3, len(text))]) == [(0, 3), (3, len(text))]
