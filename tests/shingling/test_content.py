"""Stored documents: sets as JSON, and how large they may be."""

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
from lshdb.shingling.content import cleaned, encoded, from_stored
from lshdb.shingling.shingling import Shingling

SETS = Shingling("set")
ELEMENTS = (
    st.integers(-(1 << 70), 1 << 70) | st.text(max_size=5) | st.sampled_from(["],[", '"', "\n"])
)


@given(st.frozensets(ELEMENTS, max_size=6))
def test_a_stored_set_is_read_as_it_was_written(elements: frozenset[str | int]) -> None:
    stored = encoded(cleaned(elements, SETS))
    assert stored == json.dumps(json.loads(stored), ensure_ascii=False, separators=(",", ":"))
    assert frozenset(from_stored(stored, SETS)) == elements


@pytest.mark.parametrize(
    "broken", ["[1", '["a', "{}", "[1.5]", "[1e30]", "[true]", "", "[[1]]", "7", "[" * 9999]
)
def test_what_is_no_set_is_reported(broken: str, path: Path) -> None:
    database_of(path, [("a", [1, 2, 3])], shingle="set", threshold=0.5).close()
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE documents SET content = ?", (broken,))
    with lshdb.open(path) as db:
        for action in (lambda: db.query([1, 2, 3]), lambda: db.get("a")):
            with pytest.raises(DamagedFile, match="not a JSON array"):
                action()


@pytest.mark.parametrize("character", ["a", "\x01", "\U0001f98a"])
def test_a_set_is_too_large_when_its_json_is(character: str) -> None:
    elements = (character * 40,)
    size = len(encoded(elements).encode())
    assert cleaned(elements, SETS, size) == elements
    with pytest.raises(ContentError, match=f"has {size} bytes, and {size - 1} is the limit"):
        cleaned(elements, SETS, size - 1)
