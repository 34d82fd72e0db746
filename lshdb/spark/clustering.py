"""Connected components of similar pairs, in rounds of two steps, without memory of the driver.

Alternating large-star and small-star (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, 2014).
Large-star links the larger neighbours of every document to its smallest neighbour, small-star the
smaller ones: each keeps components connected, and edges finally point at the smallest document.
Every round is checkpointed, or plans would grow with each round.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lshdb import LshdbError

_ROUNDS = 100
"""Far more than are ever needed: the longest path of 2^63 documents takes fewer."""


def clusters(pairs: DataFrame) -> DataFrame:
    """The documents that similar pairs connect, and which of them to keep.

    Runs some jobs per round, and keeps their results on the executors' disks; in the checkpoint
    directory if there is one (`spark.sparkContext.setCheckpointDir`), which also
    survives the loss of an executor.

    Args:
        pairs: columns a and b, keys, as from `pairs`.

    Returns:
        key string, keep string: for each document of a pair the first of its cluster, which is
        itself for that one, in the order of the keys' UTF-8 bytes.
    """
    # Edges go from the larger key to the smaller.
    edges = pairs.select(F.greatest("a", "b").alias("u"), F.least("a", "b").alias("v"))
    edges, before = _checkpointed(edges.where("u <> v").dropDuplicates())
    for _ in range(_ROUNDS):
        edges, now = _checkpointed(_small_star(_large_star(edges)))
        if now == before:
            leaves = edges.select(F.col("u").alias("key"), F.col("v").alias("keep"))
            centres = edges.select(F.col("v").alias("key"), F.col("v").alias("keep"))
            return leaves.unionByName(centres.dropDuplicates())
        before = now
    raise LshdbError(f"clusters did not converge in {_ROUNDS} rounds")


def _large_star(edges: DataFrame) -> DataFrame:
    directed = edges.unionByName(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
    smallest = F.least("u", F.min("v").over(Window.partitionBy("u")))
    linked = directed.select("u", "v", smallest.alias("smallest")).where("v > u")
    # The next step drops repeated edges.
    return linked.select(F.col("v").alias("u"), F.col("smallest").alias("v"))


def _small_star(edges: DataFrame) -> DataFrame:
    # All edges go from the larger key to the smaller, so neighbours that are smaller are all `v`.
    smallest = F.min("v").over(Window.partitionBy("u"))
    linked = edges.select("u", "v", smallest.alias("smallest"))
    lower = linked.where("v <> smallest").select(
        F.col("v").alias("u"), F.col("smallest").alias("v")
    )
    to_smallest = linked.select("u", F.col("smallest").alias("v"))
    return to_smallest.unionByName(lower).dropDuplicates()


def checkpointed(df: DataFrame) -> DataFrame:
    """The same rows, stored, so that they are not computed again."""
    context = getattr(df.sparkSession, "sparkContext", None)  # there is none by Spark Connect
    if context is None or context.getCheckpointDir() is None:
        return df.localCheckpoint(eager=False)  # by the first job that needs them
    return df.checkpoint()


def _checkpointed(edges: DataFrame) -> tuple[DataFrame, tuple[int, str]]:
    """The edges, stored, and a check of the set: number and sum of hashes."""
    stored = checkpointed(edges)
    # 128 bits of two hashes with different seeds.
    sums = stored.agg(
        F.count("*"),
        F.sum(F.xxhash64("u", "v").cast("decimal(38,0)")),
        F.sum(F.xxhash64("v", F.lit(1), "u").cast("decimal(38,0)")),
    ).collect()[0]
    return stored, (int(sums[0]), f"{sums[1]}/{sums[2]}")
