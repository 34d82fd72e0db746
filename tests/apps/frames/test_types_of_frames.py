"""Rows come back untouched, whatever types their other columns have, in every library."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import lshdb

TEXTS = ["the fox and the grapes", "an ant carried wheat home", "the fox and the grapes"]
IDS = [1, 2, 3]
VIEW = pa.string_view()


def kept(data: Any) -> Any:
    """The first two rows, as the third has the text of the first."""
    result = lshdb.dedup(data)
    assert result.mask.tolist() == [True, True, False]
    return result.kept


def run_ends(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(IDS, pa.int32()), values)


ARROW: dict[str, pa.Array] = {
    "view": pa.array(["a", None, "c"], VIEW),
    "views in lists": pa.array([["a"], None, ["c"]], pa.list_(VIEW)),
    "dictionary of views": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0], pa.int32()), pa.array(["a", "b"], VIEW)
    ),
    "run ends": run_ends(pa.array(["a", None, "c"], VIEW)),
    "list view": pa.array([["a"]] * 3, pa.large_list_view(pa.string())),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int32())),
    "decimal": pa.array([Decimal(1)] * 3, pa.decimal256(60, 2)),
    "interval": pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval()),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()),
        pa.array([0, 0, 1], pa.int32()),
        [pa.array([1, 2]), pa.array(["a"])],
    ),
    "extension": pa.ExtensionArray.from_storage(
        pa.opaque(VIEW, "a", "b"), pa.array(["1", "2", "3"], VIEW)
    ),
    "nanoseconds": pa.array([1, None, 3], pa.timestamp("ns", "Europe/Berlin")),
    "not UTF-8": pa.array([b"\xff", None, b"c"]).view(pa.string()),
}


@pytest.mark.parametrize("form", [pa.table, pa.record_batch])
def test_arrow(form: Callable[..., Any]) -> None:
    for name, column in ARROW.items():
        data = form({"id": IDS, "text": TEXTS, "c": column})
        rows = kept(data)
        assert (type(rows), rows.schema) == (type(data), data.schema), name
        assert rows["c"].equals(data.slice(0, 2)["c"]), name


PANDAS: dict[str, Any] = {
    "several types": ["a", 5, None],
    "objects": [object(), {1}, [2]],
    "lone surrogate": ["\ud800", "a", "b"],
    "ordered categories": pd.Categorical(list("aba"), categories=["b", "a"], ordered=True),
    "nullable": pd.array([1, None, 3], "Int64"),
    "period": pd.period_range("2024-01", periods=3, freq="M"),
    "interval": pd.interval_range(0, 3),
    "sparse": pd.arrays.SparseArray([0, 0, 1]),
    "time zone": pd.date_range("2024", periods=3, tz="Europe/Berlin"),
    "complex": [1j, 2, 3],
    "float16": np.array([1, 2, 3], np.float16),
    "of Arrow": pd.array([[1], [2], None], pd.ArrowDtype(pa.list_(pa.int8()))),
}
INDEXES: list[Any] = [
    None,
    [1, 1, 1],
    pd.MultiIndex.from_tuples([(1, "a"), (2, "b"), (3, "c")], names=["p", "text"]),
    pd.period_range("2024", periods=3, freq="D", name="day"),
]


def test_pandas() -> None:
    for column in PANDAS.values():
        for index in INDEXES:
            frame = pd.DataFrame({"id": IDS, "text": TEXTS, "c": column, 0: IDS})
            frame = frame if index is None else frame.set_axis(index)
            frame.attrs = {"a": 1}
            rows = kept(frame)
            pd.testing.assert_frame_equal(rows, frame.iloc[[0, 1]])
            assert rows.attrs == frame.attrs


def test_a_lone_surrogate_costs_a_row_of_pandas_its_key() -> None:
    frame = pd.DataFrame({"id": ["a\ud800", "b"], "text": ["one", "two"]})
    with pytest.warns(UserWarning, match="1 id gives no key"):
        assert lshdb.dedup(frame).kept.equals(frame)


POLARS: dict[str, tuple[list[Any], Any]] = {
    "categories": (["a", "b", None], pl.Categorical),
    "enumeration": (["a", "b", "a"], pl.Enum(["b", "a"])),
    "objects": ([object(), {1}, 2], pl.Object),
    "large integers": ([2**100, 1, None], pl.Int128),
    "decimal": ([Decimal("1.5"), None, Decimal(2)], pl.Decimal(38, 5)),
    "nanoseconds": ([1, 2, None], pl.Datetime("ns", "UTC")),
    "duration": ([1, None, 3], pl.Duration("ns")),
    "arrays": ([[1, 2]] * 3, pl.Array(pl.Int8, 2)),
    "structs": ([{"a": 1, "b": ["x"]}] * 3, pl.Struct({"a": pl.Int8, "b": pl.List(pl.String)})),
    "null": ([None] * 3, pl.Null),
}


def test_polars() -> None:
    for name, (values, kind) in POLARS.items():
        frame = pl.DataFrame({"id": IDS, "text": TEXTS, "c": pl.Series(values, dtype=kind)})
        rows, lazy = kept(frame), kept(frame.lazy())
        assert isinstance(lazy, pl.LazyFrame)
        if name != "objects":
            assert_frame_equal(rows, frame[:2])
            assert_frame_equal(lazy.collect(), frame[:2])
        assert rows["c"].to_list() == frame["c"].to_list()[:2], name


DUCKDB = [
    "170141183460469231731687303715884105727::HUGEINT",
    "5::UHUGEINT",
    "uuid()",
    "'10101'::BIT",
    "'12:00:00+02'::TIMETZ",
    "'it''s'::ENUM('b', 'it''s')",
    "['b'::ENUM('b', 'a'), NULL]",
    "{'a b': 1, 'h': 5::HUGEINT, 't': 'it''s, {x}'}",
    "map {'x': [1::HUGEINT]}",
    "union_value(k := 1)",
    "[1, 2]::INT[2]",
    "'{\"a\": [1]}'::JSON",
    "'\\xAA'::BLOB",
    "interval 1 month",
    "'1992-01-01 00:00:00.000000001'::TIMESTAMP_NS",
    "'infinity'::DATE",
    "NULL",
]


def test_duckdb() -> None:
    """Also in a connection of its own; of rows made again by each query, those of one time.

    Only an ENUM is text in the rows that come back.
    """
    with duckdb.connect() as connection:
        columns = ", ".join(f'{value} AS "c ""{n}"' for n, value in enumerate(DUCKDB))
        values = ", ".join(f"({n}, '{text}')" for n, text in zip(IDS, TEXTS, strict=True))
        relation = connection.sql(f"SELECT *, {columns} FROM (VALUES {values}) v(id, text)")
        rows = kept(relation)
        assert type(rows) is type(relation)
        assert (rows.columns, [*map(str, rows.types)]) == (
            relation.columns,
            [
                "VARCHAR" + "[]" * str(kind).endswith("[]") if "ENUM" in str(kind) else str(kind)
                for kind in relation.types
            ],
        )
        lossless = "SELECT current_setting('arrow_lossless_conversion')"
        assert connection.sql(lossless).fetchall() == [(False,)]
        uuids = [*rows.columns].index('c "2')
        assert rows.fetchall() == rows.fetchall()
        for row, given in zip(rows.fetchall(), relation.fetchall()[:2], strict=True):
            assert [*row[:uuids], *row[uuids + 1 :]] == [*given[:uuids], *given[uuids + 1 :]]
        assert not connection.sql("SHOW TABLES").fetchall()


@pytest.mark.parametrize("form", ["python", "numpy", "arrow"])
def test_datasets(form: str) -> None:
    features = datasets.Features(
        {
            "id": datasets.Value("int32"),
            "text": datasets.Value("large_string"),
            "c": datasets.ClassLabel(names=["a", "b"]),
            "picture": datasets.Image(),
            "time": datasets.Value("timestamp[ns]"),
        }
    )
    columns = {"id": IDS, "text": TEXTS, "c": [0, 1, 0], "picture": [None] * 3, "time": IDS}
    data = datasets.Dataset.from_dict(columns, features).with_format(form)
    rows = kept(data)
    assert rows.features == data.features
    assert rows.format["type"] == data.format["type"]
    assert rows.with_format("arrow")[:] == data.with_format("arrow")[:2]


DICTS = [{"id": n, "text": text} for n, text in zip(IDS, TEXTS, strict=True)]


def test_dicts() -> None:
    data = [row | {"c": object()} for row in DICTS]
    assert all(row is given for row, given in zip(kept(data), data, strict=False))


TEXTS_OF: dict[str, Any] = {
    "pandas": pd.DataFrame({"id": [1.5, None, 3.0], "text": pd.Categorical(TEXTS)}),
    "pandas, index": pd.DataFrame({"text": TEXTS}, pd.Index([1.5, None, 3.0], name="id")),
    "Polars": pl.DataFrame(
        {
            "id": pl.Series([1.5, None, 3.0], dtype=pl.Float32),
            "text": pl.Series(TEXTS, dtype=pl.Enum(TEXTS[:2])),
        }
    ),
    "Arrow": pa.table(
        {
            "id": run_ends(pa.array([1.5, None, 3.0])),
            "text": pa.array([text.encode() for text in TEXTS], pa.binary_view()),
        }
    ),
    "datasets": datasets.Dataset.from_dict({"id": [1.5, None, 3.0], "text": TEXTS}),
    "DuckDB": duckdb.sql(
        "SELECT unnest([1.5, NULL, 3])::FLOAT AS id, 5::HUGEINT AS n, "
        f"unnest({[*TEXTS]})::ENUM({TEXTS[0]!r}, {TEXTS[1]!r}) AS text"
    ),
}


@pytest.mark.parametrize("library", TEXTS_OF)
def test_texts_and_ids_of_other_types(library: str) -> None:
    result = lshdb.dedup(TEXTS_OF[library])
    assert [(row.key, row.kept) for row in result.dropped] == [("3", "1.5")]


ORDERED: dict[str, Any] = {
    "pandas": pd.DataFrame(
        {"text": TEXTS[:1] * 3, "size": pd.Categorical(["S", "L", "M"], ["S", "M", "L"], True)}
    ),
    "Polars": pl.DataFrame(
        {"text": TEXTS[:1] * 3, "size": pl.Series(["S", "L", "M"], dtype=pl.Enum(["S", "M", "L"]))}
    ),
}


@pytest.mark.parametrize("library", ORDERED)
def test_ordered_categories_say_which_row_is_kept(library: str) -> None:
    data = ORDERED[library]
    assert lshdb.dedup(data, keep_max="size").mask.tolist() == [False, True, False]
    assert lshdb.dedup(data, keep_min="size").mask.tolist() == [True, False, False]


def test_annotations_are_joined_by_each_library() -> None:
    for data in (DICTS, pd.DataFrame(DICTS), pl.DataFrame(DICTS), pa.Table.from_pylist(DICTS)):
        columns = lshdb.dedup(data).annotations
        assert columns == {
            "cluster": [1, 2, 1],
            "kept": ["1", "2", "1"],
            "similarity": [1.0] * 3,
            "exact": [True] * 3,
        }
    frame, table = pd.DataFrame(DICTS), pa.Table.from_pylist(DICTS)
    joined = pl.DataFrame(DICTS).hstack(pl.DataFrame(columns))
    assert_frame_equal(joined, pl.from_pandas(frame.assign(**columns)))
    for name, values in columns.items():
        table = table.append_column(name, [values])
    assert_frame_equal(joined, pl.DataFrame(table))


# columns of every kind


def arrow_table(**columns: Any) -> pa.Table:
    """A table of documents with other columns."""
    return pa.table({"id": IDS, "text": TEXTS} | columns)


TABLES: dict[str, Any] = {
    "categories of Polars": pl.DataFrame(
        {"id": IDS, "text": pl.Series(TEXTS, dtype=pl.Categorical)}
    ),
    "an enumeration of Polars": pl.DataFrame(
        {"id": IDS, "text": TEXTS, "c": pl.Series(list("aba"), dtype=pl.Enum(["a", "b"]))}
    ),
    "categories of pandas": pd.DataFrame({"id": IDS, "text": pd.Categorical(TEXTS)}),
    "several types": pd.DataFrame({"id": IDS, "text": TEXTS, "x": ["a", 5, None]}),
    "numbers for names": pd.DataFrame({"id": IDS, "text": TEXTS, 0: IDS}),
    "views": arrow_table(text=pa.array(TEXTS, VIEW), b=pa.array([b"a"] * 3, pa.binary_view())),
    "views in others": arrow_table(
        a=pa.array([["a"]] * 3, pa.list_(VIEW)),
        b=pa.array([{"x": "a"}] * 3, pa.struct([("x", VIEW)])),
    ),
    "a dictionary of views": arrow_table(
        text=pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 0], pa.int32()), pa.array(TEXTS[:2], VIEW)
        )
    ),
    "run ends": arrow_table(id=run_ends(pa.array(IDS)), text=run_ends(pa.array(TEXTS))),
    "a column without a name": pd.DataFrame({"id": IDS, "text": TEXTS, None: IDS}),
    "columns without names": pa.table([IDS, TEXTS, IDS, IDS], names=["id", "text", "", ""]),
}


@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_deduplicated_and_added(name: str, tmp_path: Path) -> None:
    table = TABLES[name]
    result = lshdb.dedup(table)
    assert result.mask.tolist() == [True, True, False]
    assert [(row.key, row.kept) for row in result.dropped] == [("3", "1")]
    assert len(result.kept) == 2
    with lshdb.open(tmp_path / "fables.db") as db:
        assert db.add_table(table).added == 3
        assert [db[key].content for key in IDS] == TEXTS
    if isinstance(table, pl.DataFrame):
        table.write_ipc(tmp_path / "in.arrow")
    elif isinstance(table, pa.Table):
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
            writer.write_table(table)
    else:
        return
    of_file = lshdb.dedup(str(tmp_path / "in.arrow"))
    for suffix in ("arrow", "parquet"):
        of_file.save(tmp_path / f"out.{suffix}")
        kept = lshdb.dedup(str(tmp_path / f"out.{suffix}")).kept
        assert [row["text"] for row in kept] == TEXTS[:2], suffix


def test_a_number_among_texts_costs_its_row(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1, "b", 3, None], "text": [TEXTS[0], TEXTS[1], 5, "a poem"]})
    with pytest.warns(lshdb.FailureWarning, match="^1 row"):
        result = lshdb.dedup(frame)
    assert [(one.where, one.reason) for one in result.failures] == [
        ("row:3", "field 'text' is a number, not a string")
    ]
    pd.testing.assert_frame_equal(result.kept, frame.iloc[[0, 1, 3]])
    with lshdb.open(tmp_path / "fables.db") as db:
        failures: list[lshdb.Failure] = []
        assert db.add_table(frame, on_failure=failures.append).added == 2
        assert [failure.where for failure in failures] == ["table:3", "table:4"]


def test_columns_without_names_get_their_number(tmp_path: Path) -> None:
    lines = "id,text,,\n1,a b c,x,y\n"
    (tmp_path / "in.csv").write_text(lines)
    with lshdb.open(tmp_path / "fables.db") as db:
        db.add_files([str(tmp_path / "in.csv")])
        assert db["1"].metadata == {"": "x", "column 4": "y"}
        for names in (["", ""], [None, float("nan")], [pd.NA, pd.NaT]):
            frame = pd.DataFrame([(1, "a b c", "x", "y")], columns=["id", "text", *names])
            assert db.add_table(frame).unchanged == 1
            pd.testing.assert_frame_equal(lshdb.dedup(frame).kept, frame)
