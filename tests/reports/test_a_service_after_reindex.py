"""A program that names a threshold starts again after its file was reindexed to another one.

What differs of the index alone is reported once; what decides how documents are compared is still
refused, and with check_settings everything.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lshdb

FOX = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"
NEAR = FOX.replace("lazy dog", "sleepy cat")
OF_INDEX: list[tuple[dict[str, Any], str]] = [
    ({"threshold": 0.7}, "threshold 0.5, not 0.7"),
    ({"recall": 0.9}, "recall 0.99, not 0.9"),
    ({"bands": 20, "rows": 5}, "bands 35, not 20 and rows 3, not 5"),
    ({"construction": "and 5, or 20"}, "construction and 3, or 35, not and 5, or 20"),
]


@pytest.fixture
def reindexed(path: Path) -> Path:
    """A file that was made for 0.8, and reindexed to 0.5."""
    with lshdb.open(path, threshold=0.8) as db:
        db.add_many([("fox", FOX), ("near", NEAR)])
        db.reindex(threshold=0.5)
    return path


def opens(how: Callable[..., Any], path: Path, **settings: Any) -> list[str]:
    """Open and close a file; what warnings said, which name the line here."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        how(path, **settings).close()
    assert {one.filename for one in noted} <= {__file__}
    assert {one.category for one in noted} <= {lshdb.SettingsWarning}
    return [str(one.message) for one in noted]


@pytest.mark.parametrize("how", [lshdb.open, lshdb.Service])
@pytest.mark.parametrize(("given", "said"), OF_INDEX, ids=str)
def test_settings_of_the_index_may_differ(
    reindexed: Path, how: Callable[..., Any], given: dict[str, Any], said: str
) -> None:
    note = f"{reindexed} has {said}: the file's own settings are used; lshdb reindex changes them"
    assert opens(how, reindexed, **given) == [note]
    assert opens(how, reindexed, threshold=0.5, check_settings=True) == []
    with pytest.raises(lshdb.SettingsMismatch, match=f"has {said}: leave it out, or run lshdb re"):
        how(reindexed, **given, check_settings=True)
    with lshdb.open(reindexed, mode="read") as db:
        assert db.settings.threshold == 0.5


@pytest.mark.parametrize(
    "given",
    [
        {"shingle": "char:5"},
        {"seed": "random"},
        {"base": {"task": "write about a fox"}},
        {"permutations": 256},
    ],
    ids=str,
)
def test_settings_of_documents_may_not(reindexed: Path, given: dict[str, Any]) -> None:
    with pytest.raises(lshdb.SettingsMismatch):
        lshdb.Service(reindexed, threshold=0.7, **given)


@pytest.mark.parametrize("how", [lshdb.open, lshdb.Service])
def test_where_warnings_are_errors_the_file_is_closed(
    reindexed: Path, how: Callable[..., Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(lshdb.SettingsWarning):
            how(reindexed, threshold=0.7)
    assert [one.name for one in reindexed.parent.iterdir()] == [reindexed.name], "no log is left"
    assert not [one for one in threading.enumerate() if one.name == "lshdb.Service"]


def test_a_running_service_uses_the_new_index(path: Path) -> None:
    """The recipe of the manual: raise or lower the threshold while it answers."""
    with lshdb.Service(path, threshold=0.9) as service, lshdb.open(path) as other:
        service.add("fox", FOX)
        assert service.add("near", NEAR).matches == ()
        other.reindex(threshold=0.4)
        assert [match.key for match in service.query(NEAR)] == ["near", "fox"]
        assert [match.key for match in service.add("again", NEAR).matches] == ["near", "fox"]
        assert service.add("other", NEAR, skip_similar=True).outcome == "similar"
        service.write(lambda db: db.reindex(base={"task": NEAR}))
        assert service.add("base", NEAR).matches == ()
    assert lshdb.check(path, deep=True).ok
