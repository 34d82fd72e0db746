"""The constructions that tune lists, against the formulas and against databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import inspection
import pytest
from helpers import Command, database_of

import lshdb
from lshdb.errors import SettingsError, UsageError
from lshdb.maintain.choices import BAND_BYTES, tune
from lshdb.maintain.resolve import choose_construction
from lshdb.sketch.constructions import Construction, candidate_probability


@pytest.mark.parametrize(
    ("threshold", "recall", "lanes"),
    [(0.8, 0.99, 128), (0.5, 0.9, 256), (1, 1, 64)],
)
def test_constructions_reach_the_recall_and_none_is_worse_in_all(
    threshold: float, recall: float, lanes: int
) -> None:
    found = tune(threshold=threshold, recall=recall, permutations=lanes)
    assert found[0].construction == choose_construction(threshold, recall, lanes)
    assert [tuned.chosen for tuned in found] == [True] + [False] * (len(found) - 1)
    assert threshold == 1 or any(tuned.construction.higher for tuned in found)
    for tuned in found:
        construction = tuned.construction
        assert construction.lanes <= lanes
        assert tuned.recall == candidate_probability(threshold, construction) >= recall
        assert tuned.curve[4] == candidate_probability(0.5, construction)
        lane_bytes = 4 if construction.rows == 1 else 2
        assert tuned.bytes == lane_bytes * lanes + BAND_BYTES * construction.bands
    bands = [tuned.construction.bands for tuned in found[1:]]
    assert bands == sorted(bands, reverse=True), "a steeper curve costs bands"


@pytest.mark.parametrize("text", ["and 5, or 12", "and 4, or 4, and 4, or 4"])
def test_a_named_construction_is_judged_beside_the_others(text: str) -> None:
    usual = lshdb.tune(construction=None, permutations=256 if "and 4" in text else 128)
    found = lshdb.tune(construction=text)
    named = [tuned for tuned in found if tuned.named]
    assert [str(tuned.construction) for tuned in named] == [text]
    assert [tuned.construction for tuned in found if tuned not in named] == [
        tuned.construction for tuned in usual if str(tuned.construction) != text
    ]
    assert named[0].recall == candidate_probability(0.8, Construction.parse(text))
    assert named[0].chosen == (text == "and 5, or 12")
    assert found[0].chosen, "the best stays first"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recall": 1.1}, "is not above 0"),
        ({"permutations": 4097}, "is not from 16 to 4,096"),
        ({"construction": "and 4, or 64", "permutations": 128}, "256 lanes, and there are 128"),
        ({"seed": -1}, "seed -1"),
    ],
)
@pytest.mark.filterwarnings("ignore:candidates are not predicted")
def test_what_cannot_be_is_refused(path: Path, options: dict[str, Any], message: str) -> None:
    with (
        lshdb.open(path) as db,
        pytest.raises((SettingsError, UsageError), match=message),
    ):
        db.tune(**options)


# of a database


def test_bytes_are_what_the_file_grows_by(tmp_path: Path) -> None:
    sizes = {}
    for bands in (4, 40):
        path = tmp_path / f"{bands}.db"
        sets = ((str(i), [3 * i, 3 * i + 1, 3 * i + 2]) for i in range(3_000))
        settings = {"shingle": "set", "content": False, "rows": 2, "bands": bands}
        with database_of(path, sets, **settings) as db:
            inspection.rows(path, "PRAGMA wal_checkpoint(TRUNCATE)")
            sizes[bands] = db.info().bytes / 3_000
    assert (sizes[40] - sizes[4]) / 36 == pytest.approx(BAND_BYTES, rel=0.1)


# the command


def test_tune_without_a_database(command: Command) -> None:
    lines = command.done("tune").lines
    assert lines[0].split("\t")[:2] == ["and 5, or 12", "0.991471"]
    assert "needs a database" in command.fails("tune", "--documents", "5", status=2)
    assert list(command.directory.iterdir()) == []
