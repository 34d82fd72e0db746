"""All pairs of documents that share passages.

Two documents are a pair if they share a window whose fingerprint at most `common` documents have:
the pairs of such windows grow linearly with the collection. The hashes of all windows are found
once and wait in a temporary file; then the texts of pairs are compared block by block.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, groupby, islice
from operator import attrgetter
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from lshdb import errors
from lshdb.apps.passages import lookups as part_lookups
from lshdb.apps.passages import passage_runs, passage_windows, winnowing
from lshdb.apps.passages.model import (
    PAIR_TOTALS,
    PASSAGE,
    CommonPassage,
    PassagePair,
    passage_values,
)
from lshdb.apps.passages.options import PassagePairsOptions
from lshdb.apps.passages.passages import criteria_of
from lshdb.apps.passages.processes import in_processes
from lshdb.apps.passages.reworded import reworded_pairs
from lshdb.apps.passages.weights import FingerprintWeights, ranked
from lshdb.progress import shown
from lshdb.search.candidates import SharedBuckets
from lshdb.search.result_tables import Results, finding
from lshdb.store import lookups
from lshdb.store.partial_files import temporary_file_errors
from lshdb.store.store import Store
from lshdb.text import arrays
from lshdb.text.hashing import distinct

_MAX_WAITING = 1 << 20
"""Pairs that are collected before repeated ones are dropped."""
_BLOCK = 3
"""How many times as many characters each side of a block of pairs has."""
_32 = 32
_LOW = (1 << _32) - 1
_CELLS = np.arange(1 << 10, dtype=np.uint64) << np.uint64(54)
"""Where stretches of hashes begin: the windows of one are read together."""
_KEY = np.dtype([("hash", "u8"), ("document", "i4")])
"""A window, and the number of its document."""

Noted = list[tuple[str, CommonPassage]]
"""Common runs, with the key of a document that has each."""


class PassageResults(Results[PassagePair]):
    """Pairs that share passages as results; a row of the table is a passage.

    Attributes:
        common: all runs of words that do not count because too many documents have them, the
            longest first, each with the key of such a document; empty before the first pair or row.
        totals: gives a row for each pair, with the columns of PAIR_TOTALS, in the requested order;
            by default the largest share first.
    """

    common: list[tuple[str, CommonPassage]]
    totals: Callable[[], Iterable[Sequence[Any]]]


def passage_results(store: Store, options: PassagePairsOptions) -> PassageResults:
    """The results of `Database.passage_pairs`."""
    noted: Noted = []

    def totals() -> Iterable[Sequence[Any]]:
        if options.group_by is None:
            return passage_totals(store, options, noted)
        pairs: Iterable[Any] = find()
        if not options.weighted.sort and options.top is None:  # else they are in order
            pairs = sorted(pairs, key=attrgetter("share"), reverse=True)
        return ((*of_pair(pair), len(pair.passages)) for pair in pairs)

    find = finding(passage_pairs, store, options, options.group_by, noted)
    of_pair = attrgetter(*(name for name in PAIR_TOTALS if name != "passages"))

    def rows() -> Iterator[Sequence[Any]]:
        for pair in find():
            row = of_pair(pair)
            yield from ((*row, *passage_values(passage)) for passage in pair.passages)

    columns = {**PAIR_TOTALS, **PASSAGE}
    del columns["passages"]
    results = PassageResults("passages", columns, find, rows)
    results.common, results.totals = noted, totals
    return results


def passage_pairs(store: Store, query: PassagePairsOptions, common: Noted) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition.

    In memory are the fingerprints that documents share and the pairs of documents, 8 bytes each,
    and a bounded number of windows; the hashes of all windows are in a temporary file.

    Args:
        store: the file.
        query: which pairs are wanted.
        common: gets all common runs, longest first, before the first pair.
    """
    with store.snapshot() as (reader, _):
        if query.reworded:
            with shown(query.progress, "comparing") as progress:
                yield from reworded_pairs(reader, query, progress)
            return
        tables = _tables(reader, query, common, None)
        pairs = chain.from_iterable(_with_passages(reader, *table) for table in tables)
        yield from ranked(pairs, query.weighted, query.top, "share")


def passage_totals(
    store: Store, query: PassagePairsOptions, common: Noted, last: int | None = None
) -> Iterator[tuple[Any, ...]]:
    """The same pairs by `query.weighted`, else by their larger share, as rows of PAIR_TOTALS.

    They take a tenth of the time of passages if these are many. With `last`, that is the highest id
    of the first document of a pair.
    """
    with store.snapshot() as (reader, _):
        tables = _tables(reader, query, common, last)
        totals = np.concatenate(
            [np.empty(0, dtype=passage_runs.PAIR), *(pairs for pairs, _ in tables)]
        )
        if (minimum := query.weighted.min_weighted) is not None:
            totals = totals[totals["weighted"] >= minimum]
        share = np.maximum(totals["a_coverage"], totals["b_coverage"])
        keys = [-share, *([-totals[query.weighted.sort]] if query.weighted.sort else [])]
        yield from _rows(reader, totals[np.lexsort(keys)[: query.top]])


def _tables(
    reader: lookups.StoreReader, query: PassagePairsOptions, common: Noted, last: int | None
) -> Iterator[tuple[passage_runs.Rows, passage_runs.Rows]]:
    """The pairs of `passage_pairs`, of some documents and all that follow them.

    Yields:
        The pairs, as passage_runs.PAIR has them, with the ids of documents, and their passages.
    """
    criteria = criteria_of(query.copied, reader.settings, reader.limits)
    shared, counts = part_lookups.shared_fingerprints(reader)
    hot = shared[counts > min(query.copied.runs.common, part_lookups.MANY - 1)]
    weights = FingerprintWeights.of(
        shared,
        counts,
        reader.count()[0],
        reader.limits,
        winnowing.base_fingerprints(reader.settings, query.copied.base),
    )
    windows = passage_windows.common_windows(reader, hot)
    common[:] = passage_windows.common_runs(reader, hot, windows)
    counting_all = passage_windows.Counting.of(reader.settings, hot)
    counting = dataclasses.replace(counting_all, common=windows, shared=shared)
    counting = counting.with_base(query.copied.base)
    doc_ids = reader.doc_ids()
    together = (
        reader.limits.passage_windows * passage_windows.TOGETHER[reader.settings.shingling.kind]
    )
    with closing(_WindowFile()) as windows_of_all:
        texts = arrays.bounded(reader.contents(doc_ids), len, together)
        for keys, count in in_processes(partial(_leading_windows, counting), texts):
            windows_of_all.append(keys, count)
        candidates = _candidates(windows_of_all, reader.limits.passage_windows)
    if last is not None:
        behind = doc_ids.searchsorted(last, "right") << _32
        candidates = candidates[: candidates.searchsorted(behind)]
    blocks = _blocks(reader, doc_ids, candidates, _BLOCK * together)
    compared = in_processes(partial(_sharing, counting, criteria, weights), blocks)
    for _, of_band in groupby(compared, attrgetter("band")):
        tables = [*of_band]
        for cut in chain.from_iterable(table.cuts for table in tables):
            errors.warn_of_limit(cut)
        pairs = np.concatenate([table.pairs for table in tables])
        order = np.lexsort((pairs["b"], pairs["a"]))
        begins = arrays.offsets_of(pairs["passages"])[order]
        pairs, passages = pairs[order], np.concatenate([table.passages for table in tables])
        passages = passages[arrays.expand_ranges(begins, pairs["passages"])]
        passages["pair"] = np.repeat(np.arange(len(pairs)), pairs["passages"])
        yield pairs, passages


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
            # Half of a hash: a few more candidates, which share no passage.
            halves = keys["hash"] << np.uint64(_32)
            yield SharedBuckets.of(halves | keys["document"].astype(np.uint64))


def _leading_windows(
    counting: passage_windows.Counting, texts: list[str]
) -> tuple[passage_windows.Windows, int]:
    """The windows of texts that lead to pairs, by hash, as _KEY has them; the number of texts."""
    text_windows = counting.windows_of(texts)
    windows = text_windows.windows
    document = np.repeat(np.arange(len(texts)), arrays.sizes_of(text_windows.offsets))
    keys = np.empty(len(windows), dtype=_KEY)
    keys["hash"], keys["document"] = windows["hash"], document
    keys = keys.compress(windows["leads"])
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
            if sum(map(len, waiting)) > max(_MAX_WAITING, len(pairs) // 2):
                pairs, waiting = distinct(np.concatenate([pairs, *waiting])), []
    return distinct(np.concatenate([pairs, *waiting]))


class _Block(NamedTuple):
    """Documents to compare.

    Attributes:
        band: the number of the table that pairs belong to.
        doc_ids: int64[n].
        texts: of these.
        pairs: int64[2, p], the indices of both documents of each pair.
    """

    band: int
    doc_ids: arrays.IntArray
    texts: list[str]
    pairs: arrays.IntArray


class _Table(NamedTuple):
    """Pairs of documents that share passages.

    Attributes:
        band: the number of the table that they belong to.
        pairs: as passage_runs.PAIR has them, with the ids of documents.
        passages: as passage_runs.PASSAGE has them, in the order of pairs.
        cuts: what limits left out.
    """

    band: int
    pairs: passage_runs.Rows
    passages: passage_runs.Rows
    cuts: list[errors.Cut]


def _blocks(
    reader: lookups.StoreReader, doc_ids: arrays.IntArray, pairs: arrays.IntArray, together: int
) -> Iterator[_Block]:
    """The documents of pairs, in blocks of up to `together` characters on each side.

    A band has some first documents, and its blocks have all that are second ones of their pairs:
    so a text is read for few blocks, however many pairs it has.
    """
    lengths = reader.lengths(doc_ids)
    for band, of_band in enumerate(_parted(pairs >> _32, lengths, together)):
        in_band, more = pairs[of_band], lengths.copy()
        more[in_band >> _32] = 0  # each block has them, whichever others there are
        for of_block in _parted(in_band & _LOW, more, together):
            block = np.sort(in_band[of_block])
            both = np.stack([block >> _32, block & _LOW])
            used, indices = np.unique(both, return_inverse=True)
            ids = doc_ids[used]
            yield _Block(band, ids, [*reader.contents(ids)], indices.reshape(both.shape))


def _parted(
    numbers: arrays.IntArray, lengths: arrays.IntArray, together: int
) -> Iterator[arrays.IntArray]:
    """The indices of numbers of documents, in parts of documents of up to `together` characters."""
    order = np.argsort(numbers, kind="stable")
    begins, ends = arrays.runs(numbers[order])
    for part in arrays.chunks_of(lengths[numbers[order[begins]]], together):
        yield order[begins[part.start] : ends[part.stop - 1]]


def _sharing(
    counting: passage_windows.Counting,
    criteria: passage_runs.Criteria,
    weights: FingerprintWeights,
    block: _Block,
) -> _Table:
    """The pairs of a block that share passages, and what limits cut.

    Args:
        counting: which windows count.
        criteria: which passages are wanted.
        weights: of fingerprints.
        block: documents, and pairs of them.
    """
    texts = counting.windows_of(block.texts)
    with errors.limits_noted() as cuts:
        pairs, passages = passage_runs.shared_passages(texts, criteria, *block.pairs)
    prints = winnowing.fingerprints(block.texts, counting.shingling, criteria.run, counting.seed)
    weighted = weights.compared(prints, pairs["a"], pairs["b"])
    pairs["weighted"], pairs["weighted_share"] = weighted
    pairs["a"], pairs["b"] = block.doc_ids[pairs["a"]], block.doc_ids[pairs["b"]]
    return _Table(block.band, pairs, passages, cuts)


def _rows(reader: lookups.StoreReader, pairs: passage_runs.Rows) -> Iterator[tuple[Any, ...]]:
    """Pairs with the keys of their documents."""
    ids, sides = np.unique([pairs["a"], pairs["b"]], return_inverse=True)
    keys = reader.keys_of(ids)
    a, b = sides.reshape(2, -1).tolist()
    values = (pairs[name].tolist() for name in [*PAIR_TOTALS][2:])
    return zip(map(keys.__getitem__, a), map(keys.__getitem__, b), *values, strict=True)


def _with_passages(
    reader: lookups.StoreReader, pairs: passage_runs.Rows, passages: passage_runs.Rows
) -> Iterator[PassagePair]:
    """Pairs with their passages."""
    lengths = reader.lengths(pairs["a"]) + reader.lengths(pairs["b"])
    rows, begins = _rows(reader, pairs), arrays.offsets_of(pairs["passages"])
    for part in arrays.chunks_of(lengths, reader.limits.text_batch):
        ids, sides = np.unique([pairs["a"][part], pairs["b"][part]], return_inverse=True)
        listed = passages[begins[part.start] : begins[part.stop]]
        listed["pair"] -= part.start
        copied = passage_runs.passages_of(listed, [*reader.contents(ids)], *sides.reshape(2, -1))
        for a, b, words, coverage, b_coverage, *weighted, count in islice(rows, len(lengths[part])):
            listed_passages = tuple(islice(copied, count))
            yield PassagePair(a, b, words, coverage, b_coverage, listed_passages, *weighted)
