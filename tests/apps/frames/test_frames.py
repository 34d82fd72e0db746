"""lshdb.dedup: rows of a program without near duplicates, compared with brute force."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import chdir
from dataclasses import astuple
from pathlib import Path
from typing import Any

import datasets
import duckdb
import inspection
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import text_families
from oracles import deduplicated, in_order, word_shingles
from rows import as_file

import lshdb
from lshdb.apps.dedup.model import DROPPED
from lshdb.model import Failure

TEXTS = [*text_families(seed=3, families=10, copies=3, words=40, most_edits=7).values()]
N = len(TEXTS)
ROWS: list[dict[str, Any]] = [{"id": f"k{i}", "text": text, "n": i} for i, text in enumerate(TEXTS)]


Decided = tuple[list[int], list[tuple[int, int, float]]]
SHINGLES = {number: set(word_shingles(text, 3)) for number, text in enumerate(TEXTS)}


def decided(threshold: float, keep: str = "first") -> Decided:
    """The oracle: what is kept; what is dropped, with the kept one and the similarity."""
    found = sorted(deduplicated(SHINGLES, in_order(TEXTS, keep), threshold).items())
    return [row for row, one in found if one is None], [(row, *one) for row, one in found if one]


def ids(rows: Any) -> list[int]:
    """The column n, whatever the rows are."""
    if isinstance(rows, pl.LazyFrame):
        rows = rows.collect()
    if hasattr(rows, "fetchall"):
        return [n for (n,) in rows.project("n").fetchall()]
    if isinstance(rows, list):
        return [row["n"] for row in rows]
    return [int(str(one)) for one in rows["n"]]


def frame_of_pandas() -> pd.DataFrame:
    """With an index, a column of several types, and a name that is a number."""
    frame = pd.DataFrame(ROWS, index=[f"i{i}" for i in range(N)])
    return frame.assign(mixed=[1, "x"] * (N // 2), cat=pd.Categorical(TEXTS), **{"5": 1.5})


GIVEN: dict[str, tuple[Callable[[], Any], Any]] = {
    "dicts": (lambda: ROWS, list),
    "an iterator": (lambda: iter(ROWS), list),
    "arrow": (lambda: pa.Table.from_pylist(ROWS), pa.Table),
    "batches": (lambda: pa.Table.from_pylist(ROWS).to_reader(max_chunksize=7), pa.Table),
    "pandas": (frame_of_pandas, pd.DataFrame),
    "polars": (lambda: pl.DataFrame(ROWS), pl.DataFrame),
    "lazy": (lambda: pl.DataFrame(ROWS).lazy(), pl.LazyFrame),
    "datasets": (lambda: datasets.Dataset.from_list(ROWS), datasets.Dataset),
    "duckdb": (lambda: duckdb.from_arrow(pa.Table.from_pylist(ROWS)), object),
}


@pytest.mark.parametrize(
    ("kind", "keep"), [*((kind, "first") for kind in GIVEN), ("dicts", "longest"), ("lazy", "last")]
)
def test_rows_come_back_as_they_were_given(kind: str, keep: Any) -> None:
    make, expected = GIVEN[kind]
    result = lshdb.dedup(make(), keep=keep, recall=0.9999, workers=0)
    kept, gone = decided(0.8, keep)
    assert isinstance(result.kept, expected)
    assert ids(result.kept) == kept
    assert np.flatnonzero(result.mask).tolist() == kept
    assert (result.kept_count, result.dropped_count, result.failed) == (len(kept), len(gone), 0)
    assert kind != "duckdb" or type(result.kept).__name__ == "DuckDBPyRelation"
    if kind == "pandas":
        pd.testing.assert_frame_equal(result.kept, make().iloc[kept])
    wanted = [(f"k{i}", None, i + 1, f"k{j}", None, j + 1, s) for i, j, s in gone]
    assert [astuple(row)[:7] for row in result.dropped] == wanted
    assert result.dropped.to_arrow().column_names == [*DROPPED]


def test_rows_are_compared_with_those_of_earlier_runs(tmp_path: Path) -> None:
    path, frame = tmp_path / "old.db", pl.DataFrame(ROWS[N // 2 :])
    lshdb.dedup(ROWS[: N // 2], into=path, recall=0.9999, workers=0)
    references = {i: SHINGLES[i] for i in decided(0.8)[0] if i < N // 2}
    later = {i: SHINGLES[i] for i in range(N // 2, N)}
    expected = deduplicated(later, later, 0.8, references)
    kept = [row for row, why in expected.items() if why is None]
    assert ids(lshdb.dedup(frame, against=path, recall=0.9999, workers=0).kept) == kept
    result = lshdb.dedup(frame, into=path, workers=0)
    assert ids(result.kept) == kept
    assert not lshdb.dedup(frame, into=path, workers=0).kept_count
    with pytest.raises(lshdb.SettingsMismatch):
        lshdb.dedup(frame, into=path, shingle="char:5")
    with pytest.raises(lshdb.UsageError, match="no index of passages"):
        lshdb.dedup(frame, into=path, rule="copied:5")


def test_a_higher_threshold_is_decided_from_the_beginning() -> None:
    """A row that is kept at the lower one may be like a row that comes back at the higher one."""
    for threshold in (0.5, 0.7, 0.8, 1.0):
        result = lshdb.dedup(ROWS, threshold=threshold, recall=0.9999)
        kept, gone = decided(threshold)
        assert (ids(result.kept), result.threshold) == (kept, threshold)
        found = [(row.line, row.similarity) for row in result.dropped]
        assert found == [(number + 1, score) for number, _, score in gone]


@pytest.mark.parametrize("keep", ["first", "last"])
def test_files_are_read_again_for_what_is_kept(tmp_path: Path, keep: Any) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS[:20]), tmp_path / "a.parquet", row_group_size=3)
    pq.write_table(pa.Table.from_pylist(ROWS[20:]), tmp_path / "b.parquet")
    result = lshdb.dedup(str(tmp_path / "*.parquet"), keep=keep, recall=0.9999)
    kept, gone = decided(0.8, keep)
    assert ids(result.kept) == [row["n"] for row in result.iter_kept()] == kept
    of_directory = lshdb.dedup(tmp_path, keep=keep, recall=0.9999)
    assert of_directory.kept == result.kept, "a directory is its tables"
    where = [(f"{tmp_path}/{'ab'[i >= 20]}.parquet", i % 20 + 1) for i in range(N)]
    found = [((r.file, r.line), (r.kept_file, r.kept_line)) for r in result.dropped]
    assert found == [(where[i], where[j]) for i, j, _ in gone]
    for name in ("out.parquet", "out.jsonl"):
        result.save(tmp_path / name)
        assert lshdb.dedup(tmp_path / name, threshold=1.0).kept == [ROWS[i] for i in kept]
    # The decisions are about the rows that were there.
    times = (tmp_path / "b.parquet").stat()
    pq.write_table(pa.Table.from_pylist(ROWS[:19:-1]), tmp_path / "new.parquet")
    os.utime(tmp_path / "new.parquet", ns=(times.st_atime_ns, times.st_mtime_ns))
    (tmp_path / "new.parquet").replace(tmp_path / "b.parquet")
    for read in (
        lambda: result.save(tmp_path / "late.jsonl"),
        lambda: result.kept,
        lambda: result.annotations,
    ):
        with pytest.raises(lshdb.InputError, match="has changed since"):
            read()
    assert len([*tmp_path.iterdir()]) == 4


def test_sets_nested_texts_and_rows_that_differ() -> None:
    sets = [{"set": [*range(n, n + 10)]} for n in (0, 1, 40)]
    by_sets = lshdb.dedup(sets, shingle="set", threshold=0.5)
    assert by_sets.kept == [sets[0], sets[2]]
    assert [(row.key, row.kept) for row in by_sets.dropped] == [("row:2", "row:1")]
    rows: list[dict[str, Any]] = [
        {"title": "The fox", "meta": {"body": "and the grapes"}, "more": object()},
        {"id": 7, "meta": {"body": "the fox and the grapes"}},
        {"id": None, "title": None, "meta": {"body": "the ant and the dove"}},
        {"id": 9, "title": 5},
        {"id": 10},
    ]
    failures: list[Failure] = []
    result = lshdb.dedup(rows, text="title,meta.body", on_failure=failures.append)
    assert (result.kept, result.failed) == ([rows[0], rows[2]], 2)
    assert [failure.where for failure in failures] == ["row:4", "row:5"]


NO_ROWS = "has no rows: give a table"
ONE = {"id": [1], "text": ["a"]}


@pytest.mark.parametrize(
    ("given", "options", "reason"),
    [
        *((wrong, {}, NO_ROWS) for wrong in (5, b"x", {"id": 1}, None, object())),
        (["The fox and the grapes", "a*"], {}, r"texts go in dicts: \[{"),
        (pd.Series(["a"]), {}, "a Series has no columns"),
        (pl.Series("text", ["a"]), {}, "a Series has no columns"),
        (pa.array(["a"]), {}, "the table cannot be read"),
        (datasets.DatasetDict({"a": datasets.Dataset.from_dict(ONE)}), {}, r"such as ds\['a'\]"),
        ([{"text": "a"}, 5], {}, "row 2 is of type int, not a dict"),
        (pa.table(ONE), {"text": "body"}, r"no field 'body': .* \(the columns are id, text\)"),
        (pd.DataFrame(ONE), {"text": "body"}, r"no field 'body': name it with text= .*columns"),
        ("none.jsonl", {}, "no such file"),
        (Path(), {}, "no table in it"),
        (["a.jsonl", 3], {}, "among names of files there is 3"),
        (Path("x.db"), {}, "is a database: dedup"),
        (ROWS, {"keep": "best"}, "keep 'best'"),
        (ROWS, {"threshold": 2}, "threshold"),
    ],
    ids=range(19),
)
def test_what_has_no_rows_is_refused(
    given: Any, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with chdir(tmp_path):
        lshdb.open("x.db").close()
        with pytest.raises((lshdb.UsageError, lshdb.InputError), match=reason):
            lshdb.dedup(given, **options)


def test_no_rows_are_none() -> None:
    empty = lshdb.dedup([])
    assert (empty.kept, empty.dropped) == ([], [])
    schema = {"id": pl.Int64, "text": pl.String, "x": pl.Int8}
    assert lshdb.dedup(pl.DataFrame(schema=schema)).kept.schema == schema
    with pytest.raises(lshdb.UsageError, match="save is for rows of files"):
        lshdb.dedup(ROWS).save("x.jsonl")
    with pytest.raises(lshdb.UsageError, match="iter_kept is for rows of files"):
        lshdb.dedup(ROWS).iter_kept()


def test_neither_an_input_nor_a_database_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(as_file(path.name, ROWS))
    (tmp_path / "link.jsonl").symlink_to(path)
    lshdb.open(tmp_path / "x.db").close()
    before, result = inspection.files(tmp_path), lshdb.dedup(path)
    for name, reason in (
        ("in.jsonl", "is one of the files that are read"),
        ("link.jsonl", "is one of the files that are read"),
        ("x.db", "is a database, and would be lost"),
    ):
        with pytest.raises(lshdb.UsageError, match=reason):
            result.save(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="none"):
        result.save(tmp_path / "none" / "out.jsonl")
    assert inspection.files(tmp_path) == before
