"""The passages that pairs of texts share: their shared runs, joined where that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.errors import warn_of_limit
from lshdb.model import CopiedPassage
from lshdb.search import cut_notes, passage_windows
from lshdb.search.shared_runs import Runs, Segments
from lshdb.shingling.arrays import IntArray, Shares, expand_ranges, offsets_of, sizes_of
from lshdb.shingling.positions import page_at


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


@dataclass(frozen=True, slots=True)
class Shared:
    """What two texts share.

    Attributes:
        pair: the number of the pair.
        words: how many units of a text are in runs; of both texts the larger number.
        coverage, b_coverage: the share of the units of each text that are, without those of base
            texts.
        longest: the units of the longest run.
        passages: in the order of the first text.
    """

    pair: int
    words: int
    coverage: float
    b_coverage: float
    longest: int
    passages: tuple[CopiedPassage, ...]


class Listed(NamedTuple):
    """Where m passages are.

    Attributes:
        pair: int64[m], the number of the pair of each; ascending.
        spans: int32[m, 8], first character, last + 1 and lines in both texts.
        words: int64[m], how many units of the first text are shared.
        similarity: float64[m], the share of the longer one that is.
    """

    pair: IntArray
    spans: npt.NDArray[np.int32]
    words: IntArray
    similarity: Shares

    def passages(self, texts: Sequence[str], a: IntArray, b: IntArray) -> Iterator[CopiedPassage]:
        """The passages, from the texts of pairs: the texts of pair p are a[p] and b[p]."""
        columns = self.spans, a[self.pair], b[self.pair], self.words, self.similarity
        for spans, text, other, *score in zip(*(c.tolist() for c in columns), strict=True):
            yield passage_at(texts[text], texts[other], spans, *score)


class SharedTable(NamedTuple):
    """What s pairs of texts share: the attributes of Shared, as arrays.

    Attributes:
        pair: int64[s], the number of each pair; ascending.
        words, longest: int64[s].
        coverage, b_coverage: float64[s].
        counts: int64[s], how many passages each has.
        listed: these, in the order of pairs.
    """

    pair: IntArray
    words: IntArray
    longest: IntArray
    coverage: Shares
    b_coverage: Shares
    counts: IntArray
    listed: Listed

    @classmethod
    def of(
        cls, texts: passage_windows.Texts, criteria: Criteria, a: IntArray, b: IntArray
    ) -> SharedTable:
        """The pairs of texts a, ascending, and b, int64[p] both, that share runs which count."""
        segments = Segments.of(texts, criteria.run, a[a == b])
        shared = segments.between(a, b, criteria.min_units)
        runs = shared.runs.chosen(shared.leads[shared.runs.pair])
        numbers, begins = np.unique(runs.pair, return_index=True)
        longest = np.maximum.reduceat(runs.length, begins) if len(numbers) else begins
        a_units, b_units = shared.a_units[numbers], shared.b_units[numbers]
        listed = listed_runs(segments.texts.windows, runs, criteria)
        return cls(
            numbers,
            np.maximum(a_units, b_units),
            longest + (criteria.run - 1),
            a_units / texts.counted[a[numbers]],
            b_units / texts.counted[b[numbers]],
            sizes_of(listed.pair.searchsorted(np.append(numbers, len(a)))),
            listed,
        )

    @classmethod
    def joined(cls, tables: Sequence[SharedTable]) -> SharedTable:
        """The pairs of tables one after the other, numbered by their indices."""
        _, *columns, listed = zip(*tables, strict=True)
        _, *listed_columns = zip(*listed, strict=True)
        values: list[Any] = [*map(np.concatenate, columns)]
        rows: list[Any] = [*map(np.concatenate, listed_columns)]
        pair = np.arange(len(values[0]))
        return cls._make([pair, *values, Listed(np.repeat(pair, values[-1]), *rows)])

    def chosen(self, indices: IntArray) -> SharedTable:
        """Some of the pairs, numbered by their order among these."""
        values: list[Any] = [column[indices] for column in self[1:-1]]
        places = expand_ranges(offsets_of(self.counts)[indices], values[-1])
        rows: list[Any] = [column[places] for column in self.listed[1:]]
        pair = np.arange(len(indices))
        return SharedTable._make([pair, *values, Listed(np.repeat(pair, values[-1]), *rows)])


def shared_passages(
    texts: passage_windows.Texts, criteria: Criteria, a: IntArray, b: IntArray
) -> Iterator[Shared]:
    """The pairs of texts a, ascending, and b, int64[p] both, that share runs which count."""
    table = SharedTable.of(texts, criteria, a, b)
    passages = table.listed.passages(texts.contents, a, b)
    for pair, words, longest, coverage, b_coverage, count in zip(
        *(column.tolist() for column in table[:-1]), strict=True
    ):
        yield Shared(pair, words, coverage, b_coverage, longest, tuple(islice(passages, count)))


def listed_runs(windows: passage_windows.Windows, runs: Runs, criteria: Criteria) -> Listed:
    """The passages that runs are; a warning where some are cut."""
    _, begins, counts = np.unique(runs.pair, return_index=True, return_counts=True)
    for count in counts[counts > criteria.max_runs].tolist():
        warn_of_limit(cut_notes.pair_cut(count, criteria.max_runs))
    rank = np.arange(len(runs.pair)) - np.repeat(begins, counts)
    rows = _merged(windows, runs.chosen(rank < criteria.max_runs), criteria)
    pair, a, a_last, b, b_last, units = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    a_span, a_size = _spans(windows, a, a_last, criteria.run)
    b_span, b_size = _spans(windows, b, b_last, criteria.run)
    spans = np.concatenate([a_span, b_span], axis=1)
    return Listed(pair, spans, units, units / np.maximum(a_size, b_size))


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


def _spans(
    windows: passage_windows.Windows, first: IntArray, last: IntArray, run: int
) -> tuple[npt.NDArray[np.int32], IntArray]:
    """Where passages are from their first and last windows, int32[n, 4]; their units, int64[n]."""
    spans = windows["span"][last]
    spans[:, ::2] = windows["span"][first, ::2]
    return spans, windows["unit"][last].astype(np.int64) - windows["unit"][first] + run


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
