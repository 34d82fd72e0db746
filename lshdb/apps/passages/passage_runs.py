"""The passages that pairs of texts share: their shared runs, joined where that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.apps.passages import passage_windows
from lshdb.apps.passages.model import CopiedPassage
from lshdb.apps.passages.positions import page_at
from lshdb.apps.passages.shared_runs import Runs, Segments
from lshdb.errors import Cut, warn_of_limit
from lshdb.text.arrays import IntArray, int_array


@dataclass(frozen=True, slots=True)
class Criteria:
    """Which passages are wanted.

    Attributes:
        run: units of a window.
        min_units: units of the shortest run.
        gap: maximum units between runs that make one passage, in either text.
        max_runs: runs of a pair; there is a warning if it has more.
    """

    run: int
    min_units: int
    gap: int
    max_runs: int


PAIR = np.dtype(
    [
        ("a", "i8"),
        ("b", "i8"),
        ("words", "i8"),  # how many units of a text are in runs; of both texts the larger number
        ("a_coverage", "f8"),  # the share of a's units that are, without those of base texts
        ("b_coverage", "f8"),
        ("weighted", "f8"),
        ("weighted_share", "f8"),
        ("passages", "i8"),  # how many there are
        ("longest", "i8"),  # the units of the longest run
    ]
)
"""What two texts share."""
PASSAGE = np.dtype(
    [
        ("pair", "i8"),  # the number of its pair; ascending
        ("spans", "i4", (8,)),  # first character, last + 1 and lines in both texts
        ("words", "i8"),  # how many units of the first text are shared
        ("similarity", "f8"),  # the share of the longer one that is
    ]
)
"""Where passages are."""
Rows = npt.NDArray[Any]


def shared_passages(
    texts: passage_windows.Texts, criteria: Criteria, a: IntArray, b: IntArray
) -> tuple[Rows, Rows]:
    """What the pairs of texts a, ascending, and b, int64[p] both, share in runs which count.

    Returns:
        The pairs that share any, as PAIR has them, with the indices of both texts and without
        weights; and the passages of these, in their order, as PASSAGE has them.
    """
    segments = Segments.of(texts, criteria.run, a[a == b])
    shared = segments.between(a, b, criteria.min_units)
    numbers, begins = np.unique(shared.runs.pair, return_index=True)
    passages = listed_runs(segments.texts.windows, shared.runs, criteria)
    pairs = np.zeros(len(numbers), dtype=PAIR)
    if len(pairs):
        pairs["longest"] = np.maximum.reduceat(shared.runs.length, begins) + (criteria.run - 1)
    a, b, a_units, b_units = (values[numbers] for values in (a, b, shared.a_units, shared.b_units))
    pairs["a"], pairs["b"], pairs["words"] = a, b, np.maximum(a_units, b_units)
    pairs["a_coverage"] = a_units / texts.counted[a]
    pairs["b_coverage"] = b_units / texts.counted[b]
    ends = passages["pair"].searchsorted(numbers, side="right")
    pairs["passages"] = np.diff(ends, prepend=0)
    return pairs, passages


def passages_of(
    passages: Rows, texts: Sequence[str], a: IntArray, b: IntArray
) -> Iterator[CopiedPassage]:
    """Passages, as PASSAGE has them, from the texts of pairs: those of pair p are a[p] and b[p]."""
    pair = passages["pair"]
    columns = passages["spans"], a[pair], b[pair], passages["words"], passages["similarity"]
    for spans, text, other, *score in zip(*(c.tolist() for c in columns), strict=True):
        yield passage_at(texts[text], texts[other], spans, *score)


def listed_runs(windows: passage_windows.Windows, runs: Runs, criteria: Criteria) -> Rows:
    """The passages that runs are, as PASSAGE has them; a warning where some are cut."""
    _, begins, counts = np.unique(runs.pair, return_index=True, return_counts=True)
    for count in counts[counts > criteria.max_runs].tolist():
        text = (
            f"two documents share {count:,} passages, of which the first {criteria.max_runs:,} are "
            "listed; their shares count all"
        )
        warn_of_limit(Cut("passages", count - criteria.max_runs, text))
    rank = np.arange(len(runs.pair)) - np.repeat(begins, counts)
    rows = _merged(windows, runs.chosen(rank < criteria.max_runs), criteria)
    pair, a, a_last, b, b_last, units = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    listed = np.empty(len(pair), dtype=PASSAGE)
    listed["pair"], listed["words"] = pair, units
    size = np.zeros(len(pair), dtype=np.int64)
    for side, first, last in ((0, a, a_last), (4, b, b_last)):
        spans = windows["span"].take(last, axis=0)
        spans[:, ::2] = windows["span"].take(first, axis=0)[:, ::2]
        listed["spans"][:, side : side + 4] = spans
        unit = windows["unit"].astype(np.int64)
        size = np.maximum(size, unit[last] - unit[first] + criteria.run)
    listed["similarity"] = units / size
    return listed


def passage_at(
    text: str,
    other: str,
    spans: Sequence[int],
    words: int,
    similarity: float,
    kind: str = "copied",
    score: float | None = None,
) -> CopiedPassage:
    """The passage of two texts at some places: first character, last + 1 and lines in both."""
    pages = page_at(text, spans[0]), page_at(other, spans[4])
    passage = text[spans[0] : spans[1]]
    values: list[Any] = [*spans, words, similarity, passage, kind, score, None, None, *pages]
    return CopiedPassage(*values)


def _merged(
    windows: passage_windows.Windows, runs: Runs, criteria: Criteria
) -> npt.NDArray[np.int64] | list[list[int]]:
    """Passages: runs, of which those that follow each other in both texts within a gap are joined.

    Returns:
        For each passage the number of the pair, the indices of its first and its last window in
        both texts, and how many of its units in the first text are shared.
    """
    size, last = runs.length + (criteria.run - 1), runs.length - 1
    rows = np.stack([runs.pair, runs.a, runs.a + last, runs.b, runs.b + last, size], axis=1)
    if not criteria.gap:
        return rows
    passages: list[list[int]] = []
    begins = [windows["unit"].take(first).tolist() for first in (runs.a, runs.b)]
    near: list[tuple[list[int], list[int]]] = []  # passages, and where they are in both texts
    for row, a, b, units in zip(rows.tolist(), *begins, size.tolist(), strict=True):
        near = [
            known for known in near if known[0][0] == row[0] and a - known[1][1] <= criteria.gap
        ]
        for passage, bounds in near:
            begin, end, b_begin, b_end = bounds
            a_ahead, b_ahead = a - end, b - b_end
            if min(a_ahead, b_ahead) > -units and b_ahead <= criteria.gap:
                if a < begin or b < b_begin:
                    continue
                passage[5] += units + min(a_ahead, 0)
                passage[2], passage[4] = max(passage[2], row[2]), max(passage[4], row[4])
                bounds[1], bounds[3] = max(end, a + units), max(b_end, b + units)
                break
        else:
            passages.append(row)
            near.append((row, [a, a + units, b, b + units]))
    return passages


def covering_spans(starts: IntArray, ends: IntArray) -> IntArray:
    """The fewest spans that cover all that any covers, in order.

    Args:
        starts: int64[n], where each begins.
        ends: int64[n], where it ends.

    Returns:
        int64[any], their indices; of equal spans the first counts.
    """
    ordered = np.lexsort((-ends, starts))
    reached = np.maximum.accumulate(ends[ordered])
    order = ordered[np.append(True, reached[1:] > reached[:-1])[: len(ordered)]]
    chosen: list[int] = []
    begins, behind = starts.tolist(), ends.tolist()
    for span in order.tolist():
        # The last one is not needed where this one and that before it touch.
        if len(chosen) > 1 and begins[span] <= behind[chosen[-2]]:
            chosen.pop()
        chosen.append(span)
    return int_array(chosen)
