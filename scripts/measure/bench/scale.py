"""scale: a million documents; with --sets, millions of sets and a projection. Twenty minutes.

Documents go in by what `lshdb add` is made of, in one call, with the time of each transaction: so
the rates of the first and the last tenth can be compared, and a hundred million sets projected.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

from measure.bench.query import ask
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import P50, P99, PEAK, RATE, Values
from measure.harness.lab import Job, Lab, Run, bytes_on_disk, with_peak

SETS_FULL: Final = 5_000_000
SETS_QUICK: Final = 100_000
_ELEMENTS: Final = 30
_FEW: Final = 10_000
_PROJECTED: Final = 100_000_000

FIRST: Final = "documents/s, first tenth"
LAST: Final = "documents/s, last tenth"
KEPT: Final = "last tenth / first tenth"
CLOSING: Final = "s, from the last transaction until closed"
BEYOND: Final = "disk bytes/document beyond its content"

Curve = list[tuple[int, float]]
"""Documents in the file, and the seconds until they were."""


def run(lab: Lab) -> None:
    """Documents, and if asked for sets."""
    count = lab.count(1_000_000, quick=50_000)
    cases: list[str] = []
    # First the few, so that queries among many are compared with those among few.
    for documents in sorted({min(_FEW, count), count}):
        corpus = lab.corpus(documents, size=1000)
        cases.append(lab.describe(corpus))
        _documents(lab, corpus, cases[-1])
    many = cases[-1]
    lab.aim(many, KEPT, 0.6)
    lab.aim(many, BEYOND, 1100, at_most=True)
    lab.aim(many, P50, 1)
    lab.aim(many, P99, 5)
    lab.aim(many, PEAK, 500)
    if len(cases) > 1:
        lab.aim(many, P50, 2, over_case=cases[0])
    if lab.options.sets:
        _sets(lab)


def _documents(lab: Lab, corpus: Corpus, case: str) -> None:
    database = lab.fresh(".db")
    lab.say(f"scale: {case}")
    # Only once, however often others are repeated: it takes long, and its rate is a mean.
    added = _add(lab, database, corpus, lab.shingle)
    lab.keep(case, corpus.documents, [_values(corpus, database, added)])
    queries = lab.queries(corpus)

    def asked() -> Values:
        values = ask(lab, corpus, queries, database)
        values.pop(PEAK, None)  # the peak of this case is that of adding
        return values

    lab.measure([Job(case, corpus.documents, asked)])
    database.unlink()


def _add(lab: Lab, database: Path, corpus: Corpus, shingle: str, *, content: bool = True) -> Run:
    return lab.task("add", database=database, path=corpus.path, shingle=shingle, content=content)


def _values(corpus: Corpus, database: Path, added: Run, *, content: bool = True) -> Values:
    curve = _curve(added)
    beyond = bytes_on_disk(database) - (corpus.bytes if content else 0)
    values = {
        RATE: corpus.documents / added.measured.seconds,
        BEYOND: beyond / corpus.documents,
        "transactions": len(curve),
    }
    if 2 * curve[0][0] <= corpus.documents:
        first, last = tenths(curve)
        values |= {FIRST: first, LAST: last, KEPT: last / first}
        values[CLOSING] = float(added.result["closed"]) - curve[-1][1]
    return with_peak(values, added.measured)


def _curve(added: Run) -> Curve:
    return [(int(count), float(seconds)) for count, seconds in added.result["curve"]]


def _sets(lab: Lab) -> None:
    count = lab.options.sets
    corpus = corpora.write_sets(lab.fresh(".jsonl"), count, _ELEMENTS)
    database = lab.fresh(".db")
    lab.say(f"scale: {count:,} sets")
    added = _add(lab, database, corpus, "set", content=False)
    values = _values(corpus, database, added, content=False)
    lab.keep(f"sets of {_ELEMENTS}, {count:,}, no content", count, [values])
    projected = _projected(added, values[BEYOND])
    lab.keep(f"projection to {_PROJECTED:,} sets", _PROJECTED, [projected])
    corpus.path.unlink()
    database.unlink()


def _projected(added: Run, beyond: float) -> Values:
    curve = _curve(added)
    # A projection includes what closing takes.
    curve[-1] = curve[-1][0], float(added.result["closed"])
    steady, growing = projection(curve, _PROJECTED)
    values = {
        "hours, at the last tenth's rate": steady / 3600,
        "hours, slowing as it slowed": growing / 3600,
        "disk GB": beyond * _PROJECTED / 1e9,
    }
    if added.measured.memory:
        peak, grows = _peak(added.measured.memory)
        values["peak MB, at least" if grows else PEAK] = peak / 1e6
    return values


def tenths(curve: Curve) -> tuple[float, float]:
    """Documents per second in the first and the last tenth; straight lines join transactions.

    The first tenth begins at the end of the first transaction: before it, processes start, and
    nothing is written while the first batch is read. The last one ends with the last transaction;
    CLOSING is the time to copy the rest of the log, which for others is copied as they go.
    """
    total = curve[-1][0]
    start, begun = curve[0]
    first = total / 10 / (_time_at(curve, start + total / 10) - begun)
    last = total / 10 / (curve[-1][1] - _time_at(curve, total * 9 / 10))
    return first, last


def _time_at(curve: Curve, documents: float) -> float:
    for (before, begun), (after, ended) in pairwise([(0, 0.0), *curve]):
        if documents <= after:
            return begun + (ended - begun) * (documents - before) / (after - before)
    return curve[-1][1]


def projection(curve: Curve, documents: int) -> tuple[float, float]:
    """Seconds until a file has that many documents: at the last rate, and slowing down further.

    The second fits a line to the time a document took over the number that were there, by least
    squares over the documents of the second half of the curve, where the file is out of the cache
    if it ever is. It is an upper bound: a transaction cannot touch more pages than it has rows.
    """
    done, seconds = curve[-1]
    last = done / 10 / (seconds - _time_at(curve, done * 9 / 10))
    steady = seconds + (documents - done) / last
    steps = [
        ((before + after) / 2, (ended - begun) / (after - before), after - before)
        for (before, begun), (after, ended) in pairwise([(0, 0.0), *curve])
        if 2 * after > done
    ]
    weight = sum(w for _, _, w in steps)
    x_mean = sum(x * w for x, _, w in steps) / weight
    y_mean = sum(y * w for _, y, w in steps) / weight
    spread = sum(w * (x - x_mean) ** 2 for x, _, w in steps)
    slope = sum(w * (x - x_mean) * (y - y_mean) for x, y, w in steps) / spread if spread else 0.0
    middle = (done + documents) / 2
    growing = seconds + (documents - done) * (y_mean + slope * (middle - x_mean))
    return steady, max(steady, growing)


def _peak(memory: list[tuple[float, int]]) -> tuple[int, bool]:
    """The peak, and whether it was still growing in the second half of the time."""
    end = memory[-1][0]
    early = max(size for at, size in memory if 2 * at <= end or at == memory[0][0])
    peak = max(size for _, size in memory)
    return peak, peak > 1.05 * early
