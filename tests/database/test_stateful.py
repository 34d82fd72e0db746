"""A database against a dict, through any sequence of adding, replacing, removing and reopening."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import inspection
from extras import if_there
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)
from oracles import jaccard

import lshdb
from lshdb.errors import KeyNotFound

KEYS = st.sampled_from(["a", "b", "c", "d", "e\n", "'f'", "\u00e9"])
SETS = st.frozensets(st.one_of(st.integers(0, 5), st.sampled_from("xyz")), max_size=6)
THRESHOLD = 0.5


class DatabaseMachine(RuleBasedStateMachine):
    """16 lanes, so that the 5 standard errors of an exhaustive query leave nothing unverified."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "lsh.db"
        self.model: dict[str, frozenset[Any]] = {}

    @initialize(sketch=st.sampled_from(["fast", *if_there("signatures", minhash=0)]))
    def make(self, sketch: str) -> None:
        self.db = lshdb.open(
            self.path,
            threshold=THRESHOLD,
            shingle="set",
            permutations=16,
            rows=2,
            bands=8,
            sketch=sketch,
        )

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            inspection.check(self.path)
        self.directory.cleanup()

    @rule(documents=st.lists(st.tuples(KEYS, SETS), max_size=6), one_by_one=st.booleans())
    def add(self, documents: list[tuple[str, frozenset[Any]]], one_by_one: bool) -> None:
        expected = [0, 0, 0]
        for key, elements in documents:
            if key not in self.model:
                expected[0] += 1
            else:
                expected[2 if self.model[key] == elements else 1] += 1
            self.model[key] = elements
        reports = [self.db.add(*document) for document in documents] if one_by_one else [
            self.db.add_many(documents)
        ]  # fmt: skip
        total = sum(reports, lshdb.AddReport())
        assert [total.added, total.updated, total.unchanged] == expected

    @rule(keys=st.lists(KEYS, max_size=3))
    def remove(self, keys: list[str]) -> None:
        try:
            self.db.remove(keys)
        except KeyNotFound:
            assert not set(keys) <= self.model.keys()
        else:
            for key in set(keys):
                del self.model[key]

    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.db = lshdb.open(self.path)

    @rule(query=SETS)
    def query(self, query: frozenset[Any]) -> None:
        scores = {key: jaccard(query, elements) for key, elements in self.model.items()}
        similar = {key: score for key, score in scores.items() if score >= THRESHOLD}
        every = self.db.query(query, exhaustive=True)
        assert {match.key: match.similarity for match in every} == similar
        found = {match.key: match.similarity for match in self.db.query(query)}
        assert found.items() <= similar.items()
        assert {key for key, score in similar.items() if score == 1} <= found.keys()

    @invariant()
    def holds_what_the_dict_holds(self) -> None:
        if not hasattr(self, "db"):
            return
        assert sorted(self.db.keys()) == sorted(self.model)
        assert len(self.db) == len(self.model)
        for key, elements in self.model.items():
            content = self.db.get(key).content
            assert content is not None
            assert frozenset(content) == elements
            assert len(content) == len(elements)


TestDatabase = DatabaseMachine.TestCase
TestDatabase.settings = settings(max_examples=25, stateful_step_count=20)
