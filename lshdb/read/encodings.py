"""Byte order marks: what a text says of its encoding. Who guesses is the app for documents."""

import codecs

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16's, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, and their encodings."""


def of_mark(data: bytes | bytearray) -> str | None:
    """The encoding of a byte order mark at the beginning; None without one."""
    start = bytes(data[:4])
    return next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), None)
