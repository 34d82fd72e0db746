"""PDF, by pypdfium2: the text of its pages, and of what is drawn over them, such as forms."""

import math
import re
from collections.abc import Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from lshdb.apps.documents.extraction.kinds import Metadata, Refused, note_damage
from lshdb.apps.documents.extraction.packages import LOCKED

_SAMPLE = 8
"""Characters of a page whose angles are looked at."""


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The text of the pages, with what is drawn over them."""
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
    failed = 0
    for index in range(len(pdf)):
        text = ""
        try:
            page = pdf[index]
            if _is_drawn_over(page.raw):
                pdfium.FPDFPage_Flatten(page.raw, pdfium.FLAT_NORMALDISPLAY)
                page.close()
                page = pdf[index]
            text = _upright(page).get_text_range()
            page.close()
        except Exception as error:  # of pypdfium2, or of ctypes
            failed += 1
            if failed == len(pdf):
                raise
            note_damage(about, f"page {index + 1}", error)
        yield text


def _upright(page: Any) -> Any:
    """The text of a page that is turned so that most of it is upright.

    PDFium gives the lines of a text that is read downwards from the last one to the first.
    """
    text = page.get_textpage()
    count = text.count_chars()
    indices = range(0, count, count // _SAMPLE + 1)
    angles = sorted(pdfium.FPDFText_GetCharAngle(text, index) for index in indices)
    quarters = round(angles[len(angles) // 2] / (math.pi / 2)) if angles else 0
    rotation = -quarters * 90 % 360
    if angles and rotation != page.get_rotation():
        page.set_rotation(rotation)
        return page.get_textpage()
    return text


def _day(text: str) -> str:
    """The day of a date of PDF, such as D:20250208122313Z."""
    match = re.match(r"(?:D:)?(\d{4})(\d\d)(\d\d)", text)
    return "-".join(match.groups()) if match else ""


def _is_drawn_over(page: Any) -> bool:
    """Whether something, such as a filled form or a stamp, is drawn over a page."""
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
        pdfium.FPDFPage_CloseAnnot(annotation)
        if subtype not in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
            return True
    return False
