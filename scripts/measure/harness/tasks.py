"""What is measured in a separate process: one task with one engine, as Lab.task starts it.

    python scripts/measure harness.tasks '{"task": "query", "engine": "rensa", ...}'

The result is JSON on the last line. Times begin after documents are read and modules imported.
"""

import itertools
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from measure.harness import engines
from measure.harness.corpora import read_texts
from measure.harness.figures import CPU_MS, P50, P99, SECONDS, SPEED, Values

_WARM_UP: Final = 20


def main() -> None:
    spec = json.loads(sys.argv[1])
    task = globals()[spec.pop("task")]
    print(json.dumps(task(**spec)))


def kernels(engine: str, shingle: str, path: str, limit: int, seconds: float) -> Values:
    """MB/s of shingling and sketching, on one core: the median of passes."""
    texts = read_texts(path, limit)
    made = engines.make(engine, shingle, threads=1)
    made.sketch(texts[: max(1, len(texts) // 10)])
    passes: list[float] = []
    while sum(passes) < seconds:
        passes.append(_seconds(lambda: made.sketch(texts)))
    size = sum(len(text.encode()) for text in texts)
    return {SPEED: size / 1e6 / statistics.median(passes)}


def index(engine: str, shingle: str, path: str, limit: int) -> Values:
    """How long a peer takes to index documents in memory."""
    texts = read_texts(path, limit)
    made = engines.make(engine, shingle)
    assert isinstance(made, engines.Peer)
    return {SECONDS: _seconds(lambda: made.index(texts))}


def query(engine: str, shingle: str, path: str, queries: str, database: str) -> Values:
    """Milliseconds a query takes, and the share of near duplicates found."""
    made = _indexed(engine, shingle, path, database)
    asked = [*map(json.loads, Path(queries).read_text("utf-8").splitlines())]
    answers, values = _timed(made.query, [row["text"] for row in asked])
    found = [row["near"] in near for row, near in zip(asked, answers, strict=True)]
    expected = [row["near"] is not None for row in asked]
    return {**values, "found %": 100 * sum(found) / max(1, sum(expected))}


def hot(database: str, path: str, repeat: int) -> Values:
    """Milliseconds until the ten best matches of a document in a large bucket are found."""
    import lshdb

    with lshdb.open(database, mode="read") as db, warnings.catch_warnings():
        warnings.simplefilter("ignore", lshdb.LimitWarning)
        return _timed(lambda text: db.query(text, top=10), read_texts(path, repeat), 1)[1]


def join(engine: str, shingle: str, path: str, database: str) -> Values:
    """How long all pairs take, once the documents are indexed, and how many there are."""
    made = _indexed(engine, shingle, path, database)
    begun = time.perf_counter()
    pairs = made.pairs()
    return {SECONDS: time.perf_counter() - begun, "pairs": len(pairs)}


def admit(database: str, queries: str) -> Values:
    """Milliseconds until a document is compared, and is in the file unless similar ones are."""
    import lshdb

    texts = [json.loads(line)["text"] for line in Path(queries).read_text("utf-8").splitlines()]
    keys = (f"new {number}" for number in itertools.count())
    with lshdb.open(database) as db, warnings.catch_warnings():
        warnings.simplefilter("ignore", lshdb.LimitWarning)
        return _timed(lambda text: db.add_unless_similar(next(keys), text), texts)[1]


def _indexed(engine: str, shingle: str, path: str, database: str) -> engines.Lshdb | engines.Peer:
    """Lshdb with its file, which was made before; a peer when it has indexed the documents."""
    made = engines.make(engine, shingle, database=database)
    if isinstance(made, engines.Peer):
        made.index(read_texts(path))
    return made


def _seconds(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def _timed(
    ask: Callable[[str], Any], texts: Sequence[str], warm_up: int = _WARM_UP
) -> tuple[list[Any], Values]:
    """The answers, after some unmeasured calls, and how long one takes."""
    for text in texts[:warm_up]:
        ask(text)
    answers, taken = [], []
    cpu = time.process_time()
    for text in texts:
        begun = time.perf_counter()
        answers.append(ask(text))
        taken.append(1000 * (time.perf_counter() - begun))
    cpu = 1000 * (time.process_time() - cpu) / len(taken)
    median, late = np.percentile(taken, (50, 99), method="inverted_cdf").tolist()
    rate = 1000 * len(taken) / sum(taken)
    return answers, {P50: median, P99: late, CPU_MS: cpu, "queries/s": rate}
