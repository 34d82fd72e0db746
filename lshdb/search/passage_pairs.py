"""All pairs of documents that share passages.

Two documents are a pair if they share a window whose fingerprint at most `common` documents have:
the pairs of such windows grow linearly with the collection. The hashes of all windows are found
once and wait in a temporary file; then the texts of pairs are compared block by block.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from tempfile import TemporaryFile

import numpy as np

from lshdb.errors import Cut, limits_noted, warn_of_limit
from lshdb.model import CommonPassage, PassagePair
from lshdb.options import PassagePairsOptions
from lshdb.progress import shown
from lshdb.search import passage_runs, passage_windows, passages
from lshdb.search.candidates import SharedBuckets
from lshdb.search.reworded import reworded_pairs
from lshdb.search.weights import FingerprintWeights, base_of, ranked
from lshdb.shingling import winnowing
from lshdb.shingling.arrays import NO_NUMBERS, IntArray, bounded, chunks_of, int_array
from lshdb.shingling.hashing import distinct
from lshdb.store.lookups import MANY, StoreReader
from lshdb.store.partial_files import temporary_file_errors
from lshdb.store.store import Store
from lshdb.workers import in_processes

_TOGETHER = {"word": 4, "code": 2, "char": 1}
"""Characters of a batch of texts for each window in memory."""
_PAIRS = 1 << 20
"""Pairs that are collected before repeated ones are dropped."""
_BLOCK = 1 << 12
"""Maximum pairs that are compared together."""
_32 = 32
_LOW = (1 << _32) - 1
_CELLS = np.arange(1 << 10, dtype=np.uint64) << np.uint64(54)
"""Where stretches of hashes begin: the windows of one are read together."""
_KEY = np.dtype([("hash", "u8"), ("document", "i4")])
"""A window, and the number of its document."""

Noted = list[tuple[str, CommonPassage]]
"""Common runs, with the key of a document that has each."""
_TextPairs = tuple[list[str], list[str], IntArray]
"""Documents to compare: their keys, their texts, and the pairs of them, int64[2, p]."""


def passage_pairs(store: Store, query: PassagePairsOptions, common: Noted) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition.

    In memory are the fingerprints that documents share and the pairs of documents, 8 bytes each,
    and a bounded number of windows; the hashes of all windows are in a temporary file.

    Args:
        store: the file.
        query: what is asked.
        common: gets the longest common runs, before the first pair.
    """
    with store.snapshot() as (reader, _):
        if query.reworded:
            with shown(query.progress, "comparing") as progress:
                yield from reworded_pairs(reader, query, progress)
            return
        criteria = passages.criteria_of(query.copied, reader.settings, reader.limits)
        shared, counts = reader.shared_fingerprints()
        hot = shared[counts > min(query.copied.runs.common or reader.limits.common, MANY - 1)]
        weights = FingerprintWeights.of(
            shared,
            counts,
            reader.count()[0],
            reader.limits,
            base_of(reader.settings, query.copied.base),
        )
        windows = passage_windows.common_windows(reader, hot)
        common[:] = passage_windows.longest_common(reader, hot, windows)
        every = passage_windows.Counting.of(reader.settings, hot)
        counting = replace(every, left_out=(windows,), shared=shared).with_base(query.copied.base)
        doc_ids = reader.doc_ids()
        together = reader.limits.passage_windows * _TOGETHER[reader.settings.shingling.kind]
        with closing(_WindowFile()) as found:
            texts = bounded(reader.contents(doc_ids), len, together)
            for keys, count in in_processes(_WindowFinder(counting).run, texts):
                found.append(keys, count)
            pairs = _candidates(found, reader.limits.passage_windows)
        blocks = _blocks(reader, doc_ids, pairs, 2 * together)
        compared = _compared(_PairComparer(counting, criteria, weights, query), blocks)
        yield from ranked(compared, query.weighted, query.top, "share")


class _WindowFile:
    """The windows of all documents that lead to pairs, in a temporary file.

    Attributes:
        documents: how many there are.
    """

    def __init__(self) -> None:
        """Make the file."""
        with temporary_file_errors():
            self._file = TemporaryFile()  # noqa: SIM115
        self.close = self._file.close
        # For each batch of documents, where the rows of each cell begin in the file, and end.
        self._bounds = [np.zeros(len(_CELLS) + 1, dtype=np.int64)]
        self.documents = 0

    def append(self, keys: passage_windows.Windows, documents: int) -> None:
        """Add the windows of the next documents, as KEY has them, by hash."""
        keys["document"] += self.documents
        self.documents += documents
        cells = np.append(keys["hash"].searchsorted(_CELLS), len(keys))
        self._bounds.append(self._bounds[-1][-1] + cells)
        with temporary_file_errors():
            self._file.write(keys.data)

    def buckets(self, maximum: int) -> Iterator[SharedBuckets]:
        """The documents that share a window, of about `maximum` windows at a time."""
        sizes = np.diff(self._bounds).sum(axis=0)
        for cells in chunks_of(sizes, maximum):
            parts = []
            for bounds in self._bounds:
                first, last = bounds[[cells.start, cells.stop]].tolist()
                self._file.seek(first * _KEY.itemsize)
                parts.append(self._file.read((last - first) * _KEY.itemsize))
            keys = np.frombuffer(b"".join(parts), dtype=_KEY)
            yield SharedBuckets.of(keys["hash"], keys["document"])


@dataclass(frozen=True, slots=True)
class _WindowFinder:
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


def _candidates(windows: _WindowFile, maximum: int) -> IntArray:
    """The pairs of documents that share one of the windows, at most `maximum` of these at once.

    Returns:
        int64[p], the numbers a and b of both, a in the high 32 bits; ascending.
    """
    pairs, waiting = NO_NUMBERS, [NO_NUMBERS]
    for shared in windows.buckets(maximum):
        for a, b in shared.pairs(windows.documents):
            waiting.append(a << _32 | b)
            # Let it grow with what is known, or all is sorted over and over.
            if sum(map(len, waiting)) > max(_PAIRS, len(pairs) // 2):
                pairs, waiting = distinct(np.concatenate([pairs, *waiting])), []
    return distinct(np.concatenate([pairs, *waiting]))


def _blocks(
    reader: StoreReader, doc_ids: IntArray, pairs: IntArray, together: int
) -> Iterator[_TextPairs]:
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
class _PairComparer:
    """Finds the pairs that share passages, and notes what limits cut.

    Attributes:
        counting: which windows count.
        criteria: the passages that are wanted.
        weights: of fingerprints.
        query: what is asked.
    """

    counting: passage_windows.Counting
    criteria: passage_runs.Criteria
    weights: FingerprintWeights
    query: PassagePairsOptions

    def run(self, item: _TextPairs) -> tuple[list[PassagePair], list[Cut]]:
        """Compare pairs of documents."""
        keys, texts, (a, b) = item
        pairs = passage_runs.Pairs(self.counting.windows_of(texts), a, b)
        with limits_noted() as cuts:
            shared = [*passage_runs.shared_passages(pairs, self.criteria)]
        some = int_array(one.pair for one in shared)
        prints = winnowing.fingerprints(
            texts, self.counting.shingling, self.criteria.run, self.counting.seed
        )
        weighted = self.weights.compared(prints, a[some], b[some])
        found = (
            PassagePair(
                a=keys[a[one.pair]],
                b=keys[b[one.pair]],
                words=one.words,
                a_coverage=one.coverage,
                b_coverage=one.b_coverage,
                passages=one.passages,
                weighted=similarity,
                weighted_share=share,
            )
            for one, (similarity, share) in zip(shared, weighted.T.tolist(), strict=True)
        )
        query = self.query
        return [*ranked(found, query.weighted, query.top, "share")], cuts


def _compared(job: _PairComparer, blocks: Iterator[_TextPairs]) -> Iterator[PassagePair]:
    """The pairs that a job finds, block by block."""
    for found, cuts in in_processes(job.run, blocks):
        for cut in cuts:
            warn_of_limit(cut)
        yield from found
