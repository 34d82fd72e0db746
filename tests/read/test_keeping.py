"""Which of similar documents stays: by place, length, times, folder or a field; in each job."""

from __future__ import annotations

import os
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
            "20240201T01",
            "9999-12-31",
        ],
        ["2024-01-01T12:00+02:00", "2024-01-01 10:30Z", "20240101T100000.1-0100"],
        ["2024-01-01 00:00:00.000000001", "2024-01-01 00:00:00.00000001", "2024-01-01 00:00:01"],
        [False, True, 2],
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
    ["2024-02", "2024-01-01"],
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


# clusters, a review and dedup


SQUARE = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"
FILES = {
    "f/Copy of a.txt": (SQUARE, 3),
    "f/a.txt": (SQUARE, 4),
    "f/cc.txt": (f"so {SQUARE}", 9),
    "f/sub/b.txt": (f"{SQUARE} and so on and on", 1),
}
"""Texts, and the hours of their files."""
KEPT = {
    "--keep first": "f/Copy of a.txt",
    "--keep last": "f/sub/b.txt",
    "--keep longest": "f/sub/b.txt",
    "--keep newest": "f/cc.txt",
    "--keep oldest": "f/sub/b.txt",
    "--keep shortest-path": "f/a.txt",
    "--keep-in f/sub": "f/sub/b.txt",
    "--keep newest --keep-in f/sub/": "f/sub/b.txt",
}


@pytest.fixture
def similar_files(tmp_path: Path) -> Command:
    """A database of four similar files, two of them identical."""
    for name, (text, hour) in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (hour * 3600,) * 2)
    similar_files = Command(tmp_path)
    similar_files.done("init", "--threshold", "0.5")
    similar_files.done("add", "f")
    return similar_files


def kept(similar_files: Command, *options: str) -> str:
    (key,) = {row["keep"] for row in similar_files("clusters", *options, "--json").records}
    return str(key)


@pytest.mark.app("dedup")
@pytest.mark.parametrize("rule", KEPT)
def test_dedup_and_clusters_keep_the_same(similar_files: Command, rule: str) -> None:
    """Only the default of clusters looks at names, where contents are the same."""
    options, expected = rule.split(), KEPT[rule]
    dropped = similar_files("dedup", "f", "--threshold", "0.5", *options, "--json").records
    assert {row["key"] for row in dropped} == FILES.keys() - {expected}
    assert {row["kept"] for row in dropped} == {expected}
    of_clusters = "f/a.txt" if rule == "--keep first" else expected
    assert kept(similar_files, *options) == of_clusters


@pytest.mark.app("review")
def test_a_review_keeps_what_clusters_keep(similar_files: Command) -> None:
    assert kept(similar_files) == "f/a.txt"
    review = similar_files("review", "--keep", "newest", stdin="q\n")
    assert "A - kept            f/cc.txt" in review.out


@pytest.mark.app("folders")
def test_a_file_that_had_just_changed_is_not_taken_for_an_old_one(similar_files: Command) -> None:
    """Its time is not stored: the newest of the others was kept, and it was dropped."""
    similar_files.write("f/just.txt", f"{SQUARE} now")
    similar_files.done("add", "f")
    said = "f/just.txt had just changed when it was added, so its time is not known: run lshdb sync"
    assert said in similar_files.fails("clusters", "--keep", "newest", status=2)
    hour = 12 * 3600
    os.utime(similar_files.path("f/just.txt"), (hour, hour))
    similar_files.done("sync", "f")
    assert kept(similar_files, "--keep", "newest") == "f/just.txt"


def test_a_field_orders_numbers_and_a_value_that_is_none_stops_or_comes_last(
    similar_files: Command,
) -> None:
    with lshdb.open(similar_files.directory / "lsh.db") as db:
        for key, rank in (("f/a.txt", 9), ("f/cc.txt", "10"), ("f/sub/b.txt", "x")):
            db.add(key, FILES[key][0], metadata={"n": rank})
        with pytest.raises(lshdb.InputError, match="'x' in field 'n' does not compare"):
            list(db.clusters(keep_max="n"))
        with (
            pytest.warns(lshdb.ColumnWarning, match="1 document without a value, ranked last"),
            pytest.warns(lshdb.ColumnWarning, match="1 document whose value does not compare"),
        ):
            (largest,) = db.clusters(keep_max="n", unordered="last")
        assert largest.keep == "f/cc.txt"
    reason = similar_files.fails("clusters", "--keep-max", "none", status=2)
    assert "no document has a value in field 'none'" in reason


# a folder that keeps


@pytest.fixture
def folder(command: Command) -> Command:
    for name in ("inbox/a.txt", "archive/sub/a.txt"):
        command.write(name, "the quick brown fox jumps over the lazy dog and runs home")
    command.path("link").symlink_to("archive")
    command.path("sub-link").symlink_to("archive/sub")
    return command


@pytest.mark.app("dedup")
@pytest.mark.parametrize("name", ["archive", "link", "./link/", "sub-link", "inbox/../link", "."])
def test_what_is_in_the_folder_stays(folder: Command, name: str) -> None:
    """mergerfs-tools #124 (https://github.com/trapexit/mergerfs-tools/issues/124) is of links,
    too.
    """
    for inputs in (["inbox", "archive"], ["inbox", "link"], ["inbox", "sub-link"]):
        done = folder.done("dedup", *inputs, "--keep-in", name, "-0")
        expected = "inbox/a.txt\0"
        if name == ".":  # both are in it
            expected = "archive/sub/a.txt\0"
        assert done.out == expected, (inputs, name)


@pytest.mark.app("dedup")
def test_a_folder_that_is_not_there_is_an_error(folder: Command) -> None:
    for name in ("archve", "inbox/a.txt"):
        said = folder.fails("dedup", "inbox", "archive", "--keep-in", name)
        assert said == f"keep_in {name}: no such directory"


@pytest.mark.app("dedup")
def test_a_link_to_a_file_is_where_the_file_is(folder: Command) -> None:
    folder.path("archive/b.txt").symlink_to("../inbox/a.txt")
    inputs = ["archive/sub", "archive/b.txt", "--format", "text"]
    assert folder.done("dedup", *inputs, "--keep-in", "inbox").lines[0].endswith("archive/b.txt")


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
