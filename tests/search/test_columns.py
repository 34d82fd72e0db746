"""The columns of results: a field of a dataclass, and the place that computes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from helpers import database_of

import lshdb
from lshdb import model
from lshdb.columns import PAIR, Block
from lshdb.search import pairs


@dataclass(frozen=True)
class LongerPair(lshdb.Pair):
    """A pair with a column more."""

    longer: str | None = None


@pytest.mark.app("passages")
def test_a_column_is_a_field_and_the_place_that_computes_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = pairs.Join.block

    def with_one_more(join: pairs.Join, *arrays: Any) -> Block:
        columns = block(join, *arrays)
        return {"longer": list(map(max, columns["a"], columns["b"])), **columns}

    monkeypatch.setattr(model, "Pair", LongerPair)
    monkeypatch.setattr(pairs.Join, "block", with_one_more)
    monkeypatch.setitem(PAIR, "longer", str)
    texts = {"b": "the fox and the grapes", "a": "the fox and the grapes", "c": "a crow and a jug"}
    documents = {key: f"{text} of Aesop" for key, text in texts.items()}
    with database_of(path, documents, shingle="word:2", passages=4) as db:
        found = db.pairs()
        (pair,) = found
        assert isinstance(pair, LongerPair)
        assert (pair.a, pair.b, pair.similarity, pair.longer) == ("b", "a", 1.0, "b")
        (row,) = found.rows()
        record = dict(zip(found.columns, row, strict=True))
        assert record["longer"] == "b"
        assert db.pairs(sort="weighted").to_arrow().to_pylist() == [record]
