"""What reads the kinds of documents: their libraries, in one table; and their first bytes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from lshdb.read.kinds import KINDS, PROBE

Metadata = dict[str, Any]


class Refused(Exception):
    """Why a file gives no text, in words for the user."""


class Library(NamedTuple):
    """What reads a kind of documents.

    Attributes:
        name: of the library, as it is installed; empty for Python's own.
        reader: the module and function that yields the pages (chapters, slides, sheets; or one
            text) of a path, and adds to the metadata.
    """

    name: str
    reader: str


LIBRARIES = {
    "pdf": Library("pypdfium2", "pdf.pages"),
    "docx": Library("lxml", "office.word"),
    "pptx": Library("lxml", "office.slides"),
    "odt": Library("lxml", "opendocument.pages"),
    "xlsx": Library("python-calamine", "sheets.pages"),
    "epub": Library("lxml", "books.chapters"),
    "html": Library("selectolax", "web.pages"),
    "rtf": Library("striprtf", "rtf.pages"),
    "eml": Library("", "mail.pages"),
    "mbox": Library("", "mail.pages"),
    "ipynb": Library("", "notebooks.cells"),
    "zip": Library("lxml", "packages.none"),
}
"""Of each kind in `lshdb.read.kinds`."""
_STARTS = {start.lower(): name for name in LIBRARIES for start in KINDS[name].starts}
"""The first bytes of documents, in small letters."""
HEADER = re.compile(rb"[!-9;-~]+[ \t]*:")
"""How a line of a header of mail begins."""
SEPARATOR = re.compile(rb"From (?:\S.{0,400}?\b\d{1,2}:\d\d\b.{0,60}?\b\d{4}\b.{0,60}|-? *)\r?\n?")
"""The line before a message of a mailbox: it has a time and a year, or nothing, as of
Thunderbird."""


def kind_of_start(start: bytes) -> str | None:
    """The kind of a document by its first bytes; None for a text."""
    small = start[:PROBE].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for sign, kind in _STARTS.items():
        if small.startswith(sign):
            return kind
    if not start.startswith(b"From "):
        return None
    first, _, following = start.partition(b"\n")
    return "mbox" if separates(first, following) else None


def separates(line: bytes, following: bytes) -> bool:
    """Whether a line separates messages of a mailbox: it has a date, and a header follows."""
    return bool(SEPARATOR.fullmatch(line) and HEADER.match(following.removeprefix(b">")))


def note_damage(about: Metadata, part: str, error: Exception) -> None:
    """Note a part that cannot be read of a document whose other parts are read."""
    reason = (str(error).strip("'\" \n") or type(error).__name__).splitlines()[0]
    about.setdefault("damaged", []).append(f"{part}: {reason:.200}")


@contextmanager
def noted(about: Metadata, part: str) -> Iterator[None]:
    """Note a part that cannot be read in the block, whichever library says so."""
    try:
        yield
    except Exception as error:
        note_damage(about, part, error)
