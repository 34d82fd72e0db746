"""A file that is reached by two names was listed as a duplicate of itself, and its copy deleted.

fdupes #173 (https://github.com/adrianlopezroche/fdupes/issues/173): "Duplicate of itself?";
mergerfs-tools #124 (https://github.com/trapexit/mergerfs-tools/issues/124): all copies may be
deleted where a directory is a link to another.
"""

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
from helpers import Command, new_session

import lshdb
from lshdb.sources.identity import FilesRead, is_same_file, may_repeat

A = "the quick brown fox jumps over the lazy dog and runs home"
B = "nobody has written these other words in any file before today"
NAMES = {
    "a directory below": ["d/sub"],
    "the same directory": ["d"],
    "with a dot": ["./d", "d/./sub/../sub"],
    "its absolute path": ["$PWD/d"],
    "a link to it": ["link"],
    "a file in it": ["d/sub/a.txt", "link/sub/b.txt"],
    "a link to a file": ["link-to-a"],
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


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_no_file_is_a_duplicate_of_itself(folder: Command, names: list[str]) -> None:
    others = paths_in(folder, names)
    done = folder.done("dedup", "d", "copies", *others, "--format", "text", "-0")
    assert done.out == "copies/a.txt\0"
    assert " repeated" in done.err
    # Read twice, in another order, the same files are read both times.
    done = folder.done("dedup", *others, "d", "copies", "--keep-in", "copies", "-0")
    (moved,) = done.out.split("\0")[:-1]
    assert is_same_file(folder.path(moved), folder.path("d/sub/a.txt"))


@pytest.mark.parametrize("name", ["a link to it", "a link to a file", "patterns that overlap"])
def test_a_file_becomes_one_document(folder: Command, name: str) -> None:
    others = paths_in(folder, NAMES[name])
    done = folder.done("add", "d", *others, "--list-skipped", "--format", "text")
    assert folder.keys() == ["d/sub/a.txt", "d/sub/b.txt"]
    assert ": read already, as d/sub/a.txt\n" in done.err


def test_a_list_names_a_file_twice(folder: Command) -> None:
    names = ["d/sub/a.txt", "link/sub/a.txt", "./d/sub/a.txt", "d/sub/b.txt"]
    folder.write("list", "\n".join(names))
    done = folder.done("add", "-d", "listed.db", "--files-from", "list")
    assert folder.keys("listed.db") == ["d/sub/a.txt", "d/sub/b.txt"]
    assert "skipped: 2 repeated" in done.err


def test_tables_are_read_once(folder: Command) -> None:
    folder.write("t/in/x.jsonl", [{"text": A}, {"text": B}])
    folder.write("t/y.csv", f"text\n{A}\n")
    folder.path("t-link").symlink_to("t")
    for others in (["t/in"], ["t-link"], ["./t"], ["t/*.csv", "t/in/x.jsonl"]):
        done = folder.done("dedup", "t", *others, "-o", "out.jsonl", "--dropped", "gone.jsonl")
        assert done.out == ""
        gone = [json.loads(line) for line in folder.path("gone.jsonl").read_text().splitlines()]
        assert [(row["file"], row["kept_file"]) for row in gone] == [("t/y.csv", "t/in/x.jsonl")]
        assert "kept 2, dropped 1, failed 0" in done.err
        assert " repeated" in done.err


def test_rows_of_a_library_are_read_once(folder: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.directory)
    folder.write("t/x.jsonl", [{"text": A}, {"text": B}])
    folder.write("t/y.jsonl", [{"text": f"{A} !"}])
    with pytest.warns(UserWarning, match="2 files skipped") as warned:
        result = lshdb.dedup(["t", "./t"], workers=0)
    assert warned[0].filename == __file__
    assert (result.mask.tolist(), len(result.kept)) == ([True, True, False], 2)
    with pytest.warns(UserWarning, match="1 file skipped"):
        result = lshdb.dedup("t", against="t/x.jsonl", workers=0)
    assert (result.mask.tolist(), result.dropped_count) == ([False], 1)
    with pytest.raises(lshdb.UsageError, match="same files"):
        lshdb.dedup("t/x.jsonl", against="./t", workers=0)
    with lshdb.open("kept.db") as database:
        rows = list(database.dedup_files(["t", "./t/x.jsonl"], workers=0, auto_key=True))
        assert [row.dropped is None for row in rows] == [True, True, False]


def test_a_reference_is_not_a_duplicate_of_itself(folder: Command) -> None:
    done = folder.done("dedup", "d", "copies", "--against", "link/sub", "-0")
    assert done.out == "copies/a.txt\0"
    assert "skipped: 2 repeated" in done.err
    folder.write("x.jsonl", [{"text": A}])
    folder.write("y.jsonl", [{"text": A}, {"text": B}])
    for order in ([], ["--keep", "longest"]):  # which reads the input twice
        done = folder.done("dedup", "x.jsonl", "y.jsonl", "--against", "./x.jsonl", *order)
        assert done.records == [{"text": B}]
        assert "kept 1, dropped 1, failed 0\nskipped: 1 repeated\n" in done.err


def test_a_stored_document_of_a_file_is_no_duplicate_of_it(folder: Command) -> None:
    folder.done("dedup", "d", "-d", "seen.db")
    folder.done("add", "-d", "known.db", "d")
    for options in (["-d", "seen.db"], ["--against", "known.db"]):
        for name in ("d", "link", "./d/sub"):
            done = folder.done("dedup", name, "copies", *options, "-0", "--dropped", "x.csv")
            assert done.out == "copies/a.txt\0", (name, options)
            assert "kept 0, dropped 3 (2 are the same rows as in an earlier run)" in done.err
            assert len(folder.path("x.csv").read_text().splitlines()) == 2


def test_sync_makes_one_document_and_removes_none(folder: Command) -> None:
    done = folder.done("sync", "d", "link", "--list-skipped")
    assert folder.keys() == ["d/sub/a.txt", "d/sub/b.txt"]
    assert "skipped link/sub/a.txt: read already, as d/sub/a.txt\n" in done.err
    # Each name that has a document keeps it, and no other gets one.
    folder.done("sync", "link", "-d", "linked.db")
    for names in (["d", "link"], ["link", "d", "./d", "d/sub"]):
        dry = folder.done("sync", *names, "-d", "linked.db", "--dry-run")
        assert dry.out == ""
        done = folder.done("sync", *names, "-d", "linked.db")
        assert "added 0, updated 0, moved 0, removed 0, unchanged 2" in done.err
        assert folder.keys("linked.db") == ["link/sub/a.txt", "link/sub/b.txt"]


def test_sync_keeps_two_documents_of_a_file_up_to_date(folder: Command) -> None:
    folder.done("add", "d")
    folder.done("add", "link")
    four = [f"{top}/sub/{name}.txt" for top in ("d", "link") for name in "ab"]
    assert folder.keys() == four
    folder.write("d/sub/a.txt", f"{A} again")
    for names in (["d", "link"], ["link", "d"], ["d"], ["link"]):
        done = folder.done("sync", *names)
        assert "moved 0, removed 0" in done.err
        assert folder.keys() == four
    assert folder.rows("SELECT count(*) FROM documents WHERE content LIKE '%again'") == [(2,)]
    done = folder.done("clusters", "--drop-list", "-0")
    assert done.out == ""
    assert "not listed, as their files are those of kept documents: 2\n" in done.err
    folder.write("d/sub/copy.txt", B)
    folder.done("add", "d/sub/copy.txt")
    assert folder.done("clusters", "--drop-list").lines == ["d/sub/copy.txt"]


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


def test_queries_and_tables_are_asked_once(folder: Command) -> None:
    folder.done("add", "copies")
    done = folder.done("query", "d/sub/a.txt", "link/sub/a.txt")
    assert "queries 1, with a match 1\nskipped: 1 repeated\n" in done.err
    assert folder.done("compare", "d/sub/a.txt", "link-to-a").out  # which is asked for


def test_hard_links_are_two_documents(folder: Command) -> None:
    os.link(folder.path("d/sub/a.txt"), folder.path("hard.txt"))
    done = folder.done("dedup", "d", "hard.txt", "./hard.txt", "link/sub/a.txt", "--format", "text")
    assert done.lines == ["1.000000\tidentical\thard.txt\td/sub/a.txt"]
    assert "skipped: 2 repeated" in done.err
    folder.done("sync", "d", "link")
    assert len(folder.keys()) == 2


@pytest.mark.parametrize("inside", ["", "d/a place"])
def test_a_mount_is_another_name(folder: Command, inside: str) -> None:
    mount = folder.path(inside or "mount")
    mount.mkdir()
    names = ["d"] if inside else ["d", "mount"]
    done = subprocess.run(
        ["mount", "--bind", folder.path("d/sub"), mount], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("only root may mount a directory")
    try:
        done_dedup = folder.done("dedup", *names, "-0")
        folder.done("add", *names)
        folder.done("sync", *names, "-d", "synced.db")
        kept = folder.done("dedup", "copies", "d/sub", "--keep-in", str(mount), "-0")
    finally:
        subprocess.run(["umount", mount], check=True)
    assert done_dedup.out == ""
    assert len(folder.keys()) == len(folder.keys("synced.db")) == 2
    assert kept.out == "copies/a.txt\0"


def test_a_named_file_that_a_directory_skipped_still_fails(folder: Command) -> None:
    folder.write("d/x.bin", b"\0\1\2")
    done = folder("add", "d", "d/x.bin")
    assert "lshdb: d/x.bin: a binary file (it has NUL bytes)\n" in done.err
    assert done.status == 1
    folder.write("d/.gitignore", "b.txt\n")  # what the first input excludes is read for the second
    folder.path("d/.git").mkdir()
    folder.done("add", "-d", "x.db", "d/sub", "d", "d/sub/b.txt")
    assert folder.keys("x.db") == ["d/sub/a.txt", "d/sub/b.txt"]


class TestIdentity:
    """What counts as one file, and what is remembered."""

    @pytest.fixture(autouse=True)
    def directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in "ab":
            Path(name).write_text(name)

    def test_a_reused_inode_is_a_new_file(self) -> None:
        files = FilesRead()
        real = os.stat
        with mock.patch("os.stat", lambda path, **_: real("a") if path == "b" else real(path)):
            assert files.earlier("a") is None
            os.unlink("b")
            assert files.earlier("./a") == "a"
        # a is gone, and b has its inode.
        with mock.patch("os.stat", self._stat_of({"b": real("a")})):
            os.rename("a", "kept")
            assert files.earlier("b") is None
            assert files.earlier("./b") == "b"

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
            assert is_same_file("a", "./a")
            files = FilesRead()
            assert [files.earlier(name) for name in ("a", "b", "./a", "./b")] == [
                None,
                None,
                "a",
                "b",
            ]

    def test_only_regular_files_are_compared(self) -> None:
        os.mkfifo("pipe")
        os.mkdir("d")
        assert not is_same_file("pipe", "./pipe")
        assert not is_same_file("d", "./d")
        assert not is_same_file("gone", "gone")
        os.link("a", "hard")
        assert not is_same_file("a", "hard")
        assert is_same_file("hard", "./hard")
        files = FilesRead()
        assert [files.earlier(name) for name in ("pipe", "pipe", "a\0", "gone", "gone")] == [
            None
        ] * 5

    def test_directories_that_are_apart_remember_nothing(self) -> None:
        for name in ("d/sub", "dd", "e"):
            os.makedirs(name)
        os.symlink("d", "link")
        assert not may_repeat(["d", "dd", "e"])
        for others in (["dd", "d/sub"], ["./d"], ["link"], ["link/sub"], ["."], ["a"]):
            assert may_repeat(["e", "d", *others]), others

    def test_one_input_remembers_nothing(self) -> None:
        with mock.patch.object(FilesRead, "earlier", side_effect=AssertionError):
            assert len([*new_session(False).read(["."])]) == 2
            assert len([*new_session(False).read(["a"])]) == 1
