"""pairs: `lshdb pairs` and `lshdb clusters`, 5% near duplicates. Five minutes for a million."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from measure.common.commands import lshdb
from measure.harness.figures import PEAK, SECONDS, Values
from measure.harness.lab import Job, Lab, taken


def run(lab: Lab) -> None:
    """Whole commands, from start to end."""
    corpus = lab.corpus(lab.count(1_000_000, quick=50_000), size=1000, duplicates=0.05)
    database = lab.database(corpus)
    jobs: list[Job] = []
    for command in ("pairs", "clusters", "clusters --star"):
        case = f"lshdb {command}, {lab.describe(corpus)}"
        jobs.append(Job(case, corpus.documents, partial(_list, command, database)))
        lab.aim(case, SECONDS, 60)
        lab.aim(case, PEAK, 1000)
    lab.measure(jobs)
    database.unlink()


def _list(command: str, database: Path) -> Values:
    done = lshdb(*command.split(), "--json", "-d", database)
    return {command.partition(" ")[0]: float(done.out.count("\n")), **taken(done)}
