"""Cutting passages out of texts that earlier texts have; the rest of the row stays.

All documents are added with their whole texts, so each passage that is cut is in an earlier text.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from lshdb.model import DroppedRow
from lshdb.shingling import positions
from lshdb.shingling.arrays import covering_spans
from lshdb.shingling.boundaries import readable_cuts


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


def covering(rows: Sequence[DroppedRow], text: str, kind: str) -> list[DroppedRow]:
    """The fewest passages of a text, in its order, that cover the same as all of them.

    With shingles of characters they are shortened, so that the rest stays readable.
    """
    starts, ends = np.array([*map(_span, rows)], dtype=np.int64).reshape(-1, 2).T
    chosen = [rows[index] for index in covering_spans(starts, ends).tolist()]
    if kind != "char":
        return chosen
    spans = readable_cuts(text, [*map(_span, chosen)])
    return [
        row if span == _span(row) else _shortened(row, text, *span)
        for row, span in zip(chosen, spans, strict=True)
        if span[0] < span[1]
    ]


def _shortened(row: DroppedRow, text: str, start: int, end: int) -> DroppedRow:
    """The row with a part of its passage; the passage in the stored document stays whole."""
    passage = row.passage
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
    return dataclasses.replace(row, passage=part)


def _span(row: DroppedRow) -> tuple[int, int]:
    """Where the passage of a row begins and ends."""
    assert row.passage is not None
    return row.passage.start, row.passage.end


def without(text: str, cuts: Iterable[DroppedRow]) -> str:
    """A text without the passages, which are in its order."""
    pieces, position = [], 0
    for start, end in map(_span, cuts):
        pieces.append(text[position:start])
        position = max(position, end)
    return "".join([*pieces, text[position:]])
