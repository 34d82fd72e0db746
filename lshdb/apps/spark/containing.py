"""Documents that another one contains, on Spark, as lshdb.apps.dedup.containing finds them.

The code of a document is its rarest shingle in a batch; a larger document contains it only if it
has this shingle. A bitmap of all codes leaves one or two shingles of each document to be joined
with them; of equal sets, the first represents all. Candidates of a document are compared in the
order in which they would be kept, at first a few of them: so a document that a million pages
contain is compared with only a few of these.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lshdb import Settings
from lshdb.apps.dedup import containing
from lshdb.apps.spark import sketching, verifying
from lshdb.apps.spark.candidates import of_reference
from lshdb.apps.spark.clustering import checkpointed
from lshdb.apps.spark.counts import Counts
from lshdb.apps.spark.frame_documents import schema_of
from lshdb.apps.spark.options import SparkDedupOptions
from lshdb.text import arrays, content
from lshdb.text.hashing import secret_seed
from lshdb.text.shingles import distinct_shingles
from lshdb.text.shingling import Content

_BLOCK = 15
"""Spark makes bitmaps of 2^15 bits."""
_SPARE = 7
"""Bits beyond the number of codes: at most one in 128 other shingles passes as a code."""
_LARGEST = 29
"""The bitmap has 64 MB at most, which each task gets: above 4 million documents more pass."""
_TRIED = 8
"""Candidates of a document that are compared first; then come 8 times as many, and so on."""


def cards(documents: DataFrame, settings: Settings, counts: Counts | None = None) -> DataFrame:
    """The size, code and digests of each checked document with a shingle.

    Returns:
        key string; shingles long, the number of distinct shingles; code long, the hash of a rare
        shingle; shingles_digest binary, of all shingles; digest binary, of the stored form.
    """
    # All tasks hash under the secret seed of this process.
    shingling, seed = settings.shingling, secret_seed()

    def columns(keys: pa.Array, contents: list[Content]) -> sketching.BatchColumns:
        sets = distinct_shingles(contents, shingling, seed)
        sizes = arrays.sizes_of(sets.offsets)
        filled = np.flatnonzero(sizes)
        if counts is not None:
            counts.add("empty", len(contents) - len(filled))
        ends = sets.offsets.tolist()
        code = sets.hashes[containing.rarest(sets, np.zeros(containing.CELLS, dtype=np.uint32))]
        return {
            "key": keys.take(pa.array(filled)),
            "shingles": sizes[filled],
            "code": code.view(np.int64),
            "shingles_digest": [
                content.digest(sets.hashes[ends[i] : ends[i + 1]].data) for i in filled.tolist()
            ],
            "digest": [
                content.digest(content.encoded(contents[i]).encode()) for i in filled.tolist()
            ],
        }

    schema = "key string, shingles long, code long, shingles_digest binary, digest binary"
    return sketching.of_documents(documents, settings, columns, schema, counts)


def contained(cards: DataFrame, documents: DataFrame, options: SparkDedupOptions) -> DataFrame:
    """The documents that others contain, by jobs: b, each once, and the kept a that contains it.

    The kept document is the first one of the reference, or else the largest; the first of equal
    ones. The driver gets the bitmap, and no documents.

    Args:
        cards: the cards of all documents.
        documents: key and content of each; keys of the reference have its prefix.
        options: the settings, and whether only documents of the reference contain others.

    Returns:
        The columns of `similar` but the estimate.
    """
    settings, equal = options.data.settings, "OVER (PARTITION BY shingles_digest)"
    only_against = options.choice.drop.only_against
    known = cards.withColumn("known", of_reference("key"))
    cards = checkpointed(
        known.selectExpr(
            *("key", "shingles", "code", "known", f"min(key) {equal} AS first"),
            f"bool_and(known) {equal} AS all_known",
            f"digest = min_by(digest, key) {equal} AS identical",
        )
    )
    firsts = cards.where("key = first")
    holders = firsts.where("known") if only_against else firsts
    larger = holders.selectExpr("key AS a", "shingles AS larger", "known AS a_known")
    smaller = firsts.where("NOT all_known").selectExpr("key AS b", "shingles", "code", "known")
    pairs = _with_codes(documents, settings, _bitmap(smaller)).join(larger, "a")
    # A document that the reference also has is dropped for that, or for an earlier one of it.
    pairs = pairs.join(smaller, "code").where("larger > shingles AND (NOT known OR a < b)")
    order = "OVER (PARTITION BY b ORDER BY IF(a_known, NULL, -larger), a)"
    pairs = checkpointed(pairs.selectExpr("a", "b", "larger", f"row_number() {order} AS place"))
    best = _best(pairs, documents, settings).withColumnRenamed("b", "first")
    found = cards.where("NOT known").join(best, "first", "left")
    if only_against:
        found = found.where(of_reference(F.coalesce("a", "first")))
    return found.where("coalesce(a, first) <> key").selectExpr(
        "coalesce(a, first) AS a",
        "key AS b",
        "coalesce(double(shingles) / larger, 1) AS similarity",
        "true AS exact",
        "a IS NULL AND identical AS identical",
        "a IS NULL AND identical AS same_text",
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
    bitmap = np.zeros((1 << (bits - _BLOCK), 1 << (_BLOCK - 3)), dtype=np.uint8)
    for number, octets in blocks.collect():
        bitmap[number] = np.frombuffer(octets, dtype=np.uint8)
    return bitmap.ravel()


def _with_codes(
    documents: DataFrame, settings: Settings, bitmap: npt.NDArray[np.uint8]
) -> DataFrame:
    """The shingles of documents that may be codes of others: a string, code long."""
    shingling, seed = settings.shingling, secret_seed()

    def columns(keys: pa.Array, contents: list[Content]) -> sketching.BatchColumns:
        sets = distinct_shingles(contents, shingling, seed)
        bit = (sets.hashes >> np.uint64(62 - len(bitmap).bit_length())).view(np.int64)
        passing = np.flatnonzero((bitmap[bit >> 3] >> (bit & 7)) & 1)
        holders = np.searchsorted(sets.offsets, passing, "right") - 1
        return {"a": keys.take(pa.array(holders)), "code": sets.hashes[passing].view(np.int64)}

    return sketching.of_documents(documents, settings, columns, "a string, code long")


def _best(candidates: DataFrame, documents: DataFrame, settings: Settings) -> DataFrame:
    """The first candidate, by its rank, that contains b: b string, a string, larger long."""

    def compare(
        rows: pa.RecordBatch, contents: list[Content], indices: arrays.IntArray
    ) -> pa.RecordBatch:
        shared, sizes = verifying.shared(contents, indices, settings)
        return rows.select(["a", "b"]).filter(pa.array(shared == sizes[indices[1]]))

    left, tried, best = candidates, _TRIED, None
    schema = schema_of({"a": str, "b": str})
    while best is None or not left.isEmpty():
        first = left.where(f"place <= {tried}")
        contained = verifying.compared(first, documents, settings, compare, schema)
        held = left.join(contained, ["a", "b"])
        winners = held.groupBy("b").agg(F.expr("min((place, a, larger)) AS first"))
        winners = checkpointed(winners.select("b", "first.a", "first.larger"))
        best = winners if best is None else best.unionByName(winners)
        later = left.where(f"place > {tried}").join(winners, "b", "left_anti")
        left, tried = checkpointed(later), 8 * tried
    return best
