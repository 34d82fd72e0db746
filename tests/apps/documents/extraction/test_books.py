"""The text of books: chapters in their order, each failing alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import XHTML, answer, refused, text_of, zipped


def book(chapters: dict[str, str], listed: str, **others: str) -> bytes:
    """An EPUB with a list of chapters that is written out."""
    container = (
        "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
        "<rootfile full-path='OEBPS/book.opf'/></rootfiles></container>"
    )
    files: dict[str, str | bytes] = {"META-INF/container.xml": container, "OEBPS/book.opf": listed}
    files |= {f"META-INF/{name}.xml": content for name, content in others.items()}
    return zipped(files | {f"OEBPS/{name}": content for name, content in chapters.items()})


def opf(*names: str) -> str:
    items = "".join(f"<item id='i{n}' href='{name}'/>" for n, name in enumerate(names))
    order = "".join(f"<itemref idref='i{n}'/>" for n in range(len(names)))
    return (
        "<?xml version='1.0'?><package xmlns='http://www.idpf.org/2007/opf'><metadata "
        f"xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>Fish & Ships</dc:title></metadata>"
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )


@pytest.mark.extra("documents")
def test_a_chapter_that_cannot_be_read_costs_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    page = XHTML + "<body><p>chapter {}</p></body></html>"
    whole = {name: page.format(name[0]) for name in ("1.xhtml", "2 b.xhtml")}
    names = ("1.xhtml", "gone.xhtml", "2%20b.xhtml")
    said = answer(path, book(whole, "\n\n" + opf(*names)))
    assert said["text"] == "chapter 1\nchapter 2"
    assert said["metadata"]["damaged"] == ["OEBPS/gone.xhtml: it has no OEBPS/gone.xhtml"]
    assert said["metadata"]["title"].startswith("Fish")

    def encrypted(*uris: str) -> str:
        each = "".join(f"<CipherReference URI='{uri}'/>" for uri in uris)
        return f"<encryption xmlns='urn:x'>{each}</encryption>"

    assert text_of(path, book(whole, opf("1.xhtml"), encryption=encrypted("OEBPS/f.otf")))
    locked = book(whole, opf("1.xhtml"), encryption=encrypted("OEBPS/1.xhtml"))
    assert "password" in refused(path, locked)
