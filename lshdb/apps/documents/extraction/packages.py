"""ZIP files of parts, as of Office, OpenDocument and EPUB; and XML."""

import html
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile, ZipInfo

from lshdb.apps.documents.extraction.kinds import Metadata, Refused, note_damage

_UNPACKED = 1 << 29
"""Bytes that a ZIP file may say that it has when it is unpacked."""
LOCKED = "encrypted: it asks for a password"
_PROPERTIES = {
    "title": "title",
    "creator": "author",
    "initial-creator": "author",
    "created": "created",
    "creation-date": "created",
    "modified": "modified",
    "date": "modified",
}
"""Names of metadata, by those of Office, OpenDocument and EPUB."""
_NOT_OF_XML = re.compile(rb"&(?!(?:#\d+|#x[\da-fA-F]+|amp|lt|gt|quot|apos);)(?:[A-Za-z]\w{0,40};)?")
"""A reference that XML does not know without a declaration, or a bare `&`."""
_MIME_TYPES = (
    ("application/epub", "epub"),
    ("application/vnd.oasis.opendocument.spreadsheet", "xlsx"),
    ("application/vnd.oasis.opendocument", "odt"),
)
_OFFICE_TYPES = {
    "wordprocessingml": "docx",
    "ms-word": "docx",
    "presentationml": "pptx",
    "ms-powerpoint": "pptx",
    "spreadsheetml": "xlsx",
    "ms-excel": "xlsx",
}
"""What the content type of the main part of an Office file has in it."""


class Package:
    """A ZIP file whose parts have slashes and small letters, however a program wrote them.

    Raises:
        Refused: it unpacks to more than the limit.
    """

    def __init__(self, path: str) -> None:
        self._archive = ZipFile(path)
        entries = self._archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > _UNPACKED:
            raise Refused(f"a ZIP file that unpacks to {size:,} bytes; {_UNPACKED:,} are the limit")
        self._entries: dict[str, ZipInfo] = {_small(entry.filename): entry for entry in entries}

    def __contains__(self, name: str) -> bool:
        return _small(name) in self._entries

    @property
    def names(self) -> list[str]:
        """The names of the parts, in small letters."""
        return [*self._entries]

    def read(self, name: str) -> bytes:
        """A part; KeyError if no part has this name."""
        entry = self._entries.get(_small(name)) or self._entries.get(_small(unquote(name)))
        if entry is None:
            raise KeyError(f"it has no {name}")
        if entry.flag_bits & 1:
            raise Refused(LOCKED)
        return self._archive.read(entry)

    def tree(self, name: str, about: Metadata | None = None) -> Any:
        """The root of a part of XML; see `tree`."""
        return tree(self.read(name), {} if about is None else about, name)

    def related(self, part: str = "") -> list[tuple[str, str, str]]:
        """The parts that a part, or the package, refers to: the id, type and name of each."""
        folder, name = os.path.split(part)
        rels = os.path.join(folder, "_rels", f"{name}.rels")
        if rels not in self:
            return []
        relations = []
        for element in self.tree(rels).iter("{*}Relationship"):
            kind = (element.get("Type") or "").rpartition("/")[2]
            target = (element.get("Target") or "").replace("\\", "/")
            if target and (element.get("TargetMode") or "").lower() != "external":
                relations.append((element.get("Id") or "", kind, joined(folder, target)))
        return relations

    def main_part(self) -> str:
        """The main part of an Office file; empty if it has none."""
        for _, kind, target in self.related():
            if kind == "officeDocument" and target in self:
                return target
        usual = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml", "xl/workbook.bin")
        return next((name for name in usual if name in self), "")

    def properties(self, about: Metadata, name: str = "docProps/core.xml") -> None:
        """Add the title, author and days of Office's and OpenDocument's metadata."""
        if name not in self:
            return
        from lxml import etree

        try:
            elements = self.tree(name).iter("{*}*")
        except etree.XMLSyntaxError:
            return  # the text is there
        for element in elements:
            name = _PROPERTIES.get(element.tag.rpartition("}")[2], "")
            if name and element.text:
                about[name] = element.text[:10] if name in ("created", "modified") else element.text


def _small(name: str) -> str:
    """The name of a part as it is looked up."""
    return os.path.normpath(name.replace("\\", "/").lstrip("/")).lower()


def joined(folder: str, target: str) -> str:
    """The name of a part, from a folder on or from the root."""
    return os.path.normpath(target if target.startswith("/") else f"{folder}/{target}").lstrip("/")


def tree(data: bytes, about: Metadata, part: str, *, recover: bool = True) -> Any:
    """The root of an XML file, which has the entities that it declares itself and fetches nothing.

    In a file with others, or too many of them, the entities of HTML are characters, and references
    to the rest stay as they are written.

    Args:
        data: the file; blank lines before it are no matter.
        about: gets a note of damage if the file is not well-formed.
        part: its name in the note.
        recover: whether what is not XML is left out as far as the parser can go on.

    Raises:
        XMLSyntaxError: the file cannot be parsed.
    """
    from lxml import etree

    data = data.lstrip()
    options = {"resolve_entities": "internal", "no_network": True}
    try:
        return etree.fromstring(data, etree.XMLParser(**options))
    except etree.XMLSyntaxError as error:
        characters = _NOT_OF_XML.sub(_characters, data)
        root = etree.fromstring(characters, etree.XMLParser(**options, recover=recover))
        if root is None:
            raise
        note_damage(about, part, error)
        return root


def _characters(match: re.Match[bytes]) -> bytes:
    """A reference to an entity of HTML as numbers, which XML knows; another one as it is shown."""
    return "".join(
        f"&#{ord(character)};" for character in html.unescape(match[0].decode())
    ).encode()


def named(root: Any, names: Iterable[str]) -> Any:
    """The elements of a tree with these names, in whatever namespace, in their order."""
    return root.iter(*(f"{{*}}{name}" for name in names))


def take_out(root: Any, names: Iterable[str]) -> list[Any]:
    """Take elements of these names out of a tree, but not the text behind them."""
    elements = [element for element in named(root, names) if element.getparent() is not None]
    for element in elements:
        detach(element)
    return elements


def detach(element: Any) -> None:
    """Take one element out of its tree, but not the text behind it."""
    parent, before = element.getparent(), element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    element.tail = None
    parent.remove(element)


def kind_of(package: Package) -> str | None:
    """The kind of a document in a ZIP file, by its parts; None if it is no document."""
    if "mimetype" in package:
        mime_type = package.read("mimetype")[:200].decode("ascii", "replace").strip()
        for start, kind in _MIME_TYPES:
            if mime_type.startswith(start):
                return kind
    if main := package.main_part():
        types = ""
        if "[Content_Types].xml" in package:
            for element in package.tree("[Content_Types].xml").iter("{*}Override"):
                if joined("", element.get("PartName") or "").lower() == main.lower():
                    types = element.get("ContentType") or ""
        for sign, kind in _OFFICE_TYPES.items():
            if sign in types:
                return kind
        folder = main.lower().partition("/")[0]
        return {"word": "docx", "ppt": "pptx", "xl": "xlsx"}.get(folder)
    if "META-INF/container.xml" in package:
        return "epub"
    return "odt" if "content.xml" in package else None


def none(path: str, _: Metadata) -> Iterator[str]:
    """No text: a ZIP file that is no document."""
    raise Refused("a ZIP file that is no document")
    yield path
