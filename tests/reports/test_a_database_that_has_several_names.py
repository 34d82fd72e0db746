"""A database that hard links or a mount of the file alone give other names, each with its own log.

Reported of other programs: openclaw/openclaw issue 144585 (a hard link is copied without what is in
the log beside the first name), GoblinHonest/mimo2api_mimoapi issue 5 (a file mounted alone in
Docker loses what its log held).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import inspection
import pytest
from helpers import Command, database_of

import lshdb
from lshdb.errors import LimitWarning, StoreError
from lshdb.store import location

TEXTS = {f"d{number}": f"the fox and the grapes {number}" for number in range(3)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that has a hard link in another directory."""
    path = tmp_path / "x.db"
    database_of(path, TEXTS).close()
    (tmp_path / "other").mkdir()
    os.link(path, tmp_path / "other" / "y.db")
    return path


def test_it_is_not_written_by_any_name(tmp_path: Path, path: Path) -> None:
    command, before = Command(tmp_path), inspection.files(tmp_path)
    reason = command.fails("check", "--repair", "-d", "other/y.db")
    assert reason.startswith("other/y.db cannot be written: it has 2 names (hard links), and each")
    assert reason.endswith("or work on a copy (lshdb backup makes one)")
    opens: list[Callable[[], object]] = [
        lambda: lshdb.open(path),
        lambda: lshdb.open(path, mode="write"),
        lambda: lshdb.check(path, repair=True),
        lambda: lshdb.Service(path),
        lambda: lshdb.dedup([{"id": "a", "text": "b"}], into=path),
    ]
    for opening in opens:
        with pytest.raises(StoreError, match="has 2 names"):
            opening()
    assert inspection.files(tmp_path) == before
    (tmp_path / "other" / "y.db").unlink()
    command.done("remove", "d1", "-d", "x.db")


def test_it_is_read_and_said_what_may_be_missing(tmp_path: Path, path: Path) -> None:
    command, before = Command(tmp_path), inspection.files(tmp_path)
    for arguments in (["query", "--key", "d1"], ["check"]):
        said = command.done(*arguments, "-d", "x.db").err
        assert said.startswith("lshdb: x.db: it has 2 names (hard links), and each name has its")
        assert "documents that are only in the log of another name are not read; " in said
    with pytest.warns(LimitWarning, match="2 names") as warned:
        lshdb.Service(path, mode="read").close()
    assert [warning.filename for warning in warned] == [__file__]
    assert inspection.files(tmp_path) == before
    command.done("backup", "copy.db", "-d", "x.db")
    command.done("add", "-", "-d", "copy.db", stdin='{"id": 1, "text": "a b c d"}')


def test_a_link_that_is_made_while_it_is_open_loses_nothing(tmp_path: Path) -> None:
    """As by `cp -l`: who has it open goes on, and others read by this name all that is there."""
    path = tmp_path / "x.db"
    database_of(path, TEXTS).close()
    with lshdb.open(path) as db:
        os.link(path, tmp_path / "y.db")
        db.add("late", "the ant and the dove")
        with warnings.catch_warnings(action="error"), lshdb.open(path, mode="read") as reader:
            assert "late" in reader
        with pytest.raises(StoreError, match="has 2 names"):
            lshdb.open(tmp_path / "y.db")
    (tmp_path / "y.db").unlink()
    inspection.check(path)
    assert len(inspection.rows(path, "SELECT 1 FROM documents")) == len(TEXTS) + 1


def test_what_another_name_changes_meanwhile_is_noticed(tmp_path: Path, path: Path) -> None:
    with pytest.warns(LimitWarning):
        reader = lshdb.open(path, mode="read")
    with reader:
        with inspection.sqlite(tmp_path / "other" / "y.db") as other:
            other.execute("UPDATE documents SET metadata = '{}'")
            other.commit()
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        with pytest.raises(StoreError, match="could not be locked, as it has other names: try"):
            reader.keys()


@cache
def may_bind() -> bool:
    """Whether a file can be mounted that only a process of ours sees."""
    return (
        sys.platform == "linux"
        and shutil.which("unshare") is not None
        and subprocess.run(
            [*NAMESPACE, "mount", "--bind", "/dev/null", "/dev/null"], check=False
        ).returncode
        == 0
    )


NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
MOUNTED = """
import sys, lshdb
for path in sys.argv[1:]:
    try:
        with lshdb.open(path) as db:
            print("written", db.add("new", "the ant and the dove").added)
    except lshdb.StoreError as error:
        print(error)
    with lshdb.open(path, mode="read") as db:
        print(len(db))
"""


def test_a_file_that_is_mounted_alone_is_not_written(tmp_path: Path) -> None:
    """Its directory may be mounted. The name has what the list of mounts escapes."""
    if not may_bind():
        pytest.skip("mounting a file is not permitted here")
    host, inside = tmp_path / "host", tmp_path / "in\\side \n"
    for directory in (host, inside, inside / "data"):
        directory.mkdir()
    name = "x y.db"
    database_of(host / name, TEXTS).close()
    (inside / name).touch()
    done = subprocess.run(
        [
            *NAMESPACE,
            "sh",
            "-ec",
            'mount --bind "$1/$3" "$2/$3"; mount --bind "$1" "$2/data"\n'
            'exec "$4" -W ignore -c "$5" "$2/$3" "$2/data/$3"',
            *("sh", host, inside, name, sys.executable, MOUNTED),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    out = done.stdout.replace(str(inside), "DIR").splitlines()
    assert out == [
        f"DIR/{name} cannot be written: it is mounted alone, without its directory, and each name "
        "has its own log, so documents would be lost: mount the directory instead",
        "3",
        "written 1",
        "4",
    ]
    assert [path.name for path in host.iterdir()] == [name]
    inspection.check(host / name)


def test_files_of_an_overlay_are_no_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the device of a file differs from that of its directory; elsewhere that is a mount."""
    path = tmp_path / "x.db"
    path.touch()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(location, "_MOUNTS", str(tmp_path / "no list"))
    assert location.other_names(path) is None
    (tmp_path / "list").write_text(f"35 29 0:31 / {tmp_path} rw - overlay overlay rw\n")
    monkeypatch.setattr(location, "_MOUNTS", str(tmp_path / "list"))
    assert location.other_names(path) is None
    monkeypatch.setattr(sys, "platform", "freebsd")
    assert location.other_names(path) is None
    assert location._is_mounted(Path("/proc"), os.stat("/proc"))
