"""Documents that are the same, character for character, on Spark: the first of each stays."""

import pyarrow as pa
from pyspark.sql import DataFrame

from lshdb import Settings
from lshdb.apps.spark import sketching
from lshdb.apps.spark.candidates import of_reference
from lshdb.apps.spark.counts import Counts
from lshdb.apps.spark.options import SparkDedupOptions
from lshdb.text import content
from lshdb.text.shingling import Content


def digests(documents: DataFrame, settings: Settings, counts: Counts | None) -> DataFrame:
    """The digest of each checked document that has anything in it: key string, digest binary."""

    def columns(keys: pa.Array, contents: list[Content]) -> sketching.BatchColumns:
        filled = [index for index, each in enumerate(contents) if each]
        if counts is not None:
            counts.add("empty", len(contents) - len(filled))
        forms = (content.encoded(contents[index]).encode() for index in filled)
        indices = pa.array(filled, pa.int64())
        return {"key": keys.take(indices), "digest": [*map(content.digest, forms)]}

    return sketching.of_documents(documents, settings, columns, "key string, digest binary", counts)


def identical(digests: DataFrame, _: DataFrame, options: SparkDedupOptions) -> DataFrame:
    """The documents b, each once, that have the digest of an earlier document a.

    Args:
        digests: of all documents; keys of the reference have its prefix, and come first.
        options: says whether a is of a reference in all pairs.

    Returns:
        The columns of `similar` but the estimate.
    """
    firsts = digests.selectExpr("min(key) OVER (PARTITION BY digest) AS a", "key AS b")
    pairs = firsts.where("a <> b").where(~of_reference("b"))
    if options.choice.drop.only_against:
        pairs = pairs.where(of_reference("a"))
    same = "true AS exact", "true AS identical", "true AS same_text"
    return pairs.selectExpr("a", "b", "1D AS similarity", *same)
