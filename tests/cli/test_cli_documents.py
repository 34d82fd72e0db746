"""PDF, Word, slides, sheets, web pages, books and mail, as files beside text files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import documents
import pytest
from direct_command import DirectCommand
from direct_command import command as command
from helpers import Command, served

from lshdb.sources.documents.text import normalized
from lshdb.sources.extracting import PROGRAM

TEXTS = documents.paragraphs()


@pytest.fixture
def folder(command: Command) -> Path:
    path = command.path("d")
    path.mkdir()
    return path


def stored(command: Command, column: str) -> dict[str, str]:
    """A column of documents or files, by the keys without the directory."""
    sql = f"SELECT key, {column} AS value FROM documents LEFT JOIN files USING (doc_id)"
    done = command.done("sql", sql, "--json")
    return {one["key"].removeprefix("d/"): one["value"] for one in done.records}


def test_a_text_in_each_format_finds_itself(command: Command, folder: Path) -> None:
    for kind, make in documents.MAKERS.items():
        make(folder / f"manual.{kind}", TEXTS)
    (folder / "nameless").write_bytes((folder / "manual.docx").read_bytes())
    (folder / "unnamed").write_bytes((folder / "manual.pdf").read_bytes())
    command.done("add", "d", says="added 13, updated 0, unchanged 0, failed 0\n")
    found = command.done("query", "d/manual.txt", "--threshold", "0.9", "--json").records
    assert len(found) == 12
    assert min(one["similarity"] for one in found) > 0.97
    # A document is a query, too, as a file and by its key.
    for query in (["d/manual.epub"], ["--key", "d/manual.rtf"]):
        assert len(command.done("query", *query).lines) == 12
    kinds = {json.loads(one)["type"] for one in stored(command, "metadata").values() if one}
    assert kinds == {*documents.MAKERS} - {"txt", "md"}
    pdf = json.loads(stored(command, "metadata")["manual.pdf"])
    assert (pdf["title"], pdf["author"], pdf["pages"]) == ("A title", "Ann Author", 10)
    extracted = json.loads(stored(command, "extracted")["manual.pdf"])
    assert extracted["by"].startswith("pypdfium2 ")
    assert stored(command, "content")["manual.pdf"].count("\n\f") == 9
    done = command.done("dedup", "d")
    assert "kept 1, dropped 12" in done.err


def test_what_paper_adds_to_a_text_is_left_out() -> None:
    pages = [
        f"The Report 2026\n{body}\nPage {number} of 4\n"
        for number, body in enumerate(
            [
                "An of\ufb01cial line with a hy\ufffephen, and\u00a0a so\u00adft one.",
                "A well-known word, and a well\ufffeknown one;\nthe end is cut be-\ntween lines.",
                "12 geese",
                "13 ducks",
            ],
            1,
        )
    ]
    text = normalized(pages, of_paper=True)
    assert text.split("\n") == [
        "The Report 2026",
        "An official line with a hyphen, and a soft one.",
        "\fA well-known word, and a well-known one;",
        "the end is cut between lines.",
        "\f12 geese",
        "\f13 ducks",
    ]
    as_it_is = normalized(["be-\ntween\n1\n"], of_paper=False)
    assert as_it_is == "be-\ntween\n1"


def test_a_bad_file_costs_itself_only(command: Command, folder: Path) -> None:
    documents.pdf(folder / "locked.pdf", TEXTS, password="secret")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n garbage")
    (folder / "empty.pdf").write_bytes(b"")
    documents.pdf(folder / "whole.pdf", TEXTS)
    (folder / "cut.docx").write_bytes(b"PK\3\4 and no more")
    documents.bomb(folder / "bomb.docx")
    secret = command.path("secret")
    secret.write_text("swordfish")
    documents.entities(folder / "entities.docx", secret)
    for kind in ("odt", "xlsx", "epub", "pptx"):
        (folder / f"none.{kind}").write_bytes(b"no such file")
    documents.scanned(folder / "scan.pdf")
    done = command("add", "d", "--list-skipped")
    assert done.status == 1
    said = (line.removeprefix("lshdb: d/").partition(": ") for line in done.err.splitlines())
    lines = {name: why for name, _, why in said}
    assert lines["locked.pdf"] == "encrypted: it asks for a password"
    assert lines["bomb.docx"].startswith("a ZIP file that unpacks to 629,145,600 bytes")
    assert lines["skipped d/scan.pdf"] == "a PDF of pictures: it has no text"
    failed = {"broken.pdf", "empty.pdf", "cut.docx", *(f"none.{k}" for k in ("odt", "xlsx"))}
    assert failed | {"none.epub", "none.pptx"} <= lines.keys()
    assert lines["skipped"] == "1 scanned"
    contents = stored(command, "content")
    assert contents["scan.pdf"] == ""
    assert "swordfish" not in "".join(contents.values())
    assert {"whole.pdf", "scan.pdf"} <= contents.keys()


def test_each_cut_or_empty_file_is_a_document_or_named(command: Command, folder: Path) -> None:
    makers = {name: make for name, make in documents.MAKERS.items() if name not in ("txt", "md")}
    for kind, make in makers.items():
        make(folder / f"cut.{kind}", TEXTS[:9])
        data = (folder / f"cut.{kind}").read_bytes()
        (folder / f"cut.{kind}").write_bytes(data[: len(data) // 2])
        (folder / f"empty.{kind}").write_bytes(b"")
    (folder / "whole.txt").write_text("A text.")
    done = command("add", "d")
    assert done.status == 1
    failed = re.findall("(?m)^lshdb: d/(.*?): ", done.err)
    zipped = {"docx", "odt", "pptx", "xlsx", "epub"}
    assert set(failed) >= {f"{how}.{kind}" for how in ("cut", "empty") for kind in zipped}
    assert "empty.pdf" in failed
    assert sorted([*failed, *stored(command, "content")]) == sorted(os.listdir(folder))


def test_ten_thousand_pages_are_a_document(command: Command, folder: Path) -> None:
    documents.long_pdf(folder / "a.pdf", 10_000)
    command.done("add", "d", says="added 1, updated 0, unchanged 0, failed 0\n")
    assert json.loads(stored(command, "metadata")["a.pdf"])["pages"] == 10_000
    assert stored(command, "content")["a.pdf"].count("\f") == 9_999


def test_memory_ends_at_a_limit(tmp_path: Path) -> None:
    small, large = tmp_path / "small.docx", tmp_path / "large.docx"
    documents.docx(small, TEXTS[:2])
    documents.many_elements(large, 1_500_000)
    options = {"kind": "docx", "quotes": True, "seconds": 60, "largest": 1 << 30}
    jobs = b""
    for path in (large, small):
        jobs += json.dumps({"path": str(path), **options}).encode() + b"\n"
    # The shell's limit is lower than the process's own, which cannot raise it.
    program = f'ulimit -v 250000; exec "{sys.executable}" -P "{PROGRAM}"'
    done = subprocess.run(["sh", "-c", program], input=jobs, capture_output=True, check=True)
    assert b"refused" in done.stdout.partition(b"extracted")[0]
    assert TEXTS[0][:50].encode() in done.stdout, "the next document is read"


def test_a_file_that_takes_too_long_is_left(command: Command, folder: Path) -> None:
    documents.pdf(folder / "a.pdf", documents.paragraphs(300), paper=False)
    (folder / "b.txt").write_text("A text.")
    done = command("add", "d", "--extract-timeout", "0.001")
    assert done.status == 1
    assert done.err.startswith("lshdb: d/a.pdf: reading it takes more than 0.001 seconds")
    assert "added 1, updated 0, unchanged 0, failed 1" in done.err
    command.done("add", "d", says="added 1, updated 0, unchanged 1, failed 0\n")


def test_a_crash_costs_one_file(command: Command, folder: Path) -> None:
    # The libraries that there are do not crash on demand: one that does stands in for them.
    library = command.path("library")
    library.mkdir()
    (library / "selectolax").mkdir()
    (library / "selectolax/__init__.py").write_text("")
    (library / "selectolax/lexbor.py").write_text("import os\nos.abort()\n")
    documents.html(folder / "a.html", TEXTS)
    documents.docx(folder / "b.docx", TEXTS)
    done = DirectCommand(command.directory, {"PYTHONPATH": str(library)})("add", "d")
    assert "d/a.html: the library that reads it crashed" in done.err
    assert "added 1, updated 0, unchanged 0, failed 1" in done.err


def test_the_process_has_neither_lshdb_nor_numpy_and_runs_nothing() -> None:
    program = [sys.executable, "-P", "-X", "importtime", PROGRAM]
    done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert not [one for one in (b"lshdb", b"numpy") if one in done.stderr.replace(b"/", b" ")]
    for code in ("os.system('true')", "__import__('socket').socket()"):
        lines = f"import os, runpy; runpy.run_path({PROGRAM!r}); "
        lines += f"from documents.process import restrict; restrict(); {code}"
        done = subprocess.run([sys.executable, "-c", lines], capture_output=True)
        assert b"it wants to run a program or use the network" in done.stderr


def test_documents_without_their_libraries_are_counted(command: Command, folder: Path) -> None:
    documents.pdf(folder / "a.pdf", TEXTS)
    documents.html(folder / "b.html", TEXTS)
    (folder / "c.txt").write_text("A text.")
    said = command.without("pypdfium2", "add", "d/a.pdf")
    assert said.startswith("lshdb: d/a.pdf: PDF: needs pip install 'lshdb[documents]'")
    said = command.without("pypdfium2", "add", "d", "none")
    assert "skipped: 1 documents\nto read the 1 document left out: pip install 'lshdb[doc" in said
    done = command.done("add", "d", "--no-documents", "--list-skipped")
    assert "skipped d/a.pdf: PDF: documents are not wanted\n" in done.err
    assert done.err.endswith("skipped: 1 documents\n")
    assert "<p>" in stored(command, "content")["b.html"]


def test_web_pages_are_programs_among_programs(command: Command, folder: Path) -> None:
    documents.html(folder / "b.html", TEXTS)
    command.done("init", "-d", "code.db", "--shingle", "code:5")
    command.done("add", "-d", "code.db", "d")
    sql = "SELECT content FROM documents"
    assert "<p>" in command.done("sql", "-d", "code.db", sql).out


@pytest.mark.extra("documents")
def test_a_message_is_a_document(command: Command, folder: Path) -> None:
    quoted = (
        "The ferry leaves at noon today.\n\nOn Monday, Bob wrote:\n> When does it leave then?\n"
    )
    box = [
        documents.message("Ferry", quoted, number=1),
        documents.message("Page", "The bus leaves in the evening.", number=2, page=True),
        documents.message("Again", "The bus leaves in the evening.", number=2),
    ]
    documents.mbox(folder / "in.mbox", box)
    for name in ("cur", "new", "tmp"):
        (folder / "mail" / name).mkdir(parents=True)
    (folder / "mail/cur/1234.M5.host:2,S").write_bytes(bytes(box[0]))
    command.done("add", "d", "--no-quotes", says="added 4, updated 0, unchanged 0, failed 0\n")
    contents = stored(command, "content")
    attached = "application/octet-stream 363cc5f6f4ca34f4"  # behind the text, quoted lines or not
    assert contents["in.mbox#<1@example.org>"] == f"The ferry leaves at noon today.\n{attached}"
    assert contents["mail/cur/1234.M5.host:2,S"] == contents["in.mbox#<1@example.org>"]
    assert contents["in.mbox#<2@example.org>"] == "The bus leaves in the evening."
    assert contents["in.mbox#<2@example.org> 2"] == f"The bus leaves in the evening.\n{attached}"
    assert json.loads(stored(command, "metadata")["in.mbox#<1@example.org>"])["subject"] == "Ferry"
    done = command.done("query", "d/in.mbox", "--no-quotes")
    assert len(done.lines) == 1  # of two with the same few words, one has an attachment
    said = "added 0, updated 0, moved 0, removed 0, unchanged 4, failed 0\n"
    os.utime(folder / "in.mbox", (1, 1))
    os.utime(folder / "mail/cur/1234.M5.host:2,S", (1, 1))
    command.done("sync", "d", "--no-quotes", says=said)
    command.done("sync", "d", says=said)
    (folder / "in.mbox").unlink()
    documents.mbox(folder / "in.mbox", box[1:])
    said = "added 0, updated 0, moved 0, removed 1, unchanged 3, failed 0\n"
    command.done("sync", "d", "--no-quotes", says=said)


def test_sync_extracts_what_is_new_or_told(command: Command, folder: Path) -> None:
    documents.pdf(folder / "a.pdf", TEXTS)
    documents.docx(folder / "b.docx", TEXTS[:9])
    for name in ("a.pdf", "b.docx"):
        os.utime(folder / name, (1, 1))
    command.done("sync", "d")
    # A library that cannot be loaded is not needed for what has not changed.
    library = command.path("library")
    (library / "pypdfium2").mkdir(parents=True)
    (library / "pypdfium2/__init__.py").write_text("raise ValueError")
    without = DirectCommand(command.directory, {"PYTHONPATH": str(library)})
    (folder / "a.pdf").rename(folder / "moved.pdf")
    moved = "added 0, updated 0, moved 1, removed 0, unchanged 1, failed 0\n"
    command.done("sync", "d", says=moved)
    same = "added 0, updated 0, moved 0, removed 0, unchanged 2, failed 0\n"
    without.done("sync", "d", says=same)
    assert "pypdfium2" in stored(command, "extracted")["moved.pdf"]
    assert "moved.pdf: no PDF that can be read" in without("sync", "d", "--extract-again").err
    command.done("sync", "d", "--extract-again", says=same)


def test_a_program_of_the_user_reads_a_suffix(command: Command, folder: Path) -> None:
    (folder / "a.scan").write_bytes(b"\0binary")
    reads = "scan=sh -c 'echo the text of $0' {}"
    command.done("add", "d", "--convert", reads, says="added 1, updated 0, unchanged 0, failed 0\n")
    assert stored(command, "content")["a.scan"] == f"the text of {folder / 'a.scan'}"
    assert "sh -c" in json.loads(stored(command, "extracted")["a.scan"])["by"]
    for wrong in ("scan=cat", "=cat {}", "scan='cat {}"):
        assert "is not 'SUFFIX=COMMAND {}'" in command.fails(
            "add", "d", "--convert", wrong, status=2
        )
    assert (
        "returned non-zero exit status 1" in command("add", "d", "--convert", "scan=false {}").err
    )
    slow = ["--convert", "scan=sh -c 'exec sleep 100' {}", "--extract-timeout", "0.1"]
    assert "timed out" in command("add", "d", *slow).err


def test_a_passage_has_the_pages_of_both(command: Command, folder: Path) -> None:
    command.done("init", "--passages", "8", "--threshold", "0.1")
    documents.pdf(folder / "a.pdf", TEXTS)
    documents.pdf(folder / "b.pdf", [*documents.paragraphs(4, seed=2), *TEXTS[30:]])
    command.done("add", "d")
    contents = stored(command, "content")
    found = command.done("passages", "d/b.pdf", "--json").records
    apart = [one for one in found if one["key"] == "d/a.pdf"]
    assert apart
    for one in apart:
        start, stored_start = one["start"], one["stored_start"]
        assert one["page"] == len(contents["b.pdf"][:start].split("\f"))
        assert one["stored_page"] == len(contents["a.pdf"][:stored_start].split("\f"))
    assert apart[0]["stored_page"] == 5
    command.done("report", "-o", "report.html")
    report = command.path("report.html").read_text()
    assert "p.&nbsp;" in report
    for options, links in (([], False), (["--open-files"], True)):
        with served(command.directory, *options) as site:
            page = site.get("document", key="d/b.pdf").text
            assert (folder.joinpath("b.pdf").as_uri() in page) == links
            assert "(p. 1) here" in page
            assert "(p. 5) there" in page
            beside = site.get("compare", a="d/a.pdf", b="d/b.pdf").text
            assert "p.&nbsp;10" in beside
