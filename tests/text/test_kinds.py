"""The door for kinds of shingles, tried with an app that cuts texts into lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import database_of

from lshdb import offers
from lshdb.text import shingles
from lshdb.text.kinds import kind_of
from lshdb.text.shingling import Shingling

TOY = '''
"""Each line is a unit, written as its first letter."""
import numpy as np

from lshdb.text.kinds import Tokens


class _Lines:
    def units(self, texts, shingling):
        lines = [text.splitlines(keepends=True) for text in texts]
        ends = [np.cumsum([*map(len, each)], dtype=np.int64) for each in lines]
        stops = np.concatenate(ends)
        starts = np.concatenate([np.append(0, each)[:-1] for each in ends])
        text = "".join(line[0] for each in lines for line in each)
        return Tokens(text, np.array([*map(len, lines)]), lambda: (starts, stops))

    def pieces(self, text, shingling, size):
        units = self.units([text], shingling).text
        yield from (units[start : start + 2] for start in range(0, len(units), 2))


LINES = _Lines()
'''
LINES = Shingling("code", 2)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_kind.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(offers.KINDS, "code", "toy_kind:LINES")


def test_units_of_an_app_are_counted_and_have_places() -> None:
    kind = kind_of(LINES)
    assert kind is not None
    units = kind.units(["one\ntwo", "three"], LINES)
    starts, stops = units.places()
    assert (units.counts.tolist(), starts.tolist()) == ([2, 1], [0, 4, 0])
    assert stops.tolist() == [4, 7, 5]


def test_a_large_text_has_the_shingles_of_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "alpha\nbeta\ngamma\ndelta\neta\n"
    whole = shingles.distinct_shingles([text], LINES, 1).hashes.tolist()
    monkeypatch.setitem(shingles.BLOCK, "code", 4)
    assert shingles.distinct_shingles([text], LINES, 1).hashes.tolist() == whole
    assert len(whole) == 4


def test_a_database_finds_what_shares_units(path: Path) -> None:
    texts = [("a", "alpha\nbeta\ngamma"), ("b", "apple\nball\ngrape"), ("c", "x\ny")]
    with database_of(path, texts, shingle="code:2", threshold=0.5) as db:
        assert [match.key for match in db.query("a\nb\ng")] == ["a", "b"]
        assert [(pair.a, pair.b, pair.similarity) for pair in db.pairs()] == [("a", "b", 1.0)]
