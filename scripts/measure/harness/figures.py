"""Figures and aims: the results of a benchmark, as data.

A figure is one measure of one engine in one case of a benchmark, over all repetitions; reports
show the median. A run is a dictionary of machine, options, figures and aims. Its file has a line
for the first two, then one for each case, without the aims.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
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

Values = dict[str, float]
"""The measures of one run."""

LESS_IS_BETTER: Final = {PEAK, P50, P99, MAX, FIRST, SECONDS, CPU}


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure of an engine in a case.

    Attributes:
        benchmark, case, engine, measure: what it is.
        documents: how many the engine was given.
        runs: the value of each repetition.
    """

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

    def record(self) -> dict[str, Any]:
        """The figure in a run."""
        spread = {"median": self.median, "min": min(self.runs), "max": max(self.runs)}
        return asdict(self) | spread


@dataclass(frozen=True, slots=True)
class Aim:
    """The value that a figure of lshdb, or its ratio to another figure, should have.

    Attributes:
        benchmark, case, measure: the figure.
        bound: the minimum, or the maximum for measures of which less is better.
        over: an engine: the ratio to its figure in the same case; or
        over_case: the ratio to lshdb's own figure in another case.
        at_most: whether the bound is a maximum, if the measure does not say.
    """

    benchmark: str
    case: str
    measure: str
    bound: float
    over: str | None = None
    over_case: str | None = None
    at_most: bool | None = None

    @property
    def _at_most(self) -> bool:
        return self.measure in LESS_IS_BETTER if self.at_most is None else self.at_most

    def wanted(self) -> str:
        """The aim in words."""
        sign = "<=" if self._at_most else ">="
        if self.over is not None:
            return f"{sign} {self.bound:g} x {self.over}"
        if self.over_case is not None:
            return f"{sign} {self.bound:g} x at {self.over_case}"
        return f"{sign} {self.bound:,g}"

    def value(self, figures: Sequence[Figure]) -> float | None:
        """What was reached, from the medians; None where it was not measured."""
        own = _median(figures, self.benchmark, self.case, OWN, self.measure)
        if own is None or (self.over is None and self.over_case is None):
            return own
        other = _median(
            figures, self.benchmark, self.over_case or self.case, self.over or OWN, self.measure
        )
        return own / other if other else None

    def record(self, figures: Sequence[Figure]) -> dict[str, Any]:
        """The aim and what was reached, in a run; None where it was not measured."""
        value = self.value(figures)
        short = None
        if value is not None:
            missing = value - self.bound if self._at_most else self.bound - value
            short = max(0.0, missing / self.bound)
        return {
            "benchmark": self.benchmark,
            "case": self.case,
            "measure": self.measure,
            "wanted": self.wanted(),
            "value": value,
            "short": short,
            "verdict": verdict(short),
        }


def verdict(short: float | None) -> str:
    """Whether an aim is met, in words; `short` is the share of the bound that is missing."""
    if short is None:
        return "not measured"
    if short == 0:
        return "meets"
    percent = f"{100 * short:.0f}" if short >= 0.01 else "less than 1"
    return f"falls short (by {percent}%)"


def _median(figures: Sequence[Figure], *wanted: str) -> float | None:
    """Of a benchmark, case, engine and measure."""
    for one in figures:
        if (one.benchmark, one.case, one.engine, one.measure) == wanted:
            return one.median
    return None


def collect(
    benchmark: str, case: str, engine: str, documents: int, runs: Sequence[Values]
) -> list[Figure]:
    """The figures of the repetitions of a run, each a dictionary of the same measures."""
    return [
        Figure(benchmark, case, engine, measure, documents, tuple(run[measure] for run in runs))
        for measure in (runs[0] if runs else ())
    ]


def results(
    machine: dict[str, Any],
    options: dict[str, Any],
    figures: Sequence[Figure],
    aims: Iterable[Aim],
) -> dict[str, Any]:
    """A run, as reports take it."""
    return {
        "machine": machine,
        "options": options,
        "figures": [figure.record() for figure in figures],
        "aims": [aim.record(figures) for aim in aims],
    }


def write(path: Path, run: dict[str, Any]) -> None:
    """Write a run as JSON lines; values have six significant digits."""
    cases: dict[tuple[str, str], dict[str, Any]] = {}
    for figure in run["figures"]:
        engines = cases.setdefault((figure["benchmark"], figure["case"]), {})
        _, measures = engines.setdefault(figure["engine"], (figure["documents"], {}))
        measures[figure["measure"]] = [float(f"{value:.6g}") for value in figure["runs"]]
    lines = [{name: run[name] for name in ("machine", "options")}]
    rows = [*lines, *([*case, engines] for case, engines in cases.items())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def read(path: Path) -> dict[str, Any]:
    """The run in a file that `write` made."""
    first, *rows = map(json.loads, path.read_text("utf-8").splitlines())
    figures = [
        Figure(benchmark, case, engine, measure, documents, tuple(runs))
        for benchmark, case, engines in rows
        for engine, (documents, measures) in engines.items()
        for measure, runs in measures.items()
    ]
    return results(first["machine"], first["options"], figures, ())
