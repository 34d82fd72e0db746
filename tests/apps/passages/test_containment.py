"""Matches ranked by the share of the query that they hold."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import Command, database_of, set_families, text_families
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits, LimitWarning
from lshdb.apps.passages.containment import containment_at, similarity_at
from lshdb.search.similarity import jaccard


@given(st.lists(st.tuples(*[st.integers(0, 1 << 30)] * 3), min_size=1))
def test_similarities_are_those_of_containments(numbers: list[tuple[int, int, int]]) -> None:
    a, b, shared = np.array(numbers).T
    sizes = a + shared, b + shared
    similar, held = jaccard(shared, *sizes), shared / np.maximum(sizes[0], 1)
    assert containment_at(similar, *sizes, exact=True).tolist() == held.tolist()
    assert containment_at(similar, *sizes, exact=False) == pytest.approx(held)
    assert similarity_at(held, *sizes) == pytest.approx(similar)


def test_with_an_index_of_passages_a_quotation_is_found_surely(path: Path) -> None:
    texts = text_families(4, families=3, copies=2, words=4_000, most_edits=3)
    quoted = " ".join(texts["1/base"].split()[100:160])
    how: Any = {"containment": True, "threshold": 0.9}
    with database_of(path, [*texts.items(), ("quoted", quoted)]) as db:
        assert [match.key for match in db.query(quoted, **how)] == ["quoted"]
        db.reindex(passages=8)
        found = db.query(quoted, exhaustive=True, **how)
        assert len(found) > 3
        assert db.query(quoted, **how) == found
        assert db.query(quoted, top=2, **how) == found[:2]
        assert next(db.query_many([("one", quoted)], **how)) == ("one", found)
        assert db.query(key="quoted", **how) == found[1:]
        assert [m.key for m in db.query(quoted, where="key = '1/base'", **how)] == ["1/base"]
        assert len(db.query(quoted, threshold=0.9)) == 1, "by similarity as before"
    with (
        lshdb.open(path, limits=Limits(query_first=1)) as db,
        pytest.warns(LimitWarning, match="runs of 8 words of the query"),
    ):
        db.query(quoted, **how)


def test_shingles_that_repeat_count_once(path: Path) -> None:
    """Also where a text is far longer than the number of its distinct shingles suggests."""
    texts = {"long": "to be or not to be " * 200, "short": "to be"}
    with database_of(path, texts, threshold=0.9, shingle="word:1") as db:
        for query in ("be or not to be", "to be or not " * 50):
            (match,) = db.query(query, containment=True)
            assert (match.key, match.containment, match.similarity) == ("long", 1, 1)


@pytest.mark.parametrize("content", [True, False])
def test_an_estimated_containment_is_about_right(path: Path, content: bool) -> None:
    rng, errors = random.Random(2), []
    sets = set_families(3, families=10, copies=5, size=30)
    how: Any = {"containment": True, "estimate": content, "exhaustive": True}
    with database_of(path, sets, threshold=0.3, shingle="set", content=content) as db:
        for elements in sets.values():
            query = rng.sample(elements, len(elements) * 2 // 3)
            for match in db.query(query, **how):
                assert match.containment is not None
                assert not match.exact
                assert match.similarity == match.estimate
                true = len({*query} & {*sets[match.key]}) / len(query)
                errors.append(match.containment - true)
    assert len(errors) > 100
    assert abs(np.mean(errors)) < 0.03
    assert np.std(errors) < 0.1


def test_the_command_ranks_by_containment_and_says_what_it_may_miss(command: Command) -> None:
    command.done("init", "--shingle", "set", "--bands", "20", "--rows", "2", "--threshold", "0.6")
    sets: Any = {"whole": [*range(40)], "most": [*range(8), "x"], "none": ["y"]}
    command.write("sets.jsonl", [{"id": key, "set": sets[key]} for key in sets])
    command.done("add", "sets.jsonl")
    asked, query = ("query", "-", "--containment"), json.dumps([*range(10)])
    exhaustive = command.done(*asked, "--exhaustive", stdin=query, says="")
    assert exhaustive.out == "1.000000\t0.250000\texact\twhole\n0.800000\t0.727273\texact\tmost\n"
    chances = [1 - (1 - (0.6 / (0.4 + times)) ** 2) ** 20 for times in (1, 2, 5)]
    said = command.done(*asked, stdin=query).err
    assert re.findall(r"[0-9.]+%", said) == [f"{chance:.1%}" for chance in chances]


def test_runs_of_words_that_containment_finds_are_said(command: Command) -> None:
    command.done("init", "-d", "p.db", "--passages", "8")
    said = command("query", "-d", "p.db", "--containment", "--text", "a b c d e f g h").err
    assert "documents that hold 8 or more words of the query in a row are found" in said
