"""Lists of paths for other programs named no file whose name is not UTF-8.

sharkdp/fd #295: a name that is not UTF-8 was printed with a replacement character, so that the
program behind the pipe did not find the file.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from direct_command import command as command
from helpers import Command, installed, left_files

from lshdb.read.paths import key_of, path_of_key

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
    done = subprocess.run(
        [installed(), *arguments, "--quiet"],
        cwd=command.directory,
        capture_output=True,
        check=True,
        env=command.variables,
    )
    *names, rest = done.stdout.split(b"\0")
    assert (rest, b"Traceback" in done.stderr) == (b"", False)
    return names


def test_decided_files_are_listed_and_moved_by_their_bytes(copies: Command) -> None:
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


def test_the_second_file_of_a_key_is_a_failure(command: Command) -> None:
    text = "the first file has a backslash in its name, and the words of its own that no other has"
    command.write("d/\\xe9.txt", text)
    command.write("d/\udce9.txt", text[::-1])
    why = (
        "lshdb: d/\\xe9.txt: its name is not UTF-8, and another file is named so with backslashes: "
        "rename one of them\n"
    )
    for arguments in (["add", "d"], ["sync", "d"], ["dedup", "d"]):
        done = command(*arguments)
        assert (done.status, why in done.err, "failed 1" in done.err) == (1, True, True), arguments
        assert command.rows("SELECT key, content FROM documents") == [("d/\\xe9.txt", text)]
    command.path("d/\\xe9.txt").unlink()
    assert command.done("sync", "d").err.startswith("added 0, updated 1, moved 0, removed 0")


@pytest.mark.parametrize("name", [*NAMES, b"plain.txt", b"\\x41.txt", "é\\xc3.txt".encode()])
def test_a_key_leads_back_to_its_file(command: Command, name: bytes) -> None:
    command.write(os.fsdecode(name), "")
    path, root = str(command.path(os.fsdecode(name))), str(command.directory)
    assert path_of_key(key_of(path, root), root) == path
    assert not os.path.lexists(path_of_key("none/\\xe9.txt", root))
