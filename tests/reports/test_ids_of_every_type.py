"""Rows whose ids are no strings: each door gives them the same keys, and none is dropped silently.

pandas makes floats of integers among which one is missing (pandas-dev/pandas#28335), so the ids of
many frames are no integers.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import Command

import lshdb
from lshdb.keys import Ids, key_of_id, with_article
from lshdb.sources.arrow_keys import keys_of_column

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
    (np.int8(-3), "-3"),
    (np.uint64(2**64 - 1), "18446744073709551615"),
    (10**30, "1" + "0" * 30),
    (True, "true"),
    (np.bool_(False), "false"),
    (b"\x01\xfe", "01fe"),
    (bytearray(b"a"), "61"),
    (memoryview(b"a"), "61"),
    (Decimal("1.00"), "1.00"),
    (UUID, str(UUID)),
    (np.str_("x"), "x"),
    (dt.date(2024, 1, 31), "2024-01-31"),
    (np.datetime64("2024-01-31"), "2024-01-31"),
    (NOON, INSTANT),
    (pd.Timestamp(NOON), INSTANT),
    (np.datetime64(NOON, "ns"), INSTANT),
    (np.datetime64(NOON, "h"), INSTANT),
    (pd.Timestamp("2024-01-31 13:00", tz=BERLIN), f"{INSTANT}+00:00"),
    (NOON.replace(tzinfo=dt.UTC), f"{INSTANT}+00:00"),
    (NOON.replace(microsecond=120_000), f"{INSTANT}.120000"),
    (np.datetime64("2024-01-31T12:00:00.000000001"), f"{INSTANT}.000000001"),
    (pd.Timestamp("2024-01-31 12:00:00.000000001"), f"{INSTANT}.000000001"),
    (dt.time(12, 0, 0, 5), "12:00:00.000005"),
    (dt.timedelta(days=1, hours=2), "1 day, 2:00:00"),
    (np.timedelta64(26, "h"), "1 day, 2:00:00"),
    (np.array(4), "4"),
    (pa.scalar(4), "4"),
]
MISSING: list[Any] = [None, float("nan"), np.float32("nan"), Decimal("NaN"), pd.NA, pd.NaT]
MISSING += [np.datetime64("NaT"), np.timedelta64("NaT")]
NO_KEYS: list[tuple[Any, str]] = [
    (1.5, "not whole"),
    (2.0**53, "may be rounded"),
    (np.float32(2**24), "may be rounded"),
    (float("inf"), "is infinite"),
    (Decimal("-Infinity"), "is infinite"),
    ("", "is empty"),
    (b"", "is empty"),
    ("a\0", "NUL"),
    (10**5000, "too many digits"),
    ([1], "an array"),
    ({"a": 1}, "an object"),
    (object(), "an object"),
    (np.array([1]), "an ndarray"),
]


@pytest.mark.parametrize(("value", "key"), KEYS, ids=range(len(KEYS)))
def test_an_id_gives_one_key_by_each_door(value: Any, key: str, tmp_path: Path) -> None:
    assert key_of_id(value) == key
    with lshdb.open(tmp_path / "fables.db") as db:
        assert db.add(value, TEXTS[0]).added == 1
        assert db.add_many([{"id": value, "text": TEXTS[1]}]).updated == 1
        assert db.keys() == [key]
        assert (value in db, db[value].key, db.get(value).key) == (True, key, key)
        assert db.query(key=value) == []
        assert db.compare(value, lshdb.Document(value, TEXTS[1])).similarity == 1
        assert db.decide("keep", [value])[0].keys == (key,)
        assert len(db.buckets(value)) == 12
        assert [asked for asked, _ in db.query_many([(value, TEXTS[0])])] == [key]
        assert db.remove(value) == 1
        db.add(value, TEXTS[0])
        assert db.remove([value]) == 1
    rows = [{"id": value, "text": TEXTS[0]}, {"id": value, "text": TEXTS[0]}]
    result = lshdb.dedup(rows)
    assert result.kept[0] is rows[0]
    assert [(row.key, row.kept) for row in result.dropped] == [(key, key)]


@pytest.mark.parametrize("value", MISSING, ids=range(len(MISSING)))
def test_a_missing_id_is_a_failure_or_the_number_of_the_row(value: Any, tmp_path: Path) -> None:
    assert key_of_id(value) is None
    with lshdb.open(tmp_path / "fables.db") as db:
        with pytest.raises(lshdb.ContentError, match="missing"):
            db.add(value, TEXTS[0])
        with pytest.raises(lshdb.ContentError, match="null, and a document needs a key"):
            db.add_many([{"id": value, "text": TEXTS[0]}])
    rows = [{"id": value, "text": TEXTS[0]}] * 2
    assert [row.key for row in lshdb.dedup(rows).dropped] == ["row:2"]


@pytest.mark.parametrize(("value", "reason"), NO_KEYS, ids=range(len(NO_KEYS)))
def test_what_gives_no_key_is_named(value: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(lshdb.InputError, match=reason):
        key_of_id(value)
    with (
        lshdb.open(tmp_path / "fables.db") as db,
        pytest.raises(lshdb.ContentError, match=reason),
    ):
        db.add(value, TEXTS[0])


def test_a_service_takes_ids_too(tmp_path: Path) -> None:
    with lshdb.Service(tmp_path / "fables.db") as service:
        assert service.add(5, TEXTS[0]).key == "5"
        assert service.add(UUID, TEXTS[1]).key == str(UUID)
        assert service.add("5", TEXTS[0]).outcome == "unchanged"
        assert [match.key for match in service.query(key=5)] == []
        with pytest.raises(lshdb.UsageError, match="key None is not a key"):
            service.add(None, TEXTS[0])


COLUMNS: dict[str, tuple[pa.Array, Sequence[str | None]]] = {
    "float": (pa.array([1.0, 2.0, 3.0]), ["1", "2", "3"]),
    "float32": (pa.array([1, 2, 3], pa.float32()), ["1", "2", "3"]),
    "uint64": (pa.array([1, 2, 2**64 - 1], pa.uint64()), ["1", "2", str(2**64 - 1)]),
    "bool": (pa.array([True, False, None]), ["true", "false", None]),
    "binary": (pa.array([b"a", b"b", b"c"]), ["61", "62", "63"]),
    "fixed binary": (pa.array([b"a", b"b", b"c"], pa.binary(1)), ["61", "62", "63"]),
    "UUID": (
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([uuid.UUID(int=n).bytes for n in range(3)], pa.binary(16))
        ),
        [str(uuid.UUID(int=n)) for n in range(3)],
    ),
    "decimal": (pa.array([Decimal(n) for n in "123"], pa.decimal128(38, 0)), ["1", "2", "3"]),
    "decimal of 2 digits": (pa.array([1, 2, 3], pa.decimal128(9, 2)), ["1.00", "2.00", "3.00"]),
    "date": (pa.array([0, 1, 2], pa.date32()), ["1970-01-01", "1970-01-02", "1970-01-03"]),
    "date64": (
        pa.array([0, 86_400_000, 172_800_000], pa.date64()),
        ["1970-01-01", "1970-01-02", "1970-01-03"],
    ),
    "nanoseconds": (
        pa.array([0, 1, 1_000], pa.timestamp("ns")),
        [f"1970-01-01 00:00:00{fraction}" for fraction in ("", ".000000001", ".000001")],
    ),
    "zone": (
        pa.array([0, 1, 2], pa.timestamp("s", BERLIN)),
        [f"1970-01-01 00:00:0{n}+00:00" for n in range(3)],
    ),
    "time": (
        pa.array([0, 1, 1_000], pa.time64("ns")),
        ["00:00:00", "00:00:00.000000001", "00:00:00.000001"],
    ),
    "duration": (
        pa.array([0, 1, 1_000], pa.duration("ns")),
        ["0:00:00", "0:00:00.000000001", "0:00:00.000001"],
    ),
    "dictionary": (pa.array([1, 2, 3]).dictionary_encode(), ["1", "2", "3"]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_a_column_gives_the_keys_of_its_values(name: str, tmp_path: Path) -> None:
    column, keys = COLUMNS[name]
    assert keys_of_column(column)[0] == keys
    if name not in ("zone", "UUID", "time", "date64"):  # which NumPy lacks
        assert [*map(key_of_id, column.to_numpy(zero_copy_only=False))] == keys
    table = pa.table({"id": column, "text": TEXTS})
    nested = pa.table({"meta": pa.StructArray.from_arrays([column], ["id"]), "text": TEXTS})
    with lshdb.open(tmp_path / "a.db") as db:
        given = [key for key in keys if key is not None]
        assert db.add_table(table).added == len(given)
        assert db.keys() == given
        assert db.add_table(nested, key="meta.id").unchanged == len(given)
    kept = lshdb.dedup(table).kept
    assert kept.equals(table)


def test_integers_with_one_missing_stay_what_they_are() -> None:
    frame = pd.DataFrame({"id": [1, 2, None], "text": TEXTS})
    result = lshdb.dedup(frame)
    pd.testing.assert_frame_equal(result.kept, frame)
    again = lshdb.dedup(pd.concat([frame, frame], ignore_index=True))
    assert [(row.key, row.kept) for row in again.dropped] == [
        ("1", "1"),
        ("2", "2"),
        ("row:6", "row:3"),
    ]


def test_hugeint_of_duckdb_and_frames_of_polars(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql(f"select {2**100}::hugeint as id, '{TEXTS[0]}' as text")
    frame = pl.DataFrame({"id": [UUID.bytes], "text": TEXTS[:1]})
    with lshdb.open(tmp_path / "fables.db") as db:
        assert db.add_table(relation).added == db.add_table(frame).added == 1
        assert db.keys() == [str(2**100), UUID.bytes.hex()]


def test_two_types_that_give_one_key_are_named(command: Command, tmp_path: Path) -> None:
    pairs: list[tuple[Any, Any]] = [(1, "1"), ("1", 1), (True, "true"), (b"a", 61)]
    for first, second in [*pairs, (UUID, str(UUID))]:
        rows = [(first, TEXTS[0]), ("x", TEXTS[2]), (second, TEXTS[1])]
        with (
            lshdb.open(tmp_path / "fables.db", mode="create") as db,
            pytest.raises(lshdb.ContentError, match=r"gives the key .* earlier row"),
        ):
            db.add_many(rows)
    lines = [
        {"id": key, "text": text} for key, text in ((1, "a"), (1.0, "b"), ("1", "c"), (2, "d"))
    ]
    command.write("in.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    command.write("other.jsonl", '{"id": "2", "text": "e"}\n')
    command.write("other.csv", "id,text\n2,e\n")
    result = command("add", "in.jsonl", "other.jsonl", "other.csv", "--json")
    assert result.status == 1
    assert result.err.splitlines() == [
        f"lshdb: {where}: field 'id' is a string that gives the key '{key}', as a number in an "
        "earlier row does: give all ids one type"
        for where, key in (("in.jsonl:3", 1), ("other.jsonl:1", 2))
    ]
    report = result.record
    assert (report["added"], report["updated"], report["failed"]) == (2, 2, 2)


def test_mixed_ids_are_found_among_many_in_8_bytes_each() -> None:
    ids, count = Ids(), 100_000
    for number in range(count):
        ids.check(str(number), "a number")
    for number in range(count, 2 * count):
        ids.check(str(number), "a string")
        ids.check(f"x{number}", "a boolean")
    for key, kind in (("5", "a string"), (str(count + 5), "a number"), (f"x{count}", "a date")):
        with pytest.raises(lshdb.InputError, match="earlier row"):
            ids.check(key, kind)
    for key, kind in (("5", "a number"), (str(count + 5), "a string")):
        ids.check(key, kind)


def test_types_have_the_right_article() -> None:
    names = ["bytes", "int64", "UUID", "uint8", "date", "ndarray", "object"]
    assert [*map(with_article, names)] == [
        "bytes",
        "an int64",
        "a UUID",
        "a uint8",
        "a date",
        "an ndarray",
        "an object",
    ]
