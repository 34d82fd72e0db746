"""Mail, by Python's own parser: messages alone, and mailboxes of many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from . import encodings
from .kinds import HEADER, SEPARATOR, Metadata, Refused

QUOTED = re.compile(r"(?m)^(?:>.*|On .{1,200} wrote:\s*|-+ ?Original Message ?-+(?s:.*))$\n?")
"""What a message quotes of others."""
_LONG = 2_000
"""Characters of a header that Python parses: 100,000 of addresses take minutes."""
_ENCODED = re.compile(r"=\?([^?\s*]{1,60})(?:\*[^?\s]{1,60})?\?([bqBQ])\?([^?]*)\?=(?:\s+(?==\?))?")
"""A word of a header in another encoding than ASCII."""
_NAMING = re.compile(rb"(?im)^(from|to|date|subject|message-id):(.*(?:\r?\n[ \t].*)*)")
"""Headers that name a message; programs of mail change others, such as Status."""
_BLANK = re.compile(rb"\r?\n\r?\n")
LARGEST_MESSAGE = 1 << 28
"""Bytes of a message with its attachments, which Python's parser takes five times in memory."""
_LONGEST_ID = 900
"""Characters of the id of a message: a line of mail has up to 998."""
_LINE = 1 << 20
"""Bytes of a line of a mailbox that are read at once."""
_APPLE = re.compile(rb"\s*(\d{1,10})[ \t]*\r?\n")
"""The first line of a file of Apple's Mail: the size of the message, behind which are settings."""
_QUOTED_SEPARATOR = re.compile(rb">+From ")
_NESTED = 30
"""Parts within parts that are read."""
_TEXTS = ("text/plain", "text/html")


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The text of a file of one message."""
    with open(path, "rb") as file:
        yield text_of(file.read(), about)


def text_of(data: bytes | bytearray, about: Metadata) -> str:
    """The text of a message, or its page; attachments are named in the metadata."""
    from email import message_from_bytes
    from email.policy import default

    size = _APPLE.match(data)
    if size is not None and HEADER.match(data, size.end()):
        data = data[size.end() : size.end() + int(size[1])]
    message = message_from_bytes(data, policy=default.clone(header_factory=header))
    for name in ("from", "to", "date", "subject", "message-id"):
        about[name] = str(message[name] or "")
    texts, attached = _texts(message, _NESTED), [*_attachments(message, _NESTED)]
    if not any(text.strip() for text in texts):
        bodies = [part for part in attached if part.get_content_type() in _TEXTS]
        texts = [_text(part) for part in bodies[:1]]
        attached = [part for part in attached if part not in bodies[:1]]
    about["attachments"] = [part.get_filename() or part.get_content_type() for part in attached]
    return "\n".join(texts)


def _texts(part: Any, depth: int) -> list[str]:
    """The texts of a part, without attachments; of alternatives the plainest that has words."""
    if part.get_content_disposition() == "attachment" or depth == 0:
        return []
    kind = part.get_content_type()
    if not part.is_multipart():
        return [_text(part)] if kind in _TEXTS else []
    inner = part.get_payload()
    if kind == "multipart/alternative":
        inner = sorted(inner, key=lambda own: own.get_content_type() != "text/plain")
    elif kind == "multipart/related":  # one page and its pictures
        start = part.get_param("start")
        inner = [own for own in inner if start and own["content-id"] == start] or inner
    texts: list[str] = []
    for own in inner:
        some = _texts(own, depth - 1)
        if kind == "message/rfc822" and some:
            some.insert(0, str(own["subject"] or ""))
        texts += some
        is_one_of = kind in ("multipart/alternative", "multipart/related")
        if is_one_of and any(text.strip() for text in some):
            return some
    return texts


def _attachments(part: Any, depth: int) -> Iterator[Any]:
    """The attachments of a message."""
    if part.get_content_disposition() == "attachment":
        yield part
    elif part.is_multipart() and depth:
        for inner in part.get_payload():
            yield from _attachments(inner, depth - 1)


def _text(part: Any) -> str:
    """The text of a part that has no others in it."""
    data = part.get_payload(decode=True) or b""
    label = (part.get_content_charset("") or "").strip()
    known = encodings.codec(label)
    if part.get_content_subtype() == "html":
        from . import web

        return web.page(data, {}, "" if known is None or encodings.is_no_label(label) else label)
    if known is None and not encodings.is_no_label(label):
        return str(data.decode(label, "replace"))  # UTF-7, or an error that names the label
    return encodings.decoded(data, label)


def header(name: str, value: str) -> str:
    """A header as Python parses it; as it is written, if it is long or cannot be parsed."""
    from email.policy import default

    raw = value.encode("utf-8", "surrogateescape")
    if len(value) <= _LONG and not encodings.has_unknown(value):
        with suppress(Exception):  # of several types, which Python does not document
            return str(default.header_factory(name, raw.decode()))
    return _ENCODED.sub(_word, encodings.decoded(raw))


def _word(match: re.Match[str]) -> str:
    """The text of an encoded word; the word itself if it has none."""
    from base64 import b64decode
    from quopri import decodestring

    charset, kind, data = match.groups()
    with suppress(ValueError, LookupError):
        if kind in "bB":
            raw = b64decode(data + "=" * (-len(data) % 4))
        else:
            raw = decodestring(data, header=True)
        if encodings.codec(charset) or encodings.is_no_label(charset):
            return encodings.decoded(raw, charset)
        return raw.decode(charset, "replace")
    return match[0]


def name_of(data: bytes | bytearray) -> str:
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


def messages(path: str, start: int) -> Iterator[tuple[bytearray, int, int]]:
    """The messages of a mailbox from a byte on: each with its size, and the byte after it.

    Of one that is larger than the limit there is only a part. Refused if the file is no mailbox.
    """
    with open(path, "rb") as file:
        file.seek(start)
        place = _first_separator(file)
        data, size = bytearray(), 0
        begins_line, is_first = True, True
        while line := file.readline(_LINE):
            if begins_line and line.startswith(b"From ") and (is_first or _separates(file, line)):
                if size:
                    yield data, size, place
                data, size, is_first = bytearray(), 0, False
                place += len(line)
                while not line.endswith(b"\n") and line:  # the rest of that line
                    line = file.readline(_LINE)
                    place += len(line)
                continue
            place += len(line)
            if begins_line and _QUOTED_SEPARATOR.match(line):
                line = line[1:]
            begins_line = line.endswith(b"\n")
            size += len(line)
            if len(data) <= LARGEST_MESSAGE:
                data += line
        if size:
            yield data, size, place


def _first_separator(file: IO[bytes]) -> int:
    """Go to the first line that is not blank; return its place."""
    place = file.tell()
    while (line := file.readline(_LINE)) and not line.strip():
        place += len(line)
    if line and not line.startswith(b"From "):
        raise Refused("no mailbox: it does not begin with a line 'From ...'")
    file.seek(place)
    return place


def _separates(file: IO[bytes], line: bytes) -> bool:
    """Whether a line separates messages: it has a date, and a header follows."""
    if SEPARATOR.fullmatch(line) is None:
        return False
    place = file.tell()
    following = file.readline(_LINE).removeprefix(b">")
    file.seek(place)
    return HEADER.match(following) is not None
