"""Files of Parquet: rows in blocks, whatever their lengths, and what is damaged.

What the columns may hold is in test_records.py and test_formats.py.
"""

from __future__ import annotations

import gzip
import io
import random
from functools import cache
from pathlib import Path
from typing import Any

import inspection
import pyarrow as pa
import pyarrow.parquet as pq
from helpers import new_session

import lshdb
from lshdb.model import Failure


@cache
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
    limits = lshdb.Limits(batch_bytes=16_000_000)  # so that few rows are several batches
    with lshdb.open(path, limits=limits) as db:
        db.add_files([str(source)], on_failure=failures.append, workers=workers)
    return inspection.contents(path), failures


def test_rows_are_the_same_wherever_they_are_signed(tmp_path: Path) -> None:
    found = []
    for rows, workers in ((280, 2), (4_000, 0), (4_000, 2)):
        source = write(tmp_path / "x.parquet", texts(2_400), rows)
        found.append(added(tmp_path / f"{rows} {workers}.db", source, workers))
    assert found[0] == found[1] == found[2]
    assert [row[1] for row in found[0][0]["documents"]] == [f"k{i}" for i in range(2_400)]
    assert not found[0][1]


def test_rows_behind_damage_are_left_out(tmp_path: Path) -> None:
    source = write(tmp_path / "x.parquet", texts(2_400), 400, use_dictionary=False)
    place = pq.ParquetFile(source).metadata.row_group(3).column(2).data_page_offset
    data = bytearray(source.read_bytes())
    data[place : place + 5_000] = b"\xff" * 5_000
    source.write_bytes(data)
    got, failures = added(tmp_path / "x.db", source, 1)
    assert len(got["documents"]) == 1_200
    (failure,) = failures
    assert failure.where == str(source)
    assert failure.reason.startswith("not Parquet, or damaged: ")


def test_fewer_rows_than_a_file_says_are_a_failure_behind_them(tmp_path: Path) -> None:
    source = write(tmp_path / "x.parquet", texts(200), 200)
    data = bytearray(source.read_bytes())
    # The number of rows comes before those of columns: a field of Thrift, in zigzag.
    place = data.index(b"\x16\x90\x03", len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    data[place + 1] += 2
    source.write_bytes(data)
    source.with_suffix(".parquet.gz").write_bytes(gzip.compress(data))
    *rows, damaged, packed = new_session(False).read([str(source), f"{source}.gz"])
    assert len(rows) == 200
    assert (damaged, packed) == (
        Failure(str(source), "it has 200 rows, and says that it has 201"),
        Failure(f"{source}.gz", "a compressed parquet file: unpack it first"),
    )


def test_a_file_on_standard_input(tmp_path: Path) -> None:
    contents = texts(3_000)
    data = write(tmp_path / "x.parquet", contents, 1_200).read_bytes()
    with (tmp_path / "x.parquet").open("rb") as opened:
        for file in (opened, io.BytesIO(data)):
            read = list(new_session(False, format="parquet", stdin=file).read(["-"]))
            assert [one.content for one in read if isinstance(one, lshdb.Document)] == contents
            assert not file.closed
