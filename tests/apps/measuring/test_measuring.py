"""What `measure` reports of an index, against brute force over plain sets and the file's rows."""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple
from pathlib import Path

import pytest
from helpers import Command, database_of, set_families
from oracles import jaccard

import lshdb
from lshdb import Limits
from lshdb.apps.measuring.methods import wilson
from lshdb.errors import UsageError
from lshdb.sketch.constructions import Construction, candidate_probability

SETS = set_families(71, families=30, copies=5, size=40)
THRESHOLD = 0.6
PAIRS = list(itertools.combinations(SETS, 2))
SCORES = {(a, b): jaccard(set(SETS[a]), set(SETS[b])) for a, b in PAIRS}


def collection(path: Path, text: str, **settings: object) -> lshdb.Database:
    """A database with a weak index, so that there is something to miss."""
    db: lshdb.Database = lshdb.open(  # type: ignore[call-overload]
        path, shingle="set", threshold=THRESHOLD, construction=text, **settings
    )
    db.add_many(SETS.items())
    db.add("empty", [])
    return db


@pytest.mark.parametrize(
    ("text", "threshold"), [("and 6, or 8", None), ("and 3, or 3, and 3, or 2", 0.4)]
)
def test_all_that_is_measured_of_a_whole_collection(
    path: Path, text: str, threshold: float | None
) -> None:
    """Every document as a query: brute force over Python's sets gives the same, pair by pair."""
    with collection(path, text) as db:
        candidates = {(pair.a, pair.b) for pair in db.pairs(threshold=1e-9, estimate=True)}
        measured = db.measure(sample=10_000, threshold=threshold)
    construction = Construction.parse(text)
    assert measured.construction == construction
    assert (measured.documents, measured.sample) == (len(SETS), len(SETS)), "empty ones are none"
    similar = {pair for pair, score in SCORES.items() if score >= (threshold or THRESHOLD)}
    found = similar & candidates
    assert 50 < len(found) < len(similar)
    recall = measured.recall
    assert (recall.pairs, recall.found) == (len(similar), len(found))
    assert recall.recall == len(found) / len(similar)
    expected = [candidate_probability(SCORES[pair], construction) for pair in similar]
    assert recall.formula == pytest.approx(sum(expected) / len(expected))
    assert measured.candidates == 2 * len(candidates) / len(SETS)
    assert measured.precision == len(found) / len(candidates)
    assert recall.low is not None
    assert recall.high is not None
    assert recall.low < (recall.formula or 0) < recall.high
    assert measured.candidates_formula == pytest.approx(measured.candidates, rel=0.15)
    assert measured.precision_formula == pytest.approx(measured.precision, rel=0.15)


def test_the_usual_sample_is_smaller_where_it_would_take_long(path: Path) -> None:
    with collection(path, "and 6, or 8") as db:
        assert db.measure().sample == len(SETS)
    with lshdb.open(path, limits=Limits(measure_lanes=1)) as db:
        assert db.measure().sample == 100


def test_blocks_change_nothing(path: Path) -> None:
    with collection(path, "and 6, or 8") as db:
        whole = db.measure(sample=90)
    assert whole.sample == 90
    steps: list[tuple[int, int | None, str]] = []
    with lshdb.open(path, limits=Limits(measure_cells=40, measure_held=40)) as db:
        parts = db.measure(sample=90, progress=lambda *step: steps.append(step))
        assert astuple(parts.recall) == pytest.approx(astuple(whole.recall), rel=1e-12)
        assert (parts.candidates, parts.precision) == (whole.candidates, whole.precision)
        assert len(steps) > 3
        assert steps[-1] == (90 * len(SETS), 90 * len(SETS), "comparisons")


def test_a_pair_counts_once_wherever_the_sample_meets_it(path: Path) -> None:
    """Of all pairs of three equal sets, each of the sample as a query finds its own two."""
    with database_of(path, ((str(i), [1, 2, 3]) for i in range(3)), shingle="set") as db:
        for sample, pairs in ((1, 2), (2, 3), (3, 3)):
            measured = db.measure(sample=sample)
            counts = (measured.sample, measured.recall.pairs, measured.candidates)
            assert counts == (sample, pairs, 2)
        # Copies are found or missed together: three pairs say no more than three queries.
        low = measured.recall.low
    assert low == pytest.approx(wilson(9 / 5, 9 / 5)[0])


def test_a_sample_is_whole_where_most_documents_were_removed(path: Path) -> None:
    with collection(path, "and 6, or 8") as db:
        db.remove(list(SETS)[:-50])
        for sample in (1, 50, 51):
            measured = db.measure(sample=sample)
            assert (measured.documents, measured.sample) == (50, min(sample, 50))


def test_without_contents_estimates_decide(path: Path) -> None:
    with collection(path, "and 6, or 8", content=False) as db:
        estimates = {(p.a, p.b): p.estimate for p in db.pairs(threshold=1e-9, estimate=True)}
        measured = db.measure(sample=10_000)
    assert not measured.exact
    found = sum(estimate >= THRESHOLD for estimate in estimates.values())
    assert measured.recall.found == found
    assert measured.recall.pairs > found
    assert measured.precision == found / len(estimates)


def test_a_database_of_few_documents(path: Path) -> None:
    with lshdb.open(path) as db:
        for _ in range(2):
            measured = db.measure()
            assert measured.recall == lshdb.MeasuredRecall(0, 0, None, None, None, None)
            assert (measured.candidates, measured.candidates_formula) == (0, 0)
            assert (measured.precision, measured.precision_formula) == (None, None)
            db.add("one", "alone in the world")
        for wrong in ({"sample": 0}, {"threshold": 0}, {"threshold": 1.1}, {"seed": -1}):
            with pytest.raises(UsageError):
                db.measure(**wrong)


@pytest.mark.parametrize(("found", "pairs"), [(0, 5), (5, 5), (3, 7), (0.5, 1.5)])
def test_wilsons_interval_is_where_the_share_would_be_two_sigmas_off(
    found: float, pairs: float
) -> None:
    """Its bounds solve (found / pairs - p)^2 = 1.96^2 p (1 - p) / pairs."""
    share = found / pairs
    for bound in wilson(found, pairs):
        deviation = 1.959964 * math.sqrt(bound * (1 - bound) / pairs)
        assert abs(share - bound) == pytest.approx(deviation, abs=1e-9)


# the command


def test_tune_measure(tmp_path: Path) -> None:
    command = Command(tmp_path)
    with collection(tmp_path / "lsh.db", "and 6, or 8") as db:
        measured = db.measure(sample=100)
    result = command.done("measure", "--sample", "100", "--json")
    assert "100 of 180 documents compared with all, exact similarities" in result.err
    expected = [measured.recall.recall, measured.candidates, measured.precision]
    assert [record["measured"] for record in result.records] == expected
