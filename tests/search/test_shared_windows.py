"""What texts copy from many others, by tables of shared windows, against pair by pair."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from lshdb.deduplication.cutting import covering
from lshdb.limits import Limits
from lshdb.model import CopiedPassage, DroppedRow
from lshdb.search import passage_runs, passage_windows
from lshdb.search.passages import Copied
from lshdb.shingling.arrays import NO_NUMBERS, int_array, lengths_of
from lshdb.shingling.shingling import Shingling
from lshdb.sketching.constructions import Construction
from lshdb.sketching.settings import Settings

RUN = 3
SETTINGS = Settings(0.8, 0.9, Shingling("word", 3), 16, Construction(4, 4), "fast", 1, True, RUN)


def copied_of(texts: list[str], limits: Limits) -> Copied:
    """What finds the passages of texts."""
    return Copied(
        lambda numbers: [texts[number] for number in numbers.tolist()],
        lengths_of(texts),
        SETTINGS,
        limits,
        RUN,
    )


def random_texts(rng: random.Random) -> list[str]:
    """Texts of few words, some of equal lines, some copies of others with a word changed."""
    words = ["a", "B", "c-d", "é", "x"][: rng.randrange(1, 6)]
    texts: list[str] = []
    for _ in range(rng.randrange(2, 9)):
        line = [rng.choice(words) for _ in range(rng.randrange(25))]
        if any(texts) and rng.random() < 0.4:
            line = rng.choice([text for text in texts if text]).split()
            line[rng.randrange(len(line))] = rng.choice(words)
        times = rng.choice([1, 1, 1, 6])
        texts.append("\n".join([" ".join(line[: 25 // times])] * times))
    return texts


def pair_by_pair(texts: list[str], one: int, other: int) -> tuple[float, tuple[CopiedPassage, ...]]:
    """What a text copies from another one."""
    counting = passage_windows.Counting.of(SETTINGS, NO_NUMBERS)
    pair = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    pairs = passage_runs.Pairs(counting.windows_of([texts[one], texts[other]]), *pair)
    criteria = passage_runs.Criteria(RUN, RUN, 0, 10_000)
    for shared in passage_runs.shared_passages(pairs, criteria):
        return shared.coverage, shared.passages
    return 0.0, ()


def test_tables_find_what_pairs_do() -> None:
    """All at once, and where few texts fit into memory together."""
    found = 0
    for seed in range(5):
        texts = random_texts(random.Random(seed))
        one, other = map(int_array, zip(*product(range(len(texts)), repeat=2), strict=True))
        pairs = [*zip(one.tolist(), other.tolist(), strict=True)]
        expected = {pair: pair_by_pair(texts, *pair) for pair in pairs}
        copied = copied_of(texts, Limits(passage_windows=10) if seed % 4 == 3 else Limits())
        order = np.random.default_rng(seed).permutation(len(one))
        scores = copied.scores(one[order], other[order], 0.0)
        assert scores.tolist() == [
            expected[pair][0]
            for pair in zip(*(x[order].tolist() for x in (one, other)), strict=True)
        ]
        for pair, (_, passages) in expected.items():
            assert copied.passages[pair] == passages
            found += len(passages)
        for text in range(len(texts)):
            others = [*range(len(texts))][::-1]
            rows = [
                DroppedRow(
                    "", None, None, str(index), None, None, 1.0, True, False, passage=passage
                )
                for index, number in enumerate(others)
                for passage in expected[text, number][1]
            ]
            few = [
                replace(row, kept=str(index), passage=passage)
                for index, passage in copied.covering(text, others)
                for row in rows[:1]
            ]
            assert covering(few, texts[text], "word") == covering(rows, texts[text], "word")
    assert found > 100


def test_equal_lines_are_compared_in_linear_time() -> None:
    """Of 300 texts of 30 equal lines, each window with each was 400 million comparisons."""
    rng = random.Random(1)
    line = " ".join(f"w{rng.randrange(999)}" for _ in range(12))
    texts = [f"title {number}\n" + "\n".join([line] * 30) for number in range(300)]
    one = int_array(number for number in range(300) for _ in range(max(0, number - 50), number))
    other = int_array(it for number in range(300) for it in range(max(0, number - 50), number))
    copied = copied_of(texts, Limits())
    begun = time.process_time()
    scores = copied.scores(one, other, 0.0)
    for number in range(1, 300):
        covered = copied.covering(number, [*range(max(0, number - 50), number)])
        assert [index for index, _ in covered] == [0]
    assert time.process_time() - begun < 3
    assert scores == pytest.approx(360 / 362)
