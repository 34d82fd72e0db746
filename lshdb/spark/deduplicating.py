"""Dropping near duplicates, as `lshdb dedup` does: what is similar to a kept one before it.

Whether a document is kept depends on those before it, these on others, and so on: a chain. But what
no other comes before is kept, and all that is similar to it is dropped. That leaves little of
most clusters, and of copies nothing, however many there are. What is left of each cluster then is
decided by one task, in order. By the rule contained there are no chains: see containing.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lshdb import InputError, UsageError
from lshdb.columns import DROPPED
from lshdb.deduplication.references import references_of
from lshdb.deduplication.rules import Contained, Copied, Similar, rule_of
from lshdb.deduplication.run import check_plan
from lshdb.groups import takes
from lshdb.options import RuleOptions, SparkDedupOptions
from lshdb.spark import candidates, clustering, containing, copied_passages, sketching
from lshdb.spark.counts import Counts
from lshdb.spark.documents import (
    check_keys,
    documents,
    failures,
    keys_of,
    number_order,
    schema_of,
)
from lshdb.spark.verifying import similar

_GONE = "lshdb dropped key"
"""A name that no user's column has."""
_OWN = "G"
"""Ends the prefix that sorts a document's own key last: no digit, also no hexadecimal one."""
_DIGITS = "0123456789ABCDEF"
_PLACES = 4
"""Digits of the number of a reference, before its keys."""


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """The results of `dedup`.

    Attributes:
        kept: the kept rows, unchanged, in no order.
        dropped: the others, with the columns that all lists of dropped rows have (see
            lshdb.DroppedRow): the most similar kept one may be of the reference; files and lines
            are null. By the rule copied also those of the longest passage.
        failures: where string, reason string, for each row without a usable key or document,
            which is neither kept nor dropped.
        counts: of rows and pairs that were not compared.
    """

    kept: DataFrame
    dropped: DataFrame
    failures: DataFrame
    counts: Counts


@takes(SparkDedupOptions)
def dedup(df: DataFrame, options: SparkDedupOptions) -> Deduplicated:
    """Drop the documents that are similar to a kept one before them, or that a rule lets go.

    As `lshdb.dedup` of the rows in the order of their keys, or of their length: so no two of those
    kept are similar, and each of the others is similar to a kept one, as far as candidates are
    found (see `candidate_pairs`; by the rule contained all are). Rows without a usable key or
    document are left out and listed, as there.

    Decides at once, by jobs; the results are lazy.

    Args:
        df: a row a document; read several times.

    Raises:
        UsageError: a missing column, or numbers out of range; before any job.
        InputError: several documents of one collection have the same key; before documents are
            compared. Or a row of the reference has no usable key or document.
    """
    options = replace(options, counts=options.counts or Counts(df.sparkSession))
    rule = rule_of(RuleOptions(rule=options.rule, estimate=options.estimate))
    columns, signed = {**DROPPED, **rule.columns}, sketching.signed
    compared: Callable[[DataFrame, DataFrame, SparkDedupOptions], DataFrame] = similar
    if isinstance(rule, Copied):
        signed, compared = copied_passages.prints, copied_passages.copied
        options = replace(options, settings=rule.index(options.settings))
    elif isinstance(rule, Contained):
        signed, compared = containing.cards, containing.contained
    elif not isinstance(rule, Similar):
        raise UsageError(f"rule {options.rule} is not one that Spark has joins for")
    settings, unusable = options.settings, Counts(df.sparkSession)
    counted_before = _bad(options.counts)
    given = docs = _with_nulls(documents(df, options), options)
    references = _references(options)
    for collection in (docs, *(each for each, _ in references)):
        check_keys(collection)
    docs = _in_order(docs, options, number_order(df, options.key, F.col("key")))
    own_docs, signatures = docs, signed(docs, settings, options.counts)
    for reference, _ in references:
        signatures = signatures.unionByName(signed(reference, settings, unusable))
        docs = docs.unionByName(reference)
    pairs = compared(signatures, docs, options)
    if isinstance(rule, Copied) and references:
        short = [copied_passages.short_texts(each, settings, rule.words) for each, _ in references]
        pairs = pairs.unionByName(
            copied_passages.whole_texts(own_docs, short, settings, rule.words, options)
        )
    if options.only_against:
        pairs = pairs.where(F.startswith("a", F.lit(candidates.REFERENCE)))
    pairs = clustering.checkpointed(pairs)
    is_decided = isinstance(rule, Contained) or options.only_against
    decided = pairs if is_decided else _of_others(pairs, "a", _gone(pairs))
    dropped = _reasons(decided, [name for _, name in references])
    if _bad(unusable):
        raise InputError(
            "rows of the reference have no usable key or document, and what resembles them would "
            "be kept: repair or remove them"
        )
    gone = dropped.select(F.col("key").alias(_GONE))
    failed = failures(given, settings.shingling)
    # Counted while documents were compared: without any, no row is looked at again.
    if _bad(options.counts) == counted_before:
        failed = failed.limit(0)
    else:
        failed = clustering.checkpointed(failed)
        gone = gone.unionByName(failed.selectExpr(f"key AS `{_GONE}`").dropna())
    own = keys_of(df, options.key)
    kept = df.where(own.isNotNull()).join(gone, own == F.col(f"`{_GONE}`"), "left_anti")
    listed = failed.select("where", "reason")
    return Deduplicated(kept, dropped.to(schema_of(columns)), listed, options.counts)


def _with_nulls(docs: DataFrame, options: SparkDedupOptions) -> DataFrame:
    """The documents, of which missing ones stay as empty ones if `on_null` says so."""
    if options.on_null == "fail":
        return docs
    nothing = F.lit("[]" if options.settings.shingling.of_sets else "")
    return docs.withColumn("content", F.coalesce("content", nothing))


def _references(options: SparkDedupOptions) -> list[tuple[DataFrame, str]]:
    """The documents of each reference, with keys that sort before all others, and its name."""
    found = []
    references = references_of(options.against)
    check_plan(
        RuleOptions(rule=options.rule, keep=options.keep, estimate=options.estimate),
        references,
        only_against=options.only_against,
    )
    for place, reference in enumerate(references):
        if not isinstance(reference.data, DataFrame):
            raise UsageError(f"against {reference.data!r:.100} is not a DataFrame")
        columns: dict[str, Any] = dict(reference.fields)
        named = replace(options, against=None, **columns)
        before: Column = F.lit(f"{candidates.REFERENCE}{place:0{_PLACES}d}")
        order = number_order(reference.data, named.key, F.col("key"))
        if order is not None:
            before = F.concat(before, order)
        found.append((_with_keys(documents(reference.data, named), before), reference.name))
    return found


def _bad(counts: Counts) -> int:
    """How many rows without a usable key or document were counted."""
    return counts["bad_keys"] + counts["bad_documents"]


def _in_order(documents: DataFrame, options: SparkDedupOptions, number: Column | None) -> DataFrame:
    """The documents with other keys, that sort in the order of decisions and end with the own.

    Args:
        documents: key and content.
        options: say in which order.
        number: strings that sort as keys that are numbers; None for other keys.
    """
    before = F.lit("") if number is None else number
    if options.keep == "last":
        before = F.hex("key") if number is None else number
        before = F.translate(before, _DIGITS, _DIGITS[::-1])
    elif options.keep == "longest":
        length = F.length("content")
        if options.settings.shingling.of_sets:
            length = F.size(F.array_distinct(F.from_json("content", "array<string>")))
        left = F.lit(1 << 31) - F.coalesce(length, F.lit(0))
        before = F.concat(F.lpad(left.cast("string"), 10, "0"), before)
    return _with_keys(documents, before)


def _with_keys(documents: DataFrame, before: Column) -> DataFrame:
    """The documents with keys of which something comes first."""
    return documents.select(F.concat(before, F.lit(_OWN), "key").alias("key"), "content")


def _gone(similar: DataFrame) -> DataFrame:
    """Of pairs, as `similar` has them, whose `a` is decided first, the keys that are dropped."""
    later = similar.select(F.col("b").alias("a"))
    firsts = similar.select("a").join(later, "a", "left_anti")
    gone = similar.join(firsts, "a", "left_semi").select(F.col("b").alias("key")).distinct()
    gone = clustering.checkpointed(gone)
    left = clustering.checkpointed(
        _of_others(_of_others(similar.select("a", "b"), "a", gone), "b", gone)
    )
    chains = left.join(clustering.clusters(left).withColumnRenamed("key", "a"), "a").select(
        "keep", "a", "b"
    )
    decided = chains.groupBy("keep").applyInArrow(_decided, "key string")
    # A first document has no pair left, nor has what is similar to one.
    return gone.unionByName(decided)


def _reasons(pairs: DataFrame, references: Sequence[str]) -> DataFrame:
    """What is dropped for which, of pairs whose `a` is kept; with the names of references."""
    others = [name for name in pairs.columns if name not in "ab"]
    own = ~F.startswith("a", F.lit(candidates.REFERENCE))
    order = F.struct(own, -F.col("similarity"), ~F.col("identical"), "a")
    best = F.min_by(F.struct("a", *others), order)
    kept = pairs.groupBy("b").agg(best.alias("kept"))
    name = f"substring({{0}}, locate('{_OWN}', {{0}}) + 1) AS {{1}}"
    names = F.array(*map(F.lit, references or [""]))
    place = F.substring("kept.a", 2, _PLACES).cast("int")
    is_reference = F.startswith("kept.a", F.lit(candidates.REFERENCE))
    reference = F.when(is_reference, F.get(names, place))
    return kept.withColumn("reference", reference).selectExpr(
        name.format("b", "key"),
        name.format("kept.a", "kept"),
        *(f"kept.{name}" for name in others),
        "reference",
    )


def _of_others(pairs: DataFrame, side: str, gone: DataFrame) -> DataFrame:
    """The pairs without those of dropped documents on a side."""
    return pairs.join(gone.select(F.col("key").alias(side)), side, "left_anti")


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
