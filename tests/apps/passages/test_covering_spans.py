"""The fewest spans that cover all, beside all choices of spans."""

from __future__ import annotations

import itertools
import random

import numpy as np

from lshdb.apps.passages.passage_runs import covering_spans


def covered(spans: list[tuple[int, int]]) -> set[int]:
    return {place for start, end in spans for place in range(2 * start, 2 * end + 1)}


def test_covering_spans_are_the_fewest_that_cover_all() -> None:
    """Beside all choices of spans; places are doubled, so that spans that touch leave no gap."""
    rng = random.Random(1)
    for _ in range(300):
        starts = [rng.randrange(12) for _ in range(rng.randrange(7))]
        spans = [(start, start + rng.randrange(1, 6)) for start in starts]
        found = covering_spans(
            np.array([start for start, _ in spans], dtype=np.int64),
            np.array([end for _, end in spans], dtype=np.int64),
        ).tolist()
        assert covered([spans[index] for index in found]) == covered(spans)
        assert [spans[index] for index in found] == sorted(spans[index] for index in found)
        fewest = next(
            count
            for count in range(len(spans) + 1)
            for chosen in itertools.combinations(spans, count)
            if covered([*chosen]) == covered(spans)
        )
        assert len(found) == fewest
