"""Web pages: HTML by its own rules, by selectolax, and XHTML as XML first, by lxml."""

import re
from collections.abc import Iterator

from lshdb.apps.documents.extraction import labels
from lshdb.apps.documents.extraction.kinds import Metadata
from lshdb.apps.documents.extraction.packages import tree
from lshdb.read import encodings

_BLOCKS = (
    "address,article,aside,blockquote,br,body,button,caption,center,dd,details,dialog,dir,div,dl,"
    "dt,fieldset,figcaption,figure,footer,form,h1,h2,h3,h4,h5,h6,header,hgroup,hr,iframe,img,"
    "legend,li,main,menu,nav,object,ol,optgroup,option,p,pre,search,section,select,summary,table,"
    "tbody,td,textarea,tfoot,th,thead,tr,ul,video"
)
"""Elements that are shown apart from the text around them."""
_LEFT_OUT = "script,style,template,noscript,head"
_VALUES = ",".join(
    f"input[type={kind}][value]"
    for kind in ("text", "search", "email", "tel", "url", "number", "date", "time", "month", "week")
)
_LABEL = re.compile(rb"""<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([^\s"'/>;]+)""", re.I)
_XML_LABEL = re.compile(rb"""<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w.:-]+)""")
_XHTML = re.compile(rb"<\?xml\b|http://www\.w3\.org/1999/xhtml|-//W3C//DTD XHTML")
_PROBE = 4096
"""Bytes at the beginning of a page in which its label is looked for; browsers take 1,024."""
_CLOSED = re.compile(
    r"<((title|script|style|iframe|textarea|noscript|template|xmp|noframes|a|div|span|p)"
    r"(?![\w.:-])[^<>]*?)/>",
    re.I,
)
"""Empty elements of XHTML that HTML's rules take for the beginning of one."""


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The text of a file."""
    with open(path, "rb") as file:
        yield page(file.read(), about)


def page(data: bytes, about: Metadata, label: str = "", *, is_xhtml: bool = False) -> str:
    """The text of a web page, without its scripts and styles.

    Args:
        data: the page.
        about: gets its title and author.
        label: of its encoding, from outside of it.
        is_xhtml: whether it is XHTML, although its beginning may not say so.
    """
    start = data[:_PROBE]
    is_xhtml = is_xhtml or _XHTML.search(start) is not None
    if is_xhtml and (text := _of_xml(data, label)) is not None:
        return _text(text, about)
    for pattern in (_LABEL, _XML_LABEL):
        if not label and (match := pattern.search(start)):
            label = match[1].decode("ascii", "replace")
    text = labels.decoded(data, label)
    if is_xhtml:
        text = _CLOSED.sub(r"<\1></\2>", text)
    return _text(text, about)


def _of_xml(data: bytes, label: str) -> str | None:
    """XHTML as HTML, if it is whole XML; None if not."""
    from lxml import etree

    if label or encodings.of_mark(data) is None:
        match = _XML_LABEL.search(data[:_PROBE])
        text = labels.decoded(data, label or (match[1].decode() if match else ""))
        data = re.sub(r"^\s*<\?xml\b[^>]*\?>", "", text, count=1).encode("utf-8", "replace")
    try:
        root = tree(data, {}, "", recover=False)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return str(etree.tostring(root, encoding="unicode", method="html"))


def _text(markup: str, about: Metadata) -> str:
    """The text of HTML, with a line for each block."""
    from selectolax.lexbor import LexborHTMLParser

    parsed = LexborHTMLParser(markup.encode("utf-8", "surrogatepass"))
    if (title := parsed.css_first("title")) is not None:
        about["title"] = title.text()
    if (author := parsed.css_first("meta[name=author]")) is not None:
        about["author"] = author.attributes.get("content")
    for node in parsed.css(_VALUES):
        node.insert_before(f" {node.attributes.get('value') or ''} ")
    for node in parsed.css(_LEFT_OUT):
        node.decompose()
    for node in parsed.css(_BLOCKS):
        node.insert_before("\n")
        node.insert_after("\n")
    for node in parsed.css("a+a"):
        node.insert_before(" ")
    return parsed.root.text() if parsed.root is not None else ""
