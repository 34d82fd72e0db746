"""check: `lshdb check`, with and without --deep, and `lshdb backup`. Ten minutes for a million."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from measure.common.commands import lshdb
from measure.harness.figures import PEAK, SECONDS, Values
from measure.harness.lab import Job, Lab, taken


def run(lab: Lab) -> None:
    """The system has the file in its memory as far as it fits."""
    corpus = lab.corpus(lab.count(1_000_000, quick=10_000), size=1000)
    database = lab.database(corpus)
    jobs: list[Job] = []
    for command in ("check", "check --deep", "backup"):
        case = f"lshdb {command}, {lab.describe(corpus)}"
        jobs.append(Job(case, corpus.documents, partial(_run, lab, command, database)))
        lab.aim(case, SECONDS, 120)
        lab.aim(case, PEAK, 500)
    lab.measure(jobs)
    database.unlink()


def _run(lab: Lab, command: str, database: Path) -> Values:
    copy = lab.fresh(".copy")
    target = [copy] if command == "backup" else []
    values = taken(lshdb(*command.split(), "-d", database, *target))
    copy.unlink(missing_ok=True)
    return values
