"""Each type of Arrow goes to each format and back: equal, or a note names its column."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from helpers import Command

from lshdb.apps.dedup.run_outputs import RowSink
from lshdb.read.batch import Origin
from lshdb.read.sinks import Target

AFTER_9999 = 253_402_300_800
"""Seconds from 1970 to the year 10000."""
TWO: dict[str, tuple[list[Any], pa.DataType]] = {
    "null": ([None, None], pa.null()),
    "bool": ([True, None], pa.bool_()),
    "uint64": ([2**64 - 1, None], pa.uint64()),
    "int64": ([-(2**63), None], pa.int64()),
    "float16": ([0.5, None], pa.float16()),
    "float32": ([0.1, float("inf")], pa.float32()),
    "float64": ([0.1, float("-inf")], pa.float64()),
    "decimal32": ([Decimal("1.10"), None], pa.decimal32(5, 2)),
    "decimal128": ([Decimal("12345678901234567890.12"), None], pa.decimal128(22, 2)),
    "decimal256": ([Decimal("1" * 60), None], pa.decimal256(70, 0)),
    "large_string": (["a", ""], pa.large_string()),
    "string_view": (["a text that is longer than views have", "b"], pa.string_view()),
    "binary": ([b"\xff\x00", b""], pa.binary()),
    "binary_view": ([b"\xff" * 20, None], pa.binary_view()),
    "fixed_binary": ([b"ab", None], pa.binary(2)),
    "date32": ([1, AFTER_9999 // 86_400], pa.date32()),
    "date64": ([86_400_000, AFTER_9999 * 1_000], pa.date64()),
    "seconds": ([1, AFTER_9999], pa.timestamp("s")),
    "microseconds": ([1, AFTER_9999 * 10**6], pa.timestamp("us", "UTC")),
    "nanoseconds": ([1, -1], pa.timestamp("ns")),
    "local": ([1, None], pa.timestamp("ns", "Asia/Kolkata")),
    "time32": ([1, None], pa.time32("s")),
    "time64": ([1, None], pa.time64("ns")),
    "duration_s": ([1, 10**17], pa.duration("s")),
    "duration_ns": ([1, -1], pa.duration("ns")),
    "list": ([[1, None], None], pa.list_(pa.int64())),
    "fixed_list": ([[1, 2], None], pa.list_(pa.int8(), 2)),
    "list_view": ([[1], []], pa.list_view(pa.int8())),
    "list_of_times": ([[1], None], pa.list_(pa.timestamp("ns"))),
    "struct": (
        [{"a": 1, "b": Decimal("1.5")}, None],
        pa.struct([("a", pa.int8()), ("b", pa.decimal128(2, 1))]),
    ),
    "struct_inf": ([{"a": [float("inf")]}, None], pa.struct([("a", pa.list_(pa.float64()))])),
    "map": ([[("k", 1)], []], pa.map_(pa.string(), pa.timestamp("ns"))),
    "uuid": ([b"0123456789abcdef", None], pa.uuid()),
    "json": (["{}", None], pa.json_()),
    "bool8": ([1, 0], pa.bool8()),
}
COLUMNS: dict[str, pa.Array] = {name: pa.array(*column) for name, column in TWO.items()} | {
    "dictionary": pa.array(["a", None]).dictionary_encode(),
    "ordered": pa.DictionaryArray.from_arrays(
        pa.array([1, None], pa.int8()), ["x", "y"], ordered=True
    ),
    "dictionary_of_times": pa.array([1, None], pa.timestamp("ns")).dictionary_encode(),
    "run_ends": pc.run_end_encode(pa.array([1, 1])),
}
NOT_IN_PARQUET: dict[str, pa.Array] = {
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "negative_scale": pa.array([Decimal(10**30), None], pa.decimal128(38, -2)),
    "union": pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])]
    ),
}
TEXTS = {
    "float64": [0.1, "-Infinity"],
    "decimal128": ["12345678901234567890.12", None],
    "decimal256": ["1" * 60, None],
    "date32": ["1970-01-02", "10000-01-01"],
    "seconds": ["1970-01-01T00:00:01", "10000-01-01T00:00:00"],
    "nanoseconds": ["1970-01-01T00:00:00.000000001", "1969-12-31T23:59:59.999999999"],
    "local": ["1970-01-01T05:30:00.000000001+05:30", None],
    "time64": ["00:00:00.000000001", None],
    "duration_s": ["1", "100000000000000000"],
    "duration_ns": ["0.000000001", "-0.000000001"],
    "list_of_times": [["1970-01-01T00:00:00.000000001"], None],
    "struct_inf": [{"a": ["Infinity"]}, None],
    "interval": [[1, 2, 3], None],
    "negative_scale": [str(10**30), None],
}
"""What JSON has in the place of some values."""


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Beside all.arrow and rest.arrow."""
    for name, columns in ("all", COLUMNS), ("rest", NOT_IN_PARQUET):
        rows = {
            "id": ["1", "2"],
            "text": ["words of one text", "other words than those"],
            **columns,
        }
        table = pa.table(rows)
        with pa.ipc.new_file(tmp_path / f"{name}.arrow", table.schema) as file:
            file.write_table(table)
    return Command(tmp_path)


def as_json(array: pa.Array) -> list[Any]:
    """The values, where JSON has them."""
    try:
        values: list[Any] = json.loads(json.dumps(array.to_pylist(), allow_nan=False))
    except (TypeError, ValueError, OverflowError):
        values = []
    return values


compact = partial(json.dumps, separators=(",", ":"))


@pytest.mark.parametrize("name", ["all", "rest"])
def test_texts_have_each_value_or_a_note_names_its_column(name: str, command: Command) -> None:
    columns = COLUMNS if name == "all" else NOT_IN_PARQUET
    command.done("init")
    noted = {
        "JSON": command.done("dedup", f"{name}.arrow", "-o", "out.jsonl").err,
        "CSV": command.done("dedup", f"{name}.arrow", "-o", "out.csv").err,
        "metadata": command.done("add", f"{name}.arrow").err,
    }
    lines = [*map(json.loads, command.path("out.jsonl").read_text().splitlines())]
    stored = command.done("sql", "SELECT metadata FROM documents", "--json").records
    cells = [*csv.DictReader(io.StringIO(command.path("out.csv").read_text()))]
    for column, values in columns.items():
        written = [line[column] for line in lines]
        is_noted = [f" {column} (" in note for note in noted.values()]
        assert is_noted == [written != as_json(values)] * 3 or all(is_noted), column
        assert written == TEXTS.get(column, written), column
        assert [json.loads(row["metadata"])[column] for row in stored] == written, column
        for cell, value in zip([row[column] for row in cells], written, strict=True):
            shown = value if isinstance(value, str) else "" if value is None else compact(value)
            assert cell.replace("inf", "Infinity") == shown, column
    assert all(note.count("exact text") == 1 for note in noted.values())


@pytest.mark.parametrize("output", ["out.parquet", "out.arrow", "out.arrows"])
def test_tables_have_each_value_in_its_type_or_a_note_names_its_column(
    output: str, command: Command
) -> None:
    note = command.done("dedup", "all.arrow", "-o", output).err
    path = command.path(output)
    readers = {".parquet": pq.read_table, ".arrow": pa.ipc.open_file, ".arrows": pa.ipc.open_stream}
    table = readers[path.suffix](path)
    table = table if isinstance(table, pa.Table) else table.read_all()
    for name, values in COLUMNS.items():
        column = table[name].combine_chunks()
        assert (f" {name} (" in note) == (column.type != values.type), name
        if column.type != values.type:
            decoded = values.dictionary_decode() if "dictionary" in name else values
            decoded = pc.run_end_decode(decoded) if name == "run_ends" else decoded
            values = decoded.cast(column.type)
        assert column.equals(values), name


@pytest.mark.parametrize("column", NOT_IN_PARQUET)
def test_what_parquet_cannot_hold_is_refused_by_its_column(column: str, command: Command) -> None:
    table = pa.ipc.open_file(command.path("rest.arrow")).read_all().select(["id", "text", column])
    with pa.ipc.new_file(command.path("one.arrow"), table.schema) as file:
        file.write_table(table)
    reason = command.fails("dedup", "one.arrow", "-o", "out.parquet", status=2)
    assert (
        f"Parquet cannot have column {column!r} of type {table.schema.field(column).type}" in reason
    )
    assert not command.path("out.parquet").exists()


def test_numbers_of_json_lose_no_digit(command: Command) -> None:
    """In the types of Parquet that have all values of a column exactly, else as texts."""
    rows = {
        "digits": ["12345678901234567890.12", "1"],
        "nested": ["[1.00000000000000000001]", "[1]"],
        "large": ["123456789012345678901234", "1"],
        "mixed": ["9007199254740993", "0.5"],
        "unsigned": ["18446744073709551615", "1"],
        "printed": ["0.10000000000000001", "1.2345678901234567e+19"],
        "either": ["1", "2.5"],
    }
    for index, name in enumerate(("a", "b")):
        fields = "".join(f',"{field}":{values[index]}' for field, values in rows.items())
        with command.path("rows.jsonl").open("a") as file:
            # A text has the same digits as a field: the field is exact all the same.
            text = f"words of {name} alone 12345678901234567890.12"
            file.write(f'{{"id":"{name}","text":"{text}"{fields}}}\n')
    note = command.done("dedup", "rows.jsonl", "-o", "out.parquet").err
    command.done("dedup", "rows.jsonl", "-o", "out.csv")
    table = pq.read_table(command.path("out.parquet"))
    kinds = {name: str(table.schema.field(name).type) for name in rows}
    texts = {name for name, kind in kinds.items() if kind == "string"}
    assert texts == {"digits", "nested", "large", "mixed"} == {n for n in rows if f" {n} (" in note}
    assert (kinds["unsigned"], kinds["printed"], kinds["either"]) == ("uint64", "double", "double")
    for read in (
        csv.DictReader(io.StringIO(command.path("out.csv").read_text())),
        table.to_pylist(),
    ):
        for index, row in enumerate(read):
            for name in rows.keys() - {"nested", "printed"}:
                assert Decimal(str(row[name])) == Decimal(rows[name][index]), name
            assert float(row["printed"]) == float(rows["printed"][index])
            assert row["nested"] == ('["1.00000000000000000001"]', "[1]")[index]
    command.done("init")
    assert (
        "metadata has the exact text of some values: digits ("
        in command.done("add", "rows.jsonl").err
    )
    record = json.loads(
        command.done("sql", "SELECT metadata FROM documents LIMIT 1", "--json").records[0][
            "metadata"
        ]
    )
    assert (record["digits"], record["large"]) == (rows["digits"][0], rows["large"][0])


def test_lines_of_json_are_written_as_they_are_and_not_read_again() -> None:
    """What is no JSON shows it: a tenth of the time of dedup was to read each line twice."""
    lines = [b'{"a": 1.50}\n', b"no JSON\n", b'{"a":  2}']
    written = io.BytesIO()
    sink = RowSink(Target(written, "jsonl"), None)
    sink.write(Origin("a.jsonl", [1, 2, 3], lines), [0, 1])
    sink.finish()
    assert written.getvalue() == b"".join(lines[:2])
