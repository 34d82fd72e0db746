"""All pairs of documents that share passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise

import numpy as np

from lshdb.errors import UsageError
from lshdb.model import PassagePair, Settings
from lshdb.search.candidates import SharedBuckets
from lshdb.search.limits import COMMON, COMPARED_UNITS
from lshdb.search.passage_texts import (
    Compared,
    Located,
    Mask,
    base_windows,
    bridged,
    common_windows,
    covered,
    least_of,
    passages_at,
    run_of,
    turned,
    window_hashes,
    windows_that_count,
)
from lshdb.search.similarity import batches_of_text, fitting
from lshdb.shingling.hashing import Hashes, Offsets
from lshdb.shingling.passages import Run
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store


@dataclass(frozen=True, slots=True)
class PairsQuery:
    """The arguments of `Database.passage_pairs`; see there. Invalid ones raise UsageError."""

    least: int | None = None
    top: int | None = None
    gap: int = 0
    common: int = COMMON
    base: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_limits(self.top, self.gap, self.common)


def check_limits(top: int | None, gap: int, common: int) -> None:
    """UsageError for arguments that no query for passages can have."""
    if top is not None and top < 1:
        raise UsageError(f"top {top} is below 1")
    if gap < 0:
        raise UsageError(f"gap {gap} is below 0")
    if common < 1:
        raise UsageError(f"common {common} is below 1")


@dataclass(slots=True)
class PairText:
    """A document as a text of pairs.

    Attributes:
        key: its key.
        text: its content.
        windows: uint64[n].
        counts: bool[n], which windows count.
        located: where its units are, once requested.
    """

    key: str
    text: str
    windows: Hashes
    counts: Mask
    located: Located | None = None

    def place(self, settings: Settings) -> Located:
        """Where its units are, computed once."""
        if self.located is None:
            self.located = Located.of(self.text, settings)
        return self.located


def passage_pairs(store: Store, query: PairsQuery) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition.

    The windows of a document are searched in all documents added later that share a fingerprint
    with it. Memory holds 12 bytes per row of a shared fingerprint, and a bounded number of texts.
    """
    with store.beside() as reader:
        pairs = _pairs(reader, query)
        if query.top is None:
            yield from pairs
        else:
            yield from nlargest(query.top, pairs, key=lambda pair: pair.words)


def _pairs(reader: StoreReader, query: PairsQuery) -> Iterator[PassagePair]:
    run = run_of(reader.settings)
    least = least_of(query.least, run)
    doc_ids, buckets = SharedBuckets.collect(reader.shared_fingerprints(query.common))
    if not len(doc_ids):
        return
    common = common_windows(reader, reader.common_fingerprints(query.common))
    texts = _Texts(reader, doc_ids, [common, *base_windows(query.base, reader.settings)])
    for one, other in buckets.pairs(len(doc_ids)):
        for part, documents in fitting(one, other, texts.sizes, COMPARED_UNITS):
            texts.read(documents)
            a, b = one[part], other[part]
            begins = np.flatnonzero(np.diff(a, prepend=-1)).tolist()
            for begin, end in pairwise([*begins, len(a)]):
                own = texts[int(a[begin])]
                others = [texts[number] for number in b[begin:end].tolist()]
                compared = Compared(own.windows, own.counts)
                for place, found in compared.runs_in([its.windows for its in others]):
                    runs = [each for each in found if each.length + run - 1 >= least]
                    if runs:
                        yield pair_of(own, others[place], runs, query.gap, reader.settings)


class _Texts:
    """The texts of documents, by their numbers, kept while there is room.

    Attributes:
        sizes: int64[m], units of each.
    """

    def __init__(self, reader: StoreReader, doc_ids: Offsets, left_out: Sequence[Hashes]) -> None:
        """`left_out` are sorted windows that do not count."""
        self.sizes = reader.sizes(doc_ids)[0] + reader.settings.shingling.size
        self._reader = reader
        self._doc_ids = doc_ids
        self._left_out = left_out
        self._texts: dict[int, PairText] = {}
        self._held = 0

    def __getitem__(self, number: int) -> PairText:
        return self._texts[number]

    def read(self, numbers: Offsets) -> None:
        """Load the texts of documents int64[n], ascending; drops others if there is no room."""
        wanted = set(numbers.tolist())
        missing = np.array(sorted(wanted - self._texts.keys()), dtype=np.int64)
        if self._held + int(self.sizes[missing].sum()) > COMPARED_UNITS:
            self._texts = {key: one for key, one in self._texts.items() if key in wanted}
            self._held = int(self.sizes[list(self._texts)].sum())
        self._held += int(self.sizes[missing].sum())
        doc_ids = self._doc_ids[missing]
        settings, run = self._reader.settings, self._reader.settings.passages
        waiting = iter(zip(missing.tolist(), self._reader.keys_of(doc_ids), strict=True))
        for batch in batches_of_text(self._reader.contents(doc_ids)):
            hashes, offsets = window_hashes(batch, settings)
            bounds = pairwise(offsets.tolist())
            for text, (first, last), (number, key) in zip(batch, bounds, waiting, strict=False):
                windows = hashes[first:last].copy()  # others may be dropped before it
                counts = windows_that_count(windows, self._left_out, run)
                self._texts[number] = PairText(key, text, windows, counts)


def pair_of(
    own: PairText, other: PairText, runs: list[Run], gap: int, settings: Settings
) -> PassagePair:
    """Two documents that share runs of windows."""
    run = settings.passages
    words = covered(runs, run)
    return PassagePair(
        own.key,
        other.key,
        words,
        words / (len(own.windows) + run - 1),
        covered(turned(runs), run) / (len(other.windows) + run - 1),
        passages_at(own.place(settings), other.place(settings), bridged(runs, run, gap)),
    )
