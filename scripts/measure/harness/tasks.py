"""One measured process: does one task with one engine, and prints what it took.

python scripts/measure/runs.py '{"task": "query", "engine": "rensa", ...}'

The result is JSON on the last line. Documents are read, and what is imported is imported, before
any time is taken.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import engines
from corpora import read_texts

_WARM_UP: Final = 20


def main() -> None:
    spec = json.loads(sys.argv[1])
    print(json.dumps(_TASKS[spec.pop("task")](**spec)))


def kernels(engine: str, cases: list[dict[str, Any]], seconds: float) -> dict[str, float]:
    """MB/s of shingling and sketching, of each case in turn: the median of passes."""
    speeds: dict[str, float] = {}
    for case in cases:
        texts = read_texts(Path(case["path"]), case["limit"])
        size = sum(len(text.encode()) for text in texts)
        made = engines.make(engine, case["shingle"], threads=1)
        made.sketch(texts[: max(1, len(texts) // 10)])
        passes: list[float] = []
        while sum(passes) < seconds:
            passes.append(_seconds(lambda: made.sketch(texts)))  # noqa: B023  (called at once)
        speeds[case["case"]] = size / 1e6 / statistics.median(passes)
        made.close()
    return speeds


def index(engine: str, shingle: str, path: str, limit: int) -> dict[str, float]:
    """How long a peer takes to index documents in memory."""
    texts = read_texts(Path(path), limit)
    made = engines.make(engine, shingle)
    taken = _seconds(lambda: made.index(texts))
    return {"seconds": taken, "bytes": sum(len(text.encode()) for text in texts)}


def query(
    engine: str, shingle: str, path: str, limit: int, queries: str, database: str | None
) -> dict[str, float]:
    """Milliseconds a query takes, and the share of near duplicates found.

    lshdb's file is `database`, made before; the others index the documents first.
    """
    made = _indexed(
        engine, shingle, read_texts(Path(path), limit) if database is None else [], database
    )
    with open(queries, encoding="utf-8") as lines:
        asked = [json.loads(line) for line in lines]
    for one in asked[:_WARM_UP]:
        made.query(one["text"])
    taken: list[float] = []
    found = expected = 0
    for one in asked:
        begun = time.perf_counter()
        answer = made.query(one["text"])
        taken.append(time.perf_counter() - begun)
        if one["near"] is not None:
            expected += 1
            found += one["near"] in answer
    made.close()
    return {
        "p50 ms": 1000 * _percentile(taken, 50),
        "p99 ms": 1000 * _percentile(taken, 99),
        "queries/s": len(taken) / sum(taken),
        "found %": 100 * found / max(1, expected),
    }


def hot(database: str, path: str, repeat: int) -> dict[str, float]:
    """Milliseconds that the ten best of a large bucket take, for documents of the collection."""
    import lshdb

    asked = read_texts(Path(path), repeat)
    taken: list[float] = []
    with lshdb.open(database, mode="read") as db, warnings.catch_warnings():
        warnings.simplefilter("ignore", lshdb.LimitWarning)
        db.query(asked[0], top=10)
        for text in asked:
            begun = time.perf_counter()
            db.query(text, top=10)
            taken.append(time.perf_counter() - begun)
    return {"p50 ms": 1000 * _percentile(taken, 50), "p99 ms": 1000 * _percentile(taken, 99)}


def join(
    engine: str, shingle: str, path: str, limit: int, database: str | None
) -> dict[str, float]:
    """How long all pairs take, once the documents are indexed, and how many there are.

    lshdb's file is `database`, made before; the others index the documents first.
    """
    texts = read_texts(Path(path), limit) if database is None else []
    made = _indexed(engine, shingle, texts, database)
    pairs: set[tuple[int, int]] = set()
    taken = _seconds(lambda: pairs.update(made.pairs(texts)))
    made.close()
    return {"seconds": taken, "pairs": len(pairs)}


def add(database: str, path: str, shingle: str, content: bool) -> dict[str, Any]:
    """What `lshdb add` does, with the time at which each transaction was in the file.

    Returns the curve: how many documents were in the file after so many seconds; and after how
    many seconds it was closed, with the log copied.
    """
    import lshdb
    from lshdb.model import AddReport
    from lshdb.sources.readers import Reader

    curve: list[tuple[int, float]] = []
    with lshdb.open(database, shingle=shingle, content=content) as db:
        begun = time.perf_counter()

        def stamp(report: AddReport) -> None:
            done = curve[-1][0] if curve else 0
            curve.append((done + report.documents, time.perf_counter() - begun))

        reader = Reader(of_sets=shingle == "set", format="jsonl")
        db.add_files([path], reader, on_batch=stamp)
    return {"curve": curve, "closed": time.perf_counter() - begun}


def _indexed(
    engine: str, shingle: str, texts: Sequence[str], database: str | None
) -> engines.Engine:
    if database is not None:
        return engines.make(engine, shingle, path=Path(database))
    made = engines.make(engine, shingle)
    made.index(texts)
    return made


def _seconds(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def _percentile(values: Sequence[float], percent: int) -> float:
    """The least value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


_TASKS: Final[dict[str, Callable[..., dict[str, Any]]]] = {
    "kernels": kernels,
    "index": index,
    "query": query,
    "hot": hot,
    "join": join,
    "add": add,
}


if __name__ == "__main__":
    main()
