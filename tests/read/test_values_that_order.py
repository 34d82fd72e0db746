"""Values of a field that says which row stays compare by their types, or the run stops."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshdb.read.ordering import FieldOrder

TEXT = "the quick brown fox jumps over the lazy dog"
decimals = st.decimals(allow_nan=False) | st.integers() | st.floats(allow_nan=False)


@given(st.lists(decimals))
def test_ranks_of_numbers_sort_as_the_numbers(numbers: list[Any]) -> None:
    """Of any size, exactly, also written as texts."""
    order = FieldOrder("n")
    by_rank = sorted(numbers, key=lambda number: order.rank(number, "here") or b"")
    assert by_rank == sorted(numbers)
    texts = [str(Decimal(number)) for number in numbers]
    assert [order.rank(text, "") for text in texts] == [order.rank(n, "") for n in numbers]


@pytest.mark.parametrize(
    "ascending",
    [
        [
            "1969-12-31T23:59:59.5",
            "1970-01-01",
            "2024-02",
            "20240201T01",
            "9999-12-31",
        ],
        ["2024-01-01T12:00+02:00", "2024-01-01 10:30Z", "20240101T100000.1-0100"],
        ["2024-01-01 00:00:00.000000001", "2024-01-01 00:00:00.00000001", "2024-01-01 00:00:01"],
        ["09:30", "09:30:00,5", "T10"],
        [False, True],
        [datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00.000001Z"],
        [timedelta(days=-1), timedelta(microseconds=1), timedelta(microseconds=2)],
    ],
    ids=str,
)
def test_times_compare_as_points_in_time(ascending: list[Any]) -> None:
    order = FieldOrder("t")
    ranks = [order.rank(value, "here") for value in ascending]
    assert None not in ranks
    assert ranks == sorted({*ranks})  # type: ignore[type-var]
