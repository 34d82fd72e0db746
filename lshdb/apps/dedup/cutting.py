"""Cutting passages out of texts that earlier texts have; the rest of the row stays.

All documents are added with their whole texts, so each passage that is cut is in an earlier text.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lshdb.apps.dedup.collection import DropReason
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.passages import positions
from lshdb.apps.passages.model import CopiedPassage
from lshdb.apps.passages.passage_runs import covering_spans
from lshdb.apps.passages.passages import Copies
from lshdb.text.arrays import NO_NUMBERS, IntArray, runs

_WITHIN_WORDS = [*"'.-\u00b7\u2010\u2011\u2019"]
Describe = Callable[[int, DropReason], DroppedRow]
"""Makes the row of a document, by its index, that is dropped for a reason."""


class Cuts(NamedTuple):
    """What is cut out of the texts of a batch, in their order: the fewest passages that cover all.

    Attributes:
        rows: int64[c], the index of the text of each.
        spans: its first character in the text, and the last + 1.
        row: makes the row of the i-th, as if its document was dropped.
    """

    rows: IntArray
    spans: Sequence[tuple[int, int]]
    row: Callable[[int], DroppedRow]

    @classmethod
    def of(
        cls, copied: Sequence[tuple[Copies, Describe]], texts: Sequence[str], kind: str
    ) -> "Cuts":
        """The cuts of texts.

        Args:
            copied: passages of the texts, which may overlap, from documents by their doc_ids.
            texts: of the batch.
            kind: of their shingles; of those of characters, whole words are cut.
        """
        rows, starts, ends = (
            np.concatenate([NO_NUMBERS, *columns])
            for columns in zip(
                (NO_NUMBERS,) * 3,
                *((found.copies, *found.spans.T.astype(np.int64)) for found, _ in copied),
                strict=True,
            )
        )
        before = rows * (ends.max(initial=0) + 2)  # so that those of two texts do not touch
        chosen = covering_spans(before + starts, before + ends)
        rows, columns = rows[chosen], (starts[chosen].tolist(), ends[chosen].tolist())
        spans = [*zip(*columns, strict=True)]
        if kind == "char":
            for first, last in zip(*(bounds.tolist() for bounds in runs(rows)), strict=True):
                spans[first:last] = whole_words(texts[rows[first]], spans[first:last])
            (left,) = np.array([start < end for start, end in spans], dtype=np.bool_).nonzero()
            rows, chosen, spans = rows[left], chosen[left], [spans[cut] for cut in left.tolist()]
        firsts = np.cumsum([0, *(len(found.copies) for found, _ in copied)])

        def row(cut: int) -> DroppedRow:
            number, text = int(firsts.searchsorted(chosen[cut], "right")) - 1, int(rows[cut])
            found, describe = copied[number]
            index = int(chosen[cut] - firsts[number])
            passage = _shortened(found.passage(index), texts[text], *spans[cut])
            share, doc_id = float(found.shares[index]), int(found.sources[index])
            return describe(text, DropReason(doc_id, share, True, passage))

        return cls(rows, spans, row)


def whole_words(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Make spans of a text shorter, so that they begin and end with whole words.

    Words with one sign between them are one, such as `don't`, `3.14` or `well-known`. Spans that
    overlap or touch are cut out together, so only the ends of all of them count.

    Args:
        text: n characters.
        spans: the beginning and end of each, ascending.

    Returns:
        As many spans; an empty one where nothing is left.

    >>> whole_words("one fine day", [(2, 9)])
    [(4, 8)]
    >>> whole_words("don't go", [(0, 4)])
    [(0, 0)]
    """
    units, signs = positions.cut([text], "word"), np.array([*text, ""])
    gaps = units.starts[1:] - units.stops[:-1]
    is_whole = (gaps != 1) | ~np.isin(signs[units.stops[:-1]], _WITHIN_WORDS)
    begins = units.starts[np.append(True, is_whole)[: len(units.starts)]]
    ends = units.stops[np.append(is_whole, True)[: len(units.stops)]]
    starts, stops = np.array(spans).T
    reached = np.maximum.accumulate(stops)
    is_first = np.append(True, starts[1:] > reached[:-1])
    (firsts,) = is_first.nonzero()
    of_stretch, lasts = np.cumsum(is_first) - 1, np.append(firsts[1:], len(spans)) - 1
    low = np.append(begins, len(text))[begins.searchsorted(starts[firsts])][of_stretch]
    high = np.append(0, ends)[ends.searchsorted(reached[lasts], "right")][of_stretch]
    starts = np.maximum(starts, low)
    stops = np.maximum(starts, np.minimum(stops, high))
    return [*zip(starts.tolist(), stops.tolist(), strict=True)]


def _shortened(passage: CopiedPassage, text: str, start: int, end: int) -> CopiedPassage:
    """A part of a passage of a text; the passage in the stored document stays whole."""
    if (start, end) == (passage.start, passage.end):
        return passage
    lines = positions.with_line_feeds(text)
    return dataclasses.replace(
        passage,
        start=start,
        end=end,
        line=passage.line + lines.count("\n", passage.start, start),
        end_line=passage.end_line - lines.count("\n", end - 1, passage.end - 1),
        words=int(positions.counts([text[start:end]], "char")[0]),
        text=text[start:end],
    )


def without(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The parts of a text that are in no span; these are in its order."""
    position = 0
    for start, end in spans:
        yield text[position:start]
        position = max(position, end)
    yield text[position:]
