"""What Arrow says of a file, in a line of a message."""

from __future__ import annotations

import pyarrow as pa
import pytest

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
