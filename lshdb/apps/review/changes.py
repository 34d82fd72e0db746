"""What a list shows of a document beside its key: its title, and what it changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lshdb.apps.compare.differences import Line, differences
from lshdb.database import Database, store_of
from lshdb.search.beginnings import beginnings_of

_READ_BYTES = 65_536
"""Bytes at the start of two contents in which the first difference is looked for."""
_COMPARED = 4_000
"""Characters from the first difference on that are compared, in some 5 ms."""
_KEPT_CHANGES = 500
"""Pairs of texts whose differences are kept: pages of one cluster follow each other."""
_AROUND = 36
"""Characters shown around a difference."""
_CHANGED = 80
"""Maximum characters shown of a difference."""
_DOTS = "\N{HORIZONTAL ELLIPSIS}"


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


def titles_of(database: Database, keys: Iterable[str]) -> dict[str, str]:
    """The titles of those of some documents that have one."""
    beginnings = beginnings_of(store_of(database), keys)
    return {key: beginning.title for key, beginning in beginnings.items() if beginning.title}


def changes_from(
    database: Database, kept: str, others: Sequence[str], count: int
) -> dict[str, Changes]:
    """How documents differ from the one that stays: the first `count` differences of each.

    Documents without contents are left out.
    """
    if not database.settings.content:
        return {}
    stored = beginnings_of(store_of(database), [kept, *others], _READ_BYTES)
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
