"""Cutting out of texts what earlier ones have, so that the rest of a row stays.

All documents are added with their whole texts: what is cut out of one stands in an earlier one as
it came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lshdb.model import DroppedRow
from lshdb.shingling.positions import cut


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

    def applied(
        self, texts: Sequence[str], copied: Iterable[tuple[int, DroppedRow]]
    ) -> tuple[dict[int, str], list[tuple[int, DroppedRow]], dict[int, DroppedRow]]:
        """Cut passages out of texts.

        Args:
            texts: of documents.
            copied: their passages, with the indices of the texts.

        Returns:
            By their indices the texts that are shorter now, what is cut out of each, and why
            those that are too short are dropped.
        """
        of_each: defaultdict[int, list[DroppedRow]] = defaultdict(list)
        for index, one in copied:
            of_each[index].append(one)
        changed, cuts, dropped = dict[int, str](), list[tuple[int, DroppedRow]](), {}
        for index, found in of_each.items():
            own = covering(found)
            changed[index] = without(texts[index], own)
            cuts += ((index, one) for one in own)
            if int(cut([changed[index]], self.kind).counts[0]) < self.min_words:
                dropped[index] = own[0]
        return changed, cuts, dropped


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
