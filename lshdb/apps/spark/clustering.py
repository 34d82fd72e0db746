"""Connected components of similar pairs, in rounds of two steps, without memory of the driver.

Alternating large-star and small-star (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, 2014).
Large-star links the larger neighbours of every document to its smallest neighbour, small-star the
smaller ones: each keeps components connected, and edges finally point at the smallest document.
Every round is checkpointed, or plans would grow with each round.
"""

from pyspark.sql import DataFrame

from lshdb import LshdbError

ROUNDS = 100
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
    edges = pairs.where("a <> b").selectExpr("greatest(a, b) AS u", "least(a, b) AS v")
    edges, before = _checkpointed(edges.dropDuplicates())
    for _ in range(ROUNDS):
        edges, now = _checkpointed(_small_star(_large_star(edges)))
        if now == before:
            centres = edges.selectExpr("v AS key", "v AS keep").dropDuplicates()
            return edges.selectExpr("u AS key", "v AS keep").unionByName(centres)
        before = now
    raise LshdbError(f"clusters did not converge in {ROUNDS} rounds")


def _large_star(edges: DataFrame) -> DataFrame:
    directed = edges.unionByName(edges.selectExpr("v AS u", "u AS v"))
    smallest = "least(u, min(v) OVER (PARTITION BY u)) AS smallest"
    # The next step drops repeated edges.
    return (
        directed.selectExpr("u", "v", smallest).where("v > u").selectExpr("v AS u", "smallest AS v")
    )


def _small_star(edges: DataFrame) -> DataFrame:
    # All edges go from the larger key to the smaller, so neighbours that are smaller are all `v`.
    linked = edges.selectExpr("u", "v", "min(v) OVER (PARTITION BY u) AS smallest")
    lower = linked.where("v <> smallest").selectExpr("v AS u", "smallest AS v")
    return linked.selectExpr("u", "smallest AS v").unionByName(lower).dropDuplicates()


def checkpointed(df: DataFrame) -> DataFrame:
    """The same rows, stored, so that they are not computed again."""
    context = getattr(df.sparkSession, "sparkContext", None)  # there is none by Spark Connect
    if context is None or context.getCheckpointDir() is None:
        return df.localCheckpoint(eager=False)  # by the first job that needs them
    return df.checkpoint()


def _checkpointed(edges: DataFrame) -> tuple[DataFrame, tuple[object, ...]]:
    """The edges, stored, and a check of the set: number and sum of hashes."""
    stored = checkpointed(edges)
    # 128 bits of two hashes with different seeds.
    (sums,) = stored.selectExpr(
        "count(*)",
        "sum(CAST(xxhash64(u, v) AS decimal(38, 0)))",
        "sum(CAST(xxhash64(v, 1, u) AS decimal(38, 0)))",
    ).collect()
    return stored, tuple(sums)
