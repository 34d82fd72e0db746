"""Similar pairs: candidates, their documents joined to them, and exact Jaccard similarities.

Contents are shipped rather than shingle hashes, which take several times as much, and signatures
are made again for the few pairs that are similar, rather than shipped for all.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lshdb import Settings, offers
from lshdb.apps.dedup.options import DropOptions
from lshdb.apps.spark import frame_documents, sketching
from lshdb.apps.spark.candidates import candidate_pairs
from lshdb.apps.spark.counts import LIMITS
from lshdb.apps.spark.options import SparkDedupOptions, SparkPairsOptions, SparkRuleOptions
from lshdb.columns import PAIR
from lshdb.search.similarity import estimates, jaccard, shared_by_pairs
from lshdb.sketch.signing import sign
from lshdb.taking import takes
from lshdb.text import arrays, hashing, shingles
from lshdb.text.arrays import Shares
from lshdb.text.shingling import Content

Compare = Callable[[pa.RecordBatch, list[Content], arrays.IntArray], pa.RecordBatch]
"""Compares pairs (a, b), sorted by a: the documents are given once each, and the indices among them
of both documents of each pair, int64[2, n]."""


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
        sketching.signed(docs, options.data.settings, options.data.counts),
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
    candidates = candidate_pairs(
        sketching.bands(signatures),
        settings,
        limit=options.choice.buckets.limit,
        counts=options.data.counts,
        only_against=drop.only_against,
    )
    return compared(candidates, documents, settings, compare, schema)


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

    def run(batches: sketching.Batches) -> sketching.Batches:
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
