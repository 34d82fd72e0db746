"""All pairs of documents that share passages.

Two documents are a pair if they share a window whose fingerprint at most `common` documents have:
the pairs of such windows grow linearly with the collection. The hashes of all windows are found
once and wait in a temporary file; then the texts of pairs are compared block by block.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from tempfile import TemporaryFile

import numpy as np

from lshdb import errors
from lshdb.model import CommonPassage, PassagePair
from lshdb.options import PassagePairsOptions
from lshdb.progress import shown
from lshdb.search import passage_runs, passage_windows, passages
from lshdb.search.candidates import SharedBuckets
from lshdb.search.reworded import reworded_pairs
from lshdb.search.weights import FingerprintWeights, base_of, ranked
from lshdb.shingling import arrays, winnowing
from lshdb.shingling.hashing import distinct
from lshdb.store import lookups
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
_TextPairs = tuple[list[str], list[str], arrays.IntArray]
"""Documents to compare: their keys, their texts, and the pairs of them, int64[2, p]."""


def passage_pairs(
    store: Store, query: PassagePairsOptions, common: Noted, last: int | None = None
) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition.

    In memory are the fingerprints that documents share and the pairs of documents, 8 bytes each,
    and a bounded number of windows; the hashes of all windows are in a temporary file.

    Args:
        store: the file.
        query: which pairs are wanted.
        common: gets the longest common runs, before the first pair.
        last: the highest id of the first document of a pair; None for all.
    """
    with store.snapshot() as (reader, _):
        if query.reworded:
            with shown(query.progress, "comparing") as progress:
                yield from reworded_pairs(reader, query, progress, last)
            return
        criteria = passages.criteria_of(query.copied, reader.settings, reader.limits)
        shared, counts = reader.shared_fingerprints()
        hot = shared[counts > min(query.copied.runs.common, lookups.MANY - 1)]
        weights = FingerprintWeights.of(
            shared,
            counts,
            reader.count()[0],
            reader.limits,
            base_of(reader.settings, query.copied.base),
        )
        windows = passage_windows.common_windows(reader, hot)
        common[:] = passage_windows.longest_common(reader, hot, windows)
        counting_all = passage_windows.Counting.of(reader.settings, hot)
        counting = dataclasses.replace(counting_all, common=windows, shared=shared)
        counting = counting.with_base(query.copied.base)
        doc_ids = reader.doc_ids()
        together = reader.limits.passage_windows * _TOGETHER[reader.settings.shingling.kind]
        with closing(_WindowFile()) as windows_of_all:
            texts = arrays.bounded(reader.contents(doc_ids), len, together)
            for keys, count in in_processes(partial(_leading_windows, counting), texts):
                windows_of_all.append(keys, count)
            pairs = _candidates(windows_of_all, reader.limits.passage_windows)
        if last is not None:
            pairs = pairs[: np.searchsorted(pairs, doc_ids.searchsorted(last, "right") << _32)]
        blocks = _blocks(reader, doc_ids, pairs, 2 * together)
        compare = partial(_sharing, counting, criteria, weights, query)
        compared = _with_warnings(in_processes(compare, blocks))
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
        """Add the windows of the next documents, ordered by hash, as _KEY has them."""
        keys["document"] += self.documents
        self.documents += documents
        cells = np.append(keys["hash"].searchsorted(_CELLS), len(keys))
        self._bounds.append(self._bounds[-1][-1] + cells)
        with temporary_file_errors():
            self._file.write(keys.data)

    def buckets(self, maximum: int) -> Iterator[SharedBuckets]:
        """The documents that share a window, of about `maximum` windows at a time."""
        sizes = np.diff(self._bounds).sum(axis=0)
        for cells in arrays.chunks_of(sizes, maximum):
            parts = []
            for bounds in self._bounds:
                first, last = bounds[[cells.start, cells.stop]].tolist()
                self._file.seek(first * _KEY.itemsize)
                parts.append(self._file.read((last - first) * _KEY.itemsize))
            keys = np.frombuffer(b"".join(parts), dtype=_KEY)
            yield SharedBuckets.of(keys["hash"], keys["document"])


def _leading_windows(
    counting: passage_windows.Counting, texts: list[str]
) -> tuple[passage_windows.Windows, int]:
    """The windows of texts that lead to pairs, by hash, as _KEY has them; the number of texts."""
    text_windows = counting.windows_of(texts)
    leads = text_windows.windows["leads"]
    keys = np.empty(int(leads.sum()), dtype=_KEY)
    keys["hash"] = text_windows.windows["hash"][leads]
    keys["document"] = np.repeat(np.arange(len(texts)), np.diff(text_windows.offsets))[leads]
    return keys.take(np.argsort(keys["hash"], kind="stable")), len(texts)


def _candidates(windows: _WindowFile, maximum: int) -> arrays.IntArray:
    """The pairs of documents that share one of the windows, at most `maximum` of these at once.

    Returns:
        int64[p], the numbers a and b of both, a in the high 32 bits; ascending.
    """
    pairs, waiting = arrays.NO_NUMBERS, [arrays.NO_NUMBERS]
    for shared in windows.buckets(maximum):
        for a, b in shared.pairs(windows.documents):
            waiting.append(a << _32 | b)
            # The limit grows with the known pairs, or all would be sorted over and over.
            if sum(map(len, waiting)) > max(_PAIRS, len(pairs) // 2):
                pairs, waiting = distinct(np.concatenate([pairs, *waiting])), []
    return distinct(np.concatenate([pairs, *waiting]))


def _blocks(
    reader: lookups.StoreReader, doc_ids: arrays.IntArray, pairs: arrays.IntArray, together: int
) -> Iterator[_TextPairs]:
    """The documents of pairs, in blocks of up to `together` characters, or one pair."""
    lengths = reader.lengths(doc_ids)
    begin = 0
    while begin < len(pairs):
        part = pairs[begin : begin + _BLOCK]
        distinct_numbers, first, indices = np.unique(
            np.stack([part >> _32, part & _LOW], axis=1), return_index=True, return_inverse=True
        )
        sizes = np.zeros((len(part), 2), dtype=np.int64)
        sizes.reshape(-1)[first] = lengths[distinct_numbers]  # a text counts once
        count = max(1, int(sizes.sum(axis=1).cumsum().searchsorted(together, side="right")))
        used, indices = np.unique(indices.reshape(-1, 2)[:count], return_inverse=True)
        ids = doc_ids[distinct_numbers[used]]
        yield reader.keys_of(ids), [*reader.contents(ids)], indices.reshape(-1, 2).T
        begin += count


def _sharing(
    counting: passage_windows.Counting,
    criteria: passage_runs.Criteria,
    weights: FingerprintWeights,
    query: PassagePairsOptions,
    block: _TextPairs,
) -> tuple[list[PassagePair], list[errors.Cut]]:
    """The pairs of a block that share passages, and what limits cut.

    Args:
        counting: which windows count.
        criteria: which passages are wanted.
        weights: of fingerprints.
        query: which pairs are wanted.
        block: documents, and pairs of them.
    """
    keys, texts, (a, b) = block
    pairs = passage_runs.Pairs(counting.windows_of(texts), a, b)
    with errors.limits_noted() as cuts:
        shared = [*passage_runs.shared_passages(pairs, criteria)]
    indices = arrays.int_array(shared_text.pair for shared_text in shared)
    prints = winnowing.fingerprints(texts, counting.shingling, criteria.run, counting.seed)
    weighted = weights.compared(prints, a[indices], b[indices])
    matches = (
        PassagePair(
            a=keys[a[shared_text.pair]],
            b=keys[b[shared_text.pair]],
            words=shared_text.words,
            a_coverage=shared_text.coverage,
            b_coverage=shared_text.b_coverage,
            passages=shared_text.passages,
            weighted=similarity,
            weighted_share=share,
        )
        for shared_text, (similarity, share) in zip(shared, weighted.T.tolist(), strict=True)
    )
    return [*ranked(matches, query.weighted, query.top, "share")], cuts


def _with_warnings(
    blocks: Iterator[tuple[list[PassagePair], list[errors.Cut]]],
) -> Iterator[PassagePair]:
    """The pairs of all blocks; a warning for each limit."""
    for pairs, cuts in blocks:
        for cut in cuts:
            errors.warn_of_limit(cut)
        yield from pairs
