"""Some of all pairs and clusters: what is chosen is what choosing from all by hand gives."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import inspection
import oracles
import pytest
from extras import STARS
from helpers import database_of, set_families
from hypothesis import given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.model import Document, Pair
from lshdb.offers import is_there

SETS = set_families(71, families=14, copies=4, size=30)
KEYS = random.Random(72).sample([*SETS], len(SETS))
FIELDS: dict[str, dict[str, Any]] = {
    key: {"group": index % 3, "of": {"place": index}} for index, key in enumerate(KEYS)
}
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "cascade": {"construction": "and 2, or 8, and 2"},
    "signatures": {"content": False},
}


@pytest.fixture(scope="module", params=SHAPES)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("selecting") / "lsh.db"
    documents = [*(Document(key, SETS[key], FIELDS[key]) for key in KEYS), Document("empty", [])]
    shape: Any = {"threshold": 0.4, "shingle": "set"} | SHAPES[request.param]
    database_of(path, documents, **shape).close()
    return path


def reading(path: Path, **limits: Any) -> lshdb.Database:
    return lshdb.open(path, mode="read", limits=Limits(**limits))


@cache
def all_pairs(path: Path, threshold: float | None) -> list[Pair]:
    with reading(path) as db:
        return list(db.pairs(threshold=threshold))


GROUPS = st.none() | st.sets(st.integers(0, 2), min_size=1)
SOME_KEYS = st.none() | st.sampled_from([*KEYS, "empty"])


def of_groups(groups: set[int] | None) -> dict[str, Any]:
    if groups is None:
        return {}
    values = ", ".join("?" * len(groups))
    return {"where": f"metadata ->> '$.group' IN ({values})", "parameters": sorted(groups)}


def random_number(a: int, b: int, seed: int) -> int:
    """The number by which a pair is in a sample or not, as the formula says, without arrays."""
    hashed = oracles.integer_hash(a, seed) ^ b
    return oracles.integer_hash(hashed - (hashed >> 63 << 64), seed)


@settings(max_examples=15)
@given(
    groups=GROUPS,
    key=SOME_KEYS,
    top=st.none() | st.integers(1, 12) | st.just(10_000),
    threshold=st.sampled_from([None, 0.4, 0.6, 0.9]),
    highest=st.none() | st.integers(0),
    chunk=st.sampled_from([1, 7, 1 << 20]),
)
def test_pairs_are_chosen_from_all(
    filled: Path,
    groups: set[int] | None,
    key: str | None,
    top: int | None,
    threshold: float | None,
    highest: int | None,
    chunk: int,
) -> None:
    everything = all_pairs(filled, threshold)
    # The maximum is the similarity of some pair, which is not above it.
    maximum = None if highest is None else everything[highest % len(everything)].similarity
    wanted = [
        pair
        for pair in everything
        if (key is None or key in (pair.a, pair.b))
        and (maximum is None or pair.similarity <= maximum)
        and (groups is None or {FIELDS[k]["group"] for k in (pair.a, pair.b)} <= groups)
    ]
    doc_ids: dict[Any, Any] = dict(inspection.rows(filled, "SELECT key, doc_id FROM documents"))
    with reading(filled, pairs_chunk=chunk, pairs_rows=2) as db:
        asked: Any = {"threshold": threshold, "max_similarity": maximum, "key": key}
        asked |= of_groups(groups)
        by_similarity = sorted(wanted, key=lambda pair: -pair.similarity)
        found = list(db.pairs(top=top, **asked))
        assert found == (wanted if top is None else by_similarity[:top])
        if not is_there("review"):
            return
        sample = db.pairs(sample=top or 3, seed=chunk, **asked)
        numbers = {p: random_number(doc_ids[p.a], doc_ids[p.b], chunk) for p in wanted}
        drawn = {*sorted(wanted, key=numbers.__getitem__)[: top or 3]}
        assert list(sample) == [pair for pair in by_similarity if pair in drawn]
        assert sample.drawn_from == len(wanted)


@settings(max_examples=15)
@given(
    groups=GROUPS,
    key=SOME_KEYS,
    top=st.none() | st.integers(1, 5),
    smallest=st.none() | st.integers(1, 4),
    more=st.none() | st.integers(0, 4),
    keep=st.sampled_from(["first", "last", "longest"] if is_there("keeping") else ["first"]),
    star=st.sampled_from(STARS),
)
def test_clusters_are_chosen_from_all(
    filled: Path,
    groups: set[int] | None,
    key: str | None,
    top: int | None,
    smallest: int | None,
    more: int | None,
    keep: Any,
    star: bool,
) -> None:
    largest = None if more is None else max(2, smallest or 2) + more
    how: Any = {"keep": keep, "star": star, **of_groups(groups)}
    with reading(filled, pairs_rows=3) as db:
        everything = list(db.clusters(min_size=1 if smallest == 1 else None, **how))
        found = list(db.clusters(key=key, top=top, min_size=smallest, max_size=largest, **how))
    wanted = [
        cluster
        for cluster in everything
        if (key is None or key in cluster.members)
        and (smallest or 0) <= len(cluster.members) <= (largest or 1000)
    ]
    if top is not None:
        # Single documents come behind all others.
        wanted = sorted(wanted, key=lambda c: (len(c.members) == 1, -c.mean))[:top]
    assert found == wanted


def test_a_document_that_the_condition_leaves_out_connects_nothing(path: Path) -> None:
    """A chain a b c, and equal documents of which the first one is left out."""
    sets = {"a": [*range(10)], "b": [*range(2, 12)], "c": [*range(4, 14)]}
    with database_of(path, sets | {key: [90] for key in "def"}, threshold=0.6, shingle="set") as db:
        assert [cluster.members for cluster in db.clusters()] == [tuple("abc"), tuple("def")]
        (cluster,) = db.clusters(where="key NOT IN ('b', 'd')")
        assert (cluster.cluster, cluster.keep, cluster.members) == (1, "e", ("e", "f"))
        assert list(db.clusters(where="key IN ('a', 'c', 'd')")) == []


def test_fields_are_those_of_each_document(filled: Path) -> None:
    names = ["of.place", "group", "none"]
    wanted = {
        key: {"of.place": fields["of"]["place"], "group": fields["group"], "none": None}
        for key, fields in FIELDS.items()
    }
    with reading(filled) as db:
        pairs = list(db.pairs(fields=names, where="metadata ->> '$.group' < 2"))
        for pair in pairs:
            assert (pair.a_metadata, pair.b_metadata) == (wanted[pair.a], wanted[pair.b])
        for cluster in db.clusters(fields=names):
            assert cluster.metadata == tuple(wanted[key] for key in cluster.members)
        matches = db.query(key=pairs[0].a, fields=names)
        assert [match.metadata for match in matches] == [wanted[match.key] for match in matches]
        assert all(match.metadata is None for match in db.query(key=pairs[0].a))
        assert all(pair.a_metadata is None for pair in db.pairs(top=3))


def test_all_that_is_read_is_of_one_moment(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with reading(filled) as db:
        db.backup(copy)
    how: Any = {"fields": ["group"], **of_groups({0, 1})}
    with lshdb.open(copy, limits=Limits(pairs_rows=1)) as db:
        wanted = [list(db.pairs(**how)), list(db.clusters(**how))]
        running: list[Iterator[Any]] = [db.pairs(**how), db.clusters(**how)]
        found: list[list[Any]] = [[next(stream)] for stream in running]
        for key in KEYS[::2]:
            db.remove(key)
        db.add_many(Document(key, SETS[key], {"group": 2}) for key in KEYS[1::2])
        assert [[*first, *rest] for first, rest in zip(found, running, strict=True)] == wanted
        assert list(db.pairs(**how)) == []


def test_the_most_similar_are_all_that_is_kept_in_memory(path: Path) -> None:
    """500,000 pairs, of which three numbers of 8 bytes each would take 12 MB."""
    equal = {str(number): ["same"] for number in range(1000)}
    with database_of(path, equal, shingle="set", limits=Limits(pairs_chunk=10_000)) as db:
        tracemalloc.start()
        try:
            found = list(db.pairs(top=2, estimate=True))
            if is_there("review"):
                sample = db.pairs(sample=2, estimate=True)
                assert (len(list(sample)), sample.drawn_from) == (2, 499_500)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert [(pair.a, pair.b) for pair in found] == [("0", "1"), ("0", "2")]
    assert peak < 8_000_000
