"""A run stops at a value of its order that does not compare with others."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command

import lshdb

TEXT = "the quick brown fox jumps over the lazy dog"


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
