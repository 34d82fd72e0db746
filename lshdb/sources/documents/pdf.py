"""PDF, by pypdfium2: the text of its pages, and the form fields, notes and stamps on them."""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from .kinds import Metadata, Refused, note_damage
from .packages import LOCKED, tree

_PASSWORD = 1 << 13
"""The flag of a field that shows no letters; its value is not read."""
_SAMPLE = 16
"""Characters of a page whose angles are looked at."""


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The pages, each with the fields and notes on it after its text."""
    try:
        pdf = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if error.err_code == 4:  # FPDF_ERR_PASSWORD
            raise Refused(LOCKED) from error
        raise
    properties = pdf.get_metadata_dict()
    about.update(title=properties["Title"], author=properties["Author"], pages=len(pdf))
    about.update(created=_day(properties["CreationDate"]), modified=_day(properties["ModDate"]))
    if pdf.get_formtype():
        pdf.init_forms()
    form = pdf.formenv.raw if pdf.formenv else None
    failed = 0
    for index in range(len(pdf)):
        text = ""
        try:
            page = pdf[index]
            text = _upright(page).get_text_range()
            lines = [*_annotations(page.raw, form)]
            has_stamps = pdfium.FPDF_ANNOT_STAMP in _subtypes(page.raw)
            page.close()
            if has_stamps:
                text = _text_with_stamps(pdf, index)
            text += "".join(f"\n{line}" for line in lines)
        except Exception as error:  # of pypdfium2, or of ctypes
            failed += 1
            if failed == len(pdf):
                raise
            note_damage(about, f"page {index + 1}", error)
        if form is not None and index == len(pdf) - 1:
            text = "\n".join([text, *_dynamic_fields(pdf)])
        yield text


def _upright(page: Any) -> Any:
    """The text of a page that is turned so that most of it is upright.

    PDFium gives the lines of a text that is read downwards from the last one to the first.
    """
    text = page.get_textpage()
    count = text.count_chars()
    angles = Counter(
        round(math.degrees(pdfium.FPDFText_GetCharAngle(text, index)) / 90) * 90 % 360
        for index in range(0, count, count // _SAMPLE + 1)
    )
    for angle, _ in angles.most_common(1):
        if (rotation := -angle % 360) != page.get_rotation():
            page.set_rotation(rotation)
            return page.get_textpage()
    return text


def _day(text: str) -> str:
    """The day of a date of PDF, such as D:20250208122313Z."""
    match = re.match(r"(?:D:)?(\d{4})(\d\d)(\d\d)", text)
    return "-".join(match.groups()) if match else ""


def _annotations(page: Any, form: Any) -> Iterator[str]:
    """The fields of forms that have a value, notes, free text and stamps on a page."""
    for annotation in _opened(page):
        if pdfium.FPDFAnnot_GetFlags(annotation) & pdfium.FPDF_ANNOT_FLAG_HIDDEN:
            continue
        line, subtype = "", pdfium.FPDFAnnot_GetSubtype(annotation)
        if subtype == pdfium.FPDF_ANNOT_WIDGET:
            line = _field(form, annotation) if form else ""
        elif subtype not in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
            line = _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
        if line.strip():
            yield line


def _opened(page: Any) -> Iterator[Any]:
    """The annotations of a page, each open until the next one."""
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        try:
            yield annotation
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _subtypes(page: Any) -> list[int]:
    """The types of the annotations of a page."""
    return [pdfium.FPDFAnnot_GetSubtype(annotation) for annotation in _opened(page)]


def _field(form: Any, annotation: Any) -> str:
    """The name and value of a field of a form; empty without a value."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    flags = pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation)
    if kind in (pdfium.FPDF_FORMFIELD_PUSHBUTTON, pdfium.FPDF_FORMFIELD_SIGNATURE):
        return ""
    if kind == pdfium.FPDF_FORMFIELD_TEXTFIELD and flags & _PASSWORD:
        return ""
    name = _string(pdfium.FPDFAnnot_GetFormFieldName, form, annotation)
    if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
        if not pdfium.FPDFAnnot_IsChecked(form, annotation):
            return ""
        value = _string(pdfium.FPDFAnnot_GetFormFieldExportValue, form, annotation) or "x"
    else:
        value = _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
        chosen = [
            _string(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, index)
            for index in range(max(0, pdfium.FPDFAnnot_GetOptionCount(form, annotation)))
            if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, index)
        ]
        value = ", ".join(chosen) or value
    return f"{name}: {value}" if value.strip() else ""


def _string(function: Callable[..., int], *arguments: Any) -> str:
    """A text that a function of PDFium writes into a buffer, in UTF-16 with a NUL."""
    size = function(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _text_with_stamps(pdf: Any, index: int) -> str:
    """The text of a page on which the stamps are drawn, as they often have no other text."""
    page = pdf[index]
    for number, subtype in reversed([*enumerate(_subtypes(page.raw))]):
        if subtype != pdfium.FPDF_ANNOT_STAMP:
            pdfium.FPDFPage_RemoveAnnot(page.raw, number)
    pdfium.FPDFPage_Flatten(page.raw, pdfium.FLAT_NORMALDISPLAY)
    page.close()
    return str(pdf[index].get_textpage().get_text_range())


def _dynamic_fields(pdf: Any) -> Iterator[str]:
    """The values of a form whose pages a program makes (XFA); its pages only ask for that one."""
    for index in range(pdfium.FPDF_GetXFAPacketCount(pdf.raw)):
        size = pdfium.FPDF_GetXFAPacketName(pdf.raw, index, None, 0)
        name = ctypes.create_string_buffer(max(size, 1))
        pdfium.FPDF_GetXFAPacketName(pdf.raw, index, name, size)
        if name.value != b"datasets":
            continue
        length = ctypes.c_ulong()
        pdfium.FPDF_GetXFAPacketContent(pdf.raw, index, None, 0, length)
        data = ctypes.create_string_buffer(max(length.value, 1))
        pdfium.FPDF_GetXFAPacketContent(pdf.raw, index, data, length.value, length)
        for element in tree(data.raw, {}, "").iter("{*}*"):
            if (value := element.text or "").strip():
                yield f"{element.tag.rpartition('}')[2]}: {value.strip()}"
