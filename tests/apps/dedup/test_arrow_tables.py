"""Shards of one table go to one file, widened where no value is lost; all else is refused."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import Command

TEXT = [("1", "words of one text"), ("2", "other words than those")]


def shards(command: Command, *columns: dict[str, pa.Array]) -> list[str]:
    """A file for each row and its columns."""
    names = []
    for (key, text), values in zip(TEXT, columns, strict=True):
        names.append(f"{key}.parquet")
        pq.write_table(pa.table({"id": [key], "text": [text], **values}), command.path(names[-1]))
    return names


def array(value: Any, kind: pa.DataType) -> pa.Array:
    return pa.array([value], kind)


def categories(value: str) -> pa.Array:
    return pa.array([value]).dictionary_encode()


WIDER: dict[str, tuple[pa.Array, pa.Array, pa.DataType]] = {
    "null": (array(None, pa.null()), array(1, pa.int8()), pa.int8()),
    "signed": (array(-1, pa.int8()), array(2**40, pa.int64()), pa.int64()),
    "unsigned": (array(2**63, pa.uint64()), array(1, pa.uint16()), pa.uint64()),
    "texts": (array("a", pa.string()), array("b", pa.large_string()), pa.large_string()),
    "views": (array("a", pa.string_view()), array("b", pa.string()), pa.large_string()),
    "categories": (categories("a"), array("b", pa.string()), pa.large_string()),
    "decimals": (
        array(Decimal("1.5"), pa.decimal128(30, 1)),
        array(Decimal("0.00000000000000000001"), pa.decimal128(21, 20)),
        pa.decimal256(49, 20),
    ),
    "times": (array(1, pa.timestamp("ms")), array(1, pa.timestamp("ns")), pa.timestamp("ns")),
    "zones": (
        array(1, pa.timestamp("us", "+00:00")),
        array(1, pa.timestamp("us", "UTC")),
        pa.timestamp("us", "UTC"),
    ),
    "of the day": (array(1, pa.time32("ms")), array(1, pa.time64("us")), pa.time64("us")),
    "in lists": (
        pa.array([[1]], pa.list_(pa.int8())),
        pa.array([[2]], pa.list_(pa.int32())),
        pa.list_(pa.int32()),
    ),
    "in structs": (
        pa.array([{"x": "a"}]),
        pa.array([{"x": "b"}], pa.struct([("x", pa.large_string())])),
        pa.struct([("x", pa.large_string())]),
    ),
}
REFUSED: dict[str, tuple[pa.Array, pa.Array]] = {
    "signs": (array(-1, pa.int64()), array(2**64 - 1, pa.uint64())),
    "decimal and float": (array(Decimal("1.5"), pa.decimal128(2, 1)), array(1.5, pa.float64())),
    "integer and float": (array(1, pa.int64()), array(1.5, pa.float64())),
    "floats": (array(1, pa.float32()), array(1.5, pa.float64())),
    "digits": (array(1, pa.decimal256(76, 0)), array(Decimal("0.1"), pa.decimal128(2, 1))),
    "zones": (array(1, pa.timestamp("us")), array(1, pa.timestamp("us", "UTC"))),
    "places": (array(1, pa.timestamp("us", "Asia/Tokyo")), array(1, pa.timestamp("us", "UTC"))),
    "out of range": (array(1, pa.timestamp("ns")), array(2**60, pa.timestamp("us"))),
    "text and number": (array("a", pa.string()), array(1, pa.int64())),
}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.parametrize("case", WIDER)
def test_shards_are_widened_to_a_type_of_all_values(case: str, command: Command) -> None:
    """In either order."""
    *values, kind = WIDER[case]
    names = shards(command, *({"v": value} for value in values))
    for order in (names, names[::-1]):
        command.done("dedup", *order, "-o", "all.parquet")
        table = pq.read_table(command.path("all.parquet")).sort_by("id")
        assert table.schema.field("v").type == kind
        for row, value in enumerate(values):
            plain = value.dictionary_decode() if pa.types.is_dictionary(value.type) else value
            assert table["v"][row] == plain.cast(kind)[0]


@pytest.mark.parametrize("case", REFUSED)
def test_other_types_are_refused_by_their_column(case: str, command: Command) -> None:
    first, second = REFUSED[case]
    names = shards(command, {"v": first}, {"v": second})
    for order in (names, names[::-1]):
        reason = command.fails("dedup", *order, "-o", "all.parquet", status=1)
        assert "column 'v' is" in reason
        assert str(first.type) in reason
        assert str(second.type) in reason
        assert "-o DIRECTORY" in reason
        assert not command.path("all.parquet").exists()


def test_a_column_that_came_later_is_null_before(command: Command) -> None:
    """One that is gone is refused: it may have another name."""
    first, second = shards(command, {}, {"score": array(5, pa.int64())})
    command.done("dedup", first, second, "-o", "all.parquet")
    assert pq.read_table(command.path("all.parquet"))["score"].to_pylist() == [None, 5]
    command.done("dedup", first, second, "--annotate", "all.arrow")
    reason = command.fails("dedup", second, first, "-o", "b.parquet", status=1)
    assert "column 'score' is only in earlier rows: -o DIRECTORY" in reason

    for name in (first, second):
        pq.read_table(command.path(name)).to_pandas().to_csv(
            command.path(f"{name}.csv"), index=False
        )
    command.done("dedup", f"{first}.csv", f"{second}.csv", "-o", "all.csv")
    frame = pd.read_csv(io.StringIO(command.path("all.csv").read_text()))
    assert frame["score"].fillna(0).tolist() == [0, 5]
