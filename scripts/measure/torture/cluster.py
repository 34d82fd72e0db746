"""spark-dedup on a standalone cluster: a master and two workers, whose Python lacks lshdb.

    python scripts/measure torture.cluster [--documents 1000]

Takes a minute, and Java and the extra `spark`. spark-submit sends the package to the executors. The
rows are in partitions of Parquet, before and after. What is kept and dropped must be what one
machine keeps and drops, in all columns; both executors must have had tasks; and the driver takes
less from all tasks of a job together than a fifth of the rows. The short form is in
tests/spark/test_spark.py, with one executor.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

import lshdb
from measure.common.generate import texts

PACKAGE: Final = Path(lshdb.__file__).parent
HOME: Final = Path(pyspark.__file__).parent
QUICK: Final = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Java's best compiler, and to verify Spark's own classes, take longer than what is run here."""
TAKEN: Final = 96
"""Kilobytes that the driver takes from all tasks of a job; Spark ends a job that has more."""
OPTIONS: Final = {"threshold": 0.8, "shingle": "word:3"}
CONF: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.driver.maxResultSize": f"{TAKEN}k",
    "spark.driver.memory": "512m",
    "spark.eventLog.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.executor.memory": "512m",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def home(directory: Path) -> Path:
    """A new directory that is Spark's for the processes that keep their files beside Spark's."""
    directory.mkdir()
    for path in HOME.iterdir():
        (directory / path.name).symlink_to(path)
    return directory


def package(path: Path) -> Path:
    """Write the archive that executors get: lshdb, with all that it reads."""
    with zipfile.ZipFile(path, "w") as packed:
        for one in PACKAGE.rglob("*"):
            name = one.relative_to(PACKAGE.parent)
            if one.suffix in (".py", ".sql", ".bin"):
                packed.write(one, name)
            compiled = Path(cache_from_source(one))
            if one.suffix == ".py" and compiled.exists():  # else each Python would compile it
                packed.write(compiled, name.with_suffix(".pyc"))
    return path


@contextmanager
def started_in(directory: Path) -> Iterator[str]:
    """Start a master and two workers in a directory; the address of the master."""
    deploy = "org.apache.spark.deploy"
    local = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    with ExitStack() as ending:
        started = java(directory / "master", f"{deploy}.master.Master", *local)
        master = ending.enter_context(started)
        found = said(master, r"Starting Spark master at (spark://\S+)")
        logs = []
        for number in range(2):
            own = directory / f"worker-{number}"
            size = ["--cores", "1", "--memory", "512m", "--work-dir", str(own / "work")]
            started = java(own, f"{deploy}.worker.Worker", *local, *size, found)
            logs.append(ending.enter_context(started))
        for log in logs:
            said(log, "Successfully registered with master")
        yield found


def variables_of(directory: Path) -> dict[str, str]:
    """What processes of Spark need."""
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ['PATH']}")
    if java is None:
        sys.exit("Spark needs Java 17 or newer: install it, or set JAVA_HOME")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "LANG": "C.UTF-8",
        "JAVA_HOME": str(Path(java).resolve().parents[1]),
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@contextmanager
def java(directory: Path, *arguments: str) -> Iterator[Path]:
    """A process of Spark, in a directory; the file of what it says."""
    directory.mkdir(parents=True)
    log = directory / "log"
    (library,) = HOME.glob("jars/scala-library-*.jar")
    variables = {**variables_of(directory), "SPARK_SCALA_VERSION": library.stem.split("-")[2][:4]}
    program = f"{variables['JAVA_HOME']}/bin/java"
    command = [program, "-Xmx256m", *QUICK.split(), "-cp", f"{HOME / 'jars'}/*", *arguments]
    config = directory / "log4j2.properties"
    config.write_text(
        "rootLogger.level=info\nrootLogger.appenderRef.out.ref=out\nappender.out.type=Console\n"
        "appender.out.name=out\nappender.out.layout.type=PatternLayout\n"
    )
    command.insert(1, f"-Dlog4j2.configurationFile={config}")
    with (
        log.open("wb") as file,
        subprocess.Popen(
            command, cwd=directory, env=variables, stdout=file, stderr=file
        ) as process,
    ):
        try:
            yield log
        finally:
            process.terminate()


def said(log: Path, pattern: str) -> str:
    """The first match of a pattern in a file that a process writes."""
    for _ in range(600):
        if found := re.search(pattern, log.read_text("utf-8", "replace")):
            return found[found.re.groups]
        time.sleep(0.1)
    raise AssertionError(log.read_text("utf-8", "replace"))


def python_without_lshdb(directory: Path) -> Path:
    """A Python that has what lshdb depends on, and not lshdb."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    # A directory that is named in a .pth file is used, but its own .pth files are not: one of them
    # leads to lshdb.
    (site,) = directory.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(f"{Path(np.__file__).parents[1]}\n", "utf-8")
    own = directory / "bin" / "python"
    done = subprocess.run(
        [own, "-P", "-c", "import numpy, lshdb"],
        env={},
        capture_output=True,
        check=False,
    )
    assert b"No module named 'lshdb'" in done.stderr
    return own


def run(directory: Path, count: int) -> None:
    """Have a cluster drop near duplicates, and check what it did; an AssertionError says what."""
    documents = dict(texts(count, 2_500, duplicates=0.5))
    assert write(documents, directory / "in") > 5 * TAKEN << 10, "more documents are needed"
    (events := directory / "events").mkdir()
    conf = {
        **CONF,
        "spark.eventLog.dir": events.as_uri(),
        "spark.pyspark.driver.python": sys.executable,
        "spark.pyspark.python": str(python_without_lshdb(directory / "python")),
    }
    with started_in(directory / "cluster") as master:
        command: list[str | Path] = [HOME / "bin" / "spark-submit", "--master", master]
        for one in conf.items():
            command += ["--conf", "=".join(one)]
        command += ["--py-files", package(directory / "lshdb.zip")]
        command += [PACKAGE / "spark" / "__main__.py", directory / "in", directory / "out"]
        command += ["--dropped", directory / "dropped"]
        for option, value in OPTIONS.items():
            command += [f"--{option}", str(value)]
        own = variables_of(directory)
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compare(documents, directory)
    assert {*executors(events)} == {"0", "1"}, "an executor had nothing to do"


def write(documents: Mapping[str, str], directory: Path) -> int:
    """Write documents in partitions, in no order; how many bytes their texts have."""
    directory.mkdir(parents=True)
    keys = sorted(documents, key=lambda key: key[::-1])
    for part in range(3):
        own = keys[part::3]
        columns = {"id": own, "text": [documents[key] for key in own], "n": [*range(len(own))]}
        pq.write_table(pa.table(columns), directory / f"part-{part}.parquet")
    return sum(map(len, documents.values()))


def compare(documents: Mapping[str, str], directory: Path) -> None:
    """The rows are those that one machine keeps and drops, from the first to the last column."""
    rows = [{"id": key, "text": documents[key]} for key in sorted(documents)]
    expected = lshdb.dedup(rows, workers=0, **OPTIONS)  # type: ignore[call-overload]
    assert len(rows) // 10 < expected.dropped_count < len(rows) * 9 // 10
    kept = pq.read_table(directory / "out")
    assert kept.column_names == ["id", "text", "n"]
    columns = kept.select(["id", "text"]).to_pydict()
    assert dict(zip(*columns.values(), strict=True)) == {
        one["id"]: one["text"] for one in expected.kept
    }
    table = expected.dropped.to_arrow()
    dropped = pq.read_table(directory / "dropped").select(table.column_names)
    for one in (own := dropped.sort_by("key").to_pylist()):
        one["line"] = None
    theirs = table.sort_by("key").to_pylist()
    for one in theirs:
        one["line"] = one["kept_line"] = None
    assert own == theirs


def executors(directory: Path) -> Iterator[str]:
    """The executor of each task that ended, from the log of a run."""
    for path in directory.rglob("events_*"):
        for line in path.read_text("utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                yield event["Task Info"]["Executor ID"]


def main() -> None:
    """Run it once, and say that nothing was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lshdb-cluster-") as directory:
        run(Path(directory), given.documents)
    print(f"{given.documents:,} rows: kept and dropped as on one machine, by both executors")


if __name__ == "__main__":
    main()
