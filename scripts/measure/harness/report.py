"""Printing the results of a run: tables for the terminal, and the documentation's in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from measure.harness.engines import NAMES, NOTES
from measure.harness.figures import OWN, P50, P99, PEAK, RATE, SECONDS, SPEED

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
    ratios = _ratios(results)
    for benchmark in _distinct(figure["benchmark"] for figure in results["figures"]):
        figures = [one for one in results["figures"] if one["benchmark"] == benchmark]
        engines = _distinct(figure["engine"] for figure in figures)
        table = Table(title=benchmark, title_justify="left")
        table.add_column("case")
        table.add_column("measure")
        for engine in engines:
            table.add_column(escape(engine), justify="right")
        cells = {(one["case"], one["measure"], one["engine"]): one for one in figures}
        for case, measure in _distinct((one["case"], one["measure"]) for one in figures):
            row = [_cell(cells.get((case, measure, engine)), ratios) for engine in engines]
            table.add_row(escape(case), escape(measure), *row)
        console.print(table)
        for line in _given(figures, engines):
            console.print(f"  {escape(line)}", highlight=False)
    if ratios:
        console.print(
            "In brackets: lshdb's figure over the peer's. Peers hold documents in memory."
        )
    for engine in _distinct(figure["engine"] for figure in results["figures"]):
        if engine in NOTES:
            console.print(f"  {engine}: {NOTES[engine]}", highlight=False)
    if results["aims"]:
        console.print(_aims(results))


def _aims(results: Record) -> Table:
    table = Table(title="aims of lshdb", title_justify="left")
    for name in ("benchmark", "case", "measure", "wanted", "reached", "verdict"):
        table.add_column(name, justify="right" if name == "reached" else "left")
    for aim in results["aims"]:
        colour = {"meets": "green", "not measured": "yellow"}.get(aim["verdict"], "red")
        table.add_row(
            aim["benchmark"],
            escape(aim["case"]),
            escape(aim["measure"]),
            aim["wanted"],
            "" if aim["value"] is None else number(aim["value"]),
            f"[{colour}]{aim['verdict']}[/]",
        )
    return table


def _given(figures: list[Record], engines: list[str]) -> Iterator[str]:
    """Which engines were given fewer documents than lshdb."""
    for case in _distinct(figure["case"] for figure in figures):
        counts = {one["engine"]: one["documents"] for one in figures if one["case"] == case}
        own = counts.get(OWN)
        fewer = [
            f"{engine} {counts[engine]:,}" for engine in engines if counts.get(engine, own) != own
        ]
        if fewer:
            yield f"{case}: documents given to lshdb {own or 0:,}, to {', '.join(fewer)}"


def _cell(figure: Record | None, ratios: dict[tuple[str, str, str, str], float]) -> str:
    if figure is None:
        return ""
    shown = number(figure["median"])
    ratio = ratios.get((figure["benchmark"], figure["case"], figure["measure"], figure["engine"]))
    return shown if ratio is None else f"{shown} ({number(ratio)})"


def _ratios(results: Record) -> dict[tuple[str, str, str, str], float]:
    return {
        (one["benchmark"], one["case"], one["measure"], one["engine"]): one["ratio"]
        for one in results["ratios"]
    }


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
