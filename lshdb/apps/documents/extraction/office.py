"""Word and PowerPoint: XML parts that name each other by relationships."""

from collections.abc import Iterator, Sequence
from typing import Any

from lshdb.apps.documents.extraction.kinds import Metadata, Refused, noted
from lshdb.apps.documents.extraction.packages import Package, named, take_out

_BREAKS = {
    **dict.fromkeys(("p", "br", "cr"), "\n"),
    **dict.fromkeys(("tab", "ptab"), "\t"),
    "noBreakHyphen": "-",
}
"""The text that replaces an element."""
_LEFT_OUT = ("moveFrom", "delText", "instrText")
_ASIDE = ("txbxContent", "rt")
"""Text in a paragraph that is not part of it: text boxes, and readings of characters."""
_OF_WORD = (
    *("footnotes", "endnotes", "comments", "diagramData", "chart", "aFChunk", "header", "footer"),
)
_OF_SLIDE = ("diagramData", "chart", "notesSlide", "comments")
"""The types of related parts that have text, in the order in which it is read."""
_NAMES = {"chart": ("p", "t", "v"), "comments": (*_BREAKS, "t", "text", "sym")}
_TEXT = (*_BREAKS, "t", "sym")
"""The elements of text, of parts of some types and of others."""


def word(path: str, about: Metadata) -> Iterator[str]:
    """The parts of a Word file: the text, notes, drawings, and headers."""
    package = Package(path)
    package.properties(about)
    if not (main := package.main_part()):
        raise Refused("it has no document part")
    yield read_part(package, main, about)
    headers = set[str]()
    for kind, text in _related(package, main, about, _OF_WORD):
        if kind not in ("header", "footer") or text.strip() not in headers:
            yield text
            headers.add(text.strip())


def _related(
    package: Package, part: str, about: Metadata, kinds: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The texts of the parts of these types that a part refers to, each with its type."""
    related = package.related(part)
    for kind in kinds:
        targets = [target for _, related_kind, target in related if related_kind == kind]
        for name in dict.fromkeys(targets):
            with noted(about, name):
                if kind == "aFChunk":
                    raise Refused("a file of its own, which is not read")
                yield kind, read_part(package, name, about, _NAMES.get(kind, _TEXT))


def slides(path: str, about: Metadata) -> Iterator[str]:
    """The slides of a presentation in their order, each with its drawings and notes."""
    package = Package(path)
    package.properties(about)
    if not (main := package.main_part()):
        raise Refused("it has no presentation part")
    related = package.related(main)
    names = {slide_id: target for slide_id, kind, target in related if kind == "slide"}
    order = [_attribute(element, "id") for element in package.tree(main).iter("{*}sldId")]
    listed = [names[slide_id] for slide_id in order if slide_id in names]
    for name in dict.fromkeys([*listed, *names.values()]):
        texts = []
        with noted(about, name):
            texts.append(read_part(package, name, about))
            texts += (text for _, text in _related(package, name, about, _OF_SLIDE))
        yield "\n".join(texts)


def read_part(package: Package, part: str, about: Metadata, names: Sequence[str] = _TEXT) -> str:
    """The text of a part, in the elements of these names."""
    root = package.tree(part, about)
    take_out(root, _LEFT_OUT)
    for alternatives in root.iter("{*}AlternateContent"):
        if next(alternatives.iter("{*}Choice"), None) is not None:
            for fallback in [*alternatives.iterchildren("{*}Fallback")]:
                alternatives.remove(fallback)
    for field in [*root.iter("{*}fld")]:
        if field.get("type") == "slidenum":
            field.getparent().remove(field)
    aside = take_out(root, _ASIDE)
    return "\n".join(_text_in(element, names) for element in (root, *aside))


def _text_in(root: Any, names: Sequence[str]) -> str:
    parts: list[str] = []
    for element in named(root, names):
        name = element.tag.rpartition("}")[2]
        if name in ("t", "text", "v"):
            parts.append(element.text or "")
            if name != "t":
                parts.append("\n")
        elif name == "sym":
            parts.append(_symbol(element))
        else:
            # Tab stops are tabs, too.
            parent = element.getparent()
            is_stop = parent is not None and parent.tag.endswith(("}tabs", "}tabLst"))
            parts.append("" if is_stop else _BREAKS[name])
    return "".join(parts)


def _attribute(element: Any, name: str) -> str:
    """An attribute of this name in any namespace; empty without one."""
    attributes = (value for key, value in element.attrib.items() if key.endswith(f"}}{name}"))
    return str(next(attributes, ""))


def _symbol(element: Any) -> str:
    """The character of a symbol, which is that of its font."""
    try:
        code = int(_attribute(element, "char"), 16)
    except ValueError:
        return ""
    return chr(code) if code < 0xD800 or 0xE000 <= code <= 0x10FFFF else ""
