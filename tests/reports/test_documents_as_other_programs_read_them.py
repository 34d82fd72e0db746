"""Documents as programs of every kind write them, and as other programs read them.

Each situation is from reports about programs that take text out of documents: values of forms that
are lost, chapters that are lost without a word, a bad byte that costs a page.
"""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from lshdb.apps.documents.extraction import process
from lshdb.read.kinds import kind_of

pytestmark = pytest.mark.extra("documents")

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
R = f'xmlns:r="{OFFICE}"'


def answer(path: Path, data: bytes | None = None, kind: str = "") -> dict[str, Any]:
    """What the process says about a file, which is written if there is data."""
    if data is not None:
        path.write_bytes(data)
    job = {"path": str(path), "kind": kind or path.suffix[1:], "quotes": True, "largest": 1 << 30}
    (said,) = process.answers({**job, "start": 0})
    return said


def text(path: Path, data: bytes | None = None, kind: str = "") -> str:
    """The text of a file, which must have one."""
    said = answer(path, data, kind)
    assert "text" in said, said
    return str(said["text"])


def refused(path: Path, data: bytes | None = None, kind: str = "") -> str:
    said = answer(path, data, kind)
    assert "refused" in said, said
    return str(said["refused"])


def packed(files: dict[str, str | bytes]) -> bytes:
    """A ZIP file."""
    data = io.BytesIO()
    with ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def relations(*targets: tuple[str, str]) -> str:
    """The relationships of a part: a type and a target for each."""
    each = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets)
    )
    return f'<Relationships xmlns="{RELATIONS}">{each}</Relationships>'


def word(
    body: str, *related: tuple[str, str, str | bytes], main: str = "document.xml", slash: str = "/"
) -> bytes:
    """A Word file with a body, and related parts: type, name and content of each."""
    files: dict[str, str | bytes] = {
        "_rels/.rels": relations(("officeDocument", f"word/{main}")),
        f"word/{main}": f"<w:document {W} {R}><w:body>{body}</w:body></w:document>",
        f"word/_rels/{main}.rels": relations(*((kind, name) for kind, name, _ in related)),
    }
    files |= {f"word/{name}": content for _, name, content in related}
    return packed({name.replace("/", slash): content for name, content in files.items()})


def paragraph(inside: str) -> str:
    return f"<w:p><w:r>{inside}</w:r></w:p>"


# different documents


def form(path: Path, values: dict[str, str], *, is_checked: bool = False) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path))
    canvas.drawString(72, 700, "Application for a ferry ticket")
    for row, (name, value) in enumerate(values.items()):
        canvas.acroForm.textfield(name=name, value=value, x=72, y=600 - 40 * row, forceBorder=True)
    canvas.acroForm.checkbox(name="return", checked=is_checked, x=72, y=400)
    canvas.save()


def test_values_of_forms_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    form(path, {"name": "Ann", "town": ""})
    assert text(path) == "Application for a ferry ticket\nAnn"
    # Also where the program that filled it in has not drawn them.
    field = (
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ann)/Rect[72 500 272 550]/F 4/DA(/F 9 Tf)>>"
    )
    drawn = b"/AcroForm<</Fields[]/DA(/F 9 Tf)/DR<</Font<</F 5 0 R>>>>>>"
    assert text(path, annotated(field, form=drawn)) == "the contract\nAnn"


def annotated(*annotations: bytes, form: bytes = b"") -> bytes:
    """A PDF of one page, with annotations that are written out, and a form."""
    body = b"BT /F 12 Tf 72 400 Td (the contract) Tj ET"
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    stamp = b"BT /F 12 Tf 5 5 Td (PAID IN MAY) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R%s>>" % form,
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R"
        b">>>>/Annots[%s]>>" % b" ".join(annotations),
        b"<</Length %d>>stream\n%s\nendstream" % (len(body), body),
        font,
        b"<</Type/XObject/Subtype/Form/BBox[0 0 200 50]/Resources<</Font<</F 5 0 R>>>>/Length %d>>"
        b"stream\n%s\nendstream" % (len(stamp), stamp),
    ]
    file, places = bytearray(b"%PDF-1.4\n"), []
    for number, own in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(file))
        file += b"%d 0 obj%s\nendobj\n" % (number, own)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(places) + 1, b"".join(places))
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return bytes(file) + table + trailer % (len(places) + 1, len(file))


def test_what_is_drawn_over_a_page_is_read(tmp_path: Path) -> None:
    where = b"/Rect[72 500 272 550]/AP<</N 6 0 R>>"
    stamp, hidden = (b"<</Type/Annot/Subtype/Stamp/F %d%s>>" % (flag, where) for flag in (4, 2))
    assert text(tmp_path / "a.pdf", annotated(stamp)) == "the contract\nPAID IN MAY"
    assert text(tmp_path / "a.pdf", annotated(hidden)) == "the contract"


@pytest.mark.parametrize(
    "pair",
    [
        ([["Receipt", "450"]], [["Receipt", "900"]]),
        ([["Law", "Civil"]], [["Law", "Ill"]]),
        ([["i", "one"], ["x", "two"]], [["c", "one"], ["m", "two"]]),
        # Sums at the edges of pages count no pages, and a header is there once.
        ([[f"Total {n}", f"a{n}"] for n in (450, 20, 7)],
         [[f"Total {n}", f"a{n}"] for n in (900, 20, 7)]),
        ([[f"Invoice 1001, page {n}", f"a{n}"] for n in (1, 2, 3)],
         [[f"Invoice 1002, page {n}", f"a{n}"] for n in (1, 2, 3)]),
        # What is on the edges of pages far apart is no header.
        ([["Paid", f"a{n}"] if n % 3 == 0 else [f"a{n}"] for n in range(9)],
         [["Paid", f"a{n}"] if n == 0 else [f"a{n}"] for n in range(9)]),
        ([["007"]] * 3, [["7"]] * 3),
    ],
)  # fmt: skip
def test_what_is_left_out_of_paper_makes_no_two_documents_equal(
    pair: tuple[list[list[str]], list[list[str]]],
) -> None:
    from lshdb.apps.documents.extraction.text import normalized

    one, other = (normalized(["\n".join(page) for page in pages], of_paper=True) for pages in pair)
    assert one != other


def test_numbers_that_count_pages_are_left_out() -> None:
    from lshdb.apps.documents.extraction.text import normalized

    for numbers in (["1", "2", "3"], ["ix", "x", "xi"], ["Page 7 of 9", "Page 8 of 9", "- 9 -"]):
        pages = [f"words {['ab', 'cd', 'ef'][n]}\n{own}" for n, own in enumerate(numbers)]
        assert normalized(pages, of_paper=True) == "words ab\n\fwords cd\n\fwords ef"
    assert "2" in normalized(["a\n1", "b\n2"], of_paper=True)


# whole texts


def test_lines_of_a_turned_page_or_text_are_in_order(tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas, pages = Canvas(str(tmp_path / "a.pdf")), []
    for page_turn, text_turn in itertools.product((0, 90, 180, 270), repeat=2):
        pages.append([f"the {name} of {page_turn} and {text_turn}" for name in ("bow", "stern")])
        canvas.translate(300, 400)
        canvas.rotate(text_turn)
        for row, line in enumerate(pages[-1]):
            canvas.drawString(-100, -20 * row, line)
        canvas.setPageRotation(page_turn)
        canvas.showPage()
    canvas.save()
    assert [page.split("\n") for page in text(tmp_path / "a.pdf").split("\n\f")] == pages


XHTML = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title/><script src='a'/><style/></head>"


def test_empty_elements_of_xhtml_end_where_they_begin(tmp_path: Path) -> None:
    body = "<body><iframe/><p>the ferry&nbsp;leaves</p><p>at noon</p></body></html>"
    lines = "the ferry leaves\nat noon"
    for start, name in (("<?xml version='1.0'?>", "a.html"), ("\n", "a.xhtml"), ("", "a.html")):
        assert text(tmp_path / name, f"{start}{XHTML}{body}".encode()) == lines
    # What is no XML is read by HTML's rules, and a page of HTML by its own.
    broken = f"{XHTML}{body.replace('<p>', '<p>a & b <br>', 1)}".encode()
    assert text(tmp_path / "a.xhtml", broken) == f"a & b\n{lines}"
    assert text(tmp_path / "a.html", b"<title>t</title><p>one<script>x<p>two</p></script>") == "one"


@pytest.mark.parametrize(
    ("reference", "shown", "is_noted"),
    [
        ("&own;", "Acme", False),
        ("&#65;", "A", False),
        ("&file;", "&file;", True),
        ("&unknown;", "&unknown;", True),
        ("&eacute;", "é", True),
        ("&", "&", True),
    ],
)
def test_text_behind_an_entity_is_kept(
    tmp_path: Path, reference: str, shown: str, is_noted: bool
) -> None:
    declared = "<!DOCTYPE d [<!ENTITY own 'Acme'><!ENTITY file SYSTEM 'file:///etc/passwd'>]>"
    words = f"before {reference} after &amp; more"
    odt = f"{declared}<d xmlns:t='urn:t'><t:p>{words}</t:p></d>"
    parts: dict[str, str | bytes] = {"META-INF/manifest.xml": "<m/>", "content.xml": odt}
    docx = f"{declared}<w:d {W}>{paragraph(f'<w:t>{words}</w:t>')}</w:d>"
    for name, data in (
        ("a.odt", packed(parts)),
        ("a.docx", packed({"word/document.xml": docx})),
        (
            "a.xhtml",
            f"{declared}<html xmlns='http://www.w3.org/1999/xhtml'>{words}</html>".encode(),
        ),
    ):
        said = answer(tmp_path / name, data)
        assert said["text"] == f"before {shown} after & more", name
        assert ("damaged" in said["metadata"]) == (is_noted and name != "a.xhtml")


def test_blocks_do_not_run_together(tmp_path: Path) -> None:
    page = b"<h1>Progress</h1>Home <nav><a href=a>About</a><a href=b>Us</a></nav><b>b</b>old"
    assert text(tmp_path / "a.html", page).split() == ["Progress", "Home", "About", "Us", "bold"]
    assert (
        text(tmp_path / "a.html", b"<input type=text value='450 euros'><p>due") == "450 euros\ndue"
    )


def book(chapters: dict[str, str], listed: str, **others: str) -> bytes:
    """An EPUB with a list of chapters that is written out."""
    container = (
        "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
        "<rootfile full-path='OEBPS/book.opf'/></rootfiles></container>"
    )
    files: dict[str, str | bytes] = {"META-INF/container.xml": container, "OEBPS/book.opf": listed}
    files |= {f"META-INF/{name}.xml": content for name, content in others.items()}
    return packed(files | {f"OEBPS/{name}": content for name, content in chapters.items()})


def opf(*names: str) -> str:
    items = "".join(f"<item id='i{n}' href='{name}'/>" for n, name in enumerate(names))
    order = "".join(f"<itemref idref='i{n}'/>" for n in range(len(names)))
    return (
        "<?xml version='1.0'?><package xmlns='http://www.idpf.org/2007/opf'><metadata "
        f"xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>Fish & Ships</dc:title></metadata>"
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )


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

    assert text(path, book(whole, opf("1.xhtml"), encryption=encrypted("OEBPS/f.otf")))
    locked = book(whole, opf("1.xhtml"), encryption=encrypted("OEBPS/1.xhtml"))
    assert "password" in refused(path, locked)


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


def test_slides_come_in_their_order_with_what_is_on_them(tmp_path: Path) -> None:
    def slide(words: str) -> str:
        number = "<a:fld type='slidenum'><a:t>9</a:t></a:fld>"
        return (
            f"<p:sld xmlns:p='urn:p' {A}><a:p><a:r><a:t>{words}</a:t></a:r>{number}</a:p></p:sld>"
        )

    listed = "<p:sldId id='256' r:id='r1'/><p:sldId id='257' r:id='r0'/>"
    data = packed(
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
    assert text(tmp_path / "a.pptx", data) == "first\ndrawn\nsaid\nlast"


def test_nothing_of_an_opendocument_file_is_lost_or_glued(tmp_path: Path) -> None:
    spaces = "xmlns:o='urn:o' xmlns:t='urn:t' xmlns:d='urn:d'"
    note = "<t:note><t:note-citation>1</t:note-citation><t:p>a note</t:p></t:note>"
    frame = "<d:frame><d:text-box><t:p>box</t:p></d:text-box></d:frame>"
    body = f"<t:p>at noon{note} it leaves</t:p><t:p>before{frame} after</t:p>"
    styles = f"<o:s {spaces}><o:header><t:p>No. 450</t:p></o:header></o:s>"
    files: dict[str, str | bytes] = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": "<m/>",
        "content.xml": f"<o:c {spaces}>{body}</o:c>",
        "styles.xml": styles,
    }
    lines = ["at noon it leaves", "before after", "a note", "box", "No. 450"]
    assert text(tmp_path / "a.odt", packed(files)).split("\n") == lines
    files["META-INF/manifest.xml"] = "<m><encryption-data/></m>"
    assert "password" in refused(tmp_path / "a.odt", packed(files))


def sheet(rows: str, slash: str = "/") -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return packed(
        {
            "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
            f"xl{slash}_rels{slash}workbook.xml.rels": relations(
                ("worksheet", "worksheets/sheet1.xml")
            ),
            f"xl{slash}workbook.xml": f"<workbook xmlns='{main}' {R}><sheets>"
            "<sheet name='S' sheetId='1' r:id='r0'/></sheets></workbook>",
            f"xl{slash}worksheets{slash}sheet1.xml": (
                f"<worksheet xmlns='{main}'><sheetData>{rows}</sheetData></worksheet>"
            ),
        }
    )


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0")
"""How files of the Office before 2007 begin."""


# characters


@pytest.mark.parametrize(
    ("label", "encoding", "words"),
    [
        ("gb2312", "gb18030", "朱镕基"),
        ("x-sjis", "cp932", "①髙橋"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("iso-8859-1", "cp1252", "it’s 5 €"),
        ("x-nonsense", "utf-8", "Größe"),
        ("euc-kr", "cp949", "똠방각하"),
    ],
)
def test_labels_are_those_of_browsers(
    tmp_path: Path, label: str, encoding: str, words: str
) -> None:
    raw = words.encode(encoding)
    page = b"<p>" + raw + b"</p>"
    assert text(tmp_path / "a.html", f"<meta charset={label}>".encode() + page) == words
    # One bad byte costs itself; UTF-8 with one stays UTF-8.
    bad = text(tmp_path / "a.html", f"<meta charset={label}>".encode() + page + b"<p>\xff z")
    assert words in bad
    assert bad.endswith("z")
    head = f"<?xml version='1.0' encoding='{label}'?>".encode()
    body = b"<html xmlns='http://www.w3.org/1999/xhtml'><title/><body>" + page + b"</body></html>"
    assert text(tmp_path / "a.xhtml", head + body) == words
    mail = f"Content-Type: text/plain; charset={label}\n\n".encode() + raw
    if label != "x-nonsense":
        assert text(tmp_path / "a.eml", mail) == words


def test_mail_without_a_charset_or_with_a_wrong_one_is_read(tmp_path: Path) -> None:
    words = "Die Fähre über den Fluß fährt im Mai täglich."
    labels = (
        "",
        "; charset=us-ascii",
        '; charset="',
        "; charset=unknown-8bit",
        "; charset=us-ascii (Plain)",
    )
    for head in ("", *(f"Content-Type: text/plain{label}\n" for label in labels)):
        assert text(tmp_path / "a.eml", f"{head}\n{words}".encode()) == words
    assert text(tmp_path / "a.eml", f"\n{words}".encode("latin-1")) == words
    said = answer(tmp_path / "a.eml", b"Subject: =?unknown-8bit?q?K=C3=B6ln?=\n\nwords")
    assert said["metadata"]["subject"] == "Köln"


# mail


MIXED = "Content-Type: multipart/{}; boundary=b\n\n{}--b--\n"


def part(head: str, body: str) -> str:
    return f"--b\n{head}\n\n{body}\n"


PICTURE = part("Content-Type: image/png\nContent-Disposition: inline", "x")
PLAIN, HTML = "Content-Type: text/plain", "Content-Type: text/html"


@pytest.mark.parametrize(
    ("kind", "parts", "words"),
    [
        ("related", PICTURE + part(HTML, "<p>the page"), ["the page"]),

        ("mixed", PICTURE + part(PLAIN, "words"), ["words"]),
        ("alternative", part(PLAIN, " ") + part(HTML, "<p>the page"), ["the page"]),
        ("mixed", part(PLAIN + "\nContent-Disposition: attachment", "words"), ["words"]),

        ("mixed", part(PLAIN, "see") + part("Content-Type: text/x-patch", "-old"), ["see", "-old"]),
        ("alternative", part(PLAIN, "Online: https://x.org/" + "y" * 99)
         + part(HTML, "<p>Your receipt of 450"), ["Your receipt of 450"]),

        ("report", part(PLAIN, "failed") + part("Content-Type: message/delivery-status", "To: bob"),
         ["failed"]),
        ("mixed", part(HTML, "<p>the page") + part(PLAIN, "list"), ["the page", "list"]),
        ("mixed", part(PLAIN, "see") + part("Content-Type: message/rfc822", "Subject: s\n\nsent"),
         ["see", "s", "sent"]),
    ],
)  # fmt: skip
def test_the_text_of_a_message_is_found(
    tmp_path: Path, kind: str, parts: str, words: list[str]
) -> None:
    data = MIXED.format(kind, parts).encode()
    assert text(tmp_path / "a.eml", data).split("\n") == words


def test_a_part_of_an_unknown_charset_costs_itself(tmp_path: Path) -> None:
    unknown = part(f"{PLAIN}; charset=x-martian", "caf\xe9")
    data = MIXED.format("mixed", part(PLAIN, "the words") + unknown).encode("latin-1")
    said = answer(tmp_path / "a.eml", data)
    assert said["text"].split("\n")[0] == "the words"
    assert said["metadata"]["damaged"] == ["part: unknown encoding: x-martian"]
    both = MIXED.format("alternative", unknown + part(HTML, "<p>the page")).encode("latin-1")
    assert text(tmp_path / "a.eml", both).split("\n")[0] == "the page"
    assert "x-martian" in refused(tmp_path / "a.eml", MIXED.format("mixed", unknown).encode())


def test_lines_that_flow_are_joined_if_their_last_blank_is_none_of_the_text(tmp_path: Path) -> None:
    lines = "渡し船は \r\n正午に  \r\n出ます。\n> quo \n> ted \n>> deeper \n> line\n-- \nAnn"
    for delsp, shown in (
        ("yes", "渡し船は正午に 出ます。\n> quoted\n>> deeper\n> line\n--\nAnn"),
        ("no", "渡し船は\n正午に\n出ます。\n> quo\n> ted\n>> deeper\n> line\n--\nAnn"),
    ):
        head = f"{PLAIN}; charset=utf-8; format=flowed; delsp={delsp}\n\n"
        assert text(tmp_path / "a.eml", (head + lines).encode()) == shown


def test_a_saved_page_is_mail_and_its_text_that_of_the_page(tmp_path: Path) -> None:
    page = "<html><p>The ferry leaves at noon</p></html>"
    data = MIXED.format("related", part(f"{HTML}\nContent-Location: https://x.org/", page))
    for name in ("a.mht", "a.mhtml"):
        (tmp_path / name).write_text(f"From: <Saved by Blink>\nMIME-Version: 1.0\n{data}")
        assert kind_of(name) == "eml"
        assert text(tmp_path / name, kind="eml") == "The ferry leaves at noon"


def test_parts_within_too_many_parts_are_named(tmp_path: Path) -> None:
    data = f"{PLAIN}\n\nthe deep words"
    for depth in range(31):
        if depth == 30:
            assert text(tmp_path / "a.eml", data.encode()) == "the deep words"
        data = f"Content-Type: multipart/mixed; boundary=b{depth}\n\n--b{depth}\n{data}"
    deep = answer(tmp_path / "a.eml", data.encode())
    assert deep["metadata"]["damaged"] == ["part: it is within 30 others, and is not read"]


def messages(path: Path) -> list[str]:
    job = {"path": str(path), "kind": "mbox", "quotes": True, "largest": 1 << 30, "start": 0}
    return [str(said["text"]) for said in process.answers(job) if "text" in said]


def test_only_a_date_and_a_header_begin_a_message(tmp_path: Path) -> None:
    box = (
        b"From - Mon Jan 05 10:00:00 2026\nSubject: 1\n\nHello,\n\nFrom the first of May\n"
        b"it leaves.\n\nFrom ann@x Mon Jan  5 10:00:00 2026 she\nwaits.\n>From now\n>>From then\n\n"
        b"From \r\nSubject: 2\r\n\r\ntwo\r\n\r\n"
        b"From a@b Tue, 6 Jan 2026 10:00 +0100\nSubject: 3\n\nthree\n"
    )
    (tmp_path / "in").write_bytes(box)
    first, second, third = messages(tmp_path / "in")
    lines = ["From ann@x Mon Jan 5 10:00:00 2026 she", "waits.", "From now", ">From then"]
    assert first.split("\n")[-4:] == lines
    assert "From the first of May\nit leaves." in first
    assert (second, third) == ("two", "three")


def test_headers_that_cannot_be_parsed_cost_themselves(tmp_path: Path) -> None:
    data = b"Message-ID: <[abc]>\nTo: x <\nSubject: s\n\nwords"
    about = answer(tmp_path / "a.eml", data)["metadata"]
    assert (about["message-id"], about["to"], about["subject"]) == ("<[abc]>", "x <", "s")


def test_a_file_of_apple_mail_is_its_message(tmp_path: Path) -> None:
    own = b"Subject: s\n\nthe words\n"
    data = b"%d     \n%s<?xml version='1.0'?><plist>flags</plist>" % (len(own), own)
    assert text(tmp_path / "a.emlx", data, "eml") == "the words"


# notebooks


def test_the_text_of_a_notebook_is_that_of_its_cells(tmp_path: Path) -> None:
    page = {"cell_type": "markdown", "source": ["# Ferries\n", "<table> at noon"]}
    program = {"cell_type": "code", "outputs": [{"text": ["printed"]}]}
    third = {"worksheets": [{"cells": [page, {**program, "input": ["x = 1\n", "x"]}]}]}
    fourth = {"cells": [page, {**program, "source": "x = 1\nx"}], "metadata": {}}
    for notebook in (third, fourth):
        words = text(tmp_path / "a.ipynb", json.dumps(notebook).encode())
        assert words == "# Ferries\n<table> at noon\nx = 1\nx"
    assert refused(tmp_path / "a.ipynb", b"{}").startswith("no notebook that can be read")


# first bytes


def test_a_file_is_what_its_first_bytes_say(tmp_path: Path) -> None:
    cells = "<row><c t='inlineStr'><is><t>cell</t></is></c></row>"
    page = b"<html><body><table><tr><td>cell</td></tr></table>"
    made = [
        ("a.ods", "xlsx", sheet(cells), "S\ncell", "xlsx"),
        ("a.xlsx", "xlsx", sheet(cells, slash="\\"), "S\ncell", "xlsx"),
        ("a.xls", "xlsx", page, "cell", "html"),
        ("a.docx", "docx", rb"{\rtf1 words}", "words", "rtf"),
        ("a.pdf", "pdf", b"\n<!DOCTYPE html><p>words", "words", "html"),
        ("a.html", "html", word(paragraph("<w:t>words</w:t>")), "words", "docx"),
    ]
    for name, kind, data, words, is_kind in made:
        said = answer(tmp_path / name, data, kind)
        assert (said.get("text"), said["metadata"]["type"]) == (words, is_kind), (name, said)
    locked = OLD + "EncryptedPackage".encode("utf-16-le")
    for kind in ("docx", "xlsx", "pptx"):
        assert "password" in refused(tmp_path / f"a.{kind}", locked)
    assert ".doc" in refused(tmp_path / "a.docx", OLD + "WordDocument".encode("utf-16-le"))
    assert "sheets" in refused(tmp_path / "a.xls", b"no table", "xlsx")


# parts


# ends of pages


def test_words_that_ends_of_pages_cut_are_joined() -> None:
    from lshdb.apps.documents.extraction.text import normalized

    pages = ["one har-\n7", "bour, and a well-\n8", "known well-known word\n9"]
    assert normalized(pages, of_paper=True).split("\n\f") == [
        "one harbour,",
        "and a well-known",
        "well-known word",
    ]
    assert normalized(["of a-", "b\ufffec\ufffed e"], of_paper=True) == "of abcd\n\fe"
