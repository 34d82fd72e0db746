"""OpenDocument: texts and presentations."""

from collections.abc import Iterator
from typing import Any

from lshdb.apps.documents.extraction.kinds import Metadata, Refused, noted
from lshdb.apps.documents.extraction.packages import LOCKED, Package, detach, named, take_out

_LEFT_OUT = ("tracked-changes", "scripts", "note-citation", "forms")
_ASIDE = ("note", "annotation", "text-box", "ruby-text")
"""Elements in a paragraph whose text is not part of it."""
_BLOCKS = ("p", "h", "title", "desc", "page", "notes", "table-cell", "list-item")
_BREAKS = {"line-break": "\n", "tab": "\t", "s": " "}
_HEADERS = ("header", "footer", "header-left", "footer-left", "header-first", "footer-first")
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The text, then headers and footers."""
    package = Package(path)
    if b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise Refused(LOCKED)
    package.properties(about, "meta.xml")
    root = package.tree("content.xml", about)
    yield _text_of(root)
    if (part := "styles.xml") in package:
        with noted(about, part):
            styles = package.tree(part, about)
            headers = [*named(styles, _HEADERS)]
            yield "\n".join(dict.fromkeys(map(_text_of, headers)))


def _text_of(root: Any) -> str:
    """The text of an element, and after it the notes and boxes in its paragraphs."""
    take_out(root, _LEFT_OUT)
    aside = [
        element
        for element in named(root, _ASIDE)
        if next(element.iterancestors("{*}p", "{*}h"), None) is not None
    ]
    for element in aside:
        detach(element)
    return "\n".join(_plain(element) for element in (root, *aside))


def _plain(root: Any) -> str:
    """All text of an element, with blanks and lines where they are shown."""
    for element in [*root.iter(f"{_DUBLIN_CORE}creator", f"{_DUBLIN_CORE}date")]:
        element.text = None
    for element in named(root, _BREAKS):
        element.text = _BREAKS[element.tag.rpartition("}")[2]]
    for element in named(root, _BLOCKS):
        element.text = "\n" + (element.text or "")
        if element.tail:
            element.tail = "\n" + element.tail
    return "".join(root.itertext("{*}*"))
