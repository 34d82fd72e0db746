"""spark: pairs and clusters on Spark, local[2], a file, and Spark's own MinHashLSH. Ten minutes.

From JSON lines to pairs. MLlib gets a sample: it compares all documents that share one of its
minima, and does not end on many. Recall on the sample is against brute force; on all documents,
that of lshdb.spark against the file. Not part of `all`, for it needs Java and PySpark.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from measure.common import brute_force
from measure.common.commands import Measured, lshdb, measure, own_script
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import OWN, PEAK, RATE, SECONDS, Values
from measure.harness.lab import Lab

SPARK: Final = "lshdb.spark"
MLLIB: Final = "MLlib MinHashLSH"
_THRESHOLD: Final = 0.8

Pairs = set[tuple[str, str]]


def run(lab: Lab) -> None:
    """Once each: a run takes minutes."""
    count = lab.count(500_000, quick=5_000)
    sample = min(1_000 if lab.options.quick else 20_000, count)
    _differences(lab, min(2_000 if lab.options.quick else 50_000, count))
    _sampled(lab, _corpus(lab, sample))
    corpus = _corpus(lab, count)
    pairs = _of_file(lab, corpus, None)
    _of_spark(lab, SPARK, corpus, pairs)


def _sampled(lab: Lab, corpus: Corpus) -> None:
    truth = _truth(corpus.path, lab.shingle)
    _of_file(lab, corpus, truth)
    for engine in (SPARK, MLLIB):
        _of_spark(lab, engine, corpus, truth)


def _corpus(lab: Lab, count: int) -> Corpus:
    size = lab.options.size or 1000
    return corpora.write_generated(lab.fresh(".jsonl"), count, size, duplicates=0.05)


def _of_file(lab: Lab, corpus: Corpus, truth: Pairs | None) -> Pairs:
    """Pairs and clusters of a file, and its pairs."""
    lab.say(f"spark: {OWN}: {lab.describe(corpus)}")
    database = lab.init()
    added = lshdb("add", "-q", "-d", database, corpus.path)
    listed = lshdb("pairs", "--json", "-d", database)
    clusters = lshdb("clusters", "--json", "-d", database)
    database.unlink()
    pairs = _named((one["a"], one["b"]) for one in map(json.loads, listed.out.splitlines()))
    seconds = added.seconds + listed.seconds
    values = {
        RATE: corpus.documents / seconds,
        "pairs seconds": seconds,
        "clusters seconds": clusters.seconds,
        "pairs": float(len(pairs)),
        "clusters": float(clusters.out.count("\n")),
        **_recall(pairs, truth or pairs),
        **_peak(added, listed, clusters),
    }
    lab.keep(lab.describe(corpus), corpus.documents, [values])
    return pairs


def _of_spark(lab: Lab, engine: str, corpus: Corpus, truth: Pairs) -> None:
    import pyarrow.parquet as pq

    lab.say(f"spark: {engine}: {lab.describe(corpus)}")
    output = lab.fresh(".parquet")
    task = "mllib" if engine == MLLIB else "lshdb"
    printed, done = run_task(lab, task, corpus.path, output=str(output))
    values = {name: float(value) for name, value in printed.items() if "bytes" not in name}
    for name in printed:
        if name.endswith(" shuffled bytes"):
            values[f"{name} a document"] = printed[name] / corpus.documents
    values[SECONDS] = done.seconds
    values[RATE] = corpus.documents / printed["pairs seconds"]
    table = pq.read_table(output, columns=["a", "b"]).to_pydict()
    pairs = _named(zip(table["a"], table["b"], strict=True))
    values |= _recall(pairs, truth) | _peak(done)
    lab.keep(lab.describe(corpus), corpus.documents, [values], engine)


def run_task(lab: Lab, task: str, path: Path, **more: Any) -> tuple[dict[str, Any], Measured]:
    """Run a function of spark_tasks.py in a separate process: what it printed, what it took."""
    spec = {
        "task": task,
        "input": str(path),
        "directory": str(lab.directory),
        "threshold": _THRESHOLD,
        "shingle": lab.shingle,
        "memory": "4g",
        **more,
    }
    done = measure(own_script("bench.spark_tasks", json.dumps(spec)))
    return json.loads(done.out.splitlines()[-1]), done


def _differences(lab: Lab, count: int) -> None:
    """Signatures, band rows and pairs of a file and of Spark, compared bit by bit."""
    corpus = _corpus(lab, count)
    lab.say(f"spark: compared with a file: {lab.describe(corpus)}")
    database = lab.database(corpus)
    listed = lab.fresh(".jsonl")
    listed.write_text(lshdb("pairs", "--json", "-d", database).out, "utf-8")
    printed, _ = run_task(
        lab, "differences", corpus.path, database=str(database), pairs=str(listed)
    )
    values = {name: float(value) for name, value in printed.items()}
    lab.keep(f"{lab.describe(corpus)}, compared", count, [values], SPARK)


def _truth(path: Path, shingle: str) -> Pairs:
    with path.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    sets = [brute_force.shingle_set(one["text"], shingle) for one in records]
    return _named(
        (records[i]["id"], records[j]["id"])
        for i, j, _ in brute_force.similar_pairs(sets, _THRESHOLD)
    )


def _named(pairs: Any) -> Pairs:
    return {(min(a, b), max(a, b)) for a, b in pairs}


def _recall(pairs: Pairs, reference: Pairs) -> Values:
    return {
        "recall %": 100 * len(pairs & reference) / max(len(reference), 1),
        "beyond the reference": float(len(pairs - reference)),
    }


def _peak(*measured: Measured) -> Values:
    peaks = [one.peak for one in measured if one.peak is not None]
    return {PEAK: max(peaks) / 1e6} if peaks else {}
