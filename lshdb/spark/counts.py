"""What is left out on the way, counted by the tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Tally:
    """The accumulators, as tasks have them."""

    bad_keys: Accumulator[int]
    bad_contents: Accumulator[int]
    empty: Accumulator[int]
    cut_buckets: Accumulator[int]
    cut_pairs: Accumulator[int]


class Counts:
    """Counts of one session; they grow while what they were given to is computed.

    Spark adds what a repeated task counts again, and what is computed twice: for exact counts
    compute a result once.
    """

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self.tally = Tally(*(context.accumulator(0) for _ in range(5)))

    @property
    def bad_keys(self) -> int:
        """Rows left out for their key: null, empty or with a NUL character."""
        return self.tally.bad_keys.value

    @property
    def bad_contents(self) -> int:
        """Rows left out for their content: null, or a set with a null or what is no JSON array."""
        return self.tally.bad_contents.value

    @property
    def empty(self) -> int:
        """Documents without a shingle, which are similar to nothing."""
        return self.tally.empty.value

    @property
    def cut_buckets(self) -> int:
        """Buckets too large for all of their pairs."""
        return self.tally.cut_buckets.value

    @property
    def cut_pairs(self) -> int:
        """Pairs left out of those; a pair counts in each such bucket."""
        return self.tally.cut_pairs.value

    def lines(self, whole: int | None) -> list[str]:
        """What a user should be told; nothing if nothing was left out."""
        told = []
        if self.bad_keys:
            told.append(f"rows without a usable key, not compared: {self.bad_keys:,}")
        if self.bad_contents:
            told.append(f"rows without a usable document, not compared: {self.bad_contents:,}")
        if self.cut_buckets:
            told.append(
                f"buckets with more than {whole:,} documents: {self.cut_buckets:,}; these were "
                f"compared with the first of the bucket, and {self.cut_pairs:,} candidate pairs "
                "left out"
            )
        return told
