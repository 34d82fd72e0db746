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


DAMAGE: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "a Word file": (lambda path: change(path / "a.docx", b"PK\3\4 cut"), {"a.docx"}),
    "a program for it": (lambda path: change(path / "b.rtf", b"{\\rtf1 {"), set()),
    "an archive": (lambda path: change(path / "e.zip", b"PK\3\4 cut"), {"e.zip"}),
    "a member": (
        lambda path: change(
            path / "e.zip", (path / "e.zip").read_bytes().replace(b"first", b"worst")
        ),
        {"e.zip/one.txt"},
    ),
    "a folder that cannot be listed": (locked(0), {"inner"}),
    "a folder whose files cannot be looked at": (
        locked(0o444),
        {"inner/c.txt", "inner/in.mbox", "inner/f.zip"},
    ),
    "a file": (lambda path: (path / "inner/c.txt").chmod(0), {"inner/c.txt"}),
    "a mailbox": (lambda path: (path / "inner/in.mbox").chmod(0), {"inner/in.mbox"}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_cannot_be_read_is_kept_and_named(command: Command, folder: Path, name: str) -> None:
    damage, failing = DAMAGE[name]
    before = command.keys()
    damage(folder)
    for path in (folder / "inner/c.txt", folder / "inner/in.mbox"):
        if name in ("a file", "a mailbox"):
            os.utime(path, (1_600_000_000, 1_600_000_000))
    try:
        for more in (["--dry-run"], ["--max-filesize", "1M"]):
            done = command("sync", "d", "--archives", *more, before=unprivileged)
            assert {line.split(": ")[1] for line in done.err.splitlines() if "lshdb: " in line} == {
                f"d/{one}" for one in failing
            }
            assert done.status == bool(failing)
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
