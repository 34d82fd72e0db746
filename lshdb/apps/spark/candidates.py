"""Candidate pairs: documents that share a bucket, with a limit on the pairs of one bucket.

All of it is SQL after one shuffle of band rows: a window counts the documents of each bucket, and
another window pairs each document with earlier ones. A self-join would sort all rows twice,
including the buckets of one document, which are most buckets.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lshdb import Settings
from lshdb.apps.spark.counts import Counts
from lshdb.apps.spark.options import BucketOptions
from lshdb.apps.spark.sketching import Batches
from lshdb.sketch.constructions import evaluate

REFERENCE = "\0"
"""Prefix of the keys of a reference, which come first; no other key has a NUL."""
KEY_MARK = "G"
"""Ends the prefix that sorts a document's own key last: no digit, also no hexadecimal one."""


def of_reference(key: str | Column) -> Column:
    """Whether a key is of a reference."""
    return F.startswith(key, F.lit(REFERENCE))


def candidate_pairs(
    bands: DataFrame,
    settings: Settings,
    *,
    limit: int | None = BucketOptions.limit,
    counts: Counts | None = None,
    only_against: bool = False,
) -> DataFrame:
    """The pairs of documents that share a bucket, or enough of them for a cascade, each once.

    Args:
        bands: band rows, as from `bands`.
        settings: the settings of the bands.
        limit: in a bucket of more documents, each is paired only with the first one; None for all
            pairs of every bucket.
        counts: counts of the pairs that the limit leaves out are added to these.
        only_against: whether a is of a reference in all pairs.

    Returns:
        a string, b string: keys, a before b in the order of their UTF-8 bytes.

    Raises:
        UsageError: a limit below 2.
    """
    BucketOptions(limit=limit)  # checks it
    construction = settings.construction
    shared = _listed(bands, limit, only_against=only_against).groupBy("a", "b")
    columns = ["count(cut) AS cut_buckets", "sum(cut) AS cut_pairs"]
    if construction.higher:
        columns.append("collect_set(band_no) AS band_nos")
    pairs = shared.agg(*map(F.expr, columns))
    if construction.higher:
        pairs = pairs.where(f"size(band_nos) >= {construction.min_bands} OR a = b")

    def run(batches: Batches) -> Batches:
        for batch in batches:
            if counts is not None:
                counts.add("cut_buckets", pc.sum(batch.column("cut_buckets")).as_py() or 0)
                counts.add("cut_pairs", pc.sum(batch.column("cut_pairs")).as_py() or 0)
            chosen = pc.not_equal(batch.column("a"), batch.column("b"))
            if construction.higher:  # the bands that collide make a cascade true, or not
                band_nos = batch.column("band_nos")
                pair = np.repeat(
                    np.arange(len(band_nos)), pc.list_value_length(band_nos).to_numpy()
                )
                collided = np.zeros((len(band_nos), construction.bands), dtype=np.bool_)
                collided[pair, band_nos.flatten().to_numpy()] = True
                chosen = pc.and_(chosen, pa.array(evaluate(collided, construction)))
            yield batch.select(["a", "b"]).filter(chosen)

    return pairs.mapInArrow(run, "a string, b string")


def _listed(bands: DataFrame, limit: int | None, *, only_against: bool) -> DataFrame:
    """The pairs of each bucket: a, b, band_no, cut; b is of no reference.

    With `only_against`, a is of one, unless it is the same as b.

    In a bucket above the limit, a document is paired with the first one and with the first of no
    reference, which is paired with itself as well: `cut` of that row is the number of pairs that
    are left out, and null in all others.
    """
    bucket = Window.partitionBy("band_no", "bucket_key")
    members = F.count("*").over(bucket).alias("members")
    new_key = F.when(~of_reference("key"), F.col("key"))
    # The keys that new documents are compared with.
    first = F.when(new_key.isNull(), F.col("key")) if only_against else F.col("key")
    # Most buckets have one document: few rows are left for the next steps.
    shared = bands.select("band_no", "bucket_key", "key", members).where("members > 1")
    shared = shared.withColumns(
        {
            "own": new_key,
            "owns": F.count(new_key).over(bucket),
            "firsts": F.array(F.min(first).over(bucket), F.min(new_key).over(bucket)),
        }
    ).where("owns > 0 AND firsts[0] IS NOT NULL")
    hot = F.lit(False) if limit is None else F.col("members") > limit
    # Each document of a hot bucket has its own window, or all would be listed for each.
    same = Window.partitionBy("band_no", "bucket_key", "alone").orderBy("key")
    before = F.collect_list(first).over(same.rowsBetween(Window.unboundedPreceding, -1))
    rows = shared.withColumn("alone", F.when(hot, F.col("key"))).withColumn("before", before)
    left_out = "owns * greatest(members - owns - 1, 0)"
    if only_against:
        firsts = F.expr("IF(own = firsts[1], firsts, slice(firsts, 1, 1))")
    else:
        firsts = F.array_distinct("firsts")
        left_out += " + (owns - 1) * (owns - 2) div 2"
    others = F.when(hot, firsts).otherwise(F.col("before"))
    pairs = rows.where("own IS NOT NULL").withColumn("a", F.explode(others))
    cut = f"nullif(IF(a = b, {left_out}, 0), 0) AS cut"
    return pairs.selectExpr("a", "own AS b", "band_no", cut)
