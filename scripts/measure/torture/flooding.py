"""Hash flooding: documents made to share a bucket, under a seed that the attacker knows.

    python scripts/measure torture.flooding

Takes ten seconds; prints a line for each seed. Anyone who knows the seed can try elements until,
for each lane of a band, one has a hash below nearly all others. Documents that have these few
elements in common, and nothing else, share that band's bucket: a query with such a document has all
of them as candidates. Under a seed that nobody knows (`lshdb init --seed random`) they do not
collide.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import lshdb
from lshdb.shingling.shingles import distinct_shingles
from lshdb.sketching.minhash import FastSketch

_AT_ONCE = 20_000
_SETTINGS = {"shingle": "set", "threshold": 0.8}


def winners(lanes: int, wanted: int, seed: int, tried: int) -> list[int]:
    """For each of the first `wanted` lanes, the integer below `tried` that wins it."""
    sketch = FastSketch(lanes, seed)
    shingling = lshdb.Shingling.parse("set")
    best = np.full(wanted, np.uint64(2**64 - 1))
    found = np.zeros(wanted, dtype=np.int64)
    for start in range(0, tried, _AT_ONCE):
        elements = [[i] for i in range(start, start + _AT_ONCE)]
        hashes = distinct_shingles(elements, shingling, seed).hashes
        table = np.full((len(hashes), lanes), np.uint64(2**64 - 1))
        sketch._first_round(table, hashes, np.ones(len(hashes), dtype=np.int64))
        minimum = table[:, :wanted].min(axis=0)
        better = minimum < best
        found[better] = start + table[:, :wanted].argmin(axis=0)[better]
        best = np.minimum(best, minimum)
    return [int(i) for i in found]


def documents(common: list[int], count: int, others: int) -> list[tuple[str, list[int | str]]]:
    """Documents that have `common` and `others` elements of their own."""
    return [(f"d{i}", [*common, *(f"{i}.{j}" for j in range(others))]) for i in range(count)]


def flood(path: Path, seed: int | str, made: list[tuple[str, list[int | str]]]) -> dict[str, float]:
    """Add the documents to a new file, and measure its buckets and queries."""
    with lshdb.open(path, seed=seed, **_SETTINGS) as db:  # type: ignore[call-overload]
        db.add_many(made)
        rows = db.sql("SELECT max(documents), sum(documents * (documents - 1)) / 2 FROM buckets")
        ((largest, pairs),) = rows
        times = []
        for _, content in made[:20]:
            begun = time.perf_counter()
            assert len(db.query(content)) == 1, "they are not similar"
            times.append(time.perf_counter() - begun)
    return {
        "largest bucket": float(largest or 0),
        "candidate pairs": float(pairs or 0),
        "ms a query": 1000 * statistics.median(times),
    }


def main() -> None:
    """Print what a flood does under the seed that it was made for, and under others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=60, help="elements of each document alone")
    parser.add_argument("--tried", type=int, default=2_000_000, help="elements tried in advance")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        begun = time.perf_counter()
        with lshdb.open(Path(directory) / "settings.db", **_SETTINGS) as db:  # type: ignore[call-overload]
            settings = db.settings
        common = winners(
            settings.permutations, settings.construction.rows, settings.seed, given.tried
        )
        print(f"{len(common)} elements found in {time.perf_counter() - begun:.1f} s: {common}")
        made = documents(common, given.documents, given.others)
        union = len(common) + 2 * given.others
        print(f"{len(made)} documents, any two of similarity {len(common) / union:.3f}")
        for seed in (settings.seed, settings.seed + 1, "random"):
            measured = flood(Path(directory) / f"{seed}.db", seed, made)
            print(f"seed {seed}: " + ", ".join(f"{n} {v:,.1f}" for n, v in measured.items()))
