"""A standalone cluster: a master and two workers as processes of their own, which lack lshdb.

spark-submit sends them the package. Rows are in partitions of Parquet, before and after, and the
driver takes less from all tasks of a job together than the rows are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import ROOT, environment, text_families

import lshdb

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: the extra `spark`")
JAVA = (os.environ.get("JAVA_HOME") or "") and str(Path(os.environ["JAVA_HOME"], "bin", "java"))
JAVA = JAVA or shutil.which("java") or ""
if not JAVA:
    pytest.skip("Java is not installed: Spark needs 17 or newer", allow_module_level=True)

HOME: Final = Path(pyspark.__file__).parent
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The best compiler takes longer than all that is run here."""
TAKEN: Final = "96k"
"""What the driver takes from all tasks of a job; Spark ends a job that has more for it."""
CONF: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.driver.maxResultSize": TAKEN,
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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a master with two workers, and their directory."""
    directory = tmp_path_factory.mktemp("cluster")
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
        yield found, directory


def variables_of(directory: Path) -> dict[str, str]:
    """What processes of Spark need."""
    own = {"JAVA_HOME": str(Path(JAVA).resolve().parents[1]), "SPARK_HOME": str(HOME)}
    return {**environment(directory), **own, "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def java(directory: Path, *arguments: str) -> Iterator[Path]:
    """A process of Spark, in a directory; the file of what it says."""
    directory.mkdir()
    log = directory / "log"
    command = [JAVA, "-Xmx256m", *QUICK.split(), "-cp", f"{HOME / 'jars'}/*", *arguments]
    (library,) = HOME.glob("jars/scala-library-*.jar")
    variables = {**variables_of(directory), "SPARK_SCALA_VERSION": library.stem.split("-")[2][:4]}
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
        env=environment(directory),
        capture_output=True,
        check=False,
    )
    assert b"No module named 'lshdb'" in done.stderr
    return own


STATEMENTS: Final = (
    *("{} = 1", "{}(1, 2)", "del {}[0]", "if {}: pass", "return {}", "{} += 'a'", "import {}"),
    *("x = [{}]", "for {} in x: y()", "with {} as f: f()", "not {}", "-{} ** 2", "lambda {}: 0"),
)


def programs() -> dict[str, str]:
    """Sources of a statement a word, some with few edits; names do not count."""
    texts = text_families(5, families=50, copies=3, words=250, most_edits=14)
    return {
        key: "\n".join(
            STATEMENTS[zlib.crc32(word.encode()) % len(STATEMENTS)].format(f"{word}_{n % 3}")
            for n, word in enumerate(text.split())
        )
        for key, text in texts.items()
    }


def test_dedup_of_partitions_on_a_cluster(cluster: tuple[str, Path], tmp_path: Path) -> None:
    documents, options = programs(), {"threshold": 0.9, "shingle": "code:5"}
    assert write(documents, tmp_path / "in") > 5 * int(TAKEN[:-1]) << 10
    archive = tmp_path / "lshdb.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (ROOT / "lshdb").rglob("*"):
            if path.suffix in (".py", ".sql", ".bin"):
                packed.write(path, path.relative_to(ROOT))
    (events := tmp_path / "events").mkdir()
    conf = {
        **CONF,
        "spark.eventLog.dir": events.as_uri(),
        "spark.pyspark.driver.python": sys.executable,
        "spark.pyspark.python": str(python_without_lshdb(tmp_path / "python")),
    }
    command: list[str | Path] = [HOME / "bin" / "spark-submit", "--master", cluster[0]]
    for one in conf.items():
        command += ["--conf", "=".join(one)]
    command += ["--py-files", archive, ROOT / "lshdb" / "spark" / "__main__.py"]
    command += [tmp_path / "in", tmp_path / "out", "--dropped", tmp_path / "dropped"]
    for option, value in options.items():
        command += [f"--{option}", str(value)]
    own = variables_of(tmp_path)
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compare(documents, tmp_path, options)
    assert {*executors(events)} == {"0", "1"}


def write(documents: Mapping[str, str], directory: Path) -> int:
    """Write documents in partitions, in no order; how many bytes their texts have."""
    directory.mkdir(parents=True)
    keys = sorted(documents, key=lambda key: key[::-1])
    for part in range(3):
        own = keys[part::3]
        columns = {"id": own, "text": [documents[key] for key in own], "n": [*range(len(own))]}
        pq.write_table(pa.table(columns), directory / f"part-{part}.parquet")
    return sum(map(len, documents.values()))


def compare(documents: Mapping[str, str], directory: Path, given: Mapping[str, Any]) -> None:
    """The rows are those that one machine keeps and drops, from the first to the last column."""
    rows = [{"id": key, "text": documents[key]} for key in sorted(documents)]
    expected = lshdb.dedup(rows, workers=0, **given)
    assert 50 < expected.dropped_count < len(rows) - 40
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
