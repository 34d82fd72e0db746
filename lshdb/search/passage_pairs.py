"""All pairs of documents that share passages.

Two documents are a pair if they share a window whose fingerprint at most `common` documents have:
the pairs of such windows grow linearly with the collection. All windows are found once and wait in
a temporary file; then the pairs are compared block by block, as the candidates of one query are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from heapq import nlargest
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshdb.errors import Cut, limits_noted, warn_of_limit
from lshdb.model import CommonPassage, PassagePair
from lshdb.options import PassagePairsOptions
from lshdb.search import passage_runs, passages, spilled
from lshdb.search.passage_windows import (
    WINDOW,
    Counting,
    Texts,
    Windows,
    common_windows,
    longest_common,
)
from lshdb.shingling.arrays import IntArray, bounded, chunks_of, expand_ranges, offsets_of
from lshdb.shingling.hashing import distinct, secret_seed
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store

_TOGETHER = {"word": 4, "char": 1}
"""Characters of a batch of texts for each window in memory."""
_PAIRS = 1 << 20
"""Pairs that are collected before repeated ones are dropped."""
_32 = 32
_LOW = (1 << _32) - 1
_CELLS = 1 << 10
"""Stretches of hashes: the windows of one are read together."""
_CELL = np.uint64(64 - 10)
"""Bits of a hash after its cell."""
_KEY = np.dtype([("hash", "u8"), ("document", "i4")])
"""A window, and the number of its document."""
_WORDS = attrgetter("words")
_NONE = np.empty(0, dtype=np.int64)
_DOCUMENT = np.dtype(
    [
        ("key", "i8"),  # where its key begins in the file
        ("text", "i8"),
        ("end", "i8"),  # of its text
        ("windows", "i8"),
        ("count", "i8"),  # how many windows it has
        ("units", "i8"),
    ]
)

Run = Callable[[Any, Iterable[Any], Sequence[int]], Iterator[Any]]
"""Runs a job, an object with a method `run`, for items, and gives the results in their order; the
numbers are descriptors of files that it reads. See lshdb.ingest.workers."""
Noted = list[tuple[str, CommonPassage]]
"""Common runs, with the key of a document that has each."""


def passage_pairs(
    store: Store, query: PassagePairsOptions, common: Noted, run: Run
) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition.

    In memory are the fingerprints that documents share and the pairs of documents, 8 bytes each,
    and a bounded number of windows; the texts with all their windows are in a temporary file.

    Args:
        store: the file.
        query: what is asked.
        common: gets the longest common runs, before the first pair.
        run: finds windows and compares, in this process or others.
    """
    with closing(spilled.Spool()) as spool:
        with store.beside() as reader:
            asked = passages.asked_of(query, reader.settings, reader.limits)
            shared, hot = reader.shared_fingerprints(query.common or reader.limits.common)
            windows = common_windows(reader, hot)
            common[:] = longest_common(reader, hot, windows)
            every = Counting.of(reader.settings, hot)
            counting = replace(every, left_out=(windows,), shared=shared).with_base(query.base)
            stored = _Stored(reader, counting, spool, run)
        pairs = _candidates(stored)
        found = _compared(_Comparing(stored, asked, query.top), pairs, run)
        yield from found if query.top is None else nlargest(query.top, found, key=_WORDS)


class _Stored:
    """All documents with their windows, in a temporary file.

    Attributes:
        spool: the file.
        documents: where each of m documents is in it, DOCUMENT[m].
        keys: for each batch of documents where its KEY rows begin, by hash, and int32[cells+1], how
            many come before each cell.
        sizes: int64[cells], how many each cell has.
        limits: the reader's.
    """

    def __init__(
        self, reader: StoreReader, counting: Counting, spool: spilled.Spool, run: Run
    ) -> None:
        """Find the windows of documents that count."""
        self.limits, self.spool = reader.limits, spool
        self.keys: list[tuple[int, npt.NDArray[np.int32]]] = []
        self.sizes = np.zeros(_CELLS, dtype=np.int64)
        doc_ids = np.concatenate([_NONE, *(doc_ids for doc_ids, _ in reader.all_keys())])
        self.documents = np.zeros(len(doc_ids), dtype=_DOCUMENT)
        together = self.limits.passage_windows * _TOGETHER[reader.settings.shingling.kind]
        texts = self._written(reader, doc_ids, together)
        first = 0
        for found in run(_Finding(counting), texts, ()):
            counts = found.counts
            rows = self.documents[first : first + len(counts)]
            begin = spool.append(found.folded)
            found.windows["begin"] += begin
            found.windows["end"] += begin
            at = spool.append(found.windows.data)
            rows["windows"] = at + (np.cumsum(counts) - counts) * WINDOW.itemsize
            rows["count"], rows["units"] = counts, found.units
            found.keys["document"] += first
            cells = (found.keys["hash"] >> _CELL).astype(np.int64)
            sizes = np.bincount(cells, minlength=_CELLS)
            self.sizes += sizes
            bounds = offsets_of(sizes).astype(np.int32)
            self.keys.append((spool.append(found.keys.data), bounds))
            first += len(counts)

    def _written(
        self, reader: StoreReader, doc_ids: IntArray, together: int
    ) -> Iterator[list[str]]:
        """The texts in batches, with their keys written before each."""
        first = 0
        for texts in bounded(reader.contents(doc_ids), len, together):
            part = slice(first, first + len(texts))
            for row, key, text in zip(
                self.documents[part], reader.keys_of(doc_ids[part]), texts, strict=True
            ):
                row["key"] = self.spool.append(_encoded(key))
                row["text"] = self.spool.append(_encoded(text))
                row["end"] = self.spool.size
            yield texts
            first += len(texts)

    def texts(self, numbers: IntArray) -> Texts:
        """The windows of some documents."""
        documents = self.documents[numbers]
        ends = documents["windows"] + documents["count"] * WINDOW.itemsize
        bounds = zip(documents["windows"].tolist(), ends.tolist(), strict=True)
        data = b"".join([self.spool[begin:end] for begin, end in bounds])
        return Texts(
            np.frombuffer(data, dtype=WINDOW),
            offsets_of(documents["count"]),
            documents["units"],
            self.spool,
            lambda number: self._read(numbers[number], "text", "end"),
        )

    def keys_of(self, cells: slice) -> Windows:
        """The windows of some cells that lead to pairs, by document, as KEY has them."""
        bounds = [(at, *where[[cells.start, cells.stop]].tolist()) for at, where in self.keys]
        size = _KEY.itemsize
        data = b"".join([self.spool[at + i * size : at + j * size] for at, i, j in bounds])
        return np.frombuffer(data, dtype=_KEY)

    def key(self, number: int) -> str:
        """The key of a document."""
        return self._read(number, "key", "text")

    def _read(self, number: int, begin: str, end: str) -> str:
        row = self.documents[number]
        return self.spool[int(row[begin]) : int(row[end])].decode("utf-8", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class _Found(NamedTuple):
    """What is found in n texts.

    Attributes:
        windows: those that count, text by text.
        counts: int64[n], how many each text has.
        units: int64[n], how many units it has.
        folded: these.
        keys: the windows that lead to pairs, as KEY has them, by hash.
    """

    windows: Windows
    counts: IntArray
    units: IntArray
    folded: bytes
    keys: Windows


@dataclass(frozen=True, slots=True)
class _Finding:
    """Finds the windows of texts."""

    counting: Counting

    def run(self, item: list[str]) -> _Found:
        """Find them."""
        found = self.counting.windows_of(item)
        assert isinstance(found.folded, bytes)
        counts = np.diff(found.offsets)
        leads = found.windows["leads"]
        keys = np.empty(int(leads.sum()), dtype=_KEY)
        keys["hash"] = found.windows["hash"][leads]
        keys["document"] = np.repeat(np.arange(len(counts)), counts)[leads]
        keys = keys.take(np.argsort(keys["hash"], kind="stable"))
        return _Found(found.windows, counts, found.units, found.folded, keys)


def _candidates(stored: _Stored) -> IntArray:
    """The pairs of documents that have a window which leads to pairs.

    Returns:
        int64[p], the numbers a and b of both, a in the high 32 bits; ascending.
    """
    pairs, waiting = _NONE, [_NONE]
    # The windows of a run are in the same documents, a list that counts once: the sums of random
    # numbers of 126 bits, one for each document, are the same for no other list.
    draw = np.random.default_rng(secret_seed())
    marks = draw.integers(0, 1 << 63, (2, len(stored.documents)))
    for part in chunks_of(stored.sizes, stored.limits.passage_windows):
        keys = stored.keys_of(part)
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


@dataclass(frozen=True, slots=True)
class _Comparing:
    """Finds the pairs that share passages, and notes what limits cut.

    Attributes:
        stored: the documents.
        asked: the passages that are wanted.
        top: maximum number of pairs, those that share most; None for all.
    """

    stored: _Stored
    asked: passage_runs.Asked
    top: int | None

    def run(self, item: IntArray) -> tuple[list[PassagePair], list[Cut]]:
        """Compare pairs of documents, int64[p] as `_candidates` gives them."""
        with limits_noted() as cuts:
            found = self._found(item)
            if self.top is not None:
                found = iter(nlargest(self.top, found, key=_WORDS))
            return list(found), cuts

    def _found(self, pairs: IntArray) -> Iterator[PassagePair]:
        own, a = np.unique(pairs >> _32, return_inverse=True)
        its, b = np.unique(pairs & _LOW, return_inverse=True)
        compared = passage_runs.Pairs(self.stored.texts(own), self.stored.texts(its), a, b)
        key = cache(self.stored.key)
        for one in passage_runs.shared_passages(compared, self.asked):
            keys = key(own[a[one.pair]]), key(its[b[one.pair]])
            yield PassagePair(*keys, one.words, one.coverage, one.b_coverage, one.passages)


def _compared(job: _Comparing, pairs: IntArray, run: Run) -> Iterator[PassagePair]:
    """The pairs that a job finds, block by block."""
    stored = job.stored
    blocks = chunks_of(stored.documents["count"][pairs & _LOW], stored.limits.passage_windows)
    for found, cuts in run(job, (pairs[block] for block in blocks), [stored.spool.descriptor]):
        for cut in cuts:
            warn_of_limit(cut)
        yield from found
