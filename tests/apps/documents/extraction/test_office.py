"""The text of Word and slides: nothing is lost or glued."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import A, R, W, answer, paragraph, relations, text_of, word, zipped


@pytest.mark.extra("documents")
def test_nothing_of_a_word_file_is_lost_or_glued(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph('<w:t>box</w:t>')}</w:txbxContent>"
    both = (
        f"<mc:AlternateContent xmlns:mc='urn:mc'><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    body = paragraph(f"<w:t>before</w:t>{both}<w:t> after</w:t>")
    body += paragraph("<w:t>well</w:t><w:noBreakHyphen/><w:t>known </w:t>")
    body += paragraph("<w:sym w:font='Symbol' w:char='F061'/><w:t> rays</w:t>")
    body += "<w:altChunk r:id='r4'/>"
    note = f"<w:footnotes {W}>{paragraph('<w:t>a note</w:t>')}</w:footnotes>"
    art = f"<d:x xmlns:d='urn:d' {A}><a:p><a:r><a:t>art</a:t></a:r></a:p></d:x>"
    header = f"<w:hdr {W}>{paragraph('<w:t>No. 450</w:t>')}</w:hdr>"
    data = word(
        body,
        ("footnotes", "notes7.xml", note),
        ("diagramData", "diagrams/data1.xml", art),
        ("header", "header1.xml", header),
        ("header", "header2.xml", header),
        ("aFChunk", "a.html", b"<p>of a page"),
        ("endnotes", "broken.xml", "no XML"),
        ("comments", "cut.xml", f"<w:c {W}>{paragraph('<w:t>a comment</w:t>')}"),
        main="document2.xml",
        slash="\\",
    )
    said = answer(tmp_path / "a.docx", data)
    assert said["text"].split("\n") == [
        *("before after", "well-known", "\uf061 rays", "box", "a note", "a comment", "art"),
        "No. 450",
    ]
    damaged = [own.partition(":")[0] for own in said["metadata"]["damaged"]]
    assert damaged == ["word/broken.xml", "word/cut.xml", "word/a.html"]


@pytest.mark.extra("documents")
def test_slides_come_in_their_order_with_what_is_on_them(tmp_path: Path) -> None:
    def slide(words: str) -> str:
        number = "<a:fld type='slidenum'><a:t>9</a:t></a:fld>"
        return (
            f"<p:sld xmlns:p='urn:p' {A}><a:p><a:r><a:t>{words}</a:t></a:r>{number}</a:p></p:sld>"
        )

    listed = "<p:sldId id='256' r:id='r1'/><p:sldId id='257' r:id='r0'/>"
    data = zipped(
        {
            "_rels/.rels": relations(("officeDocument", "/ppt/presentation.xml")),
            "ppt/presentation.xml": f"<p:x xmlns:p='urn:p' {R}>{listed}</p:x>",
            "ppt/_rels/presentation.xml.rels": relations(
                ("slide", "slides/slide1.xml"), ("slide", "slides/slide2.xml")
            ),
            "ppt/slides/slide1.xml": slide("last"),
            "ppt/slides/slide2.xml": slide("first"),
            "ppt/slides/_rels/slide2.xml.rels": relations(
                ("notesSlide", "../notesSlides/n.xml"), ("diagramData", "../diagrams/d.xml")
            ),
            "ppt/notesSlides/n.xml": slide("said"),
            "ppt/diagrams/d.xml": slide("drawn"),
        }
    )
    assert text_of(tmp_path / "a.pptx", data) == "first\ndrawn\nsaid\nlast"
