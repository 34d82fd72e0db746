"""Documents that another one contains, on Spark: those that lshdb.ingest.containing finds.

A document contains another only if it has the code of that, its rarest shingle in a batch. A bitmap
of all codes leaves one or two shingles of each document to be joined with them; of equal sets the
first is enough. Pairs are compared in the order in which documents would be kept for another, some
of each at first: what a million pages contain is compared with a few of these.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lshdb import Settings
from lshdb.deduplication.containing import CELLS, rarest
from lshdb.options import SparkPairsOptions
from lshdb.shingling.arrays import IntArray, sizes_of
from lshdb.shingling.content import digest, encoded
from lshdb.shingling.hashing import secret_seed
from lshdb.shingling.shingles import distinct_shingles
from lshdb.shingling.shingling import Content
from lshdb.spark import verifying
from lshdb.spark.candidates import REFERENCE
from lshdb.spark.clustering import checkpointed
from lshdb.spark.counts import Counts
from lshdb.spark.documents import schema_of
from lshdb.spark.sketching import Columns, of_documents

_BLOCK = 15
"""Spark makes bitmaps of 2^15 bits."""
_SPARE = 7
"""Bits more than the number of codes needs: at most one in 128 other shingles is taken for one."""
_LARGEST = 29
"""The bitmap has 64 MB at most, which each task gets: above 4 million documents more pass."""
_TRIED = 8
"""Candidates of a document that are compared first; then come 8 times as many, and so on."""


def cards(documents: DataFrame, settings: Settings, counts: Counts | None = None) -> DataFrame:
    """What is known of each checked document with a shingle.

    Returns:
        key string; shingles long, how many distinct ones; code long, the hash of a rare one;
        shingles_digest binary, of all; digest binary, of the stored form.
    """
    # All tasks hash under the secret seed of this process.
    shingling, seed = settings.shingling, secret_seed()

    def columns(keys: pa.Array, contents: list[Content]) -> Columns:
        sets = distinct_shingles(contents, shingling, seed)
        sizes = sizes_of(sets.offsets)
        filled = np.flatnonzero(sizes)
        if counts is not None:
            counts.add("empty", len(contents) - len(filled))
        ends = sets.offsets.tolist()
        code = sets.hashes[rarest(sets, np.zeros(CELLS, dtype=np.uint32))]
        return {
            "key": keys.take(pa.array(filled)),
            "shingles": sizes[filled],
            "code": code.view(np.int64),
            "shingles_digest": [
                digest(sets.hashes[ends[i] : ends[i + 1]].data) for i in filled.tolist()
            ],
            "digest": [digest(encoded(contents[i]).encode()) for i in filled.tolist()],
        }

    schema = "key string, shingles long, code long, shingles_digest binary, digest binary"
    return of_documents(documents, settings, columns, schema, counts)


def contained(cards: DataFrame, documents: DataFrame, options: SparkPairsOptions) -> DataFrame:
    """The documents that others contain, by jobs: b, each once, and the kept a that contains it.

    It is the first one of the reference, or else the largest, of equal ones the first. The driver
    gets the bitmap, and no documents.

    Args:
        cards: of all documents.
        documents: key and content of each; keys of the reference have its prefix.
        options: of which only the settings count.

    Returns:
        The columns of `similar` but the estimate.
    """
    settings, equal = options.settings, "OVER (PARTITION BY shingles_digest)"
    known = cards.withColumn("known", F.startswith("key", F.lit(REFERENCE)))
    cards = checkpointed(
        known.selectExpr(
            *("key", "shingles", "code", "known", f"min(key) {equal} AS first"),
            f"bool_and(known) {equal} AS all_known",
            f"digest = min_by(digest, key) {equal} AS identical",
        )
    )
    firsts = cards.where("key = first")
    larger = firsts.selectExpr("key AS a", "shingles AS larger", "known AS a_known")
    smaller = firsts.where("NOT all_known").selectExpr("key AS b", "shingles", "code", "known")
    pairs = _with_codes(documents, settings, _bitmap(smaller)).join(larger, "a")
    # What the reference has, too, is dropped for that, or for an earlier document of it.
    pairs = pairs.join(smaller, "code").where("larger > shingles AND (NOT known OR a < b)")
    order = "OVER (PARTITION BY b ORDER BY IF(a_known, NULL, -larger), a)"
    pairs = checkpointed(pairs.selectExpr("a", "b", "larger", f"row_number() {order} AS place"))
    best = _best(pairs, documents, settings).withColumnRenamed("b", "first")
    return (
        cards.where("NOT known")
        .join(best, "first", "left")
        .where("coalesce(a, first) <> key")
        .selectExpr(
            "coalesce(a, first) AS a",
            "key AS b",
            "coalesce(double(shingles) / larger, 1) AS similarity",
            "true AS exact",
            "a IS NULL AND identical AS identical",
        )
    )


def _bitmap(codes: DataFrame) -> npt.NDArray[np.uint8]:
    """Bit i % 8 of byte i // 8, from the lowest, is set if the first bits of a code are i."""
    bits = min(max(codes.count().bit_length() + _SPARE, _BLOCK), _LARGEST)
    block, bit = f"shiftrightunsigned(code, {64 - bits})", (1 << _BLOCK) - 1
    blocks = (
        codes.selectExpr(f"{block} >> {_BLOCK} AS block", f"{block} & {bit} AS bit")
        .groupBy("block")
        .agg(F.bitmap_construct_agg("bit"))
    )
    found = np.zeros((1 << (bits - _BLOCK), 1 << (_BLOCK - 3)), dtype=np.uint8)
    for number, its in blocks.collect():
        found[number] = np.frombuffer(its, dtype=np.uint8)
    return found.ravel()


def _with_codes(
    documents: DataFrame, settings: Settings, bitmap: npt.NDArray[np.uint8]
) -> DataFrame:
    """The shingles of documents that may be codes of others: a string, code long."""
    shingling, seed = settings.shingling, secret_seed()

    def columns(keys: pa.Array, contents: list[Content]) -> Columns:
        sets = distinct_shingles(contents, shingling, seed)
        bit = (sets.hashes >> np.uint64(62 - len(bitmap).bit_length())).view(np.int64)
        passing = np.flatnonzero((bitmap[bit >> 3] >> (bit & 7)) & 1)
        holders = np.searchsorted(sets.offsets, passing, "right") - 1
        return {"a": keys.take(pa.array(holders)), "code": sets.hashes[passing].view(np.int64)}

    return of_documents(documents, settings, columns, "a string, code long")


def _best(candidates: DataFrame, documents: DataFrame, settings: Settings) -> DataFrame:
    """The first candidate, by its place, that contains b: b string, a string, larger long."""

    def compare(rows: pa.RecordBatch, contents: list[Content], indices: IntArray) -> pa.RecordBatch:
        shared, sizes = verifying.shared(contents, indices, settings)
        return rows.select(["a", "b"]).filter(pa.array(shared == sizes[indices[1]]))

    left, tried, best = candidates, _TRIED, None
    while best is None or not left.isEmpty():
        now, schema = left.where(F.col("place") <= tried), schema_of({"a": str, "b": str})
        held = left.join(verifying.compared(now, documents, settings, compare, schema), ["a", "b"])
        found = held.groupBy("b").agg(F.min(F.struct("place", "a", "larger")).alias("first"))
        found = checkpointed(found.select("b", "first.a", "first.larger"))
        best = found if best is None else best.unionByName(found)
        later = left.where(F.col("place") > tried).join(found, "b", "left_anti")
        left, tried = checkpointed(later), 8 * tried
    return best
