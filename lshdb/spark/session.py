"""Starting Spark, and its errors as lshdb's own."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lshdb.errors import InputError, LshdbError


@contextmanager
def session(master: str | None, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Spark as it is configured; a master that is given comes before that of the configuration.

    A session that runs in this process already gets the settings that may still change, and is
    left running. What a task raises is one line of lshdb's own; so is what Spark refuses.

    Raises:
        LshdbError: Spark does not start.
    """
    # Workers on this machine are of the environment that runs this; what spark-submit starts has
    # been told, and other machines have their own.
    if "PYSPARK_GATEWAY_PORT" not in os.environ and (master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lshdb")
    if master is not None:
        builder = builder.master(master)
    defaults = {
        "spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false",
        "spark.log.level": "ERROR",
    }
    for name, value in (defaults | dict(settings)).items():
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
    """Raise what Spark raises as one line of lshdb's own."""
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
    """Of a message with a trace, the line that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    own = [line for line in lines if re.match(r"lshdb\.errors\.\w+: ", line)]
    if own:
        return own[-1].partition(": ")[2]
    reasons = [line for line in lines if not line.startswith(("at ", "File ", "Traceback", "JVM"))]
    return (reasons or ["it failed"])[0][:500]


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is something at a path, wherever Spark can write."""
    java = spark.sparkContext._jvm
    assert java is not None
    target = java.org.apache.hadoop.fs.Path(path)
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    with translated_errors():
        return bool(target.getFileSystem(configuration).exists(target))
