"""Rows of Parquet that are read where they are signed: the same documents, and the same failures.

What the columns may hold is in test_formats.py.
"""

from __future__ import annotations

import io
import os
import random
from pathlib import Path
from typing import Any

import inspection
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb.errors import InputError
from lshdb.sources.arrow_rows import BLOCK
from lshdb.sources.parquet_rows import ParquetRows
from lshdb.sources.readers import Reader
from lshdb.sources.records import Failure, Lines, RecordParser
from lshdb.sources.row_files import Stretch

PARSER = RecordParser(False, "id", "text", "set", False, False)


def texts(count: int, words: int = 150) -> list[str]:
    chance = random.Random(count)
    return [" ".join(f"word{chance.randrange(400)}" for _ in range(words)) for _ in range(count)]


def write(path: Path, contents: list[str], rows: int, **options: Any) -> Path:
    table = pa.table(
        {
            "id": [f"k{i}" for i in range(len(contents))],
            "other": [[i] for i in range(len(contents))],
            "text": contents,
        }
    )
    pq.write_table(table, path, row_group_size=rows, **options)
    return path


def added(path: Path, source: Path, workers: int) -> tuple[Any, list[Failure]]:
    failures: list[Failure] = []
    with lshdb.open(path) as db:
        db.add_files([str(source)], on_failure=failures.append, workers=workers)
    return inspection.contents(path), failures


def stretches(path: Path) -> list[Lines]:
    found = list(Reader(False).items([str(path)], apart=True))
    assert all(isinstance(item, Lines) and item.stretch is not None for item in found)
    return [item for item in found if isinstance(item, Lines)]


@pytest.mark.parametrize("rows", [700, 10_000])
def test_rows_are_the_same_wherever_they_are_signed(tmp_path: Path, rows: int) -> None:
    contents = texts(6_000)
    source = write(tmp_path / "x.parquet", contents, rows)
    assert len(stretches(source)) > 6
    expected = tmp_path / "expected.db"
    with lshdb.open(expected) as db:
        db.add_many(
            lshdb.Document(f"k{i}", text, {"other": [i]}) for i, text in enumerate(contents)
        )
    for workers in (0, 1, 2):
        got, failures = added(tmp_path / f"{workers}.db", source, workers)
        assert got == inspection.contents(expected)
        assert not failures


def test_rows_that_take_much_more_than_the_file_tells(tmp_path: Path) -> None:
    """Each distinct text is in the file once, however many rows have it."""
    some = texts(20, words=4_000)
    contents = ["short"] * 100 + [some[i % 20] for i in range(1_500)]
    source = write(tmp_path / "x.parquet", contents, 10_000)
    (lines,) = stretches(source)
    assert lines.size < BLOCK
    rows = ParquetRows()
    with pytest.raises(InputError, match="rows of many bytes"):
        rows.read(lines, PARSER)
    blocks = list(rows.blocks(lines, PARSER))
    assert sum(block.count for block in blocks) == len(contents)
    assert max(len(block.data) for block in blocks) < 3 * BLOCK
    rows.close()
    expected = tmp_path / "expected.db"
    with lshdb.open(expected) as db:
        db.add_many(
            lshdb.Document(f"k{i}", text, {"other": [i]}) for i, text in enumerate(contents)
        )
    for workers in (0, 1):
        assert added(tmp_path / f"{workers}.db", source, workers)[0] == inspection.contents(
            expected
        )


def test_what_rows_take_is_told_by_the_first_ones(tmp_path: Path) -> None:
    source = write(tmp_path / "x.parquet", texts(1, words=1_000) * 5_000, 10_000)
    assert source.stat().st_size < 100_000
    cut = stretches(source)
    assert sum(lines.count for lines in cut) == 5_000
    assert all(BLOCK // 2 < lines.size <= BLOCK for lines in cut[:-1])


@pytest.mark.parametrize("workers", [0, 1])
def test_rows_behind_damage_are_left_out(tmp_path: Path, workers: int) -> None:
    source = write(tmp_path / "x.parquet", texts(6_000), 1_000, use_dictionary=False)
    place = pq.ParquetFile(source).metadata.row_group(3).column(2).data_page_offset
    data = bytearray(source.read_bytes())
    data[place : place + 5_000] = b"\xff" * 5_000
    source.write_bytes(data)
    got, failures = added(tmp_path / "x.db", source, workers)
    assert len(got["documents"]) == 3_000
    (failure,) = failures
    assert failure.where == str(source)
    assert failure.reason.startswith("not Parquet, or damaged: ")


def changed(path: Path) -> None:
    write(path.with_name("y.parquet"), texts(3_000), 1_000).replace(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (changed, "changed while it was being read"),
        (Path.unlink, "cannot be opened again to be read on: no such file or directory"),
    ],
)
@pytest.mark.parametrize("workers", [0, 1])
def test_files_that_change_while_they_are_read(
    tmp_path: Path, after_listing: Any, workers: int, change: Any, told: str
) -> None:
    source = write(tmp_path / "x.parquet", texts(3_000), 1_000)
    after_listing(lambda: change(source))
    got, failures = added(tmp_path / "x.db", source, workers)
    assert got["documents"] == []
    assert [(failure.where, failure.reason) for failure in failures] == [(str(source), told)]


def test_a_footer_that_tells_of_more_rows_than_there_are(tmp_path: Path) -> None:
    source = write(tmp_path / "x.parquet", texts(100), 1_000)
    (lines,) = stretches(source)
    assert lines.stretch is not None
    rows, more = ParquetRows(), Lines("x", 1, 101, b"", "parquet", (), lines.stretch)
    with pytest.raises(InputError, match="fewer rows than it tells"):
        rows.read(more, PARSER)
    assert rows.read(lines, PARSER).num_rows == 100, "what follows is read from the beginning"
    rows.close()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 299), st.integers(1, 300))))
def test_stretches_are_read_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[int, int, int]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    if not path.exists():
        write(path, texts(900, words=5), 300)
    (first, *_) = stretches(path)
    assert first.stretch is not None
    rows = ParquetRows()
    for group, start, count in asked:
        stretch = Stretch(first.stretch.file, group, start, 1)
        count = min(count, 300 - start)
        batch = rows.read(Lines("x", 1, count, b"", "parquet", (), stretch), PARSER)
        at = group * 300 + start
        assert batch["id"].to_pylist() == [f"k{i}" for i in range(at, at + count)]
    rows.close()


def test_a_file_on_standard_input(tmp_path: Path) -> None:
    contents = texts(3_000)
    data = write(tmp_path / "x.parquet", contents, 1_200).read_bytes()
    with (tmp_path / "x.parquet").open("rb") as opened:
        for file in (opened, io.BytesIO(data)):
            read = list(Reader(False, format="parquet", stdin=file).read(["-"]))
            assert [one.content for one in read if isinstance(one, lshdb.Document)] == contents
            assert not file.closed


def test_files_are_closed(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc")
    source = write(tmp_path / "x.parquet", texts(3_000), 1_000)
    for workers in (0, 1):
        added(tmp_path / f"{workers}.db", source, workers)
    list(Reader(False).read([str(source)]))
    held = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if entry.is_symlink()]
    assert str(source) not in held
