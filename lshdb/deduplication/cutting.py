"""Cutting out of texts what earlier ones have, so that the rest of a row stays.

All documents are added with their whole texts: what is cut out of one stands in an earlier one as
it came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lshdb.model import DroppedRow


@dataclass(frozen=True, slots=True)
class Cutting:
    """How passages are cut out.

    Attributes:
        kind: of the shingles of the texts.
        field: of the rows' texts.
        min_words: rows of fewer words, when passages are cut out, are dropped.
    """

    kind: str
    field: str
    min_words: int


def covering(found: Iterable[DroppedRow]) -> list[DroppedRow]:
    """Some of the passages of a text, in its order, that cover all that any of them covers."""
    chosen: list[DroppedRow] = []
    end = 0
    for one in sorted(found, key=_span):
        if _span(one)[1] > end:
            chosen.append(one)
            end = _span(one)[1]
    return chosen


def _span(one: DroppedRow) -> tuple[int, int]:
    """Where the passage of a row begins and ends."""
    assert one.passage is not None
    return one.passage.start, one.passage.end


def without(text: str, cuts: Iterable[DroppedRow]) -> str:
    """A text without passages in its order."""
    pieces, at = [], 0
    for start, end in map(_span, cuts):
        pieces.append(text[at:start])
        at = max(at, end)
    return "".join([*pieces, text[at:]])
