"""Spark finds what a file finds, bit for bit, in a session of its own on this machine."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from helpers import Command, set_families, text_families

import lshdb

pytest.importorskip("pyspark", reason="PySpark is not installed: the extra `spark`")
if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
    pytest.skip("Java is not installed: Spark needs 17 or newer", allow_module_level=True)

import lshdb.spark
from lshdb.cli.app import make_app
from lshdb.search.pairs import Components
from lshdb.spark.clustering import components
from lshdb.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark's sockets to its workers are closed when they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

COLLECTION = Path(os.environ.get("LSHDB_TEST_DATA", "")) / "docs.jsonl"
"""Documents of your own, JSON lines with id and text."""
CONF = {
    # Its best compiler takes longer than all that is run here.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
}
"""Batches so small that documents, buckets and pairs go over their ends."""
STRANGE = {
    "": "a key that is empty",
    "nul\0": "a key with a NUL",
    "empty": " \n",
    "long s": "ﬁne STRASSE ſtraße, 日本語の文章, naïve cafe\u0301 and so on",
    "short s": "fine strasse strasse 日本語の文章 naïve café and so on",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the file: Java takes seconds to start."""
    directory = tmp_path_factory.mktemp("spark")
    conf = {**CONF, "spark.local.dir": str(directory), "spark.sql.warehouse.dir": str(directory)}
    with session("local[2]", conf) as started:
        yield started


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in df.collect())


def frame(spark: SparkSession, documents: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    return spark.createDataFrame(list(documents), schema).repartition(3)


def of_file(path: Path, **settings: Any) -> tuple[lshdb.Settings, dict[str, list[Any]]]:
    """What a file has: signatures, bands, pairs by key order."""
    with lshdb.open(path, **settings) as db:
        documents = list(map(db.get, db.keys()))
        bands = list(db.sql("SELECT key, band_no, bucket_key FROM bucket_members")[1])
        pairs = [(*sorted((p.a, p.b)), p.similarity, p.exact, p.estimate) for p in db.pairs()]
        signatures = [
            (
                one.key,
                one.shingles,
                None if one.signature is None else one.signature.astype("<u4").tobytes(),
                None if one.bucket_keys is None else one.bucket_keys.tolist(),
            )
            for one in documents
        ]
        return db.settings, {"signatures": signatures, "bands": bands, "pairs": pairs}


def bands_of(signed: DataFrame) -> list[tuple[Any, ...]]:
    return rows(lshdb.spark.bands(signed).select("key", "band_no", "bucket_key"))


def stored(signed: DataFrame) -> list[tuple[Any, ...]]:
    return [(key, n, s and bytes(s), b) for key, n, s, b in rows(signed)]


def test_texts_are_found_as_in_a_file(spark: SparkSession, path: Path) -> None:
    texts = {**STRANGE, **text_families(5, families=50, copies=5, words=40, most_edits=10)}
    usable = sorted((key, text) for key, text in texts.items() if key and "\0" not in key)
    with lshdb.open(path, threshold=0.6) as db:
        db.add_many(usable, workers=0)
    settings, expected = of_file(path)
    assert len(expected["pairs"]) > 100
    useless = [(None, "no key"), ("no text", None)]
    df = frame(spark, [*texts.items(), *useless], "id string, text string")
    counts = lshdb.spark.Counts(spark)
    signed = lshdb.spark.signatures(df, settings, counts=counts)
    assert stored(signed) == sorted(expected["signatures"])
    assert (counts.bad_keys, counts.bad_contents, counts.empty) == (3, 1, 1)
    assert bands_of(signed) == sorted(expected["bands"])
    assert rows(lshdb.spark.pairs(df, settings, limit=None)) == sorted(expected["pairs"])


@pytest.mark.parametrize(
    "given",
    [
        {"threshold": 0.5, "construction": "and 2, or 4, and 4, or 4", "shingle": "char:5"},
        {"threshold": 0.6, "content": False, "sketch": "minhash", "permutations": 64},
    ],
    ids=["cascade", "estimates"],
)
def test_pairs_of_any_settings_are_those_of_a_file(
    spark: SparkSession, path: Path, given: dict[str, Any]
) -> None:
    texts = text_families(5, families=50, copies=5, words=40, most_edits=10)
    with lshdb.open(path, **given) as db:
        db.add_many(sorted(texts.items()), workers=0)
    settings, expected = of_file(path)
    assert len(expected["pairs"]) > 100
    df = frame(spark, list(texts.items()), "id string, text string")
    assert rows(lshdb.spark.pairs(df, settings, limit=None)) == sorted(expected["pairs"])


def test_sets_are_found_as_in_a_file(spark: SparkSession, path: Path) -> None:
    sets = {**set_families(6, families=40, copies=4, size=30), "none": []}
    with lshdb.open(path, shingle="set", threshold=0.5) as db:
        db.add_many(sorted(sets.items()), workers=0)
    settings, expected = of_file(path)
    assert len(expected["pairs"]) > 40
    arrays: list[tuple[str, Any]] = [*sets.items(), ("a null", ["x", None])]
    df = frame(spark, arrays, "id string, set array<string>")
    counts = lshdb.spark.Counts(spark)
    found = rows(lshdb.spark.pairs(df, settings, limit=None, counts=counts))
    assert found == sorted(expected["pairs"])
    assert (counts.bad_contents, counts.empty) == (1, 1)
    texts = [(key, json.dumps(elements)) for key, elements in sets.items()]
    df = frame(spark, [*texts, ("no array", "{}")], "name string, members string")
    signed = lshdb.spark.signatures(df, settings, key="name", set="members")
    assert stored(signed) == sorted(expected["signatures"])


@pytest.mark.skipif(not COLLECTION.exists(), reason="LSHDB_TEST_DATA names no collection")
def test_a_real_collection_is_found_as_in_a_file(spark: SparkSession, path: Path) -> None:
    with lshdb.open(path, threshold=0.7) as db:
        db.add_files([str(COLLECTION)], workers=0)
    settings, expected = of_file(path)
    assert expected["pairs"]
    df = spark.read.schema("id string, text string").json(str(COLLECTION)).repartition(3)
    assert stored(lshdb.spark.signatures(df, settings)) == sorted(expected["signatures"])
    assert rows(lshdb.spark.pairs(df, settings, limit=None)) == sorted(expected["pairs"])


# hot buckets


@pytest.mark.parametrize("limit", [None, 2, 7])
def test_buckets_are_paired_whole_up_to_the_limit(spark: SparkSession, limit: int | None) -> None:
    rng = random.Random(limit or 0)
    sizes = [rng.choice((1, 1, 2, 3, 7, 8, 40)) for _ in range(60)]
    table, expected, cut = [], set(), []
    for number, size in enumerate(sizes):
        keys = [f"{member:04d}" for member in sorted(rng.sample(range(1000), size))]
        table += [(key, number // 20, number % 20 - 10) for key in keys]
        if limit is None or size <= limit:
            expected |= set(combinations(keys, 2))
        else:
            expected |= {(keys[0], key) for key in keys[1:]}
            cut.append(size * (size - 1) // 2 - (size - 1))
    counts = lshdb.spark.Counts(spark)
    bands = frame(spark, table, "key string, band_no int, bucket_key long")
    settings = lshdb.spark.make_settings()
    found = rows(lshdb.spark.candidate_pairs(bands, settings, limit=limit, counts=counts))
    assert found == sorted(expected)
    assert (counts.cut_buckets, counts.cut_pairs) == (len(cut), sum(cut))


def test_a_hot_bucket_makes_a_star(spark: SparkSession) -> None:
    settings = lshdb.spark.make_settings()
    many = spark.range(20_000).selectExpr(
        "lpad(id, 6, '0') AS key", "int(0) AS band_no", "bigint(7) AS bucket_key"
    )
    counts = lshdb.spark.Counts(spark)
    stars = rows(lshdb.spark.candidate_pairs(many, settings, counts=counts))
    assert stars == [("000000", f"{number:06d}") for number in range(1, 20_000)]
    assert (counts.cut_buckets, counts.cut_pairs) == (1, 19_999 * 19_998 // 2)
    (line,) = counts.lines(lshdb.spark.WHOLE)
    assert "2,000 documents: 1;" in line


# clusters


def test_clusters_are_the_connected_components_in_few_rounds(spark: SparkSession) -> None:
    # A long path takes most rounds; a random graph beside it has components of all sizes.
    names = [f"path {number:05d}" for number in range(300)]
    random.Random(4).shuffle(names)
    rng = np.random.default_rng(5)
    one, other = rng.integers(0, 300, (2, 200))
    known = Components(300)
    known.join(one, other)
    edges = [(f"{b:04d}", f"{a:04d}") for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    found, rounds = components(frame(spark, [*pairwise(names), *edges], "a string, b string"))
    assert rounds <= 9  # log2 of 300 is 8.2
    linked = {*one[one != other].tolist(), *other[one != other].tolist()}
    expected = [(f"{i:04d}", f"{known.labels[i]:04d}") for i in linked]
    assert rows(found) == sorted([*expected, *((name, "path 00000") for name in names)])


def test_one_of_each_cluster_is_kept(spark: SparkSession, path: Path) -> None:
    texts = text_families(8, families=30, copies=4, words=30, most_edits=4)
    with lshdb.open(path, threshold=0.6) as db:
        db.add_many(sorted(texts.items()), workers=0)
        settings = db.settings
        own = {
            (key, cluster.keep, score)
            for cluster in db.clusters(keep="longest")
            for key, score in zip(cluster.members, cluster.similarities, strict=True)
            if key != cluster.keep
        }
    documents: list[tuple[Any, ...]] = [(key, text, 1) for key, text in texts.items()]
    documents += [(None, "no key", 2), ("no text", None, 3)]
    df = spark.createDataFrame(documents, "`my.key` string, text string, more int")
    result = lshdb.spark.dedup(df, settings, key="my.key", keep="longest")
    assert rows(result.dropped) == sorted((*one, True) for one in own)
    kept = {tuple(row) for row in result.kept.collect()}
    gone = {key for key, _, _ in own}
    assert kept == {row for row in documents if row[0] not in gone}
    assert (result.counts.bad_keys, result.counts.bad_contents) == (1, 1)


# bad input


def test_what_cannot_be_is_refused_before_any_job(spark: SparkSession, tmp_path: Path) -> None:
    texts = lshdb.spark.make_settings()
    sets = lshdb.spark.make_settings(shingle="set")
    df = frame(spark, [("a", "x", 1.5), ("a", "y", 2.5)], "id string, text string, score double")

    def refused(error: type[Exception], match: str, settings: Any = texts, **options: Any) -> None:
        with pytest.raises(error, match=match):
            lshdb.spark.dedup(df, settings, **options)

    before = len(spark.sparkContext.statusTracker().getJobIdsForGroup())
    refused(lshdb.UsageError, "no column 'body'; there are 'id', 'text', 'score'", text="body")
    refused(
        lshdb.UsageError, "column 'score' is of type double: documents are strings", text="score"
    )
    refused(lshdb.UsageError, "column 'score' is of type double: keys are", key="score")
    refused(lshdb.UsageError, "settings are of sets", sets, text="text")
    refused(lshdb.UsageError, "settings are of texts", set="text")
    refused(lshdb.UsageError, "no column 'set'", sets)
    refused(lshdb.UsageError, "threshold 1.5", threshold=1.5)
    refused(lshdb.UsageError, "limit 1 ", limit=1)
    refused(lshdb.UsageError, "keep 'best' is not", keep="best")
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup()) == before
    refused(lshdb.InputError, r"several documents have the same key \('a'\)")
    with pytest.raises(lshdb.InputError, match="the same key"):
        lshdb.spark.write_databases(df, tmp_path / "dir", texts, shards=2)
    with pytest.raises(lshdb.UsageError, match="file systems only"):
        lshdb.spark.write_databases(df, "s3a://bucket/dir", texts, shards=2)
    assert not (tmp_path / "dir").exists()


# files


def test_files_are_written_and_read_back(spark: SparkSession, tmp_path: Path) -> None:
    texts = text_families(9, families=20, copies=3, words=30, most_edits=6)
    texts["empty"] = ""
    settings = lshdb.spark.make_settings(threshold=0.6)
    df = frame(spark, list(texts.items()), "id string, text string")
    shards = lshdb.spark.write_databases(df, tmp_path / "dir", settings, shards=3)
    assert [shard.path.name for shard in shards] == [f"shard-0000{i}-of-00003.db" for i in range(3)]
    assert sorted(one.name for one in (tmp_path / "dir").iterdir()) == [s.path.name for s in shards]
    assert sum(shard.documents for shard in shards) == len(texts)
    for shard in shards:
        assert lshdb.check(shard.path, deep=True).problems == ()
        with lshdb.open(shard.path, mode="read") as db:
            assert db.settings == settings
            assert len(db) == shard.documents > 0
            assert db.keys() == sorted(db.keys())
    with pytest.raises(lshdb.UsageError, match="holds databases already"):
        lshdb.spark.write_databases(df, tmp_path / "dir", settings, shards=3)

    pattern = tmp_path / "dir" / "*.db"
    read = lshdb.spark.read_database(spark, pattern)
    assert rows(read.select("key", "content")) == sorted(texts.items())
    again = lshdb.spark.signatures(read, settings, key="key", text="content")
    joined = again.join(read.withColumnRenamed("signature", "stored"), "key")
    assert joined.where("signature <=> stored").count() == len(texts)
    stored = lshdb.spark.read_bands(spark, pattern).join(read, ["file", "doc_id"])
    assert rows(stored.select("key", "band_no", "bucket_key")) == bands_of(again)
    with pytest.raises(lshdb.UsageError, match="no such file"):
        lshdb.spark.read_database(spark, tmp_path / "none.db")


# the command


def run_command(tmp_path: Path) -> Command:
    variables = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    return Command(tmp_path, {**variables, "SPARK_LOCAL_IP": "127.0.0.1"})


def test_the_command_drops_near_duplicates(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = text_families(10, families=8, copies=3, words=30, most_edits=2)
    texts["empty"] = ""
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"id": key, "text": text, "n": 1}) for key, text in texts.items()]
    (tmp_path / "in" / "a.jsonl").write_text("\n".join([*lines, '{"text": "no key"}']))
    with lshdb.open(tmp_path / "own.db", threshold=0.6) as db:
        db.add_many(sorted(texts.items()), workers=0)
        clusters = [set(cluster.members) - {cluster.keep} for cluster in db.clusters()]
    gone = set().union(*clusters)
    # In the session that is running: another Java would take as long as all other tests.
    source, kept_in, gone_in = (str(tmp_path / name) for name in ("in", "out", "gone"))
    arguments = ["--settings-from", str(tmp_path / "own.db"), "--dropped", gone_in, "--json"]
    with pytest.raises(SystemExit) as exit:
        make_app(["spark-dedup"])(["spark-dedup", source, kept_in, *arguments])
    assert not exit.value.code
    printed = capsys.readouterr()
    kept = len(texts) + 1 - len(gone)
    assert json.loads(printed.out) == {
        "kept": kept,
        "dropped": len(gone),
        "bad_keys": 1,
        "bad_documents": 0,
        "empty": 1,
        "cut_buckets": 0,
        "cut_pairs": 0,
    }
    assert "lshdb: rows without a usable key, not compared: 1" in printed.err
    written = [
        json.loads(line)
        for part in (tmp_path / "out").glob("part-*")
        for line in part.read_text().splitlines()
    ]
    assert {one.get("id") for one in written} == {*texts, None} - gone
    assert all(one.get("text") == texts.get(one.get("id", ""), "no key") for one in written)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["gone", "in", "out", "own.db"]
    assert spark.range(3).count() == 3  # the session goes on


def test_what_the_command_refuses(tmp_path: Path) -> None:
    run = run_command(tmp_path)
    assert "--format" in run.fails("spark-dedup", "in", "out", "--format", "csv", status=2)
    assert "--conf" in run.fails("spark-dedup", "in", "out", "--conf", "x", status=2)
    assert "--seed" in run.fails(
        "spark-dedup", "in", "out", "--settings-from", "x.db", "--seed", "3", status=2
    )
    # What spark-submit runs.
    script = Path(lshdb.spark.__file__).with_name("__main__.py")
    done = subprocess.run(
        [sys.executable, script, "in", "out", "--keep", "best"],
        cwd=tmp_path,
        env=run.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "lshdb: keep 'best' is not first, longest, last\n")


def test_without_pyspark_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ImportError('not here')")
    run = Command(tmp_path, {"PYTHONPATH": str(tmp_path)})
    reason = run.fails("spark-dedup", "in", "out")
    assert reason == "Spark is not installed: pip install 'lshdb[spark]'"


def test_spark_runs_the_interpreter_of_the_tests(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == sys.executable
