"""A sample of pairs: drawn by its seed, each pair as probable as any other."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from helpers import Command, database_of, text_families

from lshdb.apps.review.pair_sample import random_numbers


def test_each_pair_is_as_probable_as_any_other() -> None:
    """Of 190 pairs 19 are drawn, for 1,000 seeds: each is expected 100 times, +- 9.5.

    So are two certain pairs together (9.5 times, +- 3.1), also with a document in common.
    """
    a, b = np.array([*combinations(range(1, 21), 2)]).T.copy()
    drawn = np.zeros((1_000, len(a)), dtype=bool)
    for seed, row in enumerate(drawn):
        row[np.argsort(random_numbers(a, b, seed))[:19]] = True
    differences = drawn.sum(axis=0) - 100
    assert np.abs(differences).max() < 5 * 9.5
    assert 7.5 < differences.std() < 11.5, "neither more even nor less than chance"
    together = drawn.T.astype(int) @ drawn
    assert 2.5 < together[np.triu_indices(len(a), 1)].std() < 3.5, "9.5 is their mean in any case"


SAMPLE = ("pairs", "--threshold", "0.5", "--max-similarity", "0.8", "--sample", "5")


@pytest.fixture
def of_families(path: Path) -> Command:
    texts = text_families(5, families=20, copies=3, words=60, most_edits=8)
    with database_of(path, texts, threshold=0.5) as database:
        # Ids that do not follow from the order of keys.
        assert database.remove(where="doc_id % 3 = 0")
        database.add_many(list(texts.items())[::-1], workers=0)
    return Command(path.parent)


def test_a_sample_is_drawn_by_its_seed(of_families: Command) -> None:
    drawn = of_families.done(*SAMPLE, "--json")
    every = of_families.done("pairs", "--max-similarity", "0.8", "--json", says="").records
    assert len(every) > 20
    said = f"5 of the {len(every)} pairs that match, drawn at random (--seed 1)\n"
    assert drawn.err == said
    assert all(pair in every for pair in drawn.records)
    scores = [pair["similarity"] for pair in drawn.records]
    assert 0.8 >= scores[0] > scores[-1]
    other = of_families.done(*SAMPLE, "--json", "--seed", "2", "--quiet", says="").records
    assert {pair["a"] for pair in other} != {pair["a"] for pair in drawn.records}


def test_a_range_without_pairs(of_families: Command) -> None:
    narrow = ("--threshold", "0.50001", "--max-similarity", "0.50002", "--sample", "3")
    note = "no pair with similarity 0.50001 to 0.50002\n"
    assert of_families.done("pairs", *narrow, says=note).out == ""
    reason = of_families.fails("pairs", "--max-similarity", "0.4", status=2)
    assert reason.endswith("below the threshold 0.5: give a lower threshold")
