"""`on_conflict` says what happens to a document whose key has another content or metadata."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import inspection
import pyarrow as pa
import pytest
from helpers import Command

import lshdb

Rows = list[dict[str, Any]]
FEW: Rows = [
    {"id": "fox", "text": "the fox and the grapes", "year": 1912},
    {"id": "ant", "text": "the ant and the dove", "year": 2002},
]
DOORS = ["dicts", pytest.param("table", marks=pytest.mark.app("tables")), "files", "files, signed"]


def rows_of(seed: int) -> Rows:
    chosen = random.Random(seed)
    return [
        {
            "id": f"key {chosen.randrange(60)}",
            "text": f"text {chosen.randrange(3)} of a few texts that are",
            "n": chosen.randrange(2),
        }
        for _ in range(300)
    ]


def add(database: lshdb.Database, rows: Rows, door: str, **options: Any) -> lshdb.AddReport:
    options["workers"] = 2 * (door == "files, signed")
    if door == "dicts":
        return database.add_many(iter(rows), **options)
    if door == "table":
        return database.add_table(pa.Table.from_pylist(rows), **options)
    path = database.path.with_name("rows.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return database.add_files([str(path)], **options)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("batch", [7, 1000])
def test_keep_keeps_the_first_document_of_each_key(tmp_path: Path, door: str, batch: int) -> None:
    """As if they came one by one, whatever the batches are."""
    limits = lshdb.Limits(batch_documents=batch, workers_from=1)
    current: dict[str, Any] = {}
    with lshdb.open(tmp_path / "a.db", limits=limits) as database:
        for seed in (1, 2):
            rows, conflicts, added, unchanged = rows_of(seed), list[str](), 0, 0
            for row in rows:
                added += row["id"] not in current
                if current.setdefault(row["id"], row) == row:
                    unchanged += 1
                else:
                    conflicts.append(row["id"])
            report = add(database, rows, door, on_conflict="keep")
            assert report == lshdb.AddReport(
                added=added,
                unchanged=unchanged - added,
                kept=len(conflicts),
                conflicts=len(conflicts),
                conflict_keys=tuple(conflicts[:3]),
            )
            assert report.documents == len(rows)
    with lshdb.open(tmp_path / "b.db") as expected:
        add(expected, [*current.values()], door)
    assert inspection.contents(tmp_path / "a.db") == inspection.contents(tmp_path / "b.db")


@pytest.mark.parametrize("door", DOORS)
def test_error_adds_nothing_of_the_batch(tmp_path: Path, door: str) -> None:
    other = [{"id": f"new {number}", "text": f"text {number}", "year": 2000} for number in range(5)]
    other.append({"id": "ant", "text": "the ant and the dove", "year": 2003})
    with lshdb.open(tmp_path / "a.db") as database:
        add(database, FEW, door)
        before = inspection.contents(tmp_path / "a.db")
        with pytest.raises(lshdb.ContentError, match=r"\('ant'\)") as raised:
            add(database, other, door, on_conflict="error")
        assert str(raised.value) == (
            f"other documents than in {tmp_path / 'a.db'} have the same keys ('ant'): take these "
            "instead (replace), or keep those there (keep); this batch is not added, earlier ones "
            "stay"
        )
        assert inspection.contents(tmp_path / "a.db") == before
        assert add(database, other[:-1] + FEW, door, on_conflict="error").unchanged == 2


def test_error_leaves_earlier_batches(tmp_path: Path) -> None:
    limits = lshdb.Limits(batch_documents=7)
    rows = [{"id": number % 40, "text": f"text {number}"} for number in range(50)]
    with lshdb.open(tmp_path / "a.db", limits=limits) as database:
        with pytest.raises(lshdb.ContentError, match=r"\('0', '1'\)"):
            database.add_many(iter(rows), on_conflict="error", workers=0)
        assert len(database) == 35
        inspection.check(tmp_path / "a.db")


def test_replace_counts_no_conflicts_of_files(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "a.db") as database:
        add(database, FEW, "files")
        other = [{**FEW[0], "text": "other"}]
        report = add(database, other, "files", on_conflict="replace")
        assert report == lshdb.AddReport(updated=1)


def test_it_is_no_choice_among_similar_documents(tmp_path: Path) -> None:
    with (
        lshdb.open(tmp_path / "a.db") as database,
        pytest.raises(lshdb.UsageError, match="on_conflict keep cannot be combined with skip"),
    ):
        database.add_many([], on_conflict="keep", on_similar="skip")


def test_at_the_command_line(command: Command) -> None:
    command.write("a.txt", "the fox and the grapes")
    command.write("b.txt", "the ant and the dove")
    command.done("add", "a.txt", "b.txt")
    command.write("a.txt", "the fox and the sour grapes")
    done = command.done("add", "a.txt", "b.txt", "--on-conflict", "keep")
    assert done.err.splitlines() == [
        "added 0, updated 0, unchanged 1, failed 0",
        "kept 1 document that has another content or metadata in an input: a.txt",
    ]
    done = command("add", "a.txt", "--on-conflict", "keep", "--on-similar", "skip")
    assert done.status == 2
    assert "--on-conflict keep cannot be combined with skip" in done.err
    refused = command("add", "a.txt", "--on-conflict", "error")
    assert (refused.status, refused.err.splitlines()) == (
        1,
        [
            "added 0, updated 0, unchanged 0, failed 0",
            "lshdb: other documents than in lsh.db have the same keys ('a.txt'): take these "
            "instead (replace), or keep those there (keep); this batch is not added, earlier ones "
            "stay",
        ],
    )
    with lshdb.open(command.path("lsh.db"), mode="read") as database:
        assert database["a.txt"].content == "the fox and the grapes"
