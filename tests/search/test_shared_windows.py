"""What texts copy from many others, by tables of shared windows, against pair by pair."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

from lshdb.deduplication.cutting import covering
from lshdb.limits import Limits
from lshdb.model import CopiedPassage, DroppedRow
from lshdb.search import passage_runs, passage_windows
from lshdb.search.passages import CopiedShares
from lshdb.shingling.arrays import NO_NUMBERS, int_array, lengths_of
from lshdb.shingling.shingling import Shingling
from lshdb.sketching.constructions import Construction
from lshdb.sketching.settings import Settings

RUN = 3
SETTINGS = Settings(0.8, 0.9, Shingling("word", 3), 16, Construction(4, 4), "fast", 1, True, RUN)


def copied_of(texts: list[str], limits: Limits, run: int = RUN) -> CopiedShares:
    """What finds the passages of texts."""
    return CopiedShares(
        lambda numbers: [texts[number] for number in numbers.tolist()],
        lengths_of(texts),
        SETTINGS,
        limits,
        run,
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


def places(passages: Iterable[CopiedPassage | None]) -> set[int]:
    """The places of the characters of passages."""
    return {place for one in passages if one is not None for place in range(one.start, one.end)}


def dropped_for(passage: CopiedPassage) -> DroppedRow:
    """A row that has a passage of another one."""
    where = "", None, None
    return DroppedRow(*where, *where, 1.0, True, False, passage=passage)


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
            assert copied.passages(*pair) == passages
            found += len(passages)
        for text in range(len(texts)):
            others = [number for number in range(len(texts)) if (number + text + seed) % 4]
            every = [passage for number in others for passage in expected[text, number][1]]
            few = copied.covering(text, others)
            assert all(passage in expected[text, others[index]][1] for index, passage in few)
            assert places(passage for _, passage in few) == places(every)
            rows = [dropped_for(passage) for passage in every]
            fewest = covering(rows, texts[text], "word")
            assert places(row.passage for row in fewest) == places(every)
            for row in fewest:
                assert places(other.passage for other in fewest if other != row) < places(every)
    assert found > 100


def test_texts_of_two_words_are_covered_by_few_others() -> None:
    """Of 150 such texts each has most runs of eight words, in other places, as 100 others do."""
    rng = random.Random(1)
    texts = [" ".join(rng.choices("ab", k=360)) for _ in range(150)]
    copied = copied_of(texts, Limits(), 8)
    begun = time.process_time()
    for number in range(100, 150, 2):
        few = copied.covering(number, [*range(number - 100, number)])
        assert len({index for index, _ in few}) < 20
        assert places(passage for _, passage in few) == {*range(len(texts[number]))}
    assert time.process_time() - begun < 3


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
