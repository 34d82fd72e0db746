"""The parts of a message: those that are its text, and the names of the others.

The text of attached documents is not read: it has its own size, faults and password, the same
document in two messages would make these similar whatever they say, and who wants it compared can
have it as a file.
"""

import re
from contextlib import suppress
from typing import Any

from lshdb.apps.documents.extraction import labels
from lshdb.apps.documents.extraction.kinds import Metadata, Refused, note_damage, noted

_NESTED = 30
"""Parts within parts that are read."""
_READ = ("text/plain", "text/html")
_SAME = ("text/richtext", "text/enriched", "text/rtf", "text/x-amp-html", "text/watch-html")
"""Alternatives that say the same as the plain text and the page."""
_MESSAGES = ("message/rfc822", "message/global", "message/news")
"""Messages within a message; other parts of this family, such as reports, are read by programs."""
_LONG = 2_000
"""Characters of a header with a name: of 100,000, Python takes some seconds."""
_FLOWED = re.compile(r"(?m)^(>*)(?!>)(?:(?!-- \r?$).* \r?\n\1(?!>) ?)+")
"""Lines of one paragraph, as quoted as the next line, that end in a blank: it is not part of the
text if the message says so (RFC 3676, delsp)."""
_ADDRESS = re.compile(r"\S*://\S*|\s+")
_SHORTER = 2
"""How many times as long as the plain text a page is that is read in its place: such a plain text
often only says that there is a page, and is the same in all messages of its sender."""


class Parts:
    """The parts of one message.

    Attributes:
        texts: of the parts that a program of mail shows as text.
        attached: the parts that are not read, without the pictures that pages have in their text.
    """

    def __init__(self, message: Any, about: Metadata) -> None:
        self._about = about
        self.attached: list[Any] = []
        self.texts = self._texts(message, _NESTED)
        if not any(map(str.strip, self.texts)):  # a text that is marked as an attachment
            bodies = [part for part in self.attached if part.get_content_type() in _READ][:1]
            self.texts = [_text(part) for part in bodies]
            self.attached = [part for part in self.attached if part not in bodies]

    def _texts(self, part: Any, depth: int, *, is_alone: bool = True) -> list[str]:
        """The texts of a part; its other contents are added to the attachments."""
        kind = part.get_content_type()
        is_report = kind.startswith("message/") and kind not in _MESSAGES
        if is_report or part.get_content_disposition() == "attachment":
            self.attached.append(part)
            return []
        if not part.is_multipart():
            is_text = kind.startswith(("text/", "multipart/"))  # of many parts: without a boundary
            if kind in _READ or (is_alone and is_text):
                with noted(self._about, "part"):
                    return [_text(part)]
            if is_alone or kind not in _SAME:
                self.attached.append(part)
            return []
        if depth == 0:
            why = Refused(f"it is within {_NESTED} others, and is not read")
            note_damage(self._about, "part", why)
            self.attached.append(part)
            return []
        if kind == "multipart/alternative":
            return self._alternative(part.get_payload(), depth - 1)
        if kind == "multipart/related":
            return self._related(part, depth - 1)
        texts = [text for inner in part.get_payload() for text in self._texts(inner, depth - 1)]
        if kind in _MESSAGES and texts:
            texts.insert(0, str(part.get_payload(0)["subject"] or ""))
        return texts

    def _alternative(self, inner: list[Any], depth: int) -> list[str]:
        """The plainest of some texts that say the same, if it is not much shorter than another."""
        chosen: list[str] = []
        plainest = sorted(inner, key=lambda part: part.get_content_type() != "text/plain")
        for part in plainest:
            texts = self._texts(part, depth, is_alone=False)
            if _length(texts) > _SHORTER * _length(chosen) or not chosen:
                chosen = texts
        return chosen

    def _related(self, part: Any, depth: int) -> list[str]:
        """One page, without the pictures in it."""
        chosen: list[str] = []
        inner, start = part.get_payload(), part.get_param("start")
        for inner_part in sorted(inner, key=lambda part: not start or part["content-id"] != start):
            is_picture = inner_part.get_content_maintype() == "image"
            is_attached = inner_part.get_content_disposition() == "attachment"
            if is_picture and not (is_attached and not inner_part["content-id"]):
                continue
            texts = self._texts(inner_part, depth, is_alone=False)
            has_words = any(map(str.strip, texts))
            if has_words and chosen:
                self.attached.append(inner_part)
            elif has_words:
                chosen = texts
        return chosen


def _length(texts: list[str]) -> int:
    """The characters of texts without blanks and addresses of pages."""
    return sum(len(_ADDRESS.sub("", text)) for text in texts)


def name_of(part: Any) -> str:
    """The name of an attachment on one line; its type if it has none."""
    name, headers = "", (part["content-disposition"], part["content-type"])
    with suppress(Exception):  # of a header that Python cannot parse
        if max(len(str(header or "")) for header in headers) <= _LONG:
            name = " ".join((part.get_filename() or "").split())
    return name or str(part.get_content_type())


def _text(part: Any) -> str:
    """The text of a part that has no others in it."""
    data = part.get_payload(decode=True) or b""
    label = (part.get_content_charset("") or "").strip(' "').partition(" ")[0]
    known = labels.codec(label)
    if part.get_content_subtype() == "html":
        from lshdb.apps.documents.extraction import web

        return web.page(data, {}, "" if known is None or labels.is_no_label(label) else label)
    if known is None and not labels.is_no_label(label):
        text = str(data.decode(label, "replace"))  # UTF-7, or an error that names the label
    else:
        text = labels.decoded(data, label)
    if str(part.get_param("delsp", "")).lower() == "yes":
        text = _FLOWED.sub(lambda lines: re.sub(rf" \r?\n{lines[1]} ?", "", lines[0]), text)
    return text
