"""INPUT of the commands: JSON lines or Parquet, on any path that Spark reads."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from lshdb import InputError
from lshdb.apps.spark import clustering, starting
from lshdb.apps.spark.frame_documents import quoted
from lshdb.read.paths import format_of, partition_of

_BROKEN = "lshdb broken line"
"""A name that differs from all columns of users."""
_BROKEN_ALONE = "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN"
"""Spark's error if the rows have no other column, except columns from names of directories."""
_LINE_SHOWN = 60
"""Characters of a broken line that are shown."""
_NANOSECONDS = "TIMESTAMP(NANOS"


@dataclass(frozen=True)
class SparkRows:
    """Rows of files.

    Attributes:
        rows: the rows.
        format: Spark's name of their format: `json` or `parquet`.
        broken: where string, reason string, for each line that is not a JSON object; None if all
            lines are objects.
        notes: notes for the user, one line each.
    """

    rows: DataFrame
    format: str
    broken: DataFrame | None = None
    notes: Sequence[str] = ()


def read(spark: SparkSession, path: str, format: str, columns: Sequence[str]) -> SparkRows:
    """The rows of a file, a directory and those below it, or a pattern.

    Args:
        spark: a session.
        path: a path on any file system of Spark.
        format: `json`, `parquet`, or `auto`: by the names of the files.
        columns: the columns for an input without rows, which has none of its own.

    Raises:
        InputError: no line is a JSON object; or the input has timestamps in nanoseconds within
            other values.
        PySparkException: there is no such path, or it cannot be read.
    """
    files = spark.read.text(path).inputFiles()
    if format == "auto":
        # Without a name that says so, as of a directory, Spark's own default.
        formats = {format_of(name) for name in (*files, path.rstrip("/"))}
        format = "json" if formats & {"json", "jsonl"} else "parquet"

    def nothing(reason: str) -> SparkRows:
        schema = StructType([StructField(name.split(".")[0], StringType()) for name in columns])
        return SparkRows(spark.createDataFrame([], schema), format, notes=[f"{path}: {reason}"])

    if not files:
        return nothing("it has no files of rows")
    if format == "parquet":
        return _of_parquet(spark, path, files)
    rows = spark.read.option("columnNameOfCorruptRecord", _BROKEN).json(path)
    if not rows.columns:
        return nothing("it has no rows")
    return _without_broken(rows, path) if _BROKEN in rows.columns else SparkRows(rows, format)


def _without_broken(rows: DataFrame, path: str) -> SparkRows:
    """The rows of JSON lines, and the lines that are not objects."""
    line = F.col(f"`{_BROKEN}`")
    others = [F.col(quoted(name)) for name in rows.columns if name != _BROKEN]
    start = F.substring(line, 1, _LINE_SHOWN)
    broken = rows.where(line.isNotNull()).select(
        F.col("_metadata.file_path").alias("where"),
        F.concat(F.lit("not a JSON object: "), start).alias("reason"),
        F.hash(F.lit(0), *others),  # Spark does not read broken lines alone
    )
    try:
        broken = clustering.checkpointed(broken).select("where", "reason")
    except PySparkException as error:
        if error.getCondition() != _BROKEN_ALONE:
            raise
        raise InputError(f"{path}: no line is a JSON object") from error
    return SparkRows(rows.where(line.isNull()).drop(line), "json", broken)


def _of_parquet(spark: SparkSession, path: str, files: Sequence[str]) -> SparkRows:
    """Parquet, also with times of pandas that Spark does not have."""
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    # A column that came later is null before; types that Spark cannot merge are an error.
    rows, notes = spark.read.option("mergeSchema", "true").parquet(path), []
    types = _types(spark, files, rows.columns)
    in_nanoseconds = [name for name, kind in types.items() if _NANOSECONDS in kind]
    changed: dict[str, Column] = {}
    for name in in_nanoseconds:
        if "\n" in types[name]:
            raise InputError(
                f"{path}: column {name!r} has timestamps in nanoseconds within it, and Spark has "
                "microseconds: write it again with timestamps in microseconds"
            )
        has_zone = f"{_NANOSECONDS},true" in types[name]
        epoch = "timestamp_micros(0)" if has_zone else "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
        whole = f"({quoted(name)} - pmod({quoted(name)}, 1000))"  # rounded down before 1970, too
        changed[name] = F.expr(f"timestampadd(MICROSECOND, {whole} div 1000, {epoch})")
    if changed:
        shown = ", ".join(changed)
        notes = [f"{path}: nanoseconds become microseconds, as Spark has them, in column {shown}"]
    return SparkRows(rows.withColumns(changed), "parquet", notes=notes)


def _types(spark: SparkSession, files: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The types of columns as Parquet writes them, from as many files as it takes to know all."""
    types: dict[str, str] = {}
    for file in files:
        if types.keys() >= {*columns} - partition_of(file).keys():
            break
        apache, target, configuration = starting.hadoop(spark, file)
        source = apache.parquet.hadoop.util.HadoopInputFile.fromPath(target, configuration)
        with contextlib.closing(apache.parquet.hadoop.ParquetFileReader.open(source)) as reader:
            for column in reader.getFooter().getFileMetaData().getSchema().getFields():
                types[column.getName()] = column.toString()
    return types
