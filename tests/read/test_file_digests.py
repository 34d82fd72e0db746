"""The state of a file that is stored with each document: which file it was, and its bytes."""

from __future__ import annotations

import gzip
import os
import zipfile
from hashlib import blake2b
from pathlib import Path

import documents
import inspection
import pytest

import lshdb
from lshdb.read.files import File

MBOX = b"".join(
    b"From a@b Thu Jan  1 00:00:00 2026\nMessage-ID: <%d@b>\n\nthe message number %d\n\n" % (n, n)
    for n in range(3)
)
LATIN = "le café est très bon, et la forêt est éloignée d'ici".encode("cp1252")


def stored(column: str) -> dict[str, object]:
    query = f"SELECT key, {column} FROM documents JOIN files USING (doc_id)"
    return dict(inspection.rows(Path("lsh.db"), query))


@pytest.mark.app("documents")
def test_all_documents_of_a_file_have_the_digest_of_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "bom.txt": "\N{ZERO WIDTH NO-BREAK SPACE}a text with a mark\r\n".encode(),
        "empty.txt": b"",
        "guessed.txt": LATIN,
        "large.txt": b"many words in a long text " * 200_000,
        "letter.eml": b"Subject: s\nContent-Type: text/plain\n\na letter to all of us\n",
        "packed.txt.gz": gzip.compress(b"a text that is packed"),
        "page.html": b"<html><body><p>a page of some words</p></body></html>",
        "post.mbox": MBOX,
        "wide.txt": "a text of sixteen bits".encode("utf-16"),
    }
    for name, data in files.items():
        Path(name).write_bytes(data)
    documents.pdf(Path("paper.pdf"), ["words on a page " * 10])
    documents.docx(Path("word.docx"), ["words of a letter " * 10])
    files |= {name: Path(name).read_bytes() for name in ("paper.pdf", "word.docx")}
    with zipfile.ZipFile("all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            if name != "packed.txt.gz":
                archive.writestr(f"in/{name}", data)
    expected = {name: blake2b(data, digest_size=16).digest() for name, data in files.items()}
    with lshdb.open("lsh.db") as database:
        report = database.add_files(["."], archives=True)
    assert report.added == 2 * (len(files) + 2) - 1, report
    digests = stored("file_digest")
    assert len(digests) == report.added
    for key, digest in digests.items():
        name = os.path.basename(key.partition("#")[0])
        assert digest == expected[name], key


@pytest.mark.app("documents")
def test_states_say_which_file_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_bytes(b"some words of a text")
    with zipfile.ZipFile("b.zip", "w") as archive:
        archive.writestr("c.txt", "other words of a member")
    with lshdb.open("lsh.db") as database:
        database.add_files(["."], archives=True)
    for key, device, inode, changed in inspection.rows(
        Path("lsh.db"),
        "SELECT key, device, inode, ctime_ns FROM documents JOIN files USING (doc_id)",
    ):
        status = os.stat("a.txt" if key.endswith("a.txt") else "b.zip")
        assert (device, inode) == (status.st_dev, status.st_ino)
        assert changed == status.st_ctime_ns


def test_numbers_that_sqlite_cannot_hold_are_stored() -> None:
    times = {"st_mtime_ns": -(1 << 70), "st_ctime_ns": 1 << 70}
    status = os.stat_result((0o100644, 2**64 - 1, 2**63, 1, 0, 0, 5, 0, 0, 0), times)
    state = File("a.txt", status).state()
    assert state is not None
    assert (state.mtime_ns, state.ctime_ns) == (-(2**63), 2**63 - 1)
    assert (state.inode, state.device) == (-1, -(2**63))


@pytest.mark.app("folders")
def test_a_renamed_file_keeps_the_digest_of_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    Path("d/a.txt").write_bytes(b"some words of a text")
    with lshdb.open("lsh.db") as database:
        database.sync(["d"])
        before = stored("file_digest")["d/a.txt"]
        os.rename("d/a.txt", "d/b.txt")
        assert database.sync(["d"]).moved == 1
    assert stored("file_digest") == {"d/b.txt": before}
