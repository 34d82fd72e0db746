"""Users as sets of the films that they rated: recall at similarity 0.2, and what it costs.

    scripts/ratings                         two minutes

Films are as popular as Zipf's law says (with Mandelbrot's flat top), so that users who have nothing
to do with each other share some; some users have between a third and two thirds of another one's
films. The settings are those of `lshdb init --for baskets`, once with the usual 128 lanes and once
with 256, which make more rows per user and far fewer candidates. Brute force over the sets finds
the similar users that the answers are compared with.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import lshdb
from lshdb.tuning.measuring import wilson

FILMS = 20_000
FLAT = 50
"""Films at the top that are about as popular as the first."""
MEAN = 60
"""Films that a user rates, about."""
COPIES = 0.6
"""The share of users who resemble another one."""
RECALL = 0.99
PERMUTATIONS = (128, 256)

Films = npt.NDArray[np.int64]


def users(count: int, seed: int) -> list[Films]:
    """The films of each user, int64[any], distinct."""
    rng = np.random.default_rng(seed)
    popularity = np.cumsum(1 / (FLAT + np.arange(1, FILMS + 1)))
    popularity /= popularity[-1]
    rated: list[Films] = []
    for number, size in enumerate(rng.poisson(MEAN, count).tolist()):
        own = np.searchsorted(popularity, rng.random(max(5, size)))
        if number and rng.random() < COPIES:
            other = rated[int(rng.integers(number))]
            kept = other[rng.random(len(other)) < rng.uniform(1 / 3, 2 / 3)]
            own = np.append(kept, own[: max(1, len(own) - len(kept))])
        rated.append(np.unique(own))
    return rated


class BruteForce:
    """Counts, for a user, the films shared with every other one."""

    def __init__(self, rated: list[Films]) -> None:
        self._rated = rated
        self._sizes = np.array([len(own) for own in rated])
        films = np.concatenate(rated)
        order = np.argsort(films, kind="stable")
        self._users = np.repeat(np.arange(len(rated)), self._sizes)[order]
        self._starts = np.searchsorted(films[order], np.arange(FILMS + 1))

    def similar(self, user: int, threshold: float) -> dict[str, float]:
        """The similar users, by their keys, with their similarities."""
        own = self._rated[user]
        meeting = [self._users[self._starts[film] : self._starts[film + 1]] for film in own]
        shared = np.bincount(np.concatenate(meeting), minlength=len(self._rated))
        scores = shared / (self._sizes + len(own) - shared)
        found = np.flatnonzero(scores >= threshold)
        return {str(i): float(scores[i]) for i in found.tolist() if i != user}


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured.

    Attributes:
        users, queries: how many.
        threshold: the similarity from which on users are similar.
        construction: of the index.
        similar, found: similar users of the queries by brute force, and those found.
        wrong: reported users that are not similar, or have another similarity.
        rows, bytes: of the file, for a user.
        candidates: of a query, in the mean.
        query_seconds: of a query.
    """

    users: int
    queries: int
    threshold: float
    construction: str
    similar: int
    found: int
    wrong: int
    rows: int
    bytes: float
    candidates: float
    query_seconds: float


def measure(
    count: int, queries: int, recall: float, permutations: int, seed: int, directory: Path
) -> Result:
    """Add users to a database, query it for some, and compare."""
    rated = users(count, seed)
    truth = BruteForce(rated)
    chosen = np.random.default_rng(seed).permutation(count)[:queries].tolist()
    similar = found = wrong = candidates = 0
    with lshdb.open(
        directory / "ratings.db", purpose="baskets", recall=recall, permutations=permutations
    ) as db:
        db.add_many((str(i), own.tolist()) for i, own in enumerate(rated))
        threshold = db.settings.threshold
        begun = time.perf_counter()
        answers = [db.query(key=str(user)) for user in chosen]
        query_seconds = (time.perf_counter() - begun) / len(chosen)
        for user, matches in zip(chosen, answers, strict=True):
            true = truth.similar(user, threshold)
            right = sum(true.get(match.key) == match.similarity for match in matches)
            similar, found, wrong = similar + len(true), found + right, wrong + len(matches) - right
            candidates += len(db.query(key=str(user), threshold=1e-9, estimate=True))
        info = db.info()
    return Result(
        users=count,
        queries=len(chosen),
        threshold=threshold,
        construction=str(info.settings.construction),
        similar=similar,
        found=found,
        wrong=wrong,
        rows=info.settings.construction.bands,
        bytes=info.bytes / count,
        candidates=candidates / len(chosen),
        query_seconds=query_seconds,
    )


def lines(result: Result) -> Iterator[tuple[str, str]]:
    """What was measured."""
    low, high = wilson(result.found, result.similar)
    yield "users", f"{result.users:,}, of about {MEAN} of {FILMS:,} films each"
    yield "index", f"{result.construction}, at threshold {result.threshold:g}"
    yield "similar users", f"{result.similar:,} of {result.queries} queries, by brute force"
    yield "  found", f"{result.found:,}"
    recall = result.found / result.similar
    yield "  recall", f"{recall:.4f} ({low:.4f} to {high:.4f} at 95% confidence)"
    yield "  wrong", str(result.wrong)
    yield "rows a user", str(result.rows)
    yield "bytes a user", f"{result.bytes:,.0f}, films and signature included"
    share = result.candidates / result.users
    yield "candidates a query", f"{result.candidates:,.0f}, {share:.1%} of all users"
    yield "query", f"{1e3 * result.query_seconds:.1f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/ratings", description=__doc__)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--recall", type=float, default=RECALL, help="that the index is made for")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    good = True
    for permutations in PERMUTATIONS:
        with tempfile.TemporaryDirectory() as directory:
            result = measure(
                options.users,
                options.queries,
                options.recall,
                permutations,
                options.seed,
                Path(directory),
            )
        for name, value in lines(result):
            print(f"{name:<24}{value}")
        print()
        good &= not result.wrong and result.found >= RECALL * result.similar
    return int(not good)
