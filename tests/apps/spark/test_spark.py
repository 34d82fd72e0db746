"""Spark finds what a file finds, bit for bit, in tasks of two threads on this machine.

They have a Python without lshdb, to which Spark sends the package. What the driver takes is
limited. The long form, with executors that have a Java of their own, is
scripts/measure/torture/cluster.py.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import FORGED_TEXTS, Command, database_of, finish, set_families, text_families
from measure.torture import cluster

import lshdb
from lshdb.apps.passages.model import PASSAGE_PAIR
from lshdb.apps.spark.options import Keep

pytest.importorskip("pyspark", reason="PySpark is not installed: the extra `spark`")
if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
    pytest.skip("Java is not installed: Spark needs 17 or newer", allow_module_level=True)

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

import lshdb.spark
from lshdb.apps.dedup.model import DROPPED, dropped_columns, dropped_row
from lshdb.apps.spark import clustering, reading
from lshdb.apps.spark.frame_documents import documents, keys_of, number_order
from lshdb.apps.spark.options import SparkOptions
from lshdb.apps.spark.similar_pairs import candidate_pairs
from lshdb.apps.spark.starting import session, translated_errors
from lshdb.cli.app import make_app
from lshdb.keys import key_of_id
from lshdb.search.pairs import Components

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's sockets to its workers are closed when they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

MASTER = "local[2]"
"""An executor with its own Java would take a fifth more time."""
MEASURED = "COVERAGE_PROCESS_CONFIG" in os.environ
TAKEN = 150
"""Kilobytes that the driver takes from all tasks of a job; Spark ends a job that has more."""
CONF = {
    "spark.driver.extraJavaOptions": cluster.QUICK,
    "spark.executor.extraJavaOptions": cluster.QUICK,
    "spark.driver.maxResultSize": f"{TAKEN}k",
    "spark.ui.enabled": "false",
    # Plans would be made again after each shuffle.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    # A fifteenth of the time, for filters that small tables do not need.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    # Of a list of rows; a repartition would shuffle them again for every result.
    "spark.default.parallelism": "2",
    # Plans are printed for each stage, for pages that are not shown.
    "spark.sql.ui.explainMode": "simple",
    # The driver would take small tables, to send them to all.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "30",
    # Spark kills a worker that waits for more to do: under coverage it would not save its lines.
    "spark.python.worker.reuse": "false" if MEASURED else "true",
}
"""Batches so small that documents, buckets and pairs go over their ends."""
STRANGE = {
    "": "a key that is empty",
    "nul\0": "a key with a NUL",
    "empty": " \n",
    "long s": "ﬁne STRASSE ſtraße, 日本語の文章, naïve cafe\u0301 and so on",
    "short s": "fine strasse strasse 日本語の文章 naïve café and so on",
}
FORGED = dict(zip(("forged a", "forged b"), FORGED_TEXTS, strict=True))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the file: Java takes seconds to start."""
    directory = tmp_path_factory.mktemp("spark")
    conf = {**CONF, "spark.local.dir": str(directory), "spark.sql.warehouse.dir": str(directory)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])  # Spark adds what it sends
        patch.setenv("SPARK_HOME", str(cluster.home(directory / "home")))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        if not MEASURED:
            without = cluster.python_without_lshdb(directory / "python")
            patch.setenv("PYSPARK_PYTHON", str(without))
        interrupted = signal.getsignal(signal.SIGINT)
        with session(MASTER, conf) as started:
            signal.signal(signal.SIGINT, interrupted)  # Spark has its own, also once it has ended
            if not MEASURED:
                started.sparkContext.addPyFile(str(cluster.package(directory / "lshdb.zip")))
            yield started


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in df.collect())


def frame(spark: SparkSession, documents: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    """Rows in two partitions, in no order."""
    return spark.createDataFrame(random.Random(0).sample(documents, len(documents)), schema)


def pairs_of(db: lshdb.Database, **options: Any) -> list[tuple[Any, ...]]:
    """The pairs of a file, by key order."""
    return sorted((*sorted((p.a, p.b)), *astuple(p)[2:7]) for p in db.pairs(**options))


def bands_of(signed: DataFrame) -> list[tuple[Any, ...]]:
    return rows(lshdb.spark.bands(signed).select("key", "band_no", "bucket_key"))


def test_texts_are_found_as_in_a_file(spark: SparkSession, path: Path) -> None:
    texts = {**STRANGE, **text_families(5, families=20, copies=5, words=40, most_edits=10)}
    # Without signs, all words would be the same token.
    texts = {key: text.translate(str.maketrans("eirst", "()=;.")) for key, text in texts.items()}
    usable = sorted((key, text) for key, text in texts.items() if key and "\0" not in key)
    given: dict[str, Any] = {"threshold": 0.5, "construction": "and 2, or 4, and 4, or 4"}
    with database_of(path, usable, shingle="code:5", **given) as db:
        settings = db.settings
        bands = list(db.sql("SELECT key, band_no, bucket_key FROM bucket_members"))
        pairs = pairs_of(db)
        documents = map(db.get, db.keys())
        signatures = [
            (
                document.key,
                document.shingles,
                None if document.signature is None else document.signature.astype("<u2").tobytes(),
                None if document.bucket_keys is None else document.bucket_keys.tolist(),
            )
            for document in documents
        ]
    assert len(pairs) > 40
    useless = [(None, "no key"), ("no text", None)]
    df = frame(spark, [*texts.items(), *useless], "id string, text string")
    counts = lshdb.spark.Counts(spark)
    signed = lshdb.spark.signatures(df, settings, counts=counts)
    stored = [(key, n, s and bytes(s), b) for key, n, s, b in rows(signed)]
    assert stored == sorted(signatures)
    empty = sum(signature is None for _, _, signature, _ in signatures)
    assert (counts["bad_keys"], counts["bad_documents"], counts["empty"]) == (3, 1, empty)
    assert bands_of(signed) == sorted(bands)
    assert rows(lshdb.spark.pairs(df, settings, limit=None)) == pairs


def test_similarities_of_sets_are_estimated_as_in_a_file(spark: SparkSession, path: Path) -> None:
    """Without contents, or where that is asked for; sets are arrays or JSON."""
    sets = {**set_families(6, families=40, copies=4, size=30), "none": []}
    given: dict[str, Any] = {"sketch": "minhash", "permutations": 64}
    with database_of(path, sorted(sets.items()), shingle="set", threshold=0.5, **given) as db:
        settings, pairs = db.settings, pairs_of(db, estimate=True)
    assert len(pairs) > 40
    arrays: list[tuple[str, Any]] = [*sets.items(), ("a null", ["x", None])]
    df = frame(spark, arrays, "id string, set array<string>")
    counts = lshdb.spark.Counts(spark)
    bare = replace(settings, content=False)
    assert rows(lshdb.spark.pairs(df, bare, limit=None, counts=counts)) == pairs
    assert (counts["bad_documents"], counts["empty"]) == (1, 1)
    texts = [(key, json.dumps(elements)) for key, elements in sets.items()]
    df = frame(spark, [*texts, ("no array", "{}")], "name string, members string")
    named: dict[str, Any] = {"key": "name", "set": "members", "estimate": True, "limit": None}
    assert rows(lshdb.spark.pairs(df, settings, **named)) == pairs


# hot buckets


@pytest.mark.parametrize(
    ("limit", "only_against"), [(None, False), (7, False), (None, True), (7, True)]
)
def test_buckets_are_paired_whole_up_to_the_limit(
    spark: SparkSession, limit: int | None, only_against: bool
) -> None:
    """Also with documents of a reference, whose keys have a prefix, and which are not paired."""
    rng = random.Random(limit or 0)
    sizes = [rng.choice((1, 1, 2, 3, 7, 8, 40)) for _ in range(60)]
    table, expected, cut = [], set(), []
    for number, size in enumerate(sizes):
        references = rng.randrange(size + 1) if number % 3 == 0 else 0
        members = [f"{member:04d}" for member in sorted(rng.sample(range(1000), size))]
        known, new = [f"\0{key}" for key in members[:references]], members[references:]
        table += [(key, number // 20, number % 20 - 10) for key in known + new]
        pairs = {(a, b) for a in known for b in new}
        if not only_against:
            pairs |= {*combinations(new, 2)}
        if limit is not None and size > limit:
            stars = {(a, b) for a, b in pairs if a in {*known[:1], *new[:1]}}
            cut += [len(pairs) - len(stars)] * (pairs != stars)
            pairs = stars
        expected |= pairs
    counts = lshdb.spark.Counts(spark)
    bands = frame(spark, table, "key string, band_no int, bucket_key long")
    settings = lshdb.spark.make_settings()
    found = candidate_pairs(bands, settings, limit=limit, counts=counts, only_against=only_against)
    assert rows(found) == sorted(expected)
    assert (counts["cut_buckets"], counts["cut_pairs"]) == (len(cut), sum(cut))
    said = [line.rpartition(": ")[2] for line in counts.lines()]
    assert said == [f"{len(cut):,}", f"{sum(cut):,}"] * bool(cut)


# clusters


def test_clusters_are_the_connected_components(spark: SparkSession) -> None:
    """Of a random graph, whose components have all sizes."""
    rng = np.random.default_rng(5)
    one, other = rng.integers(0, 150, (2, 100))
    known = Components(150)
    known.join(one, other)
    edges = [(f"{b:04d}", f"{a:04d}") for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    linked = {*one[one != other].tolist(), *other[one != other].tolist()}
    expected = sorted((f"{i:04d}", f"{known.labels[i]:04d}") for i in linked)
    assert rows(lshdb.spark.clusters(frame(spark, edges, "a string, b string"))) == expected


# what is dropped


def dropped_of(
    documents: Mapping[Any, Any], keep: Keep, **given: Any
) -> dict[str, tuple[str, float]]:
    """What one machine drops of documents in the order of their keys: for which, how similar."""
    name = "set" if given.get("shingle") == "set" else "text"
    rows = [{"id": key, name: content} for key, content in sorted(documents.items())]
    found = lshdb.dedup(rows, keep=keep, workers=0, **given)
    return {one.key: (one.kept, one.similarity) for one in found.dropped}


def test_chains_are_decided_as_on_one_machine(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each document is similar to two neighbours only; a chain is longer than there are rounds.

    The ids are numbers: 2 comes before 9 and 10, and what is no id is named.
    """
    monkeypatch.setattr(clustering, "ROUNDS", 12)
    sets = {}
    for chain, length in enumerate((60, 20)):
        order = [*range(length)]
        if chain == 1:
            random.Random(3).shuffle(order)
        for number, start in enumerate(order):
            content = [f"{chain}-{n}" for n in range(start, start + 30)]
            sets[80 * chain + number - 50] = content
    settings: dict[str, Any] = {"shingle": "set", "threshold": 0.9}
    expected = dropped_of(sets, "last", **settings)
    assert 30 < len(sets) - len(expected) < 50
    table = [*sets.items(), (None, ["an element"]), (1000, ["x", None])]
    found = lshdb.spark.dedup(
        frame(spark, table, "id int, set array<string>"),
        lshdb.spark.make_settings(**settings),
        keep="last",
    )
    dropped = {row.key: (row.kept, row.similarity) for row in found.dropped.collect()}
    assert dropped == expected
    assert {str(row["id"]) for row in found.kept.collect()} == {*map(str, sets)} - dropped.keys()
    assert (found.counts["bad_keys"], found.counts["bad_documents"]) == (1, 1)
    failures = {failure["where"] for failure in found.failures.collect()}
    assert failures == {"a row with '[\"an element\"]'", "1000"}


@pytest.mark.parametrize("rule", ["identical", "copied:5"])
def test_dropped_rows_have_all_columns_as_on_one_machine(spark: SparkSession, rule: str) -> None:
    """Of copies, parts of others and empty ones; also of a reference."""
    rng = random.Random(5)
    texts = [" ".join(f"w{rng.randrange(90)}" for _ in range(rng.randrange(40))) for _ in range(20)]
    texts += [rng.choice(texts)[: rng.randrange(9, 90)] for _ in range(20)] + texts[:6]
    own, theirs = ({f"{n:03}": text for n, text in enumerate(some)} for some in (texts, texts[:5]))
    theirs = {f"{key}\xe9": text for key, text in theirs.items()}
    bad = [(None, texts[0]), ("none", None)]
    dropped = dropped_as_on_one_machine(spark, own, theirs, bad, rule=rule)
    assert {one["kept"] in theirs for one in dropped} == {True, False}


def dropped_as_on_one_machine(
    spark: SparkSession,
    own: Mapping[str, Any],
    theirs: Mapping[str, Any],
    bad: Sequence[tuple[Any, ...]],
    **given: Any,
) -> list[dict[str, Any]]:
    """The rows that are dropped, by key; all columns are those of `lshdb.dedup`, in their order."""
    copied = given["rule"] != "identical"
    tables = [[{"id": key, "text": one[key]} for key in sorted(one)] for one in (own, theirs)]
    found = lshdb.dedup(tables[0], against=tables[1], workers=0, **given).dropped
    names = dropped_columns((), copied=copied)
    of_table = {"line": None, "kept_line": None}  # rows of a DataFrame have no numbers
    expected = [
        dict(zip(names, dropped_row(one, copied=copied), strict=True)) | of_table
        for one in sorted(found, key=lambda one: one.key)
    ]
    schema = "id string, text string"
    df, against = (frame(spark, rows, schema) for rows in ([*own.items(), *bad], [*theirs.items()]))
    settings = lshdb.spark.make_settings()
    result = lshdb.spark.dedup(df, settings, against=against, **given)
    dropped = sorted((row.asDict() for row in result.dropped.collect()), key=itemgetter("key"))
    assert (dropped, [*dropped[0]]) == (expected, [*names])
    assert result.kept.count() == len(own) - len(expected)
    assert result.counts["bad_keys"] + result.counts["bad_documents"] == len(bad)
    assert result.failures.count() == len(bad)
    return dropped


@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
def test_test_sets_alone_as_on_one_machine(spark: SparkSession) -> None:
    """Several references with names of their own; their short texts match as a whole."""
    footer = "all rights of this page are with its authors and nobody may copy it"
    words = [" ".join(f"w{page}x{word}" for word in range(20)) for page in range(8)]
    rows: list[dict[str, Any]] = [
        {"id": f"{page}", "text": f"{text} {footer}"} for page, text in enumerate(words)
    ]
    rows[3]["text"] += " Who built the lighthouse here?"
    rows.append({"id": "none", "text": None})
    questions = [{"k": "q", "q": "who built the LIGHTHOUSE here"}, {"k": "r", "q": words[6][:60]}]
    fields, known = {"key": "k", "text": "q"}, [{"id": "x", "text": rows[5]["text"]}]
    known += [{"id": "the", "text": "W3x1"}, {"id": "all", "text": "not a PART"}]
    known.append({"id": "sign", "text": "\U0001f44d"})
    rows += [{"id": "sign", "text": "\U0001f44d"}, {"id": "other", "text": "\U0001f44e"}]
    rows.append({"id": "same", "text": "Not a part!"})
    known.append({"id": "y", "text": f"{rows[1]['text']} and more"})
    given: dict[str, Any] = {"rule": "copied:8", "only_against": True, "on_null": "keep"}
    expected = lshdb.dedup(rows, against=[(questions, fields), known], workers=0, **given)
    df, first = (spark.createDataFrame(some) for some in (rows, questions))
    against = [(first, fields), spark.createDataFrame(known)]
    settings = lshdb.spark.make_settings()
    result = lshdb.spark.dedup(df, settings, against=against, **given)
    dropped = {(row["key"], row["kept"], row["reference"]) for row in result.dropped.collect()}
    assert dropped == {(row.key, row.kept, row.reference) for row in expected.dropped}
    assert len(dropped) > 1
    assert ("sign", "sign") in {(key, stored) for key, stored, _ in dropped}
    kept = {row["id"] for row in result.kept.collect()}
    assert kept == {row["id"] for row in expected.kept}
    assert result.counts["short_references"] == 4
    with pytest.raises(lshdb.UsageError, match="only_against"):
        lshdb.spark.dedup(df, settings, **given)


# bad input


def test_signs_that_carry_meaning_count_as_on_one_machine(spark: SparkSession) -> None:
    texts = {
        str(n): f"it was {n} degrees in the town of Ur on that day" for n in (-5, 5, "\u22125")
    }
    given: dict[str, Any] = {"distinguish": "numbers", "threshold": 0.5}
    expected = dropped_of(texts, "first", **given)
    assert expected == {"\u22125": ("-5", 1.0)}
    df, settings = (
        frame(spark, [*texts.items()], "id string, text string"),
        lshdb.spark.make_settings(),
    )
    dropped = lshdb.spark.dedup(df, settings, **given).dropped.collect()
    assert {row.key: (row.kept, row.similarity) for row in dropped} == expected
    assert [pair[:2] for pair in rows(lshdb.spark.pairs(df, settings, **given))] == [
        ("-5", "\u22125")
    ]
    with pytest.raises(lshdb.UsageError, match="give no estimate"):
        lshdb.spark.pairs(df, settings, estimate=True, **given)
    signs = ["C++", "C#", "Caf\u00e9", "Cafe\u0301", "", "C#", "C++", "Caf\u00e9", ""]
    rows_of_signs = [{"id": f"{n}", "text": text} for n, text in enumerate(signs)]
    known = [{"id": "x", "text": "C#"}]
    for given in ({"keep": "last"}, {"only_against": True}):
        given = {**given, "rule": "identical"}
        one = lshdb.dedup(rows_of_signs, against=known, workers=0, **given).dropped
        df, against = (spark.createDataFrame(some) for some in (rows_of_signs, known))
        found = lshdb.spark.dedup(df, settings, against=against, **given)
        gone = {(row.key, row.kept, row.reference) for row in found.dropped.collect()}
        assert gone == {(row.key, row.kept, row.reference) for row in one}
        assert found.counts["empty"] == 2


def test_a_text_may_be_in_several_fields_and_in_others(spark: SparkSession) -> None:
    """By the rule for records of files."""
    rows = [("The fox", {"body": "and the grapes", "url": 1}), (None, {"body": "b", "url": 2})]
    df = spark.createDataFrame(
        [*rows, (None, {"body": None, "url": 3})], "title string, meta struct<body:string,url:int>"
    )
    settings = lshdb.spark.make_settings()
    found = documents(df, SparkOptions(settings, key="meta.url", text="title,meta.body")).collect()
    expected = [("1", "The fox\nand the grapes"), ("2", "b"), ("3", None)]
    assert [tuple(row) for row in found] == expected


def test_what_cannot_be_is_refused_before_any_job(spark: SparkSession, tmp_path: Path) -> None:
    texts = lshdb.spark.make_settings()
    sets = lshdb.spark.make_settings(shingle="set")
    schema = "id string, text string, score double, tags array<string>"
    df = frame(spark, [("a", "x", 1.5, []), ("a", "y", 2.5, [])], schema)

    def refused(error: type[Exception], match: str, settings: Any = texts, **options: Any) -> None:
        with pytest.raises(error, match=match):
            lshdb.spark.dedup(df, settings, **options)

    before = len(spark.sparkContext.statusTracker().getJobIdsForGroup())
    refused(
        lshdb.UsageError,
        "column 'body' is missing or repeated; there are 'id', 'text', 'score', 'tags'",
        text="body",
    )
    refused(
        lshdb.UsageError, "column 'score' is of type double: documents are strings", text="score"
    )
    refused(lshdb.UsageError, "type double, array<string>: an id is", key="score,tags")
    refused(lshdb.UsageError, "settings are for sets", sets, text="text")
    refused(lshdb.UsageError, "settings are for texts", set="text")
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup()) == before
    refused(lshdb.UsageError, "give no order", rule="contained", keep="longest")
    refused(lshdb.UsageError, "rule contained is not for Spark", rule="contained")
    refused(lshdb.UsageError, "rule copied:5 compares contents", rule="copied:5", estimate=True)
    refused(lshdb.UsageError, "give no threshold", rule="identical", threshold=0.5)
    refused(lshdb.SettingsError, "passages", sets, rule="copied:5")
    refused(lshdb.InputError, r"several documents have the same key \('a'\)")
    with pytest.raises(lshdb.UsageError, match="Connect cannot count"):
        lshdb.spark.Counts(object())  # type: ignore[arg-type]  # whose session has no context
    with pytest.raises(lshdb.UsageError, match="no index of passages"):
        lshdb.spark.passage_pairs(df, texts)
    with pytest.raises(lshdb.UsageError, match="file systems only"):
        lshdb.spark.write_databases(df, texts, "s3a://bucket/dir", shards=2)
    assert not (tmp_path / "dir").exists()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PySparkException("JVM\nFile 1\nlshdb.errors.InputError: row 3\nat x"), "Spark: row 3"),
        (Py4JError("\n at x\nno room"), "Spark: no room"),
    ],
)
def test_errors_of_spark_are_one_line(error: Exception, says: str) -> None:
    with pytest.raises(lshdb.LshdbError) as raised, translated_errors():
        raise error
    assert str(raised.value) == says


# files


def test_files_are_written_and_read_back(spark: SparkSession, tmp_path: Path) -> None:
    texts = text_families(9, families=20, copies=3, words=30, most_edits=6)
    texts["empty"] = ""
    settings = lshdb.spark.make_settings(threshold=0.6)
    df = frame(spark, list(texts.items()), "id string, text string")
    shards = lshdb.spark.write_databases(df, settings, tmp_path / "dir", shards=2)
    assert [shard.path.name for shard in shards] == [f"shard-0000{i}-of-00002.db" for i in range(2)]
    assert sorted(one.name for one in (tmp_path / "dir").iterdir()) == [s.path.name for s in shards]
    for shard in shards:
        assert lshdb.check(shard.path, deep=True).problems == ()
        with lshdb.open(shard.path, mode="read") as db:
            assert db.settings == settings
            assert len(db) == shard.documents > 0
    with pytest.raises(lshdb.UsageError, match="holds databases already"):
        lshdb.spark.write_databases(df, settings, tmp_path / "dir", shards=2)

    pattern = tmp_path / "dir" / "*.db"
    read = lshdb.spark.read_database(spark, pattern)
    assert rows(read.select("key", "content")) == sorted(texts.items())
    again = lshdb.spark.signatures(read, settings, key="key", text="content")
    joined = again.join(read.withColumnRenamed("signature", "stored"), "key")
    assert joined.where("signature <=> stored").count() == len(texts)
    with pytest.raises(lshdb.UsageError, match="no such file"):
        lshdb.spark.read_database(spark, tmp_path / "none.db")


# the command


def lines_of(directory: Path) -> list[dict[str, Any]]:
    parts = (part.read_text() for part in directory.glob("part-*"))
    return [json.loads(line) for part in parts for line in part.splitlines()]


def ran(*arguments: str) -> object:
    """The exit status of a command in the session that runs: another Java would take seconds."""
    with pytest.raises(SystemExit) as exit:
        make_app()([*arguments])
    return exit.value.code or 0


def test_the_command_drops_what_a_database_has_and_keeps_all_columns(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one machine drops it: first what the reference has. The driver takes no documents."""
    given: dict[str, Any] = {"threshold": 0.5, "recall": 0.9999}
    made = text_families(10, families=10, copies=4, words=2_000, most_edits=500)
    texts = sorted({**made, **FORGED, "empty": ""}.items())
    assert sum(len(text) for _, text in texts) > 3 * TAKEN << 10
    (tmp_path / "seen").mkdir()
    # Some of the texts, under keys that others have here.
    known = [(key, text) for (_, text), (key, _) in zip(texts[:24:2], texts[1::2], strict=False)]
    for number in range(2):
        database_of(tmp_path / f"seen/{number}.db", known[number::2], **given).close()
    with database_of(tmp_path / "known.db", known, **given) as db:
        found = {key: matches[0] for key, matches in db.query_many(texts, workers=0) if matches}
    rest = {key: text for key, text in texts if key not in found}
    gone = dropped_of(rest, "longest", **given)
    assert min(len(found), len(gone)) > 10
    assert not FORGED.keys() & gone.keys()

    documents: list[tuple[str | None, str | None]] = [*texts, (None, "no key"), ("~no text", None)]
    count = len(documents)
    table = pa.table(
        {
            "my.key": [key for key, _ in documents],
            "text": [text for _, text in documents],
            "small": pa.array(range(count), pa.int16()),
            "when": pa.array([datetime(2020, 1, 2, tzinfo=UTC)] * count),
            "tags": [["a", None], None, *[[]] * (count - 2)],
            "nested": [{"lang": "en", "deep": {"x": 1.5}}] * count,
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    source, kept_in, gone_in = (str(tmp_path / name) for name in ("in.parquet", "out", "gone"))
    arguments = ["--dropped", gone_in, "--key-field", "my.key", "--keep", "longest", "--json"]
    pq.write_table(pa.table({"uid": ["x"], "body": ["y"]}), tmp_path / "other.parquet")
    other = str(tmp_path / "other.parquet")
    assert ran("spark-dedup", source, kept_in, *arguments, "--against", other) == 2
    assert ":key=NAME,text=NAME names its columns" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    arguments += ["--against", str(tmp_path / "seen/*.db")]
    assert ran("spark-dedup", source, kept_in, *arguments) == 1
    left_out, failed = found.keys() | gone.keys(), {None, "~no text"}
    kept = [row for row in table.to_pylist() if row["my.key"] not in left_out | failed]
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "kept": len(kept),
        "dropped": len(left_out),
        "failed": 2,
        "bad_keys": 1,
        "bad_documents": 1,
        "empty": 1,
        "cut_buckets": 0,
        "cut_pairs": 0,
    }
    for what in ("key", "document"):
        assert f"lshdb: rows without a usable {what}, left out: 1\n" in printed.err
    assert "lshdb: ~no text: its document is null\n" in printed.err
    written = pq.read_table(kept_in).sort_by([("my.key", "ascending")])
    types = {field.name: str(field.type).replace("element", "item") for field in written.schema}
    assert types == {field.name: str(field.type) for field in table.schema}
    assert written.to_pylist() == sorted(kept, key=itemgetter("my.key"))
    gone_table = pq.read_table(gone_in)
    assert gone_table.column_names == [*DROPPED]
    dropped = {row["key"]: row for row in gone_table.to_pylist()}
    assert dropped.keys() == left_out
    for key, match in found.items():
        assert dropped[key]["similarity"] == match.similarity
        assert dropped[key]["kept"] in dict(known)
    assert {key: (dropped[key]["kept"], dropped[key]["similarity"]) for key in gone} == gone
    assert ran("spark-dedup", source, kept_in, "--conf", "spark.app.name=x") == 2
    assert f"{kept_in} already exists" in capsys.readouterr().err
    assert spark.range(3).count() == 3  # the session goes on


# what files hold


def test_keys_of_numbers_sort_as_numbers(spark: SparkSession) -> None:
    kinds: dict[str, list[Any]] = {
        "float": [-(2.0**23), -1.5, -1.25, 0.0, 9.0, 10.0],
        "decimal(38,0)": [*map(Decimal, (-(10**30), -(10**20), -5, 0, 2, 10, 10**37))],
        "decimal(9,2)": [*map(Decimal, ("-10.00", "-9.50", "0.10", "9.99", "10.00"))],
        "decimal(9,8)": [*map(Decimal, ("-0.50000000", "0E-8", "1E-8", "2.00000000"))],
        "bigint": [-(2**63), -10, -9, 0, 9, 10, 2**63 - 1],
    }
    frames = []
    for kind, ids in kinds.items():
        rows = [(one, place, kind) for place, one in enumerate(ids)]
        df = frame(spark, rows, f"id {kind}, place int, kind string")
        order = number_order(df, "id", keys_of(df, "id"))
        assert order is not None
        frames.append(df.select("kind", order, "place"))
    ordered = sorted(reduce(DataFrame.unionAll, frames).collect())
    for kind, ids in kinds.items():
        places = [(prefix, place) for of, prefix, place in ordered if of == kind]
        assert [place for _, place in places] == [*range(len(ids))], kind
        assert len({len(prefix) for prefix, _ in places}) == 1


def test_ids_of_any_type_give_the_keys_that_they_give_elsewhere(
    spark: SparkSession, tmp_path: Path
) -> None:
    when = datetime(2024, 10, 27, 0, 30, 0, 120000)
    ids = [
        pa.array(["a", "", "é"]),
        pa.array([1, -1, None], pa.int8()),
        pa.array([3.0, 0.5, float("nan")]),
        pa.array([2.0**24, 0.1, float("inf")], pa.float32()),
        pa.array([12345678.5, 1e-7, 2.0**53]),
        pa.array([{"$oid": "a", "b": n} for n in (1, None, 3)]),
        pa.array([True, False, None]),
        pa.array([b"\x00\xff", b"", None], pa.binary()),
        pa.array([date(2024, 1, 31), None, date(1, 1, 1)]),
        pa.array([when, datetime(1969, 1, 1), None], pa.timestamp("us")),
        pa.array([when, datetime(2024, 10, 27, 1, 30), None], pa.timestamp("us", "UTC")),
        pa.array([when, datetime(1969, 1, 1), None], pa.timestamp("ns")),
        pa.array([Decimal("1.00"), Decimal("-0.50"), None], pa.decimal128(9, 2)),
        pa.array([Decimal("1E-8"), Decimal("0E-8"), Decimal("-2.5E-7")], pa.decimal128(9, 8)),
    ]
    table = pa.table(dict(zip(map(str, range(len(ids))), ids, strict=True)))
    pq.write_table(table, tmp_path / "in.parquet")
    source = reading.read(spark, str(tmp_path / "in.parquet"), "auto", [])
    assert [note[-12:] for note in source.notes] == ["in column 11"]
    found = source.rows.select(*(keys_of(source.rows, name) for name in table.column_names))
    values = [column.to_pylist() for column in ids]
    expected = [list(map(usable_key, column)) for column in values]
    assert [list(column) for column in zip(*found.collect(), strict=True)] == expected


def usable_key(value: object) -> str | None:
    try:
        return key_of_id(value)
    except lshdb.InputError:
        return None


def test_inputs_without_rows_in_partitions_and_of_pandas_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A public report of Spark, SPARK-44988: nanoseconds of pandas cannot be read."""
    for name in ("none", "blank", "years/year=2023", "years/year=2024", "years/_temporary"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "blank/a.jsonl").touch()
    for year in ("2023", "2024"):
        line = json.dumps({"id": year, "text": f"the fox of {year}"})
        (tmp_path / f"years/year={year}/a.jsonl").write_text(line)
    (tmp_path / "years/_temporary/b.parquet").write_text("half a file")
    frame = pd.DataFrame({"id": [1], "text": ["x"], "when": pd.to_datetime(["1969-12-31"])})
    frame["when"] += pd.Timedelta(1, "ns")
    frame.to_parquet(tmp_path / "pandas.parquet")
    frame[:0].to_parquet(tmp_path / "no_rows.parquet")
    columns = ["id", "text"]

    def read(name: str) -> reading.SparkRows:
        return reading.read(spark, str(tmp_path / name), "auto", columns)

    assert sorted(row["id"] for row in read("years").rows.collect()) == ["2023", "2024"]
    (row,) = read("pandas.parquet").rows.collect()
    assert row["when"] == datetime(1969, 12, 31)
    for name in ("none", "blank", "no_rows.parquet"):
        assert read(name).rows.count() == 0
    good = (tmp_path / "years/year=2024/a.jsonl").read_text()
    (tmp_path / "years/year=2024/a.jsonl").write_text(f"{good}\n{{broken\n")
    source = read("years")
    assert source.broken is not None
    (failure,) = source.broken.collect()
    assert failure["reason"] == "not a JSON object: {broken"
    assert sorted(row["id"] for row in source.rows.collect()) == ["2023", "2024"]
    (tmp_path / "years/year=2023/a.jsonl").write_text("broken")
    (tmp_path / "years/year=2024/a.jsonl").write_text("")
    with pytest.raises(lshdb.InputError, match="no line is a JSON object"):
        read("years")


def test_a_column_that_came_later_is_null_before_and_other_types_say_why(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores: list[dict[str, Any]] = [{}, {"score": [5]}, {"score": ["high"]}]
    for number, columns in enumerate(scores):
        rows = pa.table({"id": [str(number)], "text": ["the fox"], **columns})
        pq.write_table(rows, tmp_path / f"{number}.parquet")

    def read(name: str) -> list[Any]:
        source = reading.read(spark, str(tmp_path / name), "auto", ["id", "text"])
        return sorted(tuple(row) for row in source.rows.select("id", "score").collect())

    assert read("[01].parquet") == [("0", None), ("1", 5)]
    assert ran("spark-dedup", str(tmp_path / "[01].parquet"), str(tmp_path / "out")) == 0
    ((kept,),) = [pq.read_table(tmp_path / "out").to_pylist()]
    assert kept == {"id": "0", "text": "the fox", "score": None}
    assert ran("spark-dedup", str(tmp_path / "*.parquet"), str(tmp_path / "none")) == 1
    assert 'types "BIGINT" and "STRING"' in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
    with (
        pytest.raises(lshdb.LshdbError, match='Failed to merge incompatible data types "BIGINT"'),
        translated_errors(),
    ):
        read("*.parquet")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("is_first", [True, False])
def test_nanoseconds_that_came_later_are_microseconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_first: bool
) -> None:
    """Whichever file is looked at first, and where an earlier one has nulls alone."""
    (tmp_path / "in").mkdir()
    whens: list[dict[str, Any]] = [{}, {"when": pa.array([10**18 + 1_001], pa.timestamp("ns"))}]
    for number, columns in enumerate(whens if is_first else reversed(whens)):
        rows = pa.table({"id": [str(number)], "text": [f"fox {number} of isle"], **columns})
        pq.write_table(rows, tmp_path / f"in/{number}.parquet")
    output = tmp_path / "out"
    assert ran("spark-dedup", str(tmp_path / "in"), str(output)) == 0
    assert "nanoseconds become microseconds, as Spark has them, in column when" in (
        capsys.readouterr().err
    )
    kept = pq.read_table(output).sort_by("id").to_pylist()
    when = datetime(2001, 9, 9, 1, 46, 40, 1)
    assert [row["when"] for row in kept] == ([None, when] if is_first else [when, None])


def test_a_text_in_a_list_is_refused_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    chats = [{"id": "a", "messages": [{"content": "the fox"}, {"content": None}]}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    df = reading.read(spark, str(tmp_path / "in.jsonl"), "auto", ["id", "text"]).rows
    with pytest.raises(lshdb.UsageError, match=r"'messages\[\].content' is in a list: on Spark"):
        lshdb.spark.dedup(df, lshdb.spark.make_settings(), text="messages[].content")


def test_rows_of_the_reference_that_cannot_be_compared_are_refused(spark: SparkSession) -> None:
    """Although no job needs the pairs, and the rows have failures of their own."""
    df, theirs = (
        frame(spark, [("a", "the fox and the grapes"), bad], "id string, text string")
        for bad in ((None, "some text of no key"), ("b", None))
    )
    with pytest.raises(lshdb.InputError, match="rows of the reference have no usable key"):
        lshdb.spark.dedup(df, lshdb.spark.make_settings(), against=theirs, only_against=True)


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("dedup in out --against bare.db", 1, "bare.db keeps signatures only, and --against"),
        ("dedup in out --against sets.db --shingle word:3", 1, "sets.db has shingle set, and"),
        ("dedup in out --format csv", 2, "format"),
        ("dedup in out --conf x", 2, "--conf"),
        ("dedup in out --settings-from x.db --seed 3", 2, "--seed"),
        ("passages in out --settings-from bare.db --passages 9", 2, "--passages"),
        ("passages in out --shingle set", 2, "sets"),
        ("passages in out --base none.txt", 1, "none.txt"),
        ("passages in out --passages 2", 2, "2 is not"),
    ],
)
def test_what_the_commands_refuse(line: str, status: int, says: str, tmp_path: Path) -> None:
    database_of(tmp_path / "bare.db", {"a": "the fox and the grapes"}, content=False).close()
    lshdb.open(tmp_path / "sets.db", shingle="set").close()
    assert says in Command(tmp_path).fails(*f"spark-{line}".split(), status=status)


def test_spark_submit_runs_the_same_commands(tmp_path: Path) -> None:
    script = Path(lshdb.spark.__file__).with_name("__main__.py")
    words = [sys.executable, str(script), "spark-passages", "--gap", "-1", "in", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, b"lshdb: --gap -1 is below 0\n")


def test_without_pyspark_the_command_says_what_to_install(tmp_path: Path) -> None:
    says = Command(tmp_path).without("pyspark", "spark-dedup", "in", "out")
    assert says == "lshdb: Spark is not installed: pip install '.[spark]' in a clone of lshdb\n"
    # By the installed command: in the process of the tests Java runs.
    bare = Command(tmp_path, {"PATH": str(tmp_path), "JAVA_HOME": ""})
    status, said = finish(bare.start("spark-dedup", "in", "out", stderr=-1))
    assert (status, said.startswith("lshdb: Spark needs Java 17 or newer")) == (1, True), said


# copied passages


def test_passages_are_those_of_a_file(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under a header that many have, with a base text, over the ends of batches."""
    rng = random.Random(5)
    header, task = (" ".join(f"{name}{n}" for n in range(14)) for name in ("header", "task"))
    pool = [f"w{rng.randrange(60)}" for _ in range(300)]
    texts = {}
    for number in range(60):
        first, length = rng.randrange(280), rng.randrange(4, 20)
        own = [f"own{number}x{n}" for n in range(10)]
        head = header if number % 2 else "İstanbul ﬁne\n"
        texts[f"k{number:03}"] = " ".join([head, *own, *pool[first : first + length], task, "end."])
    texts |= FORGED
    df = frame(spark, [*texts.items(), ("none", None)], "id string, text string")
    with database_of(tmp_path / "lsh.db", texts, passages=6) as db:
        settings = db.settings
        stored = db.sql(
            "SELECT key, fingerprint, position FROM fingerprints JOIN documents USING (doc_id)"
        )
        prints = sorted(map(tuple, stored))
        assert rows(lshdb.spark.fingerprints(df, settings)) == prints
        a, b = ({fingerprint for key, fingerprint, _ in prints if key == one} for one in FORGED)
        assert a & b
        asked: dict[str, Any] = {"common": 59, "gap": 3, "min_words": 8}
        no_header = [*db.passage_pairs(**asked)]
        for side in ("left", "right"):  # these share more passages than are listed
            words = [f"a{n} b{n} c{n} d{n} e{n} f{n} {side}{n}" for n in range(10_001)]
            texts[side] = " ".join(words)
            db.add(side, texts[side])
        with pytest.warns(lshdb.LimitWarning, match="of which the first 10,000 are"):
            expected = sorted(passages_of(db.passage_pairs(common=20, base=[task])))

    assert len(no_header) > 435
    found = rows(lshdb.spark.passage_pairs(df, settings, **asked))
    assert found == sorted(passages_of(no_header))

    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"n": n, "body": text}) + "\n" for n, text in texts.items())
        + '{"body": "no key"}\n{"n": "no text"}\n'
    )
    (tmp_path / "task.txt").write_text(task)
    source, output, base = (str(tmp_path / name) for name in ("in.jsonl", "out", "task.txt"))
    arguments = ["--passages", "6", "--common", "20", "--base", base, "--key-field", "n"]
    arguments += ["--text-field", "body", "--json"]
    capsys.readouterr()
    assert ran("spark-passages", source, output, *arguments) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "pairs": len({row[:2] for row in expected}),
        "passages": len(expected),
        "failed": 2,
        "bad_keys": 1,
        "bad_documents": 1,
        "cut_passages": 1,
    }
    assert "only the first are listed: 1" in printed.err
    written = lines_of(tmp_path / "out")
    assert {tuple(row) for row in written} == {tuple(PASSAGE_PAIR)}
    assert sorted(tuple(row.values()) for row in written) == expected


def passages_of(pairs: Iterable[lshdb.PassagePair]) -> Iterator[tuple[Any, ...]]:
    """A row a passage, as `lshdb passages --all` has them."""
    for pair in pairs:
        totals = (pair.a, pair.b, pair.words, pair.a_coverage, pair.b_coverage)
        yield from ((*totals, *astuple(passage)) for passage in pair.passages)


def test_spark_takes_only_utf8(command: Command) -> None:
    database_of(command.path(os.fsdecode(b"q\xff.db")), {"a": "the fox"}).close()
    reason = command.fails("spark-dedup", os.fsdecode(b"q\xff.db"), "out", status=2)
    assert reason == "q\\xff.db: Spark takes only names that are UTF-8: rename it"
