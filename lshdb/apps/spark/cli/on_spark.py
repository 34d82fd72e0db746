"""What both commands on Spark share: their options, tables of Spark, failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lshdb import groups
from lshdb.cli import documents, messages, results
from lshdb.cli.options import AsJson
from lshdb.errors import LshdbError, UsageError
from lshdb.model import Failure
from lshdb.options import ADVANCED, INPUT, SettingsOptions
from lshdb.read.paths import printable_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lshdb.apps.spark import reading
    from lshdb.apps.spark.counts import CountName, Counts
    from lshdb.sketch.settings import Settings

SparkInput = Annotated[
    str,
    typer.Argument(metavar="INPUT", help="Parquet or JSON lines, on any path that Spark reads."),
]


class Spark(groups.Options):
    """What Spark reads, where it runs, and how its counts are printed."""

    settings_from: Annotated[
        Path | None, groups.Option("Take the settings of a database.", metavar="FILE.db")
    ] = None
    format: Annotated[
        Literal["auto", "parquet", "jsonl"],
        groups.Option("Of INPUT; auto: by name.", section=INPUT),
    ] = "auto"
    master: Annotated[
        str | None, groups.Option("Where to run. [default: as configured]", metavar="URL")
    ] = None
    conf: Annotated[
        Sequence[str],
        groups.Option("A setting of Spark; repeatable.", metavar="NAME=VALUE", section=ADVANCED),
    ] = ()
    as_json: AsJson = False

    def __post_init__(self) -> None:
        for setting in self.conf:
            name, equals, _ = setting.partition("=")
            if not name or not equals:
                raise UsageError(f"--conf {setting!r} is not NAME=VALUE")

    def settings(self, options: SettingsOptions, *defaults: Path) -> Settings:
        """Those of a database, else the options; without any, those of another database."""
        from lshdb.maintain.resolve import resolve

        # Any index may be asked for another threshold.
        given = [
            name
            for name, value in groups.values_of(options).items()
            if name != "threshold" and value is not None
        ]
        file = self.settings_from
        if file is not None and given:
            raise UsageError(f"give either --settings-from or --{given[0]}")
        if file is None and (given or not defaults):
            return resolve(options)
        return settings_of(file or defaults[0])

    @contextmanager
    def session(self, *outputs: str | None) -> Iterator[SparkSession]:
        """Spark, if none of the outputs is there; LshdbError where it is not installed."""
        from lshdb.apps.spark import check_installed

        try:
            check_installed()
        except ImportError as error:
            raise LshdbError(str(error)) from error
        from lshdb.apps.spark import starting

        with starting.session(
            self.master, dict(setting.split("=", 1) for setting in self.conf)
        ) as spark:
            for path in filter(None, outputs):
                if starting.exists(spark, path):
                    raise UsageError(f"{path} already exists: name a new directory")
            yield spark

    def read(self, spark: SparkSession, path: str, columns: Mapping[str, Any]) -> reading.SparkRows:
        """INPUT, whose format OUTPUT has too; what is special about it is printed."""
        source = rows_of_input(spark, path, self.format, columns)
        for note in source.notes:
            messages.message(f"lshdb: {note}")
        return source

    def report(self, numbers: Mapping[str, int], counts: Counts, *left_out: CountName) -> None:
        """Warn of what was left out, and print numbers; with --json also of that."""
        for line in counts.lines():
            messages.warn(f"lshdb: {line}")
        if self.as_json:
            results.json_line({**numbers, **{name: counts[name] for name in left_out}})
        else:
            messages.message(", ".join(f"{name} {number:,}" for name, number in numbers.items()))


def check_names(*paths: str | None) -> None:
    """UsageError for a name that is not UTF-8, which Spark cannot take."""
    for path in filter(None, paths):
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{printable_path(path)}: Spark takes only names that are UTF-8: rename it"
            ) from error


def rows_of_input(
    spark: SparkSession, path: str, format: str, columns: Mapping[str, Any]
) -> reading.SparkRows:
    """The rows of a file or folder, of which these columns are wanted, and its broken lines."""
    from lshdb.apps.spark import reading

    named = "json" if format == "jsonl" else format
    return reading.read(spark, path, named, [*columns.values()])


def report_failures(*failures: DataFrame | None) -> int:
    """Print the first failures (where, reason), as other commands do; how many there are."""
    reported = documents.counts_printed().failures
    for listed in filter(None, failures):
        for row in listed.limit(max(documents.FAILURES_SHOWN - reported.count, 0) + 1).collect():
            reported(Failure(row["where"], row["reason"]))
    return sum(listed.count() for listed in filter(None, failures))


def settings_of(file: Path) -> Settings:
    """The settings of a database."""
    import lshdb

    with lshdb.open(file, mode="read") as database:
        return database.settings
