"""What Arrow says of a file, in a line of a message."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshdb
from lshdb.read.arrow_rows import first_line


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("no such column\n  in row group 1\n", "no such column"),
        ("\nred \x1b[31m", r"red \x1b[31m"),
        (" \n", "ArrowInvalid"),
    ],
)
def test_the_first_line_of_an_error_says_it(said: str, line: str) -> None:
    assert first_line(pa.ArrowInvalid(said)) == line


def test_row_groups_without_rows_are_read_over(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "text": ["the fox", "the crow"]})
    with pq.ParquetWriter(tmp_path / "in.parquet", table.schema) as writer:
        for part in (table[:0], table[:1], table[:0], table[1:]):
            writer.write_table(part)
    with lshdb.open(tmp_path / "lsh.db") as db:
        assert db.add_files([str(tmp_path / "in.parquet")]).added == 2
        assert db.keys() == ["a", "b"]
