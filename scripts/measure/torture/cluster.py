"""spark-dedup on a cluster: a master and two workers, whose Python lacks lshdb.

    python scripts/measure torture.cluster

Takes a minute, and Java and the extra `spark`. spark-submit sends the package to the executors. The
rows are in partitions of Parquet, before and after. What is kept and dropped must be what one
machine keeps and drops, in all columns; both executors must have had tasks; and the driver takes
less from all tasks of a job together than a fifth of the rows. The short form is in
tests/apps/spark/test_spark.py, with one executor.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
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
MASTER: Final = "local-cluster[2,1,512]"
"""A master and two workers, each with a processor and megabytes, whose executors are processes."""
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
    command: list[str | Path] = [HOME / "bin" / "spark-submit", "--master", MASTER]
    for name, value in conf.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--py-files", package(directory / "lshdb.zip")]
    command += [PACKAGE / "apps" / "spark" / "__main__.py", directory / "in", directory / "out"]
    command += ["--dropped", directory / "dropped"]
    for option, setting in OPTIONS.items():
        command += [f"--{option}", str(setting)]
    (library,) = HOME.glob("jars/scala-library-*.jar")
    variables = {
        # Workers look for it among Spark's sources.
        "SPARK_SCALA_VERSION": library.stem.split("-")[2][:4],
        "SPARK_HOME": str(home(directory / "home")),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=False
    )
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
    with tempfile.TemporaryDirectory(prefix="lshdb-cluster-") as directory:
        run(Path(directory), 1_000)
    print("kept and dropped as on one machine, by both executors")
