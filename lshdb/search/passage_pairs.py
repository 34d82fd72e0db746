"""All pairs of documents that share passages.

Two documents are a pair if they share a window whose fingerprint at most `common` documents have:
the pairs of such windows grow linearly with the collection. The hashes of all windows are found
once and wait in a temporary file; then the texts of pairs are compared block by block.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.errors import Cut, limits_noted, warn_of_limit
from lshdb.model import CommonPassage, PassagePair
from lshdb.options import PassagePairsOptions
from lshdb.progress import shown
from lshdb.search import passage_runs, passage_windows, passages, rarity
from lshdb.search.reworded import reworded_pairs
from lshdb.shingling import winnowing
from lshdb.shingling.arrays import IntArray, bounded, chunks_of, expand_ranges, offsets_of
from lshdb.shingling.hashing import distinct, secret_seed
from lshdb.store.lookups import MANY, StoreReader
from lshdb.store.partial_files import temporary_file_errors
from lshdb.store.store import Store

_TOGETHER = {"word": 4, "code": 2, "char": 1}
"""Characters of a batch of texts for each window in memory."""
_PAIRS = 1 << 20
"""Pairs that are collected before repeated ones are dropped."""
_BLOCK = 1 << 12
"""Maximum pairs that are compared together."""
_32 = 32
_LOW = (1 << _32) - 1
_CELLS = 1 << 10
"""Stretches of hashes: the windows of one are read together."""
_CELL = np.uint64(64 - 10)
"""Bits of a hash after its cell."""
_KEY = np.dtype([("hash", "u8"), ("document", "i4")])
"""A window, and the number of its document."""
_NONE = np.empty(0, dtype=np.int64)

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Runs a function for items, and gives the results in their order. See lshdb.ingest.workers."""
Noted = list[tuple[str, CommonPassage]]
"""Common runs, with the key of a document that has each."""
_Block = tuple[list[str], list[str], IntArray]
"""Documents to compare: their keys, their texts, and the pairs of them, int64[2, p]."""


def passage_pairs(
    store: Store, query: PassagePairsOptions, common: Noted, run: Run
) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition.

    In memory are the fingerprints that documents share and the pairs of documents, 8 bytes each,
    and a bounded number of windows; the hashes of all windows are in a temporary file.

    Args:
        store: the file.
        query: what is asked.
        common: gets the longest common runs, before the first pair.
        run: finds windows and compares, in this process or others.
    """
    with store.beside() as (reader, _):
        if query.reworded:
            with shown(query.progress, "comparing") as progress:
                yield from reworded_pairs(reader, query, progress)
            return
        criteria = passages.criteria_of(query, reader.settings, reader.limits)
        shared, counts = reader.shared_fingerprints()
        hot = shared[counts > min(query.common or reader.limits.common, MANY - 1)]
        weights = rarity.Rarity.of(
            shared,
            counts,
            reader.count()[0],
            reader.limits,
            rarity.base_of(reader.settings, query.base),
        )
        windows = passage_windows.common_windows(reader, hot)
        common[:] = passage_windows.longest_common(reader, hot, windows)
        every = passage_windows.Counting.of(reader.settings, hot)
        counting = replace(every, left_out=(windows,), shared=shared).with_base(query.base)
        doc_ids = reader.doc_ids()
        together = reader.limits.passage_windows * _TOGETHER[reader.settings.shingling.kind]
        with closing(_Windows()) as found:
            texts = bounded(reader.contents(doc_ids), len, together)
            for keys, count in run(_Finding(counting).run, texts):
                found.append(keys, count)
            pairs = _candidates(found, reader.limits.passage_windows)
        blocks = _blocks(reader, doc_ids, pairs, 2 * together)
        compared = _compared(_Comparing(counting, criteria, weights, query), blocks, run)
        yield from rarity.ranked(compared, query, "share")


class _Windows:
    """The windows of all documents that lead to pairs, in a temporary file.

    Attributes:
        sizes: int64[cells], how many each cell has.
    """

    def __init__(self) -> None:
        """Make the file."""
        with temporary_file_errors():
            self._file = TemporaryFile()  # noqa: SIM115
        self.close = self._file.close
        self.sizes = np.zeros(_CELLS, dtype=np.int64)
        # For each batch of documents where its rows begin, and int32[cells+1], how many come
        # before each cell.
        self._batches: list[tuple[int, npt.NDArray[np.int32]]] = []
        self.documents = 0

    def append(self, keys: passage_windows.Windows, documents: int) -> None:
        """Add the windows of the next documents, as KEY has them, by hash."""
        keys["document"] += self.documents
        self.documents += documents
        sizes = np.bincount((keys["hash"] >> _CELL).astype(np.int64), minlength=_CELLS)
        self.sizes += sizes
        with temporary_file_errors():
            self._batches.append((self._file.tell(), offsets_of(sizes).astype(np.int32)))
            self._file.write(keys.data)

    def of_cells(self, cells: slice) -> passage_windows.Windows:
        """The windows of some cells, by document."""
        parts = []
        for begin, before in self._batches:
            first, last = before[[cells.start, cells.stop]].tolist()
            self._file.seek(begin + first * _KEY.itemsize)
            parts.append(self._file.read((last - first) * _KEY.itemsize))
        return np.frombuffer(b"".join(parts), dtype=_KEY)


@dataclass(frozen=True, slots=True)
class _Finding:
    """Finds the windows of texts."""

    counting: passage_windows.Counting

    def run(self, item: list[str]) -> tuple[passage_windows.Windows, int]:
        """Those that lead to pairs, as KEY has them, by hash; how many texts there are."""
        found = self.counting.windows_of(item)
        leads = found.windows["leads"]
        keys = np.empty(int(leads.sum()), dtype=_KEY)
        keys["hash"] = found.windows["hash"][leads]
        keys["document"] = np.repeat(np.arange(len(item)), np.diff(found.offsets))[leads]
        return keys.take(np.argsort(keys["hash"], kind="stable")), len(item)


def _candidates(windows: _Windows, maximum: int) -> IntArray:
    """The pairs of documents that share one of the windows, at most `maximum` of these at once.

    Returns:
        int64[p], the numbers a and b of both, a in the high 32 bits; ascending.
    """
    pairs, waiting = _NONE, [_NONE]
    # The windows of a run are in the same documents, a list that counts once: the sums of random
    # numbers of 126 bits, one for each document, are the same for no other list.
    draw = np.random.default_rng(secret_seed())
    marks = draw.integers(0, 1 << 63, (2, windows.documents))
    for part in chunks_of(windows.sizes, maximum):
        keys = windows.of_cells(part)
        keys = keys.take(np.argsort(keys["hash"], kind="stable"))
        new = np.diff(keys["hash"], prepend=~keys["hash"][:1]) != 0
        once = new | (np.diff(keys["document"], prepend=-1) != 0)
        document, new = keys["document"][once].astype(np.int64), new[once]
        begins = np.flatnonzero(new)
        if not len(begins):
            continue
        counts = np.diff(begins, append=len(document))
        sums = [np.add.reduceat(mark[document], begins) for mark in marks]
        order = np.lexsort(sums)
        other = np.ones(len(order), dtype=np.bool_)
        other[1:] = np.any([np.diff(one[order]) != 0 for one in sums], axis=0)
        lists = order[other & (counts[order] > 1)]
        document = document[expand_ranges(begins[lists], counts[lists])]
        index = np.arange(len(document))
        later = np.repeat(np.cumsum(counts[lists]), counts[lists]) - index - 1
        for some in chunks_of(later, _PAIRS):
            others = document[expand_ranges(index[some] + 1, later[some])]
            waiting.append(np.repeat(document[some] << _32, later[some]) | others)
            # Let it grow with what is known, or all is sorted over and over.
            if sum(map(len, waiting)) > max(_PAIRS, len(pairs) // 2):
                pairs, waiting = distinct(np.concatenate([pairs, *waiting])), []
    return distinct(np.concatenate([pairs, *waiting]))


def _blocks(
    reader: StoreReader, doc_ids: IntArray, pairs: IntArray, together: int
) -> Iterator[_Block]:
    """The documents of pairs, in blocks of up to `together` characters, or one pair."""
    lengths = reader.lengths(doc_ids)
    begin = 0
    while begin < len(pairs):
        part = pairs[begin : begin + _BLOCK]
        some, first, indices = np.unique(
            np.stack([part >> _32, part & _LOW], axis=1), return_index=True, return_inverse=True
        )
        sizes = np.zeros((len(part), 2), dtype=np.int64)
        sizes.reshape(-1)[first] = lengths[some]  # a text counts once
        count = max(1, int(sizes.sum(axis=1).cumsum().searchsorted(together, side="right")))
        used, indices = np.unique(indices.reshape(-1, 2)[:count], return_inverse=True)
        ids = doc_ids[some[used]]
        yield reader.keys_of(ids), [*reader.contents(ids)], indices.reshape(-1, 2).T
        begin += count


@dataclass(frozen=True, slots=True)
class _Comparing:
    """Finds the pairs that share passages, and notes what limits cut.

    Attributes:
        counting: which windows count.
        criteria: the passages that are wanted.
        weights: of fingerprints.
        query: what is asked.
    """

    counting: passage_windows.Counting
    criteria: passage_runs.Criteria
    weights: rarity.Rarity
    query: PassagePairsOptions

    def run(self, item: _Block) -> tuple[list[PassagePair], list[Cut]]:
        """Compare pairs of documents."""
        keys, texts, (a, b) = item
        pairs = passage_runs.Pairs(self.counting.windows_of(texts), a, b)
        with limits_noted() as cuts:
            shared = [*passage_runs.shared_passages(pairs, self.criteria)]
        some = np.array([one.pair for one in shared], dtype=np.int64)
        prints = winnowing.fingerprints(
            texts, self.counting.shingling, self.criteria.run, self.counting.seed
        )
        weighted = self.weights.compared(prints, a[some], b[some])
        found = (
            PassagePair(
                keys[a[one.pair]],
                keys[b[one.pair]],
                one.words,
                one.coverage,
                one.b_coverage,
                one.passages,
                *shares,
            )
            for one, shares in zip(shared, weighted.T.tolist(), strict=True)
        )
        return [*rarity.ranked(found, self.query, "share")], cuts


def _compared(job: _Comparing, blocks: Iterator[_Block], run: Run) -> Iterator[PassagePair]:
    """The pairs that a job finds, block by block."""
    for found, cuts in run(job.run, blocks):
        for cut in cuts:
            warn_of_limit(cut)
        yield from found
