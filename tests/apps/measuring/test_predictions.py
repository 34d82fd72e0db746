"""How many candidates queries will have, against brute force and against databases."""

from __future__ import annotations

import itertools
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers import Command, database_of, set_families
from oracles import jaccard

import lshdb
from lshdb import Limits, LimitWarning
from lshdb.apps.measuring import predictions
from lshdb.apps.measuring.predictions import Distribution
from lshdb.apps.measuring.sampling import distribution_of
from lshdb.database import store_of
from lshdb.maintain.choices import ranked
from lshdb.options import TuneOptions
from lshdb.sketch.constructions import Construction, candidate_probability

CASCADE = Construction.parse("and 4, or 4, and 4, or 4")
SHAPES = [Construction(6, 16), Construction(25, 50), CASCADE, Construction.parse("or 4, and 4")]


@pytest.mark.parametrize("construction", SHAPES, ids=str)
def test_a_curve_has_the_probability_of_each_similarity(construction: Construction) -> None:
    similarities = np.linspace(0, 1, 41)
    expected = [candidate_probability(s, construction) for s in similarities.tolist()]
    np.testing.assert_allclose(predictions.curve(similarities, construction), expected, rtol=1e-12)


@pytest.mark.parametrize("construction", SHAPES, ids=str)
def test_candidates_are_the_sum_over_similarities(construction: Construction) -> None:
    weights = np.linspace(0, 1 / 128, 129)
    distribution = Distribution(weights)
    points = distribution.for_power(construction.rows * construction.min_bands)
    probabilities = [candidate_probability(s, construction) for s in points.tolist()]
    found = predictions.candidates_per_query(distribution, 1_000, construction)
    assert found == pytest.approx(1_000 * sum(weights * probabilities))


@pytest.mark.parametrize(("similarity", "rows"), [(0.1, 6), (0.5, 6), (0.9, 30), (1.0, 128)])
def test_the_mean_power_of_estimates_is_that_of_the_similarity(
    similarity: float, rows: int
) -> None:
    """Estimates of pairs of one similarity are binomial; their powers are too large in the mean."""
    lanes = 128
    weights = [
        math.comb(lanes, a) * similarity**a * (1 - similarity) ** (lanes - a)
        for a in range(lanes + 1)
    ]
    estimated = Distribution(np.array(weights))
    construction = Construction(rows, 1)
    for found in (predictions.rows_per_query, predictions.candidates_per_query):
        assert found(estimated, 1, construction) == pytest.approx(similarity**rows, rel=1e-9)


def test_with_a_distribution_the_best_reads_the_fewest_rows() -> None:
    bulk = Distribution(np.zeros(257))
    bulk.weights[[26, 218]] = 1 - 1e-6, 1e-6
    of_few, of_many = (partial(predictions.costs, bulk, count) for count in (100, 100_000_000))
    few, many = (
        ranked(TuneOptions(), 0.8, 0.99, 256, forecast)[0] for forecast in (of_few, of_many)
    )
    assert many.construction.bands > few.construction.bands, "bands are worth it for many"
    for construction in (few.construction, many.construction, Construction(1, 256)):
        _, work = of_many(construction)
        assert many.work is not None
        assert work >= many.work
    assert many.candidates == predictions.candidates_per_query(bulk, 100_000_000, many.construction)


SETS = set_families(61, families=100, copies=4, size=40)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tuning") / "sets.db"
    database_of(path, SETS, shingle="set", threshold=0.5).close()
    return path


def test_a_sample_predicts_how_many_candidates_queries_have(collection: Path) -> None:
    """Tail and bulk: the formula comes within 15% of what the index itself finds."""
    with lshdb.open(collection, mode="read") as db:
        documents, distribution = distribution_of(store_of(db), 1)
        construction = db.settings.construction
        pairs = sum(1 for _ in db.pairs(threshold=1e-9, estimate=True))
        (named,) = (tuned for tuned in db.tune(construction=str(construction)) if tuned.named)
    with (
        lshdb.open(collection, mode="read", limits=Limits(sample_rows=2)) as db,
        pytest.warns(LimitWarning, match=r"only the first 2 of a bucket were read"),
    ):
        distribution_of(store_of(db), 1)
    assert documents == len(SETS)
    assert named.candidates == pytest.approx(2 * pairs / documents, rel=0.15)
    scores = [jaccard(set(SETS[a]), set(SETS[b])) for a, b in itertools.combinations(SETS, 2)]
    for level in (0.5, 0.7):
        truth = sum(score >= level for score in scores) / len(scores)
        share = distribution.weights[np.arange(129) / 128 >= level].sum()
        assert share == pytest.approx(truth, rel=0.15)


def test_tune_says_which_shape_reindex_takes(command: Command) -> None:
    command.done("add", "-", "--key", "a", stdin="one two three four five six seven")
    command.done("add", "-", "--key", "b", stdin="one two three four five six nine")
    done = command.done("tune", "--threshold", "0.7", "--top", "1")
    first = done.lines[0].split("\t")[0]
    command.done("reindex", "--threshold", "0.7")
    usual = command.done("info", "--json").record["construction"]
    assert usual != first
    assert f'"{first}" is the quickest for these documents' in done.err
    assert f'takes "{usual}", unless' in done.err
