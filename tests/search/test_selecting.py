"""Some of all pairs and clusters: what is chosen is what choosing from all by hand gives."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import database_of, set_families
from hypothesis import given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.database import store_of
from lshdb.model import Document, Pair
from lshdb.options import PairsOptions
from lshdb.search.pair_sample import random_numbers
from lshdb.search.pairs import pairs_within
from lshdb.shingling.hashing import constants
from lshdb.shingling.shingling import Content

SETS: Mapping[str, Content] = set_families(71, families=14, copies=4, size=30)
KEYS = random.Random(72).sample(list(SETS), len(SETS))
FIELDS: Mapping[str, dict[str, Any]] = {
    key: {"group": place % 3, "of": {"place": place}} for place, key in enumerate(KEYS)
}
SHAPES: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "cascade": {"construction": "and 2, or 8, and 2"},
    "signatures": {"content": False},
}


@pytest.fixture(scope="module", params=SHAPES)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("selecting") / "lsh.db"
    with database_of(
        path,
        (Document(key, SETS[key], FIELDS[key]) for key in KEYS),
        threshold=0.4,
        shingle="set",
        **SHAPES[request.param],
    ) as db:
        db.add("empty", [])
    return path


GROUPS = st.sets(st.integers(0, 2), min_size=1)
THRESHOLDS = st.sampled_from([None, 0.4, 0.6, 0.9])


def of_groups(groups: set[int]) -> dict[str, Any]:
    places = ", ".join("?" * len(groups))
    return {"where": f"metadata ->> '$.group' IN ({places})", "parameters": sorted(groups)}


def random_number(doc_ids: dict[str, int], pair: Pair, seed: int) -> int:
    """The number by which a pair is in a sample or not, as the formula says, without arrays."""
    start, step = (int(one) for one in constants(seed, "sample of pairs 0", 2))
    a, b = doc_ids[pair.a], doc_ids[pair.b]
    return mixed(mixed(a + start) + b * step)


def mixed(x: int) -> int:
    x %= 1 << 64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    x = (x ^ x >> 27) * 0x94D049BB133111EB % (1 << 64)
    return x ^ x >> 31


def best(pairs: Sequence[Pair], top: int | None) -> list[Pair]:
    return list(pairs) if top is None else sorted(pairs, key=lambda p: -p.similarity)[:top]


@given(
    groups=st.none() | GROUPS,
    key=st.none() | st.sampled_from([*KEYS, "empty"]),
    top=st.none() | st.integers(1, 12) | st.just(10_000),
    threshold=THRESHOLDS,
    highest=st.none() | st.integers(0),
    chunk=st.sampled_from([1, 7, 1 << 20]),
)
@settings(max_examples=15)
def test_pairs_are_chosen_from_all(
    filled: Path,
    groups: set[int] | None,
    key: str | None,
    top: int | None,
    threshold: float | None,
    highest: int | None,
    chunk: int,
) -> None:
    with lshdb.open(filled, mode="read") as db:
        everything = list(db.pairs(threshold=threshold))
        # The maximum is the similarity of some pair, which is not above it.
        most = None if highest is None else everything[highest % len(everything)].similarity
        wanted = [
            pair
            for pair in everything
            if (key is None or key in (pair.a, pair.b))
            and (most is None or pair.similarity <= most)
            and (groups is None or {FIELDS[k]["group"] for k in (pair.a, pair.b)} <= groups)
        ]
        assert len(everything) >= 2
        some = {*KEYS[::2], "empty", "gone"}
        within = pairs_within(store_of(db), [*some], PairsOptions(threshold=threshold))
        assert within == [pair for pair in everything if {pair.a, pair.b} <= some]
    limits = Limits(pairs_chunk=chunk, pairs_rows=2)
    with lshdb.open(filled, mode="read", limits=limits) as db:
        condition = {} if groups is None else of_groups(groups)
        asked: dict[str, Any] = {"threshold": threshold, "max_similarity": most, "key": key}
        found = list(db.pairs(top=top, **asked, **condition))
        assert found == best(wanted, top)
        sample = db.pairs(sample=top or 3, seed=chunk, **asked, **condition)
        assert sample.drawn_from is None
        doc_ids = {key: db[key].doc_id for key in {k for p in wanted for k in (p.a, p.b)}}
        numbers = {pair: random_number(doc_ids, pair, chunk) for pair in wanted}
        smallest = sorted(wanted, key=numbers.__getitem__)[: top or 3]
        assert list(sample) == best([pair for pair in wanted if pair in smallest], len(wanted))
        assert sample.drawn_from == len(wanted)


@given(
    groups=st.none() | GROUPS,
    key=st.none() | st.sampled_from([*KEYS, "empty"]),
    top=st.none() | st.integers(1, 5),
    least=st.none() | st.integers(1, 4),
    more=st.none() | st.integers(0, 4),
    keep=st.sampled_from(["first", "last", "longest"]),
    star=st.booleans(),
)
@settings(max_examples=15)
def test_clusters_are_chosen_from_all(
    filled: Path,
    groups: set[int] | None,
    key: str | None,
    top: int | None,
    least: int | None,
    more: int | None,
    keep: Any,
    star: bool,
) -> None:
    most = None if more is None else max(2, least or 2) + more
    condition = {} if groups is None else of_groups(groups)
    asked = {"keep": keep, "star": star, **condition}
    with lshdb.open(filled, mode="read") as db:
        everything = list(db.clusters(min_size=1 if least == 1 else None, **asked))
    with lshdb.open(filled, mode="read", limits=Limits(pairs_rows=3)) as db:
        found = list(db.clusters(key=key, top=top, min_size=least, max_size=most, **asked))
    wanted = [
        one
        for one in everything
        if (key is None or key in one.members)
        and (least or 0) <= len(one.members) <= (most or 1000)
    ]
    if top is not None:
        # Single documents come behind all others.
        wanted = sorted(wanted, key=lambda one: (len(one.members) == 1, -one.mean))[:top]
    assert found == wanted


def test_a_document_that_the_condition_leaves_out_connects_nothing(path: Path) -> None:
    """A chain a b c, and equal documents of which the first one is left out."""
    with lshdb.open(path, threshold=0.6, shingle="set") as db:
        chain = {"a": [*range(10)], "b": [*range(2, 12)], "c": [*range(4, 14)]}
        twins = {"d": [90, 91], "e": [90, 91], "f": [90, 91]}
        db.add_many({**chain, **twins}.items())
        assert [one.members for one in db.clusters()] == [tuple("abc"), tuple("def")]
        found = list(db.clusters(where="key NOT IN ('b', 'd')"))
        assert [(one.cluster, one.keep, one.members) for one in found] == [(1, "e", ("e", "f"))]
        assert list(db.clusters(where="key IN ('a', 'c', 'd')")) == []


def test_fields_are_those_of_each_document(filled: Path) -> None:
    names = ["of.place", "group", "none"]
    wanted = {
        key: {"of.place": of["of"]["place"], "group": of["group"], "none": None}
        for key, of in FIELDS.items()
    }
    with lshdb.open(filled, mode="read") as db:
        pairs = list(db.pairs(fields=names, where="metadata ->> '$.group' < 2"))
        assert pairs
        for pair in pairs:
            assert (pair.a_metadata, pair.b_metadata) == (wanted[pair.a], wanted[pair.b])
        clusters = list(db.clusters(fields=names))
        for one in clusters:
            assert one.metadata == tuple(wanted[key] for key in one.members)
        matches = db.query(key=pairs[0].a, fields=names)
        assert [match.metadata for match in matches] == [wanted[match.key] for match in matches]
        assert matches
        assert all(match.metadata is None for match in db.query(key=pairs[0].a))
        assert all(pair.a_metadata is None for pair in db.pairs(top=3))


def test_all_that_is_read_is_of_one_moment(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with lshdb.open(filled, mode="read") as db:
        db.backup(copy)
    asked: dict[str, Any] = {"fields": ["group"], **of_groups({0, 1})}
    with lshdb.open(copy, limits=Limits(pairs_rows=1)) as db:
        wanted = [list(db.pairs(**asked)), list(db.clusters(**asked))]
        running: list[Iterator[Any]] = [db.pairs(**asked), db.clusters(**asked)]
        found: list[list[Any]] = [[next(one)] for one in running]
        for key in KEYS[::2]:
            db.remove(key)
        db.add_many(Document(key, SETS[key], {"group": 2}) for key in KEYS[1::2])
        for one, rest in zip(found, running, strict=True):
            one.extend(rest)
        assert found == wanted
        assert list(db.pairs(**asked)) == []


def test_the_most_similar_are_all_that_is_kept_in_memory(path: Path) -> None:
    """500,000 pairs, of which three numbers of 8 bytes each would take 12 MB."""
    with database_of(
        path,
        ((str(number), ["same"]) for number in range(1000)),
        shingle="set",
        limits=Limits(pairs_chunk=10_000),
    ) as db:
        tracemalloc.start()
        try:
            found = list(db.pairs(top=2, estimate=True))
            sample = db.pairs(sample=2, estimate=True)
            drawn = list(sample)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert [(pair.a, pair.b) for pair in found] == [("0", "1"), ("0", "2")]
    assert (len(drawn), sample.drawn_from) == (2, 499_500)
    assert peak < 8_000_000


def test_each_pair_is_as_probable_as_any_other() -> None:
    """Of 190 pairs 19 are drawn, for 1,000 seeds: each is expected 100 times, +- 9.5.

    So are two certain pairs together (9.5 times, +- 3.1), also with a document in common.
    """
    a, b = np.array([*combinations(range(1, 21), 2)]).T.copy()
    seeds = 1_000
    drawn = np.zeros((seeds, len(a)), dtype=bool)
    for seed in range(seeds):
        drawn[seed, np.argsort(random_numbers(a, b, seed))[:19]] = True
    assert np.abs(drawn.sum(axis=0) - 100).max() < 5 * 9.5
    spread = (drawn.sum(axis=0) - 100).std()
    assert 7.5 < spread < 11.5, "neither more even nor less than chance"
    together = drawn.T.astype(int) @ drawn
    assert 2.5 < together[np.triu_indices(len(a), 1)].std() < 3.5, "9.5 is their mean in any case"
