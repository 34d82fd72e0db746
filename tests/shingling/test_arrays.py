"""Runs of equal numbers, beside the standard library's groups."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lshdb.shingling.arrays import runs


@given(st.lists(st.integers(0, 3)))
def test_runs_are_the_groups_of_equal_numbers(numbers: list[int]) -> None:
    begins, ends = runs(np.array(numbers, dtype=np.int64))
    found = [numbers[begin:end] for begin, end in zip(begins, ends, strict=True)]
    assert found == [list(group) for _, group in groupby(numbers)]
