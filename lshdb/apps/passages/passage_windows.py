"""The windows of texts in which passages are searched.

A unit is a word, or a character where the shingles are of characters. A window is a run of
`Settings.passages` units; the i-th begins at unit i. Windows are the same where their hashes under
a secret seed are, as shingles are wherever documents are compared (lshdb.text.hashing).

Not all shared text is copied. Text in a base text, or in more documents than a limit, does not
count: its units are cut out of both texts. A fingerprint in that many documents is frequent. Four
of these documents decide whether a window with it is common. A window of which more than half of
the units are in frequent fingerprints of its text leads to no document; it is shown where another
window leads there. So time stays linear whatever headers there are, and whatever rows are made of.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.apps.passages import lookups, positions
from lshdb.apps.passages.line_ends import whole_words
from lshdb.apps.passages.model import CommonPassage
from lshdb.apps.passages.winnowing import (
    fingerprint_size,
    shingle_values,
    window_fingerprints,
    windows,
)
from lshdb.apps.programs.tokens import FILES
from lshdb.errors import UsageError
from lshdb.search import similarity
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text import shingles
from lshdb.text.arrays import (
    NO_NUMBERS,
    IntArray,
    Mask,
    expand_ranges,
    int_array,
    is_in,
    lengths_of,
    offsets_of,
)
from lshdb.text.hashing import Hashes, distinct, secret_seed, selection
from lshdb.text.shingling import Shingling

TOGETHER = {"word": 4, "code": 2, "char": 1}
"""Characters of texts that are compared at once, for each window in memory."""
COMMON_SAMPLE = 4
"""First documents of a too common fingerprint that show which run around it they share."""
_COMMON_AGREEING = 2
"""How many of these must share a common run: one may be the text of the query."""

WINDOW = np.dtype(
    [
        ("hash", "u8"),
        ("leads", "?"),  # whether at most half of its units are in frequent fingerprints
        ("common", "?"),
        ("beside", "?"),  # whether it has a unit of a common one of its text
        ("unit", "i4"),  # its first unit
        ("span", "i4", (4,)),  # first character, last + 1, first line, last line, from 1
    ]
)
Windows = npt.NDArray[Any]
"""Windows, as WINDOW has them. `take` and `compress` are many times as fast as an index."""


@dataclasses.dataclass(frozen=True, slots=True)
class Texts:
    """The windows of n texts.

    Attributes:
        windows: those of a text one after the other, in its order.
        offsets: int64[n+1], where the windows of each text begin.
        units: int64[n], how many units each text has.
        contents: the texts.
        counted: int64[n], how many units each text has without those of base texts.
    """

    windows: Windows
    offsets: IntArray
    units: IntArray
    contents: Sequence[str]
    counted: IntArray


@dataclasses.dataclass(frozen=True, slots=True)
class Counting:
    """Which windows of texts count.

    Attributes:
        shingling: of the database; its size does not matter, the windows of its base texts do not
            count.
        run: units of a window.
        seed: of the fingerprints.
        secret: the seed of the hashes of windows, which processes that compare windows share.
        hot: int64[any], sorted: the frequent fingerprints.
        common: sorted windows; where both texts have one, those that share a unit with it do not
            count. None if there are none.
        shared: int64[any], sorted fingerprints that other texts have; None if that is unknown.
    """

    shingling: Shingling
    run: int
    seed: int
    secret: int
    hot: IntArray
    common: Hashes | None = None
    shared: IntArray | None = None

    @classmethod
    def of(cls, settings: Settings, hot: IntArray) -> Counting:
        """All windows; some fingerprints are frequent."""
        secret = secret_seed()
        return cls(settings.shingling, settings.passages, settings.seed, secret, hot)

    def windows_of(self, texts: Sequence[str]) -> Texts:
        """The windows of texts that count, and may be shared."""
        units, counted = np.zeros((2, len(texts)), dtype=np.int64)
        groups_of_rows, counts, order = [np.empty(0, dtype=WINDOW)], [NO_NUMBERS], []
        for group in shingles.groups(texts, self.shingling):
            rows, group_counts, units[group], counted[group] = self._windows(
                [texts[number] for number in group]
            )
            groups_of_rows.append(rows)
            counts.append(group_counts)
            order += group
        sizes = np.concatenate(counts)
        inverse = np.argsort(order)
        joined = np.concatenate(groups_of_rows).take(
            expand_ranges(offsets_of(sizes)[inverse], sizes[inverse])
        )
        offsets = offsets_of(sizes[inverse])
        return Texts(joined, offsets, units, texts, counted)

    def _windows(self, texts: list[str]) -> tuple[Windows, IntArray, IntArray, IntArray]:
        """The windows of a group of texts.

        Returns:
            The windows, how many each text has, how many units, and how many of these are in no
            base text.
        """
        run = self.run
        units, hashes, whole, of_base = self.cut(texts)
        offsets = offsets_of(units.counts)
        counted = units.counts.copy()
        if of_base.any():
            counted -= np.diff(_units_before(of_base, run)[offsets])
            whole &= ~_beside(of_base, run, run)
        first = np.flatnonzero(whole)
        if any(FILES in text for text in texts):
            document = np.searchsorted(offsets, first, side="right") - 1
            spans = units.starts[first], units.stops[first + (run - 1)]
            first = first[_are_within_files(texts, document, *spans)]
        leads = np.ones(len(first), dtype=np.bool_)
        if self.shared is not None or len(self.hot):
            values = shingle_values(units, self.shingling.kind, run, self.seed)
            if self.shared is not None:
                first = first[is_in(window_fingerprints(values, run)[first], self.shared)]
            size = fingerprint_size(run)
            is_hot = is_in(values, self.hot) & _are_whole(units, size)
            frequent = _units_before(is_hot, size)
            leads = 2 * (frequent[first + run] - frequent[first]) <= run
        last = first + (run - 1)
        rows = np.empty(len(first), dtype=WINDOW)
        bounds = np.searchsorted(first, offsets)
        text = np.repeat(np.arange(len(texts)), np.diff(bounds))
        rows["hash"] = hashes[first]
        rows["leads"] = leads
        rows["common"] = rows["beside"] = False
        if self.common is not None:
            common = is_in(hashes, self.common) & whole
            rows["common"], rows["beside"] = common[first], _beside(common, run, run)[first]
        rows["unit"] = first - offsets[text]
        spans = units.starts[first], units.stops[last]
        lines = positions.line_numbers(texts, text, *spans)
        for column, values in enumerate((*spans, *lines)):
            rows["span"][:, column] = values
        return rows, np.diff(bounds), units.counts, counted

    def cut(self, texts: Sequence[str]) -> tuple[positions.Units, Hashes, Mask, Mask]:
        """The units of a group of texts, and the windows that begin at each of n units.

        Returns:
            The units; the hashes of the windows, uint64[n]; which are within their text; and which
            of these are in a base text, bool[n] both.
        """
        units = positions.units_of(whole_words(texts, self.shingling), self.shingling)
        hashes = windows(units, self.shingling.kind, self.run, self.secret)
        whole = _are_whole(units, self.run)
        base = _base_windows(self.shingling, self.run, self.secret)
        return units, hashes, whole, is_in(hashes, base) & whole

    def with_base(self, base: Iterable[str]) -> Counting:
        """The same without the windows of more base texts."""
        return dataclasses.replace(self, shingling=self.shingling.without(base))

    def around_hot(self, text: str) -> Hashes:
        """The windows of a text whose fingerprints are frequent, each once and sorted."""
        around = dataclasses.replace(self, hot=NO_NUMBERS, shared=self.hot)
        return np.unique(around.windows_of([text]).windows["hash"])

    def values_around(self, texts: Sequence[str]) -> IntArray:
        """The values of all shingles that have a unit of a shared window of texts, sorted."""
        run, parts = self.run, [NO_NUMBERS]
        for group in shingles.groups(texts, self.shingling):
            whole = whole_words([texts[number] for number in group], self.shingling)
            units = positions.units_of(whole, self.shingling)
            values = shingle_values(units, self.shingling.kind, run, self.seed)
            windows = _are_whole(units, run)
            if self.shared is not None:
                windows &= is_in(window_fingerprints(values, run), self.shared)
            parts.append(distinct(values[_beside(windows, run, fingerprint_size(run))]))
        return distinct(np.concatenate(parts))


def _are_whole(units: positions.Units, size: int) -> Mask:
    """Which of n units begin a stretch of `size` units of their own text, bool[n]."""
    begins = offsets_of(units.counts)[:-1]
    return selection(begins, np.maximum(units.counts - (size - 1), 0), len(units.starts))


def _are_within_files(
    texts: Sequence[str], documents: IntArray, starts: IntArray, stops: IntArray
) -> Mask:
    """Which stretches of texts, int64[m], are within one of the files that a text joins: bool[m].

    Args:
        texts: n texts.
        documents: int64[m], the index of the text of each stretch.
        starts, stops: int64[m], its first character, and its last + 1.
    """
    borders = int_array(match.start() for match in re.finditer(FILES, "".join(texts)))
    begins = offsets_of(lengths_of(texts))[documents]
    are_within: Mask = borders.searchsorted(begins + starts) == borders.searchsorted(begins + stops)
    return are_within


def _units_before(windows: Mask, run: int) -> IntArray:
    """How many units of some windows, bool[n], of `run` units are before each: int64[n+1]."""
    counts = windows.astype(np.int64)
    counts[run:] -= counts[:-run].copy()
    return offsets_of(np.cumsum(counts) > 0)


def _beside(windows: Mask, run: int, size: int) -> Mask:
    """Which stretches of `size` units have a unit of some windows of `run` units, bool[n] both."""
    total = _units_before(windows, run)
    return total[np.minimum(np.arange(len(windows)) + size, len(windows))] > total[:-1]


@lru_cache(maxsize=8)
def _base_windows(shingling: Shingling, run: int, secret: int) -> Hashes:
    """The windows of the base texts, each once and sorted."""
    counting = Counting(dataclasses.replace(shingling, base=()), run, 0, secret, NO_NUMBERS)
    return np.unique(counting.windows_of([text for _, text in shingling.base]).windows["hash"])


def run_of(settings: Settings) -> int:
    """Units of the shortest run that the index finds; UsageError without such an index."""
    if not settings.passages:
        raise UsageError(
            "this database has no index of passages: make it with "
            "`lshdb reindex --passages 8`, or a new file with `lshdb init --passages 8`"
        )
    return settings.passages


def common_windows(reader: StoreReader, hot: IntArray) -> Hashes:
    """The windows around fingerprints that too many documents have, if they are common, sorted."""
    index, all_ids = lookups.documents_of_fingerprints(reader, hot, COMMON_SAMPLE)
    order = np.argsort(all_ids, kind="stable")
    doc_ids, begins = np.unique(all_ids[order], return_index=True)
    # A document is a sample of its own fingerprints, so that no other ones matter.
    prints = np.split(hot[index[order]], begins[1:])
    texts = chain.from_iterable(similarity.batches_of_text(reader, doc_ids))
    return agreed(
        [
            Counting.of(reader.settings, values).around_hot(text)
            for values, text in zip(prints, texts, strict=True)
        ]
        if len(doc_ids)
        else []
    )


def agreed(samples: Sequence[Hashes]) -> Hashes:
    """The windows that are common, sorted: those that enough of the samples have."""
    # A damaged index may lead to no document.
    none = np.empty(0, dtype=np.uint64)
    hashes, counts = np.unique(np.concatenate([none, *samples]), return_counts=True)
    return hashes[counts >= _COMMON_AGREEING]


def common_runs(
    reader: StoreReader, hot: IntArray, common: Hashes
) -> list[tuple[str, CommonPassage]]:
    """The runs of `common_passages`, longest first, each once, with the key of a document."""
    doc_ids = np.unique(lookups.documents_of_fingerprints(reader, hot, 1)[1])
    passages: dict[str, tuple[str, CommonPassage]] = {}
    texts = chain.from_iterable(similarity.batches_of_text(reader, doc_ids))
    for key, text in zip(reader.keys_of(doc_ids), texts, strict=True):
        runs, common, hot = common_passages(Counting.of(reader.settings, hot), text, common)
        for passage in runs:
            passages.setdefault(passage.text, (key, passage))
    return sorted(passages.values(), key=lambda named: -named[1].words)


def common_passages(
    counting: Counting, text: str, common: Hashes
) -> tuple[list[CommonPassage], Hashes, IntArray]:
    """The runs of a text that do not count: of common windows, and of frequent fingerprints.

    Args:
        counting: which fingerprints are frequent.
        text: the text.
        common: the common windows, sorted.

    Returns:
        The runs, those of fingerprints without what has a unit of a common window; and the common
        windows and frequent fingerprints that the text does not have.
    """
    run, size = counting.run, fingerprint_size(counting.run)
    units, hashes, whole, of_base = counting.cut([text])
    values = shingle_values(units, counting.shingling.kind, run, counting.seed)
    is_common = is_in(hashes, common) & whole & ~_beside(of_base, run, run)
    is_frequent = is_in(values, counting.hot) & _are_whole(units, size)
    others = is_frequent & ~_beside(is_common | of_base, run, size)
    runs: list[CommonPassage] = []
    for first, length in ((np.flatnonzero(is_common), run), (np.flatnonzero(others), size)):
        far = np.diff(first) > length
        first, last = (
            first[np.append(True, far)[: len(first)]],
            first[np.append(far, True)[: len(first)]] + length - 1,
        )
        spans = units.starts[first], units.stops[last]
        lines = positions.line_numbers([text], np.zeros_like(first), *spans)
        columns = (column.tolist() for column in (*spans, *lines, last + 1 - first))
        for start, end, line, end_line, words in zip(*columns, strict=True):
            runs.append(CommonPassage(start, end, line, end_line, words, text[start:end]))
    unnamed = common[~is_in(common, np.unique(hashes[is_common]))]
    return runs, unnamed, counting.hot[~is_in(counting.hot, np.unique(values[is_frequent]))]
