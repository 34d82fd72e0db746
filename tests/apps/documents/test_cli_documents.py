"""PDF, Word, slides, sheets, web pages, books and mail, as files beside text files."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import documents
import pytest
from helpers import Command, served

from lshdb.apps.documents.extraction.text import normalized

TEXTS = documents.paragraphs(30)


def test_a_text_in_each_format_finds_itself(command: Command, folder: Path) -> None:
    for kind, make in documents.MAKERS.items():
        make(folder / f"manual.{kind}", TEXTS)
    shutil.copy(folder / "manual.docx", folder / "nameless")
    shutil.copy(folder / "manual.pdf", folder / "unnamed")
    command.done("add", "d", says="added 13, updated 0, unchanged 0, failed 0\n")
    matches = command.done("query", "d/manual.txt", "--threshold", "0.9", "--json").records
    assert len(matches) == 12
    assert min(match["similarity"] for match in matches) > 0.97
    # A document is a query, too.
    assert len(command.done("query", "d/manual.epub").lines) == 12
    metadata = documents.stored(command, "metadata")
    kinds = {json.loads(value)["type"] for value in metadata.values() if value}
    assert kinds == {*documents.MAKERS} - {"txt", "md"}
    pdf = json.loads(metadata["manual.pdf"])
    assert (pdf["title"], pdf["author"], pdf["pages"]) == ("A title", "Ann Author", 5)
    assert "pypdfium2 " in documents.stored(command, "extracted")["manual.pdf"]
    assert documents.stored(command, "content")["manual.pdf"].count("\n\f") == 4
    assert "kept 1, dropped 12" in command.done("dedup", "d").err
    # Web pages are programs in a database of programs.
    command.done("init", "-d", "code.db", "--shingle", "code:5")
    command.done("add", "-d", "code.db", "d/manual.html")
    assert "<p>" in str(command.rows("SELECT content FROM documents", "code.db"))


def test_what_paper_adds_to_a_text_is_left_out() -> None:
    bodies = (
        "An of\ufb01cial line with a hy\ufffephen, and\u00a0a so\u00adft one.",
        "A well-known word, and a well\ufffeknown one;\nthe end is cut be-\ntween lines.",
        "12 geese",
    )
    pages = [f"The Report 2026\n{body}\nPage {n} of 3\n" for n, body in enumerate(bodies, 1)]
    assert normalized(pages, of_paper=True) == (
        "The Report 2026\nAn official line with a hyphen, and a soft one.\n"
        "\fA well-known word, and a well-known one;\nthe end is cut between lines.\n\f12 geese"
    )
    assert normalized(["be-\ntween\n1\n"], of_paper=False) == "be-\ntween\n1"


def test_a_bad_file_costs_itself_only(command: Command, folder: Path) -> None:
    secret = command.path("secret")
    secret.write_text("swordfish")
    documents.pdf(folder / "locked.pdf", TEXTS, password="secret")
    documents.pdf(folder / "whole.pdf", TEXTS)
    documents.bomb(folder / "bomb.docx")
    documents.entities(folder / "entities.docx", secret)
    documents.scanned(folder / "scan.pdf")
    bad = {"broken.pdf": b"%PDF-1.7\n garbage", "cut.docx": b"PK\3\4 and no more"}
    bad |= {f"none.{kind}": b"no such file" for kind in ("odt", "xlsx", "epub", "pptx")}
    for name, data in bad.items():
        (folder / name).write_bytes(data)
    done = command("add", "d", "--list-skipped")
    assert done.status == 1
    said = (line.removeprefix("lshdb: d/").partition(": ") for line in done.err.splitlines())
    reasons = {name: why for name, _, why in said}
    assert reasons["locked.pdf"] == "encrypted: it asks for a password"
    assert reasons["bomb.docx"].startswith("a ZIP file that unpacks to 629,145,600 bytes")
    assert reasons["skipped d/scan.pdf"] == "a PDF of pictures: it has no text"
    assert reasons["skipped"] == "1 scanned"
    assert bad.keys() <= reasons.keys()
    contents = documents.stored(command, "content")
    assert contents["scan.pdf"] == ""
    assert "swordfish" not in "".join(contents.values())
    assert "whole.pdf" in contents


def test_documents_without_their_libraries_are_counted(command: Command, folder: Path) -> None:
    documents.pdf(folder / "a.pdf", TEXTS)
    documents.html(folder / "b.html", TEXTS)
    command.write("e/a.pdf", (folder / "a.pdf").read_bytes())
    said = command.without("pypdfium2", "add", "d/a.pdf", "e")
    assert said.startswith("lshdb: d/a.pdf: PDF: needs pip install '.[documents]'")
    assert "skipped: 1 documents\nto read the 1 document left out: pip install '.[doc" in said
    done = command.done("add", "d", "--no-documents", "--list-skipped")
    assert "skipped d/a.pdf: PDF: documents are not wanted\n" in done.err
    assert done.err.endswith("skipped: 1 documents\n")
    assert "<p>" in documents.stored(command, "content")["b.html"]


@pytest.mark.extra("documents")
def test_a_message_is_a_document(command: Command, folder: Path) -> None:
    quoted = "The ferry leaves at noon.\n\nOn Monday, Bob wrote:\n> When does it leave then?\n"
    bus = "The bus leaves in the evening."
    box = [
        documents.message("Ferry", quoted, number=1),
        documents.message("Page", bus, number=2, page=True),
        documents.message("Again", bus, number=2),
    ]
    documents.mbox(folder / "in.mbox", box)
    for name in ("cur", "new", "tmp"):
        (folder / "mail" / name).mkdir(parents=True)
    (folder / "mail/cur/1234.M5.host:2,S").write_bytes(bytes(box[0]))
    command.done("add", "d", "--no-quotes", says="added 4, updated 0, unchanged 0, failed 0\n")
    ferry = "The ferry leaves at noon."
    assert documents.stored(command, "content") == {
        "in.mbox#<1@example.org>": ferry,
        "mail/cur/1234.M5.host:2,S": ferry,
        "in.mbox#<2@example.org>": bus,
        "in.mbox#<2@example.org> 2": bus,
    }
    about = json.loads(documents.stored(command, "metadata")["in.mbox#<1@example.org>"])
    assert (about["subject"], about["attachments"]) == ("Ferry", ["application/octet-stream"])
    (folder / "in.mbox").unlink()
    documents.mbox(folder / "in.mbox", box[1:])
    said = "added 0, updated 0, moved 0, removed 1, unchanged 3, failed 0\n"
    command.done("sync", "d", "--no-quotes", says=said)


@pytest.mark.app("folders")
def test_a_message_that_fails_is_named_again_by_each_sync(command: Command) -> None:
    start = "From ann Thu Jan  1 00:00:00 2026\nMessage-ID: "
    bad = f"{start}<2@x>\nContent-Type: text/plain; charset=none-8\n\nother words\n"
    command.write("d/in.mbox", f"{start}<1@x>\n\nsome words\n\n{bad}")
    for words in ("add", "sync", "sync"):
        done = command(words, "d")
        assert done.err.startswith("lshdb: d/in.mbox#<2@x>: message 2: no mail that can be read")
        assert done.err.endswith("failed 1\n")


def test_sync_extracts_what_is_new_or_told(command: Command, folder: Path) -> None:
    documents.pdf(folder / "a.pdf", TEXTS[:9])
    documents.docx(folder / "b.docx", TEXTS[:9])
    for name in ("a.pdf", "b.docx"):
        os.utime(folder / name, (1, 1))
    command.done("sync", "d")
    (folder / "a.pdf").rename(folder / "moved.pdf")
    moved = "added 0, updated 0, moved 1, removed 0, unchanged 1, failed 0\n"
    command.done("sync", "d", says=moved)
    # A library that cannot be loaded is not needed for what has not changed.
    without = documents.broken_library(command, "pypdfium2", "raw", "raise ValueError")
    same = moved.replace("moved 1", "moved 0").replace("unchanged 1", "unchanged 2")
    without.done("sync", "d", says=same)
    assert "pypdfium2" in documents.stored(command, "extracted")["moved.pdf"]
    assert "moved.pdf: no PDF that can be read" in without("sync", "d", "--extract-again").err
    command.done("sync", "d", "--extract-again", says=same)


def test_a_passage_has_the_pages_of_both(command: Command, folder: Path) -> None:
    command.done("init", "--passages", "8", "--threshold", "0.1")
    texts = documents.paragraphs()
    documents.pdf(folder / "a.pdf", texts)
    documents.pdf(folder / "b.pdf", [*documents.paragraphs(4, seed=2), *texts[30:]])
    command.done("add", "d")
    contents = documents.stored(command, "content")
    rows = command.done("passages", "d/b.pdf", "--json").records
    pages = {(row["page"], row["stored_page"]) for row in rows if row["key"] == "d/a.pdf"}
    assert pages == {
        tuple(len(contents[name][: row[start]].split("\f")) for name, start in sides)
        for sides in [(("b.pdf", "start"), ("a.pdf", "stored_start"))]
        for row in rows
    }
    assert min(pages) == (1, 5)
    command.done("report", "-o", "report.html")
    assert "p.&nbsp;" in command.path("report.html").read_text()
    with served(command.directory) as site:
        page = site.get("document", key="d/b.pdf").text
        assert "(p. 1) here" in page
        assert "(p. 5) there" in page
        assert "p.&nbsp;10" in site.get("compare", a="d/a.pdf", b="d/b.pdf").text
