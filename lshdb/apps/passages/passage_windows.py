"""The windows of texts in which passages are searched.

A unit is a word, or a character where the shingles are of characters. A window is a run of
`Settings.passages` units; the i-th begins at unit i. Windows are the same where their hashes under
a secret seed are, as shingles are wherever documents are compared (lshdb.text.hashing).

Not all shared text is copied. Text in a base text, or in more documents than a limit, does not
count: its units are cut out of both texts. A fingerprint in that many documents leads to none of
them, so time stays linear whatever headers there are. Four of these documents decide whether a
window with such a fingerprint is common; one that is not is shown where another window leads to the
document.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.apps.passages import lookups
from lshdb.apps.passages.line_ends import whole_words
from lshdb.apps.passages.winnowing import run_fingerprints, windows
from lshdb.apps.programs.tokens import FILES
from lshdb.errors import UsageError
from lshdb.model import CommonPassage
from lshdb.search import similarity
from lshdb.sketch.settings import Settings
from lshdb.store.lookups import StoreReader
from lshdb.text import positions, shingles
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
from lshdb.text.hashing import Hashes, secret_seed, selection
from lshdb.text.shingling import Shingling

COMMON_SAMPLE = 4
"""First documents of a too common fingerprint that show which run around it they share."""
_COMMON_AGREEING = 2
"""How many of these must share a common run: one may be the text of the query."""

WINDOW = np.dtype(
    [
        ("hash", "u8"),
        ("leads", "?"),  # whether its fingerprint leads to documents
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
        hot: int64[any], sorted fingerprints that lead to no document.
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
        """All windows; those with some fingerprints lead to no document."""
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
        units = positions.units_of(whole_words(texts, self.shingling), self.shingling)
        hashes = windows(units, self.shingling.kind, run, self.secret)
        offsets = offsets_of(units.counts)
        whole = selection(offsets[:-1], np.maximum(units.counts - (run - 1), 0), len(hashes))
        of_base = is_in(hashes, _base_windows(self.shingling, run, self.secret))
        counted = units.counts.copy()
        if of_base.any():
            counted -= np.diff(_units_before(of_base & whole, run)[offsets])
        if of_base.any():
            whole &= ~_beside(of_base & whole, run)
        first = np.flatnonzero(whole)
        if any(FILES in text for text in texts):
            document = np.searchsorted(offsets, first, side="right") - 1
            spans = units.starts[first], units.stops[first + (run - 1)]
            first = first[_are_within_files(texts, document, *spans)]
        leads = np.ones(len(first), dtype=np.bool_)
        if self.shared is not None or len(self.hot):
            fingerprints = run_fingerprints(units, self.shingling.kind, run, self.seed)[first]
            leads = ~is_in(fingerprints, self.hot)
            if self.shared is not None:
                shared = is_in(fingerprints, self.shared)
                first, leads = first[shared], leads[shared]
        last = first + (run - 1)
        rows = np.empty(len(first), dtype=WINDOW)
        bounds = np.searchsorted(first, offsets)
        text = np.repeat(np.arange(len(texts)), np.diff(bounds))
        rows["hash"] = hashes[first]
        rows["leads"] = leads
        rows["common"] = rows["beside"] = False
        if self.common is not None:
            common = is_in(hashes, self.common) & whole
            rows["common"], rows["beside"] = common[first], _beside(common, run)[first]
        rows["unit"] = first - offsets[text]
        spans = units.starts[first], units.stops[last]
        lines = positions.line_numbers(texts, text, *spans)
        for column, values in enumerate((*spans, *lines)):
            rows["span"][:, column] = values
        return rows, np.diff(bounds), units.counts, counted

    def with_base(self, base: Iterable[str]) -> Counting:
        """The same without the windows of more base texts."""
        return dataclasses.replace(self, shingling=self.shingling.without(base))

    def around_hot(self, text: str) -> Hashes:
        """The windows of a text whose fingerprints are hot, each once and sorted."""
        windows = self.windows_of([text]).windows
        return np.unique(windows["hash"][~windows["leads"]])


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


def _beside(windows: Mask, run: int) -> Mask:
    """Which windows of `run` units have a unit of some windows, bool[n] both."""
    total = _units_before(windows, run)
    is_beside: Mask = total[np.minimum(np.arange(len(windows)) + run, len(windows))] > total[:-1]
    return is_beside


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
    """The runs of common windows, longest first, each once, with the key of a document."""
    doc_ids = np.unique(lookups.documents_of_fingerprints(reader, hot, 1)[1])
    counting, named = Counting.of(reader.settings, hot), np.zeros(len(common), dtype=np.bool_)
    passages: dict[str, tuple[str, CommonPassage]] = {}
    texts = chain.from_iterable(similarity.batches_of_text(reader, doc_ids))
    for key, text in zip(reader.keys_of(doc_ids), texts, strict=True):
        windows = common_rows(counting.windows_of([text]).windows, common)
        numbers = common.searchsorted(windows["hash"])
        for passage in common_passages(text, windows.compress(~named[numbers]), counting.run):
            passages.setdefault(passage.text, (key, passage))
        named[numbers] = True
    return sorted(passages.values(), key=lambda named: -named[1].words)


def common_rows(windows: Windows, common: Hashes) -> Windows:
    """The windows that are among common ones."""
    return windows.compress(is_in(windows["hash"].copy(), common))


def common_passages(text: str, common_rows: Windows, run: int) -> Iterator[CommonPassage]:
    """The runs of a text that are common, from its common windows of `run` units."""
    new = np.diff(common_rows["unit"], prepend=-run - 1) > run
    begins = np.flatnonzero(new)
    last = np.append(begins[1:], len(common_rows))[: len(begins)] - 1
    words = common_rows["unit"][last] + run - common_rows["unit"][begins]
    first, behind = common_rows["span"][begins].tolist(), common_rows["span"][last].tolist()
    for (start, _, line, _), (_, end, _, end_line), count in zip(
        first, behind, words.tolist(), strict=True
    ):
        yield CommonPassage(start, end, line, end_line, count, text[start:end])
