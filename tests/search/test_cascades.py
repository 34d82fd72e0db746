"""Queries, pairs and clusters in an index whose construction is a cascade of levels."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import pytest
from helpers import set_families
from oracles import is_true, jaccard

import lshdb
from lshdb.model import SketchName
from lshdb.search import buckets as lookup
from lshdb.search import candidates
from lshdb.search import pairs as joining
from lshdb.search.limits import Limit

SETS = set_families(51, families=9, copies=5, size=40)


@pytest.mark.parametrize(
    ("text", "sketch"),
    [
        ("or 4, and 16, or 2", "fast"),
        ("and 3, or 6, and 2, or 4", "minhash"),
        ("and 2, or 9, and 3", "fast"),
    ],
)
def test_queries_pairs_and_clusters_find_what_the_signatures_say(
    path: Path, text: str, sketch: SketchName, monkeypatch: pytest.MonkeyPatch
) -> None:
    threshold = 0.4
    with lshdb.open(
        path, shingle="set", threshold=threshold, construction=text, sketch=sketch
    ) as db:
        db.add_many(SETS.items())
        lanes = db.settings.construction.lanes
        signatures = {key: db.get(key).signature for key in SETS}
        expected = {
            (a, b)
            for a, b in itertools.combinations(SETS, 2)
            if is_true((signatures[a] == signatures[b])[:lanes].tolist(), text)  # type: ignore[index]
            and jaccard(set(SETS[a]), set(SETS[b])) >= threshold
        }
        assert len(expected) > 50
        similar = {
            (a, b)
            for a, b in itertools.combinations(SETS, 2)
            if jaccard(set(SETS[a]), set(SETS[b])) >= threshold
        }
        assert len(similar) > len(expected), "the cascade leaves out some"
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
        both = expected | {(b, a) for a, b in expected}
        for top in (None, 100):
            found = {(key, m.key) for key in SETS for m in db.query(key=key, top=top)}
            assert found == both
        found = {(key, match.key) for key in SETS for match in db.query(SETS[key])}
        assert found == both | {(key, key) for key in SETS}
        estimated = {(pair.a, pair.b) for pair in db.pairs(threshold=0.01, estimate=True)}
        assert estimated >= expected
        assert estimated == {
            (a, b)
            for a, b in itertools.combinations(SETS, 2)
            if is_true((signatures[a] == signatures[b])[:lanes].tolist(), text)  # type: ignore[index]
        }
        everyone = {(key, m.key) for key in SETS for m in db.query(key=key, exhaustive=True)}
        assert everyone == similar | {(b, a) for a, b in similar}
        members = {frozenset(cluster.members) for cluster in db.clusters()}
        assert members == components(expected)
        for a, b in itertools.islice(itertools.combinations(SETS, 2), 200):
            assert db.compare(a, b).candidates == ((a, b) in estimated)
        # The same where all is large.
        monkeypatch.setattr(lookup, "QUERY_FIRST", 3)
        monkeypatch.setattr(candidates, "_CHUNK", 1)
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lshdb.LimitWarning)
            found = {(key, match.key) for key in SETS for match in db.query(key=key, top=3)}
        assert found <= both
        assert len(found) > len(both) / 2


def components(pairs: set[tuple[str, str]]) -> set[frozenset[str]]:
    """The connected components of pairs, by plain union of sets."""
    sets: list[set[str]] = []
    for pair in pairs:
        touched = [own for own in sets if own & set(pair)]
        sets = [own for own in sets if not own & set(pair)]
        sets.append(set(pair).union(*touched))
    return {frozenset(own) for own in sets}


def test_clusters_of_hot_buckets_are_those_of_the_cascade(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents with a long common part fill buckets, and are paired by their rare shingles."""
    monkeypatch.setattr(joining, "CLUSTERS", Limit(whole=20, first=4, others=8))
    header = [f"h{i}" for i in range(30)]
    text = "and 1, or 4, and 4, or 8"
    documents = {
        f"{i}/{copy}": [*header, *(f"{i}-{j}" for j in range(30)), f"c{i}-{copy}"]
        for i in range(150)
        for copy in range(2)
    }
    with lshdb.open(path, shingle="set", threshold=0.7, construction=text) as db:
        db.add_many(documents.items())
        pairs = {(pair.a, pair.b) for pair in db.pairs()}
        compared = {
            (f"{i}/0", f"{i}/1"): db.compare(f"{i}/0", f"{i}/1").candidates for i in range(150)
        }
        assert pairs == {pair for pair, candidate in compared.items() if candidate}
        assert {cluster.members for cluster in db.clusters()} == pairs
