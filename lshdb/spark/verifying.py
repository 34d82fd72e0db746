"""Similar pairs: candidates, their documents joined to them, and exact Jaccard similarities.

Contents are shipped rather than shingle hashes, which take several times as much, and signatures
are made again for the few pairs that are similar, rather than shipped for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from lshdb.groups import takes
from lshdb.model import Content, Settings
from lshdb.options import SparkPairsOptions
from lshdb.search.similarity import Shares, estimates, jaccard, shared_by_pairs
from lshdb.shingling.arrays import IntArray, chunks_of
from lshdb.shingling.hashing import secret_seed
from lshdb.shingling.shingles import distinct_shingles
from lshdb.sketching.signing import sign
from lshdb.spark.candidates import candidate_pairs
from lshdb.spark.documents import contents_of, documents
from lshdb.spark.sketching import Batches, bands, signed

SCHEMA: Final = (
    "a string, b string, similarity double, exact boolean, estimate double, identical boolean"
)
_BYTES: Final = 16_000_000
"""Of contents that are compared in one go; two large documents may have more."""


@takes(SparkPairsOptions)
def pairs(df: DataFrame, options: SparkPairsOptions) -> DataFrame:
    """All pairs of similar documents that share a bucket, each once.

    The numbers are those of `Database.pairs`, to the last bit; if the settings keep no content,
    similarities are estimates.

    Args:
        df: a row a document.

    Returns:
        a string, b string, similarity double, exact boolean, estimate double, identical boolean;
        a is before b in the order of their UTF-8 bytes.

    Raises:
        UsageError: a missing column, or a threshold or limit out of range.
    """
    return pairs_of(documents(df, options), options)


def pairs_of(documents: DataFrame, options: SparkPairsOptions) -> DataFrame:
    """`pairs` of documents that are checked."""
    settings, counts = options.settings, options.counts
    rows = bands(signed(documents, settings, counts, with_signatures=False))
    candidates = candidate_pairs(rows, settings, limit=options.limit, counts=counts)
    return verified(candidates, documents, options)


def verified(candidates: DataFrame, documents: DataFrame, options: SparkPairsOptions) -> DataFrame:
    """Those of the pairs (a, b) that are similar; columns as `pairs` has them."""
    # Not the options: they may have a DataFrame, which cannot be sent to the tasks.
    settings = options.settings
    least = options.threshold or settings.threshold
    exact = settings.content and not options.estimate

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for part in _parts(batch):
                yield _verified(part, settings, least, exact)

    return with_contents(candidates, documents).mapInArrow(run, SCHEMA)


def with_contents(pairs: DataFrame, documents: DataFrame) -> DataFrame:
    """Pairs (a, b) with the contents of both: a, b, content_a, content_b."""
    for side in "ab":
        names = {"key": side, "content": f"content_{side}"}
        pairs = pairs.join(documents.withColumnsRenamed(names), side)
    return pairs.select("a", "b", "content_a", "content_b")


def _verified(
    batch: pa.RecordBatch, settings: Settings, least: float, exact: bool
) -> pa.RecordBatch:
    one, other, contents = _distinct(batch, settings)
    score = _jaccard if exact else _estimates
    similarity = score(contents, one, other, settings)
    chosen = np.flatnonzero(similarity >= least)
    estimated = similarity = similarity[chosen]
    if exact:
        estimated = _estimates(contents, one[chosen], other[chosen], settings)
    of_both = zip(one[chosen].tolist(), other[chosen].tolist(), strict=True)
    same = [contents[i] == contents[j] for i, j in of_both]
    rows = batch.select(["a", "b"]).take(pa.array(chosen))
    return pa.RecordBatch.from_pydict(
        {
            "a": rows.column("a"),
            "b": rows.column("b"),
            "similarity": pa.array(similarity),
            "exact": pa.array(np.full(len(chosen), exact)),
            "estimate": pa.array(estimated),
            "identical": pa.array(same, pa.bool_()),
        }
    )


def _distinct(
    batch: pa.RecordBatch, settings: Settings
) -> tuple[IntArray, IntArray, list[Content]]:
    """The documents of pairs, each once, and the number of the one and the other of each pair."""
    keys = pa.concat_arrays([batch.column("a"), batch.column("b")])
    number = pc.dictionary_encode(keys).indices.to_numpy().astype(np.int64)
    _, first = np.unique(number, return_index=True)
    rows = batch.num_rows
    of_a = batch.column("content_a").take(pa.array(first[first < rows]))
    of_b = batch.column("content_b").take(pa.array(first[first >= rows] - rows))
    # Numbers are given in the order of first appearance: those of `a` come first.
    contents = contents_of(pa.concat_arrays([of_a, of_b]), settings.shingling)
    # A candidate was signed and is a document, unless another row has the same key.
    nothing: Content = () if settings.shingling.of_sets else ""
    documents = [nothing if content is None else content for content in contents]
    return number[:rows], number[rows:], documents


def _jaccard(contents: list[Content], one: IntArray, other: IntArray, settings: Settings) -> Shares:
    sets = distinct_shingles(contents, settings.shingling, secret_seed())
    sizes = np.diff(sets.offsets)
    order = np.argsort(one, kind="stable")
    both = np.empty(len(one), dtype=np.int64)
    both[order] = shared_by_pairs(sets.hashes, sets.offsets[:-1], sizes, one[order], other[order])
    return jaccard(both, sizes[one], sizes[other])


def _estimates(
    contents: list[Content], one: IntArray, other: IntArray, settings: Settings
) -> Shares:
    documents, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    signatures = sign([contents[i] for i in documents.tolist()], settings).signatures
    return estimates(signatures[place[: len(one)]], signatures[place[len(one) :]])


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where its contents would take too much memory together."""
    sizes = _sizes(batch.column("content_a")) + _sizes(batch.column("content_b"))
    for part in chunks_of(sizes, _BYTES):
        yield batch.slice(part.start, part.stop - part.start)


def _sizes(column: pa.Array) -> IntArray:
    """About how many bytes contents take, an element of a set counted as 100."""
    if pa.types.is_list(column.type):
        sizes: IntArray = pc.list_value_length(column).to_numpy().astype(np.int64) * 100
    else:
        sizes = pc.binary_length(column).to_numpy().astype(np.int64)
    return sizes
