"""Files of dropped documents, as lists for other programs and in the trash."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from helpers import Command, left_files

NAMES = (b"caf\xe9.txt", b"new\nline.txt", b"back\\xe9slash.txt", b"in \xff/\xe9.txt")
"""As they are on the disk; the third has a backslash itself."""


@pytest.fixture
def copies(command: Command) -> Command:
    """Copies of kept files: d/NAME is a copy of a/NUMBER.txt."""
    for number, name in enumerate(NAMES):
        text = f"the text number {number} of all is here for everybody to read {number}"
        command.write(f"a/{number}.txt", text)
        command.write(os.fsdecode(b"d/" + name), text)
    return command


def names_below(directory: Path) -> set[bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {os.fsencode(path.relative_to(directory)) for path in files}


def piped(command: Command, *arguments: str) -> list[bytes]:
    """What a command prints, split at NUL bytes."""
    with TemporaryFile() as out:
        assert command(*arguments, "--quiet", streams={1: out.fileno()}).status == 0
        out.seek(0)
        *names, rest = out.read().split(b"\0")
    assert rest == b""
    return names


def test_decided_files_are_listed_and_moved_by_their_bytes(copies: Command) -> None:
    """sharkdp/fd #295: the program behind the pipe did not find a file whose name was printed
    otherwise.
    """
    paths = {b"d/" + name for name in NAMES}
    assert {*piped(copies, "dedup", "-0", "a", "d")} == paths
    copies.done("add", "a", "d")
    dropped = piped(copies, "clusters", "--drop-list", "--files", "-0", "--keep", "first")
    assert set(dropped) == paths
    copies.done("decide", "drop", *map(os.fsdecode, dropped))
    assert set(piped(copies, "decisions", "--drop", "--files", "-0")) == paths
    listed = copies.done("decisions", "--drop", "--files")
    assert len(listed.lines) == 4
    assert listed.err.endswith("are written with backslashes: 3; -0 prints them as they are\n")
    copies.done("trash")
    assert names_below(copies.path("d")) == set()
    assert {b"1/d/" + name for name in NAMES} < names_below(copies.path("lsh.db-trash"))
    assert copies.done("trash", "--restore").err.startswith("restored 4 files, left 0")
    assert names_below(copies.path("d")) == set(NAMES)


def test_a_key_of_two_files_names_the_one_that_is_written_so(command: Command) -> None:
    for name in ("a.txt", "\udce9.txt", "\\xe9.txt"):
        command.write(name, "a text that both of them have, under two names with one key")
    command.done("add", "a.txt", "\\xe9.txt")
    command.done("decide", "drop", "\\xe9.txt")
    for arguments in (("decisions", "--drop"), ("clusters", "--drop-list", "--keep", "first")):
        assert command.done(*arguments, "--files", "-0").out == "\\xe9.txt\0"
    command.done("trash")
    assert names_below(command.directory) >= {b"a.txt", b"\xe9.txt"}
    assert not command.path("\\xe9.txt").exists()
    # The other file has this key now, and not the bytes that were stored.
    command.done("trash", "--restore")
    command.path("\\xe9.txt").unlink()
    command.write("\udce9.txt", "another text")
    assert left_files(command("trash")) == {"\\xe9.txt": "it has changed since it was read"}
