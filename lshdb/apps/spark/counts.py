"""Counts of rows and pairs that tasks leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from lshdb import Limits, UsageError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

LIMITS = Limits()
"""Those of jobs on Spark, where no file has its own."""
CountName = Literal[
    "bad_keys",
    "bad_documents",
    "empty",
    "cut_buckets",
    "cut_pairs",
    "cut_passages",
    "short_references",
]
_LINES: dict[CountName, str] = {
    "bad_keys": "rows without a usable key, left out",
    "bad_documents": "rows without a usable document, left out",
    "cut_buckets": "buckets of more documents than the limit, compared with the first of each only",
    "cut_pairs": "candidate pairs left out for that",
    "cut_passages": f"pairs that share more than {LIMITS.passages:,} passages, of which only the "
    "first are listed",
    "short_references": "documents of references shorter than a run, which match only as a whole",
}


class Counts:
    """Counts of one session; they grow while the results that use them are computed.

    `counts["bad_keys"]`: rows left out for their key: null, empty, with a NUL character, or
    a float that may be rounded;
    `bad_documents`: for their document: null, a set with a null, or not a JSON array;
    `empty`: documents without a shingle, which are similar to nothing;
    `cut_buckets`: buckets too large for all of their pairs; `cut_pairs`: pairs left out of those,
    a pair counts in each such bucket; `cut_passages`: pairs of documents that share more passages
    than are listed; `short_references`: documents of references with fewer words than a run, which
    match only as a whole.

    Spark counts repeated tasks and repeated computations again: for exact counts compute a result
    once.

    Raises:
        UsageError: a session of Spark Connect, which cannot count.
    """

    def __init__(self, spark: SparkSession) -> None:
        context: SparkContext | None = getattr(spark, "sparkContext", None)
        if context is None:
            raise UsageError(
                "Spark Connect cannot count what tasks leave out: use spark-submit, or a session "
                "with a master"
            )
        self._counted = {name: context.accumulator(0) for name in get_args(CountName)}

    def add(self, name: CountName, count: int) -> None:
        """Count in a task."""
        self._counted[name].add(count)

    def __getitem__(self, name: CountName) -> int:
        """One of the counts."""
        return self._counted[name].value

    @property
    def unusable(self) -> int:
        """How many rows have no usable key or document."""
        return self["bad_keys"] + self["bad_documents"]

    def lines(self) -> list[str]:
        """Messages for the user; none if nothing was left out."""
        return [f"{text}: {self[name]:,}" for name, text in _LINES.items() if self[name]]
