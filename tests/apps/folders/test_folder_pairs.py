"""Pairs of directories that share files, against a brute-force search of all of them."""

from __future__ import annotations

import os
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from helpers import Command, database_of

from lshdb.apps.folders.folders import folder_pairs
from lshdb.database import store_of
from lshdb.options import ClustersOptions


def is_below(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")


@pytest.mark.parametrize("seed", range(6))
def test_folder_pairs_are_those_of_a_search_of_all_directories(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = [f"{a}{b}{c}" for a in ("a", "a-b", "e") for b in ("", "/c", "/d") for c in ("", "/e")]
    texts = [" ".join(rng.choices("abcdefghijklmnop", k=40)) for _ in range(12)]
    contents = {
        f"{rng.choice(names)}/{number}": rng.choice(texts) + " and more" * rng.randrange(2)
        for number in range(rng.randrange(10, 60))
    } | {"top": texts[0]}
    with database_of(tmp_path / "lsh.db", contents, threshold=0.8) as db:
        cluster = {key: one.cluster for one in db.clusters() for key in one.members}
        found = folder_pairs(store_of(db), ClustersOptions())
        assert folder_pairs(store_of(db), ClustersOptions(top=1)) == found[:1]
    folders = sorted({str(above) for key in contents for above in PurePosixPath(key).parents})
    below = {folder: [key for key in contents if is_below(key, folder)] for folder in folders}

    def shared(one: str, other: str, group: Mapping[str, object]) -> list[str]:
        its = {group[key] for key in below[other] if key in group}
        return [key for key in below[one] if key in group and group[key] in its]

    ranked = []
    for one in folders:
        for other in folders:
            if is_below(one, other) or is_below(other, one) or one > other:
                continue
            own, its = len(shared(one, other, cluster)), len(shared(other, one, cluster))
            shares = own / len(below[one]), its / len(below[other])
            if max(shares) >= 0.5:
                size = len(below[one]) + len(below[other])
                length = -len(one.strip(".")) - len(other.strip("."))
                ranked.append((-(own + its) * sum(shares), size, length, one, other))
    chosen: list[tuple[str, str]] = []
    for *_, one, other in sorted(ranked):
        if not any(
            (is_below(one, a) or is_below(a, one)) and (is_below(other, b) or is_below(b, other))
            for pair in chosen
            for a, b in (pair, pair[::-1])
        ):
            chosen.append((one, other))
    assert {tuple(sorted((row.a, row.b))) for row in found} == set(chosen)
    assert [row.bytes for row in found] == sorted((row.bytes for row in found), reverse=True)
    for row in found:
        files, others = shared(row.a, row.b, cluster), shared(row.b, row.a, cluster)
        assert row.files == len(files)
        assert row.a_share == len(files) / len(below[row.a]) >= row.b_share
        assert row.b_share == len(others) / len(below[row.b])
        assert row.bytes == sum(len(contents[key]) for key in files)
        assert row.a_size_share == row.bytes / sum(len(contents[key]) for key in below[row.a])
        same = [key for key in files if key in shared(row.a, row.b, contents)]
        assert row.identical == len(same)
        assert row.alike == ("identical" if same == files else "similar")
        assert row.identical_bytes == sum(len(contents[key]) for key in same)


# what is not read


PNG = b"\x89PNG\r\n\0"


OTHERS = ("one/.hidden", "one/.git/config", "one/pic/cat.png", "one/raw.log")


@pytest.fixture
def two_folders(command: Command) -> Command:
    """Two copies of a folder, one of which has other files, too."""
    for number in range(3):
        text = f"the text number {number} of all is here for everybody to read"
        for name in ("one", "two"):
            command.write(f"{name}/{number}.txt", text)
    for name in OTHERS:
        path = command.path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(PNG)
    command.path("one/link").symlink_to("0.txt")
    command.write("one/.gitignore", "*.log\n")
    command.done("add", "one", "two")
    return command


def pair(command: Command, *options: str) -> dict[str, Any]:
    return command.done("folders", "--json", *options).record


def test_files_without_documents_are_counted_and_named(two_folders: Command) -> None:
    """qarmin/czkawka #676: who deletes a folder wants to know which other files are in it."""
    unread = sorted([*OTHERS, "one/.gitignore", "one/link"])
    row = pair(two_folders)
    assert (row["a"], row["a_share"], row["a_unread"], row["a_unread_files"]) == ("two", 1, 0, [])
    assert (row["b"], row["b_share"], row["b_unread_files"]) == ("one", 3 / 9, unread)
    assert row["b_unread"] == len(unread)
    sizes = sum(os.lstat(two_folders.path(name)).st_size for name in unread)
    read = sum(two_folders.path(f"one/{number}.txt").stat().st_size for number in range(3))
    assert row["b_size_share"] == read / (read + sizes)
    (line,) = two_folders.done("folders").lines
    names = ", ".join(unread[:3])
    assert line.split("\t")[-1] == f"6 files without documents: {names} and 3 more"


def test_a_changed_file_is_not_read_and_one_that_is_gone_is_no_copy(two_folders: Command) -> None:
    two_folders.write("two/0.txt", "a change")
    two_folders.path("two/1.txt").unlink()
    row = pair(two_folders)
    assert (row["a"], row["a_share"], row["a_unread_files"]) == ("two", 1 / 2, ["two/0.txt"])
    assert (row["b_share"], row["files"]) == (1 / 9, 1)
    two_folders.path("two/2.txt").unlink()
    assert two_folders.done("folders").out == ""


def test_where_there_are_no_directories_the_shares_are_of_files_read(two_folders: Command) -> None:
    two_folders.path("else/one").mkdir(parents=True)
    two_folders.write("else/one/other.txt", "another folder of that name")
    elsewhere = Command(two_folders.path("else"))
    # The keys lead to the files from the database's directory, wherever the command runs.
    assert pair(elsewhere, "-d", str(two_folders.path("lsh.db")))["a"] == pair(two_folders)["a"]
    two_folders.path("two").rename(two_folders.path("away"))
    assert pair(two_folders)["unread"].startswith("two: of files read; 6 files without documents")


def test_one_directory_by_two_paths_is_no_pair(command: Command) -> None:
    for number in range(3):
        command.write(f"d/{number}.txt", f"the text number {number} of all is here for everybody")
    texts = {
        f"{name}/{number}.txt": command.path(f"d/{number}.txt").read_text()
        for name in ("d", "link")
        for number in range(3)
    }
    command.path("link").symlink_to("d")
    database_of(command.path("lsh.db"), texts).close()
    assert command.done("folders").out == ""


def test_mailboxes_and_archives_have_documents(command: Command) -> None:
    for name in ("one", "two"):
        message = "From ann Thu Jan  1 00:00:00 2026\nSubject: x\n\nbees and hives and honey\n"
        command.write(f"{name}/in.mbox", message)
        with zipfile.ZipFile(command.path(f"{name}/in.zip"), "w") as archive:
            archive.writestr("member.txt", "the ferry leaves the island at noon")
    command.done("add", "--archives", "one", "two")
    row = pair(command)
    assert (row["a_share"], row["unread"], row["a_unread"]) == (1, "", 0)
