"""Tables in: whatever gives them, the same database."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inspection
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers import database_of, new_session

import lshdb
from lshdb.model import Document, Failure

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, about themselves
    import datasets
    import duckdb
    import pandas as pd
    import polars as pl

TEXTS = ["the fox and the grapes", "", "na\u00efve \u72d0\u72f8 \U0001f98a", "the fox, the grapes"]
ROWS: dict[str, list[Any]] = {"id": [10, 7, 8, 9], "text": TEXTS, "stars": [0.5, 1.0, 2.0, 3.0]}
TABLE = pa.table(ROWS)
SETS = [["a", "b\u00e9"], None, [], ["c"]]

Source = Callable[[], object]


SOURCES: dict[str, Source] = {
    "Table": lambda: TABLE,
    "RecordBatch": lambda: TABLE.to_batches()[0],
    "RecordBatchReader": TABLE.to_reader,
    "struct array": lambda: TABLE.to_struct_array().combine_chunks(),
    "batches": lambda: iter(TABLE.to_batches(max_chunksize=3)),
    "pandas": lambda: pd.DataFrame(ROWS),
    "Polars": lambda: pl.DataFrame(ROWS),
    "DuckDB": lambda: duckdb.from_arrow(TABLE),
    "datasets": lambda: datasets.Dataset.from_dict(ROWS),
    "datasets, streamed": lambda: datasets.Dataset.from_dict(ROWS).to_iterable_dataset(),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[inspection.Row]]:
    """The database that the same documents make one by one."""
    path = tmp_path_factory.mktemp("expected") / "lsh.db"
    database_of(
        path,
        (
            Document(str(key), text, {"stars": stars})
            for key, text, stars in zip(*ROWS.values(), strict=True)
        ),
    ).close()
    return inspection.contents(path)


OF_APP = pytest.mark.app("dedup")
"""Reads what has no Arrow interface."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[OF_APP] * name.startswith("datasets")) for name in SOURCES]
)
def test_every_source_gives_the_same_database(
    name: str, path: Path, expected: dict[str, list[inspection.Row]]
) -> None:
    with lshdb.open(path) as db:
        report = db.add_table(SOURCES[name]())
        assert report == lshdb.AddReport(added=4, empty=1)
        assert db.add_table(SOURCES[name]()).unchanged == 4
    assert inspection.contents(path) == expected


MIXED = pa.table(
    {
        "id": pa.array(["a", "b", "c", "d"]).dictionary_encode(),
        "text": pa.array([b"the fox", b"and \xff the grapes", b"", b"x"]).view(pa.string()),
        "lang": pa.array(["en", None, "\u00e9", "de"]).dictionary_encode(),
        "torn": pa.array([b"ok", b"\xc3", None, b""]).view(pa.string()),
        "raw": pa.array([b"\xff", None, b"", b"x"]),
        "in": pa.array([{"n": 1, "tags": ["x"]}, None, {"n": None, "tags": []}, None]),
        "at": pa.array([1_600_000_000_123_456_789, 0, None, 1], pa.timestamp("ns", "UTC")),
    }
)


def arrow_file(path: Path, table: pa.Table) -> Path:
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=3)
    return path


@pytest.mark.filterwarnings("ignore::lshdb.ColumnWarning")
@pytest.mark.parametrize("fields", [(), ("in", "lang", "nosuch")], ids=str)
def test_a_table_and_files_of_it_give_the_same_database(
    path: Path, fields: tuple[str, ...]
) -> None:
    """Also what is not UTF-8: it costs a replacement, as in JSON lines and CSV."""
    files = [arrow_file(path.with_suffix(".arrow"), MIXED), path.with_suffix(".parquet")]
    pq.write_table(MIXED, files[1], row_group_size=2)
    # Encodings that files of Arrow have, and tables of other programs.
    views = MIXED.set_column(3, "torn", pc.cast(MIXED["torn"].cast("binary"), pa.binary_view()))
    views = views.set_column(3, "torn", views["torn"].combine_chunks().view(pa.string_view()))
    lang = MIXED["lang"].combine_chunks()
    views = views.set_column(2, "lang", pc.run_end_encode(lang.cast(pa.string())))
    found = []
    for source in (*files, MIXED, views):
        with lshdb.open(path) as db:
            if isinstance(source, Path):
                report = db.add_files(
                    [str(source)], reader=new_session(False, metadata_fields=fields)
                )
            else:
                report = db.add_table(source, metadata_fields=fields)
            assert (report.added, report.failed, report.replaced) == (4, 0, 1)
            got = db.get("b")
        found.append(inspection.contents(path))
        for file in path.parent.glob("lsh.db*"):
            file.unlink()
    assert all(other == found[0] for other in found)
    assert got.content == "and \ufffd the grapes"
    others = {"torn": "\ufffd", "raw": None, "at": "1970-01-01T00:00:00+00:00"}
    assert got.metadata == {"in": None, "lang": None} | ({} if fields else others)


def test_metadata_of_tables_is_chosen(path: Path) -> None:
    frame = pd.DataFrame({**ROWS, "more": [1, 2, 3, 4]})[1:].set_index(pd.Index([7, 5, 6]))
    with lshdb.open(path) as db:
        db.add_table(frame)
        assert db.get("7").metadata == {"stars": 1.0, "more": 2}, "without the index"
        with pytest.raises(lshdb.UsageError, match="do not go together"):
            db.add_table(frame, metadata=False, metadata_fields=["more"])


LISTS = {
    "list": pa.list_(pa.string()),
    "large": pa.large_list(pa.large_string()),
    "view": pa.list_view(pa.string()),
    "views": pa.list_(pa.string_view()),
    "dictionary": pa.list_(pa.dictionary(pa.int8(), pa.string())),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_lists_in_every_encoding(name: str, path: Path) -> None:
    column = pa.array([["x"], *SETS], type=LISTS[name])[1:]
    with lshdb.open(path, shingle="set") as db:
        report = db.add_table(pa.table({"id": ["p", "q", "r", "s"], "tags": column}), set="tags")
        assert (report.added, report.failed, report.empty) == (3, 1, 1)
        assert [db.get(key).content for key in "prs"] == [("a", "b\u00e9"), (), ("c",)]


A = ["a"]
UNFIT: list[tuple[object, str]] = [
    ({"id": A, "body": A}, r"no field 'text': name it with text= \(the columns are id, body\)"),
    ({"text": A}, r"no field 'id': name it with key= \("),
    (pa.table([A, A, A], names=["id", "text", "text"]), "two columns are named 'text'"),
    (pa.chunked_array([A]), "cannot be read"),
]
NO_TABLES = ["id,text", {"id": [1]}, [{"id": 1, "text": "x"}]]


@pytest.mark.parametrize(("table", "reason"), UNFIT, ids=range(len(UNFIT)))
def test_wrong_columns_are_reported_before_anything_is_written(
    table: Any, reason: str, path: Path
) -> None:
    failures: list[Failure] = []
    table = pa.table(table) if isinstance(table, dict) else table
    with lshdb.open(path) as db:
        with pytest.raises(lshdb.InputError, match=reason):
            db.add_table(table, on_failure=failures.append)
        assert (len(db), failures) == (0, [])


@pytest.mark.parametrize("table", NO_TABLES)
def test_what_is_no_table_is_refused(table: object, path: Path) -> None:
    with lshdb.open(path) as db:
        with pytest.raises(lshdb.UsageError, match="is not a table"):
            db.add_table(table)
        with pytest.raises(lshdb.UsageError, match="holds texts"):
            db.add_table(TABLE, set="text")


def test_batches_before_an_error_stay(path: Path) -> None:
    many = pa.table({"id": [f"k{i}" for i in range(9_000)], "text": ["x"] * 9_000})

    def broken() -> Iterator[pa.RecordBatch]:
        yield from many.to_batches()
        raise pa.ArrowInvalid("the source\nended early")

    with lshdb.open(path) as db:
        reader = pa.RecordBatchReader.from_batches(many.schema, broken())
        with pytest.raises(lshdb.InputError, match=r"cannot be read: .*the source$"):
            db.add_table(reader, workers=0)
        assert 8_000 <= len(db) <= 9_000
        assert db.add_table([]).documents == 0
