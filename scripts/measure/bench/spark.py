"""spark: all pairs and clusters on Spark, local[2], beside a file and Spark's own MinHashLSH.

The whole way from JSON lines to pairs. MLlib has a sample: it compares all that share one of its
minima, and does not end on many documents. Recall on the sample is against brute force; on all
documents, of lshdb.spark against the file. Not part of `all`, for it needs Java and PySpark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import brute_force
import corpora
from figures import OWN, PEAK, RATE, SECONDS, Aim, Figure, collect
from lab import Lab, Options
from processes import Measured, lshdb_command, measure

NAME: Final = "spark"
SPARK: Final = "lshdb.spark"
MLLIB: Final = "MLlib MinHashLSH"
_SIZE: Final = 1000
_FULL: Final = 500_000
_QUICK: Final = 5_000
_SAMPLE: Final = 20_000
_SAMPLE_QUICK: Final = 1_000
_COMPARED: Final = 50_000
_COMPARED_QUICK: Final = 2_000
_THRESHOLD: Final = 0.8
_DUPLICATES: Final = 0.05
_RUNS: Final = Path(__file__).with_name("spark_runs.py")

Pairs = set[tuple[str, str]]


def run(lab: Lab) -> list[Figure]:
    """Once each: a run takes minutes."""
    options = lab.options
    count, sample = _count(options), _sample(options)
    found = _differences(lab)
    truth: Pairs | None = None
    for some in (sample, count):
        lab.say(f"spark: {some:,} documents")
        corpus = corpora.write_generated(
            lab.fresh(".jsonl"), some, options.size or _SIZE, duplicates=_DUPLICATES
        )
        if some == sample:
            truth = _truth(corpus.path, _shingle(options))
        case = _case(options, some)
        lab.say("  lshdb")
        values, pairs = _of_file(lab, corpus.path, some)
        reference = truth or pairs
        found += collect(NAME, case, OWN, some, [values | _recall(pairs, reference)])
        for engine, task in ((SPARK, "lshdb"), (MLLIB, "mllib")):
            if engine == MLLIB and some != sample:
                continue
            lab.say(f"  {engine}")
            values, pairs = _of_spark(lab, task, corpus.path, some)
            found += collect(NAME, case, engine, some, [values | _recall(pairs, reference)])
        truth = None
        corpus.path.unlink()
    return found


def _of_file(lab: Lab, path: Path, count: int) -> tuple[dict[str, float], Pairs]:
    database = lab.init(_shingle(lab.options))
    added = measure([*lshdb_command(), "add", "-q", "-d", database, path])
    listed = measure([*lshdb_command(), "pairs", "--json", "-d", database])
    clusters = measure([*lshdb_command(), "clusters", "--json", "-d", database])
    database.unlink()
    records = [json.loads(line) for line in listed.out.splitlines()]
    seconds = added.seconds + listed.seconds
    values = {
        RATE: count / seconds,
        "pairs seconds": seconds,
        "clusters seconds": clusters.seconds,
        "pairs": float(len(records)),
        "clusters": float(clusters.out.count("\n")),
    }
    return _with_peak(values, added, listed, clusters), _named(
        (one["a"], one["b"]) for one in records
    )


def _of_spark(lab: Lab, task: str, path: Path, count: int) -> tuple[dict[str, float], Pairs]:
    import pyarrow.parquet as pq

    output = lab.fresh(".parquet")
    told, done = _run(lab, task, path, output=str(output))
    values = {name: float(value) for name, value in told.items() if "bytes" not in name}
    for name in told:
        if name.endswith(" shuffled bytes"):
            values[f"{name} a document"] = told[name] / count
    values[SECONDS] = done.seconds
    values[RATE] = count / told["pairs seconds"]
    table = pq.read_table(output, columns=["a", "b"]).to_pydict()
    return _with_peak(values, done), _named(zip(table["a"], table["b"], strict=True))


def _run(lab: Lab, task: str, path: Path, **more: str) -> tuple[dict[str, Any], Measured]:
    spec = {
        "task": task,
        "input": str(path),
        "directory": str(lab.directory),
        "threshold": _THRESHOLD,
        "shingle": _shingle(lab.options),
        "memory": "4g",
        **more,
    }
    done = measure([sys.executable, _RUNS, json.dumps(spec)])
    return json.loads(done.out.splitlines()[-1]), done


def _differences(lab: Lab) -> list[Figure]:
    """Signatures, band rows and pairs of a file and of Spark, compared bit by bit."""
    options = lab.options
    count = min(_COMPARED_QUICK if options.quick else _COMPARED, _count(options))
    lab.say(f"spark: {count:,} documents compared with a file")
    corpus = corpora.write_generated(
        lab.fresh(".jsonl"), count, options.size or _SIZE, duplicates=_DUPLICATES
    )
    database = lab.database(corpus, _shingle(options))
    listed = lab.fresh(".jsonl")
    listed.write_text(measure([*lshdb_command(), "pairs", "--json", "-d", database]).out, "utf-8")
    told, _ = _run(lab, "differences", corpus.path, database=str(database), pairs=str(listed))
    values = {name: float(value) for name, value in told.items()}
    return collect(NAME, f"{_case(options, count)}, compared", SPARK, count, [values])


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


def _recall(pairs: Pairs, reference: Pairs) -> dict[str, float]:
    return {
        "recall %": 100 * len(pairs & reference) / max(len(reference), 1),
        "beyond the reference": float(len(pairs - reference)),
    }


def _with_peak(values: dict[str, float], *measured: Measured) -> dict[str, float]:
    peaks = [one.peak for one in measured if one.peak is not None]
    return values | ({PEAK: max(peaks) / 1e6} if peaks else {})


def _count(options: Options) -> int:
    return options.count(_FULL, _QUICK)


def _sample(options: Options) -> int:
    return min(_SAMPLE_QUICK if options.quick else _SAMPLE, _count(options))


def _shingle(options: Options) -> str:
    return options.shingle or "word:3"


def _case(options: Options, count: int) -> str:
    return f"{_shingle(options)}, {options.what(_SIZE)}, {count:,} documents"


def aims(_options: Options) -> list[Aim]:
    """None: one machine is not what Spark is for."""
    return []
