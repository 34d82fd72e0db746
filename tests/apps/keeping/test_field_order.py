"""Which of similar rows stays by the values of a field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb.apps.keeping.field_order import FieldOrder

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


# values of a field in files and tables


MIXED = [
    ["v1.9", "v1.10"],
    ["1/9/2024", "10/1/2023"],
    ["5", "9 GB"],
    ["n/a", "5"],
    ["2024-01-01", "2024-01-01T00:00Z"],
    ["2024-01-01", "09:30"],
    ["5", "2024-01-01"],
    ["2024-13-01", "2024-01-01"],
]


@pytest.mark.app("dedup")
@pytest.mark.parametrize("values", MIXED, ids=str)
def test_a_value_that_does_not_compare_stops_the_run(values: list[str], tmp_path: Path) -> None:
    command, first = Command(tmp_path), values[0]
    rows = "".join(f"{number},{TEXT},{value}\n" for number, value in enumerate(["", *values]))
    command.write("rows.csv", f"id,text,v\n{rows}")
    command.write("out.csv", "as it was")
    for option in ("--keep-max", "--keep-min"):
        reason = command.fails("dedup", "rows.csv", option, "v", "-o", "out.csv", status=1)
        assert f"rows.csv:4: {values[1]!r} in field 'v' does not compare with {first!r}" in reason
        assert "(rows.csv:3)" in reason
        assert command.path("out.csv").read_text() == "as it was"
    done = command.done("dedup", "rows.csv", "--keep-max", "v", "--unordered", "last")
    assert "whose value does not compare with the others, ranked last" in done.err
    assert "1 row without a value, ranked last" in done.err


TYPED = {
    "decimal": pa.array(
        [Decimal("12345678901234567890.12"), None, Decimal("12345678901234567890.13")]
    ),
    "uint64": pa.array([2**64 - 2, None, 2**64 - 1], pa.uint64()),
    "nanoseconds": pa.array([1, None, 2], pa.timestamp("ns", "UTC")),
    "duration": pa.array([1, None, 2], pa.duration("ns")),
    "float": pa.array([1.5, float("nan"), float("inf")]),
    "categories": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1], pa.int8()), ["small", "large"], ordered=True
    ),
}


@pytest.mark.app("dedup")
@pytest.mark.parametrize("kind", TYPED)
def test_typed_columns_compare_by_their_type(kind: str, tmp_path: Path) -> None:
    """A file and a table; the row without a value never stays."""
    table = pa.table({"id": ["low", "none", "high"], "text": [TEXT] * 3, "v": TYPED[kind]})
    pq.write_table(table, tmp_path / "rows.parquet")
    for data in (table, str(tmp_path / "rows.parquet")):
        for option, stays in ({"keep_max": "v"}, 2), ({"keep_min": "v"}, 0):
            with pytest.warns(lshdb.ColumnWarning, match="1 row without a value, ranked last"):
                mask = lshdb.dedup(data, **option).mask  # type: ignore[call-overload]
            assert mask.tolist() == [row == stays for row in range(3)]


RANKED: dict[str, list[Any]] = {
    "texts of numbers": ["9", "10", None],
    "floats": [9.5, 10.5, float("nan")],
    "dates": [datetime(2020, 1, 9), datetime(2020, 1, 10), None],
    "numbers and texts": [9, "10", ""],
}


@pytest.mark.app("frames")
@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
@pytest.mark.parametrize("form", ["pandas", "Polars", "CSV"])
@pytest.mark.parametrize("name", RANKED)
def test_the_largest_or_smallest_stays_in_every_form(name: str, form: str, tmp_path: Path) -> None:
    pandas, polars = map(pytest.importorskip, ("pandas", "polars"))
    columns = {"id": [1, 2, 3], "text": [TEXT] * 3, "stars": RANKED[name]}
    data: Any = pandas.DataFrame(columns)
    if form == "CSV":
        data.to_csv(tmp_path / "in.csv", index=False)
        data = str(tmp_path / "in.csv")
    elif form == "Polars":
        data = polars.DataFrame(columns, strict=False)
    assert lshdb.dedup(data, keep_max="stars").mask.tolist() == [False, True, False]
    assert lshdb.dedup(data, keep_min="stars").mask.tolist() == [True, False, False]
