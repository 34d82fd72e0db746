"""`lshdb spark-dedup`: drop near duplicates of more rows than a machine holds."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb import errors, groups, options
from lshdb.apps.dedup.options import ComparisonOptions
from lshdb.apps.spark.cli import on_spark
from lshdb.apps.spark.options import SparkDedupOptions, SparkOptions, SparkRuleOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lshdb.apps.dedup.references import Reference
    from lshdb.sketch.settings import Settings


def spark_dedup(
    *,
    input: on_spark.SparkInput,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="A new directory for the kept rows.")
    ],
    choice: SparkRuleOptions,
    dropped: Annotated[
        str | None,
        groups.Option("A new directory: what is dropped, for which, how similar.", metavar="DIR"),
    ] = None,
    comparison: ComparisonOptions,
    spark: on_spark.Spark,
    fields: options.FieldOptions,
) -> bool:
    """Drop near duplicates among more documents than a machine holds, on Spark.

    A row is dropped if it is similar to a kept one before it, by key, or as --rule says: as lshdb
    dedup does. With --against, first what is similar to a document of that: rows like those of
    INPUT, or databases ('*.db'), whose settings are then the default.
    OUTPUT has all columns, and the format of INPUT. Keys must be distinct. Rows without a key or
    a document and broken lines are left out and named, and the status is 1.

    Needs Java 17 or newer, and the extra spark. On a cluster:
    spark-submit --master URL PATH/TO/lshdb/apps/spark/__main__.py INPUT OUTPUT

    Example: lshdb spark-dedup crawl/ unique/ --master "local[*]"
    """
    from lshdb.apps.dedup.references import reference_of_text
    from lshdb.apps.dedup.rules import rule_of

    rule_of(choice.of_rows, comparison.threshold, comparison.recall)  # before Spark starts
    references = [*map(reference_of_text, choice.drop.against or ())]
    paths = [str(reference.data) for reference in references]
    on_spark.check_names(input, output, *paths, dropped)
    databases = [database for path in paths for database in _databases(path)]
    resolved = spark.settings(comparison.settings, *databases)
    _check_readable(databases, resolved)
    with spark.session(output, dropped) as session:
        from lshdb.spark import dedup

        kind = "set" if resolved.shingling.of_sets else "text"
        columns = {"key": fields.key_field, kind: getattr(fields, f"{kind}_field")}
        data = SparkOptions(resolved, **columns)
        against = [_reference(session, reference, columns, resolved) for reference in references]
        dedup_options = SparkDedupOptions(
            data=data,
            choice=groups.replaced(choice, against=against or None),
            threshold=comparison.threshold,
        )
        source = spark.read(session, input, columns)
        result = dedup(source.rows, dedup_options)
        result.kept.write.save(output, source.format)
        if dropped is not None:
            result.dropped.write.save(dropped, source.format)
        written = session.read.schema(result.kept.schema).load(output, source.format)
        failed = on_spark.report_failures(source.broken, result.failures)
        numbers = {"kept": written.count(), "dropped": result.dropped.count(), "failed": failed}
        spark.report(
            numbers,
            result.counts,
            *("bad_keys", "bad_documents", "empty", "cut_buckets", "cut_pairs"),
        )
        return failed > 0


def _reference(
    session: SparkSession, reference: Reference, columns: Mapping[str, str], settings: Settings
) -> Reference:
    """The reference as a frame of keys and documents, whose columns have the names of INPUT's."""
    from lshdb.apps.spark.frame_documents import documents
    from lshdb.spark import read_database

    path, fields = str(reference.data), reference.fields
    # A set may be named as the text is.
    others = {"set": fields["text"]} if "text" in fields else {}
    names = {kind: {**others, **fields}.get(kind, name) for kind, name in columns.items()}
    try:
        if _databases(path):
            rows = read_database(session, path).select("key", "content")
        else:
            source = on_spark.rows_of_input(session, path, "auto", names)
            if source.broken is not None and (line := source.broken.head()):
                raise errors.LshdbError(
                    f"{line['where']}: {line['reason']} (what resembles a row of the reference "
                    "that cannot be read would be kept: repair or remove it)"
                )
            rows = documents(source.rows, SparkOptions(settings, **names))
    except errors.UsageError as error:
        raise errors.UsageError(
            f"{path}: {error}; --against {path}:key=NAME,text=NAME names its columns"
        ) from error
    return replace(reference, data=rows.toDF(*columns.values()), fields={}, label=path)


def _databases(against: str) -> list[Path]:
    """The databases that a path or pattern names; none if it is other input."""
    from lshdb.read.paths import is_database

    paths = sorted(glob.glob(against)) if glob.has_magic(against) else [against]
    return [Path(path) for path in paths if is_database(path)]


def _check_readable(databases: Sequence[Path], settings: Settings) -> None:
    """LshdbError for a database that has no documents to compare with."""
    for path in databases:
        stored = on_spark.settings_of(path)
        if not stored.content:
            raise errors.LshdbError(
                f"{path} keeps signatures only, and --against compares contents"
            )
        if stored.shingling.of_sets != settings.shingling.of_sets:
            raise errors.SettingsMismatch(
                f"{path} has shingle {stored.shingling}, and the documents are compared by "
                f"{settings.shingling}"
            )
