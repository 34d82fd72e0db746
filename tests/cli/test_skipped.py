"""Files in directories that are not read: which, in every command, and how they are counted."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
from helpers import Command

BINARY = {
    "report.txt": b"7z\xbc\xaf\x27\x1cabc",
    "pickle": pickle.dumps("a text", 2),
    "picture": b"\x89PNG\r\n\x1a\nabc",
    "photo": b"\xff\xd8\xff\xe0abc",
    "nul": b"a\0b",
    "twice.gz.gz": gzip.compress(gzip.compress(b"a text")),
    "archive.tgz": gzip.compress(b"a text"),
    "class": b"\xca\xfe\xba\xbeabc",
}
TEXTS = {
    "a.txt": b"a text",
    "packed.txt.gz": gzip.compress(b"a packed text"),
    "empty": b"",
    "sub/b.txt": b"another text",
    "PK": b"PK\nis the name of a text",
    "BZh": b"BZh is no archive",
    "large.md": b"word " * 300,
}
TABLES = {
    "rows.jsonl": b'{"id": "r1", "text": "a row"}\n',
    "rows.csv": b"id,text\nr2,another row\n",
    "array.json.gz": gzip.compress(b'[{"id": "r3", "text": "a third row"}]'),
}
NO_TABLES = {
    "settings.json": b'{"name": "value"}',
    "settings.json.gz": gzip.compress(b'{"name": "value"}'),
}
BROKEN = {"broken.txt.gz": b"not gzip"}
LEFT_OUT = [".hidden", ".lshdbignore", "link", "pipe", "out/", ".dir/", "skip.me", "large.md"]


@pytest.fixture
def folder(command: Command) -> Path:
    """A folder with every kind of file."""
    root = command.path("d")
    for name in ("sub", "out", ".dir"):
        (root / name).mkdir(parents=True)
    for name, data in (BINARY | TEXTS | TABLES | NO_TABLES | BROKEN).items():
        (root / name).write_bytes(data)
    for name in (".hidden", "out/made", ".dir/config", "skip.me"):
        (root / name).write_text("some text")
    (root / ".lshdbignore").write_text("skip.me\nout/\n")
    (root / "link").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    with zipfile.ZipFile(root / "letter.jar", "w") as archive:
        archive.writestr("a.xml", "a text")
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        tar.add(root / "a.txt", "a.txt")
    (root / "files.tar.gz").write_bytes(gzip.compress(held.getvalue()))
    return root


NAMES = {*BINARY, *TEXTS, *TABLES, *NO_TABLES, *BROKEN, *LEFT_OUT, "letter.jar", "files.tar.gz"}
"""What the folder has, directories that are not entered as one."""


TAKEN = {*TEXTS} - {"large.md"}


@pytest.mark.app("ignoring")
@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (["add"], TAKEN | {*TABLES}),
        pytest.param(["sync"], TAKEN, marks=pytest.mark.app("folders")),
        pytest.param(["dedup"], TAKEN, marks=pytest.mark.app("dedup")),
        pytest.param(["dedup", "-o", "out.jsonl"], {*TABLES}, marks=pytest.mark.app("dedup")),
    ],
    ids=["add", "sync", "dedup", "dedup of tables"],
)
def test_every_file_is_read_or_named_and_counted(
    command: Command, folder: Path, arguments: list[str], taken: set[str]
) -> None:
    if "-o" in arguments:  # which reads JSON as rows or fails, and does not see .lshdbignore
        for name in (*NO_TABLES, "skip.me", "out/made"):
            (folder / name).unlink()
        (folder / ".lshdbignore").write_text("")
        (folder / "out").rmdir()
    names = {name for name in NAMES if os.path.lexists(folder / name)}
    options = ["--max-filesize", "1K", "--list-skipped", "--json"]
    done = command(*arguments, "d", *options)
    assert done.status == (0 if "-o" in arguments else 1), done.err
    lines = [line for line in done.err.splitlines() if line.startswith(("skipped ", "lshdb: "))]
    parts = [line.partition(" ")[2].removeprefix("d/").partition(": ") for line in lines]
    named = {path: reason for path, _, reason in parts}
    assert named.keys() == {name.rstrip("/") for name in names - taken}
    counts = json.loads([line for line in (done.out + done.err).splitlines() if line[0] == "{"][-1])
    over = counts["skipped_files"]
    documents = sum(counts.get(name, 0) for name in ("added", "kept", "dropped", "failed"))
    assert documents + sum(over.values()) == len(names)
    if "-o" not in arguments:
        assert named["report.txt"] == "a binary file (7z)"
        assert named["letter.jar"].startswith("a binary file (ZIP")
        assert over["archives"] == 2, "archive.tgz and files.tar.gz"
        assert over["binary"] == len(BINARY), "and letter.jar, without archive.tgz"
        assert over["tables"] == len(TABLES | NO_TABLES) - len(taken & {*TABLES})


@pytest.mark.app("dedup", "ignoring")
def test_skipped_files_of_a_reference_and_of_queries_are_counted(
    command: Command, folder: Path
) -> None:
    (folder / "broken.txt.gz").unlink()
    command.write("more/a.txt", "a text")
    skipped = "skipped: 3 hidden, 2 archives, 8 binary, 1 special, 2 ignored, "
    done = command.done("dedup", "more", "--against", "d")
    assert f"\nd: {skipped}5 tables, 1 repeated\n" in done.err
    assert done.err.endswith("kept 0, dropped 1, failed 0\n")
    command.done("add", "more")
    assert command.done("query", "d").err.endswith(f"{skipped}2 tables, 1 repeated\n")


def test_files_without_documents_are_counted_in_a_folder_and_by_name(command: Command) -> None:
    empty = {"rows.jsonl": "", "blank.jsonl": "\n \n", "rows.json": "[]", "rows.csv": "id,text\n"}
    for name, text in empty.items():
        command.write(f"d/{name}", text)
    paths = [f"d/{name}" for name in sorted(empty)]
    for arguments in (["d"], paths):
        named = command.done("add", *arguments, "--list-skipped").err.splitlines()
        assert named[:4] == [f"skipped {path}: it has no documents" for path in paths]
        assert named[-1] == "skipped: 4 empty"
    assert command.done("add", "-", stdin="").err.endswith("skipped: 1 empty\n")
