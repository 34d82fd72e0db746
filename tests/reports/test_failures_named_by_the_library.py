"""A row or file that gives no document is named in the result, and a warning says how many.

Texera's sources of CSV and JSON lines discarded rows that they could not parse, and the user had no
way to learn it (apache/texera#6279).
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lshdb

ROWS: list[dict[str, Any]] = [
    {"id": 1, "text": "the fox and the grapes"},
    {"id": 2, "text": None},
    {"id": 3, "text": "an ant carried wheat home"},
    {"id": 4.5, "text": "crows drink from a tall jug"},
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
    assert len(of_file.failures) == 2
    assert [row["id"] for row in of_file.iter_kept()] == [1, 3]
    of_file.save(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "".join(LINES.splitlines(True)[::2])
    with counted(2):
        assert len(of_file.rethreshold(0.9).failures) == 2


def test_the_caller_who_takes_failures_gets_no_warning(file: str) -> None:
    taken: list[lshdb.Failure] = []
    result = lshdb.dedup(file, on_failure=taken.append)
    assert [*result.failures] == taken
    assert len(taken) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lshdb.FailureWarning)
        assert len(lshdb.dedup(file).failures) == 2


def test_reports_name_failures(file: str, tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "fables.db") as db:
        with counted(2):
            report = db.add_files([file])
        assert [one.where for one in report.failures] == [f"{file}:2", f"{file}:4"]
        with counted(2):
            report = db.add_table(pa.Table.from_pylist(ROWS))
        assert [one.where for one in report.failures] == ["table:2", "table:4"]
        assert (report + report).failures == report.failures * 2
        with counted(2):
            assert len([*db.dedup_files([file])]) == 2
        with counted(2):  # although the caller stops before the end
            next(iter(db.dedup_files([file])))
        with counted(1):
            report = db.add_files([f"{file}.none"])
        assert [one.reason for one in report.failures] == ["no such file or directory"]
        with pytest.raises(lshdb.InputError, match=r"2 failed, the first: row:2: field 'text'"):
            lshdb.dedup(ROWS, against=ROWS)
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "a.txt").write_bytes(b"\xff\xfe\x00\xd8 ")
        with counted(1):
            synced = db.sync([str(notes)], strict=True)
        assert (synced.failed, [one.where for one in synced.failures]) == (
            1,
            [str(notes / "a.txt")],
        )


def cut_off(path: Path) -> None:
    """Write a compressed file without its end."""
    path.write_bytes(gzip.compress(LINES.encode() * 1_000, mtime=0)[:-20])


UNREADABLE: dict[str, Callable[[Path], Any]] = {
    "cut.jsonl.gz": cut_off,
    "no.jsonl.gz": lambda path: path.write_bytes(b"no gzip"),
    "array.json": lambda path: path.write_text('[{"id": 1, "text": "a"},'),
    "in.parquet": lambda path: path.write_bytes(b"PAR1"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_an_error(name: str, tmp_path: Path) -> None:
    UNREADABLE[name](tmp_path / name)
    with pytest.raises(lshdb.InputError, match=name):
        lshdb.dedup(str(tmp_path / name), on_failure=lambda _: None)
