"""The text of PDFs: forms, what is drawn over a page, lines of turned pages."""

from __future__ import annotations

import itertools
from pathlib import Path

import documents
import pytest
from documents import text_of
from helpers import Command


def form(path: Path, values: dict[str, str], *, is_checked: bool = False) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path))
    canvas.drawString(72, 700, "Application for a ferry ticket")
    for row, (name, value) in enumerate(values.items()):
        canvas.acroForm.textfield(name=name, value=value, x=72, y=600 - 40 * row, forceBorder=True)
    canvas.acroForm.checkbox(name="return", checked=is_checked, x=72, y=400)
    canvas.save()


@pytest.mark.extra("documents")
def test_values_of_forms_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    form(path, {"name": "Ann", "town": ""})
    assert text_of(path) == "Application for a ferry ticket\nAnn"
    # Also where the program that filled it in has not drawn them.
    field = (
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ann)/Rect[72 500 272 550]/F 4/DA(/F 9 Tf)>>"
    )
    drawn = b"/AcroForm<</Fields[]/DA(/F 9 Tf)/DR<</Font<</F 5 0 R>>>>>>"
    assert text_of(path, annotated(field, form=drawn)) == "the contract\nAnn"


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


@pytest.mark.extra("documents")
def test_what_is_drawn_over_a_page_is_read(tmp_path: Path) -> None:
    where = b"/Rect[72 500 272 550]/AP<</N 6 0 R>>"
    stamp, hidden = (b"<</Type/Annot/Subtype/Stamp/F %d%s>>" % (flag, where) for flag in (4, 2))
    assert text_of(tmp_path / "a.pdf", annotated(stamp)) == "the contract\nPAID IN MAY"
    assert text_of(tmp_path / "a.pdf", annotated(hidden)) == "the contract"


@pytest.mark.extra("documents")
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
    assert [page.split("\n") for page in text_of(tmp_path / "a.pdf").split("\n\f")] == pages


@pytest.mark.extra("documents")
def test_a_page_that_is_damaged_is_named(command: Command) -> None:
    documents.long_pdf(command.path("a.pdf"), 3)
    data = command.path("a.pdf").read_bytes()
    second = data.index(b"/Type/Page/", data.index(b"/Type/Page/") + 1)
    command.path("a.pdf").write_bytes(data[:second] + b"/Type/Pagx/" + data[second + 11 :])
    done = command.done("add", "a.pdf", "--list-skipped")
    assert "a.pdf: read without 1 damaged: page 2: " in done.err
    assert "read without a page or part that is damaged: 1" in done.err
    columns = "metadata ->> '$.damaged[0]', content"
    ((damaged, content),) = command.rows(f"SELECT {columns} FROM documents")
    assert str(damaged).startswith("page 2: ")
    assert [bool(page.strip()) for page in str(content).split("\f")] == [True, False, True]
