"""A grouping by folder that left one unit printed an empty result, as if nothing were copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command, database_of

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
