"""Which texts have the colours of code; test_web.py has the pages."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("jinja2", reason="the extra `web` is not installed")

from lshdb.web import colouring

CODE = '''def mean(values):  # of <b>numbers</b>
    """A docstring & more."""
    return sum(values) / 2 if values else "</table><script>"
'''


@pytest.mark.parametrize("key", ["essay.txt", "README.md", "anna", "", "x.py/", "a.py\0", "[", "*"])
def test_the_name_of_the_file_alone_says_what_is_code(key: str) -> None:
    assert colouring.words_of([(key, CODE)]) == [None]


def test_without_pygments_nothing_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    assert colouring.words_of([("a.py", CODE), ("b.py", CODE)]) == [None, None]


def test_what_takes_too_long_has_no_colours() -> None:
    assert colouring.words_of([("a.py", CODE)], seconds=0.001) == [None]
