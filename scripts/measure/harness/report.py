"""Printing the results of a run: tables for the terminal, and the documentation's in Markdown."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from measure.harness.engines import NOTES
from measure.harness.figures import Figure, Results


def show(results: Results, console: Console) -> None:
    """Print a table for each benchmark: medians, and the range of what ran more than once."""
    for benchmark in distinct(figure.benchmark for figure in results.figures):
        figures = [figure for figure in results.figures if figure.benchmark == benchmark]
        engines = distinct(figure.engine for figure in figures)
        table = Table("case", "measure", title=benchmark, title_justify="left")
        for engine in engines:
            table.add_column(escape(engine), justify="right")
        cells = {(figure.case, figure.measure, figure.engine): _cell(figure) for figure in figures}
        for case, measure in distinct((figure.case, figure.measure) for figure in figures):
            shown = [cells.get((case, measure, engine), "") for engine in engines]
            table.add_row(escape(case), escape(measure), *shown)
        console.print(table)
    for engine in distinct(figure.engine for figure in results.figures):
        if engine in NOTES:
            console.print(f"  {engine}: {NOTES[engine]}", highlight=False)


def _cell(figure: Figure) -> str:
    low, high = min(figure.runs), max(figure.runs)
    spread = f" ({number(low)}-{number(high)})" if low < high else ""
    return number(figure.median) + spread


def table(heading: str, columns: Iterable[str], rows: Mapping[str, Iterable[Any]]) -> list[str]:
    """The lines of a table in Markdown: rows of numbers, of which some may be None."""
    names = [*columns]
    head = " | ".join([f"| {heading}".rstrip(), *names])
    lines = [f"{head} |", "|---|" + "---:|" * len(names)]
    for label, values in rows.items():
        cells = ["" if value is None else number(value) for value in values]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def medians(figures: Iterable[Figure]) -> dict[tuple[str, str], dict[str, float]]:
    """The measures of each case and engine."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for figure in figures:
        found.setdefault((figure.case, figure.engine), {})[figure.measure] = figure.median
    return found


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


def distinct(items: Iterable[Any]) -> list[Any]:
    """The items, each once, in their order."""
    return list(dict.fromkeys(items))
