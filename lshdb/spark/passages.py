"""Copied passages on Spark: fingerprints, and all pairs of documents that share a passage.

The fingerprints of a document are the same as in a file. Documents that share one are paired by a
window, as for buckets; a fingerprint that too many have gives no pairs, so that a header costs no
more than other text. The first documents of each such fingerprint are read, to see which runs
around it are common. Then the contents of pairs are compared, by the same functions as in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import pairwise
from typing import Final, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lshdb.errors import Cut, limits_to
from lshdb.limits import DEFAULTS
from lshdb.model import CopiedPassage, PassagePair, Settings
from lshdb.search.passage_pairs import PairsQuery
from lshdb.search.passage_texts import (
    COMMON_SAMPLE,
    Compared,
    Located,
    agreed,
    base_windows,
    bridged,
    counting,
    covered,
    is_in,
    least_of,
    passages_at,
    run_of,
    shown,
    some_lead,
    turned,
    window_hashes,
    windows_around,
    windows_of,
)
from lshdb.shingling.hashing import Hashes, Offsets, secret_seed
from lshdb.shingling.winnowing import fingerprints as winnowed
from lshdb.spark.clustering import checkpointed
from lshdb.spark.counts import Counts
from lshdb.spark.documents import KEY, Columns, check_keys, documents
from lshdb.spark.sketching import Batches, usable

_PLACES: Final = [field.name for field in fields(CopiedPassage)][:-2]
"""All but the similarity and the text: whole numbers."""
_SCHEMA: Final = (
    "a string, b string, words long, a_coverage double, b_coverage double, passages array<struct<"
    + ", ".join(f"{name}: long" for name in _PLACES)
    + ", similarity: double, text: string>>"
)


def fingerprints(
    df: DataFrame,
    settings: Settings,
    *,
    key: str = KEY,
    text: str | None = None,
    counts: Counts | None = None,
) -> DataFrame:
    """The fingerprints of texts, as in a file of these settings.

    Args:
        df: a row a document.
        settings: with passages; see `make_settings`.
        key: the column of keys, as for `signatures`.
        text: the column of texts.
        counts: to which left out rows are added.

    Returns:
        key string, fingerprint long, position long: the unit at which it begins.

    Raises:
        UsageError: settings without passages, or a missing column.
    """
    run_of(settings)
    return _winnowed(documents(df, settings, Columns(key, text)), settings, counts)


def passage_pairs(
    df: DataFrame,
    settings: Settings,
    *,
    key: str = KEY,
    text: str | None = None,
    least: int | None = None,
    gap: int = 0,
    common: int = DEFAULTS.common,
    base: Sequence[str] = (),
    counts: Counts | None = None,
) -> DataFrame:
    """All pairs of documents that share a passage, those of `Database.passage_pairs`.

    Checks the keys and finds the common runs at once, by jobs; the pairs are lazy.

    Args:
        df: a row a document.
        settings: with passages; see `make_settings`.
        key: the column of keys, which must be distinct.
        text: the column of texts.
        least: words of the shortest passage; None for that of the settings.
        gap: maximum words between passages that are joined.
        common: a run in more documents does not count.
        base: texts that do not count.
        counts: to which left out rows are added.

    Returns:
        a string, b string, words long, a_coverage double, b_coverage double, passages array of
        structs, as `PassagePair` and `CopiedPassage` have them; a is before b in the order of
        their UTF-8 bytes.

    Raises:
        UsageError: settings without passages, numbers out of range.
        InputError: several documents have the same key.
    """
    run = run_of(settings)
    query = PairsQuery(least_of(least, run), None, gap, common, base)
    docs = documents(df, settings, Columns(key, text))
    check_keys(docs)
    rows = _winnowed(docs, settings, counts)
    members = F.count("*").over(Window.partitionBy("fingerprint"))
    shared = rows.select("key", "fingerprint", members.alias("members")).where("members > 1")
    shared = checkpointed(shared)  # two jobs need it, and left out rows must be counted once
    seed = secret_seed()  # of this process, in all that take part
    hot, windows = _common(docs, shared, settings, common, seed)
    left_out = [windows, *base_windows(base, settings, seed)]
    later = Window.partitionBy("fingerprint").orderBy("key").rowsBetween(1, common)
    few = shared.where(F.col("members") <= common)
    listed = few.select("key", F.collect_list("key").over(later).alias("later"))
    pairs = listed.select(F.col("key").alias("a"), F.explode("later").alias("b")).distinct()
    one = docs.select(F.col("key").alias("a"), F.col("content").alias("content_a"))
    other = docs.select(F.col("key").alias("b"), F.col("content").alias("content_b"))
    joined = pairs.join(other, "b").join(one, "a").select("a", "b", "content_a", "content_b")
    schema = cast(StructType, StructType.fromDDL(_SCHEMA))
    arrow_schema = to_arrow_schema(schema)

    def cut(_: Cut) -> None:
        if counts is not None:
            counts.add("cut_passages", 1)

    def compare(batches: Batches) -> Batches:
        for batch in batches:
            with limits_to(cut):
                found = _compared(batch, settings, seed, query, hot, left_out)
                rows = [asdict(one) for one in found]
            yield pa.RecordBatch.from_pylist(rows, arrow_schema)

    return joined.mapInArrow(compare, schema)


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
    docs: DataFrame, shared: DataFrame, settings: Settings, common: int, seed: int
) -> tuple[Offsets, Hashes]:
    """The fingerprints in too many documents, and the windows that are common, both sorted.

    They are found at once, and sent to all tasks.
    """

    def run(batches: Batches) -> Batches:
        for batch in batches:
            _, contents = usable(batch, settings)
            found = [
                windows_around(str(one), hot, settings, seed).astype("<u8") for one in contents
            ]
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


def _compared(
    batch: pa.RecordBatch,
    settings: Settings,
    seed: int,
    query: PairsQuery,
    hot: Offsets,
    left_out: Sequence[Hashes],
) -> Iterator[PassagePair]:
    """The pairs of a batch that share passages. The rows of one document are adjacent."""
    run = settings.passages
    least = least_of(query.least, run)
    rows = batch.sort_by("a")
    a = rows.column("a").to_pylist()
    begins = [place for place in range(len(a)) if not place or a[place] != a[place - 1]]
    for begin, end in pairwise([*begins, len(a)]):
        part = rows.slice(begin, end - begin)
        _, (own_text,) = usable(_named(part.slice(0, 1), "a"), settings)
        keys, contents = usable(_named(part, "b"), settings)
        texts = [str(own_text), *map(str, contents)]
        hashes, offsets = window_hashes(texts, settings, seed)
        counts = counting(hashes, offsets, left_out, run)
        last = int(offsets[1])
        compared = Compared(hashes[:last], counts[:last])
        leading = ~is_in(windows_of(texts[0], settings, seed)[1], hot)
        own: Located | None = None
        units = np.diff(offsets).tolist()
        others = hashes[last:], offsets[1:] - last, counts[last:]
        for place, found in compared.runs_in(*others):
            runs = shown(found, least - run + 1, DEFAULTS.passages)
            if runs and some_lead(found, leading):
                own = own or Located.of(texts[0], settings)
                other = Located.of(texts[place + 1], settings)
                words = covered(runs, run)
                yield PassagePair(
                    a[begin],
                    keys[place].as_py(),
                    words,
                    words / (units[0] + run - 1),
                    covered(turned(runs), run) / (units[place + 1] + run - 1),
                    passages_at(own, other, bridged(runs, run, query.gap)),
                )


def _named(rows: pa.RecordBatch, side: str) -> pa.RecordBatch:
    """The documents of one side: key and content."""
    return rows.select([side, f"content_{side}"]).rename_columns(["key", "content"])
