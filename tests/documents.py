"""Documents such as PDF and mail, made for tests."""

from __future__ import annotations

import io
import mailbox
import random
import textwrap
import zipfile
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from helpers import Command

_WORDS = [
    "archive", "border", "candle", "dragon", "ember", "forest", "granite", "harbour", "island",
    "jungle", "kettle", "lantern", "meadow", "needle", "orchard", "pepper", "quarry", "river",
    "saddle", "timber", "umbrella", "valley", "winter", "yellow", "office", "waffle", "infinite",
]  # fmt: skip


def paragraphs(count: int = 60, seed: int = 1) -> list[str]:
    """Some text, with words that have ligatures, hyphens and letters beyond ASCII."""
    rng = random.Random(seed)
    return [
        " ".join(f"{rng.choice(_WORDS)}{rng.randrange(40) or '-café'}" for _ in range(50)) + "."
        for _ in range(count)
    ]


def pdf(
    path: Path,
    texts: Sequence[str],
    *,
    password: str | None = None,
    title: str = "A title",
    paper: bool = True,
) -> None:
    """A PDF; on paper with hyphens at the ends of lines, a header, and numbers of pages."""
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    encryption = None if password is None else StandardEncryption(password)
    canvas = Canvas(str(path), encrypt=encryption)
    canvas.setTitle(title)
    canvas.setAuthor("Ann Author")
    lines: list[str] = []
    for text in texts:
        for line in textwrap.wrap(text, 78):
            words = line.split()
            if paper and lines and len(words[0]) > 6 and words[0].isalpha():
                lines[-1] += f" {words[0][:3]}-"
                line = " ".join([words[0][3:], *words[1:]])
            lines.append(line)
    for number, start in enumerate(range(0, len(lines), 40), 1):
        if paper:
            canvas.drawString(72, 800, f"Report of the year, part {number}")
            canvas.drawString(280, 30, f"- {number} -")
        for row, line in enumerate(lines[start : start + 40]):
            canvas.drawString(72, 760 - 17 * row, line)
        canvas.showPage()
    canvas.save()


def long_pdf(path: Path, pages: int) -> None:
    """A PDF of many pages, each with some words of its own: faster than a library makes one."""
    rng = random.Random(pages)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"",
        b"<</Type/Font/Subtype/Type1/BaseFont/Times>>",
    ]
    for _ in range(pages):
        words = b" ".join(bytes(rng.choices(range(97, 123), k=8)) for _ in range(8))
        stream = b"BT /F 12 Tf 72 400 Td (%s) Tj ET" % words
        own = len(objects) + 1
        objects += [
            b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R"
            b"/Resources<</Font<</F 3 0 R>>>>>>" % own,
        ]
    kids = b" ".join(b"%d 0 R" % number for number in range(5, len(objects) + 1, 2))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids)
    data, places = bytearray(b"%PDF-1.4\n"), []
    for number, one in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(data))
        data += b"%d 0 obj%s\nendobj\n" % (number, one)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(places) + 1, b"".join(places))
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    path.write_bytes(data + table + trailer % (len(places) + 1, len(data)))


def scanned(path: Path) -> None:
    """A PDF of a picture."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path))
    canvas.drawImage(ImageReader(Image.new("L", (50, 70), 200)), 0, 0)
    canvas.save()


def docx(path: Path, texts: Sequence[str]) -> None:
    import docx

    document = docx.Document()
    document.core_properties.title = "A title"
    document.core_properties.author = "Ann Author"
    document.sections[0].header.paragraphs[0].text = "Report of the year"
    for text in texts[:-1]:
        document.add_paragraph(text)
    document.add_table(1, 1).cell(0, 0).text = texts[-1]
    document.save(str(path))


def odt(path: Path, texts: Sequence[str]) -> None:
    from odf.opendocument import OpenDocumentText
    from odf.text import P, Span

    document = OpenDocumentText()
    for text in texts:
        first, _, rest = text.partition(" ")
        paragraph = P(text=first + " ")
        paragraph.addElement(Span(text=rest))
        document.text.addElement(paragraph)
    document.save(str(path))


def pptx(path: Path, texts: Sequence[str]) -> None:
    from pptx import Presentation

    presentation = Presentation()
    for text in texts:
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = text
    presentation.save(str(path))


def xlsx(path: Path, texts: Sequence[str]) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for text in texts:
        book.active.append(text.split())
    book.save(path)


def page(texts: Sequence[str]) -> str:
    whole = "".join(f"<p>{text[:30]}<b>{text[30:]}</b></p>\n" for text in texts)
    return (
        "<!DOCTYPE html><html><head><title>A title</title><style>p {color: red}</style></head>"
        f"<body><script>var hidden = 1;</script>{whole}</body></html>"
    )


def html(path: Path, texts: Sequence[str]) -> None:
    path.write_text(page(texts), encoding="utf-8")


def epub(path: Path, texts: Sequence[str]) -> None:
    half = len(texts) // 2
    container = (
        '<container xmlns="c"><rootfiles><rootfile full-path="O/p.opf"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="o"><metadata xmlns:dc="d"><dc:title>A title</dc:title></metadata>'
        '<manifest><item id="b" href="b%20b.xhtml" media-type="x"/>'
        '<item id="a" href="a.xhtml" media-type="x"/>'
        '</manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("O/p.opf", package)
        archive.writestr("O/b b.xhtml", page(texts[half:]))
        archive.writestr("O/a.xhtml", page(texts[:half]))


def rtf(path: Path, texts: Sequence[str]) -> None:
    whole = "".join(f"\\pard {text}\\par\n" for text in texts)
    escaped = "".join(one if one < "\x80" else f"\\u{ord(one)}?" for one in whole)
    path.write_text(r"{\rtf1\ansi{\fonttbl{\f0 Times;}}" + escaped + "}")


def text(path: Path, texts: Sequence[str]) -> None:
    path.write_text("\n\n".join(texts), encoding="utf-8")


def markdown(path: Path, texts: Sequence[str]) -> None:
    path.write_text("# A title\n\n" + "\n\n".join(f"**{one}**" for one in texts))


def message(subject: str, body: str, *, number: int = 1, page: bool = False) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"] = "Ann <ann@example.org>", "bob@example.org"
    made["Subject"], made["Message-ID"] = subject, f"<{number}@example.org>"
    made["Date"] = "Mon, 05 Jan 2026 10:00:00 +0000"
    if page:
        made.set_content(f"<html><body><p>{body}</p></body></html>", subtype="html")
    else:
        made.set_content(body)
        made.add_attachment(b"\0\1", maintype="application", subtype="octet-stream")
    return made


def eml(path: Path, texts: Sequence[str]) -> None:
    path.write_bytes(message("A title", "\n".join(texts)).as_bytes())


def mbox(path: Path, messages: Sequence[EmailMessage]) -> None:
    box = mailbox.mbox(path)
    for one in messages:
        box.add(one)
    box.close()


def bomb(path: Path) -> None:
    """A Word file of some bytes that says that it unpacks to 600 MB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(1 << 10))
        archive.filelist[0].file_size = 600 << 20


def many_elements(path: Path, count: int) -> None:
    """A small Word file whose elements take some hundred bytes of memory each."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<d>{'<t>a</t>' * count}</d>")


def entities(path: Path, secret: Path) -> None:
    """A Word file whose XML asks for another file, and for more entities than fit memory."""
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    whole = (
        f'<!DOCTYPE d [<!ENTITY x SYSTEM "file://{secret}"><!ENTITY e0 "ha">{lines}]>'
        '<w:d xmlns:w="w"><w:p><w:t>before &x; &e11; after</w:t></w:p></w:d>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", whole)


MAKERS: dict[str, Callable[[Path, Sequence[str]], None]] = {
    "pdf": pdf, "docx": docx, "odt": odt, "pptx": pptx, "xlsx": xlsx, "html": html, "epub": epub,
    "rtf": rtf, "txt": text, "md": markdown, "eml": eml,
}  # fmt: skip


# what the process that extracts says of a file, and parts of packages

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
R = f'xmlns:r="{OFFICE}"'
XHTML = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title/><script src='a'/><style/></head>"


def answer(path: Path, data: bytes | None = None, kind: str = "") -> dict[str, Any]:
    """What the process says about a file, which is written if there is data."""
    from lshdb.apps.documents.extraction import process

    if data is not None:
        path.write_bytes(data)
    job = {"path": str(path), "kind": kind or path.suffix[1:], "quotes": True, "largest": 1 << 30}
    (said,) = process.answers({**job, "start": 0})
    return said


def text_of(path: Path, data: bytes | None = None, kind: str = "") -> str:
    """The text of a file, which must have one."""
    said = answer(path, data, kind)
    assert "text" in said, said
    return str(said["text"])


def refused(path: Path, data: bytes | None = None, kind: str = "") -> str:
    said = answer(path, data, kind)
    assert "refused" in said, said
    return str(said["refused"])


def zipped(files: dict[str, str | bytes]) -> bytes:
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
    return zipped({name.replace("/", slash): content for name, content in files.items()})


def paragraph(inside: str) -> str:
    return f"<w:p><w:r>{inside}</w:r></w:p>"


def stored(command: Command, column: str) -> dict[str, str]:
    """A column of documents or files, by the keys without the directory."""
    sql = f"SELECT key, {column} FROM documents LEFT JOIN files USING (doc_id)"
    return {key.removeprefix("d/"): value for key, value in command.rows(sql)}


def broken_library(command: Command, name: str, module: str, program: str) -> Command:
    """The command where a module of a library is this program."""
    (library := command.path("library", name)).mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / f"{module}.py").write_text(program)
    return Command(command.directory, {"PYTHONPATH": str(library.parent)})
