"""All similar pairs: none missing, none twice, none wrong, in the order of addition."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import inspection
import numpy as np
import oracles
import pytest
from extras import STARS, if_there
from helpers import database_of, set_families, text_families

import lshdb
from lshdb import Limits
from lshdb.database import store_of
from lshdb.errors import DamagedFile
from lshdb.limits import Limit
from lshdb.offers import is_there
from lshdb.options import ClustersOptions
from lshdb.search.candidates import SharedBuckets
from lshdb.search.pairs import all_clusters, pair_blocks
from lshdb.text.shingling import Content

SETS: Mapping[str, Content] = set_families(31, families=25, copies=4, size=40)
TEXTS: Mapping[str, Content] = text_families(32, families=25, copies=4, words=90, most_edits=12)
CHOOSE = random.Random(33)
DENSE: Mapping[str, Content] = {
    str(i): CHOOSE.sample(range(60), CHOOSE.randint(1, 40)) for i in range(200)
}
LARGE: Mapping[str, Content] = {str(i): range(250 * i, 250 * i + 5_000) for i in range(24)}


def made(path: Path, documents: Mapping[str, Content], **settings: Any) -> Path:
    """A database of documents; by default of sets, with threshold 0.5."""
    wanted: dict[str, Any] = {"threshold": 0.5, "shingle": "set"} | settings
    database_of(path, documents, **wanted).close()
    return path


def candidate_pairs(path: Path) -> set[frozenset[str]]:
    """The keys of all pairs that share a bucket, by the file's own view."""
    rows = inspection.rows(
        path,
        "SELECT a.key, b.key FROM candidate_pairs JOIN documents AS a ON a.doc_id = doc_id_a "
        "JOIN documents AS b ON b.doc_id = doc_id_b",
    )
    return {frozenset((str(a), str(b))) for a, b in rows}


@pytest.mark.parametrize(
    ("documents", "shingle", "threshold"),
    [
        *((SETS, "set", 0.5), (DENSE, "set", 0.45), (LARGE, "set", 0.5)),
        *((TEXTS, "word:3", 0.8), (TEXTS, "char:5", 0.7)),
    ],
)
def test_pairs_are_those_of_brute_force_that_share_a_bucket(
    path: Path, documents: Mapping[str, Content], shingle: str, threshold: float
) -> None:
    kind, _, size = shingle.partition(":")
    sets = {
        key: frozenset(oracles.shingles(content, kind, int(size or 1)))
        for key, content in documents.items()
    }
    made(path, documents, shingle=shingle, threshold=threshold)
    shared = candidate_pairs(path)
    with lshdb.open(path) as db:
        index_of = {key: index for index, key in enumerate(db.keys())}
        for minimum in (0.3, 0.9, threshold):
            pairs = list(db.pairs(threshold=minimum))
            order = [(index_of[pair.a], index_of[pair.b]) for pair in pairs]
            assert all(a < b for a, b in order)
            assert order == sorted({*order}), "the order of addition, none twice"
            truth = oracles.similar_pairs(sets, minimum)
            found = {frozenset((pair.a, pair.b)): pair.similarity for pair in pairs}
            assert found == {pair: score for pair, score in truth.items() if pair in shared}
    assert len(shared) > len(found) > 30
    assert len(found) >= 0.99 * len(truth)


def test_little_memory_gives_the_same_pairs(path: Path) -> None:
    """Chunks of a few pairs, one document's pairs in several, nothing kept for long."""
    base = list(range(30))
    documents: dict[str, Content] = {f"hot {i}": [*base, 1000 + i, 2000 + i] for i in range(40)}
    documents |= {f"copy {i}": base for i in range(20)} | dict(SETS)
    with lshdb.open(made(path, documents)) as db:
        expected = [[*db.pairs(estimate=estimate)] for estimate in (False, True)]
    for chunk, hashes, signatures, read in ((7, 70, 1500, 1), (300, 1, 1, 100)):
        little = Limits(
            pairs_chunk=chunk,
            join_hashes=hashes,
            join_signatures=signatures,
            join_read=read,
            reindex_bytes=chunk,
        )
        with lshdb.open(path, limits=little) as db:
            assert [[*db.pairs(estimate=estimate)] for estimate in (False, True)] == expected


def test_the_database_may_be_written_while_pairs_are_read(path: Path) -> None:
    """A user removes the second of each pair while the pairs of before still come."""
    with lshdb.open(made(path, SETS)) as db:
        expected, pairs = list(db.pairs()), []
        for pair in db.pairs():
            pairs.append(pair)
            if pair.b in db:
                db.remove(pair.b)
        assert pairs == expected
        assert list(db.pairs()) == []
        db.add_many(SETS.items())
        # Nor does a stream that is not read to its end leave anything open.
        stream = db.pairs()
        next(stream)
        del stream
        db.add("new", ["x"])
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM signatures WHERE doc_id = 1", "signatures of"),
        ("UPDATE signatures SET signature = x'00' WHERE doc_id = 1", "does not have 256 bytes"),
        ("UPDATE documents SET digest = x'00' WHERE doc_id = 1", "digest does not have 16 bytes"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM documents WHERE doc_id = 1", "signatures of"),
    ],
)
def test_a_damaged_file_is_reported(path: Path, damage: str, message: str) -> None:
    made(path, SETS)
    with inspection.sqlite(path) as connection:
        connection.executescript(damage)
    with lshdb.open(path) as db, pytest.raises(DamagedFile, match=message):
        list(db.pairs(estimate=True))


def test_without_contents_pairs_and_clusters_are_estimated(path: Path) -> None:
    made(path, SETS)
    bare_path = made(path.with_name("bare.db"), SETS, content=False)
    with lshdb.open(path) as kept, lshdb.open(bare_path) as bare:
        pairs = list(bare.pairs())
        assert pairs == list(kept.pairs(estimate=True)) != []
        assert all(not pair.exact and pair.similarity == pair.estimate >= 0.5 for pair in pairs)
        for star in STARS:
            clusters = list(bare.clusters(star=star))
            assert clusters == list(kept.clusters(star=star, estimate=True)) != []
            assert not any(cluster.exact for cluster in clusters)
            assert not is_there("keeping") or list(bare.clusters(star=star, keep="longest"))


@pytest.mark.parametrize(
    ("find", "star"), [(pair_blocks, False), *((all_clusters, star) for star in STARS)]
)
def test_how_far_a_join_is_is_reported(path: Path, find: Any, star: bool) -> None:
    steps: list[tuple[int, int, str]] = []
    with lshdb.open(made(path, TEXTS, shingle="word:3")) as db:
        clusters = ClustersOptions(star=star)
        request = clusters.join if find is pair_blocks else clusters
        assert list(find(store_of(db), request, lambda *step: steps.append(step)))
    counted = [what for what, _ in groupby(what for _, _, what in steps)]
    assert counted[:2] == ["signatures read", "documents compared"]
    assert len({*counted}) == len(counted), "one after the other"
    for what in counted:
        done = [(number, total) for number, total, name in steps if name == what]
        assert done == sorted(done)
        assert all(0 <= number < total <= len(TEXTS) for number, total in done)


# cascades of levels


@pytest.mark.parametrize(
    ("text", "made_by"),
    [
        ("or 4, and 16, or 2", {}),
        ("and 3, or 6, and 2, or 4", if_there("signatures", sketch="minhash")),
    ],
)
def test_cascades_find_what_the_signatures_say(
    path: Path, text: str, made_by: dict[str, str]
) -> None:
    sets = set_families(51, families=9, copies=5, size=40)
    shape: Any = {"threshold": 0.4, "construction": text, **made_by}
    with lshdb.open(made(path, sets, **shape)) as db:
        lanes = db.settings.construction.lanes
        signatures = {key: db.get(key).signature for key in sets}
        every = list(combinations(sets, 2))
        candidates = {
            (a, b)
            for a, b in every
            if oracles.is_true((signatures[a] == signatures[b])[:lanes].tolist(), text)  # type: ignore[index]
        }
        similar = {(a, b) for a, b in every if oracles.jaccard({*sets[a]}, {*sets[b]}) >= 0.4}
        expected = similar & candidates
        assert len(similar) > len(expected) > 50, "the cascade leaves out some"
        either = expected | {(b, a) for a, b in expected}
        assert {(pair.a, pair.b) for pair in db.pairs(threshold=0.01, estimate=True)} == candidates
        some = every[:200]
        if is_there("compare"):
            assert {pair for pair in some if db.compare(*pair).candidates} == candidates & {*some}
        for top in (None, 100):
            assert {(key, m.key) for key in sets for m in db.query(key=key, top=top)} == either
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected
    with lshdb.open(path, limits=Limits(pairs_chunk=1)) as db:
        assert {(pair.a, pair.b) for pair in db.pairs()} == expected


@pytest.mark.app("compare")
def test_clusters_of_hot_buckets_are_those_of_the_cascade(path: Path) -> None:
    """Documents with a long common part fill buckets, and are paired by their rare shingles."""
    small = Limits(clusters=Limit(whole=20, first=4, others=8))
    header = [f"h{i}" for i in range(30)]
    twins = [(f"{i}/0", f"{i}/1") for i in range(150)]
    documents = {
        key: [*header, *(f"{i}-{j}" for j in range(30)), key]
        for i, pair in enumerate(twins)
        for key in pair
    }
    shape: Any = {"threshold": 0.7, "construction": "and 1, or 4, and 4, or 8", "limits": small}
    with database_of(path, documents, shingle="set", **shape) as db:
        expected = {pair for pair in twins if db.compare(*pair).candidates}
        assert {cluster.members for cluster in db.clusters()} == expected


# shared buckets, whole or cut by a limit

DOCUMENTS = 20
CASES = range(300)


def some_buckets(rng: random.Random) -> tuple[list[list[int]], SharedBuckets]:
    """Up to 5 buckets of 2 to 20 documents, ascending."""
    sizes = rng.choices(range(2, DOCUMENTS + 1), k=rng.randrange(6))
    members = [sorted(rng.sample(range(DOCUMENTS), size)) for size in sizes]
    flat = np.array([number for bucket in members for number in bucket], dtype=np.int32)
    return members, SharedBuckets(flat, np.cumsum([0, *sizes]))


def some_limit(rng: random.Random) -> Limit:
    return Limit(rng.randrange(12), rng.randrange(4), rng.randrange(6))


def test_pairs_are_all_that_a_limit_allows() -> None:
    for rng in map(random.Random, CASES):
        members, buckets = some_buckets(rng)
        waiting = np.array([rng.random() < 0.7 for _ in range(DOCUMENTS)])
        limit, shared = rng.choice([(some_limit(rng), 1), (None, rng.randint(1, 4))])
        counts = Counter(
            (bucket[i], bucket[j])
            for bucket in members
            for i, j in combinations(range(len(bucket)), 2)
            if limit is None
            or len(bucket) <= limit.whole
            or i < limit.first
            or j - i <= limit.others
        )
        pairs = [pair for pair, count in sorted(counts.items()) if count >= shared]
        chunk = rng.choice([1, 5, 20, 100, 10_000])
        for mask in (None, waiting):
            blocks = [*buckets.pairs(DOCUMENTS, limit, mask, shared, chunk)]
            assert all(0 < len(a) <= chunk for a, _ in blocks)
            assert [pair for a, b in blocks for pair in zip(a, b, strict=True)] == pairs
            pairs = [(a, b) for a, b in pairs if waiting[a] and waiting[b]]


def test_buckets_are_cut_where_a_limit_leaves_out_a_pair_that_matters() -> None:
    cuts = Counter[int]()
    for rng in map(random.Random, CASES):
        (members, buckets), limit = some_buckets(rng), some_limit(rng)
        labels = np.repeat(rng.choices(range(3), k=4), DOCUMENTS // 4)
        asking = np.array([rng.random() < 0.7 for _ in range(DOCUMENTS)])
        cut = 0
        for bucket in members:
            cut += len(bucket) > limit.whole and any(
                i >= limit.first
                and j - i > limit.others
                and labels[bucket[i]] != labels[bucket[j]]
                and asking[bucket[i]]
                for i, j in combinations(range(len(bucket)), 2)
            )
        assert buckets.cut_by(limit, labels, asking) == cut
        cuts[cut] += 1
    assert len(cuts) > 3
