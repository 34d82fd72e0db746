"""Dropping documents that are similar to an earlier kept document, as `lshdb dedup` does.

Whether a document is kept depends on earlier ones, these depend on others, and so on: a chain. But
a document without an earlier similar one is kept, and all documents similar to it are dropped. That
decides most documents of a cluster, and all copies, however many there are. One task per cluster
decides the remaining documents, in order. The rule identical has no chains.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lshdb import InputError, Settings, UsageError, groups
from lshdb.apps.dedup import rules
from lshdb.apps.dedup.model import DROPPED
from lshdb.apps.dedup.run import references_checked
from lshdb.apps.spark import (
    clustering,
    copied_passages,
    frame_documents,
    similar_pairs,
)
from lshdb.apps.spark.counts import Counts
from lshdb.apps.spark.options import SparkDedupOptions
from lshdb.taking import takes
from lshdb.text import content
from lshdb.text.shingling import Content

_GONE = "lshdb dropped key"
"""A name that differs from all columns of users."""
_DIGITS = "0123456789ABCDEF"
_NUMBER_DIGITS = 4
"""Digits of the number of a reference, in the prefix of its keys."""


@dataclass(frozen=True)
class Deduplicated:
    """The results of `dedup`.

    Attributes:
        kept: the kept rows, unchanged, in no order.
        dropped: the dropped rows, with the columns of all lists of dropped rows (see
            lshdb.DroppedRow): the most similar kept document may be of the reference; files and
            lines are null. By the rule copied also the columns of the longest passage.
        failures: where string, reason string, for each row without a usable key or document,
            which is neither kept nor dropped.
        counts: counts of rows and pairs that were not compared.
    """

    kept: DataFrame
    dropped: DataFrame
    failures: DataFrame
    counts: Counts


@takes(SparkDedupOptions)
def dedup(df: DataFrame, options: SparkDedupOptions) -> Deduplicated:
    """Drop the documents that are similar to an earlier kept one, or that another rule drops.

    This is `lshdb.dedup` of the rows in the order of their keys, or of their length: no two kept
    documents are similar, and each dropped one is similar to a kept one, as far as candidates are
    found (see `candidate_pairs`). Rows without a usable key
    or document are left out and listed, as there.

    A reference is a DataFrame with the same columns, such as an earlier crawl or a test set. First
    all that is similar to one of its documents is dropped, as by `Database.dedup_files`. It may
    have keys of the other; each of its rows needs a key and a document. Several are in a list, each
    alone or as a pair of it and its fields.

    Decides at once, by jobs; the results are lazy.

    Args:
        df: one row per document; read several times.

    Raises:
        UsageError: a missing column, or numbers out of range; before any job.
        InputError: several documents of one collection have the same key; before documents are
            compared. Or a row of the reference has no usable key or document.
    """
    options = groups.replaced(options, counts=options.data.counts or Counts(df.sparkSession))
    rule = rules.rule_of(options.choice.of_rows, options.threshold)
    if type(rule) not in _JOINS:
        raise UsageError(
            f"rule {options.choice.drop.rule} is not for Spark: lshdb dedup takes rows that do not "
            "fit in memory, too"
        )
    if isinstance(rule, rules.CopiedRule):
        options = groups.replaced(options, settings=rule.index(options.data.settings))
    data, unusable = options.data, Counts(df.sparkSession)
    counted_before = data.counts.unusable
    checked = docs = frame_documents.documents(df, data)
    if options.choice.drop.on_null == "keep":
        nothing = F.lit("[]" if data.settings.shingling.of_sets else "")
        checked = docs = docs.withColumn("content", F.coalesce("content", nothing))
    references = _references(options)
    for collection in (docs, *(each for each, _ in references)):
        frame_documents.check_keys(collection)
    docs = _with_order_keys(
        docs, options, frame_documents.number_order(df, data.columns.key, F.col("key"))
    )
    pairs = clustering.checkpointed(
        _pairs(docs, [each for each, _ in references], options, rule, unusable)
    )
    has_chains = not (isinstance(rule, rules.IdenticalRule) or options.choice.drop.only_against)
    if not has_chains:
        pairs.count()  # no job needed them yet: rows that cannot be compared were not counted
    decided = _without_keys(pairs, "a", _dropped_keys(pairs)) if has_chains else pairs
    dropped = _reasons(decided, [name for _, name in references])
    if unusable.unusable:
        raise InputError(
            "rows of the reference have no usable key or document, and what resembles them would "
            "be kept: repair or remove them"
        )
    gone, failed = dropped.select("key"), frame_documents.failures(checked, data.settings.shingling)
    # Counted while documents were compared: without any, no row is looked at again.
    if data.counts.unusable == counted_before:
        failed = failed.limit(0)
    else:
        failed = clustering.checkpointed(failed)
        gone = gone.unionByName(failed.select("key").dropna())
    keys, gone = frame_documents.keys_of(df, data.columns.key), gone.withColumnRenamed("key", _GONE)
    kept = df.where(keys.isNotNull()).join(gone, keys == F.col(f"`{_GONE}`"), "left_anti")
    dropped = dropped.to(frame_documents.schema_of({**DROPPED, **rule.columns}))
    return Deduplicated(kept, dropped, failed.select("where", "reason"), data.counts)


def digests(documents: DataFrame, settings: Settings, counts: Counts) -> DataFrame:
    """The digest of each checked document that has anything in it: key string, digest binary."""

    def columns(keys: pa.Array, contents: list[Content]) -> frame_documents.BatchColumns:
        filled = [index for index, each in enumerate(contents) if each]
        counts.add("empty", len(contents) - len(filled))
        forms = (content.encoded(contents[index]).encode() for index in filled)
        indices = pa.array(filled, pa.int64())
        return {"key": keys.take(indices), "digest": [*map(content.digest, forms)]}

    return frame_documents.of_documents(
        documents, settings, columns, "key string, digest binary", counts
    )


def identical(digests: DataFrame, _: DataFrame, options: SparkDedupOptions) -> DataFrame:
    """The documents b, each once, that have the digest of an earlier document a.

    Args:
        digests: of all documents; keys of the reference have its prefix, and come first.
        options: says whether a is of a reference in all pairs.

    Returns:
        The columns of `similar` but the estimate.
    """
    firsts = digests.selectExpr("min(key) OVER (PARTITION BY digest) AS a", "key AS b")
    pairs = firsts.where("a <> b").where(~similar_pairs.of_reference("b"))
    if options.choice.drop.only_against:
        pairs = pairs.where(similar_pairs.of_reference("a"))
    same = "true AS exact", "true AS identical", "true AS same_text"
    return pairs.selectExpr("a", "b", "1D AS similarity", *same)


_Join = Callable[..., DataFrame]
_JOINS: dict[type, tuple[_Join, _Join]] = {
    rules.CopiedRule: (copied_passages.prints, copied_passages.copied),
    rules.IdenticalRule: (digests, identical),
    rules.SimilarRule: (similar_pairs.signed, similar_pairs.similar),
}
"""What makes the rows by which documents are compared under a rule, and what compares them."""


def _pairs(
    docs: DataFrame,
    references: Sequence[DataFrame],
    options: SparkDedupOptions,
    rule: rules.Rule,
    unusable: Counts,
) -> DataFrame:
    """The pairs of which the second may be dropped for the first, by the rule.

    Args:
        docs: key and content of each row.
        references: the same of references.
        options: how they are compared.
        rule: the rule that the options name.
        unusable: counts rows of references without a usable key or document.
    """
    signed, compared = _JOINS[type(rule)]
    settings, counts = options.data.settings, options.data.counts
    signatures = signed(docs, settings, counts)
    if not references:
        return compared(signatures, docs, options)
    known = reduce(DataFrame.unionByName, references)
    signatures = signatures.unionByName(signed(known, settings, unusable))
    pairs = compared(signatures, docs.unionByName(known), options)
    if isinstance(rule, rules.CopiedRule):
        pairs = pairs.unionByName(copied_passages.whole_texts(docs, known, options))
    return pairs


def _references(options: SparkDedupOptions) -> list[tuple[DataFrame, str]]:
    """The documents of each reference, with keys that sort before all others, and its name."""
    collections = []
    for number, reference in enumerate(references_checked(options.choice.of_rows)):
        if not isinstance(reference.data, DataFrame):
            raise UsageError(f"against {reference.data!r:.100} is not a DataFrame")
        columns: dict[str, Any] = dict(reference.fields)
        named = groups.replaced(options.data, **columns)
        before = F.lit(f"{similar_pairs.REFERENCE}{number:0{_NUMBER_DIGITS}d}")
        order = frame_documents.number_order(reference.data, named.columns.key, F.col("key"))
        docs = frame_documents.documents(reference.data, named)
        collections.append((_with_keys(docs, F.concat(before, order)), reference.name))
    return collections


def _with_order_keys(documents: DataFrame, options: SparkDedupOptions, number: Column) -> DataFrame:
    """The documents with new keys, which sort in the order of decisions and end with the old key.

    Args:
        documents: key and content.
        options: the order.
        number: see `number_order`.
    """
    before = number
    if options.choice.keep == "last":
        before = F.translate(F.concat(number, F.hex("key")), _DIGITS, _DIGITS[::-1])
    elif options.choice.keep == "longest":
        length = "length(content)"
        if options.data.settings.shingling.of_sets:
            length = "size(array_distinct(from_json(content, 'array<string>')))"
        left = F.expr(f"lpad(string({1 << 31} - coalesce({length}, 0)), 10, '0')")
        before = F.concat(left, before)
    return _with_keys(documents, before)


def _with_keys(documents: DataFrame, before: Column) -> DataFrame:
    """The documents, with a prefix and a mark before their keys."""
    return documents.select(
        F.concat(before, F.lit(similar_pairs.KEY_MARK), "key").alias("key"), "content"
    )


def _dropped_keys(similar: DataFrame) -> DataFrame:
    """The keys that are dropped, from similar pairs of which `a` is decided first."""
    firsts = similar.select("a").join(similar.selectExpr("b AS a"), "a", "left_anti")
    gone = similar.join(firsts, "a", "left_semi").selectExpr("b AS key").distinct()
    gone = clustering.checkpointed(gone)
    left = clustering.checkpointed(
        _without_keys(_without_keys(similar.select("a", "b"), "a", gone), "b", gone)
    )
    chains = left.join(clustering.clusters(left).selectExpr("key AS a", "keep"), "a")
    decided = chains.select("keep", "a", "b").groupBy("keep").applyInArrow(_decided, "key string")
    # A first document has no pair left, nor has what is similar to one.
    return gone.unionByName(decided)


def _reasons(pairs: DataFrame, references: Sequence[str]) -> DataFrame:
    """The dropped documents and the reasons, from pairs whose `a` is kept; names references."""
    others = [name for name in pairs.columns if name not in "ab"]
    is_new = ~similar_pairs.of_reference("a")
    order = F.struct(is_new, F.expr("-similarity"), F.expr("NOT identical"), "a")
    best = F.min_by(F.struct("a", *others), order)
    kept = pairs.groupBy("b").agg(best.alias("kept"))
    name = f"substring({{0}}, locate('{similar_pairs.KEY_MARK}', {{0}}) + 1) AS {{1}}"
    names = F.array(*map(F.lit, references or [""]))
    number = F.substring("kept.a", 2, _NUMBER_DIGITS).cast("int")
    reference = F.when(similar_pairs.of_reference("kept.a"), F.get(names, number))
    return kept.withColumn("reference", reference).selectExpr(
        name.format("b", "key"),
        name.format("kept.a", "kept"),
        *(f"kept.{name}" for name in others),
        "reference",
    )


def _without_keys(pairs: DataFrame, side: str, gone: DataFrame) -> DataFrame:
    """The pairs whose key on one side is not among the dropped keys."""
    return pairs.join(gone.withColumnRenamed("key", side), side, "left_anti")


def _decided(pairs: pa.Table) -> pa.Table:
    """The dropped documents of the pairs (a, b) of a chain, of which a is decided first."""
    before: defaultdict[str, list[str]] = defaultdict(list)
    for a, b in zip(pairs["a"].to_pylist(), pairs["b"].to_pylist(), strict=True):
        before[b].append(a)
    gone: set[str] = set()
    for b in sorted(before):
        if not gone.issuperset(before[b]):
            gone.add(b)
    return pa.table({"key": pa.array(gone, pa.string())})
