"""The commands on Spark, for more documents than a machine holds: spark-dedup, spark-passages."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lshdb.cli import files, messages, results
from lshdb.cli.documents import FAILURES_SHOWN, counts_printed, read_content
from lshdb.cli.options import AsJson, Base, ReferenceFields
from lshdb.errors import LshdbError, SettingsMismatch, UsageError
from lshdb.groups import Option, Options, values_of
from lshdb.model import Failure
from lshdb.options import (
    ADVANCED,
    INPUT,
    BucketOptions,
    ColumnOptions,
    CommonOptions,
    CopiedOptions,
    FieldOptions,
    OnlyAgainst,
    OnNull,
    SettingsOptions,
    ShapeOptions,
    ShingleOptions,
    SparkDedupOptions,
    SparkOptions,
    SparkPairsOptions,
    SparkPassagesOptions,
    SparkRuleOptions,
)
from lshdb.sources.paths import printable_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lshdb.sketching.settings import Settings
    from lshdb.spark.counts import Counted, Counts
    from lshdb.spark.reading import SparkRows

Input = Annotated[
    str,
    typer.Argument(metavar="INPUT", help="Parquet or JSON lines, on any path that Spark reads."),
]


class Dropping(Options):
    """What is dropped, and where that is listed."""

    buckets: BucketOptions
    choice: SparkRuleOptions

    against: Annotated[
        Sequence[str],
        Option(
            "First drop what is similar to a document of this, repeatable: rows like those of "
            "INPUT, or databases ('*.db'), whose settings are then the default.",
            metavar="INPUT|FILE.db[:text=NAME,key=NAME]",
        ),
    ] = ()
    only_against: OnlyAgainst = False
    on_null: OnNull = "fail"
    dropped: Annotated[
        str | None,
        Option("A new directory: what is dropped, for which, how similar.", metavar="DIR"),
    ] = None


class Copying(Options):
    """Which passages are found."""

    runs: CommonOptions

    words: Annotated[
        int | None,
        Option(
            "Shortest run that is surely found. [default: 8]",
            min=1,
            metavar="WORDS",
            flags=("--passages",),
        ),
    ] = None
    base: Base = None


class Spark(Options):
    """What Spark reads, where it runs, and how its counts are printed."""

    settings_from: Annotated[
        Path | None, Option("Take the settings of a database.", metavar="FILE.db")
    ] = None
    format: Annotated[
        Literal["auto", "parquet", "jsonl"],
        Option("Of INPUT; auto: by name.", metavar="auto|parquet|jsonl", section=INPUT),
    ] = "auto"
    master: Annotated[
        str | None, Option("Where to run. [default: as configured]", metavar="URL")
    ] = None
    conf: Annotated[
        Sequence[str],
        Option("A setting of Spark; repeatable.", metavar="NAME=VALUE", section=ADVANCED),
    ] = ()
    as_json: AsJson = False

    def __post_init__(self) -> None:
        for one in self.conf:
            name, equals, _ = one.partition("=")
            if not name or not equals:
                raise UsageError(f"--conf {one!r} is not NAME=VALUE")

    def settings(self, asked: SettingsOptions, *defaults: Path) -> Settings:
        """Those of a database, else the options; without any, those of another database."""
        from lshdb.tuning.resolve import resolve

        # Any index may be asked for another threshold.
        given = [
            name
            for name, value in values_of(asked).items()
            if name != "threshold" and value is not None
        ]
        file = self.settings_from
        if file is not None and given:
            raise UsageError(f"give either --settings-from or --{given[0]}")
        if file is None and (given or not defaults):
            return resolve(asked)
        return _settings_of(file or defaults[0])

    @contextmanager
    def session(self, *outputs: str | None) -> Iterator[SparkSession]:
        """Spark, if none of the outputs is there; LshdbError where it is not installed."""
        from lshdb.spark import check_installed

        try:
            check_installed()
        except ImportError as error:
            raise LshdbError(str(error)) from error
        from lshdb.spark.session import exists, session

        with session(self.master, dict(one.split("=", 1) for one in self.conf)) as spark:
            for path in filter(None, outputs):
                if exists(spark, path):
                    raise UsageError(f"{path} already exists: name a new directory")
            yield spark

    def read(self, spark: SparkSession, path: str, columns: Mapping[str, Any]) -> SparkRows:
        """INPUT, whose format OUTPUT has too; what is special about it is printed."""
        source = _read(spark, path, self.format, columns)
        for note in source.notes:
            messages.message(f"lshdb: {note}")
        return source

    def report(self, numbers: Mapping[str, int], counts: Counts, *left_out: Counted) -> None:
        """Warn of what was left out, and print numbers; with --json also of that."""
        for line in counts.lines():
            messages.warn(f"lshdb: {line}")
        if self.as_json:
            results.json_line({**numbers, **{name: counts[name] for name in left_out}})
        else:
            messages.message(", ".join(f"{name} {number:,}" for name, number in numbers.items()))


def _check_names(*paths: str | None) -> None:
    """UsageError for a name that is not UTF-8, which Spark cannot take."""
    for path in filter(None, paths):
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{printable_path(path)}: Spark takes only names that are UTF-8: rename it"
            ) from error


def spark_dedup(
    *,
    input: Input,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="A new directory for the kept rows.")
    ],
    asked: Dropping,
    settings: SettingsOptions,
    spark: Spark,
    fields: FieldOptions,
    reference_fields: ReferenceFields,
) -> bool:
    """Drop near duplicates among more documents than a machine holds, on Spark.

    A row is dropped if it is similar to a kept one before it, by key, or as --rule says: as lshdb
    dedup does.
    OUTPUT has all columns, and the format of INPUT. Keys must be distinct. Rows without a key or
    a document and broken lines are left out and named, and the status is 1.

    Needs Java 17 or newer, and: pip install 'lshdb[spark]'. On a cluster:
    spark-submit --master URL PATH/TO/lshdb/spark/__main__.py INPUT OUTPUT

    Example: lshdb spark-dedup crawl/ unique/ --threshold 0.8 --master "local[*]"
    """
    from lshdb.deduplication.references import reference_of_text

    reference_fields.check(bool(asked.against))
    references = [reference_of_text(text, reference_fields.given()) for text in asked.against]
    paths = [str(reference.data) for reference in references]
    _check_names(input, output, *paths, asked.dropped)
    databases = [path for each in paths for path in _databases(each)]
    wanted = spark.settings(settings, *databases)
    _check_readable(databases, wanted)
    with spark.session(output, asked.dropped) as running:
        from lshdb.deduplication.references import Reference
        from lshdb.spark import dedup

        own = _columns(wanted, vars(fields))
        data = SparkOptions(wanted, columns=ColumnOptions(**own))
        compared = SparkPairsOptions(
            data=data, buckets=asked.buckets, threshold=settings.shape.threshold
        )
        options = SparkDedupOptions(
            pairs=compared,
            choice=asked.choice,
            only_against=asked.only_against,
            on_null=asked.on_null,
        )
        against = []
        for reference in references:
            path, names = str(reference.data), _named(fields, reference.fields)
            its = SparkOptions(wanted, columns=ColumnOptions(**_columns(wanted, names)))
            rows = _reference(running, path, its, of_databases=bool(_databases(path)))
            against.append(Reference(rows.toDF(*own.values()), label=path))
        options = replace(options, against=against or None)
        source = spark.read(running, input, own)
        result = dedup(source.rows, options)
        result.kept.write.save(output, source.format)
        if asked.dropped is not None:
            result.dropped.write.save(asked.dropped, source.format)
        written = running.read.schema(result.kept.schema).load(output, source.format)
        failed = _report_failures(source.broken, result.failures)
        numbers = {"kept": written.count(), "dropped": result.dropped.count(), "failed": failed}
        left_out: list[Counted] = ["bad_keys", "bad_documents", "empty", "cut_buckets", "cut_pairs"]
        spark.report(numbers, result.counts, *left_out)
        return failed > 0


def spark_passages(
    *,
    input: Input,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="A new directory for the passages.")
    ],
    asked: Copying,
    settings: ShingleOptions,
    spark: Spark,
    fields: FieldOptions,
) -> bool:
    """Find copied passages among more documents than a machine holds, on Spark.

    A row of OUTPUT is a passage that two documents share, with the columns of lshdb passages
    --all -o FILE, in the format of INPUT. Keys must be distinct. Rows without a key or a text
    and broken lines are left out and named, and the status is 1.

    Needs Java 17 or newer, and: pip install 'lshdb[spark]'. On a cluster:
    spark-submit --master URL PATH/TO/lshdb/spark/__main__.py spark-passages INPUT OUTPUT

    Example: lshdb spark-passages crawl/ copied/ --passages 12 --master "local[*]"
    """
    from lshdb.sources.session import Session
    from lshdb.sources.session_options import SessionOptions

    _check_names(input, output)
    words = 8 if asked.words is None and spark.settings_from is None else asked.words
    wanted = spark.settings(SettingsOptions(shingles=settings, shape=ShapeOptions(passages=words)))
    base = [
        str(read_content(Session(SessionOptions(of_sets=False, stdin=files.stdin())), name))
        for name in asked.base or ()
    ]
    with spark.session(output) as running:
        from lshdb.spark import Counts, passage_pairs
        from lshdb.spark.documents import documents, failures

        counts = Counts(running)
        columns = {"key": fields.key_field, "text": fields.text_field}
        data = SparkOptions(wanted, columns=ColumnOptions(**columns), counts=counts)
        options = SparkPassagesOptions(data=data, copied=CopiedOptions(runs=asked.runs, base=base))
        source = spark.read(running, input, columns)
        passages = passage_pairs(source.rows, options)
        passages.write.option("ignoreNullFields", "false").save(output, source.format)
        written = running.read.schema(passages.schema).load(output, source.format)
        pairs = written.select("a", "b").distinct().count()
        unusable = None
        if counts["bad_keys"] or counts["bad_documents"]:
            unusable = failures(documents(source.rows, data), wanted.shingling)
        failed = _report_failures(source.broken, unusable)
        numbers = {"pairs": pairs, "passages": written.count(), "failed": failed}
        spark.report(numbers, counts, "bad_keys", "bad_documents", "cut_passages")
        return failed > 0


def _read(spark: SparkSession, path: str, format: str, columns: Mapping[str, Any]) -> SparkRows:
    from lshdb.spark.reading import read

    names = [columns.get("key") or "id", columns.get("text") or columns.get("set") or "text"]
    return read(spark, path, "json" if format == "jsonl" else format, names)


def _report_failures(*failures: DataFrame | None) -> int:
    """Print the first failures (where, reason), as other commands do; how many there are."""
    reported = counts_printed().failures
    for listed in filter(None, failures):
        for row in listed.limit(max(FAILURES_SHOWN - reported.count, 0) + 1).collect():
            reported(Failure(row["where"], row["reason"]))
    return sum(listed.count() for listed in filter(None, failures))


def _columns(settings: Settings, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The options for the columns of keys and documents, by the names of `FieldOptions`."""
    kind = "set" if settings.shingling.of_sets else "text"
    return {"key": fields["key_field"], kind: fields[f"{kind}_field"]}


def _named(fields: FieldOptions, names: Mapping[str, str]) -> dict[str, Any]:
    """The names of the fields of a reference, where it gives some."""
    given = {f"{name}_field": value for name, value in names.items()}
    if "text" in names and "set" not in names:
        given["set_field"] = names["text"]
    return vars(fields) | given


def _reference(
    spark: SparkSession, path: str, options: SparkOptions, *, of_databases: bool
) -> DataFrame:
    """The documents of a reference: key and content."""
    from lshdb.spark import read_database
    from lshdb.spark.documents import documents

    if of_databases:
        return read_database(spark, path).select("key", "content")
    try:
        kind = "set" if options.settings.shingling.of_sets else "text"
        source = _read(
            spark, path, "auto", {"key": options.columns.key, kind: getattr(options.columns, kind)}
        )
        if source.broken is not None and (line := source.broken.head()):
            raise LshdbError(
                f"{line['where']}: {line['reason']} (what resembles a row of the reference that "
                "cannot be read would be kept: repair or remove it)"
            )
        return documents(source.rows, options)
    except UsageError as error:
        raise UsageError(
            f"{path}: {error}; --against-key-field and --against-text-field name its columns"
        ) from error


def _settings_of(file: Path) -> Settings:
    import lshdb

    with lshdb.open(file, mode="read") as database:
        return database.settings


def _databases(against: str) -> list[Path]:
    """The databases that a path or pattern names; none if it is other input."""
    from lshdb.sources.paths import is_database

    found = sorted(glob.glob(against)) if glob.has_magic(against) else [against]
    return [Path(path) for path in found if is_database(path)]


def _check_readable(databases: Sequence[Path], wanted: Settings) -> None:
    """LshdbError for a database that has no documents to compare with."""
    for path in databases:
        own = _settings_of(path)
        if not own.content:
            raise LshdbError(f"{path} keeps signatures only, and --against compares contents")
        if own.shingling.of_sets != wanted.shingling.of_sets:
            raise SettingsMismatch(
                f"{path} has shingle {own.shingling}, and the documents are compared by "
                f"{wanted.shingling}"
            )
