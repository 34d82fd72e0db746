"""Files that could not be read this time are there still: `sync` keeps their documents.

Others took what could not be read for deleted: syncthing/syncthing#4573,
basicmachines-co/basic-memory#1028.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import documents
import pytest
from direct_command import command as command
from helpers import Command, unprivileged

TEXTS = documents.paragraphs(4)


def change(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.utime(path, (1_600_000_000, 1_600_000_000))


def packed(path: Path, names: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in names.items():
            archive.writestr(name, text)


@pytest.fixture
def folder(command: Command) -> Path:
    """A folder of texts, documents and archives that was read once."""
    path = command.path("d")
    (path / "inner").mkdir(parents=True)
    documents.docx(path / "a.docx", TEXTS)
    documents.docx(path / "nameless", TEXTS[:2])
    documents.rtf(path / "b.rtf", TEXTS)
    (path / "inner/c.txt").write_text("Some text of a file in a folder.")
    documents.mbox(path / "inner/in.mbox", [documents.message("Ferry", "It leaves at noon.")])
    packed(path / "e.zip", {"one.txt": "The first text.", "two.txt": "The second text."})
    packed(path / "inner/f.zip", {"three.txt": "The third text."})
    command.done("sync", "d", "--archives")
    assert len(command.keys()) == 8
    return path


def locked(mode: int) -> Callable[[Path], None]:
    return lambda path: (path / "inner").chmod(mode)


def of_a_member(path: Path) -> None:
    change(path / "e.zip", (path / "e.zip").read_bytes().replace(b"first", b"worst"))


def closed(path: Path) -> None:
    """A text and a mailbox that changed, and that nobody may read."""
    for name in ("c.txt", "in.mbox"):
        (path / "inner" / name).chmod(0)
        os.utime(path / "inner" / name, (1_600_000_000, 1_600_000_000))


DAMAGE: dict[str, tuple[list[Callable[[Path], None]], set[str]]] = {
    # Nothing is said of the cut RTF: what is left of it can be read.
    "files, and a folder that cannot be listed": (
        [
            lambda path: change(path / "a.docx", b"PK\3\4 cut"),
            lambda path: change(path / "b.rtf", b"{\\rtf1 {"),
            lambda path: change(path / "e.zip", b"PK\3\4 cut"),
            locked(0),
        ],
        {"a.docx", "e.zip", "inner"},
    ),
    "a member, and a folder whose files cannot be looked at": (
        [of_a_member, locked(0o444)],
        {"e.zip/one.txt", "inner/c.txt", "inner/in.mbox", "inner/f.zip"},
    ),
    "a text and a mailbox": ([closed], {"inner/c.txt", "inner/in.mbox"}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_cannot_be_read_is_kept_and_named(command: Command, folder: Path, name: str) -> None:
    damages, failing = DAMAGE[name]
    before = command.keys()
    for damage in damages:
        damage(folder)
    try:
        for more in (["--dry-run"], ["--max-filesize", "1M"]):
            done = command("sync", "d", "--archives", *more, before=unprivileged)
            assert {line.split(": ")[1] for line in done.err.splitlines() if "lshdb: " in line} == {
                f"d/{one}" for one in failing
            }
            assert done.status == 1
            assert "removed 0" in done.err
    finally:
        (folder / "inner").chmod(0o755)
    assert command.keys() == before


def test_a_document_is_kept_where_its_reader_is_missing(command: Command, folder: Path) -> None:
    (folder / "inner/in.mbox").unlink()
    command.done("sync", "d", "--archives")
    before = command.keys()
    documents.docx(folder / "a.docx", TEXTS[:3])
    change(folder / "nameless", b"PK\3\4 cut")
    done = command("sync", "d", "--archives", "--no-documents")
    assert "removed 0" in done.err
    assert "1 documents" in done.err
    assert command.keys() == before
    # A text that is binary now has no text any more, and what is gone is gone.
    change(folder / "inner/c.txt", b"\0" * 9)
    (folder / "a.docx").unlink()
    assert "removed 2" in command("sync", "d", "--archives").err
