"""Copied passages on Spark: fingerprints, and all pairs of documents that share a passage.

The fingerprints of a document are the same as in a file. Documents that share one are paired by a
window, as for buckets; a fingerprint that too many have gives no pairs, so that a header costs no
more than other text. The first documents of each such fingerprint are read, to see which runs
around it are common. Then the contents of pairs are compared, by the same functions as in a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from typing import Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lshdb.errors import Cut, limits_to
from lshdb.groups import takes
from lshdb.limits import DEFAULTS
from lshdb.model import CopiedPassage, PassagePair, Settings
from lshdb.options import SparkOptions, SparkPassagesOptions
from lshdb.search.passage_runs import Asked, Pairs, shared_passages
from lshdb.search.passage_windows import COMMON_SAMPLE, Counting, Texts, agreed, run_of
from lshdb.search.passages import asked_of
from lshdb.shingling.arrays import IntArray, chunks_of
from lshdb.shingling.hashing import Hashes
from lshdb.shingling.winnowing import fingerprints as winnowed
from lshdb.spark.clustering import checkpointed
from lshdb.spark.counts import Counts
from lshdb.spark.documents import check_keys, contents_of, documents
from lshdb.spark.sketching import Batches, usable
from lshdb.spark.verifying import with_contents

_PLACES: Final = [field.name for field in fields(CopiedPassage)][:-2]
"""All but the similarity and the text: whole numbers."""
_SCHEMA: Final = (
    "a string, b string, words long, a_coverage double, b_coverage double, passages array<struct<"
    + ", ".join(f"{name}: long" for name in _PLACES)
    + ", similarity: double, text: string>>"
)


@takes(SparkOptions)
def fingerprints(df: DataFrame, options: SparkOptions) -> DataFrame:
    """The fingerprints of texts, as in a file of these settings, which have passages.

    Args:
        df: a row a document.

    Returns:
        key string, fingerprint long, position long: the unit at which it begins.

    Raises:
        UsageError: settings without passages, or a missing column.
    """
    run_of(options.settings)
    return _winnowed(documents(df, options), options.settings, options.counts)


@takes(SparkPassagesOptions)
def passage_pairs(df: DataFrame, options: SparkPassagesOptions) -> DataFrame:
    """All pairs of documents that share a passage, those of `Database.passage_pairs`.

    Checks the keys and finds the common runs at once, by jobs; the pairs are lazy.

    Args:
        df: a row a document.

    Returns:
        a string, b string, words long, a_coverage double, b_coverage double, passages array of
        structs, as `PassagePair` and `CopiedPassage` have them; a is before b in the order of
        their UTF-8 bytes.

    Raises:
        UsageError: settings without passages, numbers out of range.
        InputError: several documents have the same key.
    """
    settings, counts = options.settings, options.counts
    asked, common = asked_of(options, settings, DEFAULTS), options.common or DEFAULTS.common
    docs = documents(df, options)
    check_keys(docs)
    rows = _winnowed(docs, settings, counts)
    members = F.count("*").over(Window.partitionBy("fingerprint"))
    shared = rows.select("key", "fingerprint", members.alias("members")).where("members > 1")
    shared = checkpointed(shared)  # two jobs need it, and left out rows must be counted once
    hot, windows = _common(docs, shared, settings, common)
    counting = replace(Counting.of(settings, hot), left_out=(windows,)).with_base(options.base)
    later = Window.partitionBy("fingerprint").orderBy("key").rowsBetween(1, common)
    few = shared.where(F.col("members") <= common)
    listed = few.select("key", F.collect_list("key").over(later).alias("later"))
    pairs = listed.select(F.col("key").alias("a"), F.explode("later").alias("b")).distinct()
    schema = cast(StructType, StructType.fromDDL(_SCHEMA))
    arrow_schema = to_arrow_schema(schema)

    def cut(_: Cut) -> None:
        if counts is not None:
            counts.add("cut_passages", 1)

    def compare(batches: Batches) -> Batches:
        for batch in batches:
            for part in _parts(batch):
                with limits_to(cut):
                    found = _compared(part, settings, counting, asked)
                    rows = [asdict(one) for one in found]
                yield pa.RecordBatch.from_pylist(rows, arrow_schema)

    return with_contents(pairs, docs).mapInArrow(compare, schema)


def _winnowed(documents: DataFrame, settings: Settings, counts: Counts | None) -> DataFrame:
    """`fingerprints` of checked documents."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            keys, contents = usable(batch, settings, counts)
            found = winnowed(contents, settings.shingling, settings.passages, settings.seed)
            yield pa.RecordBatch.from_pydict(
                {
                    "key": keys.take(pa.array(found.documents)),
                    "fingerprint": pa.array(found.values),
                    "position": pa.array(found.positions),
                }
            )

    return documents.mapInArrow(run, "key string, fingerprint long, position long")


def _common(
    docs: DataFrame, shared: DataFrame, settings: Settings, common: int
) -> tuple[IntArray, Hashes]:
    """The fingerprints in too many documents, and the windows that are common, both sorted.

    They are found at once, and sent to all tasks.
    """

    def run(batches: Batches) -> Batches:
        for batch in batches:
            _, contents = usable(batch, settings)
            counting = Counting.of(settings, hot)
            found = [counting.around_hot(str(one)).astype("<u8") for one in contents]
            yield pa.RecordBatch.from_pydict({"windows": [one.tobytes() for one in found]})

    often = shared.where(F.col("members") > common)
    place = F.row_number().over(Window.partitionBy("fingerprint").orderBy("key"))
    sample = often.withColumn("place", place).where(F.col("place") <= COMMON_SAMPLE).persist()
    try:
        values = [row[0] for row in sample.select("fingerprint").distinct().collect()]
        hot = np.sort(np.array(values, dtype=np.int64))
        if not values:
            return hot, np.empty(0, dtype=np.uint64)
        keys = sample.select("key").distinct()
        found = docs.join(keys, "key").mapInArrow(run, "windows binary").collect()
    finally:
        sample.unpersist()
    return hot, agreed([np.frombuffer(row[0], dtype="<u8").astype(np.uint64) for row in found])


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The pairs of a batch by their document a, some at a time, whose texts fit in memory."""
    rows = batch.sort_by("a")
    sides = (pc.binary_length(rows.column(f"content_{side}")) for side in "ab")
    lengths = pc.add(*sides).to_numpy(zero_copy_only=False).astype(np.int64)
    for part in chunks_of(lengths, DEFAULTS.text_batch):
        yield rows.slice(part.start, part.stop - part.start)


def _compared(
    rows: pa.RecordBatch, settings: Settings, counting: Counting, asked: Asked
) -> Iterator[PassagePair]:
    """The pairs of documents that share passages."""
    keys, numbers = [], []
    texts: list[Texts] = []
    for side in "ab":
        own = rows.column(side).to_pylist()
        contents = contents_of(rows.column(f"content_{side}"), settings.shingling)
        documents = dict(zip(own, map(str, contents), strict=True))
        number = {key: place for place, key in enumerate(documents)}
        keys.append(own)
        texts.append(counting.windows_of(list(documents.values())))
        numbers.append(np.array([number[key] for key in own]))
    for one in shared_passages(Pairs(texts[0], texts[1], *numbers), asked):
        a, b = (own[one.pair] for own in keys)
        passages = tuple(CopiedPassage(*passage) for passage in one.passages)
        yield PassagePair(a, b, one.words, one.coverage, one.b_coverage, passages)
