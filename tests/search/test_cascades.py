"""Queries, pairs and clusters in an index whose construction is a cascade of levels."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import pytest
from helpers import database_of, set_families
from oracles import connected, is_true, jaccard

import lshdb
from lshdb.limits import Limit, Limits
from lshdb.sketching.settings import SketchName

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
    path: Path, text: str, sketch: SketchName
) -> None:
    with database_of(
        path, SETS, shingle="set", threshold=0.4, construction=text, sketch=sketch
    ) as db:
        lanes = db.settings.construction.lanes
        signatures = {key: db.get(key).signature for key in SETS}
        pairs = list(itertools.combinations(SETS, 2))
        similar = {(a, b) for a, b in pairs if jaccard(set(SETS[a]), set(SETS[b])) >= 0.4}
        candidate = {
            (a, b)
            for a, b in pairs
            if is_true((signatures[a] == signatures[b])[:lanes].tolist(), text)  # type: ignore[index]
        }
        expected = similar & candidate
        assert len(similar) > len(expected) > 50, "the cascade leaves out some"
        both = expected | {(b, a) for a, b in expected}
        assert {(pair.a, pair.b) for pair in db.pairs(threshold=0.01, estimate=True)} == candidate
        assert {pair for pair in pairs[:200] if db.compare(*pair).candidates} == candidate & {
            *pairs[:200]
        }
        assert {frozenset(cluster.members) for cluster in db.clusters()} == connected(expected)
        for top in (None, 100):
            assert {(key, m.key) for key in SETS for m in db.query(key=key, top=top)} == both
        found = {(key, match.key) for key, one in SETS.items() for match in db.query(one)}
        assert found == both | {(key, key) for key in SETS}
        everyone = {(key, m.key) for key in SETS for m in db.query(key=key, exhaustive=True)}
        assert everyone == similar | {(b, a) for a, b in similar}
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
        # The same where all is large.
    small = Limits(query_first=3, pairs_chunk=1)
    with lshdb.open(path, limits=small) as db:
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lshdb.LimitWarning)
            found = {(key, match.key) for key in SETS for match in db.query(key=key, top=3)}
        assert found <= both
        assert len(found) > len(both) / 2


def test_clusters_of_hot_buckets_are_those_of_the_cascade(path: Path) -> None:
    """Documents with a long common part fill buckets, and are paired by their rare shingles."""
    small = Limits(clusters=Limit(whole=20, first=4, others=8))
    header = [f"h{i}" for i in range(30)]
    documents = {
        f"{i}/{copy}": [*header, *(f"{i}-{j}" for j in range(30)), f"c{i}-{copy}"]
        for i in range(150)
        for copy in range(2)
    }
    text = "and 1, or 4, and 4, or 8"
    with database_of(
        path, documents, shingle="set", threshold=0.7, construction=text, limits=small
    ) as db:
        twins = [(f"{i}/0", f"{i}/1") for i in range(150)]
        expected = {pair for pair in twins if db.compare(*pair).candidates}
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
        assert {cluster.members for cluster in db.clusters()} == expected
