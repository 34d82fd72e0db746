"""All similar pairs: none missing, none twice, none wrong, in the order of addition."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import inspection
import oracles
import pytest
from helpers import database_of, set_families, text_families
from oracles import similar_pairs

import lshdb
from lshdb import Limits
from lshdb.database import store_of
from lshdb.errors import DamagedFile
from lshdb.model import Pair
from lshdb.options import ClustersOptions
from lshdb.search.pairs import all_clusters, pair_blocks
from lshdb.shingling.shingling import Content

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


def scored(pairs: Iterable[Pair]) -> dict[frozenset[str], float]:
    """The similarities of pairs, of which none comes twice."""
    found = [(frozenset((pair.a, pair.b)), pair.similarity) for pair in pairs]
    assert len(dict(found)) == len(found)
    return dict(found)


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
        *((TEXTS, "word:3", 0.8), (TEXTS, "word:3", 0.5), (TEXTS, "char:5", 0.7)),
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
    truth = similar_pairs(sets, threshold)
    made(path, documents, shingle=shingle, threshold=threshold)
    shared = candidate_pairs(path)
    with lshdb.open(path) as db:
        found = scored(db.pairs())
        place = {key: i for i, key in enumerate(db.keys())}
        order = [(place[pair.a], place[pair.b]) for pair in db.pairs()]
        for asked in (0.3, 0.9):
            expected = similar_pairs(sets, asked)
            kept = {pair: score for pair, score in expected.items() if pair in shared}
            assert scored(db.pairs(threshold=asked)) == kept
    assert all(a < b for a, b in order)
    assert order == sorted(order), "the order of addition"
    assert found == {pair: score for pair, score in truth.items() if pair in shared}
    assert len(shared) > len(found) > 30
    assert len(found) >= 0.99 * len(truth)


def test_little_memory_gives_the_same_pairs(path: Path) -> None:
    """Chunks of a few pairs, one document's pairs in several, nothing kept for long."""
    base = list(range(30))
    documents: dict[str, Content] = {f"hot {i}": [*base, 1000 + i, 2000 + i] for i in range(40)}
    documents |= {f"copy {i}": base for i in range(20)}
    documents |= SETS
    with lshdb.open(made(path, documents)) as db:
        expected, estimated = list(db.pairs()), list(db.pairs(estimate=True))
    for chunk, hashes, signatures, read in ((7, 70, 1500, 1), (300, 1, 1, 100)):
        little = Limits(
            pairs_chunk=chunk, join_hashes=hashes, join_signatures=signatures, join_read=read
        )
        with lshdb.open(path, limits=little) as db:
            assert list(db.pairs()) == expected
            assert list(db.pairs(estimate=True)) == estimated


def test_documents_whose_estimates_rule_them_out_are_not_read(path: Path) -> None:
    """Half of each is one header, which makes many candidates that are similar to nothing."""
    words = random.Random(34)
    header = " ".join(words.choices("abcdefghijklmnop", k=100))
    documents = {
        str(i): f"{header} {' '.join(words.choices('abcdefghijklmnop', k=100))}" for i in range(150)
    }
    with lshdb.open(made(path, documents, shingle="word:3", threshold=0.8)) as db:
        assert len(candidate_pairs(path)) > 600
        assert list(db.pairs()) == []
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE documents SET content = NULL")
        connection.commit()
    with lshdb.open(path) as db:
        assert list(db.pairs()) == []
        with pytest.raises(DamagedFile):
            list(db.pairs(threshold=0.2))


def test_the_database_may_be_written_while_pairs_are_read(path: Path) -> None:
    """A user removes the second of each pair while the pairs of before still come."""
    with lshdb.open(made(path, SETS)) as db:
        expected = list(db.pairs())
        stream = db.pairs()
        pairs = []
        for pair in stream:
            pairs.append(pair)
            if pair.b in db:
                db.remove(pair.b)
        assert pairs == expected
        assert list(db.pairs()) == []


def test_pairs_that_are_not_read_to_the_end_leave_nothing_open(path: Path) -> None:
    with lshdb.open(made(path, SETS)) as db:
        stream = db.pairs()
        next(stream)
        del stream
        db.add("new", ["x"])
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM signatures WHERE doc_id = 1", "do not exist"),
        (
            "UPDATE signatures SET signature = x'00' WHERE doc_id = 1",
            "signature does not have 256 bytes",
        ),
        ("UPDATE documents SET digest = x'00' WHERE doc_id = 1", "digest does not have 16 bytes"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM documents WHERE doc_id = 1", "do not exist"),
    ],
)
def test_a_damaged_file_is_reported(path: Path, damage: str, message: str) -> None:
    made(path, SETS)
    with inspection.sqlite(path) as connection:
        connection.executescript(damage)
    with lshdb.open(path) as db, pytest.raises(DamagedFile, match=message):
        list(db.pairs(estimate=True))


def test_without_contents_pairs_and_clusters_are_estimated(path: Path) -> None:
    with (
        lshdb.open(made(path, SETS)) as kept,
        lshdb.open(made(path.with_name("bare.db"), SETS, content=False)) as bare,
    ):
        pairs = list(bare.pairs())
        assert pairs == list(kept.pairs(estimate=True)) != []
        assert all(not pair.exact and pair.similarity == pair.estimate >= 0.5 for pair in pairs)
        for star in (False, True):
            clusters = list(bare.clusters(star=star))
            assert clusters == list(kept.clusters(star=star, estimate=True)) != []
            assert not any(cluster.exact for cluster in clusters)
            assert list(bare.clusters(star=star, keep="longest"))
        clusters = list(bare.clusters())
        connected = oracles.connected((pair.a, pair.b) for pair in pairs)
        assert {frozenset(cluster.members) for cluster in clusters} == connected


@pytest.mark.parametrize(
    ("find", "star"), [(pair_blocks, False), (all_clusters, False), (all_clusters, True)]
)
def test_how_far_a_join_is_is_reported(path: Path, find: Any, star: bool) -> None:
    steps: list[tuple[int, int, str]] = []
    with lshdb.open(made(path, TEXTS, shingle="word:3")) as db:
        clusters = ClustersOptions(star=star)
        request = clusters.join if find is pair_blocks else clusters
        assert list(find(store_of(db), request, lambda *step: steps.append(step)))
    counted = [what for what, _ in groupby(what for _, _, what in steps)]
    assert counted[:2] == ["bands of the index read", "documents compared"]
    assert len(set(counted)) == len(counted), "one after the other"
    for what in counted:
        done = [(one, total) for one, total, name in steps if name == what]
        assert done == sorted(done)
        assert all(0 <= one < total <= len(TEXTS) for one, total in done)
