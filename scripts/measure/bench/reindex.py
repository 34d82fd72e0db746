"""reindex: `lshdb reindex` to another threshold and to a cascade. Five minutes for a million."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from measure.common.commands import lshdb
from measure.harness.figures import PEAK, SECONDS, Values
from measure.harness.lab import Job, Lab, bytes_on_disk, taken

CHANGES: Final = {
    "to threshold 0.7": ("--threshold", "0.7"),
    "to a cascade of 32 bands": ("--construction", "and 4, or 4, and 4, or 2"),
    "back to threshold 0.8": ("--threshold", "0.8", "--recall", "0.99"),
}
"""One after the other, on a file with 128 lanes and the default settings."""


def run(lab: Lab) -> None:
    """Whole commands; each turn ends with the file as it was."""
    corpus = lab.corpus(lab.count(1_000_000, quick=20_000), size=1000)
    database = lab.database(corpus)
    jobs: list[Job] = []
    for change, settings in CHANGES.items():
        case = f"{lab.describe(corpus)}, {change}"
        one = partial(_reindex, database, settings, corpus.documents)
        jobs.append(Job(case, corpus.documents, one))
        lab.aim(case, SECONDS, 120)
        lab.aim(case, PEAK, 500)
    lab.measure(jobs)
    database.unlink()


def _reindex(database: Path, settings: tuple[str, ...], documents: int) -> Values:
    before = bytes_on_disk(database)
    return {
        **taken(lshdb("reindex", "-d", database, *settings)),
        "disk bytes/document": bytes_on_disk(database) / documents,
        "disk bytes/document before": before / documents,
    }
