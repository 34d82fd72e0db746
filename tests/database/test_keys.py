"""Keys that ids of every type give, by each door; no row is dropped silently."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers import Command

import lshdb
from lshdb.keys import key_of_id

NOON = dt.datetime(2024, 1, 31, 12)
BERLIN = "Europe/Berlin"
TEXTS = ["the fox and the grapes", "an ant carried wheat home", "crows drink from a tall jug"]
UUID = uuid.UUID(int=5)
INSTANT = "2024-01-31 12:00:00"
KEYS: list[tuple[Any, str]] = [
    (1.0, "1"),
    (-0.0, "0"),
    (2.0**53 - 1, "9007199254740991"),
    (np.float32(7), "7"),
    (np.uint64(2**64 - 1), "18446744073709551615"),
    (10**30, "1" + "0" * 30),
    (np.bool_(False), "false"),
    (memoryview(b"\x01\xfe"), "01fe"),
    (Decimal("1.00"), "1.00"),
    (UUID, str(UUID)),
    (np.str_("x"), "x"),
    (np.datetime64("2024-01-31"), "2024-01-31"),
    (pd.Timestamp(NOON), INSTANT),
    (np.datetime64(NOON, "h"), INSTANT),
    (pd.Timestamp("2024-01-31 13:00", tz=BERLIN), f"{INSTANT}+00:00"),
    (NOON.replace(tzinfo=dt.UTC), f"{INSTANT}+00:00"),
    (NOON.replace(microsecond=120_000), f"{INSTANT}.120000"),
    (np.datetime64("2024-01-31T12:00:00.000000001"), f"{INSTANT}.000000001"),
    (pd.Timestamp("2024-01-31 12:00:00.000000001"), f"{INSTANT}.000000001"),
    (dt.time(12, 0, 0, 5), "12:00:00.000005"),
    (np.array(4), "4"),
    (pa.scalar(4), "4"),
    (1.5, "1.5"),
    (np.float32(0.1), "0.10000000149011612"),
    (np.float32(2**24), "16777216"),
    (1e-7, "1e-07"),
    ({"$oid": "é", "$a": [1, None, b"\x01"]}, '{"$a":[1,null,"01"],"$oid":"é"}'),
    (np.array([1]), "[1]"),
]
MISSING: list[Any] = [None, float("nan"), np.float32("nan"), Decimal("NaN"), pd.NA, pd.NaT]
MISSING += [np.datetime64("NaT"), np.timedelta64("NaT")]
NO_KEYS: list[tuple[Any, str]] = [
    (2.0**53, "may be rounded"),
    (float("-inf"), "may be rounded"),
    (Decimal("-Infinity"), "is infinite"),
    ("", "is empty"),
    (np.timedelta64(26, "h"), "is a duration"),
    (dt.timedelta(1), "is a duration"),
    ("a\0", "NUL"),
    (10**5000, "too many digits"),
    (object(), "is of type object, which gives no key"),
    ([{1}], "is of type list, which gives no key"),
]


@pytest.mark.app("frames")
@pytest.mark.parametrize(("value", "key"), KEYS, ids=range(len(KEYS)))
def test_an_id_gives_one_key(value: Any, key: str) -> None:
    assert key_of_id(value) == key


@pytest.mark.app("frames")
@pytest.mark.parametrize(("value", "key"), [(1.0, "1"), (UUID, str(UUID)), (b"a", "61")])
def test_each_door_takes_any_id(value: Any, key: str, tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "fables.db") as db:
        assert db.add(value, TEXTS[0]).added == 1
        assert db.add_many([{"id": value, "text": TEXTS[1]}]).updated == 1
        assert db.keys() == [key]
        assert (value in db, db[value].key, db.get(value).key) == (True, key, key)
        assert db.compare(value, lshdb.Document(value, TEXTS[1])).similarity == 1
        assert db.decide("keep", [value])[0].keys == (key,)
        assert len(db.buckets(value)) == 12
        assert [query for query, _ in db.query_many([(value, TEXTS[0])])] == [key]
        assert db.remove([value]) == 1
    result = lshdb.dedup([{"id": value, "text": TEXTS[0]}] * 2)
    assert [(row.key, row.kept) for row in result.dropped] == [(key, key)]


@pytest.mark.app("frames")
def test_a_missing_id_is_a_failure_or_the_number_of_the_row(tmp_path: Path) -> None:
    assert {*map(key_of_id, MISSING)} == {None}
    missing = pd.NaT
    with lshdb.open(tmp_path / "fables.db") as db, pytest.raises(lshdb.ContentError):
        db.add(missing, TEXTS[0])
    rows = [{"id": missing, "text": TEXTS[0]}] * 2
    assert [row.key for row in lshdb.dedup(rows).dropped] == ["row:2"]


@pytest.mark.app("frames")
@pytest.mark.parametrize(("value", "reason"), NO_KEYS, ids=range(len(NO_KEYS)))
def test_what_gives_no_key_is_named(value: Any, reason: str) -> None:
    with pytest.raises(lshdb.InputError, match=reason):
        key_of_id(value)


COLUMNS: dict[str, tuple[pa.Array, Sequence[str | None]]] = {
    "float32": (pa.array([1, 2, 0.1], pa.float32()), ["1", "2", "0.10000000149011612"]),
    "uint64": (pa.array([1, 2, 2**64 - 1], pa.uint64()), ["1", "2", str(2**64 - 1)]),
    "UUID": (
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([uuid.UUID(int=n).bytes for n in range(3)], pa.binary(16))
        ),
        [str(uuid.UUID(int=n)) for n in range(3)],
    ),
    "date64": (pa.array([0, 86_400_000], pa.date64()), ["1970-01-01", "1970-01-02"]),
    "nanoseconds": (
        pa.array([0, 1, 1_000], pa.timestamp("ns")),
        ["1970-01-01 00:00:00", "1970-01-01T00:00:00.000000001", "1970-01-01 00:00:00.000001"],
    ),
    "zone": (
        pa.array([0, 1, 2], pa.timestamp("s", BERLIN)),
        [f"1970-01-01 00:00:0{n}+00:00" for n in range(3)],
    ),
    "time": (
        pa.array([0, 1, 1_000], pa.time64("ns")),
        ["00:00:00", "00:00:00.000000001", "00:00:00.000001"],
    ),
    "dictionary": (pa.array([1, 2, 3]).dictionary_encode(), ["1", "2", "3"]),
}


@pytest.mark.app("frames")
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_gives_the_keys_of_its_values(name: str, tmp_path: Path) -> None:
    column, keys = COLUMNS[name]
    table = pa.table({"id": column, "text": TEXTS[: len(column)]})
    with lshdb.open(tmp_path / "fables.db") as db:
        assert db.add_table(table).added == len(column)
        assert db.keys() == keys


@pytest.mark.app("frames")
@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
def test_ids_of_tables(tmp_path: Path) -> None:
    """pandas-dev/pandas#28335: floats of integers among which one is missing."""
    column, keys = COLUMNS["nanoseconds"]
    table = pa.table({"id": column, "text": TEXTS})
    nested = pa.table({"meta": pa.StructArray.from_arrays([column], ["id"]), "text": TEXTS})
    with lshdb.open(tmp_path / "a.db") as db:
        db.add_table(table)
        assert db.keys() == keys
        assert db.add_table(nested, key="meta.id").unchanged == 3
    assert lshdb.dedup(table).kept.equals(table)
    frame = pd.DataFrame({"id": [1, 2, None], "text": TEXTS})
    again = lshdb.dedup(pd.concat([frame, frame], ignore_index=True))
    pd.testing.assert_frame_equal(again.kept, frame)
    expected = [("1", "1"), ("2", "2"), ("row:6", "row:3")]
    assert [(row.key, row.kept) for row in again.dropped] == expected


@pytest.mark.app("frames")
def test_ids_of_two_types_that_give_one_key_are_one_document(command: Command) -> None:
    given = ((1, "a"), (1.0, "b"), ("1", "c"), (2, "d"))
    command.write("in.jsonl", [{"id": key, "text": text} for key, text in given])
    command.write("other.csv", "id,text\n2,e\n")
    report = command.done("add", "in.jsonl", "other.csv", "--json").record
    assert (report["added"], report["updated"], report["repeated"]) == (2, 3, 3)
    assert command.done("dedup", "in.jsonl").records == [
        {"id": key, "text": text} for key, text in given
    ]


NO_ID = [2.0**60, -(2.0**53), float("inf"), "a\0", object()]


@pytest.mark.app("frames")
def test_no_row_of_dedup_is_left_out_for_its_id(command: Command, tmp_path: Path) -> None:
    """It is refused where documents are added."""
    rows = [{"id": value, "text": f"{TEXTS[0]} {n}" * 2} for n, value in enumerate(NO_ID)]
    with pytest.warns(UserWarning, match="^10 ids give no key.* FILE:ROW"):
        result = lshdb.dedup([*rows, *rows])
    assert result.kept == rows
    assert [row.key for row in result.dropped] == [f"row:{n}" for n in range(6, 11)]
    command.write("in.jsonl", [{"id": value, "text": TEXTS[0]} for value in NO_ID[:2] * 2])
    for more in ([], ["-d", "fables.db"]):
        done = command.done("dedup", "in.jsonl", "--dropped", "gone.jsonl", *more)
        assert "4 ids give no key" in done.err
        assert done.records == [{"id": NO_ID[0], "text": TEXTS[0]}]
    assert '"key":"in.jsonl:2"' in command.path("gone.jsonl").read_text()
    assert command("add", "in.jsonl", "-d", "other.db", "--auto-key").err.count("rounded") == 4
    frame = pd.DataFrame({"id": NO_ID[:2], "text": TEXTS[:2]})
    with lshdb.open(tmp_path / "other.db") as db:
        assert db.add_table(frame, on_failure=lambda _: None).failed == 2
