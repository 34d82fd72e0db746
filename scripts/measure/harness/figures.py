"""Figures, ratios to the peers', and aims: the results of a benchmark, as data.

A figure is one measure of one engine in one case of a benchmark, over all repetitions; reports
show the median. A run is a dictionary of machine, options, figures, ratios and aims; its file has a
line for each figure and aim, without what follows from the figures.
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
COMPARED: Final = {RATE, SPEED, *LESS_IS_BETTER}
"""Measures of which the ratio to a peer's says something."""


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
class Ratio:
    """lshdb's median over a peer's, of the same measure in the same case."""

    benchmark: str
    case: str
    measure: str
    engine: str
    ratio: float


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


def ratios(figures: Sequence[Figure]) -> list[Ratio]:
    """Lshdb over each peer, wherever both were measured."""
    found: list[Ratio] = []
    for figure in figures:
        if figure.engine == OWN or figure.measure not in COMPARED:
            continue
        own = _median(figures, figure.benchmark, figure.case, OWN, figure.measure)
        if own is not None and figure.median:
            ratio = own / figure.median
            found.append(Ratio(figure.benchmark, figure.case, figure.measure, figure.engine, ratio))
    return found


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
        "ratios": [asdict(ratio) for ratio in ratios(figures)],
        "aims": [aim.record(figures) for aim in aims],
    }


_COLUMNS: Final = ("benchmark", "case", "engine", "measure", "documents")
"""Of a figure in a file; its runs come last."""


def write(path: Path, run: dict[str, Any]) -> None:
    """Write a run as JSON; values have six significant digits."""
    rows = [
        [*(one[name] for name in _COLUMNS), [float(f"{value:.6g}") for value in one["runs"]]]
        for one in run["figures"]
    ]
    parts = [f' "{name}": {json.dumps(run[name])}' for name in ("machine", "options")]
    for name, lines in (("figures", rows), ("aims", run["aims"])):
        listed = ",\n".join(f"  {json.dumps(line)}" for line in lines)
        parts.append(f' "{name}": [\n{listed}\n ]')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def read(path: Path) -> dict[str, Any]:
    """The run in a file that `write` made."""
    run = json.loads(path.read_text("utf-8"))
    figures = [
        Figure(benchmark, case, engine, measure, documents, tuple(runs))
        for benchmark, case, engine, measure, documents, runs in run["figures"]
    ]
    return results(run["machine"], run["options"], figures, ()) | {"aims": run["aims"]}
