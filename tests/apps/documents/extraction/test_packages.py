"""Packages of parts and their XML: entities, and files that are other than their name says."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import R, W, answer, paragraph, refused, relations, word, zipped


@pytest.mark.extra("documents")
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
        ("a.odt", zipped(parts)),
        ("a.docx", zipped({"word/document.xml": docx})),
        (
            "a.xhtml",
            f"{declared}<html xmlns='http://www.w3.org/1999/xhtml'>{words}</html>".encode(),
        ),
    ):
        said = answer(tmp_path / name, data)
        assert said["text"] == f"before {shown} after & more", name
        assert ("damaged" in said["metadata"]) == (is_noted and name != "a.xhtml")


def sheet(rows: str, slash: str = "/") -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return zipped(
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


@pytest.mark.extra("documents")
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
