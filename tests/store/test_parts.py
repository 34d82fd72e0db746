"""The door for parts of the index: a part of a few lines, and a file whose part has no app."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import inspection
import numpy as np
import pytest

import lshdb
from lshdb import offers
from lshdb.progress import Progress
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import Index, IndexRows
from lshdb.store.parts import Documents
from lshdb.text.arrays import IntArray
from lshdb.text.kinds import Tokens

PART = pytest.importorskip("lshdb.apps.passages.winnowing").PART
FOX = "the fox and the grapes that hung high on the vine"
CROW = "the crow and the fox that wanted the cheese in her beak"


class _Lengths:
    """The characters of each text, in place of its fingerprints."""

    collects = True
    table = PART.table

    def made(self, texts: Sequence[str], settings: Settings, _tokens: Tokens | None) -> PartRows:
        """See IndexPart."""
        lengths = np.array([*map(len, texts)])
        return PartRows(settings.passages, np.arange(len(texts)), (lengths,))

    def write(self, index: Index, rows: PartRows) -> None:
        """See IndexPart."""
        (lengths,) = rows.columns
        index.insert(self.table, np.stack([lengths, rows.documents, lengths]))

    def remove(
        self, index: Index, doc_ids: IntArray, texts: Sequence[str], settings: Settings
    ) -> None:
        """See IndexPart."""
        index.delete(self.table, map(tuple, self.expected(doc_ids, texts, settings).T.tolist()))

    def rebuild(
        self, index: Index, documents: Documents, settings: Settings, progress: Progress
    ) -> int:
        """See IndexPart."""
        index.clear(self.table)
        total = 0
        for doc_ids, texts in documents:
            index.insert(self.table, self.expected(doc_ids, texts, settings))
            total += len(texts)
            progress(total, None, "lengths")
        return total

    def expected(self, doc_ids: IntArray, texts: Sequence[str], _settings: Settings) -> IndexRows:
        """See IndexPart."""
        lengths = np.array([*map(len, texts)], dtype=np.int64)
        return np.stack([lengths, doc_ids, lengths])

    def stored(self, index: Index) -> Iterator[IndexRows]:
        """See IndexPart."""
        return index.rows(self.table)


LENGTHS = _Lengths()


def rows(path: Path) -> list[tuple[int, int]]:
    """What the toy has in a file."""
    return sorted(
        (doc_id, length) for length, doc_id, _ in inspection.contents(path)[PART.table.name]
    )


@pytest.mark.app("repair")
def test_the_core_has_a_part_follow_from_the_texts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(offers.PARTS, "fingerprints", f"{__name__}:LENGTHS")
    with lshdb.open(path, passages=4) as db:
        db.add_many([("fox", FOX), ("crow", CROW), ("empty", "")])
        assert rows(path) == [(1, len(FOX)), (2, len(CROW))]
        db.add("fox", FOX + " there")
        db.remove("crow")
        assert rows(path) == [(1, len(FOX) + 6)]
        db.reindex(passages=5)
        assert rows(path) == [(1, len(FOX) + 6)]
    assert lshdb.check(path, deep=True).ok
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE fingerprints SET fingerprint = 3")
    report = lshdb.check(path, repair=True)
    assert [problem.table for problem in report.problems] == ["fingerprints"]
    assert rows(path) == [(1, len(FOX) + 6)]


def test_a_file_whose_part_has_no_app_answers_and_is_not_added_to(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lshdb.open(path, passages=4) as db:
        db.add_many([("fox", FOX), ("fox 2", FOX + " there")])
    before = inspection.contents(path)
    monkeypatch.setitem(offers.TABLES, "fingerprints", "gone")
    monkeypatch.setitem(offers.PARTS, "fingerprints", "lshdb.apps.gone.fingerprints:PART")
    named = "'fingerprints' belongs to the app 'gone', which is not installed"
    with lshdb.open(path) as db:
        assert [match.key for match in db.query(FOX)] == ["fox", "fox 2"]
        assert [(pair.a, pair.b, pair.weighted) for pair in db.pairs()] == [("fox", "fox 2", None)]
        for refused in (
            lambda: db.add("crow", CROW),
            lambda: db.remove("fox"),
            lambda: db.reindex(passages=5),
            lambda: db.check(deep=True),
        ):
            with pytest.raises(lshdb.UsageError, match=named):
                refused()
        assert db.reindex(threshold=0.7).rows
        assert db.check().counts == {"unchecked": 1}
    assert inspection.contents(path)["fingerprints"] == before["fingerprints"]
    with pytest.raises(lshdb.UsageError, match=named):
        lshdb.open(tmp_path / "new.db", passages=4)
    assert not (tmp_path / "new.db").exists()
