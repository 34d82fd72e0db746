"""The commands on Spark, for more documents than a machine holds: spark-dedup, spark-passages."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lshdb.cli.comparing import Base
from lshdb.cli.documents import read_content
from lshdb.cli.files import stdin
from lshdb.cli.messages import message, warn
from lshdb.cli.options import (
    AsJson,
    ReferenceFields,
)
from lshdb.cli.results import json_line
from lshdb.errors import LshdbError, UsageError
from lshdb.groups import Option, Options, regrouped
from lshdb.options import (
    CommonOptions,
    FieldOptions,
    SettingsOptions,
    ShingleOptions,
    SparkDedupOptions,
    SparkKeepOptions,
    SparkOptions,
    SparkPassagesOptions,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lshdb.model import Settings
    from lshdb.spark.counts import Counted, Counts

_FORMATS = {"parquet": "parquet", "jsonl": "json"}
"""Spark's names of ours."""
_JSONL = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
_DEFAULTS = {
    # Of documents that Spark hands to Python in one batch.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    # Spark's own default, INT96, loses the time zone of a column.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of Spark, unless --conf says otherwise."""

Input: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="INPUT", help="Parquet or JSON lines, on any path that Spark reads."),
]
SettingsFrom: TypeAlias = Annotated[
    Path | None,
    Option("Take the settings of a database.", metavar="FILE.db", flags=("--settings-from",)),
]


class Spark(Options):
    """The options that say what Spark reads, and where it runs."""

    input_format: Annotated[
        str,
        Option("Of INPUT; auto: by name.", metavar="auto|parquet|jsonl", flags=("--format",)),
    ] = "auto"
    master: Annotated[
        str | None, Option("Where to run. [default: as configured]", metavar="URL")
    ] = None
    conf: Annotated[
        Sequence[str] | None,
        Option("A setting of Spark; repeatable.", metavar="NAME=VALUE"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.input_format not in ("auto", *_FORMATS):
            raise UsageError(f"--format {self.input_format!r} is not auto, {', '.join(_FORMATS)}")
        self.options()

    def options(self) -> dict[str, str]:
        """The settings of Spark."""
        found = {}
        for one in self.conf or ():
            name, equals, value = one.partition("=")
            if not name or not equals:
                raise UsageError(f"--conf {one!r} is not NAME=VALUE")
            found[name] = value
        return _DEFAULTS | found

    @contextmanager
    def session(self, *outputs: str | None) -> Iterator[SparkSession]:
        """Spark, if none of the outputs is there; LshdbError where it is not installed."""
        from lshdb.spark import check_installed

        try:
            check_installed()
        except ImportError as error:
            raise LshdbError(str(error)) from error
        from lshdb.spark.session import exists, session

        with session(self.master, self.options()) as spark:
            for path in filter(None, outputs):
                if exists(spark, path):
                    raise UsageError(f"{path} already exists: name a new directory")
            yield spark

    def format_of(self, path: str) -> str:
        """Spark's name of the format of INPUT, which OUTPUT has too."""
        name = _format_of(path) if self.input_format == "auto" else self.input_format
        return _FORMATS[name]


def spark_dedup(
    *,
    input: Input,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="A new directory for the kept rows.")
    ],
    settings_from: SettingsFrom = None,
    against: Annotated[
        str | None,
        Option(
            "First drop what is similar to a document of this: rows like those of INPUT, or "
            "databases ('*.db'), whose settings are then the default.",
            metavar="INPUT|FILE.db",
        ),
    ] = None,
    settings: SettingsOptions,
    dropped: Annotated[
        str | None,
        Option("A new directory: what is dropped, for which, how similar.", metavar="DIR"),
    ] = None,
    asked: SparkKeepOptions,
    spark: Spark,
    fields: FieldOptions,
    reference_fields: ReferenceFields,
    as_json: AsJson = False,
) -> None:
    """Drop near duplicates among more documents than a machine holds, on Spark.

    A row is dropped if it is similar to a kept one before it, by key: as lshdb dedup does.
    OUTPUT has all columns, and the format of INPUT. Keys must be distinct. Rows without a key or
    a document are kept.

    Needs Java 17 or newer, and: pip install 'lshdb[spark]'. On a cluster:
    spark-submit --master URL PATH/TO/lshdb/spark/__main__.py INPUT OUTPUT

    Example: lshdb spark-dedup crawl/ unique/ --threshold 0.8 --master "local[*]"
    """
    reference_fields.check(against)
    databases = [] if against is None else _databases(against)
    if databases and settings_from is None and not _named(settings):
        settings_from = databases[0]
    wanted = _settings(settings_from, settings)
    for database in databases:
        _check_readable(database, wanted)
    with spark.session(output, dropped) as running:
        from lshdb.spark import dedup, read_database
        from lshdb.spark.documents import documents

        format = spark.format_of(input)
        of_sets = wanted.shingling.of_sets
        content_field = fields.set_field if of_sets else fields.text_field
        reference = None
        if databases:
            reference = read_database(running, str(against)).select("key", "content")
        elif against is not None:
            reference = running.read.load(against, _FORMATS[_format_of(against)])
            named = reference_fields.given(fields)
            kind = "set" if of_sets else "text"
            columns = {"key": named["key_field"], kind: named[f"{kind}_field"]}
            try:
                reference = documents(reference, SparkOptions(wanted, **columns))
            except UsageError as error:
                raise UsageError(
                    f"{against}: {error}; --against-key-field and --against-text-field name its "
                    "columns"
                ) from error
        if reference is not None:
            names = {"key": fields.key_field, "content": content_field}
            reference = reference.withColumnsRenamed(names)
        source = running.read.load(input, format)
        columns = {"key": fields.key_field, "set" if of_sets else "text": content_field}
        options = regrouped(
            asked,
            SparkDedupOptions,
            settings=wanted,
            threshold=settings.threshold,
            against=reference,
            **columns,
        )
        result = dedup(source, options)
        result.kept.write.save(output, format)
        if dropped is not None:
            result.dropped.write.save(dropped, format)
        kept = running.read.load(output, format).count()
        gone = source.count() - kept
        for line in result.counts.lines(asked.limit):
            warn(f"lshdb: {line}")
        if as_json:
            json_line(
                {"kept": kept, "dropped": gone}
                | _numbers(
                    result.counts, "bad_keys", "bad_contents", "empty", "cut_buckets", "cut_pairs"
                )
            )
        else:
            message(f"kept {kept:,}, dropped {gone:,}")


def spark_passages(
    *,
    input: Input,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="A new directory for the passages.")
    ],
    words: Annotated[
        int | None,
        Option(
            "Shortest run that is surely found. [default: 8]",
            min=1,
            metavar="WORDS",
            flags=("--passages",),
        ),
    ] = None,
    asked: CommonOptions,
    base: Base = None,
    settings_from: SettingsFrom = None,
    settings: ShingleOptions,
    spark: Spark,
    fields: FieldOptions,
    as_json: AsJson = False,
) -> None:
    """Find copied passages among more documents than a machine holds, on Spark.

    A row of OUTPUT is a passage that two documents share, with the columns of lshdb passages
    --all -o FILE, in the format of INPUT. Keys must be distinct. Rows without a key or a text
    are left out, and counted.

    Needs Java 17 or newer, and: pip install 'lshdb[spark]'. On a cluster:
    spark-submit --master URL PATH/TO/lshdb/spark/__main__.py spark-passages INPUT OUTPUT

    Example: lshdb spark-passages crawl/ copied/ --passages 12 --master "local[*]"
    """
    from lshdb.sources.readers import Reader

    if settings_from is None and words is None:
        words = 8
    wanted = _settings(settings_from, regrouped(settings, SettingsOptions, passages=words))
    texts = [str(read_content(Reader(of_sets=False, stdin=stdin()), name)) for name in base or ()]
    with spark.session(output) as running:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812

        from lshdb.spark import Counts, passage_pairs

        counts = Counts(running)
        options = regrouped(
            asked,
            SparkPassagesOptions,
            settings=wanted,
            key=fields.key_field,
            text=fields.text_field,
            base=texts,
            counts=counts,
        )
        pairs = passage_pairs(running.read.load(input, spark.format_of(input)), options)
        found = Observation()
        size = F.sum(F.size("passages"))
        pairs = pairs.observe(found, F.count("*").alias("pairs"), size.alias("passages"))
        _rows(pairs).write.save(output, spark.format_of(input))
        for line in counts.lines():
            warn(f"lshdb: {line}")
        numbers = {name: found.get[name] or 0 for name in ("pairs", "passages")}
        if as_json:
            left_out = _numbers(counts, "bad_keys", "bad_contents", "cut_passages")
            json_line(numbers | left_out)
        else:
            message(f"passages {numbers['passages']:,}, pairs of documents {numbers['pairs']:,}")


def _numbers(counts: Counts, *names: Counted) -> dict[str, int]:
    """Some of the counts, by the names that the commands have for them."""
    return {name.replace("contents", "documents"): counts[name] for name in names}


def _rows(pairs: DataFrame) -> DataFrame:
    """Pairs with lists of passages as rows of one passage, as `lshdb passages --all` has them."""
    totals = [name for name in pairs.columns if name != "passages"]
    return pairs.selectExpr(*totals, "inline(passages)")


def _settings(file: Path | None, asked: SettingsOptions) -> Settings:
    """The settings of a database, or those of the options."""
    import lshdb
    from lshdb.tuning.resolve import resolve

    if file is None:
        return resolve(asked)
    if wrong := _named(asked):
        raise lshdb.UsageError(f"give either --settings-from or --{wrong[0]}")
    with lshdb.open(file, mode="read") as database:
        return database.settings


def _named(asked: SettingsOptions) -> list[str]:
    """The options given but the threshold, which any index may be asked for."""
    given = vars(asked).items()
    return [name for name, value in given if value is not None and name != "threshold"]


def _databases(against: str) -> list[Path]:
    """The databases that a path or pattern names; none if it is other input."""
    from lshdb.sources.paths import is_database

    found = sorted(map(Path, glob.glob(against))) if glob.has_magic(against) else [Path(against)]
    return [path for path in found if is_database(path)]


def _check_readable(path: Path, wanted: Settings) -> None:
    """LshdbError for a database that has no documents to compare with."""
    import lshdb

    with lshdb.open(path, mode="read") as database:
        own = database.settings
    if not own.content:
        raise lshdb.LshdbError(f"{path} keeps signatures only, and --against compares contents")
    if own.shingling.of_sets != wanted.shingling.of_sets:
        raise lshdb.SettingsMismatch(
            f"{path} has shingle {own.shingling}, and the documents are compared by "
            f"{wanted.shingling}"
        )


def _format_of(input: str) -> str:
    names = [input.rstrip("/").lower()]
    directory = Path(input)
    if directory.is_dir():
        names = [path.name.lower() for path in directory.iterdir() if path.name[0] not in "._"]
    return "jsonl" if any(name.endswith(_JSONL) for name in names) else "parquet"
