"""Signatures, candidates, and which of these are similar: the kernels of the library over batches.

Candidates share a bucket, with a limit on the pairs of one. All of it is SQL after one shuffle of
band rows: a window counts the documents of each bucket, and another window pairs each document with
earlier ones. A self-join would sort all rows twice, including the buckets of one document, which
are most buckets.

Contents are shipped rather than shingle hashes, which take several times as much, and signatures
are made again for the few pairs that are similar, rather than shipped for all.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lshdb import Settings, offers
from lshdb.apps.dedup.options import DropOptions
from lshdb.apps.spark import frame_documents
from lshdb.apps.spark.counts import LIMITS, Counts
from lshdb.apps.spark.frame_documents import BatchColumns, Batches
from lshdb.apps.spark.options import (
    BucketOptions,
    SparkDedupOptions,
    SparkOptions,
    SparkPairsOptions,
    SparkRuleOptions,
)
from lshdb.columns import PAIR
from lshdb.search.similarity import estimates, jaccard, shared_by_pairs
from lshdb.sketch.constructions import evaluate
from lshdb.sketch.signing import sign
from lshdb.taking import takes
from lshdb.text import arrays, hashing, shingles
from lshdb.text.arrays import Shares
from lshdb.text.shingling import Content

REFERENCE = "\0"
"""Prefix of the keys of a reference, which come first; no other key has a NUL."""
KEY_MARK = "G"
"""Ends the prefix that sorts a document's own key last: no digit, also no hexadecimal one."""
Compare = Callable[[pa.RecordBatch, list[Content], arrays.IntArray], pa.RecordBatch]
"""Compares pairs (a, b), sorted by a: the documents are given once each, and the indices among them
of both documents of each pair, int64[2, n]."""


@takes(SparkOptions)
def signatures(df: DataFrame, options: SparkOptions) -> DataFrame:
    """The signatures of documents, as in a file of these settings.

    Args:
        df: one row per document.

    Returns:
        key string; shingles long, how many, repetitions counted; signature binary,
        as a file has it; bucket_keys array of long, one per band. The last
        two are null for a document without shingles.

    Raises:
        UsageError: a missing column, or one of a wrong type.
    """
    return signed(frame_documents.documents(df, options), options.settings, options.counts)


def bands(signatures: DataFrame) -> DataFrame:
    """The band rows of `signatures`: key string, band_no int, bucket_key long."""
    return signatures.selectExpr("key", "posexplode(bucket_keys) AS (band_no, bucket_key)")


def signed(documents: DataFrame, settings: Settings, counts: Counts | None) -> DataFrame:
    """`signatures` of checked documents."""

    def columns(keys: pa.Array, contents: list[Content]) -> BatchColumns:
        batch_signed = sign(contents, settings)
        filled = pa.array(batch_signed.shingles > 0)
        if counts is not None:
            counts.add("empty", len(contents) - filled.true_count)
        stored_type = settings.lane_type.newbyteorder("<")
        data = pa.py_buffer(np.ascontiguousarray(batch_signed.signatures, dtype=stored_type))
        blobs = pa.Array.from_buffers(
            pa.binary(settings.signature_bytes), len(contents), [None, data]
        )
        bands = batch_signed.bucket_keys.shape[1]
        buckets = pa.FixedSizeListArray.from_arrays(batch_signed.bucket_keys.ravel(), bands)
        return {
            "key": keys,
            "shingles": pa.array(batch_signed.shingles),
            "signature": pc.if_else(filled, blobs.cast(pa.binary()), None),
            "bucket_keys": pc.if_else(filled, buckets.cast(pa.list_(pa.int64())), None),
        }

    schema = "key string, shingles long, signature binary, bucket_keys array<long>"
    return frame_documents.of_documents(documents, settings, columns, schema, counts)


@takes(SparkPairsOptions)
def pairs(df: DataFrame, options: SparkPairsOptions) -> DataFrame:
    """All pairs of similar documents that share a bucket, each once.

    The numbers are those of `Database.pairs`, to the last bit; if the settings keep no content,
    similarities are estimates.

    Args:
        df: one row per document.

    Returns:
        a string, b string, similarity double, exact boolean, estimate double, identical boolean,
        same_text boolean (the same as identical, as no document is a file); a is before b in the
        order of their UTF-8 bytes.

    Raises:
        UsageError: a missing column, or a threshold or limit out of range.
    """
    docs = frame_documents.documents(df, options.data)
    choice = SparkRuleOptions(
        buckets=options.buckets, drop=DropOptions(similarity=options.similarity)
    )
    return similar(
        signed(docs, options.data.settings, options.data.counts),
        docs,
        SparkDedupOptions(data=options.data, choice=choice, threshold=options.threshold),
    )


def similar(signatures: DataFrame, documents: DataFrame, options: SparkDedupOptions) -> DataFrame:
    """`pairs` of documents that are checked and signed; see `candidate_pairs`."""
    # Not the options: they may have a DataFrame, which cannot be sent to the tasks.
    settings, drop = options.data.settings, options.choice.drop
    minimum = options.threshold or settings.threshold
    exact = settings.content and not drop.similarity.estimate
    filter_of = None
    if drop.similarity.distinguish:
        filter_of = offers.offered(offers.SEARCHES, "distinguish")(settings)

    def compare(
        rows: pa.RecordBatch, contents: list[Content], indices: arrays.IntArray
    ) -> pa.RecordBatch:
        if exact:
            sets = shingles.distinct_shingles(contents, settings.shingling, hashing.secret_seed())
            sizes = np.diff(sets.offsets)
            shared = shared_by_pairs(sets.hashes, sets.offsets[:-1], sizes, *indices)
            similarity = jaccard(shared, *sizes[indices])
        else:
            similarity = _estimates(contents, indices, settings)
        chosen = np.flatnonzero(similarity >= minimum)
        if filter_of is not None:
            kept = filter_of(lambda numbers: map(contents.__getitem__, numbers.tolist()))
            chosen = chosen[kept.keep(*indices[:, chosen])]
        indices, similarity = indices[:, chosen], similarity[chosen]
        same_text = [contents[i] == contents[j] for i, j in indices.T.tolist()]
        columns = {
            **{side: rows.column(side).take(pa.array(chosen)) for side in "ab"},
            "similarity": similarity,
            "exact": np.full(len(chosen), exact),
            "estimate": _estimates(contents, indices, settings) if exact else similarity,
            "identical": same_text,
            "same_text": same_text,
        }
        return pa.RecordBatch.from_pydict(columns, to_arrow_schema(schema))

    schema = frame_documents.schema_of(PAIR)
    pairs = candidates(bands(signatures), settings, options.data.counts, options.choice)
    return compared(pairs, documents, settings, compare, schema)


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
    choice = SparkRuleOptions(limit=limit, only_against=only_against)
    return candidates(bands, settings, counts, choice)


def candidates(
    bands: DataFrame, settings: Settings, counts: Counts | None, choice: SparkRuleOptions
) -> DataFrame:
    """`candidate_pairs` of a job with these options."""
    construction = settings.construction
    shared = _listed(bands, choice).groupBy("a", "b")
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


def _listed(bands: DataFrame, choice: SparkRuleOptions) -> DataFrame:
    """The pairs of each bucket: a, b, band_no, cut; b is of no reference.

    With `only_against`, a is of one, unless it is the same as b.

    In a bucket above the limit, a document is paired with the first one and with the first of no
    reference, which is paired with itself as well: `cut` of that row is the number of pairs that
    are left out, and null in all others.
    """
    limit, only_against = choice.buckets.limit, choice.drop.only_against
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


def compared(
    pairs: DataFrame, documents: DataFrame, settings: Settings, compare: Compare, schema: StructType
) -> DataFrame:
    """The results of a function for pairs of documents, for as many at a time as fit in memory.

    Args:
        pairs: keys a and b.
        documents: key and content of each document.
        settings: the settings of the documents.
        compare: the function.
        schema: the schema of its results.
    """
    shingling = settings.shingling
    # A candidate was signed and is a document, unless another row has the same key.
    nothing: Content = () if shingling.of_sets else ""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            rows = batch.sort_by("a")
            sides = (pc.binary_length(rows.column(f"content_{side}")) for side in "ab")
            sizes = pc.add(*sides).to_numpy(zero_copy_only=False).astype(np.int64)
            for part in arrays.chunks_of(sizes, LIMITS.text_batch):
                rows_part = rows.slice(part.start, part.stop - part.start)
                keys, contents = (
                    pa.concat_arrays([rows_part.column(f"{name}a"), rows_part.column(f"{name}b")])
                    for name in ("", "content_")
                )
                # Numbers are given in the order of first appearance: those of `a` come first.
                number = pc.dictionary_encode(keys).indices.to_numpy().astype(np.int64)
                first = pa.array(np.unique(number, return_index=True)[1])
                cleaned_contents = frame_documents.contents_of(contents.take(first), shingling)
                distinct = [content or nothing for content in cleaned_contents]
                yield compare(rows_part, distinct, number.reshape(2, -1))

    for side in "ab":
        names = {"key": side, "content": f"content_{side}"}
        pairs = pairs.join(documents.withColumnsRenamed(names), side)
    return pairs.select("a", "b", "content_a", "content_b").mapInArrow(run, schema)


def _estimates(contents: list[Content], indices: arrays.IntArray, settings: Settings) -> Shares:
    documents, of_pairs = np.unique(indices, return_inverse=True)
    signatures = sign([contents[i] for i in documents.tolist()], settings).signatures
    return estimates(*signatures[of_pairs.reshape(indices.shape)])
