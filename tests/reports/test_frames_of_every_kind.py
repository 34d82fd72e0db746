"""Tables with columns of every kind: deduplicated, added, and written to files of Arrow.

pyarrow cannot take rows of views, of which Polars makes its categories, and a column of pandas may
have values of several types.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lshdb

TEXTS = ["the fox and the grapes", "an ant carried wheat home", "the fox and the grapes"]
IDS = [1, 2, 3]
VIEW = pa.string_view()


def arrow(**columns: Any) -> pa.Table:
    """A table of documents with other columns."""
    return pa.table({"id": IDS, "text": TEXTS} | columns)


def run_ends(values: pa.Array) -> pa.Array:
    """Values, each in a run of its own."""
    return pa.RunEndEncodedArray.from_arrays(pa.array(IDS, pa.int32()), values)


TABLES: dict[str, Any] = {
    "categories of Polars": pl.DataFrame(
        {"id": IDS, "text": pl.Series(TEXTS, dtype=pl.Categorical)}
    ),
    "an enumeration of Polars": pl.DataFrame(
        {"id": IDS, "text": TEXTS, "c": pl.Series(list("aba"), dtype=pl.Enum(["a", "b"]))}
    ),
    "lazy": pl.DataFrame({"id": IDS, "text": TEXTS}).lazy(),
    "categories of pandas": pd.DataFrame({"id": IDS, "text": pd.Categorical(TEXTS)}),
    "several types": pd.DataFrame({"id": IDS, "text": TEXTS, "x": ["a", 5, None]}),
    "numbers for names": pd.DataFrame({"id": IDS, "text": TEXTS, 0: IDS}),
    "views": arrow(text=pa.array(TEXTS, VIEW), b=pa.array([b"a"] * 3, pa.binary_view())),
    "views in others": arrow(
        a=pa.array([["a"]] * 3, pa.list_(VIEW)),
        b=pa.array([{"x": "a"}] * 3, pa.struct([("x", VIEW)])),
    ),
    "a dictionary of views": arrow(
        text=pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 0], pa.int32()), pa.array(TEXTS[:2], VIEW)
        )
    ),
    "run ends": arrow(id=run_ends(pa.array(IDS)), text=run_ends(pa.array(TEXTS))),
    "large": arrow(text=pa.array(TEXTS, pa.large_string())),
    "a column without a name": pd.DataFrame({"id": IDS, "text": TEXTS, None: IDS}),
    "columns without names": pa.table([IDS, TEXTS, IDS, IDS], names=["id", "text", "", ""]),
    "a reader": None,
    "a Dataset": None,
}


def table_of(name: str) -> Any:
    """A table; a reader can be read once."""
    table = arrow()
    if name == "a Dataset":
        return pytest.importorskip("datasets").Dataset.from_dict(table.to_pydict())
    if name == "a reader":
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    return TABLES[name]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_deduplicated_and_added(name: str, tmp_path: Path) -> None:
    result = lshdb.dedup(table_of(name))
    assert result.mask.tolist() == [True, True, False]
    assert [(row.key, row.kept) for row in result.dropped] == [("3", "1")]
    kept: Any = result.kept
    kept = kept.collect() if hasattr(kept, "collect") else kept
    assert len(kept) == 2
    with lshdb.open(tmp_path / "fables.db") as db:
        assert db.add_table(table_of(name)).added == 3
        assert [db[key].content for key in IDS] == TEXTS
    table = table_of(name)
    if isinstance(table, pl.DataFrame):
        table.write_ipc(tmp_path / "in.arrow")
    elif isinstance(table, pa.Table):
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
            writer.write_table(table)
    else:
        return
    of_file = lshdb.dedup(str(tmp_path / "in.arrow"))
    for suffix in ("arrow", "parquet", "jsonl"):
        of_file.save(tmp_path / f"out.{suffix}")
        kept_rows = lshdb.dedup(str(tmp_path / f"out.{suffix}")).kept
        rows = [(row["id"], row["text"]) for row in kept_rows]
        assert rows == [*zip(IDS, TEXTS, strict=True)][:2], suffix


def test_a_number_among_texts_costs_its_row(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1, "b", 3, None], "text": [TEXTS[0], TEXTS[1], 5, "a poem"]})
    with pytest.warns(lshdb.FailureWarning, match="^1 row"):
        result = lshdb.dedup(frame)
    assert [(one.where, one.reason) for one in result.failures] == [
        ("row:3", "field 'text' is a number, not a string")
    ]
    pd.testing.assert_frame_equal(result.kept, frame.iloc[[0, 1, 3]])
    with lshdb.open(tmp_path / "fables.db") as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = db.add_table(frame)
        assert (report.added, [one.where for one in report.failures]) == (2, ["table:3", "table:4"])
        assert db.keys() == ["1", "b"]


def test_columns_without_names_get_their_number(tmp_path: Path) -> None:
    lines = "id,text,,\n1,a b c,x,y\n"
    (tmp_path / "in.csv").write_text(lines)
    frames = [
        pd.DataFrame([(1, "a b c", "x", "y")], columns=["id", "text", *names])
        for names in (["", ""], [None, float("nan")], [pd.NA, pd.NaT])
    ]
    for frame in frames:
        with lshdb.open(tmp_path / "fables.db", mode="create") as db:
            db.remove(["1"], missing_ok=True)
            assert db.add_table(frame).failed == 0
            assert db["1"].metadata == {"": "x", "column 4": "y"}
            assert db.add_files([str(tmp_path / "in.csv")]).unchanged == 1
        pd.testing.assert_frame_equal(lshdb.dedup(frame).kept, frame)
    lshdb.dedup(str(tmp_path / "in.csv")).save(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == lines


def test_what_is_not_one_table_says_what_to_give(tmp_path: Path) -> None:
    splits = pytest.importorskip("datasets").DatasetDict({"test": table_of("a Dataset")})
    with lshdb.open(tmp_path / "fables.db") as db:
        for data, says in (
            (pd.Series(TEXTS), "to_frame"),
            (pl.Series(TEXTS), "to_frame"),
            (splits, r"ds\['test'\]"),
        ):
            for method in (lshdb.dedup, db.add_table):
                with pytest.raises(lshdb.UsageError, match=says):
                    method(data)


def test_columns_that_are_numbered_can_be_named() -> None:
    frame = pd.DataFrame([*zip(IDS, TEXTS, strict=False)])
    assert lshdb.dedup(frame, key="0", text="1").kept[0].tolist() == [1, 2]


RANKED: dict[str, list[Any]] = {
    "integers": [9, 10, None],
    "texts of numbers": ["9", "10", None],
    "floats": [9.5, 10.5, float("nan")],
    "dates": [pd.Timestamp("2020-01-09"), pd.Timestamp("2020-01-10"), None],
    "numbers and texts": [9, "10", "n/a"],
}


@pytest.mark.parametrize("form", ["pandas", "Polars", "Arrow", "dicts", "CSV"])
@pytest.mark.parametrize("name", RANKED)
def test_the_largest_or_smallest_stays_in_every_form(name: str, form: str, tmp_path: Path) -> None:
    columns = {"id": IDS, "text": TEXTS[:1] * 3, "stars": RANKED[name]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    frame = pd.DataFrame(columns)
    data: Any = {"pandas": frame, "dicts": rows, "CSV": str(tmp_path / "in.csv")}.get(form)
    frame.to_csv(tmp_path / "in.csv", index=False)
    if form == "Polars":
        data = pl.DataFrame(columns, strict=False)
    elif form == "Arrow":
        if name == "numbers and texts":
            return  # which Arrow does not have
        data = pa.Table.from_pandas(frame)
    assert lshdb.dedup(data, keep_max="stars").mask.tolist() == [False, True, False]
    assert lshdb.dedup(data, keep_min="stars").mask.tolist() == [True, False, False]
