"""What a list shows of a document beside its key: its title, and what it changes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from lshdb.apps.compare.differences import Line, differences
from lshdb.apps.review.beginnings import beginnings_of
from lshdb.database import Database, store_of

_READ_BYTES = 65_536
"""Bytes at the start of two contents in which the first difference is looked for."""
_COMPARED = 3_000
"""Characters from the first difference on, in some 5 ms; texts of twice as many are cut."""
_CUT = re.compile(r"\n|[.!?] |[。！？]")
"""Behind what a text may be cut, where what follows is in both texts."""
_LONG = 300
"""Characters before the first difference, in a line that is cut."""
_ANCHOR = 40
"""Characters that both texts have once, so that they are the same place of both."""
_KEPT_CHANGES = 500
"""Pairs of texts whose differences are kept: pages of one cluster follow each other."""
_AROUND = 36
"""Characters shown beside a difference."""
_CHANGED = 80
"""Maximum characters shown of a difference."""
_FIRST = 2
"""Maximum lines shown that differ."""
_PIECES = 24
"""Maximum pieces, equal or not, of a line that is shown; others are counted."""
_DOTS = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class Changes:
    """How a document differs from another one.

    Attributes:
        first: the first lines that differ: pairs of what one and the other has, each as pieces, of
            which True marks those that differ.
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


def changes_from(database: Database, kept: str, others: Sequence[str]) -> dict[str, Changes]:
    """How documents differ from the one that stays: the first lines of each that differ.

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
            is_read = max(a.bytes, b.bytes) <= _READ_BYTES
            changes[key] = _changes(a.text[start:], b.text[start:], programs, is_read)
    return changes


def _differ_from(a: str, b: str) -> int:
    """Where the first line begins that differs, or the sentence in a long one."""
    from rapidfuzz.distance import Prefix  # 10 ms, which only lists of texts need

    low = Prefix.similarity(a, b)
    line = a.rfind("\n", 0, low) + 1
    return line if low - line < _LONG else max(line, a.rfind(". ", line, low) + 1)


@lru_cache(_KEPT_CHANGES)
def _changes(a: str, b: str, programs: bool, is_read: bool) -> Changes:
    """The first lines that differ in two texts, which are read to their ends or not."""
    end, b_end = _same_place(a, b)
    rows = [
        row
        for row in differences(a[:end], b[:b_end], programs=programs)
        for line in [row.a or row.b]
        if row.kind != "same" or (line and any(piece.kind != "same" for piece in line.pieces))
    ]
    fitting = (
        row
        for row in rows
        if all(line is None or len(line.pieces) <= _PIECES for line in (row.a, row.b))
    )
    first = [(_excerpt(row.a), _excerpt(row.b)) for row in islice(fitting, _FIRST)]
    return Changes(first, len(rows) - len(first), is_read and a[end:] == b[b_end:])


def _same_place(a: str, b: str) -> tuple[int, int]:
    """Where two texts are cut: before the same words, which stand in each once.

    So neither end looks like a difference. The ends of short texts; their starts if there is no
    such place.
    """
    if max(len(a), len(b)) <= 2 * _COMPARED:
        return len(a), len(b)
    for match in _CUT.finditer(a, _COMPARED):
        words = a[match.end() :][:_ANCHOR]
        if len(words) == _ANCHOR and a.count(words) == b.count(words) == 1:
            return match.end(), b.index(words)
    return 0, 0


def _excerpt(line: Line | None) -> Pieces:
    """All that changed in a line, with some words around it."""
    pieces = [(piece.text, piece.kind != "same") for piece in line.pieces] if line else []
    for index, (text, changed) in enumerate(pieces):
        size = _CHANGED if changed else _AROUND
        before, after = text[:size], text[-size:]
        if len(pieces) > 1 and index == 0 and not changed:
            before = ""
        if changed or (index == len(pieces) - 1 > 0):
            after = ""
        if len(before) + len(after) < len(text):
            before, after = before.rpartition(" ")[0] or before, after.partition(" ")[2] or after
            pieces[index] = f"{before} {_DOTS} {after}", changed
    return pieces
