"""The text of PDF, Word, slides, spreadsheets, web pages, books and mail: a table of formats.

This file is also a program of its own (see `extracting`, which starts it): it reads files of
strangers, so it imports neither numpy nor the rest of lshdb, and may be killed at any time. It
reads jobs from standard input and writes what it finds to standard output, each a JSON object on a
line.

A format is a function of some lines over a library that is imported when such a file comes. It
yields a document's pages (chapters, slides, sheets; or one text), and adds to its metadata. What
loads long is imported where it is used, for most commands import this table only.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from zipfile import ZipFile

Metadata = dict[str, Any]

_MEMORY = 2 << 30
"""Bytes of memory of this process, where the system can limit them."""
_UNPACKED = 1 << 29
"""Bytes that a ZIP file may say that it has when it is unpacked."""
_BLOCKS = (
    "address,article,blockquote,br,dd,div,dt,figcaption,h1,h2,h3,h4,h5,h6,hr,li,p,pre,td,th,tr"
)
_EDGE = 3
"""Pages on which a line at the upper or lower edge stands, if it is a header or footer; and how
many lines an edge has."""
_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.)?\s*(?:\d+|[ivxlc]+)(?:\s*(?:of|von|/)\s*\d+)?\W*", re.I
)
"""A line that is the number of a page."""
_HYPHEN = re.compile(r"\b(\w+)(?:\ufffe|[-\u2010]\n)([^\W\d_]\w*)")
"""A word that is cut at the end of a line; U+FFFE is PDFium's sign for that."""
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_COMPOUND = re.compile(r"\b\w+-\w+")
_CHARACTERS = {
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\0"), None),
    **dict(zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)),
}
"""Soft hyphens, what has no width, and ligatures; with what stands for each."""
_BREAKS = {**dict.fromkeys(("p", "h", "br", "cr", "line-break"), "\n"), "tab": "\t", "s": " "}
"""What stands for an element of Word, PowerPoint or OpenDocument."""
_LEFT_OUT = {"Fallback", "moveFrom", "tracked-changes", "annotation", "forms", "scripts"}
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
_QUOTED = re.compile(r"(?m)^(?:>.*|On .{1,200} wrote:\s*|-+ ?Original Message ?-+(?s:.*))$\n?")
_LONG = 2_000
"""Characters of a header that Python parses: 100,000 of addresses take minutes."""
_ENCODED = re.compile(r"=\?([^?\s*]{1,60})(?:\*[^?\s]{1,60})?\?([bqBQ])\?([^?]*)\?=(?:\s+(?==\?))?")
"""A word of a header in another encoding than ASCII."""
_NAMING = re.compile(rb"(?im)^(from|to|date|subject|message-id):(.*(?:\r?\n[ \t].*)*)")
"""Headers that name a message; programs of mail change others, such as Status."""
_BLANK = re.compile(rb"\r?\n\r?\n")
_LARGEST_MESSAGE = 1 << 28
"""Bytes of a message with its attachments, which Python's parser takes five times in memory."""
_LONGEST_ID = 900
"""Characters of the id of a message: a line of mail has up to 998."""
_LINE = 1 << 20
"""Bytes of a line of a mailbox that are read at once."""
_REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")
"""Events of what a document has no use for."""


class Refused(Exception):
    """Why a file gives no text, in words for the user."""


def _pdf(path: str, about: Metadata) -> Iterator[str]:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if error.err_code == 4:  # FPDF_ERR_PASSWORD
            raise Refused("encrypted: it asks for a password") from error
        raise
    given = pdf.get_metadata_dict()
    about.update(title=given["Title"], author=given["Author"], pages=len(pdf))
    about.update(created=_day(given["CreationDate"]), modified=_day(given["ModDate"]))
    for index in range(len(pdf)):
        page = pdf[index]
        yield page.get_textpage().get_text_range()
        page.close()


def _day(text: str) -> str:
    """The day of a date of PDF, such as D:20250208122313Z."""
    found = re.match(r"(?:D:)?(\d{4})(\d\d)(\d\d)", text)
    return "-".join(found.groups()) if found else ""


def _unpacked(path: str) -> ZipFile:
    """A ZIP file of a size that can be read."""
    from zipfile import ZipFile

    archive = ZipFile(path)
    size = sum(one.file_size for one in archive.infolist())
    if size > _UNPACKED:
        raise Refused(f"a ZIP file that unpacks to {size:,} bytes; {_UNPACKED:,} are the limit")
    return archive


def _tree(file: IO[bytes]) -> Any:
    """An XML file, whose entities stay as they are and which fetches nothing."""
    from lxml import etree

    return etree.parse(file, etree.XMLParser(resolve_entities=False, no_network=True))


def _markup(file: IO[bytes], *, all_text: bool = False) -> str:
    """The text of Word's, PowerPoint's (in elements `t`) or OpenDocument's XML."""
    from lxml import etree

    parts: list[str] = []
    walker = etree.iterwalk(_tree(file), events=("start", "end"), tag="{*}*")
    for event, element in walker:
        name = etree.QName(element).localname
        if event == "start":
            if name in _LEFT_OUT:
                walker.skip_subtree()
                continue
            parts.append(_BREAKS.get(name, ""))
            if all_text or name == "t":
                parts.append(element.text or "")
        elif all_text:
            parts.append(element.tail or "")
    return "".join(parts)


def _properties(archive: ZipFile, name: str, about: Metadata) -> None:
    """The title, author and days of Office's and OpenDocument's metadata."""
    with suppress(KeyError), archive.open(name) as file:
        for element in _tree(file).iter("{*}*"):
            own = _PROPERTIES.get(element.tag.rpartition("}")[2])
            if own and element.text:
                about[own] = element.text[:10] if own in ("created", "modified") else element.text


def _office(folder: str, parts: str) -> _Read:
    """Reads the parts of Word or PowerPoint that match an expression, in the order of numbers."""

    def read(path: str, about: Metadata) -> Iterator[str]:
        archive = _unpacked(path)
        _properties(archive, "docProps/core.xml", about)
        wanted = [one for one in archive.namelist() if re.fullmatch(f"{folder}/{parts}", one)]
        if not wanted:
            raise Refused(f"it has no {folder}/")
        for name in sorted(wanted, key=lambda one: (len(one), one)):
            with archive.open(name) as file:
                yield _markup(file)

    return read


def _opendocument(path: str, about: Metadata) -> Iterator[str]:
    archive = _unpacked(path)
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise Refused("encrypted: it asks for a password")
    _properties(archive, "meta.xml", about)
    with archive.open("content.xml") as file:
        yield _markup(file, all_text=True)


def _spreadsheet(path: str, about: Metadata) -> Iterator[str]:
    from zipfile import is_zipfile

    from python_calamine import CalamineWorkbook

    if is_zipfile(path):
        _properties(_unpacked(path), "docProps/core.xml", about)
    book = CalamineWorkbook.from_path(path)
    about["sheets"] = len(book.sheet_names)
    for name in book.sheet_names:
        rows = book.get_sheet_by_name(name).iter_rows()
        yield "\n".join([name, *("\t".join(map(_cell, row)).rstrip() for row in rows)])


def _cell(value: object) -> str:
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _rtf(path: str, _: Metadata) -> Iterator[str]:
    from striprtf.striprtf import rtf_to_text

    with open(path, encoding="latin-1") as file:
        text = file.read()
    yield rtf_to_text(text, errors="replace")  # type: ignore[no-untyped-call]


def _html(path: str, about: Metadata) -> Iterator[str]:
    with open(path, "rb") as file:
        yield _page(file.read(), about)


def _page(data: bytes | str, about: Metadata) -> str:
    """The text of a web page, without its scripts and styles."""
    from selectolax.lexbor import LexborHTMLParser

    text = data if isinstance(data, str) else _decoded(data)
    # The parser takes no half of a surrogate pair.
    tree = LexborHTMLParser(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    if (title := tree.css_first("title")) is not None:
        about["title"] = title.text()
    if (author := tree.css_first("meta[name=author]")) is not None:
        about["author"] = author.attributes.get("content")
    for node in tree.css("script,style,template,noscript,head"):
        node.decompose()
    for node in tree.css(_BLOCKS):
        node.insert_before("\n")
    return tree.root.text() if tree.root is not None else ""


def _decoded(data: bytes) -> str:
    """A web page in UTF-8, or in the encoding that it names, or that most others have."""
    names = re.findall(rb"charset=[\"']?([\w-]+)", data[:2048], re.I)
    utf_16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16" if utf_16 else "utf-8", *map(bytes.decode, names), "cp1252"):
        with suppress(UnicodeError, LookupError):
            return data.decode(encoding)
    return data.decode("latin-1")


def _epub(path: str, about: Metadata) -> Iterator[str]:
    archive = _unpacked(path)
    with archive.open("META-INF/container.xml") as file:
        (package, *_) = _tree(file).xpath("//@full-path")
    with archive.open(package) as file:
        tree = _tree(file)
    _properties(archive, package, about)
    hrefs = {item.get("id"): unquote(item.get("href")) for item in tree.xpath("//*[@href][@id]")}
    for idref in tree.xpath("//@idref"):
        name = os.path.normpath(os.path.join(os.path.dirname(package), hrefs[idref]))
        yield _page(archive.read(name), {})


def _mail(path: str, about: Metadata) -> Iterator[str]:
    """The text of a file of one message."""
    with open(path, "rb") as file:
        yield _message(file.read(), about)


def _message(data: bytes | bytearray, about: Metadata) -> str:
    """The text of a message, or its page; attachments are left out."""
    from email import message_from_bytes
    from email.policy import default

    message = message_from_bytes(data, policy=default.clone(header_factory=_header))
    for name in ("from", "to", "date", "subject", "message-id"):
        about[name] = str(message[name] or "")
    texts: dict[str, Any] = {}
    for kind, part in _bodies(message):
        texts.setdefault(kind, part)
    if not texts:
        return ""
    # A part without headers, which is plain text, has a length of 0.
    body = texts["plain"] if "plain" in texts else texts["html"]
    text = body.get_payload(decode=True).decode(body.get_content_charset("ascii"), "replace")
    return _page(text, {}) if "plain" not in texts else text


def _bodies(part: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a message that are its text, each with its kind."""
    if part.get_content_disposition() == "attachment":
        return
    kind = part.get_content_type()
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        parts = part.get_payload()
        if kind == "multipart/related":  # one page and its pictures
            start = part.get_param("start")
            parts = [one for one in parts if start and one["content-id"] == start] or parts
            parts = parts[:1]
        for inner in parts:
            yield from _bodies(inner)
    elif kind in ("text/plain", "text/html"):
        yield part.get_content_subtype(), part


def _header(name: str, value: str) -> str:
    """A header as Python parses it; as it is written, if it is long or cannot be parsed."""
    from email.policy import default

    if len(value) <= _LONG:
        with suppress(Exception):  # of several types, which Python does not document
            return str(default.header_factory(name, value))
    raw = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _ENCODED.sub(_word, raw)


def _word(found: re.Match[str]) -> str:
    """The text of an encoded word; the word itself if it has none."""
    from base64 import b64decode
    from quopri import decodestring

    charset, kind, data = found.groups()
    with suppress(ValueError, LookupError):
        if kind in "bB":
            return b64decode(data + "=" * (-len(data) % 4)).decode(charset, "replace")
        return decodestring(data, header=True).decode(charset, "replace")
    return found[0]


def _name_of(data: bytes | bytearray) -> str:
    """The name of a message in its mailbox: its id, or else a digest of its headers and body.

    What the id may have in it keeps it apart from the key of the file before it, and from a number
    behind it. A digest does not change if other messages come or go, as a number would.
    """
    from hashlib import blake2b

    blank = _BLANK.search(data)
    head, body = (data[: blank.start()], data[blank.end() :]) if blank else (data, b"")
    headers = [(name.lower(), value) for name, value in _NAMING.findall(head)]
    with suppress(KeyError, UnicodeDecodeError):
        own = dict(reversed(headers))[b"message-id"].decode().strip()
        own = own.removeprefix("<").removesuffix(">")
        if own.isprintable() and 0 < len(own) <= _LONGEST_ID and not set(own) & set("<> "):
            return f"<{own}>"
    known = b"\n".join(b"%b:%b" % (name, value.strip()) for name, value in sorted(headers))
    return blake2b(known + b"\n\n" + body.strip(), digest_size=16).hexdigest()


def _messages(path: str, start: int) -> Iterator[tuple[bytearray, int, int]]:
    """The messages of a mailbox from a byte on: each with its size, and the byte after it.

    Of one that is larger than the limit there is only a part. Refused if the file is no mailbox.
    """
    with open(path, "rb") as file:
        file.seek(start)
        while (line := file.readline(_LINE)) and not line.strip():
            pass
        if line and not line.startswith(b"From "):
            raise Refused("no mailbox: it does not begin with a line 'From ...'")
        file.seek(-len(line), os.SEEK_CUR)
        data, size, begins_line = bytearray(), 0, True
        while line := file.readline(_LINE):
            if begins_line and line.startswith(b"From "):
                if size:
                    yield data, size, file.tell() - len(line)
                data, size = bytearray(), 0
                begins_line = line.endswith(b"\n")
                while not begins_line:  # the rest of that line
                    line = file.readline(_LINE)
                    begins_line = line.endswith(b"\n") or not line
                continue
            if begins_line and line.startswith(b">From "):
                line = line.removeprefix(b">")
            begins_line = line.endswith(b"\n")
            size += len(line)
            if len(data) <= _LARGEST_MESSAGE:
                data += line
        if size:
            yield data, size, file.tell()


_Read = Callable[[str, Metadata], Iterator[str]]


class Format(NamedTuple):
    """A kind of documents.

    Attributes:
        name: as people call it.
        suffixes: of its files, separated by spaces.
        library: as it is installed; empty for Python's own.
        read: yields the pages.
        is_text: whether a file is read as the text that it is, where documents are not.
    """

    name: str
    suffixes: str
    library: str
    read: _Read
    is_text: bool = False

    @property
    def module(self) -> str:
        """What is imported of the library."""
        return self.library.replace("-", "_") or "email"


_WORD = _office("word", r"(document|footnotes|endnotes)\.xml")
_SLIDES = _office("ppt", r"(s|notesS)lides/\w+\.xml")
FORMATS = {
    "pdf": Format("PDF", ".pdf", "pypdfium2", _pdf),
    "docx": Format("Word", ".docx .docm", "lxml", _WORD),
    "pptx": Format("PowerPoint", ".pptx .pptm .ppsx", "lxml", _SLIDES),
    "odt": Format("OpenDocument", ".odt .odp", "lxml", _opendocument),
    "xlsx": Format("sheets", ".xlsx .xlsm .xlsb .xls .ods", "python-calamine", _spreadsheet),
    "epub": Format("EPUB", ".epub", "lxml", _epub),
    "html": Format("HTML", ".html .htm .xhtml", "selectolax", _html, is_text=True),
    "rtf": Format("RTF", ".rtf", "striprtf", _rtf, is_text=True),
    "eml": Format("mail", ".eml", "", _mail, is_text=True),
    "mbox": Format("mail", ".mbox .mbx", "", _mail, is_text=True),
    "zip": Format("ZIP", "", "lxml", _opendocument),
}
KINDS = {suffix: kind for kind, one in FORMATS.items() for suffix in one.suffixes.split()}


def is_mailbox(path: str) -> bool:
    """Whether a file has several messages, by its suffix."""
    return KINDS.get(os.path.splitext(path)[1].lower()) == "mbox"


def _kind_of_zip(path: str) -> str:
    """The kind of a document in a ZIP file, by what is in it."""
    from zipfile import ZipFile

    names = set(ZipFile(path).namelist())
    signs = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}
    signs |= {"xl/workbook.bin": "xlsx", "META-INF/container.xml": "epub", "content.xml": "odt"}
    return next((kind for name, kind in signs.items() if name in names), "zip")


def normalized(pages: list[str], *, of_paper: bool) -> str:
    """One text of pages, as comparable as a text file.

    Soft hyphens, zero-width characters and ligatures go, spaces of all kinds are one, and there are
    no blank lines. On paper (PDF) words cut at the end of a line are joined, unless the text has
    them with a hyphen elsewhere; numbers of pages go, and so do lines at the same edge of at least
    three pages, apart from their numbers: headers and footers. A form feed begins the next page.
    """
    texts = []
    for page in pages:
        lines = _joined_pairs(page).translate(_CHARACTERS).splitlines()
        texts.append([" ".join(line.split()) for line in lines if line.strip()])
    if of_paper:
        counts = Counter(
            _edge(line) for lines in texts for line in {*lines[:_EDGE], *lines[-_EDGE:]}
        )
        for lines in texts:
            for at in (0, -1) * _EDGE:
                if lines and (counts[_edge(lines[at])] >= _EDGE or _NUMBER.fullmatch(lines[at])):
                    del lines[at]
    whole = ["\n".join(lines) for lines in texts]
    if of_paper:
        compounds = set(_COMPOUND.findall("\n".join(whole)))

        def joined(found: re.Match[str]) -> str:
            compound = f"{found[1]}-{found[2]}"
            return compound if compound in compounds else found[1] + found[2]

        whole = [_HYPHEN.sub(joined, text) for text in whole]
    return ("\n\f" if of_paper and any(whole) else "\n").join(whole).strip("\n")


def _joined_pairs(text: str) -> str:
    """The text with one character for both halves of a surrogate pair; RTF writes them apart."""
    if _SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _edge(line: str) -> str:
    """A line at the edge of a page, which has other numbers on another page."""
    return re.sub(r"\d+", "0", line)


def _taken(pages: Iterable[str], largest: int) -> list[str]:
    """All pages, if they are not larger than the limit."""
    taken, size = [], 0
    for page in pages:
        taken.append(page)
        size += len(page)
        if size > largest:
            raise Refused(f"its text is larger than {largest:,} bytes, the limit: split it")
    return taken


def _answers(job: Metadata) -> Iterator[Metadata]:
    """What is sent about a file: each document, or why there is none, and last the end.

    Before each message of a mailbox goes its name, and the byte after it: another process goes on
    there if this one does not survive the message.
    """
    if job["kind"] != "mbox":
        yield _document(job)
        return
    for data, size, after in _messages(job["path"], job["start"]):
        yield {"message": _name_of(data), "after": after}
        if size > _LARGEST_MESSAGE:
            yield {"refused": f"larger than {_LARGEST_MESSAGE:,} bytes, the limit of a message"}
        else:
            yield _document(job, data)


def _document(job: Metadata, message: bytes | bytearray | None = None) -> Metadata:
    """The text and metadata of a file, or of a message in it; or why it is refused."""
    from importlib.metadata import version

    path, kind = job["path"], job["kind"]
    try:
        if kind == "zip":
            kind = _kind_of_zip(path)
        _, _, library, read, is_text = FORMATS[kind]
        by = f"{library} {version(library)}" if library else f"Python {sys.version.split()[0]}"
        about: Metadata = {}
        pages = read(path, about) if message is None else [_message(message, about)]
        text = normalized(_taken(pages, job["largest"]), of_paper=kind == "pdf")
        if is_text and not library and not job["quotes"]:
            text = _QUOTED.sub("", text).strip()
        about["scanned"] = kind == "pdf" and not text
        own = {name: value for name, value in about.items() if value}
        return {"text": text, "metadata": {"type": kind, **own}, "extracted": {"by": by}}
    except Exception as error:
        return {"refused": _reason(error, kind)}


def _reason(error: Exception, kind: str) -> str:
    """Why a file of a kind is refused, in words for the user."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, MemoryError):
        return f"it takes more than {_MEMORY:,} bytes of memory"
    why = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"no {FORMATS[kind].name} that can be read ({why:.200})"


def _restrict() -> None:
    """Limit memory, and refuse connections and programs: a document has no use for them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def refuse(event: str, _: object) -> None:
        if event.startswith(_REFUSED):
            raise Refused("it wants to run a program or use the network")

    sys.addaudithook(refuse)


def main() -> None:
    """Do the jobs on standard input, or of a descriptor that is named, one after the other."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    _restrict()
    jobs = open(int(sys.argv[1]), "rb") if sys.argv[1:] else sys.stdin.buffer  # noqa: SIM115
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer

    def send(answer: Metadata) -> None:
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()

    alarm = getattr(signal, "alarm", int)  # which Windows lacks
    for line in jobs:
        job = json.loads(line)
        # The parent ends this process in time, unless it was killed meanwhile. It may take as long
        # as it likes until it reads an answer.
        seconds = int(job["seconds"]) + 5
        last: Metadata = {"end": True}
        try:
            alarm(seconds)
            for answer in _answers(job):
                alarm(0)
                send(answer)
                alarm(seconds)
        except Exception as error:  # of reading a mailbox, not of a message
            last["refused"] = _reason(error, job["kind"])
        alarm(0)
        send(last)


if __name__ == "__main__":
    main()
