"""Two texts side by side: nothing lost, nothing said to be equal that is not."""

from __future__ import annotations

import random
from functools import partial

import pytest
from helpers import calls_of
from hypothesis import given
from hypothesis import strategies as st

from lshdb.model import Passage
from lshdb.search.differences import Line, Row, differences, shown_rows

LINES = st.lists(st.sampled_from(["a b c", "a b d", "", "  x", "==", "y" * 700, "S. T. " * 80]))
ENDS = st.sampled_from(["\n", "\r\n", "\u2028"])


def whole(line: Line | None) -> str:
    return "" if line is None else "".join(piece.text for piece in line.pieces)


def marked(line: Line | None) -> str:
    """A line with what changed in brackets."""
    pieces = () if line is None else line.pieces
    return "".join(one.text if one.kind == "same" else f"[{one.text}]" for one in pieces)


def check(a: str, b: str, rows: list[Row]) -> None:
    """Assert that the rows are both texts, in order, and equal where they say so."""
    same = []
    for text, lines in ((a, [row.a for row in rows]), (b, [row.b for row in rows])):
        shown = [line for line in lines if line is not None]
        assert all(text.startswith(whole(line), line.start) for line in shown)
        assert "".join(map(whole, shown)) == "".join(text.splitlines())
        numbers = [line.number for line in shown if line.number]
        assert numbers == list(range(1, len(text.splitlines()) + 1))
        pieces = [piece for line in shown for piece in line.pieces if piece.kind == "same"]
        same.append("".join("".join(piece.text.split()) for piece in pieces))
    assert same[0] == same[1]
    for row in rows:
        assert {"a": row.a, "b": row.b} != {"a": None, "b": None}
        kinds = {piece.kind for line in (row.a, row.b) if line for piece in line.pieces}
        if row.kind == "same":
            assert whole(row.a).rstrip() == whole(row.b).rstrip()
            assert kinds <= {"same"}
        if row.kind == "only":
            assert row.a is None or row.b is None


@given(LINES, LINES, ENDS)
def test_rows_are_both_texts_and_equal_where_they_say_so(
    a: list[str], b: list[str], end: str
) -> None:
    check(end.join(a), end.join(b), differences(end.join(a), end.join(b)))
    assert all(row.kind == "same" for row in differences(end.join(a), end.join(a)))


@given(st.text(alphabet="ab. \n\t\r\u2028\u4e00\U0001f98a"), st.text(alphabet="ab. \n\u4e00"))
def test_any_texts(a: str, b: str) -> None:
    check(a, b, differences(a, b))
    for row in differences(a, b, blanks=False):
        if row.kind == "same":
            assert whole(row.a).split() == whole(row.b).split()


def test_lines_are_aligned_behind_what_was_put_in() -> None:
    a = [f"line {number} of a text" for number in range(50)]
    b = [*a[:10], "new", "newer", *a[10:20], *a[25:30], "line 30 of the text", *a[31:]]
    rows = differences("\n".join(a), "\n".join(b))
    changed = [row for row in rows if row.kind != "same"]
    lines = [(row.a and row.a.number, row.b and row.b.number) for row in changed]
    removed = [(line, None) for line in range(21, 26)]
    assert lines == [(None, 11), (None, 12), *removed, (31, 28)]
    assert shown_rows(rows, 2) == [*range(8, 14), *range(20, 29), *range(30, 35)]
    assert [marked(line) for line in (changed[-1].a, changed[-1].b)] == [
        "line 30 of [a] text",
        "line 30 of [the] text",
    ]


def test_prose_on_one_line_is_aligned_by_its_sentences() -> None:
    rng = random.Random(3)
    words = [f"w{rng.randrange(10**6)}" for _ in range(3_000)]
    for separator in (" ", ". "):
        a = separator.join(words)
        b = separator.join(["put", "in", *words[:1_000], *words[1_010:]])
        rows = differences(a, b)
        check(a, b, rows)
        assert sum(len(whole(row.a)) for row in rows if row.kind != "same") < 2_500, "of 24,000"
        assert max(len(whole(row.a)) for row in rows) <= 620
        assert separator != " " or 50 < len(rows) < 150, "one word in 32"


def test_a_paragraph_with_other_line_breaks_is_the_same_word_by_word() -> None:
    words = [f"word{number}" for number in range(60)]
    a = "\n".join(" ".join(words[at : at + 10]) for at in range(0, 60, 10))
    words[30] = "new"
    b = "\n".join(" ".join(words[at : at + 7]) for at in range(0, 60, 7))
    rows = differences(a, b)
    check(a, b, rows)
    changed = [piece.text.strip() for row in rows for line in (row.a, row.b) if line
               for piece in line.pieces if piece.kind != "same"]  # fmt: skip
    assert sorted(changed) == ["new", "word30"]
    assert "only" not in {row.kind for row in rows}


def test_what_moved_is_marked_where_it_is_a_word_or_more() -> None:
    text = "all of this moved\nthis part moved, this one not\nno part of it\nmoved"
    spans = [(0, 17), (10, 33), (48, 51), (62, 67)]
    passages = [Passage(*span, 0, 0, 1, 1, 1) for span in reversed(spans)]
    kinds = [
        [piece.kind for piece in row.a.pieces]
        for row in differences(text, "", passages=passages)
        if row.a
    ]
    assert kinds == [["moved"], ["moved", "changed"], ["changed"], ["moved"]]


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
    rng = random.Random(seed)
    once = [f"line {number}" for number in range(30)]
    for a, b in (
        [drawn(rng, rng.randrange(60, 90), 1, "{};") for _ in "ab"],
        ["\n".join(once), "\n".join(rng.sample(once, 25))],
    ):
        rows = differences(a, b)
        check(a, b, rows)
        same = sum(row.kind == "same" for row in rows)
        assert same == longest_common(a.split("\n"), b.split("\n"))


def test_changed_lines_stand_beside_those_with_most_words_in_common() -> None:
    a = "all of these words\nred green blue\nnone at all"
    b = "new\nred green yellow\nall of those words"
    rows = differences(a, b)
    beside = [(whole(row.a), whole(row.b)) for row in rows if row.a and row.b]
    assert beside in (
        [("red green blue", "red green yellow")],
        [("all of these words", "all of those words")],
    )
    rows = differences("one two three four\nsix", "ten\none two three five\neight")
    assert [(marked(row.a), marked(row.b)) for row in rows] == [
        ("", "[ten]"),
        ("one two three [four]", "one two three [five]"),
        ("[six]", ""),
        ("", "[eight]"),
    ]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("f(one, two)", "f(six, ten)", "f([six, ten])"),  # the comma alone says nothing
        ("one then two", "six then ten", "[six] then [ten]"),
        ("one to two", "six to ten", "[six to ten]"),
        ("f(two)", "f(one, two, ten)", "f([one,] two[, ten])"),
        ("one: Final = 1", "two: Final = 2", "[two]: Final = [2]"),
        ("a  b", "a b", "a[ ]b"),
        ("  a", "a  ", "a  "),
        ("one, two", "one two", "one two"),
        ("\u732b\u304c\u597d\u304d", "\u72ac\u304c\u597d\u304d", "[\u72ac]\u304c\u597d\u304d"),
    ],
)
def test_what_is_equal_between_changes_is_a_word_or_more(a: str, b: str, expected: str) -> None:
    (row,) = differences(a, b)
    assert marked(row.b) == expected


def test_long_texts_without_a_common_line_take_no_long_time() -> None:
    """Nor do texts of few different lines, which no line aligns, or lines of few signs."""

    def take(a: str, b: str, found: list[Row]) -> None:
        found += differences(a, b)

    rng = random.Random(5)
    signs = "".join(map(chr, range(0x2190, 0x2320)))
    pairs = [["\n".join(f"{side}{i}" for i in range(3_000)) for side in "ab"]]
    pairs += [[f"{word} " * 3_000 for word in ("word", "drow")]]
    pairs += [["\n".join([line * 74] * 150) for line in ("a b ", "b c ")]]
    for shape in ((2_000, 1, "xyz"), (150, 299, "{};,."), (150, 299, signs)):
        pairs.append([drawn(rng, *shape) for _ in "ab"])
    for a, b in pairs:
        # Some for each character; a call for each pair of lines would make millions.
        found: list[Row] = []
        calls = calls_of(partial(take, a, b, found))
        assert calls < 20 * (len(a) + len(b))
        check(a, b, found)
