"""Batches of stored documents: read and shingled together as one by one."""

from __future__ import annotations

import json
from pathlib import Path

import inspection
import pytest
from helpers import database_of
from hypothesis import given
from hypothesis import strategies as st

import lshdb
from lshdb.errors import ContentError, DamagedFile
from lshdb.model import Shingling
from lshdb.shingling.content import cleaned, encoded, from_stored, many_from_stored

SETS = Shingling("set")
ELEMENTS = (
    st.integers(-(1 << 70), 1 << 70) | st.text(max_size=5) | st.sampled_from(["],[", '"', "\n"])
)


@given(st.lists(st.frozensets(ELEMENTS, max_size=6), max_size=6))
def test_stored_sets_are_read_alike_together_and_alone(sets: list[frozenset[str | int]]) -> None:
    stored = [encoded(cleaned(elements, SETS)) for elements in sets]
    together = many_from_stored(stored, SETS)
    assert [tuple(elements) for elements in together] == [from_stored(s, SETS) for s in stored]
    assert [frozenset(elements) for elements in together] == sets


@pytest.mark.parametrize(
    "broken",
    [
        ["[1", "2]"],
        ["[1],[2", "3]"],
        ["[1],[[2]", "[3]]"],
        ['["a', 'b"]'],
        ["[1]", "{}"],
        ["[1]", "[1.5]"],
        ["[1]", "[true]"],
        ["", "[1]"],
        ["[1]", "[1],[2]"],
        ["[[1]]", "[2]"],
    ],
    ids=str,
)
def test_broken_sets_do_not_become_whole_side_by_side(broken: list[str], path: Path) -> None:
    with pytest.raises(DamagedFile, match="not a JSON array"):
        many_from_stored(broken, SETS)
    database_of(path, ((str(i), [1, 2, 3]) for i in range(2)), shingle="set", threshold=0.5).close()
    with inspection.sqlite(path) as connection:
        for doc_id, content in enumerate(broken, 1):
            connection.execute(
                "UPDATE documents SET content = ? WHERE doc_id = ?", (content, doc_id)
            )
    with lshdb.open(path) as db, pytest.raises(DamagedFile, match="not a JSON array"):
        db.query([1, 2, 3])


def test_texts_are_as_they_are_stored() -> None:
    texts = ["a", "", json.dumps(["x"])]
    assert many_from_stored(texts, Shingling("word", 3)) == texts


@pytest.mark.parametrize("character", ["a", "\x01", "\U0001f98a"])
def test_a_set_is_too_large_when_its_json_is(character: str) -> None:
    elements = (character * 40,)
    size = len(encoded(elements).encode())
    assert cleaned(elements, SETS, size) == elements
    with pytest.raises(ContentError, match=f"has {size} bytes, and {size - 1} is the limit"):
        cleaned(elements, SETS, size - 1)
