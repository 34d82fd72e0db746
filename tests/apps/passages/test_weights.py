"""Similarity weighted by rarity, beside its formula computed by hand."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import oracles
import pytest
from helpers import database_of

import lshdb
from lshdb import Limits
from lshdb.apps.passages import weights
from lshdb.apps.report.evidence import connections
from lshdb.progress import silent

RUN, COUNT = 6, 24
DRAW = random.Random(41)
PARTS = [
    " ".join(DRAW.choices([f"word{number}" for number in range(400)], k=30))
    for _ in range(COUNT + 3)
]
TEXTS = {
    f"d{n}": " ".join([PARTS[-1], PARTS[-2] if n % 2 else "", PARTS[n], PARTS[n - n % 3]])
    for n in range(COUNT)
}
"""A class: all begin with one text, half have a second, neighbours share a passage."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> lshdb.Database:
    path = tmp_path_factory.mktemp("rarity") / "lsh.db"
    database_of(path, TEXTS, threshold=0.2, passages=RUN).close()
    return lshdb.open(path, limits=Limits(join_read=200, passage_windows=100))


@cache
def fingerprints(text: str) -> frozenset[int]:
    return frozenset(oracles.fingerprints(text, "word", RUN, 1))


def by_hand(a: str, b: str) -> object:
    stored = [*map(fingerprints, TEXTS.values())]
    return pytest.approx(oracles.weighted(fingerprints(a), fingerprints(b), stored), abs=1e-12)


def test_all_give_what_the_formula_gives(db: lshdb.Database) -> None:
    pairs = [*db.pairs(), *db.passage_pairs()]
    for pair in pairs:
        assert (pair.weighted, pair.weighted_share) == by_hand(TEXTS[pair.a], TEXTS[pair.b])
    assert len(pairs) > 2 * COUNT
    text = f"{TEXTS['d4'][60:]} and more of other words that nobody has at all {TEXTS['d9'][:90]}"
    ((_, matches),) = db.query_many([("d3", text)])
    for found in [*matches, *db.query(text, threshold=0.01, exhaustive=True), *db.passages(text)]:
        assert (found.weighted, found.weighted_share) == by_hand(text, TEXTS[found.key])


def test_the_order_and_the_minimum_are_of_what_is_asked_for(db: lshdb.Database) -> None:
    db = lshdb.open(db.path)  # read at once, not in many pieces
    every: list[Any] = [*db.pairs()]
    pairs = sorted(every, key=lambda pair: (-pair.weighted, -pair.similarity))
    assert [*db.pairs(sort="weighted", top=9)] == pairs[:9]
    assert [*db.pairs(sort="weighted", top=1 << 70)] == pairs
    enough = [pair for pair in pairs if pair.weighted >= 0.3]
    assert 5 < len(enough) < len(pairs)
    assert [*db.pairs(sort="weighted", min_weighted=0.3)] == enough
    assert all(pair in enough for pair in db.pairs(min_weighted=0.3, top=5))
    finds: list[Any] = [db.query, db.passages]
    for find in finds:
        first, *_, last = find(key="d4", sort="weighted_share")
        assert first.key in ("d3", "d5")
        assert first.weighted_share > last.weighted_share
        assert len(find(key="d4", sort="weighted", top=1)) == 1
        assert not [*find(key="d4", min_weighted=0.99)]
    shares = [pair.share for pair in db.passage_pairs(top=10)]
    assert shares == sorted(shares, reverse=True)
    db.close()


def test_two_documents_are_no_class(tmp_path: Path) -> None:
    texts = dict.fromkeys("ab", "It was the best of times and the worst of times")
    with database_of(tmp_path / "lsh.db", texts, passages=RUN) as db:
        for expected in (1, None):
            (pair,) = db.pairs()
            assert (pair.weighted, pair.weighted_share) == (expected, expected)
            db.reindex(passages=0)
        with pytest.raises(lshdb.UsageError, match="--passages 8"):
            list(db.pairs(sort="weighted"))


def reported(db: lshdb.Database) -> dict[tuple[str, str], tuple[float, float]]:
    """The weighted similarities of all pairs of a report."""
    pairs = connections(db._store, 0.2, silent).pairs
    assert len(pairs) > 2 * COUNT
    return {(pair.a, pair.b): (pair.weighted or 0, pair.weighted_share or 0) for pair in pairs}


def test_a_report_weighs_all_shingles_of_texts(
    db: lshdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = {key: set(oracles.shingle_hashes(text, "word", 3, 1)) for key, text in TEXTS.items()}
    every = reported(db)
    for (a, b), shares in [*every.items()][::5]:
        expected = oracles.weighted(sets[a], sets[b], [*sets.values()])
        assert shares == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(weights, "MAX_HASHES", 800)
    sampled = reported(db)  # a third of the shingles, of 90 in a text
    errors = [abs(every[pair][0] - sampled[pair][0]) for pair in every]
    assert 0 < sum(errors) / len(errors) < 0.1


def test_a_report_weighs_the_fingerprints_of_programs(tmp_path: Path) -> None:
    tokens = [*"+-*()[]=<>x1", "if", "while", "for", "return", "==", "'a'"]
    parts = [" ".join(DRAW.choices(tokens, k=30)) for _ in range(COUNT + 1)]
    programs = {f"d{n}": f"{parts[-1]} {parts[n]} {parts[n - n % 3]}" for n in range(COUNT)}
    with database_of(
        tmp_path / "lsh.db", programs, shingle="code:3", passages=RUN, threshold=0.2
    ) as db:
        report = reported(db)
        for pair in db.pairs():
            expected = pair.weighted, pair.weighted_share
            assert report[pair.a, pair.b] == pytest.approx(expected, abs=1e-12)
