"""Apps keep similar documents apart, and say which stay, by a door: a toy filter, and none."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lshdb
from lshdb import offers
from lshdb.database import store_of
from lshdb.options import RemoveOptions
from lshdb.search.pair_filters import PairFilter, filters_of
from lshdb.store.lookups import StoreReader
from lshdb.text.arrays import IntArray, Mask, int_array
from lshdb.write.add import removed

TEXTS = dict.fromkeys(("a", "b", "c", "d"), "the fox and the grapes of the old garden")


class ByLetter:
    """A PairFilter: `a` is no duplicate of `b`, `c` stays, and `d` is to be dropped."""

    def __init__(self, reader: StoreReader, doc_ids: IntArray) -> None:
        self._keys = np.array(reader.keys_of(doc_ids))
        self.marked = int_array(np.flatnonzero(np.isin(self._keys, ["a", "b"])))

    def keep(self, left: IntArray, right: IntArray) -> Mask:
        """All but the pair of a and b."""
        a, b = np.isin(self._keys[left], ["a", "b"]), np.isin(self._keys[right], ["a", "b"])
        kept: Mask = ~(a & b & (left != right))
        return kept

    def rank(self, documents: IntArray) -> IntArray:
        """C stays, d goes."""
        return int_array((self._keys[documents] == "d") * 1 - (self._keys[documents] == "c"))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[lshdb.Database]:
    """A file with decisions."""
    with lshdb.open(tmp_path / "x.db") as db:
        db.add_many(TEXTS.items())
        db.decide("drop", ["a"])
        yield db


@pytest.mark.app("keeping", "review")
def test_a_filter_keeps_pairs_apart_and_chooses_who_stays(
    db: lshdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    filter_of: type[PairFilter] = ByLetter
    offered = offers.offered
    monkeypatch.setattr(
        offers,
        "offered",
        lambda table, name: filter_of if name == "decisions" else offered(table, name),
    )
    pairs = [(pair.a, pair.b) for pair in db.pairs()]
    assert pairs == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    (cluster,) = db.clusters()
    assert (cluster.keep, cluster.decided) == ("c", (None, None, "keep", "drop"))
    (star,) = db.clusters(star=True)
    assert star.keep == "c"
    assert len(list(db.pairs(ignore_decisions=True))) == 6


@pytest.mark.app("review")
def test_without_its_app_a_filter_is_named(
    db: lshdb.Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(offers, "is_there", lambda app: app != "review")
    note = "the decisions in this file do not count: they belong to the app 'review'"
    with pytest.warns(lshdb.LimitWarning, match=note):
        assert len(list(db.pairs())) == 6
    with pytest.warns(lshdb.LimitWarning, match=note):
        (cluster,) = db.clusters()
    assert (cluster.keep, cluster.decided) == ("a", (None,) * 4)
    assert len(list(db.pairs(ignore_decisions=True))) == 6
    missing = "belongs to the app 'review', which is not installed"
    with pytest.raises(lshdb.UsageError, match=f"'decided' {missing}"):
        removed(store_of(db), RemoveOptions(decided=True))
    with lshdb.open(tmp_path / "other.db") as other:
        with pytest.raises(lshdb.UsageError, match=f"'decisions' {missing}"):
            other.add_files([str(tmp_path / "x.db")])
        assert not other.keys()


def test_a_file_without_the_part_has_no_filter(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "x.db") as db:
        db.add_many(TEXTS.items())
        reader = store_of(db)
        with reader.reading():
            assert filters_of(reader, reader.doc_ids()) == []


def test_missing_folders_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "is_there", lambda app: app != "folders")
    missing = pytest.raises(lshdb.UsageError, match="'group_by' belongs to the app 'folders'")
    with lshdb.open(tmp_path / "x.db") as db, missing:
        list(db.pairs(group_by="folder"))
