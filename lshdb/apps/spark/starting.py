"""Starting Spark, and its errors as lshdb's own."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lshdb import InputError, LshdbError

_DEFAULTS = {
    # lshdb prints one line for an error; Spark would print Java's stacks before it.
    "spark.log.level": "FATAL",
    # Of documents that Spark hands to Python in one batch.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    # Spark's own default, INT96, loses the time zone of a column.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of Spark, unless others are given."""


_NO_REASON = ("at ", "File ", "Traceback", "JVM", "An error occurred while calling ")
"""Beginnings of lines in a message of Java or Python that do not say what failed."""


@contextmanager
def session(master: str | None, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A Spark session as configured; `master` overrides the configuration's.

    A session that already runs in this process gets the settings that can still change, and keeps
    running. Errors of tasks and of Spark become one line.

    Raises:
        LshdbError: Spark does not start.
    """
    # Workers on this machine use the Python that runs this; spark-submit has its own setting, and
    # other machines have their own.
    if "PYSPARK_GATEWAY_PORT" not in os.environ and (master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lshdb")
    if master is not None:
        builder = builder.master(master)
    defaults = {"spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false"}
    for name, value in (_DEFAULTS | defaults | dict(settings)).items():
        builder = builder.config(name, value)
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise LshdbError("Spark needs Java 17 or newer: install it, or set JAVA_HOME")
    running = SparkSession.getActiveSession() is not None
    with translated_errors():
        spark = builder.getOrCreate()
    try:
        with translated_errors():
            yield spark
    finally:
        if not running:
            spark.stop()


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise Spark's errors as one line of lshdb's own."""
    try:
        yield
    except PySparkException as error:
        raise InputError(f"Spark: {_line(str(error))}") from error
    except Exception as error:
        # Java's own errors come through py4j, which lshdb does not import for this.
        if type(error).__module__.startswith("py4j."):
            raise LshdbError(f"Spark: {_line(str(error))}") from error
        raise


def _line(text: str) -> str:
    """The line of a message with a traceback that says what failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lshdb_errors = [line for line in lines if re.match(r"lshdb\.errors\.\w+: ", line)]
    if lshdb_errors:
        return lshdb_errors[-1].partition(": ")[2]
    causes = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ")]
    reasons = [line for line in lines if not line.startswith(_NO_REASON)]
    return ([*reversed(causes), *reasons] or ["it failed"])[0][:500]


def hadoop(spark: SparkSession, path: str) -> tuple[Any, Any, Any]:
    """Java's `org.apache`, the path as Java has it, and the configuration of the file systems."""
    java = spark.sparkContext._jvm
    assert java is not None
    apache = java.org.apache
    return apache, apache.hadoop.fs.Path(path), spark.sparkContext._jsc.hadoopConfiguration()


def exists(spark: SparkSession, path: str) -> bool:
    """Whether a path exists, on any file system of Spark."""
    _, target, configuration = hadoop(spark, path)
    with translated_errors():
        return bool(target.getFileSystem(configuration).exists(target))
