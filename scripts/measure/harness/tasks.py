"""What is measured in a separate process: one task with one engine, as Lab.task starts it.

    python scripts/measure harness.tasks '{"task": "query", "engine": "rensa", ...}'

The result is JSON on the last line. Times begin after documents are read and modules imported.
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

from measure.harness import engines
from measure.harness.corpora import read_texts
from measure.harness.figures import P50, P99, SECONDS, SPEED, Values

_WARM_UP: Final = 20


def main() -> None:
    spec = json.loads(sys.argv[1])
    print(json.dumps(_TASKS[spec.pop("task")](**spec)))


def kernels(engine: str, shingle: str, path: str, limit: int, seconds: float) -> Values:
    """MB/s of shingling and sketching, on one core: the median of passes."""
    texts = read_texts(Path(path), limit)
    made = engines.make(engine, shingle, threads=1)
    made.sketch(texts[: max(1, len(texts) // 10)])
    passes: list[float] = []
    while sum(passes) < seconds:
        passes.append(_seconds(lambda: made.sketch(texts)))
    made.close()
    return {SPEED: _bytes(texts) / 1e6 / statistics.median(passes)}


def index(engine: str, shingle: str, path: str, limit: int) -> Values:
    """How long a peer takes to index documents in memory."""
    texts = read_texts(Path(path), limit)
    made = engines.make(engine, shingle)
    return {SECONDS: _seconds(lambda: made.index(texts)), "bytes": _bytes(texts)}


def query(
    engine: str, shingle: str, path: str, limit: int, queries: str, database: str | None
) -> Values:
    """Milliseconds a query takes, and the share of near duplicates found.

    lshdb's file is `database`, made before; the others index the documents first.
    """
    made, _ = _indexed(engine, shingle, path, limit, database)
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
        **_percentiles(taken),
        "queries/s": len(taken) / sum(taken),
        "found %": 100 * found / max(1, expected),
    }


def passages(database: str, queries: str) -> Values:
    """Milliseconds until the sources of a text are found, and the share of them that are."""
    import lshdb

    with open(queries, encoding="utf-8") as lines:
        asked = [json.loads(line) for line in lines]
    taken: list[float] = []
    found = expected = 0
    with lshdb.open(database, mode="read") as db:
        for one in asked[:_WARM_UP]:
            db.passages(one["text"])
        for one in asked:
            begun = time.perf_counter()
            result = db.passages(one["text"])
            taken.append(time.perf_counter() - begun)
            sources = set(map(str, one["from"]))
            expected += len(sources)
            found += len(sources & {source.key for source in result})
    return {**_percentiles(taken), "found %": 100 * found / max(1, expected)}


def hot(database: str, path: str, repeat: int) -> Values:
    """Milliseconds until the ten best matches of a document in a large bucket are found."""
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
    return _percentiles(taken)


def join(engine: str, shingle: str, path: str, limit: int, database: str | None) -> Values:
    """How long all pairs take, once the documents are indexed, and how many there are.

    lshdb's file is `database`, made before; the others index the documents first.
    """
    made, texts = _indexed(engine, shingle, path, limit, database)
    pairs: set[tuple[int, int]] = set()
    taken = _seconds(lambda: pairs.update(made.pairs(texts)))
    made.close()
    return {SECONDS: taken, "pairs": len(pairs)}


def add(
    database: str, path: str, shingle: str, content: bool = True, workers: int | None = None
) -> dict[str, Any]:
    """What `lshdb add` does, with the time at which each transaction was in the file.

    Returns the curve, pairs of a number of documents and the seconds until they were in the file;
    and the seconds until it was closed, with the log copied into it.
    """
    import lshdb
    from lshdb.model import AddReport
    from lshdb.sources.session import Session, SessionOptions

    curve: list[tuple[int, float]] = []
    with lshdb.open(database, shingle=shingle, content=content) as db:
        begun = time.perf_counter()

        def stamp(report: AddReport) -> None:
            done = curve[-1][0] if curve else 0
            curve.append((done + report.documents, time.perf_counter() - begun))

        session = Session(SessionOptions(of_sets=shingle == "set", format="jsonl"))
        db.add_files([path], reader=session, on_batch=stamp, workers=workers)
    return {"curve": curve, "closed": time.perf_counter() - begun}


def _indexed(
    engine: str, shingle: str, path: str, limit: int, database: str | None
) -> tuple[engines.Engine, list[str]]:
    if database is not None:
        return engines.make(engine, shingle, path=Path(database)), []
    texts = read_texts(Path(path), limit)
    made = engines.make(engine, shingle)
    made.index(texts)
    return made, texts


def _bytes(texts: Sequence[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _seconds(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def _percentiles(seconds: Sequence[float]) -> Values:
    return {P50: 1000 * _percentile(seconds, 50), P99: 1000 * _percentile(seconds, 99)}


def _percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that this percentage of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


_TASKS: Final[dict[str, Callable[..., dict[str, Any]]]] = {
    "kernels": kernels,
    "index": index,
    "query": query,
    "passages": passages,
    "hot": hot,
    "join": join,
    "add": add,
}
