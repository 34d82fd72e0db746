"""One file that is reached by two names is read once, and is no duplicate of itself."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from helpers import Command

import lshdb
from lshdb.read.files import FilesRead, is_same_file, resolved

A = "the quick brown fox jumps over the lazy dog and runs home"
B = "nobody has written these other words in any file before today"
NAMES = {
    "directories": ["d/sub", "./d", "d/./sub/../sub", "$PWD/d", "link"],
    "files": ["d/sub/a.txt", "link/sub/b.txt", "link-to-a"],
    "patterns that overlap": ["d/**", "d/*", "l*/*/a.*"],
}
"""Other paths to files of d, after d."""


@pytest.fixture
def folder(command: Command) -> Command:
    """A folder d with two texts and tables in d/sub, links to it, and copies elsewhere."""
    for name, text in {"d/sub/a.txt": A, "d/sub/b.txt": B, "copies/a.txt": A}.items():
        command.write(name, text)
    command.path("link").symlink_to("d")
    command.path("link-to-a").symlink_to("d/sub/a.txt")
    return command


def paths_in(command: Command, names: list[str]) -> list[str]:
    return [name.replace("$PWD", str(command.directory)) for name in names]


@pytest.mark.app("dedup", "folders")
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_no_file_is_a_duplicate_of_itself(folder: Command, names: list[str]) -> None:
    """fdupes #173 (https://github.com/adrianlopezroche/fdupes/issues/173), mergerfs-tools #124
    (https://github.com/trapexit/mergerfs-tools/issues/124): all copies could be deleted.
    """
    others = paths_in(folder, names)
    done = folder.done("dedup", "d", "copies", *others, "--format", "text", "-0")
    assert done.out == "copies/a.txt\0"
    assert " repeated" in done.err
    # Read twice, in another order, the same files are read both times.
    done = folder.done("dedup", *others, "d", "copies", "--keep-in", "copies", "-0")
    (moved,) = done.out.split("\0")[:-1]
    assert is_same_file(folder.path(moved), folder.path("d/sub/a.txt"))


@pytest.mark.app("dedup", "folders")
def test_tables_are_read_once(folder: Command) -> None:
    folder.write("t/in/x.jsonl", [{"text": A}, {"text": B}])
    folder.write("t/y.csv", f"text\n{A}\n")
    folder.path("t-link").symlink_to("t")
    others = ["t/in", "t-link", "./t", "t/*.csv"]
    done = folder.done("dedup", "t", *others, "-o", "out.jsonl", "--dropped", "gone.jsonl")
    gone = json.loads(folder.path("gone.jsonl").read_text())
    assert (gone["file"], gone["kept_file"]) == ("t/y.csv", "t/in/x.jsonl")
    assert "kept 2, dropped 1, failed 0" in done.err
    assert " repeated" in done.err


@pytest.mark.app("dedup", "folders")
def test_a_reference_is_not_a_duplicate_of_itself(folder: Command) -> None:
    done = folder.done("dedup", "d", "copies", "--against", "link/sub", "-0")
    assert done.out == "copies/a.txt\0"
    assert "skipped: 2 repeated" in done.err
    folder.write("x.jsonl", [{"text": A}])
    folder.write("y.jsonl", [{"text": A}, {"text": B}])
    twice = ["--keep", "longest"]  # which reads the input twice
    done = folder.done("dedup", "x.jsonl", "y.jsonl", "--against", "./x.jsonl", *twice)
    assert done.records == [{"text": B}]


@pytest.mark.app("dedup", "folders")
def test_a_stored_document_of_a_file_is_no_duplicate_of_it(folder: Command) -> None:
    folder.done("dedup", "d", "-d", "seen.db")
    folder.done("add", "-d", "known.db", "d")
    for options in (["-d", "seen.db"], ["--against", "known.db"]):
        done = folder.done("dedup", "link", "copies", *options, "-0")
        assert done.out == "copies/a.txt\0", options
        assert "kept 0, dropped 3 (2 are the same rows as in an earlier run)" in done.err


@pytest.mark.app("dedup", "folders")
def test_sync_makes_one_document_and_removes_none(folder: Command) -> None:
    done = folder.done("sync", "d", "link", "--list-skipped")
    assert folder.keys() == ["d/sub/a.txt", "d/sub/b.txt"]
    assert "skipped link/sub/a.txt: read already, as d/sub/a.txt\n" in done.err
    # A file has the key of its real directory, whichever name leads there.
    folder.done("sync", "link", "-d", "linked.db")
    done = folder.done("sync", "d", "link", "./d", "d/sub", "-d", "linked.db")
    assert "added 0, updated 0, moved 0, removed 0, unchanged 2" in done.err
    assert folder.keys("linked.db") == ["d/sub/a.txt", "d/sub/b.txt"]


@pytest.mark.app("dedup", "folders")
def test_a_file_has_one_document_whichever_name_leads_to_it(folder: Command) -> None:
    """geeqie #782: what a link leads to was deleted as a copy."""
    folder.done("add", "d")
    folder.done("add", "link")
    two = ["d/sub/a.txt", "d/sub/b.txt"]
    assert folder.keys() == two
    folder.write("d/sub/a.txt", f"{A} again")
    for names in (["d", "link"], ["link"]):
        done = folder.done("sync", *names)
        assert "moved 0, removed 0" in done.err
        assert folder.keys() == two
    assert folder.rows("SELECT count(*) FROM documents WHERE content LIKE '%again'") == [(1,)]
    assert folder.done("clusters", "--drop-list", "-0").out == ""


@pytest.mark.app("dedup", "folders")
def test_members_of_archives_are_read_once(folder: Command) -> None:
    for name in ("z/one.zip", "other.zip"):
        folder.path("z").mkdir(exist_ok=True)
        with zipfile.ZipFile(folder.path(name), "w") as archive:
            archive.writestr("in/a.txt", A)
            archive.writestr("b.txt", B)
    folder.path("link.zip").symlink_to("z/one.zip")
    names = ["z", "z/one.zip", "link.zip", "z/./one.zip/b.txt", "other.zip"]
    done = folder.done("add", "--archives", *names)
    assert folder.keys() == [
        f"{archive}/{name}"
        for archive in ("other.zip", "z/one.zip")
        for name in ("b.txt", "in/a.txt")
    ]
    assert "skipped: 5 repeated" in done.err


@pytest.mark.app("dedup", "folders")
def test_a_mount_is_another_name(folder: Command) -> None:
    (mount := folder.path("d/a place")).mkdir()
    done = subprocess.run(
        ["mount", "--bind", folder.path("d/sub"), mount], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("only root may mount a directory")
    try:
        dropped = folder.done("dedup", "d", "-0").out
        folder.done("add", "d")
        folder.done("sync", "d", "-d", "synced.db")
    finally:
        subprocess.run(["umount", mount], check=True)
    assert dropped == ""
    assert len(folder.keys()) == len(folder.keys("synced.db")) == 2


@pytest.mark.app("dedup", "folders")
def test_a_named_file_that_a_directory_skipped_still_fails(folder: Command) -> None:
    folder.write("d/x.bin", b"\0\1\2")
    assert "lshdb: d/x.bin: a binary file" in folder("add", "d", "d/x.bin").err


@pytest.mark.app("dedup", "folders")
def test_rows_of_a_library_are_read_once(folder: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.directory)
    folder.write("t/x.jsonl", [{"text": A}, {"text": B}])
    with pytest.warns(UserWarning, match="1 file skipped"):
        assert lshdb.dedup(["t", "./t"]).mask.tolist() == [True, True]
    with pytest.raises(lshdb.UsageError, match="same files"):
        lshdb.dedup("t/x.jsonl", against="./t")


@pytest.mark.app("dedup", "folders")
class TestIdentity:
    """What counts as one file, and what is remembered."""

    @pytest.fixture(autouse=True)
    def directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in "ab":
            Path(name).write_text(name)

    def test_a_reused_inode_is_a_new_file(self) -> None:
        files, before = FilesRead(), os.stat("a")
        assert files.earlier(resolved("a")) is None
        assert files.earlier(resolved("./a")) == "a"
        # a is gone, and b has its inode.
        with mock.patch("os.stat", self._stat_of({"b": before})):
            assert files.earlier(resolved("b")) is None
            assert files.earlier(resolved("./b")) == "b"

    @staticmethod
    def _stat_of(known: dict[str, os.stat_result]) -> Any:
        def stat_of(path: str, **_: object) -> os.stat_result:
            try:
                return known[os.path.normpath(path)]
            except KeyError:
                raise FileNotFoundError(path) from None

        return stat_of

    def test_inode_0_says_nothing(self) -> None:
        mode = os.stat("a").st_mode
        same: Any = SimpleNamespace(st_mode=mode, st_dev=1, st_ino=0, st_nlink=1)
        with mock.patch("os.stat", self._stat_of({"a": same, "b": same})):
            assert not is_same_file("a", "b")
            assert [*map(FilesRead().earlier, map(resolved, ("a", "b", "./a")))] == [
                None,
                None,
                "a",
            ]

    def test_only_regular_files_are_compared(self) -> None:
        os.mkfifo("pipe")
        os.mkdir("d")
        assert not is_same_file("pipe", "./pipe")
        assert not is_same_file("d", "./d")
        assert not is_same_file("gone", "gone")
        os.link("a", "hard")
        assert is_same_file("a", "hard")
        assert is_same_file("hard", "./hard")
        names = ("pipe", "pipe", "a\0", "gone", "gone")
        assert {*map(FilesRead().earlier, map(resolved, names))} == {None}
