"""Bytes to text by the labels of web pages and mail, as browsers read them."""

import codecs
import re

from lshdb.apps.documents.extraction.guessing import SUPERSETS, guess, is_mostly_utf8
from lshdb.read.encodings import of_mark

_ASCII_PROBE = 4096
"""Bytes in which a NUL of UTF-16 is looked for."""
_LABELS_OF = {
    "cp932": "x-sjis",
    "gb18030": "x-gbk",
    "euc_jp": "x-euc-jp",
    "big5hkscs": "x-x-big5 cn-big5",
    "iso8859-8": "iso-8859-8-e iso-8859-8-i logical visual",
    "cp874": "dos-874 windows-874",
    "cp949": "windows-949",
    "koi8-r": "koi koi8",
    "koi8-u": "koi8-ru",
    "mac-roman": "macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "utf-8": "unicode-1-1-utf-8 x-unicode20utf8",
}
_LABELS = {label: name for name, labels in _LABELS_OF.items() for label in labels.split()}
"""Labels that Python does not know, of the Encoding Standard."""
_OF_TEXT = re.compile(
    r"utf-(8|16|32)|ascii|cp\d|iso8859|iso2022|koi8|big5|gb|hz|euc|shift|johab|mac-|tis|kz1048|ptcp"
)
"""How Python's names of encodings of texts begin: others, such as punycode, are no charsets."""
_NO_LABEL = re.compile(r"(x-)?unknown(-8bit)?|x-user-defined|default|8bit|binary|none|us-ascii|")
"""What programs write for an encoding that they do not know."""


def codec(label: str) -> str | None:
    """Python's codec for a label as browsers read it; None for a label of no text."""
    label = label.strip().lower().replace("_", "-") if label.isascii() else ""
    if label in _LABELS:
        return _LABELS[label]
    if re.fullmatch(r"x-cp125\d", label):
        label = label[2:]
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    return SUPERSETS.get(name, name) if _OF_TEXT.match(name) else None


def is_no_label(label: str) -> bool:
    """Whether a label says that the encoding is not known, or that it is ASCII."""
    return _NO_LABEL.fullmatch(label.strip().lower()) is not None


def decoded(data: bytes | bytearray, label: str = "") -> str:
    """The text of bytes with a label: a bad byte is U+FFFD, and costs no other.

    UTF-8 is known by itself, as labels are often wrong; but bytes of two-byte encodings may look
    like it. Without a label, the encoding is guessed; else it is the one that most files have.
    """
    if (marked := of_mark(data)) is not None:
        return data.decode(marked, "replace")
    known = None if is_no_label(label) else codec(label)
    if known in ("utf-16", "utf-16-le", "utf-16-be") and b"\0" not in data[:_ASCII_PROBE]:
        known = "utf-8"  # the page was read by its label, which is ASCII
    if known is not None and not known.startswith(("cp125", "iso8859")):
        return data.decode(known, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    if known is not None:
        return data.decode(known, "replace")
    if is_mostly_utf8(data):
        return data.decode("utf-8", "replace")
    guessed = guess(data)
    return data.decode("cp1252", "replace") if guessed is None else guessed.text
