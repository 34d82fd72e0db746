"""Copied passages on Spark: fingerprints, and all pairs of documents that share a passage.

The fingerprints of a document are the same as in a file. Documents that share a fingerprint are
paired by a window, as for buckets; a fingerprint of too many documents gives no pairs, so that a
header costs no more than other text. The first documents of each such fingerprint are read, to find
the common runs around it. Then the contents of pairs are compared, by the same functions as in a
file.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from lshdb import Construction, Cut, Settings
from lshdb.apps.dedup.model import COPIED, copied_values
from lshdb.apps.dedup.whole_texts import WholeTexts, warn_of_shortest
from lshdb.apps.passages import passage_runs, passage_windows, passages
from lshdb.apps.passages.model import PASSAGE, PASSAGE_PAIR, passage_values
from lshdb.apps.passages.winnowing import fingerprints as winnowed
from lshdb.apps.spark import clustering, frame_documents, similar_pairs
from lshdb.apps.spark.counts import LIMITS, Counts
from lshdb.apps.spark.options import SparkDedupOptions, SparkOptions, SparkPassagesOptions
from lshdb.columns import PAIR
from lshdb.errors import limits_to
from lshdb.taking import takes
from lshdb.text import arrays
from lshdb.text import shingling as shingling_

_SCHEMA = frame_documents.schema_of(PASSAGE_PAIR)
_COPIED = {name: kind for name, kind in {**PAIR, **COPIED}.items() if name != "estimate"}


@takes(SparkOptions)
def fingerprints(df: DataFrame, options: SparkOptions) -> DataFrame:
    """The fingerprints of texts, as in a file of these settings, which have passages.

    Args:
        df: one row per document.

    Returns:
        key string, fingerprint long, position long: the unit at which it begins.

    Raises:
        UsageError: settings without passages, or a missing column.
    """
    passage_windows.run_of(options.settings)
    return prints(frame_documents.documents(df, options), options.settings, options.counts)


def prints(documents: DataFrame, settings: Settings, counts: Counts | None) -> DataFrame:
    """`fingerprints` of checked documents."""

    def columns(keys: pa.Array, contents: list[shingling_.Content]) -> frame_documents.BatchColumns:
        prints_of_batch = winnowed(contents, settings.shingling, settings.passages, settings.seed)
        return {
            "key": keys.take(pa.array(prints_of_batch.documents)),
            "fingerprint": pa.array(prints_of_batch.values),
            "position": pa.array(prints_of_batch.positions),
        }

    schema = "key string, fingerprint long, position long"
    return frame_documents.of_documents(documents, settings, columns, schema, counts)


@takes(SparkPassagesOptions)
def passage_pairs(df: DataFrame, options: SparkPassagesOptions) -> DataFrame:
    """The passages that pairs of documents share, those of `Database.passage_pairs`.

    Checks the keys and finds the common runs at once, by jobs; the passages are lazy.

    Args:
        df: one row per document.

    Returns:
        One row per passage, with the columns of `lshdb passages --all --passages -o FILE`, except
        the weighted ones; a is before b in the order of their UTF-8 bytes.

    Raises:
        UsageError: settings without passages, numbers out of range.
        InputError: several documents have the same key.
    """
    settings, counts = options.data.settings, options.data.counts
    criteria = passages.criteria_of(options.copied, settings, LIMITS)
    common = options.copied.runs.common
    docs = frame_documents.documents(df, options.data)
    frame_documents.check_keys(docs)
    rows = fingerprints(df, options.data)
    members = "count(*) OVER (PARTITION BY fingerprint) AS members"
    shared = rows.selectExpr("key", "fingerprint", members).where("members > 1")
    # Two jobs need it, and left out rows must be counted once.
    shared = clustering.checkpointed(shared)
    counting = _window_counting(docs, shared, settings, common).with_base(options.copied.base)
    later = Window.partitionBy("fingerprint").orderBy("key").rowsBetween(1, common)
    few = shared.where(f"members <= {common}")
    listed = few.withColumn("later", F.collect_list("key").over(later))
    pairs = listed.selectExpr("key AS a", "explode(later) AS b").distinct()

    def cut(_: Cut) -> None:
        if counts is not None:
            counts.add("cut_passages", 1)

    def compare(
        rows: pa.RecordBatch, contents: list[shingling_.Content], indices: arrays.IntArray
    ) -> pa.RecordBatch:
        texts = counting.windows_of([str(content) for content in contents])
        with limits_to(cut):
            pairs, shared = passage_runs.shared_passages(texts, criteria, *indices)
        names = ["words", "a_coverage", "b_coverage"]
        of_passages = pairs[names].repeat(pairs["passages"]).tolist()
        keys = rows.select(["a", "b"]).take(shared["pair"]).to_pylist()
        passages = passage_runs.passages_of(shared, texts.contents, *indices)
        records = [
            {
                **both,
                **dict(zip(names, values, strict=True)),
                **dict(zip(PASSAGE, passage_values(passage), strict=True)),
            }
            for both, values, passage in zip(keys, of_passages, passages, strict=True)
        ]
        return pa.RecordBatch.from_pylist(records, to_arrow_schema(_SCHEMA))

    return similar_pairs.compared(pairs, docs, settings, compare, _SCHEMA)


def copied(fingerprints: DataFrame, documents: DataFrame, options: SparkDedupOptions) -> DataFrame:
    """The pairs of which b copies from a, by the rule of `options`; see `candidate_pairs`.

    Candidates are found as by bands: a fingerprint is a bucket.

    Returns:
        The columns of `similar` except the estimate, and the columns of `COPIED`; similarity is
        the share of b's words that are in copied runs.
    """
    settings = options.data.settings
    buckets = fingerprints.selectExpr("key", "0 AS band_no", "fingerprint AS bucket_key").distinct()
    plain = replace(settings, construction=Construction(rows=1, bands=1))
    pairs = similar_pairs.candidates(buckets, plain, options.data.counts, options.choice)
    schema = frame_documents.schema_of(_COPIED)

    def compare(
        rows: pa.RecordBatch, contents: list[shingling_.Content], indices: arrays.IntArray
    ) -> pa.RecordBatch:
        texts = [str(content) for content in contents]
        copies = passages.CopiedShares(
            lambda numbers: [texts[number] for number in numbers.tolist()],
            arrays.lengths_of(texts),
            settings,
            LIMITS,
            settings.passages,
        )
        shares = copies.scores(indices[1], indices[0], 0.0)
        similar = np.flatnonzero(shares).tolist()
        passages_of_pairs = copies.longest(*indices[::-1, similar])
        a, b = (rows.column(side).to_pylist() for side in "ab")
        records = []
        for pair, longest in zip(similar, passages_of_pairs, strict=True):
            assert longest is not None, "a share is that of passages"
            first, second = indices[:, pair].tolist()
            same = [texts[first] == texts[second]] * 2
            row = a[pair], b[pair], float(shares[pair]), True, *same, *copied_values(longest)
            records.append(dict(zip(_COPIED, row, strict=True)))
        return pa.RecordBatch.from_pylist(records, to_arrow_schema(schema))

    return similar_pairs.compared(pairs, documents, settings, compare, schema)


def whole_texts(
    documents: DataFrame, references: DataFrame, options: SparkDedupOptions
) -> DataFrame:
    """The documents that contain a whole short text of a reference, in the columns of `copied`."""
    settings, counts = options.data.settings, options.data.counts

    def find_short(
        keys: pa.Array, contents: list[shingling_.Content]
    ) -> frame_documents.BatchColumns:
        short = WholeTexts(settings.shingling, settings.passages)
        short.take(range(len(contents)), [*map(str, contents)])
        indices = pa.array([*short.runs], pa.int64())
        return {"key": keys.take(indices), "content": pa.array(contents).take(indices)}

    schema = "key string, content string"
    texts = frame_documents.of_documents(references, settings, find_short, schema).collect()
    counts.add("short_references", len(texts))
    short = WholeTexts(settings.shingling, settings.passages)
    short.take(range(len(texts)), [text for _, text in texts])
    keys = [texts[index][0].partition(similar_pairs.KEY_MARK)[2] for index in short.shortest]
    warn_of_shortest("references", keys)

    def find(keys: pa.Array, contents: list[shingling_.Content]) -> frame_documents.BatchColumns:
        given = [str(content) for content in contents]
        rows = [
            (
                texts[reason.doc_id][0],
                keys[number].as_py(),
                *(reason.similarity, True, *[texts[reason.doc_id][1] == given[number]] * 2),
                *copied_values(reason.passage),
            )
            for number, (reason, *_) in short.reasons(given).items()
        ]
        return {name: [row[i] for row in rows] for i, name in enumerate(_COPIED)}

    return frame_documents.of_documents(
        documents, settings, find, frame_documents.schema_of(_COPIED)
    )


def _window_counting(
    docs: DataFrame, shared: DataFrame, settings: Settings, common: int
) -> passage_windows.Counting:
    """Which windows of texts count: not the common ones around fingerprints of many documents.

    The common windows are found at once, and sent to all tasks.
    """

    def around(_: pa.Array, contents: list[shingling_.Content]) -> frame_documents.BatchColumns:
        return {"windows": [counting.around_hot(str(content)).tobytes() for content in contents]}

    rank = "row_number() OVER (PARTITION BY fingerprint ORDER BY key) AS place"
    often = shared.where(f"members > {common}").selectExpr("*", rank)
    sample = clustering.checkpointed(often.where(f"place <= {passage_windows.COMMON_SAMPLE}"))
    values = [row[0] for row in sample.select("fingerprint").distinct().collect()]
    # All tasks hash windows under the secret seed of this process.
    counting = passage_windows.Counting.of(settings, np.sort(arrays.int_array(values)))
    if not values:
        return counting
    sampled = docs.join(sample.select("key").distinct(), "key")
    rows = frame_documents.of_documents(sampled, settings, around, "windows binary").collect()
    windows = passage_windows.agreed([np.frombuffer(row[0], dtype=np.uint64) for row in rows])
    return replace(counting, common=windows)
