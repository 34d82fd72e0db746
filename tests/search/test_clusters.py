"""Clusters: a partition by similar pairs, with the right member kept and its similarities given."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pytest
from extras import STARS
from helpers import Command, database_of, set_families
from oracles import connected, jaccard, stars

import lshdb
from lshdb.errors import LimitWarning
from lshdb.limits import Limit, Limits
from lshdb.offers import is_there
from lshdb.text.shingling import Content

Keep = Literal["first", "longest", "last"]
SETS: dict[str, Content] = {
    **set_families(41, families=40, copies=5, size=40),
    **{f"twin {i}": list(range(i // 3, 9 + i // 3)) for i in range(30)},
    "empty": [],
    "empty too": [],
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the SETS at threshold 0.5, in a shuffled order of addition."""
    path = tmp_path_factory.mktemp("clusters") / "lsh.db"
    keys = list(SETS)
    random.Random(42).shuffle(keys)
    database_of(path, ((key, SETS[key]) for key in keys), threshold=0.5, shingle="set").close()
    return path


def preferred(keys: Iterable[str], keep: Keep) -> list[str]:
    """Keys in the order of addition, as those to be kept come first."""
    keys = list(keys)
    if keep == "last":
        return keys[::-1]
    return sorted(keys, key=lambda key: -len(SETS[key])) if keep == "longest" else keys


@pytest.mark.parametrize(
    ("threshold", "keep"),
    [
        pytest.param(0.4, "last", marks=pytest.mark.app("keeping")),
        (0.5, "first"),
        pytest.param(0.7, "longest", marks=pytest.mark.app("keeping")),
        (1.0, "first"),
    ],
)
@pytest.mark.parametrize("star", STARS)
def test_clusters_are_what_pairs_connect(
    filled: Path, keep: Keep, threshold: float, star: bool
) -> None:
    """Connected components, or stars taken in order, and all they say of themselves is true."""
    with lshdb.open(filled) as db:
        keys = db.keys()
        clusters = list(db.clusters(threshold=threshold, keep=keep, star=star))
        pairs = [(pair.a, pair.b) for pair in db.pairs(threshold=threshold)]
    index_of = {key: i for i, key in enumerate(keys)}
    expected = stars(preferred(keys, keep), pairs)
    if not star:
        ordered = [sorted(members, key=index_of.__getitem__) for members in connected(pairs)]
        expected = {preferred(members, keep)[0]: set(members) for members in ordered}
    assert {cluster.keep: set(cluster.members) for cluster in clusters} == expected
    assert len(expected) == len(clusters) >= 10
    assert [cluster.cluster for cluster in clusters] == list(range(1, len(clusters) + 1))
    firsts = [index_of[cluster.members[0]] for cluster in clusters]
    assert firsts == sorted(firsts)
    for cluster in clusters:
        assert list(cluster.members) == sorted(cluster.members, key=index_of.__getitem__)
        kept = set(SETS[cluster.keep])
        assert cluster.similarities == tuple(jaccard(kept, set(SETS[k])) for k in cluster.members)
        others = list(cluster.similarities)
        others.remove(1)
        assert cluster.lowest == min(others)
        assert cluster.mean == pytest.approx(statistics.mean(others))
        assert cluster.below == sum(score < threshold for score in others)
        assert cluster.exact
    chains = any(cluster.below for cluster in clusters)
    assert chains == (threshold < 1 and not star)


def test_a_long_chain_is_one_cluster(path: Path) -> None:
    """Each document is similar to the next only; they come in any order."""
    numbers = random.Random(2).sample(range(3_000), 3_000)
    chain, shape = {str(i): range(i, i + 21) for i in numbers}, {"rows": 4, "bands": 32}
    with database_of(path, chain, shingle="set", threshold=0.9, **shape) as db:
        (cluster,) = db.clusters()
    assert cluster.members == tuple(map(str, numbers))


# what large buckets cost


ONE_SHARED: dict[str, Content] = {
    **{f"{i}": [0, *range(10 * i, 10 * i + 9)] for i in range(1, 39)},
    "39": [0, 1, *range(50, 59)],
    "40": [0, *range(50, 59)],
}
"""Documents that share one element, which is a bucket of its own; three of them are similar."""


@pytest.mark.parametrize("star", STARS)
def test_what_a_limit_cuts_is_reported(path: Path, star: bool) -> None:
    database_of(path, ONE_SHARED, threshold=0.8, bands=128, rows=1, shingle="set").close()
    with lshdb.open(path, limits=Limits(clusters=Limit(whole=39, first=2, others=3))) as db:
        (cluster,) = db.clusters(star=star, estimate=True)
        assert cluster.members == ("5", "39", "40"), "39 are all compared"
    with lshdb.open(path, limits=Limits(clusters=Limit(whole=38, first=2, others=3))) as db:
        with pytest.warns(LimitWarning, match=r"^buckets with more than 38 .*: \d+; not all of"):
            assert [*db.clusters(star=star, estimate=True)] == [cluster], "other buckets help"
        (exact,) = db.clusters(star=star)
        assert exact.members == cluster.members, "nothing is cut where sets are known"


@pytest.mark.parametrize(
    ("rare", "threshold"),
    [
        ({"rare_holders": 2}, 0.4),
        ({"rare_holders": 3}, 0.8),
        ({"rare_rows": 1}, 0.4),
    ],
)
def test_hot_buckets_lose_nothing(filled: Path, rare: dict[str, Any], threshold: float) -> None:
    """Their documents are paired by rare shingles."""

    def everything(limits: Limits) -> list[object]:
        with lshdb.open(filled, limits=limits) as db:
            found: list[Any] = [db.pairs(threshold=threshold), db.clusters(threshold=threshold)]
            if is_there("keeping"):
                found.append(db.clusters(threshold=threshold, star=True, keep="last"))
            return [list(each) for each in found]

    small = Limits(clusters=Limit(whole=2, first=99, others=99), **rare)
    assert everything(small) == everything(Limits())


ALONE_AND_TOGETHER = {
    "alone": "a text of its own, with words that no other has",
    "a": "the ferry to the islands runs every hour from the pier",
    "b": "the ferry to the islands runs every hour from the pier",
    "odd": "something else altogether is written in here today",
    "empty": "",
}


@pytest.mark.parametrize(
    ("options", "clusters"),
    [
        ({}, [("a", "b")]),
        ({"min_size": 1}, [("a", "b"), ("alone",), ("odd",), ("empty",)]),
        ({"min_size": 1, "star": STARS[-1]}, [("a", "b"), ("alone",), ("odd",), ("empty",)]),
        ({"min_size": 1, "max_size": 1}, [("alone",), ("odd",), ("empty",)]),
        ({"min_size": 1, "top": 2}, [("a", "b"), ("alone",)]),
        ({"min_size": 1, "top": 1}, [("a", "b")]),
        ({"min_size": 1, "key": "odd"}, [("odd",)]),
        ({"min_size": 1, "key": "b"}, [("a", "b")]),
        ({"min_size": 1, "where": "key in ('b', 'odd')"}, [("b",), ("odd",)]),
    ],
)  # fmt: skip
def test_single_documents_are_listed(
    path: Path, options: dict[str, Any], clusters: list[tuple[str, ...]]
) -> None:
    with database_of(path, ALONE_AND_TOGETHER) as database:
        listed = [*database.clusters(**options)]
    assert [one.members for one in listed] == clusters
    if "key" not in options and "max_size" not in options:
        assert [one.cluster for one in listed] == [*range(1, len(listed) + 1)]
    assert {one.lowest for one in listed} == {1.0}


def test_the_command_lists_single_documents(command: Command, path: Path) -> None:
    database_of(path, ALONE_AND_TOGETHER).close()
    done = command.done("clusters", "--min-size", "1", "--json", "--fields", "text")
    assert [(row["cluster"], row["key"]) for row in done.records] == [
        (1, "a"), (1, "b"), (2, "alone"), (3, "odd"), (4, "empty"),
    ]  # fmt: skip
    if is_there("review"):
        assert command.done("clusters", "--min-size", "1", "--drop-list").lines == ["b"]
    none = command.done("clusters", "--min-size", "1", "--where", "key = 'x'")
    assert (none.out, none.err) == ("", "no document that matches\n")
