"""A grouping by folder that left one unit printed an empty result, as if nothing were copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command, database_of

import lshdb

TEXT = "the ferry to the islands runs every hour from the pier in the old harbour of the town"
YEARS = {f"course/2024/{name}/a.txt": TEXT for name in ("ann", "bob")}


@pytest.mark.parametrize(
    "line",
    [
        "pairs --group-by . --json",
        "clusters --group-by .",
        "passages --all --group-by .",
        "pairs --group-by course",
        "report --group-by course -o report.html",
    ],
)
def test_one_unit_is_said(command: Command, path: Path, line: str) -> None:
    database_of(path, YEARS, passages=5).close()
    said = command.fails(*line.split(), status=2)
    assert "leaves one unit alone, course" in said
    assert not command.path("report.html").exists()


@pytest.mark.parametrize("group_by", ["2", "y*/*"])
def test_units_are_several_folders_deep(path: Path, group_by: str) -> None:
    texts = {"y1/ann/a/x.txt": TEXT, "y1/ben/x.txt": "other words", "y2/ann/x.txt": TEXT}
    with database_of(path, texts) as database:
        assert [(pair.a, pair.b) for pair in database.pairs(group_by=group_by)] == [
            ("y1/ann", "y2/ann")
        ]
        with pytest.raises(lshdb.UsageError, match=r"no document is in a folder like z\*/\*"):
            next(database.pairs(group_by="z*/*"))
