"""Two texts side by side: nothing lost, nothing said to be equal that is not."""

from __future__ import annotations

import random
import re
import textwrap
from functools import partial
from pathlib import Path

import documents
import pytest
from helpers import calls_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import longest_common

import lshdb
from lshdb.apps.compare import alignment
from lshdb.apps.compare.differences import Line, Piece, Row, agreement, differences, shown_rows

LINES = st.builds(
    str.join,
    st.sampled_from(["\n", "\r\n", "\u2028"]),
    st.lists(st.sampled_from(["a b c", "a b d", "", "  x", "==", "y" * 700, "S. T. " * 80])),
)
TEXTS = LINES | st.text(alphabet="ab. \n\t\r\u2028\u4e00\U0001f98a")
LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\f?")


def whole(line: Line | None) -> str:
    return "" if line is None else "".join(piece.text for piece in line.pieces)


def marked(line: Line | None) -> str:
    """A line with what changed in brackets."""
    pieces = () if line is None else line.pieces
    return "".join(one.text if one.kind == "same" else f"[{one.text}]" for one in pieces)


def pieces_of(rows: list[Row], *sides: str) -> list[Piece]:
    lines = [getattr(row, side) for row in rows for side in sides or "ab"]
    return [piece for line in lines if line for piece in line.pieces]


def changed_in(rows: list[Row], *sides: str) -> list[Piece]:
    return [piece for piece in pieces_of(rows, *sides) if piece.kind != "same"]


def check(a: str, b: str, rows: list[Row]) -> None:
    """Assert that the rows are both texts, in order, and equal where they say so; that only rows
    with a changed word differ, and no mark has blanks around it.
    """
    same = []
    for text, side in ((a, "a"), (b, "b")):
        shown = [line for row in rows if (line := getattr(row, side))]
        assert all(text.startswith(whole(line), line.start) for line in shown)
        assert "".join("".join(map(whole, shown)).split()) == "".join(text.split())
        starts = {0, *(match.end() for match in LINE_END.finditer(text))}
        numbers = [line.number for line in shown if line.number]
        assert numbers == sorted({*numbers})
        assert all(line.number or line.start not in starts for line in shown)
        pieces = [piece.text for piece in pieces_of(rows, side) if piece.kind == "same"]
        same.append("".join("".join(pieces).split()))
    assert same[0] == same[1]
    assert all(piece.text == piece.text.strip() for piece in changed_in(rows))
    for row in rows:
        kinds = {piece.kind for piece in changed_in([row])}
        both = bool(row.a and row.b)
        assert row.a or row.b
        if row.kind == "same":
            assert not kinds
            words = ["".join(whole(line).split()) for line in (row.a, row.b)]
            assert words[0] == words[1]
            assert both or not words[0]
        else:
            assert kinds & {"changed", "moved"}
            assert (row.kind == "only") != both


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_rows_are_both_texts_and_equal_where_they_say_so(a: str, b: str) -> None:
    check(a, b, differences(a, b))
    assert all(row.kind == "same" for row in differences(a, a))


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


def test_what_moved_is_marked_in_both_texts_with_its_other_place() -> None:
    moved = "this sentence went to quite another place of the text."
    rest = [f"number {number} of these stays where it was, as {number}." for number in range(9)]
    short = "not this one."
    a, b = "\n".join([moved, short, *rest]), " ".join([*rest, moved, short])
    rows = differences(a, b)
    check(a, b, rows)
    for side, place in (("a", b.index(moved)), ("b", 0)):
        pieces = changed_in(rows, side)
        assert {(piece.kind, piece.place) for piece in pieces} == {("moved", place)}
        assert " ".join(piece.text for piece in pieces).split() == f"{moved} {short}".split()
    rows = differences(f"{short}\n{a[90:]}", f"{b[:90]} {short}")
    assert {piece.kind for piece in changed_in(rows)} == {"changed"}, "three words are no passage"


def drawn(rng: random.Random, lines: int, signs: int, alphabet: str) -> str:
    return "\n".join("".join(rng.choices(alphabet, k=signs)) for _ in range(lines))


def in_lines(words: list[str], size: int) -> str:
    return "\n".join(" ".join(words[i : i + size]) for i in range(0, len(words), size))


@pytest.mark.parametrize("seed", range(6))
def test_as_many_words_are_aligned_as_can_be(seed: int) -> None:
    rng = random.Random(seed)
    once = [f"line{number}" for number in range(30)]
    for a, b in (
        [drawn(rng, rng.randrange(60, 90), 1, "xyz") for _ in "ab"],
        [drawn(rng, rng.randrange(20, 30), 6, "xyz ") for _ in "ab"],
        ["\n".join(once), "\n".join(rng.sample(once, 25))],
        [in_lines(once, 7), in_lines([*once[:9], "new", *once[10:]], 4)],
    ):
        rows = differences(a, b)
        check(a, b, rows)
        marks = [piece.text for piece in changed_in(rows)]
        fewest = len(a.split() + b.split()) - 2 * longest_common(a.split(), b.split())
        assert len(" ".join(marks).split()) == fewest


@pytest.mark.parametrize("window", [300, 1_000])
def test_texts_longer_than_a_window_are_aligned_by_their_pieces(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alignment, "WINDOW", window)
    rng = random.Random(window)
    words = [f"w{rng.randrange(500)}" for _ in range(4_000)]
    changed = [*words[:900], *(f"new{number}" for number in range(1_000)), *words[1_000:]]
    for index in range(0, len(changed), 200):
        changed[index] = "other"
    rows = differences(in_lines(words, 9), in_lines(changed, 11))
    check(in_lines(words, 9), in_lines(changed, 11), rows)
    marks = sum(len(piece.text.split()) for piece in changed_in(rows))
    assert 1_100 < marks < 1.1 * (1_100 + 2 * 25)
    halves = in_lines(words[2_000:] + words[:2_000], 9)
    moved = [piece.kind for piece in changed_in(differences(in_lines(words, 9), halves))]
    assert moved.count("moved") > 0.9 * len(moved)


def test_changed_lines_stand_beside_those_with_most_words_in_common() -> None:
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
        ("f(one, two)", "f(six, ten)", "f([six], [ten])"),
        ("one then two", "six then ten", "[six] then [ten]"),
        ("one to two", "six to ten", "[six] to [ten]"),
        ("f(two)", "f(one, two, ten)", "f([one,] two[, ten])"),
        ("one: Final = 1", "two: Final = 2", "[two]: Final = [2]"),
        ("a  b", "a b", "a b"),
        ("\u201cone\u201d \ufb01ve", '"one" five', '"one" five'),
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
    pairs = [["\n".join(f"{side}{i}" for i in range(800)) for side in "ab"]]
    pairs += [[f"{word} " * 800 for word in ("word", "drow")]]
    pairs += [["\n".join([line * 74] * 60) for line in ("a b ", "b c ")]]
    for shape in ((600, 1, "xyz"), (40, 299, "{};,."), (40, 299, signs)):
        pairs.append([drawn(rng, *shape) for _ in "ab"])
    for a, b in pairs:
        # Some for each character; a call for each pair of lines would make millions.
        found: list[Row] = []
        calls = calls_of(partial(take, a, b, found))
        assert calls < 40 * (len(a) + len(b))
        check(a, b, found)


# syllables


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
    assert not agreement("\U0001f600", "fox", programs=False)
    assert agreement("+++ ---", " +++  ---", programs=False) == "The same signs; blanks differ"
    assert agreement("\U0001f600", "\U0001f600", programs=False) == "The same text"


# two formats of one text


WORDS = [
    "harbour",
    "boats",
    "tide",
    "gulls",
    "roofs",
    "evening",
    "letter",
    "office",
    "waffle",
    "winter",
    "meadow",
    "infinite",
]


def sentences(rng: random.Random) -> list[str]:
    """Paragraphs of three sentences each."""
    return [
        " ".join(
            " ".join(f"{rng.choice(WORDS)}{rng.choice('abcdefgh')}" for _ in range(14)).capitalize()
            + "."
            for _ in range(3)
        )
        for _ in range(12)
    ]


def edited(rng: random.Random, paragraphs: list[str]) -> list[str]:
    """The paragraphs with some other words, one paragraph less and a new one."""
    words = [paragraph.split() for paragraph in paragraphs]
    for paragraph in rng.sample(words, 4):
        paragraph[rng.randrange(len(paragraph))] = "changed"
    del words[rng.randrange(len(words))]
    words.insert(rng.randrange(len(words)), ["This", "sentence", "is", "new."])
    return [" ".join(paragraph) for paragraph in words]


def wrapped(path: Path, paragraphs: list[str], width: int) -> None:
    lines = [line for text in paragraphs for line in [*textwrap.wrap(text, width), ""]]
    text = "\n".join(lines)
    # A long word at the end of a line is broken, as by a program that reads pictures of pages.
    path.write_text(re.sub(r"\b(\w{4})(\w{4,})\n(?=\w)", r"\1-\n\2 ", text))


@pytest.mark.extra("documents")
def test_what_is_marked_between_formats_is_what_changed(tmp_path: Path) -> None:
    rng = random.Random(7)
    paragraphs = sentences(rng)
    documents.html(tmp_path / "page.html", paragraphs)
    documents.pdf(tmp_path / "paper.pdf", edited(rng, paragraphs))
    documents.docx(tmp_path / "w.docx", edited(rng, paragraphs))
    wrapped(tmp_path / "scanned.txt", edited(rng, paragraphs), 40)
    with lshdb.open(tmp_path / "lsh.db") as db:
        db.add_files([str(tmp_path)])
        texts = {Path(key).name.partition("#")[0]: str(db.get(key).content) for key in db}
    page = texts.pop("page.html")
    for name, text in texts.items():
        rows = differences(page, text)
        lines = [line for row in rows for line in (row.a, row.b) if line]
        marks = [piece.text for line in lines for piece in line.pieces if piece.kind != "same"]
        a, b = (re.findall(r"\w+", each) for each in (page, text))
        fewest = len(a) + len(b) - 2 * longest_common(a, b)
        marked = len(re.findall(r"\w+", " ".join(marks)))
        assert marked <= 1.2 * fewest, name
        assert fewest > 40, "a paragraph went, another came"
        assert sum(row.kind != "same" for row in rows) <= 12, name
        assert sum(row.a is not None and row.b is not None for row in rows) >= 20, name
    assert len(texts) == 3
