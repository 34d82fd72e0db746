"""The S-curves by experiment: the share of generated pairs that a database file finds.

    scripts/curves                          ten minutes

Each construction and sketch gets a file with pairs of sets of known Jaccard similarity; the pairs
that the file finds are counted. The share differs from the curve by more than 4.5 standard errors,
plus 4.5^2 / 6N for N pairs, in fewer than 1 of 10,000 draws (Bernstein's inequality).
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import lshdb
from lshdb.model import Construction
from lshdb.sketching.constructions import candidate_probability

CONSTRUCTIONS = (
    "and 4, or 4",
    "or 4, and 4",
    "and 4, or 4, or 4, and 4",
    "and 4, or 4, and 4, or 4",
    "or 4, and 4, or 4, and 4",
    "and 6, or 16",
    "and 25, or 50",
)
PERCENTS = (20, 40, 50, 60, 80)
SIGMAS = 4.5


def sets(pairs: int, percent: int, union: int, seed: int) -> Iterator[tuple[str, list[int]]]:
    """Pairs of sets `PERCENT/PAIR/0` and `/1` that share this share of their union."""
    rng = np.random.default_rng((seed, percent))
    shared = union * percent // 100
    middle = shared + (union - shared) // 2
    for pair in range(pairs):
        elements = rng.integers(0, 1 << 62, union).tolist()
        yield f"{percent}/{pair}/0", elements[:middle]
        yield f"{percent}/{pair}/1", elements[:shared] + elements[middle:]


def rates(text: str, sketch: str, pairs: int, seed: int, directory: Path) -> dict[int, float]:
    """The share of the pairs of each similarity that a file finds."""
    lanes = max(16, Construction.parse(text).lanes)
    # Sets of fewer elements than lanes have lanes that depend on each other, which makes the
    # curve of `fast` a little steeper.
    union = 4 * lanes if sketch == "fast" else 100
    path = directory / f"{sketch}-{text.replace(' ', '')}.db"
    counts = dict.fromkeys(PERCENTS, 0)
    with lshdb.open(
        path, shingle="set", construction=text, permutations=lanes, sketch=sketch, content=False
    ) as db:
        for percent in PERCENTS:
            db.add_many(sets(pairs, percent, union, seed))
        for pair in db.pairs(threshold=1e-9, estimate=True):
            if pair.a.rpartition("/")[0] != pair.b.rpartition("/")[0]:
                raise SystemExit(f"{pair.a} and {pair.b} have nothing in common")
            counts[int(pair.a.partition("/")[0])] += 1
    path.unlink()
    return {percent: count / pairs for percent, count in counts.items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/curves", description=__doc__)
    parser.add_argument("--pairs", type=int, default=4_000, help="of each of five similarities")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        f"{'construction':<27}{'sketch':<9}{'similarity':>10}{'found':>10}{'curve':>10}{'off':>10}"
    )
    far = 0
    with tempfile.TemporaryDirectory() as directory:
        for text in CONSTRUCTIONS:
            for sketch in ("fast", "minhash"):
                found = rates(text, sketch, options.pairs, options.seed, Path(directory))
                for percent, rate in found.items():
                    curve = candidate_probability(percent / 100, Construction.parse(text))
                    bound = SIGMAS * math.sqrt(curve * (1 - curve) / options.pairs)
                    bound += SIGMAS**2 / (6 * options.pairs)
                    share = abs(rate - curve) / bound
                    far += share > 1
                    print(
                        f"{text:<27}{sketch:<9}{percent / 100:>10}{rate:>10.5f}{curve:>10.5f}"
                        f"{share:>10.0%}"
                    )
    print(f"off: of the bound; {far} beyond it")
    return int(far > 0)
