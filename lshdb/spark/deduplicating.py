"""Dropping near duplicates: of each cluster of similar documents one is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lshdb.errors import UsageError
from lshdb.model import Keep, Settings
from lshdb.spark.candidates import WHOLE
from lshdb.spark.clustering import checkpointed, clusters
from lshdb.spark.counts import Counts
from lshdb.spark.documents import KEY, Columns, check_keys, column_of, documents
from lshdb.spark.reference import most_similar
from lshdb.spark.verifying import pairs_of, verified

_GONE = "lshdb dropped key"
"""A name that no column of a user has."""


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """What became of the rows of a DataFrame.

    Attributes:
        kept: the rows that stay, as they were, in no order.
        dropped: the others: key string, kept string (the key of the one kept, or of one in the
            reference), similarity double to that one, exact boolean.
        clusters: key string, keep string: the documents that have a similar one, see `clusters`.
        counts: what was not compared.
    """

    kept: DataFrame
    dropped: DataFrame
    clusters: DataFrame
    counts: Counts


def dedup(
    df: DataFrame,
    settings: Settings,
    *,
    key: str = KEY,
    text: str | None = None,
    set: str | None = None,
    threshold: float | None = None,
    keep: Keep = "first",
    estimate: bool = False,
    limit: int | None = WHOLE,
    counts: Counts | None = None,
    against: DataFrame | None = None,
) -> Deduplicated:
    """Keep one of each cluster of similar documents.

    Unlike `Database.dedup`, which decides one by one and in order, this drops all but one of what
    similar pairs connect: the ends of a chain need not be similar, and `dropped` tells how
    similar each is to what is kept. Rows without a usable key or document are kept.

    Finds the clusters at once, by jobs (see `clusters`); the other results are lazy.

    Args:
        df: a row a document; read several times.
        settings: as for `pairs`.
        key: the column of keys.
        text: the column of texts.
        set: the column of sets.
        threshold: the least similarity of a pair.
        keep: which to keep, the `first` or `last` by key or the `longest`.
        estimate: decide by estimates.
        limit: as for `candidate_pairs`.
        counts: where counts are added; new ones if there are none.
        against: a reference with the same columns, such as an earlier crawl or a test set. First
            all that is similar to one of its documents is dropped, as by `Database.dedup`; the
            rest is deduplicated. Its keys must be distinct, and may be keys of `df`, too.

    Raises:
        UsageError: a column that is not there, or numbers out of range; before any job.
        InputError: several documents of one collection have the same key; before documents are
            compared.
    """
    if keep not in get_args(Keep):
        raise UsageError(f"keep {keep!r} is not {', '.join(get_args(Keep))}")
    counts = counts or Counts(df.sparkSession)
    columns = Columns(key, text, set)
    docs = documents(df, settings, columns)
    exact = settings.content and not estimate
    found: DataFrame | None = None
    if against is not None:
        reference = documents(against, settings, columns).where("key IS NOT NULL")
        check_keys(docs)
        check_keys(reference)
        keyed = docs.where("key IS NOT NULL")
        found = checkpointed(
            most_similar(keyed, reference, settings, threshold, limit, counts, exact=exact)
        )
        df = _without(df, found, key)
        docs = documents(df, settings, columns)
    similar = pairs_of(docs, settings, threshold, limit, counts, exact=not estimate)
    if against is None:
        check_keys(docs)
    members = _kept(clusters(similar.select("a", "b")), docs, keep)
    dropped = members.where("key <> keep")
    scored = verified(
        dropped.select(F.col("keep").alias("a"), F.col("key").alias("b")),
        docs,
        settings,
        0.0,
        exact=exact,
    )
    dropped_rows = scored.selectExpr("b AS key", "a AS kept", "similarity", "exact")
    if found is not None:
        dropped_rows = found.unionByName(dropped_rows)
    return Deduplicated(_without(df, dropped, key), dropped_rows, members, counts)


def _without(df: DataFrame, dropped: DataFrame, key: str) -> DataFrame:
    """The rows without those whose key is dropped."""
    own = F.make_valid_utf8(column_of(df, key).cast("string"))
    gone = dropped.select(F.col("key").alias(_GONE))
    return df.join(gone, own == F.col(_GONE), "left_anti")


def _kept(members: DataFrame, documents: DataFrame, keep: Keep) -> DataFrame:
    """Clusters (key, keep) that keep the first, with another one to keep."""
    if keep == "first":
        return members
    wanted = F.max("key")
    if keep == "longest":
        content = documents.schema["content"].dataType
        length = F.length("content") if content.typeName() == "string" else F.size("content")
        lengths = documents.select("key", length.alias("length"))
        members = members.join(lengths, "key")
        wanted = F.min_by("key", F.struct(-F.col("length"), F.col("key")))
    chosen = members.groupBy("keep").agg(wanted.alias("chosen"))
    return members.join(chosen, "keep").selectExpr("key", "chosen AS keep")
