"""A row or file that gives no document is named in the result, and a warning says how many.

Texera's sources of CSV and JSON lines discarded rows that they could not parse, and the user had no
way to learn it (apache/texera#6279).
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lshdb

ROWS: list[dict[str, Any]] = [
    {"id": 1, "text": "the fox and the grapes"},
    {"id": 2, "text": None},
    {"id": 3, "text": "an ant carried wheat home"},
    {"id": 4.5, "text": None},
]
LINES = (
    '{"id": 1, "text": "the fox and the grapes"}\n{"id": 2, "text": null}\n'
    '{"id": 3, "text": "an ant carried wheat home"}\nbroken\n'
)
NULL = "field 'text' is null, not a string"


def counted(count: int) -> Any:
    """The warning about this many failures."""
    return pytest.warns(lshdb.FailureWarning, match=f"^{count} rows? or files? gave no document")


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file with two lines that are no documents."""
    path = tmp_path / "in.jsonl"
    path.write_text(LINES)
    return str(path)


def test_dedup_names_rows_without_a_document(file: str, tmp_path: Path) -> None:
    for data, where in ((ROWS, "row"), (file, file), (pa.Table.from_pylist(ROWS), "row")):
        with counted(2):
            result = lshdb.dedup(data)
        failures = [(one.where, one.reason) for one in result.failures]
        assert failures[0] == (f"{where}:2", NULL)
        assert failures[1][0] == f"{where}:4"
        assert (result.failed, result.kept_count, result.mask.sum()) == (2, 2, 2)
        assert len(result.kept) == 2
    with counted(2):
        of_file = lshdb.dedup(file, keep="last")
    of_file.save(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "".join(LINES.splitlines(True)[::2])


def test_the_caller_who_takes_failures_gets_no_warning(file: str) -> None:
    taken: list[lshdb.Failure] = []
    result = lshdb.dedup(file, on_failure=taken.append)
    assert [*result.failures] == taken
    assert len(taken) == 2


def test_reports_name_failures(file: str, tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "fables.db") as db:
        with counted(2):
            report = db.add_files([file])
        assert [one.where for one in report.failures] == [f"{file}:2", f"{file}:4"]
        assert (report + report).failures == report.failures * 2
        with counted(2):  # although the caller stops before the end
            next(iter(db.dedup_files([file])))
        with pytest.raises(lshdb.InputError, match=r"2 failed, the first: row:2: field 'text'"):
            lshdb.dedup(ROWS, against=ROWS)
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "a.txt").write_bytes(b"\xff\xfe\x00\xd8 ")
        with counted(1):
            synced = db.sync([str(notes)], strict=True)
        assert [failure.where for failure in synced.failures] == [str(notes / "a.txt")]


UNREADABLE = {
    "cut.jsonl.gz": gzip.compress(LINES.encode() * 1_000, mtime=0)[:-20],
    "array.json": b'[{"id": 1, "text": "a"},',
    "in.parquet": b"PAR1",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(UNREADABLE[name])
    with pytest.raises(lshdb.InputError, match=name):
        lshdb.dedup(str(tmp_path / name), on_failure=lambda _: None)
