"""Recall against brute force over plain Python sets, on seeded near duplicates.

Documents have copies with few and with many edits, so that similarities lie on both sides of the
threshold and many close to it. Shingles come from the oracles, similarities from Python's sets:
nothing here goes through the kernels that are tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import oracles
import pytest
from helpers import database_of, set_families, text_families
from oracles import similar_pairs

from lshdb.model import Content

RECALL = 0.99
CLOSE = 0.1


@dataclass(frozen=True)
class Case:
    """Documents, and all pairs of them that are similar or nearly so, by brute force."""

    threshold: float
    documents: dict[str, Content]
    scores: dict[frozenset[str], float]


@cache
def case(shingle: str) -> Case:
    """The documents of a kind of shingling."""
    kind, _, size = shingle.partition(":")
    documents: dict[str, Content] = {}
    if kind == "set":
        documents |= set_families(21, families=90, copies=4, size=60)
    elif kind == "word":
        documents |= text_families(22, families=90, copies=4, words=110, most_edits=12)
    else:
        documents |= text_families(23, families=80, copies=4, words=70, most_edits=15)
    threshold = 0.5 if kind == "set" else 0.8
    sets = {
        key: frozenset(oracles.shingles(content, kind, int(size or 1)))
        for key, content in documents.items()
    }
    return Case(threshold, documents, similar_pairs(sets, threshold - CLOSE))


@pytest.mark.parametrize("sketch", ["fast", "minhash"])
@pytest.mark.parametrize("shingle", ["word:3", "char:5", "set"])
def test_queries_find_the_pairs_that_brute_force_finds(
    path: Path, shingle: str, sketch: str
) -> None:
    of = case(shingle)
    expected = {pair: score for pair, score in of.scores.items() if score >= of.threshold}
    assert len(expected) > 200
    assert sum(score < of.threshold + CLOSE for score in expected.values()) > 80
    assert len(of.scores) > 1.1 * len(expected), "enough just below the threshold"

    with database_of(
        path, of.documents, threshold=of.threshold, shingle=shingle, sketch=sketch
    ) as db:
        matches = {key: db.query(key=key) for key in of.documents}
    found = {
        frozenset((key, match.key)): match.similarity
        for key, own in matches.items()
        for match in own
    }
    assert len(found) >= RECALL * len(expected)
    assert found.keys() <= expected.keys()
    for pair, similarity in found.items():
        assert similarity == pytest.approx(expected[pair], abs=1e-9)
    assert sum(map(len, matches.values())) == 2 * len(found), "each of a pair finds the other"
