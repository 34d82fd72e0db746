"""scale: a million documents, millions of sets, and what they say about a hundred millions.

Documents are added by what `lshdb add` is made of, from a JSONL file in one call, so that each
transaction can be timed: the curve.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

import corpora
from corpora import Corpus
from figures import OWN, P50, P99, PEAK, RATE, Aim, Figure, collect
from lab import Lab, Options, Run, bytes_on_disk, flush, with_peak

NAME: Final = "scale"
_SIZE: Final = 1000
_FULL: Final = 1_000_000
_QUICK: Final = 50_000
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


def run(lab: Lab) -> list[Figure]:
    """Of lshdb alone: documents, and if asked for sets."""
    if OWN not in lab.options.engines:
        return []
    found = _documents(lab)
    if lab.options.sets:
        found += _sets(lab)
    return found


def _documents(lab: Lab) -> list[Figure]:
    options = lab.options
    count = options.count(_FULL, _QUICK)
    found: list[Figure] = []
    # First the few, so that queries among many are compared with those among few.
    for documents in sorted({min(_FEW, count), count}):
        corpus = lab.corpus(documents, options.size or _SIZE)
        queries = lab.queries(corpus, 200 if options.quick else 1000)
        case = _case(options, corpus.documents)
        lab.say(f"scale: {corpus.documents:,} documents, {corpus.bytes / 1e6:,.0f} MB")
        shingle = options.shingle or "word:3"
        database, added = _add(lab, corpus, shingle, content=True)
        # Only once, however often others are repeated: it takes long, and its rate is a mean.
        found += collect(NAME, case, OWN, corpus.documents, [_added(corpus, database, added)])
        asked = [
            lab.run(
                task="query",
                engine=OWN,
                shingle=shingle,
                path=corpus.path,
                limit=corpus.documents,
                queries=queries,
                database=database,
            ).result
            for _ in range(options.repeat)
        ]
        found += collect(NAME, case, OWN, corpus.documents, asked)
        database.unlink()
    return found


def _add(lab: Lab, corpus: Corpus, shingle: str, *, content: bool) -> tuple[Path, Run]:
    database = lab.fresh(".db")
    added = lab.run(
        task="add",
        database=database,
        path=corpus.path,
        shingle=shingle,
        content=content,
    )
    return database, added


def _added(corpus: Corpus, database: Path, added: Run, *, content: bool = True) -> dict[str, float]:
    curve: Curve = [(int(count), float(seconds)) for count, seconds in added.result["curve"]]
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


def _sets(lab: Lab) -> list[Figure]:
    count = lab.options.sets
    corpus = corpora.write_sets(lab.fresh(".jsonl"), count, _ELEMENTS)
    flush(corpus.path)
    lab.say(f"scale: {count:,} sets of {_ELEMENTS} elements, contents not kept")
    database, added = _add(lab, corpus, "set", content=False)
    values = _added(corpus, database, added, content=False)
    curve: Curve = [(int(done), float(seconds)) for done, seconds in added.result["curve"]]
    # What closing takes is part of what a projection is to tell.
    curve[-1] = curve[-1][0], float(added.result["closed"])
    steady, growing = projection(curve, _PROJECTED)
    projected = {
        "hours, at the last tenth's rate": steady / 3600,
        "hours, slowing as it slowed": growing / 3600,
        "disk GB": values[BEYOND] * _PROJECTED / 1e9,
    }
    if added.measured.memory:
        peak, grows = _peak(added.measured.memory)
        projected["peak MB, at least" if grows else PEAK] = peak / 1e6
    corpus.path.unlink()
    database.unlink()
    return [
        *collect(NAME, f"sets of {_ELEMENTS}, {count:,}, no content", OWN, count, [values]),
        *collect(NAME, f"projection to {_PROJECTED:,} sets", OWN, _PROJECTED, [projected]),
    ]


def tenths(curve: Curve) -> tuple[float, float]:
    """Documents per second in the first and the last tenth; straight lines join transactions.

    The first tenth begins at the end of the first transaction: before it, processes start, and
    nothing is written while the first batch is read. The last one ends with the last transaction:
    what is left to be copied of the log then is told apart (CLOSING), as of others it is copied
    while the next ones are written.
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
    """Seconds until a file has so many documents: at the last rate, and slowing down on.

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


def _case(options: Options, count: int) -> str:
    return f"{options.shingle or 'word:3'}, {options.what(_SIZE)}, {count:,} documents"


def aims(options: Options) -> list[Aim]:
    """For documents of 1 KB."""
    if OWN not in options.engines or not options.as_asked(_SIZE):
        return []
    count = options.count(_FULL, _QUICK)
    case, few = _case(options, count), _case(options, min(_FEW, count))
    found = [
        Aim(NAME, case, KEPT, 0.6),
        Aim(NAME, case, BEYOND, 1100, at_most=True),
        Aim(NAME, case, P50, 1),
        Aim(NAME, case, P99, 5),
        Aim(NAME, case, PEAK, 500),
    ]
    return found if few == case else [*found, Aim(NAME, case, P50, 2, over_case=few)]
