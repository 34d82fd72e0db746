"""Documents that are similar to one of a reference collection, which is only read."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lshdb.options import SparkPairsOptions
from lshdb.spark.candidates import chosen
from lshdb.spark.counts import Counts
from lshdb.spark.sketching import bands, signed
from lshdb.spark.verifying import verified

_MARK: Final = "\0"
"""Prefix of the reference's keys: no key has a NUL, and both collections may have the same key."""


def most_similar(
    documents: DataFrame, reference: DataFrame, options: SparkPairsOptions, unusable: Counts
) -> DataFrame:
    """The documents that are similar to one of a reference, and the most similar one of each.

    Args:
        documents: key and content, checked.
        reference: the same.
        options: their `limit` is on documents of both collections: in a larger bucket, only the
            first of the reference is compared. Pairs that it cuts are counted, but nothing else.
        unusable: to which rows of the reference that cannot be compared are added.

    Returns:
        key string; kept string, the key in the reference, the first of equally similar ones;
        similarity double; exact boolean; identical boolean.
    """
    settings = options.settings
    marked = F.concat(F.lit(_MARK), F.col("key"))
    reference = reference.select(marked.alias("key"), "content")
    rows = bands(signed(documents, settings, with_signatures=False)).unionByName(
        bands(signed(reference, settings, unusable, with_signatures=False))
    )
    candidates = chosen(_listed(rows, options.limit), settings.construction, options.counts)
    similar = verified(candidates, documents.unionByName(reference), options)
    kept = F.substring("b", 2, 1 << 30).alias("kept")
    best = Window.partitionBy("a").orderBy(F.desc("similarity"), "b")
    return (
        similar.withColumn("place", F.row_number().over(best))
        .where("place = 1")
        .select(F.col("a").alias("key"), kept, "similarity", "exact", "identical")
    )


def _listed(bands: DataFrame, limit: int | None) -> DataFrame:
    """The pairs of each bucket of a document, a, and one of the reference, b: a, b, band_no, cut.

    `cut` is how many pairs of a bucket above the limit are left out, in one row of it; else null.
    """
    bucket = Window.partitionBy("band_no", "bucket_key")
    of_reference = F.startswith(F.col("key"), F.lit(_MARK))

    def first(which: Column) -> Column:
        return F.min(F.when(which, F.col("key"))).over(bucket)

    rows = bands.select(
        "band_no",
        "bucket_key",
        "key",
        of_reference.alias("of_reference"),
        F.count("*").over(bucket).alias("members"),
        F.count(F.when(of_reference, 1)).over(bucket).alias("references"),
        first(~of_reference).alias("first"),
        first(of_reference).alias("first_reference"),
    ).where("references > 0 AND references < members")
    hot = F.lit(False) if limit is None else F.col("members") > limit
    left_out = F.expr("(members - references) * (references - 1)")
    cut = F.when(hot & (F.col("key") == F.col("first")) & (left_out > 0), left_out)
    own = rows.where("NOT of_reference").select(
        "band_no", "bucket_key", F.col("key").alias("a"), "first_reference", cut.alias("cut")
    )
    others = rows.where(F.col("of_reference") & (~hot | (F.col("key") == F.col("first_reference"))))
    others = others.select("band_no", "bucket_key", F.col("key").alias("b"))
    cut = F.when(F.col("b") == F.col("first_reference"), F.col("cut")).alias("cut")
    return own.join(others, ["band_no", "bucket_key"]).select("a", "b", "band_no", cut)
