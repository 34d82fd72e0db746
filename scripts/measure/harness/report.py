"""Printing the results of a run: tables for the terminal, and the documentation's in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from measure.harness.engines import NAMES, NOTES
from measure.harness.figures import P50, P99, PEAK, RATE, SECONDS, SPEED

Record = dict[str, Any]

_ROWS: Final = (
    ("kernels", SPEED, "shingles and signatures alone, one core, MB/s: {case}"),
    ("ingest", RATE, "add (lshdb: `lshdb add`; peers: in memory), documents/s: {case}"),
    ("ingest", PEAK, "peak memory of that, MB: {case}"),
    ("query", P50, "query, median, ms: {case}"),
    ("query", P99, "query, 99th percentile, ms: {case}"),
    ("join", SECONDS, "all pairs, s: {case}"),
    ("pairs", SECONDS, "{case}, s"),
    ("startup", SECONDS, "`{case}`, s"),
)
"""The rows of the table: benchmark, measure, what it is called."""
_KERNELS: Final = ("char:5, 3 KB", "word:3, 3 KB")


def show(results: Record, console: Console) -> None:
    """Print everything: a table for each benchmark, then the aims."""
    for benchmark in _distinct(figure["benchmark"] for figure in results["figures"]):
        figures = [figure for figure in results["figures"] if figure["benchmark"] == benchmark]
        engines = _distinct(figure["engine"] for figure in figures)
        table = Table(title=benchmark, title_justify="left")
        for name in ("case", "measure"):
            table.add_column(name)
        for engine in engines:
            table.add_column(escape(engine), justify="right")
        cells = {(row["case"], row["measure"], row["engine"]): row for row in figures}
        for case, measure in _distinct((row["case"], row["measure"]) for row in figures):
            shown = (cells.get((case, measure, engine)) for engine in engines)
            medians = ("" if cell is None else number(cell["median"]) for cell in shown)
            table.add_row(escape(case), escape(measure), *medians)
        console.print(table)
    for engine in _distinct(figure["engine"] for figure in results["figures"]):
        if engine in NOTES:
            console.print(f"  {engine}: {NOTES[engine]}", highlight=False)
    for aim in results["aims"]:
        value = "" if aim["value"] is None else f" {number(aim['value'])}"
        line = f"{aim['verdict']}: {aim['case']}: {aim['measure']}{value}, wanted {aim['wanted']}"
        console.print(line, highlight=False, markup=False)


def markdown(runs: Sequence[Record]) -> str:
    """The first table of docs/figures.md, of runs on one machine."""
    figures = [figure for run in runs for figure in run["figures"]]
    machine = runs[0]["machine"]
    rows: list[tuple[str, dict[str, float]]] = []
    used: set[str] = set()
    for benchmark, measure, label in _ROWS:
        own = [f for f in figures if (f["benchmark"], f["measure"]) == (benchmark, measure)]
        for case in _distinct(figure["case"] for figure in own):
            if benchmark == "kernels" and case not in _KERNELS:
                continue
            values = {f["engine"]: f["median"] for f in own if f["case"] == case}
            rows.append((label.format(case=case), values))
            used |= values.keys()
    engines = [
        engine
        for engine in _distinct(figure["engine"] for figure in figures)
        if engine in used and engine in NAMES
    ]
    lines = [
        f"Measured {machine['date'][:10]} on {machine['cores']} cores of {machine['cpu']}, "
        f"Python {machine['python']}, SQLite {machine['sqlite']}; "
        + ", ".join(
            f"{name} {found}" for name, found in machine["engines"].items() if name in engines
        )
        + ".",
        "",
        "| | " + " | ".join(engines) + " |",
        "|---|" + "---:|" * len(engines),
    ]
    for label, values in rows:
        cells = [number(values[engine]) if engine in values else "" for engine in engines]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def number(value: float) -> str:
    """Three significant digits, or all of an integer part; thousands set apart."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 0
    while abs(value) * 10**digits < 100:
        digits += 1
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"


def _distinct(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))
