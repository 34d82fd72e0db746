"""Signatures and bands of documents: the kernels of the library over batches of Arrow."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from lshdb import Settings
from lshdb.apps.spark import frame_documents
from lshdb.apps.spark.counts import Counts
from lshdb.apps.spark.options import SparkOptions
from lshdb.sketch.signing import sign
from lshdb.taking import takes
from lshdb.text.shingling import Content

Batches = Iterator[pa.RecordBatch]
BatchColumns = dict[str, Any]
"""The values of columns: arrays of Arrow or numpy, or lists."""


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
    return of_documents(documents, settings, columns, schema, counts)


def of_documents(
    documents: DataFrame,
    settings: Settings,
    columns: Callable[[pa.Array, list[Content]], BatchColumns],
    schema: str | StructType,
    counts: Counts | None = None,
) -> DataFrame:
    """The results of a function for the keys and contents of usable documents, batch by batch."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            yield pa.RecordBatch.from_pydict(columns(*usable(batch, settings, counts)))

    return documents.mapInArrow(run, schema)


def usable(
    batch: pa.RecordBatch, settings: Settings, counts: Counts | None = None
) -> tuple[pa.Array, list[Content]]:
    """The keys and contents of a batch; rows that lack a usable one are counted and left out."""
    keyed = batch.filter(pc.is_valid(batch.column("key")))
    contents = frame_documents.contents_of(keyed.column("content"), settings.shingling)
    usable_contents = [content for content in contents if content is not None]
    usable = pa.array([content is not None for content in contents], pa.bool_())
    keys = keyed.column("key").filter(usable)
    if counts is not None:
        counts.add("bad_keys", batch.num_rows - keyed.num_rows)
        counts.add("bad_documents", len(contents) - len(usable_contents))
    return keys, usable_contents
