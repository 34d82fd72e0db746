"""Where a file is, by links, relative paths and mounts: it has one log, or is refused."""

from __future__ import annotations

import os
import re
import socket
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import inspection
import pytest
from extras import if_there
from helpers import Command, database_of, forked, mount, status_of, with_own_mounts

import lshdb
from lshdb.errors import LimitWarning, StoreError, UsageError
from lshdb.store import location

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
    """NousResearch/hermes-agent issue 116450: names were compared without following links."""
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


@pytest.mark.app("service")
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
    """openai/openai-agents-python pull request 5012: another database was read and cleared."""
    if not is_there:
        (elsewhere / "x.db").unlink()
    before = inspection.files(elsewhere)
    with lshdb.open("x.db") as db:
        os.chdir(elsewhere)
        assert (str(db.path), len(db)) == ("x.db", len(TEXTS))
        db.add("n1", "a text 1")
        db.reindex(threshold=0.5, **if_there("passages", passages=3))
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

    def refused() -> None:
        assert lshdb.open("x.db").keys() == ["wrong"]
        with pytest.raises(UsageError, match="was open when this process was forked"):
            lshdb.open("link.db")

    def opened() -> None:
        assert len(lshdb.open("link.db")) == len(TEXTS)

    with lshdb.open("x.db"):
        os.chdir("other")
        os.symlink("../x.db", "link.db")
        assert status_of(forked(refused)) == 0
    assert status_of(forked(opened)) == 0


def test_a_new_file_may_take_the_name_of_one_that_is_gone(link: Path) -> None:
    """As in a notebook, where the old handle is still there."""
    path = link.resolve()
    with lshdb.open(path) as db:
        db.add("late", "the ant and the dove")
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink()
        with lshdb.open(link) as new:
            assert new.keys() == []


# several names of one file


THREE = {f"d{number}": f"the fox and the grapes {number}" for number in range(3)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that has a hard link in another directory."""
    path = tmp_path / "x.db"
    database_of(path, THREE).close()
    (tmp_path / "other").mkdir()
    os.link(path, tmp_path / "other" / "y.db")
    return path


@pytest.mark.app("service", "frames", "repair")
def test_it_is_not_written_by_any_name(tmp_path: Path, path: Path) -> None:
    """openclaw/openclaw issue 144585: a hard link was copied without the log of the first name."""
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


@pytest.mark.app("service")
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
    database_of(path, THREE).close()
    with lshdb.open(path) as db:
        os.link(path, tmp_path / "y.db")
        db.add("late", "the ant and the dove")
        with warnings.catch_warnings(action="error"), lshdb.open(path, mode="read") as reader:
            assert "late" in reader
        with pytest.raises(StoreError, match="has 2 names"):
            lshdb.open(tmp_path / "y.db")
    (tmp_path / "y.db").unlink()
    inspection.check(path)
    assert len(inspection.rows(path, "SELECT 1 FROM documents")) == len(THREE) + 1


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


def test_a_file_that_is_mounted_alone_is_not_written(tmp_path: Path) -> None:
    """Its directory may be mounted. The name has what the list of mounts escapes.

    GoblinHonest/mimo2api_mimoapi issue 5: in Docker what the log held was lost.
    """
    host, inside = tmp_path / "host", tmp_path / "in\\side \n"
    for directory in (host, inside, inside / "data"):
        directory.mkdir()
    name = "x y.db"
    database_of(host / name, THREE).close()
    (inside / name).touch()
    refused = (
        f"{inside / name} cannot be written: it is mounted alone, without its directory, and each "
        "name has its own log, so documents would be lost: mount the directory instead"
    )

    def use() -> None:
        mount("", inside / name, source=host / name)
        mount("", inside / "data", source=host)
        with pytest.raises(StoreError, match=re.escape(refused)), lshdb.open(inside / name) as db:
            db.add("new", "the ant and the dove")
        says = pytest.warns(LimitWarning, match="only in the log of another name are not read")
        with says as warned, lshdb.open(inside / name, mode="read") as db:
            assert len(db) == 3
        (warning,) = warned
        assert isinstance(warning.message, LimitWarning)
        assert (warning.message.cut.what, warning.message.cut.count) == ("open", 1)
        with lshdb.open(inside / "data" / name) as db:
            assert db.add("new", "the ant and the dove").added == 1

    with_own_mounts(use)
    assert [path.name for path in host.iterdir()] == [name]
    inspection.check(host / name)


def test_files_of_an_overlay_are_no_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the device of a file differs from that of its directory; elsewhere that is a mount."""
    path = tmp_path / "x.db"
    path.touch()
    monkeypatch.setattr(sys, "platform", "linux")
    for mounted in ([], [os.fsencode(tmp_path)]):
        monkeypatch.setattr(location, "mount_points", mounted.copy)
        assert location.other_names(path, path) is None
    monkeypatch.setattr(sys, "platform", "freebsd")
    assert location.other_names(path, path) is None
    assert location._is_mounted(Path("/proc"), os.stat("/proc"))


# what stands in the way


@pytest.fixture
def beside(tmp_path: Path) -> Command:
    database_of(tmp_path / "lsh.db", {"a": "the fox and the grapes"}).close()
    return Command(tmp_path)


def test_a_name_that_is_too_long_leaves_no_file(beside: Command) -> None:
    deep = "/".join(["d" * 100] * 6)
    beside.path(deep).mkdir(parents=True)
    whole = len(os.fsencode(beside.path(deep).resolve())) + len("/x.db")
    for name, reason in (
        ("x" * 249, "its name has 249 bytes, and may have 247"),
        ("é" * 124, "its name has 248 bytes, and may have 247"),
        (f"{deep}/x.db", f"its whole path has {whole} bytes, and may have 504"),
    ):
        said = beside.fails("init", "-d", name)
        assert said == f"{name} cannot be made: {reason}: choose a shorter one"
        assert beside.fails("info", "-d", name) == f"no database at {name}: {reason}"
    beside.done("init", "-d", "x" * 247)
    beside.done("check", "-d", "x" * 247)
    assert len([*beside.directory.rglob("*.db")]) == 1, "beside the one of 247 bytes"


def test_the_current_directory_was_deleted(
    beside: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(beside.directory)  # and back at the end
    database = beside.path("lsh.db")
    deleted = "the current directory was deleted: change to another one"
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    Command(Path(".")).done("add", beside.directory, "-d", database)
    with pytest.raises(StoreError, match=f"lsh.db cannot be opened: {deleted}, or give the whole"):
        lshdb.open("lsh.db")
    with lshdb.open(database) as db:
        assert len(db) == 1


@pytest.mark.app("service", "repair")
def test_what_is_no_file(beside: Command) -> None:
    os.mkfifo(beside.path("pipe"))
    listening = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    try:
        os.chdir(beside.directory)  # a socket's path has to be short
        listening.bind("socket")
    finally:
        os.chdir(here)
    opens: list[Callable[[Path], object]] = [
        lshdb.open,
        lshdb.check,
        lshdb.Service,
        lambda path: lshdb.restore_backup(beside.path("lsh.db"), path),
    ]
    with listening:
        for name, kind in (("pipe", "a pipe"), ("socket", "a socket"), ("/dev/null", "a device")):
            for opening in opens:
                with pytest.raises(StoreError, match=f"cannot be opened: it is {kind}"):
                    opening(beside.path(name))
