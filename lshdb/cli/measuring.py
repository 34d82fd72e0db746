"""What `lshdb tune --measure` prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lshdb.cli.messages import message
from lshdb.cli.progress import progress_bar
from lshdb.cli.results import Cell, json_line, table

if TYPE_CHECKING:
    from lshdb.tuning.measuring import Measured, MeasuredRecall

_ENOUGH = 100
"""Similar pairs; with fewer, recall is hardly known better than to a few hundredths."""


def measure(
    db: Path, timeout: float, threshold: float | None, sample: int | None, seed: int, as_json: bool
) -> None:
    """Measure an index, and print it beside what the formulas say."""
    import lshdb

    with (
        lshdb.open(db, mode="read", timeout=timeout) as database,
        progress_bar("comparing") as progress,
    ):
        measured = database.measure(
            threshold=threshold,
            sample=sample,
            seed=seed,
            on_progress=progress,
        )
    if as_json:
        json_line(_record(measured))
        return
    kind = "exact similarities" if measured.exact else "estimates: recall looks better than it is"
    message(
        f"{measured.sample:,} of {measured.documents:,} documents compared with all, {kind}; "
        f"index: {measured.construction}"
    )
    recall = measured.recall
    if recall.pairs < _ENOUGH and measured.sample < measured.documents:
        message(
            f"only {recall.pairs} of the pairs are similar: --sample with more than "
            f"{measured.sample} tells recall better"
        )
    table(["", "measured", "formula", "low", "high", "pairs"], _table(measured))


def _table(measured: Measured) -> list[list[Cell]]:
    def cells(shown: Callable[[float], str], *values: float | None) -> list[Cell]:
        return ["" if value is None else shown(value) for value in values]

    rows: list[list[Cell]] = []
    shown: Callable[[float], str] = "{:.4f}".format
    for one in (measured.recall, *measured.parts):
        name = f"recall {one.least:.4g} to {one.below:.4g}"
        values = cells(shown, one.recall, one.formula, one.low, one.high)
        rows.append([name, *values, one.pairs])
    numbers = cells("{:.4g}".format, measured.candidates, measured.candidates_formula)
    rows.append(["candidates a query", *numbers, "", "", ""])
    shares = cells(shown, measured.precision, measured.precision_formula)
    rows.append(["precision", *shares, "", "", ""])
    return rows


def _record(measured: Measured) -> dict[str, object]:
    return {
        "construction": str(measured.construction),
        "threshold": measured.threshold,
        "documents": measured.documents,
        "sample": measured.sample,
        "exact": measured.exact,
        **_recall(measured.recall),
        "candidates": measured.candidates,
        "candidates_formula": measured.candidates_formula,
        "precision": measured.precision,
        "precision_formula": measured.precision_formula,
        "parts": [
            {"least": part.least, "below": part.below, **_recall(part)} for part in measured.parts
        ],
    }


def _recall(recall: MeasuredRecall) -> dict[str, object]:
    return {
        "pairs": recall.pairs,
        "found": recall.found,
        "recall": recall.recall,
        "recall_low": recall.low,
        "recall_high": recall.high,
        "recall_formula": recall.formula,
    }
