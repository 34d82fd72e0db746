"""Candidate pairs: documents that share a bucket, with a limit on what one bucket gives.

All of it is SQL after one shuffle of band rows: a window counts the documents of each bucket, and
another pairs each with those after it. A self-join would sort all rows twice, including buckets of
one document, which are most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lshdb.errors import UsageError
from lshdb.model import Construction, Settings
from lshdb.sketching.constructions import evaluate
from lshdb.spark.counts import Counts

WHOLE: Final = 2_000
"""Documents in the largest bucket that gives all of its pairs, by default."""


def candidate_pairs(
    bands: DataFrame,
    settings: Settings,
    *,
    limit: int | None = WHOLE,
    counts: Counts | None = None,
) -> DataFrame:
    """The pairs of documents that share a bucket, or enough of them for a cascade, each once.

    Args:
        bands: band rows, as from `bands`.
        settings: those of the bands.
        limit: in a bucket of more documents, each is paired only with the first; None for all
            pairs of every bucket.
        counts: what the limit cuts is added to these.

    Returns:
        a string, b string: keys, a before b in the order of their UTF-8 bytes.

    Raises:
        UsageError: a limit below 2.
    """
    if limit is not None and limit < 2:
        raise UsageError(f"limit {limit} is below 2")
    return chosen(_listed(bands, limit), settings.construction, counts)


def chosen(listed: DataFrame, construction: Construction, counts: Counts | None) -> DataFrame:
    """The candidates (a, b) among the pairs of all buckets: a, b, band_no, cut, as of `_listed`."""
    pairs = listed.groupBy("a", "b")
    cut = [F.count("cut").alias("cut_buckets"), F.sum("cut").alias("cut_pairs")]
    if construction.higher:
        found = pairs.agg(*cut, F.collect_set("band_no").alias("band_nos"))
        found = found.where((F.size("band_nos") >= construction.min_bands) | F.expr("a = b"))
    else:
        found = pairs.agg(*cut)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if counts is not None:
                counts.add("cut_buckets", pc.sum(batch.column("cut_buckets")).as_py() or 0)
                counts.add("cut_pairs", pc.sum(batch.column("cut_pairs")).as_py() or 0)
            chosen = pc.not_equal(batch.column("a"), batch.column("b"))
            if construction.higher:
                chosen = pc.and_(chosen, pa.array(_true(batch.column("band_nos"), construction)))
            yield batch.select(["a", "b"]).filter(chosen)

    return found.mapInArrow(run, "a string, b string")


def _listed(bands: DataFrame, limit: int | None) -> DataFrame:
    """The pairs of each bucket: a, b, band_no, cut.

    The first document of a bucket above the limit is paired with itself as well; `cut` of that row
    is the number of pairs that are left out, and null in all others.
    """
    bucket = Window.partitionBy("band_no", "bucket_key")
    members = F.count("*").over(bucket).alias("members")
    first = F.min("key").over(bucket).alias("first")
    shared = bands.select("band_no", "bucket_key", "key", members, first).where("members > 1")
    hot = F.lit(False) if limit is None else F.col("members") > limit
    # Each document of a hot bucket has its own window, or all would be listed for each.
    same = Window.partitionBy("band_no", "bucket_key", "alone").orderBy("key")
    later = F.collect_list("key").over(same.rowsBetween(1, Window.unboundedFollowing))
    rows = shared.withColumn("alone", F.when(hot, F.col("key"))).withColumn("later", later)
    others = F.when(hot, F.array("first")).otherwise(F.col("later"))
    left_out = F.expr("(members - 1) * (members - 2) div 2")
    cut = F.when(hot & (F.col("key") == F.col("first")), left_out).alias("cut")
    pairs = rows.select("key", F.explode(others).alias("other"), "band_no", cut)
    return pairs.select(
        F.least("key", "other").alias("a"), F.greatest("key", "other").alias("b"), "band_no", "cut"
    )


def _true(band_nos: pa.ListArray, construction: Construction) -> npt.NDArray[np.bool_]:
    """Which pairs are candidates of a cascade, bool[n], by the bands in which each collides."""
    sizes = pc.list_value_length(band_nos).to_numpy()
    collided = np.zeros((len(band_nos), construction.bands), dtype=np.bool_)
    collided[np.repeat(np.arange(len(band_nos)), sizes), band_nos.flatten().to_numpy()] = True
    return evaluate(collided, construction)
