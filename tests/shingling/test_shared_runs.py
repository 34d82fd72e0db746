"""Runs of equal numbers, and runs of shingles that two texts share, against plain searches."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.shingling import arrays
from lshdb.shingling.shared_runs import longest_runs

SEQUENCES = st.lists(st.integers(0, 3), max_size=40)
MANY = 60_000


def runs(a: list[int], b: list[int]) -> list[tuple[int, int, int]]:
    found = longest_runs(np.array(a, dtype=np.uint64), np.array(b, dtype=np.uint64))
    return list(zip(*(column.tolist() for column in found), strict=True))


@given(SEQUENCES)
def test_runs_are_the_groups_of_equal_numbers(numbers: list[int]) -> None:
    bounds = zip(*arrays.runs(np.array(numbers, dtype=np.int64)), strict=True)
    groups = [list(group) for _, group in groupby(numbers)]
    assert [numbers[begin:end] for begin, end in bounds] == groups


def longest_from(a: list[int], b: list[int], i: int) -> int:
    """The length of the longest stretch of a from i on that stands in b."""
    best = 0
    for j in range(len(b)):
        length = 0
        while a[i + length : i + length + 1] == b[j + length : j + length + 1] != []:
            length += 1
        best = max(best, length)
    return best


@given(SEQUENCES, SEQUENCES, st.integers(1, 1000))
@example([], [1], 1)
@example([1], [], 1)
@example([1, 1, 1], [1], 1)
@example([1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2], 1)
def test_each_shingle_is_in_the_longest_of_its_runs(a: list[int], b: list[int], odd: int) -> None:
    found = runs(a, b)
    longest = [longest_from(a, b, i) for i in range(len(a))]
    expected = [
        (i, length)
        for i, length in enumerate(longest)
        if length and (not i or longest[i - 1] <= length)
    ]
    assert [(i, length) for i, _, length in found] == expected
    for i, j, length in found:
        assert a[i : i + length] == b[j : j + length]
    # The values of the hashes make no difference.
    other = (2 * odd + 1) * 0x9E3779B97F4A7C15
    assert runs(*([(other * (one + 1)) % 2**64 for one in text] for text in (a, b))) == found


def test_long_runs_are_whole_and_take_the_time_of_sorting() -> None:
    """What compares each place with each would not end in this life."""
    middle = list(range(10, 20_010))
    copies = [*middle[:10_000], 7, *middle, 8, *middle[:14_000]]
    assert runs(middle, copies) == [(0, 10_001, 20_000)]
    assert runs([5] * MANY, [5] * MANY) == [(0, 0, MANY)]
    found = runs(([5] * 999 + [6]) * (MANY // 1_000), ([5] * 999 + [7]) * (MANY // 1_000))
    assert [length for *_, length in found] == [999] * 60
