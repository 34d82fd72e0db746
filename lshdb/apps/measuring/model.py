"""Measurements of an index, and their columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from lshdb.columns import Columns
from lshdb.results import Result
from lshdb.sketch.constructions import Construction

COLUMNS: Columns = {
    "what": str,
    "measured": float,
    "formula": float,
    "low": float,
    "high": float,
    "pairs": int,
    "found": int,
    "exact": bool,
}
"""The columns of the table of measurements."""
_recall_values = attrgetter("recall", "formula", "low", "high", "pairs", "found")


@dataclass(frozen=True, slots=True)
class MeasuredRecall(Result):
    """How many similar pairs are found.

    Attributes:
        pairs: similar pairs by brute force, each once.
        found: how many of them are candidates.
        recall: found / pairs; None without pairs.
        low, high: the 95% confidence interval of the recall (see `wilson`); None without pairs.
        formula: the mean over these pairs of the curve at their similarities; None without pairs.
    """

    pairs: int
    found: int
    recall: float | None
    low: float | None
    high: float | None
    formula: float | None


@dataclass(frozen=True, slots=True)
class Measured(Result):
    """The results of queries for a sample of a database's documents.

    Attributes:
        construction: of the index.
        threshold: the minimum similarity of similar pairs.
        documents: how many have shingles.
        sample: how many of these were queries.
        exact: whether similarities are exact; else they are estimates.
        recall: the recall of all similar pairs with a document of the sample.
        candidates: mean number per query, without itself.
        candidates_formula: the prediction that `tune` makes.
        precision: the share of candidates that are similar, before they are verified; None
            without candidates.
        precision_formula: the predicted share.
    """

    construction: Construction
    threshold: float
    documents: int
    sample: int
    exact: bool
    recall: MeasuredRecall
    candidates: float
    candidates_formula: float
    precision: float | None
    precision_formula: float | None

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each measurement next to its prediction, with the columns of `COLUMNS`."""
        none = (None,) * 4
        yield "recall", *_recall_values(self.recall), self.exact
        yield "candidates a query", self.candidates, self.candidates_formula, *none, self.exact
        yield "precision", self.precision, self.precision_formula, *none, self.exact
