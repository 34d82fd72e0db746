"""Two texts side by side: nothing lost, nothing said to be equal that is not."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest
from helpers import calls_of
from hypothesis import given
from hypothesis import strategies as st

from lshdb.search.differences import (
    Differences,
    differences,
    near_differences,
    segments,
    word_differences,
)

LINES = st.lists(st.sampled_from(["a b c", "a b d", "", "  x", "==", "y" * 700, "S. T. " * 80]))
ENDS = st.sampled_from(["\n", "\r\n", "\u2028"])


def check(found: Differences) -> None:
    """Assert that the rows are both texts, in order, and equal where they say so."""
    assert [row.a for row in found.rows if row.a] == list(segments(found.a_text))
    assert [row.b for row in found.rows if row.b] == list(segments(found.b_text))
    for row in found.rows:
        a, b = found.pieces(row, [(0, 30)], [(2, 40)])
        texts = []
        for segment, text, pieces in ((row.a, found.a_text, a), (row.b, found.b_text, b)):
            whole = "" if segment is None else text[segment.start : segment.end]
            assert "".join(piece.text for piece in pieces) == whole
            texts.append(whole)
            kinds = {piece.kind for piece in pieces if piece.text}
            assert kinds <= ({"same"} if row.same else {"same", "changed", "moved"})
        if row.same:
            assert texts[0].rstrip() == texts[1].rstrip()
        same = ["".join(p.text for p in pieces if p.kind == "same") for pieces in (a, b)]
        assert same[0].rstrip() == same[1].rstrip()


@given(LINES, LINES, ENDS)
def test_rows_are_both_texts_and_equal_where_they_say_so(
    a: list[str], b: list[str], end: str
) -> None:
    check(differences(end.join(a), end.join(b)))
    assert all(row.same for row in differences(end.join(a), end.join(a)).rows)


@given(st.text(alphabet="ab. \n\t\r\u2028\U0001f98a"), st.text(alphabet="ab. \n"))
def test_any_texts(a: str, b: str) -> None:
    check(differences(a, b))
    one, other = word_differences(a, b)
    assert "".join(piece.text for piece in one) == a
    assert "".join(piece.text for piece in other) == b
    cut = list(segments(a))
    assert [segment.line for segment in cut if segment.line] == [
        number for number, _ in enumerate(a.splitlines(), 1)
    ]
    assert "".join(a[one.start : one.end] for one in cut) == "".join(a.splitlines())


def test_lines_are_aligned_behind_what_was_put_in() -> None:
    a = [f"line {number} of a text" for number in range(50)]
    b = [*a[:10], "new", "newer", *a[10:20], *a[25:30], "line 30 of the text", *a[31:]]
    found = differences("\n".join(a), "\n".join(b))
    changed = [row for row in found.rows if not row.same]
    lines = [(row.a and row.a.line, row.b and row.b.line) for row in changed]
    removed = [(line, None) for line in range(21, 26)]
    assert lines == [(None, 11), (None, 12), *removed, (31, 28)]
    near = near_differences(found.rows, 2)
    assert near == [*range(8, 14), *range(20, 29), *range(30, 35)]
    pieces = found.pieces(changed[-1])
    assert [[p.text for p in one if p.kind == "changed"] for one in pieces] == [["a"], ["the"]]


def test_prose_on_one_line_is_aligned_by_its_sentences() -> None:
    rng = random.Random(3)
    words = [f"w{rng.randrange(10**6)}" for _ in range(3_000)]
    for separator in (" ", ". "):
        a = separator.join(words)
        b = separator.join(["put", "in", *words[:1_000], *words[1_010:]])
        found = differences(a, b)
        check(found)
        different = sum(
            row.a.end - row.a.start for row in found.rows if not row.same and row.a is not None
        )
        assert different < 2_500  # of some 24,000 characters
        cut = list(segments(f"one\n{a}"))
        assert [segment.line for segment in cut[:9]] == [1, 2, *[0] * 7]
        assert max(segment.end - segment.start for segment in cut) <= 620
        assert separator != " " or 50 < len(cut) < 150, "one word in 32"


def test_a_paragraph_that_moved_is_shown_as_moved() -> None:
    moved = "this paragraph went to another place of the text\n"
    rest = [f"line {number} stays\n" for number in range(9)]
    a, b = moved + "".join(rest), "".join(rest) + moved
    found = differences(a, b)
    passages = (0, len(moved) - 1), (len(b) - len(moved), len(b) - 1)
    kinds = [
        [piece.kind for side in found.pieces(row, *([span] for span in passages)) for piece in side]
        for row in found.rows
        if not row.same
    ]
    assert kinds == [["moved"], ["moved"]]


@pytest.mark.parametrize("seed", range(20))
def test_what_moved_is_marked_where_it_is_a_word_or_more(seed: int) -> None:
    rng = random.Random(seed)
    text = "\n".join("".join(rng.choices("abc  ", k=rng.randint(1, 50))) for _ in range(12))
    cuts = sorted(rng.sample(range(len(text)), 14))
    spans = [*zip(cuts[::2], cuts[1::2], strict=True)]
    found = differences(text, "")
    for row in found.rows:
        assert row.a is not None
        start, end = row.a.start, row.a.end
        kinds = ["changed"] * (end - start)
        for low, high in ((max(low, start), min(high, end)) for low, high in spans):
            if text[low:high].strip() and (high - low >= 12 or (low, high) == (start, end)):
                kinds[low - start : high - start] = ["moved"] * (high - low)
        pieces = found.pieces(row, spans)[0]
        assert [piece.kind for piece in pieces for _ in piece.text] == kinds


def drawn(rng: random.Random, lines: int, signs: int, alphabet: str) -> str:
    return "\n".join("".join(rng.choices(alphabet, k=signs)) for _ in range(lines))


def longest_common(a: list[str], b: list[str]) -> int:
    """The length of a longest common subsequence, by the table of all pairs."""
    row = [0] * (len(b) + 1)
    for one in a:
        before, row = row, [0]
        for j, other in enumerate(b):
            row.append(before[j] + 1 if one == other else max(before[j + 1], row[j]))
    return row[-1]


@pytest.mark.parametrize("seed", range(20))
def test_as_many_lines_are_aligned_as_can_be(seed: int) -> None:
    """Of lines that each text has more than once; those that are there once come first."""
    rng = random.Random(seed)
    a, b = (drawn(rng, rng.randrange(60, 90), 1, "{};") for _ in "ab")
    found = differences(a, b)
    check(found)
    assert sum(row.same for row in found.rows) == longest_common(a.split("\n"), b.split("\n"))
    once = [f"line {number}" for number in range(30)]
    mixed = rng.sample(once, 25)
    same = sum(row.same for row in differences("\n".join(once), "\n".join(mixed)).rows)
    assert same == longest_common(once, mixed)


@pytest.mark.parametrize("seed", range(20))
def test_changed_lines_stand_beside_those_with_most_words_in_common(seed: int) -> None:
    rng = random.Random(seed)
    a, b = (
        [
            " ".join([*rng.choices("vwxyz", k=rng.randint(1, 6)), f"{side}{number}"])
            for number in range(rng.randint(2, 6))
        ]
        for side in "ab"
    )

    def alike(one: str, other: str) -> float:
        words, its = Counter(one.split()), Counter(other.split())
        return 2 * (words & its).total() / (words.total() + its.total())

    def best(i: int, j: int) -> float:
        if not i or not j:
            return 0
        score = alike(a[i - 1], b[j - 1])
        paired = best(i - 1, j - 1) + score if score >= 0.3 else 0
        return max(paired, best(i - 1, j), best(i, j - 1))

    rows = differences("\n".join(a), "\n".join(b)).rows
    found = [alike(a[row.a.line - 1], b[row.b.line - 1]) for row in rows if row.a and row.b]
    assert min(found, default=1) >= 0.3
    assert sum(found) == pytest.approx(best(len(a), len(b)))


@pytest.mark.parametrize(
    ("a", "b", "marked"),
    [
        ("f(one, two)", "f(six, ten)", "f([six, ten])"),  # the comma alone says nothing
        ("f(two)", "f(one, two, ten)", "f([one, ]two[, ten])"),
        ("one: Final = 1", "two: Final = 2", "[two]: Final = [2]"),
        ("a  b", "a b", "a[ ]b"),
    ],
)
def test_what_is_equal_between_changes_is_a_word_or_more(a: str, b: str, marked: str) -> None:
    pieces = word_differences(a, b)[1]
    assert "".join(p.text if p.kind == "same" else f"[{p.text}]" for p in pieces) == marked


@pytest.mark.parametrize("seed", range(40))
def test_equal_words_stay_if_they_are_more_than_the_change_at_a_side(seed: int) -> None:
    rng = random.Random(seed)
    start, equal, end = (" ".join(rng.choices([c * 2, c * 3], k=rng.randint(1, 4))) for c in "psk")
    one, other = ([c * rng.randint(1, 9) for c in changed] for changed in ("ab", "xy"))
    texts = [f"{start} {first} {equal} {last} {end}" for first, last in (one, other)]
    least = min(len(word) for word in one + other)
    between = "] {} [" if len(equal.replace(" ", "")) > least else " {} "
    marked = f"{start} [{other[0]}{between.format(equal)}{other[1]}] {end}"
    pieces = word_differences(*texts)[1]
    assert "".join(p.text if p.kind == "same" else f"[{p.text}]" for p in pieces) == marked


def test_long_texts_without_a_common_line_take_no_long_time() -> None:
    """Nor do texts of few different lines, which no line aligns, or lines of few signs."""
    rng = random.Random(5)
    signs = "".join(map(chr, range(0x2190, 0x2320)))
    pairs = [["\n".join(f"{side}{i}" for i in range(9_000)) for side in "ab"]]
    pairs += [[f"{word} " * 9_000 for word in ("word", "drow")]]
    pairs += [["\n".join([line * 74] * 150) for line in ("a b ", "b c ")]]
    for shape in ((5_000, 1, "xyz"), (150, 299, "{};,."), (150, 299, signs)):
        pairs.append([drawn(rng, *shape) for _ in "ab"])
    for a, b in pairs:
        # Some for each character; a call for each pair of lines would make millions.
        assert calls_of(partial(differences, a, b)) < 20 * (len(a) + len(b))
        check(differences(a, b))
