"""Figures: the results of benchmarks, as data.

A figure is one measure of one engine in one case of a benchmark, over all repetitions; reports
show the median. The file of a run has a line for machine and options, then one for each case.
"""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

OWN: Final = "lshdb"

RATE: Final = "documents/s"
SPEED: Final = "MB/s"
PEAK: Final = "peak MB"
P50: Final = "p50 ms"
P99: Final = "p99 ms"
MAX: Final = "max ms"
FIRST: Final = "first s"
SECONDS: Final = "seconds"
CPU: Final = "CPU seconds"
CPU_MS: Final = "CPU ms"

Values = dict[str, float]
"""The measures of one run."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure of an engine in a case: of how many documents, and the value of each repetition."""

    benchmark: str
    case: str
    engine: str
    measure: str
    documents: int
    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The value that reports show."""
        return statistics.median(self.runs)


@dataclass(frozen=True, slots=True)
class Results:
    """What a run of benchmarks measured, on which machine, with which options."""

    machine: dict[str, Any]
    options: dict[str, Any]
    figures: list[Figure]


def write(path: Path, results: Results) -> None:
    """Write results as JSON lines; values have six significant digits."""
    cases: dict[tuple[str, str], dict[str, Any]] = {}
    for figure in results.figures:
        engines = cases.setdefault((figure.benchmark, figure.case), {})
        _, measures = engines.setdefault(figure.engine, (figure.documents, {}))
        measures[figure.measure] = [float(f"{value:.6g}") for value in figure.runs]
    rows = [
        {"machine": results.machine, "options": results.options},
        *([*case, engines] for case, engines in cases.items()),
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def read(path: Path) -> Results:
    """The results in a file that `write` made."""
    first, *rows = map(json.loads, path.read_text("utf-8").splitlines())
    figures = [
        Figure(benchmark, case, engine, measure, documents, tuple(runs))
        for benchmark, case, engines in rows
        for engine, (documents, measures) in engines.items()
        for measure, runs in measures.items()
    ]
    return Results(first["machine"], first["options"], figures)
