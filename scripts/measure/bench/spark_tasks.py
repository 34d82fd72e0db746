"""A run of Spark on this machine, in a separate process, as bench/spark.py starts it.

    python scripts/measure bench.spark_tasks '{"task": ..., ...}'

Prints one JSON object: how many pairs there are, and what Spark counted for each step.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Final

import lshdb.spark
from lshdb.spark.starting import session
from measure.common.commands import tree_cpu

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEATURES: Final = 1 << 20
"""Length of MLlib's vectors: a shingle is one of this many numbers."""
_TABLES: Final = 3
"""Hash tables of MLlib, of one minimum each: 1 - 0.2^3 = 0.992 at Jaccard 0.8."""


class Steps:
    """Times steps, and adds up what Spark's executors say of them, and their processes took."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.counted: dict[str, float] = {}

    def run(self, name: str, action: Any) -> Any:
        """Run a step to its end."""
        before, begun = self._totals(), time.perf_counter()
        result = action()
        self.counted[f"{name} seconds"] = time.perf_counter() - begun
        for what, total in self._totals().items():
            self.counted[f"{name} {what}"] = total - before[what]
        return result

    def _totals(self) -> dict[str, float]:
        executors = self._spark.sparkContext._jsc.sc().statusStore().executorList(False)
        each = [executors.apply(i) for i in range(executors.size())]
        return {
            "CPU seconds": tree_cpu(os.getpid()),
            "shuffled bytes": float(sum(one.totalShuffleWrite() for one in each)),
            "tasks": float(sum(one.totalTasks() for one in each)),
        }


def lshdb_pairs(spark: SparkSession, spec: dict[str, Any]) -> dict[str, Any]:
    """Sign alone, then find all pairs, then clusters; pairs stay in a directory."""
    settings = lshdb.spark.make_settings(threshold=spec["threshold"], shingle=spec["shingle"])
    df = spark.read.schema("id string, text string").json(spec["input"])
    steps = Steps(spark)
    signed = lshdb.spark.signatures(df, settings)
    steps.run("sign", lambda: signed.write.format("noop").mode("overwrite").save())
    counts = lshdb.spark.Counts(spark)
    pairs = lshdb.spark.pairs(df, settings, counts=counts)
    steps.run("pairs", lambda: pairs.write.parquet(spec["output"]))
    found = spark.read.parquet(spec["output"])
    clusters = steps.run("clusters", lambda: lshdb.spark.clusters(found))
    return {
        **steps.counted,
        "pairs": found.count(),
        "clusters": clusters.where("key = keep").count(),
        "cut pairs": counts["cut_pairs"],
    }


def dedup(spark: SparkSession, spec: dict[str, Any]) -> dict[str, Any]:
    """Each step alone, its result thrown away, and then all of them, from Parquet to Parquet.

    A step includes those before it, whose results are not kept.
    """
    settings = lshdb.spark.make_settings(threshold=spec["threshold"], shingle=spec["shingle"])
    df = spark.read.parquet(spec["input"])
    signed = lshdb.spark.signatures(df, settings)
    candidates = lshdb.spark.candidate_pairs(lshdb.spark.bands(signed), settings)
    steps = Steps(spark)
    parts = {
        "sign": signed,
        "candidates": candidates,
        "pairs": lshdb.spark.pairs(df, settings),
    }
    for name, result in parts.items() if spec["rule"] == "similar" else ():
        steps.run(name, result.write.format("noop").mode("overwrite").save)

    def whole() -> None:
        found = lshdb.spark.dedup(df, settings, rule=spec["rule"])
        found.kept.write.parquet(spec["output"])
        found.dropped.write.parquet(spec["dropped"])

    steps.run("dedup", whole)
    own = spark.read.parquet(spec["dropped"]).select("key")
    theirs = spark.read.parquet(spec["listed"]).selectExpr(f"lpad(key, {spec['key']}, '0') AS key")
    return {
        **steps.counted,
        "dropped": own.count(),
        "dropped by one of both": own.exceptAll(theirs).count() + theirs.exceptAll(own).count(),
    }


def passages(spark: SparkSession, spec: dict[str, Any]) -> dict[str, Any]:
    """Find all pairs of documents that share passages."""
    settings = lshdb.spark.make_settings(passages=spec["passages"])
    df = spark.read.schema("id string, text string").json(spec["input"])
    steps = Steps(spark)
    found = lshdb.spark.passage_pairs(df, settings).select("a", "b").distinct()
    pairs = steps.run("pairs", found.count)
    return {**steps.counted, "pairs": pairs}


def differences(spark: SparkSession, spec: dict[str, Any]) -> dict[str, Any]:
    """How many signatures, band rows and pairs differ, in one bit or more, from those of a file."""
    settings = lshdb.spark.make_settings(threshold=spec["threshold"], shingle=spec["shingle"])
    df = spark.read.schema("id string, text string").json(spec["input"])
    signed = lshdb.spark.signatures(df, settings)
    stored = lshdb.spark.read_database(spark, spec["database"])
    bands = lshdb.spark.read_bands(spark, spec["database"]).join(stored, "doc_id")
    pairs = lshdb.spark.pairs(df, settings, limit=None)
    names = ["greatest(a, b) AS a", "least(a, b) AS b", "similarity", "exact", "estimate"]
    own = spark.read.schema(pairs.schema).json(spec["pairs"])
    row = ["key", "band_no", "bucket_key"]
    columns = ["key", "shingles", "signature"]
    found: dict[str, Any] = {"compared pairs": own.count()}
    for what, one, other in (
        ("signatures", signed.select(columns), stored.select(columns)),
        ("bands", lshdb.spark.bands(signed).select(row), bands.select(row)),
        ("pairs", pairs.selectExpr(names), own.selectExpr(names)),
    ):
        found[f"differing {what}"] = one.exceptAll(other).count() + other.exceptAll(one).count()
    return found


def mllib_pairs(spark: SparkSession, spec: dict[str, Any]) -> dict[str, Any]:
    """MLlib's own MinHashLSH and its similarity join, on sets of word shingles."""
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer

    width = int(spec["shingle"].partition(":")[2])
    df = spark.read.schema("id string, text string").json(spec["input"])
    pipeline = Pipeline(
        stages=[
            RegexTokenizer(inputCol="text", outputCol="words", pattern="\\W+"),
            NGram(n=width, inputCol="words", outputCol="shingles"),
            HashingTF(
                inputCol="shingles", outputCol="features", binary=True, numFeatures=_FEATURES
            ),
        ]
    )
    vectors = pipeline.fit(df).transform(df).select("id", "features")
    hashing = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=_TABLES, seed=1)
    steps = Steps(spark)

    def join() -> DataFrame:
        model = hashing.fit(vectors)
        joined = model.approxSimilarityJoin(vectors, vectors, 1 - spec["threshold"] + 1e-9)
        found = joined.selectExpr("datasetA.id AS a", "datasetB.id AS b").where("a < b")
        found.write.parquet(spec["output"])
        return spark.read.parquet(spec["output"])

    found = steps.run("pairs", join)
    return {**steps.counted, "pairs": found.count()}


def main() -> None:
    spec = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=spec["directory"]) as own:
        conf = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": spec["memory"],
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": own,
            "spark.sql.shuffle.partitions": "16",
        }
        tasks = {
            "lshdb": lshdb_pairs,
            "mllib": mllib_pairs,
            "dedup": dedup,
            "differences": differences,
            "passages": passages,
        }
        with session("local[2]", conf) as spark:
            found = tasks[spec["task"]](spark, spec)
    print(json.dumps(found))
