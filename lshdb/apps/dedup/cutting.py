"""Cutting passages out of texts that earlier texts have; the rest of the row stays.

All documents are added with their whole texts, so each passage that is cut is in an earlier text.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from lshdb.apps.dedup.collection import DropReason
from lshdb.text import positions
from lshdb.text.arrays import covering_spans
from lshdb.text.boundaries import readable_cuts


@dataclasses.dataclass(frozen=True, slots=True)
class Cutting:
    """How passages are cut out.

    Attributes:
        kind: the kind of the texts' shingles.
        field: the field of the rows that has the text.
        min_words: a row with fewer words left is dropped.
    """

    kind: str
    field: str
    min_words: int


def covering(reasons: Sequence[DropReason], text: str, kind: str) -> list[tuple[int, DropReason]]:
    """The fewest passages of a text, in its order, that cover the same as all of them.

    With shingles of characters they are shortened, so that the rest stays readable.

    Returns:
        The index and the reason of each.
    """
    starts, ends = np.array([*map(_span, reasons)], dtype=np.int64).reshape(-1, 2).T
    chosen = [(index, reasons[index]) for index in covering_spans(starts, ends).tolist()]
    if kind != "char":
        return chosen
    spans = readable_cuts(text, [_span(reason) for _, reason in chosen])
    return [
        (index, reason if span == _span(reason) else _shortened(reason, text, *span))
        for (index, reason), span in zip(chosen, spans, strict=True)
        if span[0] < span[1]
    ]


def _shortened(reason: DropReason, text: str, start: int, end: int) -> DropReason:
    """The reason with a part of its passage; the passage in the stored document stays whole."""
    passage = reason.passage
    assert passage is not None
    lines = positions.with_line_feeds(text)
    part = dataclasses.replace(
        passage,
        start=start,
        end=end,
        line=passage.line + lines.count("\n", passage.start, start),
        end_line=passage.end_line - lines.count("\n", end - 1, passage.end - 1),
        words=positions.count(text[start:end], "char"),
        text=text[start:end],
    )
    return dataclasses.replace(reason, passage=part)


def _span(reason: DropReason) -> tuple[int, int]:
    """Where the passage of a reason begins and ends."""
    assert reason.passage is not None
    return reason.passage.start, reason.passage.end


def without(text: str, cuts: Iterable[DropReason]) -> str:
    """A text without the passages, which are in its order."""
    pieces, position = [], 0
    for start, end in map(_span, cuts):
        pieces.append(text[position:start])
        position = max(position, end)
    return "".join([*pieces, text[position:]])
