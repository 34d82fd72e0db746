"""Counts of rows and pairs that tasks leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from lshdb.limits import DEFAULTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Counted = Literal["bad_keys", "bad_documents", "empty", "cut_buckets", "cut_pairs", "cut_passages"]


class Counts:
    """Counts of one session; they grow while the results that use them are computed.

    `counts["bad_keys"]`: rows left out for their key: null, empty or with a NUL character;
    `bad_documents`: for their document: null, a set with a null, or not a JSON array;
    `empty`: documents without a shingle, which are similar to nothing;
    `cut_buckets`: buckets too large for all of their pairs; `cut_pairs`: pairs left out of those,
    a pair counts in each such bucket; `cut_passages`: pairs of documents that share more passages
    than are listed.

    Spark counts repeated tasks and repeated computations again: for exact counts compute a result
    once.
    """

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._counted = {name: context.accumulator(0) for name in get_args(Counted)}

    def add(self, name: Counted, count: int) -> None:
        """Count in a task."""
        self._counted[name].add(count)

    def __getitem__(self, name: Counted) -> int:
        """One of the counts."""
        return self._counted[name].value

    def lines(self) -> list[str]:
        """Messages for the user; none if nothing was left out."""
        lines = []
        if self["bad_keys"]:
            lines.append(f"rows without a usable key, not compared: {self['bad_keys']:,}")
        if self["bad_documents"]:
            lines.append(f"rows without a usable document, not compared: {self['bad_documents']:,}")
        if self["cut_buckets"]:
            lines.append(
                f"buckets of more documents than the limit: {self['cut_buckets']:,}; these were "
                f"compared with the first of the bucket, and {self['cut_pairs']:,} candidate pairs "
                "left out"
            )
        if self["cut_passages"]:
            lines.append(
                f"pairs that share more than {DEFAULTS.passages:,} passages, of which only the "
                f"first are listed: {self['cut_passages']:,}"
            )
        return lines
