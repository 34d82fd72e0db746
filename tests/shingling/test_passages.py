"""Shared runs of shingles, against a plain search."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.shingling.passages import Run, shared_runs

SEQUENCES = st.lists(st.integers(0, 6), max_size=40)
MANY = 1_000_000


def runs(a: list[int], b: list[int], most: int = 1_000) -> list[Run]:
    return shared_runs(np.array(a, dtype=np.uint64), np.array(b, dtype=np.uint64), most)


def longest_from(a: list[int], b: list[int], i: int) -> int:
    """The length of the longest stretch of a from i on that stands in b."""
    best = 0
    for j in range(len(b)):
        length = 0
        while a[i + length : i + length + 1] == b[j + length : j + length + 1] != []:
            length += 1
        best = max(best, length)
    return best


@given(SEQUENCES, SEQUENCES)
@example([], [1])
@example([1], [])
@example([1, 1, 1], [1])
@example([1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2])
def test_runs_are_the_longest_from_left_to_right(a: list[int], b: list[int]) -> None:
    expected = []
    i = 0
    while i < len(a):
        length = longest_from(a, b, i)
        if length:
            expected.append((i, length))
        i += max(length, 1)
    found = runs(a, b)
    assert [(run.a_first, run.length) for run in found] == expected
    for i, j, length in found:
        assert a[i : i + length] == b[j : j + length]
    assert runs(a, b, 2) == found[:2]


def test_of_equal_runs_the_one_that_goes_on_is_taken() -> None:
    assert runs([1, 2, 9, 1, 2], [1, 2, 0, 1, 2]) == [(0, 0, 2), (3, 3, 2)]
    assert runs([1, 2, 9, 1, 2], [1, 2, 0, 5, 1, 2]) == [(0, 0, 2), (3, 4, 2)]


def test_long_runs_are_whole_and_take_linear_time() -> None:
    """What compares each place with each would not end in this life."""
    middle = list(range(10, 100_010))
    copies = [*middle[:50_000], 7, *middle, 8, *middle[:70_000]]
    assert runs(middle, copies) == [(0, 50_001, 100_000)]
    assert runs([5] * MANY, [5] * MANY) == [(0, 0, MANY)]
    found = runs(([5] * 999 + [6]) * (MANY // 1_000), ([5] * 999 + [7]) * (MANY // 1_000))
    assert [run.length for run in found] == [999] * 1_000
