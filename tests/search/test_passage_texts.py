"""Runs of windows that one text shares with many, beside a search of each window in each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb.search import passage_texts
from lshdb.search.passage_texts import Compared
from lshdb.shingling.passages import Run

WINDOWS = st.lists(st.integers(0, 9), max_size=30)


def runs_in(own: list[int], others: list[list[int]], counts: list[bool]) -> dict[int, list[Run]]:
    compared = Compared(np.array(own, dtype=np.uint64), np.array(counts, dtype=np.bool_))
    return dict(compared.runs_in([np.array(one, dtype=np.uint64) for one in others]))


@given(WINDOWS, st.lists(WINDOWS, min_size=1, max_size=5), st.data(), st.sampled_from([1, 40, 999]))
def test_runs_have_each_shared_window_that_counts(
    own: list[int], others: list[list[int]], data: st.DataObject, at_once: int
) -> None:
    counts = [data.draw(st.booleans()) for _ in own]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_texts, "_AT_ONCE", at_once)
        found = runs_in(own, others, counts)
    for number, other in enumerate(others):
        shared = {i for i, one in enumerate(own) if counts[i] and one in other}
        assert (number in found) == bool(shared)
        covered: set[int] = set()
        for a, b, length in found.get(number, []):
            assert own[a : a + length] == other[b : b + length]
            assert all(counts[a : a + length])
            covered.update(range(a, a + length))
            # As long as it can be, to both sides.
            for i, j in ((a - 1, b - 1), (a + length, b + length)):
                inside = 0 <= i < len(own) and 0 <= j < len(other)
                assert not (inside and counts[i] and own[i] == other[j])
        assert covered == shared


def test_of_equal_runs_the_one_that_goes_on_is_taken() -> None:
    assert runs_in([1, 2, 9, 1, 2], [[1, 2, 0, 1, 2]], [True] * 5) == {0: [(0, 0, 2), (3, 3, 2)]}


def test_texts_that_repeat_themselves_take_linear_time() -> None:
    count = 200_000  # all matches would be 40 billion
    assert runs_in([1] * count, [[2], [1] * count], [True] * count) == {1: [(0, 0, count)]}


def test_very_many_passages_are_cut_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_texts, "PASSAGES", 3)
    own, other = list(range(100)), [*range(50, 100), *range(0, 50, 2)]
    with pytest.warns(lshdb.LimitWarning, match="first 3 passages"):
        assert len(runs_in(own, [other], [True] * 100)[0]) == 3
