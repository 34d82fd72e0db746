"""What a list shows of a document beside its key: its title and first lines, and what it changes.

Only the beginning of a content is read, however long it is: a book costs what a note does.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lshdb.apps.compare.differences import Line, differences
from lshdb.database import Database, store_of
from lshdb.formatting import plain
from lshdb.json_text import loads
from lshdb.read.metadata import from_json

_TITLE_BYTES = 4096
_READ_BYTES = 65_536
"""Bytes at the start of two contents in which the first difference is looked for."""
_COMPARED = 4_000
"""Characters from the first difference on that are compared, in some 5 ms."""
_KEPT_CHANGES = 500
"""Pairs of texts whose differences are kept: pages of one cluster follow each other."""
_LONGEST_TITLE = 160
_LONGEST_FIELD = 60
_LINES = 400
"""Characters shown of the document that stays."""
_AROUND = 36
"""Characters shown around a difference."""
_CHANGED = 80
"""Maximum characters shown of a difference."""
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


@dataclass(frozen=True, slots=True)
class Changes:
    """How a document differs from another one.

    Attributes:
        first: the first differences: pairs of what one and the other has, each as pieces, of which
            True marks those that differ.
        more: number of further differences.
        whole: whether both are compared to their ends.
    """

    first: list[tuple["Pieces", "Pieces"]]
    more: int
    whole: bool


Pieces = list[tuple[str, bool]]


def beginnings_of(
    database: Database, keys: Iterable[str], size: int = _TITLE_BYTES
) -> dict[str, Beginning]:
    """The beginnings of those of some documents that are stored."""
    of_sets = database.settings.shingling.of_sets
    beginnings = {}
    for key, (stored, start, length) in store_of(database).beginnings([*keys], size).items():
        fields = {name.casefold(): value for name, value in (from_json(stored) or {}).items()}
        text = _elements(start, length) if of_sets else start
        title = _field(fields, _TITLES, _LONGEST_TITLE)
        date, source = (_field(fields, names, _LONGEST_FIELD) for names in (_DATES, _SOURCES))
        line = "" if title else _first_line(text)
        beginnings[key] = Beginning(title or line, not title, date, source, text, length)
    return beginnings


def titles_of(database: Database, keys: Iterable[str]) -> dict[str, str]:
    """The titles of those of some documents that have one."""
    beginnings = beginnings_of(database, keys)
    return {key: beginning.title for key, beginning in beginnings.items() if beginning.title}


def changes_from(
    database: Database, kept: str, others: Sequence[str], count: int
) -> dict[str, Changes]:
    """How documents differ from the one that stays: the first `count` differences of each.

    Documents without contents are left out.
    """
    if not database.settings.content:
        return {}
    stored = beginnings_of(database, [kept, *others], _READ_BYTES)
    programs = database.settings.shingling.of_programs
    changes = {}
    for key in others:
        if key in stored and kept in stored:
            a, b = stored[kept], stored[key]
            start = _differ_from(a.text, b.text)
            whole = max(a.bytes, b.bytes) <= _READ_BYTES
            whole &= max(len(a.text), len(b.text)) <= start + _COMPARED
            parts = a.text[start:][:_COMPARED], b.text[start:][:_COMPARED]
            first, number = _changes(*parts, programs, count)
            changes[key] = Changes(first, number - len(first), whole)
    return changes


def _differ_from(a: str, b: str) -> int:
    """Where the first line begins that differs, or the part of it that follows a sentence."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return max(a.rfind("\n", 0, low), a.rfind(". ", 0, low)) + 1


@lru_cache(_KEPT_CHANGES)
def _changes(
    a: str, b: str, programs: bool, count: int
) -> tuple[list[tuple["Pieces", "Pieces"]], int]:
    """The first differences of two texts, and the number of all."""
    rows = [row for row in differences(a, b, programs=programs) if row.kind != "same"]
    return [(_around(row.a), _around(row.b)) for row in rows[:count]], len(rows)


def _around(line: Line | None) -> Pieces:
    """What changed first in a line, with some words around it."""
    if line is None:
        return []
    pieces = [(piece.text, piece.kind != "same") for piece in line.pieces]
    first = next((index for index, (_, changed) in enumerate(pieces) if changed), 0)
    before = "".join(text for text, _ in pieces[:first])
    shown: Pieces = []
    if len(before) > _AROUND:
        words = before[-_AROUND:]
        before = f"{_DOTS} {words.partition(' ')[2] or words}"
    if before.strip():
        shown.append((before, False))
    left = _CHANGED
    for text, changed in pieces[first:]:
        limit = left if changed else min(left, _AROUND)
        if len(text) > limit:
            words = text[:limit].rpartition(" ")[0] or text[:limit]
            return [*shown, (f"{words} {_DOTS}", changed)]
        shown.append((text, changed))
        left -= len(text)
    return shown


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
