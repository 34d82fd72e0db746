"""The kinds of files that apps read: what the core says of a file whose reader is missing."""

import os
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of files.

    Attributes:
        name: as people call it.
        suffixes: of its files, separated by spaces.
        is_text: whether a file is read as the text that it is, where documents are not.
    """

    name: str
    suffixes: str = ""
    is_text: bool = False


KINDS = {
    "pdf": Kind("PDF", ".pdf"),
    "docx": Kind("Word", ".docx .docm .dotx"),
    "pptx": Kind("PowerPoint", ".pptx .pptm .ppsx"),
    "odt": Kind("OpenDocument", ".odt .odp"),
    "xlsx": Kind("sheets", ".xlsx .xlsm .xlsb .xls .ods"),
    "epub": Kind("EPUB", ".epub"),
    "html": Kind("HTML", ".html .htm .xhtml", is_text=True),
    "rtf": Kind("RTF", ".rtf", is_text=True),
    "eml": Kind("mail", ".eml .emlx .mht .mhtml", is_text=True),
    "mbox": Kind("mail", ".mbox .mbx", is_text=True),
    "ipynb": Kind("notebook", ".ipynb", is_text=True),
    "zip": Kind("ZIP"),
}
_OF_SUFFIX = {suffix: name for name, kind in KINDS.items() for suffix in kind.suffixes.split()}
PROBE = 1024
"""First bytes of a file that show its kind."""
ARCHIVES = (".zip", ".tgz", ".tar")
"""Suffixes of archives, which are read as directories; a tar may be compressed."""


def kind_of(path: str) -> str:
    """The kind of a file by its suffix; empty for others."""
    return _OF_SUFFIX.get(os.path.splitext(path)[1].lower(), "")
