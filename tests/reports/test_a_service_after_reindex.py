"""A program that names a threshold starts again after its file was reindexed to another one.

What differs of the index alone is reported once; what decides how documents are compared is still
refused, and with check_settings everything.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import Command

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


@pytest.mark.parametrize("how", [lshdb.open, lshdb.Service])
@pytest.mark.parametrize(
    "given",
    [
        {"shingle": "char:5"},
        {"seed": 2},
        {"seed": "random"},
        {"sketch": "minhash"},
        {"content": False},
        {"base": {"task": "write about a fox"}},
        {"purpose": "programs"},
        {"permutations": 256},
        {"passages": 5},
        {"ignoring": "numbers"},
    ],
    ids=str,
)
def test_settings_of_documents_may_not(
    reindexed: Path, how: Callable[..., Any], given: dict[str, Any]
) -> None:
    with pytest.raises(lshdb.SettingsMismatch):
        how(reindexed, threshold=0.7, **given)


def test_a_purpose_gives_a_threshold_that_may_differ(path: Path) -> None:
    with lshdb.open(path, purpose="short-text") as db:
        db.reindex(threshold=0.6)
    assert "threshold 0.6, not 0.55" in opens(lshdb.Service, path, purpose="short-text")[0]
    with pytest.raises(lshdb.SettingsMismatch, match=r"threshold 0\.6, not 0\.55"):
        lshdb.open(path, purpose="short-text", check_settings=True)


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


def test_an_operator_sees_it_once(reindexed: Path) -> None:
    code = "import sys, lshdb\nfor _ in range(3): lshdb.Service(sys.argv[1], threshold=.8).close()"
    done = subprocess.run(
        [sys.executable, "-c", code, reindexed], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("SettingsWarning") == 1
    assert "threshold 0.5, not 0.8" in done.stderr


def test_commands_print_it_once(command: Command) -> None:
    command.write("in.jsonl", [{"id": "fox", "text": FOX}])
    command.done("init", "--threshold", "0.8")
    command.done("reindex", "--threshold", "0.5")
    note = "lshdb: lsh.db has {}: the file's own settings are used; lshdb reindex changes them"
    said = command.done("init", "--threshold", "0.8").err.splitlines()
    assert said[0] == note.format("threshold 0.5, not 0.8")
    assert said[1].startswith("lsh.db exists already: finds texts that share 50% or more")
    said = command.done("dedup", "in.jsonl", "-d", "lsh.db", "--recall", "0.9").err.splitlines()
    assert [line for line in said if "own settings" in line] == [
        note.format("recall 0.99, not 0.9")
    ]
    assert "shingle word:3, not set" in command.fails("init", "--shingle", "set")


def test_dedup_of_frames_warns_alike(reindexed: Path) -> None:
    with pytest.warns(lshdb.SettingsWarning, match=r"threshold 0\.5, not 0\.8") as noted:
        lshdb.dedup([{"id": "1", "text": "new"}], into=reindexed, threshold=0.8, workers=0)
    assert noted[0].filename == __file__


REINDEXES = "import sys, lshdb\nwith lshdb.open(sys.argv[1]) as db: db.reindex({})"


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_running_service_uses_the_new_index(path: Path, where: str) -> None:
    """The recipe of the manual: raise or lower the threshold while it answers."""

    def reindex(**changes: Any) -> None:
        if where == "here":
            service.write(lambda db: db.reindex(**changes))
            return
        given = ", ".join(f"{name}={value!r}" for name, value in changes.items())
        subprocess.run([sys.executable, "-c", REINDEXES.format(given), path], check=True)

    with lshdb.Service(path, threshold=0.9) as service:
        service.add("fox", FOX)
        assert service.add("near", NEAR).matches == ()
        reindex(threshold=0.4)
        assert [one.key for one in service.query(NEAR)] == ["near", "fox"]
        assert [one.key for one in service.add("again", NEAR).matches] == ["near", "fox"]
        assert service.add("other", NEAR, skip_similar=True).outcome == "similar"
        reindex(base={"task": NEAR})
        assert service.add("base", NEAR).matches == ()
        assert service.read(lambda db: db.settings.threshold) == 0.4
    assert lshdb.check(path, deep=True).ok
    assert "threshold 0.4, not 0.9" in opens(lshdb.Service, path, threshold=0.9)[0]
