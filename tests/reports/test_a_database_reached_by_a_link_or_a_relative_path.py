"""A database that a symbolic link leads to, and one named from a directory that the program leaves.

Reported of other programs: NousResearch/hermes-agent issue 116450 (a guard of the log compared
names without following links, and missed that the log was gone), openai/openai-agents-python pull
request 5012 (after a change of directory a relative name read and cleared another database).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import inspection
import pytest
from helpers import database_of

import lshdb
from lshdb.errors import StoreError, UsageError

TEXTS = {f"d{number}": f"the fox and the grapes {number}" for number in range(5)}


def keys_in(path: Path) -> list[str]:
    """By plain SQLite."""
    return [str(key) for (key,) in inspection.rows(path, "SELECT key FROM documents")]


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """A link in one directory to a database in another."""
    for name in ("data", "links"):
        (tmp_path / name).mkdir()
    database_of(tmp_path / "data" / "real.db", TEXTS).close()
    link = tmp_path / "links" / "link.db"
    link.symlink_to("../data/real.db")
    return link


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_deleted_log_is_noticed_and_saved(link: Path, end: str) -> None:
    log = link.resolve().with_name(f"real.db{end}")
    db = lshdb.open(link)
    db.add("late", "the ant and the dove")
    log.unlink()
    for use in (lambda: db.add("new", "text"), lambda: len(db), lambda: lshdb.open(link)):
        with pytest.raises(StoreError) as caught:
            use()
        assert str(caught.value).startswith(f"{log} was deleted or replaced")
    db.close()
    with lshdb.open(link) as again:
        assert "late" in again
    inspection.check(link.resolve())


def test_a_link_that_leads_elsewhere_meanwhile_changes_nothing(link: Path) -> None:
    database_of(link.parent / "other.db", {"other": "the wind and the sun"}).close()
    with lshdb.open(link) as db, lshdb.Service(link) as service:
        link.unlink()
        link.symlink_to("other.db")
        db.add("late", "the ant and the dove")
        assert [match.key for match in db.query("the ant and the dove", where="true")] == ["late"]
        assert service.read(len) == len(TEXTS) + 1
        db.backup(link.parent / "copy.db")
    assert "late" in keys_in(link.parent / "copy.db")
    assert keys_in(link.resolve()) == ["other"]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory has x.db; another one to change to has another file of this name."""
    (other := tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    database_of("x.db", TEXTS).close()
    database_of(other / "x.db", {"wrong": "the wind and the sun"}).close()
    return other


@pytest.mark.parametrize("is_there", [True, False], ids=["another file", "no file"])
def test_a_relative_path_after_a_change_of_directory(elsewhere: Path, is_there: bool) -> None:
    if not is_there:
        (elsewhere / "x.db").unlink()
    before = inspection.files(elsewhere)
    with lshdb.open("x.db") as db:
        os.chdir(elsewhere)
        assert (str(db.path), len(db)) == ("x.db", len(TEXTS))
        db.add("n1", "a text 1")
        db.reindex(threshold=0.5, passages=3)
        assert [match.key for match in db.query("a text 1", where="key = 'n1'")] == ["n1"]
        assert db.info().bytes > 100_000
        db.backup("../copy.db")
        with pytest.raises(UsageError, match="is the database itself"):
            db.backup("../x.db", replace=True)
    assert len(keys_in(elsewhere.parent / "copy.db")) == len(TEXTS) + 1
    assert inspection.files(elsewhere) == before


@pytest.mark.usefixtures("elsewhere")
def test_a_forked_process_opens_the_file_that_it_names() -> None:
    """By its own directory; the parent's file, reached by any name, is refused."""
    code = (
        "import os, sys, lshdb\n"
        "db = lshdb.open('x.db'); os.chdir('other'); os.symlink('../x.db', 'link.db')\n"
        "if os.fork() == 0:\n"
        "    print(lshdb.open('x.db').keys())\n"
        "    try: lshdb.open('link.db')\n"
        "    except lshdb.UsageError as error: print(error)\n"
        "    sys.stdout.flush(); os._exit(0)\n"
        "os.wait(); db.close()\n"
        "if os.fork() == 0:\n"
        "    print(len(lshdb.open('link.db'))); sys.stdout.flush(); os._exit(0)\n"
        "os.wait()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    keys, refused, count = done.stdout.splitlines()
    assert keys == "['wrong']"
    assert "was open when this process was forked" in refused
    assert count == str(len(TEXTS))


def test_a_new_file_may_take_the_name_of_one_that_is_gone(link: Path) -> None:
    """As in a notebook, where the old handle is still there."""
    path = link.resolve()
    with lshdb.open(path) as db:
        db.add("late", "the ant and the dove")
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink()
        with lshdb.open(link) as new:
            assert new.keys() == []
