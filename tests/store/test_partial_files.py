"""Files get new names without taking the place of others."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from helpers import forked, status_of

from lshdb.errors import StoreError
from lshdb.store.partial_files import (
    PartialFile,
    locked,
    rename_new,
    temporary_directory,
)

TEXT = "the ferry leaves the island at noon and comes back at six in the evening every day"


@pytest.mark.parametrize("can_link", [True, False])
def test_a_new_name_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_link: bool
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    if not can_link:
        monkeypatch.setattr("lshdb.store.partial_files.os.link", refuse)
    path, place = tmp_path / "path", tmp_path / "place"
    path.write_text(TEXT)
    for target in (path, tmp_path / "none"):
        place.symlink_to(target)
        with pytest.raises(FileExistsError):
            rename_new(str(path), str(place))
        assert (place.is_symlink(), path.read_text()) == (True, TEXT)
        place.unlink()
    with pytest.raises(FileExistsError):
        rename_new(str(path), str(path))
    rename_new(str(path), str(place))
    assert place.read_text() == TEXT


def test_a_file_is_locked_by_one_and_one_that_is_not_there_by_all(tmp_path: Path) -> None:
    (path := tmp_path / "log").touch()
    for file, seconds in ((path, os.name == "nt"), (tmp_path / "none", True)):
        with locked(file) as first, locked(file) as second:
            assert (first, second) == (True, seconds)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_leaves_the_block_does_not_end_its_parents_lock(tmp_path: Path) -> None:
    (path := tmp_path / "log").touch()
    block = locked(path)
    assert block.__enter__()
    assert status_of(forked(block.__exit__, None, None, None)) == 0
    with locked(path) as is_free:
        assert not is_free
    block.__exit__(None, None, None)


def test_a_completed_file_takes_its_name_with_the_mode_of_one_that_it_replaces(
    tmp_path: Path,
) -> None:
    target = tmp_path / "out"
    for mode, replace in ((0o600, True), (0o640, True), (0o640, False)):
        partial = PartialFile(target, private=True)
        partial.file.write(TEXT.encode())
        if replace:
            partial.take_name()
        else:
            with pytest.raises(FileExistsError):
                partial.take_name(replace=False)
            partial.discard()
        assert target.read_text() == TEXT
        assert stat.S_IMODE(target.stat().st_mode) == mode
        target.chmod(0o640)
    assert os.listdir(tmp_path) == ["out"]


def test_a_temporary_directory_is_deleted_by_its_run_or_once_nobody_has_it(tmp_path: Path) -> None:
    with temporary_directory(tmp_path) as left:
        pass
    left.mkdir()  # as a killed run leaves it
    (left / "file").touch()
    (others := tmp_path / "others").mkdir()
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with temporary_directory(tmp_path) as first, temporary_directory(tmp_path) as second:
            assert {*tmp_path.iterdir()} == {first, second, others}
            assert len(os.listdir("/dev/fd")) == before + 2
    assert [*tmp_path.iterdir()] == [others]
    assert len(os.listdir("/dev/fd")) == before


def test_an_error_in_a_temporary_directory_says_how_another_is_chosen(tmp_path: Path) -> None:
    for named, ends in ((True, "TMPDIR names another directory for it)"), (False, "is full")):
        says = pytest.raises(StoreError, match=f"{re.escape(ends)}$")
        with says, temporary_directory(tmp_path) as directory:
            raise StoreError(f"{directory if named else 'a disk'} is full")
