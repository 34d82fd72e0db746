"""Audio clips as sets of fingerprints: how many recordings of a song are found, at what cost.

    scripts/audio                           a minute

The textbook's example: among 100,000 clips a query has 10 true matches, of similarity 0.9 and more,
and 100 near ones, of 0.7 to 0.9; the index has 50 bands of 25 rows. One query shows little, so
there are several, each with matches of its own. Source: Leskovec, Rajaraman, Ullman, Mining of
Massive Datasets, chapter 3.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lshdb
from lshdb.sketching.constructions import Construction
from lshdb.tuning.analysis import curve
from lshdb.tuning.measuring import wilson

CONSTRUCTION = Construction(rows=25, bands=50)
TRUE, NEAR = 10, 100
FINGERPRINTS = 200
KINDS = 1 << 20
"""How many fingerprints there are; clips of different songs have hardly any in common."""
MISSED = 0.02
"""The share of the true matches that may be missed."""
PAPER = 10_000_000


@dataclass(frozen=True, slots=True)
class Clip:
    """A clip: its key, its fingerprints, and of a match, the exact similarity to the query."""

    key: str
    fingerprints: list[int]
    similarity: float | None = None


def clips(count: int, queries: int, seed: int) -> Iterator[Clip]:
    """Clips, `count` in all: the queries `q/0` and so on, `q/0/MATCH` their matches, others.

    A match replaces m of n fingerprints by ones that are nowhere else: J = (n - m) / (n + m).
    """
    rng = np.random.default_rng(seed)
    n = FINGERPRINTS
    replaced = np.arange(n + 1)
    similarity = (n - replaced) / (n + replaced)
    true = replaced[similarity >= 0.9]
    near = replaced[(similarity >= 0.7) & (similarity < 0.9)]
    fresh = KINDS
    for query in range(queries):
        own = rng.choice(KINDS, n, replace=False)
        yield Clip(f"q/{query}", own.tolist())
        changes = np.append(rng.choice(true, TRUE), rng.choice(near, NEAR))
        for match, change in enumerate(changes.tolist()):
            copy = rng.permutation(own)
            copy[:change] = np.arange(fresh, fresh + change)
            fresh += change
            yield Clip(f"q/{query}/{match}", copy.tolist(), float(similarity[change]))
    for other in range(count - queries * (1 + TRUE + NEAR)):
        yield Clip(str(other), rng.choice(KINDS, n, replace=False).tolist())


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured.

    Attributes:
        clips, queries: how many.
        true, found: true matches, and how many of them the queries found.
        expected: how many of them the formula expects to be found.
        candidates, candidates_formula: of a query, in the mean.
        wrong: reported matches that are no matches, or have another similarity.
        add_seconds, query_seconds: of all clips, and of a query.
        bytes: of the file.
    """

    clips: int
    queries: int
    true: int
    found: int
    expected: float
    candidates: float
    candidates_formula: float
    wrong: int
    add_seconds: float
    query_seconds: float
    bytes: int


def measure(count: int, queries: int, seed: int, directory: Path) -> Result:
    """Add clips to a database, and query it."""
    truth: dict[str, dict[str, float]] = {f"q/{query}": {} for query in range(queries)}

    def documents() -> Iterator[tuple[str, list[int]]]:
        for clip in clips(count, queries, seed):
            if clip.similarity is not None:
                truth[clip.key.rpartition("/")[0]][clip.key] = clip.similarity
            yield clip.key, clip.fingerprints

    found = candidates = wrong = 0
    with lshdb.open(
        directory / "audio.db", shingle="set", threshold=0.9, construction=str(CONSTRUCTION)
    ) as db:
        begun = time.perf_counter()
        db.add_many(documents())
        add_seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        matches = {query: db.query(key=query) for query in truth}
        query_seconds = (time.perf_counter() - begun) / max(1, queries)
        for query, reported in matches.items():
            found += len(reported)
            wrong += sum(truth[query].get(one.key, 0.0) != one.similarity for one in reported)
            # Every candidate, whatever its similarity is.
            candidates += len(db.query(key=query, threshold=1e-9, estimate=True))
        size = db.info().bytes
    scores = np.array([score for own in truth.values() for score in own.values()])
    p = curve(scores, CONSTRUCTION)
    return Result(
        clips=count,
        queries=queries,
        true=int((scores >= 0.9).sum()),
        found=found - wrong,
        expected=float(p[scores >= 0.9].sum()),
        candidates=candidates / queries,
        candidates_formula=float(p.sum()) / queries,
        wrong=wrong,
        add_seconds=add_seconds,
        query_seconds=query_seconds,
        bytes=size,
    )


def lines(result: Result) -> Iterator[tuple[str, str]]:
    """What was measured, and what follows for many more clips."""
    low, high = wilson(result.found, result.true)
    yield "clips", f"{result.clips:,}, of {FINGERPRINTS} fingerprints each"
    yield "index", f"{CONSTRUCTION.bands} bands of {CONSTRUCTION.rows} rows"
    yield "true matches", f"{result.true} of {result.queries} queries"
    yield "  found", f"{result.found} ({low:.4f} to {high:.4f} at 95% confidence)"
    yield "  by the formula", f"{result.expected:.1f}"
    yield "  wrong", str(result.wrong)
    yield "candidates a query", f"{result.candidates:.1f}"
    yield "  by the formula", f"{result.candidates_formula:.1f}"
    yield "add", f"{result.add_seconds:.1f} s"
    yield "query", f"{1e3 * result.query_seconds:.2f} ms"
    yield "file", f"{result.bytes / 1e6:,.0f} MB"
    times = PAPER / result.clips
    # Clips of different songs share at most a few fingerprints: none of them is a candidate.
    strangers = PAPER * float(curve(np.array([5 / (2 * FINGERPRINTS - 5)]), CONSTRUCTION)[0])
    yield f"{PAPER:,} clips on paper", "with as many matches for a query"
    yield "  add", f"{times * result.add_seconds / 3600:.1f} hours, if it stays as fast"
    yield "  file", f"{times * result.bytes / 1e9:,.0f} GB"
    yield "  candidates a query", f"{result.candidates_formula:.1f} + {strangers:.0e} others"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/audio", description=__doc__)
    parser.add_argument("--clips", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=50, help="queries, each with its own matches")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.repeat < 1 or options.clips < options.repeat * (1 + TRUE + NEAR):
        parser.error(f"every query takes {1 + TRUE + NEAR} clips: give more --clips")
    with tempfile.TemporaryDirectory() as directory:
        result = measure(options.clips, options.repeat, options.seed, Path(directory))
    for name, value in lines(result):
        print(f"{name:<28}{value}")
    return int(result.wrong > 0 or result.found < (1 - MISSED) * result.true)
