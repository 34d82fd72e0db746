"""The S-curve is the textbook's, and the construction chosen is the most selective that reaches."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lshdb.errors import SettingsError
from lshdb.model import Construction
from lshdb.sketching.constructions import candidate_probability
from lshdb.tuning.resolve import choose_construction

ROUNDING = 1e-12
SIMILARITIES = st.one_of(st.just(0.0), st.floats(0.001, 1))
CONSTRUCTIONS = st.builds(Construction, rows=st.integers(1, 64), bands=st.integers(1, 256))
THRESHOLDS = st.floats(0.01, 1)
RECALLS = st.floats(0.001, 0.9999)
LANES = st.integers(16, 1024)


def textbook(similarity: float, rows: int, bands: int) -> float:
    """1 - (1 - s^r)^b in 300 digits."""
    with localcontext() as context:
        context.prec = 300
        return float(1 - (1 - Decimal(similarity) ** rows) ** bands)


@pytest.mark.parametrize(
    ("similarity", "probability"),
    [
        (0.2, 0.0064),
        (0.3, 0.0475),
        (0.4, 0.1860),
        (0.5, 0.4701),
        (0.6, 0.8019),
        (0.7, 0.9748),
        (0.8, 0.9996),
    ],
)
def test_the_textbooks_table(similarity: float, probability: float) -> None:
    curve = candidate_probability(similarity, Construction(rows=5, bands=20))
    assert round(curve, 4) == probability


@given(SIMILARITIES, CONSTRUCTIONS)
def test_the_curve_has_all_its_digits(similarity: float, construction: Construction) -> None:
    curve = candidate_probability(similarity, construction)
    expected = textbook(similarity, construction.rows, construction.bands)
    assert curve == pytest.approx(expected, rel=1e-9, abs=0)


@given(SIMILARITIES, SIMILARITIES, CONSTRUCTIONS)
def test_the_curve_rises_from_0_to_1(one: float, other: float, construction: Construction) -> None:
    low, high = sorted((one, other))
    assert candidate_probability(low, construction) <= candidate_probability(high, construction)
    assert candidate_probability(0, construction) == 0
    assert candidate_probability(1, construction) == 1


def test_the_default_construction() -> None:
    assert choose_construction(0.8, 0.99, 128) == Construction(rows=6, bands=16)


@given(THRESHOLDS, RECALLS, LANES)
def test_a_chosen_construction_reaches_the_recall_and_none_does_with_less(
    threshold: float, recall: float, lanes: int
) -> None:
    assume(textbook(threshold, 1, lanes) > recall + ROUNDING)
    chosen = choose_construction(threshold, recall, lanes)
    rows, bands = chosen.rows, chosen.bands
    assert chosen.lanes <= lanes
    assert textbook(threshold, rows, bands) >= recall - ROUNDING
    for more in range(rows + 1, lanes + 1):
        assert textbook(threshold, more, lanes // more) < recall + ROUNDING
    if bands > 1:
        assert textbook(threshold, rows, bands - 1) < recall + ROUNDING


@given(RECALLS, LANES)
def test_equal_documents_need_one_band(recall: float, lanes: int) -> None:
    assert choose_construction(1.0, recall, lanes) == Construction(rows=lanes, bands=1)


@given(st.floats(0.001, 0.1), st.floats(0.001, 1), st.integers(16, 64))
def test_what_no_construction_reaches_is_refused(
    threshold: float, too_much: float, lanes: int
) -> None:
    best = textbook(threshold, 1, lanes)
    recall = best + (1 - best) * too_much
    with pytest.raises(SettingsError, match=f"cannot be reached with {lanes} permutations"):
        choose_construction(threshold, recall, lanes)


def test_the_refusal_never_promises_more_than_there_is() -> None:
    with pytest.raises(SettingsError, match=r"\(at most 0\.9246\)"):
        choose_construction(0.02, 0.99, 128)
    # 1 - 0.98^128 = 0.92467...: rounded up, the recall named would be refused too.
    assert choose_construction(0.02, 0.9246, 128) == Construction(rows=1, bands=128)
