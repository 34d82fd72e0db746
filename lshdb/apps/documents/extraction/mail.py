"""Mail, by Python's own parser: messages alone, and mailboxes of many."""

import re
from collections.abc import Iterator
from contextlib import suppress

from lshdb.apps.documents.extraction import labels, parts
from lshdb.apps.documents.extraction.kinds import HEADER, Metadata, Refused, separates

QUOTED = re.compile(r"(?m)^(?:>.*|On .{1,200} wrote:\s*|-+ ?Original Message ?-+(?s:.*))$\n?")
"""What a message quotes of others."""
_ENCODED = re.compile(r"=\?([^?\s*]{1,60})(?:\*[^?\s]{1,60})?\?([bqBQ])\?([^?]*)\?=(?:\s+(?==\?))?")
"""A word of a header in another encoding than ASCII."""
_NAMING = re.compile(rb"(?im)^(from|to|date|subject|message-id):(.*(?:\r?\n[ \t].*)*)")
"""Headers that name a message; programs of mail change others, such as Status."""
_DESCRIBING = re.compile(rb"(?im)^content-(?!length)[\w-]+:.*(?:\r?\n[ \t].*)*")
"""Headers that say how the body and its parts are read."""
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


def pages(path: str, about: Metadata) -> Iterator[str]:
    """The text of a file of one message."""
    with open(path, "rb") as file:
        yield text_of(file.read(), about)


def text_of(data: bytes | bytearray, about: Metadata) -> str:
    """The text of a message, or its page."""
    from email import message_from_bytes
    from email.policy import default

    size = _APPLE.match(data)
    if size is not None and HEADER.match(data, size.end()):
        data = data[size.end() : size.end() + int(size[1])]
    message = message_from_bytes(data, policy=default.clone(header_factory=header))
    for name in ("from", "to", "date", "subject", "message-id"):
        about[name] = str(message[name] or "")
    message_parts = parts.Parts(message, about)
    about["attachments"] = [parts.name_of(part) for part in message_parts.attached]
    return "\n".join(message_parts.texts)


def header(_: str, value: str) -> str:
    """A header as it is written, but for its encoded words: to parse some takes Python minutes."""
    return _ENCODED.sub(_word, labels.decoded(value.encode("utf-8", "surrogateescape")).strip())


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
        if labels.codec(charset) or labels.is_no_label(charset):
            return labels.decoded(raw, charset)
        return raw.decode(charset, "replace")
    return match[0]


def _halves(data: bytes | bytearray) -> tuple[bytes | bytearray, bytes | bytearray]:
    """The headers of a message, and its body."""
    blank = _BLANK.search(data)
    return (data[: blank.start()], data[blank.end() :]) if blank else (data, b"")


def digest_of(data: bytes | bytearray) -> str:
    """The digest of a message in its mailbox: of its body and parts, not of how it was sent."""
    from hashlib import blake2b

    head, body = _halves(data)
    read = b"\n".join([*_DESCRIBING.findall(head), b"", body.strip()])
    return blake2b(read, digest_size=16).hexdigest()


def name_of(data: bytes | bytearray) -> str:
    """The name of a message in its mailbox: its id, or else a digest of its headers and body.

    The characters that an id may have keep it apart from the key of the file before it, and from a
    number behind it. A digest does not change if other messages come or go, as a number would.
    """
    from hashlib import blake2b

    head, body = _halves(data)
    headers = [(name.lower(), value) for name, value in _NAMING.findall(head)]
    with suppress(KeyError, UnicodeDecodeError):
        message_id = dict(reversed(headers))[b"message-id"].decode().strip()
        message_id = message_id.removeprefix("<").removesuffix(">")
        is_name = message_id.isprintable() and not set(message_id) & set("<> ")
        if is_name and 0 < len(message_id) <= _LONGEST_ID:
            return f"<{message_id}>"
    known = b"\n".join(b"%b:%b" % (name, value.strip()) for name, value in sorted(headers))
    return blake2b(known + b"\n\n" + body.strip(), digest_size=16).hexdigest()


def messages(path: str, start: int) -> Iterator[tuple[bytearray, int, int]]:
    """The messages of a mailbox from a byte on: each with its size, and the byte after it.

    Of one that is larger than the limit there is only a part. Refused if the file is no mailbox.
    """
    with open(path, "rb") as file:
        file.seek(start)
        offset = start
        while (line := file.readline(_LINE)) and not line.strip():
            offset += len(line)
        if line and not line.startswith(b"From "):
            raise Refused("no mailbox: it does not begin with a line 'From ...'")
        file.seek(offset)
        data, size = bytearray(), 0
        begins_line, is_first = True, True
        while line := file.readline(_LINE):
            is_separator = begins_line and line.startswith(b"From ")
            if is_separator and not is_first:
                behind = file.tell()
                is_separator = separates(line, file.readline(_LINE))
                file.seek(behind)
            if is_separator:
                if size:
                    yield data, size, offset
                data, size, is_first = bytearray(), 0, False
                offset += len(line)
                while not line.endswith(b"\n") and line:  # the rest of that line
                    line = file.readline(_LINE)
                    offset += len(line)
                continue
            offset += len(line)
            if begins_line and _QUOTED_SEPARATOR.match(line):
                line = line[1:]
            begins_line = line.endswith(b"\n")
            size += len(line)
            if len(data) <= LARGEST_MESSAGE:
                data += line
        if size:
            yield data, size, offset
