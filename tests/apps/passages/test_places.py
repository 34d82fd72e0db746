"""Lines of stretches of texts, against counting line ends."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lshdb.apps.passages.positions import line_numbers


@given(st.lists(st.tuples(st.text("a\n\r\u2028", min_size=1), st.integers(0), st.integers(0))))
def test_lines_end_with_line_feeds_or_else_with_carriage_returns(
    cases: list[tuple[str, int, int]],
) -> None:
    spans, expected = list[tuple[int, int, int]](), list[list[int]]()
    for number, (text, a, b) in enumerate(cases):
        start = a % len(text)
        stop = start + 1 + b % (len(text) - start)
        end = "\n" if "\n" in text else "\r"
        spans.insert(0, (number, start, stop))
        expected.insert(0, [text[:start].count(end) + 1, text[: stop - 1].count(end) + 1])
    columns = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    found = line_numbers([text for text, *_ in cases], *columns)
    assert np.array(found).T.tolist() == expected
