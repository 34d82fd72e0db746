"""Tables with columns of every kind: deduplicated, added, and written to files of Arrow.

pyarrow cannot take rows of views, of which Polars makes its categories, and a column of pandas may
have values of several types.
"""

from __future__ import annotations

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


RANKED: dict[str, list[Any]] = {
    "texts of numbers": ["9", "10", None],
    "floats": [9.5, 10.5, float("nan")],
    "dates": [pd.Timestamp("2020-01-09"), pd.Timestamp("2020-01-10"), None],
    "numbers and texts": [9, "10", ""],
}


@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
@pytest.mark.parametrize("form", ["pandas", "Polars", "CSV"])
@pytest.mark.parametrize("name", RANKED)
def test_the_largest_or_smallest_stays_in_every_form(name: str, form: str, tmp_path: Path) -> None:
    columns = {"id": IDS, "text": TEXTS[:1] * 3, "stars": RANKED[name]}
    data: Any = pd.DataFrame(columns)
    if form == "CSV":
        data.to_csv(tmp_path / "in.csv", index=False)
        data = str(tmp_path / "in.csv")
    elif form == "Polars":
        data = pl.DataFrame(columns, strict=False)
    assert lshdb.dedup(data, keep_max="stars").mask.tolist() == [False, True, False]
    assert lshdb.dedup(data, keep_min="stars").mask.tolist() == [True, False, False]
