"""The construction chosen for a threshold and a recall has few bands, and few false candidates."""

from __future__ import annotations

from itertools import count
from statistics import fmean

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from oracles import s_curve

from lshdb.errors import SettingsError
from lshdb.maintain.resolve import choose_construction, resolve
from lshdb.options import SettingsOptions
from lshdb.sketch.constructions import Construction

ROUNDING = 1e-12
THRESHOLDS = st.floats(0.01, 1)
RECALLS = st.floats(0.001, 0.9999)
LANES = st.integers(16, 1024)


def test_the_default_construction() -> None:
    assert choose_construction(0.8, 0.99, 128) == Construction(rows=5, bands=12)


@given(THRESHOLDS, RECALLS, LANES)
@example(0.8, 0.99, 128)
@example(1, 1, 16)
def test_a_chosen_construction_reaches_the_recall_and_none_does_with_less(
    threshold: float, recall: float, lanes: int
) -> None:
    """With fewer bands, it has more false candidates than may be for them."""
    assume(s_curve(threshold, 1, lanes) > recall + ROUNDING)
    chosen = choose_construction(threshold, recall, lanes)
    rows, bands = chosen.rows, chosen.bands
    assert chosen.lanes <= lanes
    assert s_curve(threshold, rows, bands) >= recall - ROUNDING
    if bands > 1:
        assert s_curve(threshold, rows, bands - 1) < recall + ROUNDING
    most_rows = rows
    for more in range(rows + 1, lanes + 1):
        if s_curve(threshold, more, lanes // more) >= recall + ROUNDING:
            most_rows = more
    most = 1.15 * false_candidates(threshold, most_rows, fewest(threshold, recall, most_rows))
    assert false_candidates(threshold, rows, bands) <= most + ROUNDING
    for other in range(1, most_rows + 1):
        if bands > 1 and s_curve(threshold, other, bands - 1) >= recall + ROUNDING:
            less = fewest(threshold, recall, other)
            assert false_candidates(threshold, other, less) > most - ROUNDING


def fewest(threshold: float, recall: float, rows: int) -> int:
    """The fewest bands of so many rows that reach a recall."""
    return next(b for b in count(1) if s_curve(threshold, rows, b) >= recall - ROUNDING)


def false_candidates(threshold: float, rows: int, bands: int) -> float:
    """The mean of the curve at 31 similarities below the threshold."""
    similarities = [threshold * step / 32 for step in range(1, 32)]
    return fmean(1 - (1 - s**rows) ** bands for s in similarities)


@given(st.floats(0.001, 0.1), st.floats(0.001, 1), st.integers(16, 64))
def test_what_no_construction_reaches_is_refused(
    threshold: float, too_much: float, lanes: int
) -> None:
    best = s_curve(threshold, 1, lanes)
    recall = best + (1 - best) * too_much
    with pytest.raises(SettingsError, match=f"cannot be reached with {lanes} permutations"):
        choose_construction(threshold, recall, lanes)


def test_the_refusal_never_promises_more_than_there_is() -> None:
    with pytest.raises(SettingsError, match=r"\(at most 0\.9246\)"):
        choose_construction(0.02, 0.99, 128)
    # 1 - 0.98^128 = 0.92467...: rounded up, the recall named would be refused too.
    assert choose_construction(0.02, 0.9246, 128) == Construction(rows=1, bands=128)


def test_a_shape_alone_has_the_recall_that_it_gives_to_six_digits() -> None:
    recall = resolve(SettingsOptions(threshold=0.7, bands=20, rows=5)).recall
    assert recall == round(s_curve(0.7, 5, 20), 6)
