"""Names of files and their keys, also of names that are not UTF-8."""

from __future__ import annotations

import os

import pytest
from helpers import Command

from lshdb.read.paths import key_of, path_of_key

NAMES = (b"caf\xe9.txt", b"new\nline.txt", b"back\\xe9slash.txt", b"in \xff/\xe9.txt")
"""As they are on the disk; the third has a backslash itself."""


@pytest.mark.app("dedup", "folders")
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
