"""The copy in the folder to keep was the one that was listed: the folder was named by a link.

mergerfs-tools #124 (https://github.com/trapexit/mergerfs-tools/issues/124) is of links, too.
"""

from __future__ import annotations

import pytest
from direct_command import command as command
from helpers import Command


@pytest.fixture
def folder(command: Command) -> Command:
    for name in ("inbox/a.txt", "archive/sub/a.txt"):
        command.write(name, "the quick brown fox jumps over the lazy dog and runs home")
    command.path("link").symlink_to("archive")
    command.path("sub-link").symlink_to("archive/sub")
    return command


@pytest.mark.parametrize("name", ["archive", "link", "./link/", "sub-link", "inbox/../link", "."])
def test_what_is_in_the_folder_stays(folder: Command, name: str) -> None:
    for inputs in (["inbox", "archive"], ["inbox", "link"], ["inbox", "sub-link"]):
        done = folder.done("dedup", *inputs, "--keep-in", name, "-0")
        expected = "inbox/a.txt\0"
        if name == ".":  # both are in it
            expected = "archive/sub/a.txt\0"
        assert done.out == expected, (inputs, name)


def test_a_folder_that_is_not_there_is_an_error(folder: Command) -> None:
    for name in ("archve", "inbox/a.txt"):
        said = folder.fails("dedup", "inbox", "archive", "--keep-in", name)
        assert said == f"keep_in {name}: no such directory"


def test_a_link_to_a_file_is_where_the_file_is(folder: Command) -> None:
    folder.path("archive/b.txt").symlink_to("../inbox/a.txt")
    inputs = ["archive/sub", "archive/b.txt", "--format", "text"]
    assert folder.done("dedup", *inputs, "--keep-in", "inbox").lines[0].endswith("archive/b.txt")
