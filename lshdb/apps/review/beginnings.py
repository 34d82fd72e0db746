"""Titles and first lines of documents, which lists show beside their keys.

Only the beginning of a content is read, however long it is: a book costs what a note does.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lshdb.formatting import plain
from lshdb.json_text import loads
from lshdb.read.metadata import from_json
from lshdb.store.store import Store

_TITLE_BYTES = 4096
_LONGEST_TITLE = 160
_LONGEST_FIELD = 60
_LINES = 400
"""Characters shown of the document that stays."""
_DOTS = "\N{HORIZONTAL ELLIPSIS}"
_TITLES = ("title", "headline", "subject", "name")
_DATES = ("date", "published", "published_at", "created", "created_at", "timestamp", "time", "year")
_SOURCES = ("source", "publisher", "site", "domain", "url", "author", "from")
"""Fields of metadata, the best first; whatever their case."""
_MARKUP = re.compile(r"^(?:\"{3}|'{3}|[^\w\"'“„«(¿¡])+|[\s*/#=\-_\"']+$")
"""What is around the words of a first line: signs of headings and comments."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a document.

    Attributes:
        title: from its metadata, or its first line with a word; empty if it has neither.
        is_line: whether the title is its first line.
        date, source: from its metadata; empty without them.
        text: the start of its content.
        bytes: the length of its content.
    """

    title: str
    is_line: bool
    date: str
    source: str
    text: str
    bytes: int

    @property
    def lines(self) -> str:
        """The first lines, without the one that is the title already."""
        text = self.text.lstrip()
        first, _, others = text.partition("\n")
        if self.is_line and others.strip() and len(first) < _LONGEST_TITLE:
            text = others
        return _cut(" ".join(text.split()), _LINES)


UNKNOWN = Beginning("", False, "", "", "", 0)
"""Of a document that is gone."""


def beginnings_of(
    store: Store, keys: Iterable[str], size: int = _TITLE_BYTES
) -> dict[str, Beginning]:
    """The beginnings of those of some documents that are stored."""
    beginnings = {}
    for key, (stored, start, length) in store.beginnings([*keys], size).items():
        fields = {name.casefold(): value for name, value in (from_json(stored) or {}).items()}
        text = _elements(start, length) if store.settings.shingling.of_sets else start
        title = _field(fields, _TITLES, _LONGEST_TITLE)
        date, source = (_field(fields, names, _LONGEST_FIELD) for names in (_DATES, _SOURCES))
        line = "" if title else _first_line(text)
        beginnings[key] = Beginning(title or line, not title, date, source, text, length)
    return beginnings


def _first_line(text: str) -> str:
    """The first line that has a word, without signs of headings and comments around it."""
    for line in text.splitlines():
        words = _MARKUP.sub("", line.strip())
        if any(map(str.isalnum, words)):
            return _cut(words, _LONGEST_TITLE)
    return ""


def _elements(start: str, length: int) -> str:
    """The first elements of a set whose JSON begins with this."""
    if len(start.encode()) < length:
        start = start[: start.rfind(",")] + "]"
    try:
        return ", ".join(map(plain, loads(start.encode())))
    except (RecursionError, TypeError, ValueError):  # cut within an element
        return ""


def _field(fields: Mapping[str, Any], names: Sequence[str], longest: int) -> str:
    """The first of some fields that is a text or number."""
    values = (fields.get(name) for name in names)
    texts = (plain(value) for value in values if isinstance(value, str | int | float))
    return next((_cut(" ".join(text.split()), longest) for text in texts if text.strip()), "")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + _DOTS
