"""What the page of two documents shows of them: rows, what is left out, colours of code."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jinja2", reason="the extra `web` is not installed")

import lshdb
from lshdb.search.differences import Piece
from lshdb.web import beside, colouring
from lshdb.web.beside import (
    longest_passages,
    opened_rows,
    part_of,
    texts_beside,
    worded,
)
from lshdb.web.rendering import pieces_html

CODE = '''def mean(values):  # of <b>numbers</b>
    """A docstring & more."""
    return sum(values) / 2 if values else "</table><script>"
'''


def shown(part: tuple[list[beside.Line], list[int]]) -> list[int | str]:
    """The places of the rows, and how many are left out between them."""
    return [
        f"{line.skipped} left out" if line.kind == "left out" else line.first for line in part[0]
    ]


def test_words_of_code_have_their_classes() -> None:
    (words,) = colouring.words_of([("lib/mean.py", CODE)])
    assert words is not None
    assert [(CODE[start:end], kind) for start, end, kind in words] == [
        ("def", "keyword"),
        ("mean", "name"),
        ("# of <b>numbers</b>", "comment"),
        ('"""A docstring & more."""', "string"),
        ("return", "keyword"),
        ("2", "number"),
        ("if", "keyword"),
        ("else", "keyword"),
        ('"</table><script>"', "string"),
    ]


@pytest.mark.parametrize("key", ["essay.txt", "README.md", "anna", "", "x.py/", "a.py\0", "[", "*"])
def test_the_name_of_the_file_alone_says_what_is_code(key: str) -> None:
    assert colouring.words_of([(key, CODE)]) == [None]


def test_without_pygments_nothing_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    assert colouring.words_of([("a.py", CODE), ("b.py", CODE)]) == [None, None]


def test_what_takes_too_long_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colouring, "_SECONDS", 0.001)
    assert colouring.words_of([("a.py", CODE)]) == [None]


def test_of_a_long_text_the_beginning_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colouring, "COLOURED", 100)
    (words,) = colouring.words_of([("a.py", "x = 1\n" * 1_000)])
    assert words is not None
    assert [end for _, end, _ in words] == list(range(5, 100, 6))


WORDS = st.lists(st.integers(0, 60), unique=True, max_size=12).map(
    lambda places: [(a, b, "name") for a, b in list(pairwise(sorted(places)))[::2]]
)


@given(st.lists(st.text("ab<&\n", min_size=1, max_size=9)), st.integers(0, 30), WORDS)
def test_pieces_are_cut_where_words_begin_and_end(
    texts: list[str], start: int, words: list[tuple[int, int, str]]
) -> None:
    pieces = [Piece(text, "changed") for text in texts]
    found = worded(pieces, start, words)
    assert ["".join(text for _, text in cut) for _, cut in found] == texts
    at = start
    for _, cut in found:
        for name, text in cut:
            assert text
            for place in range(at, at + len(text)):
                assert bool(name) == any(low <= place < high for low, high, _ in words)
            at += len(text)


def test_hostile_words_are_escaped() -> None:
    text = "</span><script>alert(1)</script> & \u202e"
    made = pieces_html(
        [("changed", [("string", text), ("", text)]), ("moved", [("", text)])], "del"
    )
    safe = "&lt;/span&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; \\u202e"
    assert made == (
        f'<del><span class="string">{safe}</span>{safe}</del><span class="moved">{safe}</span>'
    )


def test_equal_rows_are_opened_by_steps() -> None:
    lines = [f"line {number}" for number in range(100)]
    other = [*lines[:50], "another line", *lines[51:]]
    found = texts_beside("\n".join(lines), "\n".join(other))
    near = [48, 49, 50, 51, 52]
    assert shown(part_of(found, 1, only=True)) == ["48 left out", *near, "47 left out"]
    opened = opened_rows("53-56,90-120,91-92")
    assert shown(part_of(found, 1, only=True, opened=opened)) == [
        "48 left out",
        *near,
        *range(53, 56),
        "34 left out",
        *range(90, 100),
    ]
    assert shown(part_of(found, 1, only=False)) == list(range(100))


def test_pages_of_differences_leave_no_row_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "PART_ROWS", 7)
    lines = [f"line {number}" for number in range(200)]
    other = [line.upper() if number % 23 == 5 else line for number, line in enumerate(lines)]
    found = texts_beside("\n".join(lines), "\n".join(other))
    for only in (False, True):
        pages = len(part_of(found, 1, only=only)[1])
        assert pages > 3
        done = 0
        for page in range(1, pages + 1):
            for line in part_of(found, page, only=only, opened=[(60, 64)])[0]:
                assert line.first == done
                done += line.skipped or 1
        assert done == len(found.differences.rows)
        with pytest.raises(lshdb.KeyNotFound):
            part_of(found, pages + 1, only=only)


@pytest.mark.parametrize("text", ["5", "a-b", "-", "3-4,", "1-2-3", "0-3000", "²-3", "9" * 30])
def test_rows_that_cannot_be_opened_are_refused(text: str) -> None:
    with pytest.raises(lshdb.UsageError):
        opened_rows(text)


def test_blanks_may_be_ignored() -> None:
    a = "if x:\n  y = f(1, 2)\n  z = 3\nend of it\n"
    b = "if x:\n    y = f(1,  2)\n    z = 4\nend of it\n"
    for blanks, same in ((True, [True, False, False, True]), (False, [True, True, False, True])):
        found = texts_beside(a, b, keys=("a.py", "b.py"), blanks=blanks)
        assert [row.same for row in found.differences.rows] == same
    changed = part_of(found, 1, only=False)[0][2]
    assert changed.b == [
        ("same", [("", "    ")]),
        ("same", [("", "z = ")]),
        ("changed", [("number", "4")]),
    ]


def test_what_moved_leads_to_its_place_in_the_other_text(path: Path) -> None:
    moved = "this paragraph went to quite another place of the text\nand all of its lines did too"
    rest = [f"line {number} of these stays where it was" for number in range(9)]
    with lshdb.open(path, threshold=0.3) as db:
        db.add_many([("a", "\n".join([moved, *rest])), ("b", "\n".join([*rest, moved]))])
        made = db.compare("a", "b")
    assert isinstance(made.a_content, str)
    assert isinstance(made.b_content, str)
    assert made.passages is not None
    found = texts_beside(made.a_content, made.b_content, passages=made.passages)
    assert [
        (each.a_line, each.b_line, *places)
        for each, *places in longest_passages(found, made.passages)
    ] == [(3, 1, 2, 2), (1, 10, 0, 11)]
    lines = part_of(found, 1, only=False)[0]
    assert [(line.first, line.elsewhere) for line in lines if line.elsewhere] == [
        (0, (11, 10)),
        (11, (0, 1)),
    ]
