"""EPUB: chapters of XHTML in the order of the book's list."""

import os
import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from lshdb.apps.documents.extraction.kinds import Metadata, Refused, noted
from lshdb.apps.documents.extraction.packages import LOCKED, Package, joined
from lshdb.apps.documents.extraction.web import page


def chapters(path: str, about: Metadata) -> Iterator[str]:
    """The chapters; one that cannot be read, or is locked, does not cost the others."""
    package = Package(path)
    name = _list_of(package)
    book = package.tree(name)
    package.properties(about, name)
    folder = os.path.dirname(name)
    items = {
        item.get("id"): unquote((item.get("href") or "").partition("#")[0])
        for item in book.iter("{*}item")
    }
    locked = _locked(package)
    order = [element.get("idref") or "" for element in book.iter("{*}itemref")]
    parts = [posixpath.join(folder, items[idref]) if items.get(idref) else idref for idref in order]
    read = 0
    for part in dict.fromkeys(parts):
        with noted(about, part):
            if os.path.normpath(part).lower() in locked:
                raise Refused(LOCKED)
            yield page(package.read(part), {}, is_xhtml=True)
            read += 1
    if not read:
        damaged = about.get("damaged") or ["it lists no chapters"]
        raise Refused(LOCKED if all(LOCKED in why for why in damaged) else damaged[0])


def _list_of(package: Package) -> str:
    """The name of the part that lists the chapters."""
    container = "META-INF/container.xml"
    if container in package:
        for element in package.tree(container).iter("{*}rootfile"):
            name = str(element.get("full-path") or "")
            if name in package:
                return name
    lists = [name for name in package.names if name.endswith(".opf")]
    if not lists:
        raise Refused("it has no list of its chapters")
    return lists[0]


def _locked(package: Package) -> set[str]:
    """The parts that are encrypted, in small letters."""
    name = "META-INF/encryption.xml"
    if name not in package:
        return set()
    references = package.tree(name).iter("{*}CipherReference")
    uris = (unquote(element.get("URI") or "") for element in references)
    return {joined("", uri).lower() for uri in uris}
