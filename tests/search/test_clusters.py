"""Clusters: a partition by similar pairs, with the right member kept and its similarities given."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers import set_families
from oracles import jaccard

import lshdb
from lshdb.errors import LimitWarning, UsageError
from lshdb.model import Cluster, Content, Keep, Pair
from lshdb.search import candidates
from lshdb.search import pairs as joining
from lshdb.search import similarity as measures
from lshdb.search.limits import Limit

SETS: dict[str, Content] = {
    **set_families(41, families=40, copies=5, size=40),
    **{f"twin {i}": list(range(i // 3, 9 + i // 3)) for i in range(30)},
    "empty": [],
    "empty too": [],
}
KEEPS: Sequence[Keep] = ("first", "longest", "last")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the SETS at threshold 0.5, in a shuffled order of addition."""
    path = tmp_path_factory.mktemp("clusters") / "lsh.db"
    keys = list(SETS)
    random.Random(42).shuffle(keys)
    with lshdb.open(path, threshold=0.5, shingle="set") as db:
        db.add_many((key, SETS[key]) for key in keys)
    return path


def similarity(one: str, other: str) -> float:
    return jaccard(set(SETS[one]), set(SETS[other]))


def preferred(keys: Iterable[str], keep: Keep) -> list[str]:
    """Keys in the order of addition, as those to be kept come first."""
    keys = list(keys)
    if keep == "last":
        return keys[::-1]
    return sorted(keys, key=lambda key: -len(SETS[key])) if keep == "longest" else keys


def connected(keys: Sequence[str], pairs: Iterable[Pair]) -> set[frozenset[str]]:
    """The connected components of at least two keys, by joining sets one pair at a time."""
    component = {key: {key} for key in keys}
    for pair in pairs:
        joined = component[pair.a] | component[pair.b]
        component |= dict.fromkeys(joined, joined)
    return {frozenset(own) for own in component.values() if len(own) > 1}


def stars(order: Sequence[str], pairs: Iterable[Pair]) -> dict[str, set[str]]:
    """The stars of at least two keys: each in the order takes those similar that are left."""
    similar: dict[str, set[str]] = {key: set() for key in order}
    for pair in pairs:
        similar[pair.a].add(pair.b)
        similar[pair.b].add(pair.a)
    left = set(order)
    found = {}
    for key in order:
        if key in left:
            found[key] = {key} | similar[key] & left
            left -= found[key]
    return {key: own for key, own in found.items() if len(own) > 1}


def check_cluster(cluster: Cluster, place: Mapping[str, int], threshold: float) -> None:
    """Everything that a cluster says of itself is true."""
    assert list(cluster.members) == sorted(cluster.members, key=place.__getitem__)
    assert cluster.keep in cluster.members
    others = [
        score
        for key, score in zip(cluster.members, cluster.similarities, strict=True)
        if key != cluster.keep
    ]
    for key, score in zip(cluster.members, cluster.similarities, strict=True):
        assert score == similarity(cluster.keep, key)
    assert cluster.lowest == min(others)
    assert cluster.mean == pytest.approx(statistics.mean(others))
    assert cluster.below == sum(score < threshold for score in others)
    assert cluster.exact


@pytest.mark.parametrize("threshold", [0.4, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("keep", KEEPS)
def test_clusters_are_what_pairs_connect(filled: Path, keep: Keep, threshold: float) -> None:
    with lshdb.open(filled) as db:
        keys = db.keys()
        clusters = list(db.clusters(threshold=threshold, keep=keep))
        pairs = list(db.pairs(threshold=threshold))
    place = {key: i for i, key in enumerate(keys)}
    assert {frozenset(cluster.members) for cluster in clusters} == connected(keys, pairs)
    members = [key for cluster in clusters for key in cluster.members]
    assert len(members) == len(set(members)) >= 30
    assert [cluster.cluster for cluster in clusters] == list(range(1, len(clusters) + 1))
    firsts = [place[cluster.members[0]] for cluster in clusters]
    assert firsts == sorted(firsts)
    for cluster in clusters:
        check_cluster(cluster, place, threshold)
        assert cluster.keep == preferred(cluster.members, keep)[0]
    assert any(cluster.below for cluster in clusters) or threshold > 0.5, "some are chains"


@pytest.mark.parametrize("threshold", [0.4, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("keep", KEEPS)
def test_stars_are_taken_in_order(filled: Path, keep: Keep, threshold: float) -> None:
    with lshdb.open(filled) as db:
        keys = db.keys()
        clusters = list(db.clusters(threshold=threshold, keep=keep, star=True))
        pairs = list(db.pairs(threshold=threshold))
    place = {key: i for i, key in enumerate(keys)}
    found = {cluster.keep: set(cluster.members) for cluster in clusters}
    assert found == stars(preferred(keys, keep), pairs)
    assert len(found) == len(clusters) >= 10
    for cluster in clusters:
        check_cluster(cluster, place, threshold)
        assert cluster.below == 0
        assert cluster.lowest >= threshold


def test_longest_is_the_most_characters(path: Path) -> None:
    text = "the fox and the grapes"
    with lshdb.open(path) as db:
        db.add_many([("a", text), ("b", f"{text}!"), ("c", f"{text}!!"), ("d", f"{text}.,")])
        kept = {keep: next(db.clusters(keep=keep)).keep for keep in KEEPS}
    assert kept == {"first": "a", "longest": "c", "last": "d"}


@pytest.mark.parametrize("star", [False, True])
def test_estimated_clusters_need_no_content(filled: Path, star: bool) -> None:
    bare = filled.with_name(f"bare {star}.db")
    with (
        lshdb.open(filled) as db,
        lshdb.open(bare, threshold=0.5, shingle="set", content=False) as b,
    ):
        b.add_many([(key, SETS[key]) for key in db.keys()])  # noqa: SIM118
        clusters = list(b.clusters(star=star))
        assert clusters == list(db.clusters(star=star, estimate=True))
        assert clusters
        assert not any(cluster.exact for cluster in clusters)
        assert list(b.clusters(star=star, keep="longest"))
        if not star:
            assert {frozenset(c.members) for c in clusters} == connected(b.keys(), b.pairs())


def test_an_empty_database_has_no_clusters(path: Path) -> None:
    with lshdb.open(path) as db:
        for star in (False, True):
            assert list(db.clusters(star=star)) == []


def test_an_unknown_keep_is_wrong_usage(path: Path) -> None:
    wanted: Any = "best"
    with lshdb.open(path) as db, pytest.raises(UsageError, match="keep 'best' is not first, lon"):
        db.clusters(keep=wanted)


ONE_SHARED: dict[str, Content] = {
    **{f"{i}": [0, *range(10 * i, 10 * i + 9)] for i in range(1, 39)},
    "39": [0, 1, *range(50, 59)],
    "40": [0, *range(50, 59)],
}
"""Documents that share one element, which is a bucket of its own; three of them are similar."""


@pytest.mark.parametrize("star", [False, True])
def test_what_a_limit_cuts_is_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch, star: bool
) -> None:
    with lshdb.open(path, threshold=0.8, bands=128, rows=1, shingle="set") as db:
        db.add_many(ONE_SHARED.items())
        (one,) = db.clusters(star=star, estimate=True)
        assert one.members == ("5", "39", "40")
        monkeypatch.setattr(joining, "CLUSTERS", Limit(whole=39, first=2, others=3))
        assert list(db.clusters(star=star, estimate=True)) == [one], "39 are all compared"
        monkeypatch.setattr(joining, "CLUSTERS", Limit(whole=38, first=2, others=3))
        with pytest.warns(LimitWarning, match=r"^buckets with more than 38 .*: \d+; not all of"):
            assert list(db.clusters(star=star, estimate=True)) == [one], "other buckets help"
        exact = list(db.clusters(star=star))
        assert [c.members for c in exact] == [one.members], "nothing is cut where sets are known"


@pytest.mark.parametrize("rare", [1, 2, 3])
@pytest.mark.parametrize("threshold", [0.4, 0.5, 0.8])
def test_hot_buckets_are_thinned_without_loss(
    filled: Path, monkeypatch: pytest.MonkeyPatch, rare: int, threshold: float
) -> None:
    def everything() -> list[object]:
        with lshdb.open(filled) as db:
            pairs = list(db.pairs(threshold=threshold))
            stars = list(db.clusters(threshold=threshold, star=True, keep="last"))
            return [pairs, list(db.clusters(threshold=threshold)), stars]

    expected = everything()
    calls = []

    def counted(*arguments: Any) -> Any:
        fewer = candidates.thinned(*arguments)
        calls.append(fewer)
        return fewer

    monkeypatch.setattr(joining, "CLUSTERS", Limit(whole=2, first=99, others=99))
    monkeypatch.setattr(candidates, "RARE", rare)
    if rare == 2:
        monkeypatch.setattr(measures, "_HASHES", 500)
        monkeypatch.setattr(measures, "_READ", 100)
    monkeypatch.setattr(joining, "thinned", counted)
    assert everything() == expected
    assert any(fewer is not None for fewer in calls)


def test_thinning_leaves_few_candidates(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 documents with one header: only those with something of their own in common."""
    documents = {f"{i}": [*range(70), *range(1000 + 29 * i, 1030 + 29 * i)] for i in range(300)}
    counts: list[tuple[int, int]] = []

    def counted(*arguments: Any) -> Any:
        fewer = candidates.thinned(*arguments)
        assert fewer is not None
        before, after = (sum(len(a) for a, _ in b.pairs(300)) for b in (arguments[0], fewer))
        counts.append((before, after))
        return fewer

    monkeypatch.setattr(joining, "CLUSTERS", Limit(whole=10, first=1, others=1))
    monkeypatch.setattr(joining, "thinned", counted)
    with lshdb.open(path, threshold=0.8, shingle="set") as db:
        db.add_many(documents.items())
        assert list(db.pairs()) == []
        assert list(db.clusters()) == []
    ((before, after), _) = counts
    assert before > 5_000
    assert after < 400


@pytest.mark.parametrize("star", [False, True])
def test_a_large_family_is_one_cluster_whatever_the_limit(
    path: Path, monkeypatch: pytest.MonkeyPatch, star: bool
) -> None:
    documents = {str(i): [*range(30), 100 + i] for i in range(300)}
    monkeypatch.setattr(joining, "CLUSTERS", Limit(whole=10, first=2, others=3))
    with lshdb.open(path, threshold=0.8, shingle="set") as db:
        db.add_many(documents.items())
        (cluster,) = db.clusters(star=star)
        assert len(cluster.members) == 300
        assert cluster.lowest == cluster.mean == pytest.approx(30 / 32)
