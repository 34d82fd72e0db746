"""Which of similar documents stays: by place, length, times, folder or a field; in each job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from helpers import Command

import lshdb
from lshdb.apps.keeping.ranking import in_order, is_descending, rank
from lshdb.options import OrderOptions

TEXT = "the quick brown fox jumps over the lazy dog"
# clusters, a review and dedup


SQUARE = "the quick brown fox jumps over the lazy dog while the band plays on in the old square"
FILES = {
    "f/Copy of a.txt": (SQUARE, 3),
    "f/a.txt": (SQUARE, 4),
    "f/cc.txt": (f"so {SQUARE}", 9),
    "f/sub/b.txt": (f"{SQUARE} and so on and on", 1),
}
"""Texts, and the hours of their files."""
KEPT = {
    "--keep first": "f/Copy of a.txt",
    "--keep last": "f/sub/b.txt",
    "--keep longest": "f/sub/b.txt",
    "--keep newest": "f/cc.txt",
    "--keep oldest": "f/sub/b.txt",
    "--keep shortest-path": "f/a.txt",
    "--keep-in f/sub": "f/sub/b.txt",
    "--keep newest --keep-in f/sub/": "f/sub/b.txt",
}


@pytest.fixture
def similar_files(tmp_path: Path) -> Command:
    """A database of four similar files, two of them identical."""
    for name, (text, hour) in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (hour * 3600,) * 2)
    similar_files = Command(tmp_path)
    similar_files.done("init", "--threshold", "0.5")
    similar_files.done("add", "f")
    return similar_files


def kept(similar_files: Command, *options: str) -> str:
    (key,) = {row["keep"] for row in similar_files("clusters", *options, "--json").records}
    return str(key)


@pytest.mark.app("dedup")
@pytest.mark.parametrize("rule", KEPT)
def test_dedup_and_clusters_keep_the_same(similar_files: Command, rule: str) -> None:
    """Only the default of clusters looks at names, where contents are the same."""
    options, expected = rule.split(), KEPT[rule]
    dropped = similar_files("dedup", "f", "--threshold", "0.5", *options, "--json").records
    assert {row["key"] for row in dropped} == FILES.keys() - {expected}
    assert {row["kept"] for row in dropped} == {expected}
    of_clusters = "f/a.txt" if rule == "--keep first" else expected
    assert kept(similar_files, *options) == of_clusters


@pytest.mark.app("review")
def test_a_review_keeps_what_clusters_keep(similar_files: Command) -> None:
    assert kept(similar_files) == "f/a.txt"
    review = similar_files("review", "--keep", "newest", stdin="q\n")
    assert "A - kept            f/cc.txt" in review.out


@pytest.mark.app("folders")
def test_a_file_that_had_just_changed_is_not_taken_for_an_old_one(similar_files: Command) -> None:
    """Its time is not stored: the newest of the others was kept, and it was dropped."""
    similar_files.write("f/just.txt", f"{SQUARE} now")
    similar_files.done("add", "f")
    said = "f/just.txt had just changed when it was added, so its time is not known: run lshdb sync"
    assert said in similar_files.fails("clusters", "--keep", "newest", status=2)
    hour = 12 * 3600
    os.utime(similar_files.path("f/just.txt"), (hour, hour))
    similar_files.done("sync", "f")
    assert kept(similar_files, "--keep", "newest") == "f/just.txt"


@pytest.mark.app("dedup")
def test_a_field_orders_numbers_and_a_value_that_is_none_stops_or_comes_last(
    similar_files: Command,
) -> None:
    with lshdb.open(similar_files.directory / "lsh.db") as db:
        for key, rank in (("f/a.txt", 9), ("f/cc.txt", "10"), ("f/sub/b.txt", "x")):
            db.add(key, FILES[key][0], metadata={"n": rank})
        with pytest.raises(lshdb.InputError, match="'x' in field 'n' does not compare"):
            list(db.clusters(keep_max="n"))
        with (
            pytest.warns(lshdb.ColumnWarning, match="1 document without a value, ranked last"),
            pytest.warns(lshdb.ColumnWarning, match="1 document whose value does not compare"),
        ):
            (largest,) = db.clusters(keep_max="n", unordered="last")
        assert largest.keep == "f/cc.txt"
    reason = similar_files.fails("clusters", "--keep-max", "none", status=2)
    assert "no document has a value in field 'none'" in reason


# a folder that keeps


@pytest.fixture
def folder(command: Command) -> Command:
    for name in ("inbox/a.txt", "archive/sub/a.txt"):
        command.write(name, "the quick brown fox jumps over the lazy dog and runs home")
    command.path("link").symlink_to("archive")
    command.path("sub-link").symlink_to("archive/sub")
    return command


@pytest.mark.app("dedup")
@pytest.mark.parametrize("name", ["archive", "link", "./link/", "sub-link", "inbox/../link", "."])
def test_what_is_in_the_folder_stays(folder: Command, name: str) -> None:
    """mergerfs-tools #124 (https://github.com/trapexit/mergerfs-tools/issues/124) is of links,
    too.
    """
    for inputs in (["inbox", "archive"], ["inbox", "link"], ["inbox", "sub-link"]):
        done = folder.done("dedup", *inputs, "--keep-in", name, "-0")
        expected = "inbox/a.txt\0"
        if name == ".":  # both are in it
            expected = "archive/sub/a.txt\0"
        assert done.out == expected, (inputs, name)


@pytest.mark.app("dedup")
def test_a_folder_that_is_not_there_is_an_error(folder: Command) -> None:
    for name in ("archve", "inbox/a.txt"):
        said = folder.fails("dedup", "inbox", "archive", "--keep-in", name)
        assert said == f"keep_in {name}: no such directory"


@pytest.mark.app("dedup")
def test_a_link_to_a_file_is_where_the_file_is(folder: Command) -> None:
    folder.path("archive/b.txt").symlink_to("../inbox/a.txt")
    inputs = ["archive/sub", "archive/b.txt", "--format", "text"]
    assert folder.done("dedup", *inputs, "--keep-in", "inbox").lines[0].endswith("archive/b.txt")


@pytest.mark.parametrize(
    "options",
    [{"keep": "newest"}, {"keep": "oldest"}, {"keep_max": "n"}, {"keep_min": "n"}],
    ids=str,
)
def test_what_has_no_value_to_order_by_comes_last(options: dict[str, Any]) -> None:
    order, values = OrderOptions(**options), [3, None, 1, None, 2]
    ranks = [
        rank(
            order,
            number=n,
            size=None,
            path="",
            modified=value,
            field_rank=None if value is None else bytes([value]),
        )
        for n, value in enumerate(values)
    ]
    descending = is_descending(order)
    found = in_order(ranks, range(5), descending=descending)
    assert found == [*([0, 4, 2] if descending else [2, 4, 0]), 1, 3]
