"""All pairs of documents that share passages.

Two documents are a pair if they have a fingerprint that at most `common` documents have: the pairs
of these grow linearly with the collection. Their windows are found once and wait in a temporary
file; then the pairs are compared block by block, as the candidates of one query are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from heapq import nlargest
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np

from lshdb.errors import Cut, DamagedFile, limits_noted, warn_of_limit
from lshdb.limits import Limits
from lshdb.model import CommonPassage, CopiedPassage, PassagePair
from lshdb.options import PassagePairsOptions
from lshdb.search.passage_runs import Asked, Pairs, shared_passages
from lshdb.search.passage_windows import (
    WINDOW,
    Counting,
    Texts,
    Windows,
    common_windows,
    longest_common,
)
from lshdb.search.passages import asked_of
from lshdb.search.spilled import CAN_SHARE, Spool
from lshdb.shingling.arrays import Numbers, bounded, offsets_of, parts_of, places_of
from lshdb.shingling.hashing import distinct
from lshdb.store.lookups import StoreReader
from lshdb.store.store import Store
from lshdb.workers import Job, Workers, default_workers

_AHEAD: Final = 4
"""Batches of texts, or blocks of pairs, under way: a worker has the next ones while this process
does one."""
_TOGETHER: Final = {"word": 4, "char": 1}
"""Characters of a batch of texts for each window in memory."""
_PAIRS: Final = 1 << 20
"""Pairs that are collected before repeated ones are dropped."""
_32: Final = 32
_LOW: Final = (1 << _32) - 1
_NONE: Final = np.empty(0, dtype=np.int64)
_DOCUMENT: Final = np.dtype(
    [
        ("key", "i8"),  # where its key begins in the file
        ("text", "i8"),
        ("end", "i8"),  # of its text
        ("windows", "i8"),
        ("count", "i8"),  # how many windows it has
        ("units", "i8"),
    ]
)

FoundPair: TypeAlias = tuple[tuple[str, str, int, float, float], list[tuple[Any, ...]]]
"""The values of a `PassagePair` but its passages, and those of each `CopiedPassage`."""

Noted: TypeAlias = list[tuple[str, CommonPassage]]
"""Common runs, with the key of a document that has each."""


def passage_pairs(store: Store, query: PassagePairsOptions, common: Noted) -> Iterator[PassagePair]:
    """All pairs of documents that share passages, in the order of addition."""
    for found in _found_pairs(store, query, common):
        for totals, passages in found:
            yield PassagePair(*totals, tuple(CopiedPassage(*one) for one in passages))


def passage_rows(
    store: Store, query: PassagePairsOptions, common: Noted
) -> Iterator[tuple[Any, ...]]:
    """The same as a row for each passage: what the pair has in common, and the passage."""
    for found in _found_pairs(store, query, common):
        for totals, passages in found:
            for passage in passages:
                yield totals + passage


def _found_pairs(
    store: Store, query: PassagePairsOptions, common: Noted
) -> Iterator[list[FoundPair]]:
    """The same as values, some pairs at a time.

    In memory are the fingerprints that documents share and the pairs of documents, 8 bytes each,
    and a bounded number of windows; the texts with all their windows are in a temporary file.

    Args:
        store: the file.
        query: what is asked.
        common: gets the longest common runs, before the first pair.
    """
    with store.beside() as reader:
        asked = asked_of(query, reader.settings, reader.limits)
        candidates = _candidates(reader, query.common or reader.limits.common)
        windows = common_windows(reader, candidates.hot)
        common[:] = longest_common(reader, candidates.hot, windows)
        counting = replace(
            Counting.of(reader.settings, candidates.hot),
            left_out=(windows,),
            shared=candidates.shared,
        )
        stored = _Stored(reader, candidates.documents, counting.with_base(query.base))
    with closing(stored.spool):
        if query.top is None:
            yield from _compared(_Comparing(stored, asked, None), candidates.pairs)
        else:
            best = _compared(_Comparing(stored, asked, query.top), candidates.pairs)
            yield nlargest(query.top, chain.from_iterable(best), key=_words)


def _words(pair: FoundPair) -> int:
    return pair[0][2]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Pairs of documents that may share passages.

    Attributes:
        documents: int64[m], the doc_ids of those in pairs, ascending.
        pairs: int64[p], their numbers a and b, a in the high 32 bits; ascending.
        shared: int64[any], sorted fingerprints that several documents have.
        hot: int64[any], those of them that too many have, which lead to no pair.
    """

    documents: Numbers
    pairs: Numbers
    shared: Numbers
    hot: Numbers


def _candidates(reader: StoreReader, common: int) -> _Candidates:
    documents = np.concatenate([_NONE, *(doc_ids for doc_ids, _ in reader.all_keys())])
    pairs, shared, hot = _NONE, [_NONE], [_NONE]
    waiting: list[Numbers] = []
    for values, sizes, doc_ids in reader.shared_fingerprints(common):
        shared.append(values)
        hot.append(values[sizes == 0])
        number = np.searchsorted(documents, doc_ids)
        if (documents.take(number, mode="clip") != doc_ids).any():
            raise DamagedFile(
                f"{reader.path}: the index of passages has documents that do not exist; rebuild it "
                "by reindex"
            )
        place = np.arange(len(number))
        later = np.repeat(np.cumsum(sizes), sizes) - place - 1
        for part in parts_of(later, _PAIRS):
            others = number[places_of(place[part] + 1, later[part])]
            waiting.append(np.repeat(number[part] << _32, later[part]) | others)
            # Let it grow with what is known, or all is sorted over and over.
            if sum(map(len, waiting)) > max(_PAIRS, len(pairs)):
                pairs, waiting = distinct(np.concatenate([pairs, *waiting])), []
    pairs = distinct(np.concatenate([pairs, *waiting]))
    sides = np.stack([pairs >> _32, pairs & _LOW])
    used = distinct(sides.ravel())
    a, b = np.searchsorted(used, sides)
    return _Candidates(documents[used], a << _32 | b, np.concatenate(shared), np.concatenate(hot))


class _Stored:
    """Documents with their windows, in a temporary file.

    Attributes:
        spool: the file.
        documents: where each of m documents is in it, DOCUMENT[m].
        limits: the reader's.
    """

    def __init__(self, reader: StoreReader, doc_ids: Numbers, counting: Counting) -> None:
        """Find the windows of documents int64[m] that count."""
        self.limits = reader.limits
        self.spool = Spool()
        self.documents = np.zeros(len(doc_ids), dtype=_DOCUMENT)
        together = self.limits.passage_windows * _TOGETHER[reader.settings.shingling.kind]
        texts = self._written(reader, doc_ids, together)
        first = 0
        with _workers(_Finding(counting), self.limits) as pool:
            for windows, counts, units, folded in pool.results(texts, _AHEAD):
                rows = self.documents[first : first + len(counts)]
                begin = self.spool.append(folded)
                windows["begin"] += begin
                windows["end"] += begin
                at = self.spool.append(windows.data)
                rows["windows"] = at + (np.cumsum(counts) - counts) * WINDOW.itemsize
                rows["count"], rows["units"] = counts, units
                first += len(counts)

    def _written(self, reader: StoreReader, doc_ids: Numbers, together: int) -> Iterator[list[str]]:
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

    def texts(self, numbers: Numbers) -> Texts:
        """The windows of some documents."""
        documents = self.documents[numbers]
        ends = documents["windows"] + documents["count"] * WINDOW.itemsize
        places = zip(documents["windows"].tolist(), ends.tolist(), strict=True)
        data = b"".join([self.spool[begin:end] for begin, end in places])
        return Texts(
            np.frombuffer(data, dtype=WINDOW),
            offsets_of(documents["count"]),
            documents["units"],
            self.spool,
            lambda number: self._read(numbers[number], "text", "end"),
        )

    def key(self, number: int) -> str:
        """The key of a document."""
        return self._read(number, "key", "text")

    def _read(self, number: int, begin: str, end: str) -> str:
        row = self.documents[number]
        return self.spool[int(row[begin]) : int(row[end])].decode("utf-8", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class _Finding(Job[list[str], tuple[Windows, Numbers, Numbers, bytes]]):
    """Finds the windows of texts, how many each text has, its units, and these folded."""

    counting: Counting

    def run(self, item: list[str]) -> tuple[Windows, Numbers, Numbers, bytes]:
        """Find them."""
        found = self.counting.windows_of(item)
        assert isinstance(found.folded, bytes)
        return found.windows, np.diff(found.offsets), found.units, found.folded


@dataclass(frozen=True, slots=True)
class _Comparing(Job[Numbers, tuple[list[FoundPair], list[Cut]]]):
    """Finds the pairs that share passages, and notes what limits cut.

    Attributes:
        stored: the documents.
        asked: the passages that are wanted.
        top: maximum number of pairs, those that share most; None for all.
    """

    stored: _Stored
    asked: Asked
    top: int | None

    def run(self, item: Numbers) -> tuple[list[FoundPair], list[Cut]]:
        """Compare pairs of documents, int64[p] as `_Candidates` has them."""
        with limits_noted() as cuts:
            found = self._found(item)
            if self.top is not None:
                found = iter(nlargest(self.top, found, key=_words))
            return list(found), cuts

    def _found(self, pairs: Numbers) -> Iterator[FoundPair]:
        own, a = np.unique(pairs >> _32, return_inverse=True)
        its, b = np.unique(pairs & _LOW, return_inverse=True)
        compared = Pairs(self.stored.texts(own), self.stored.texts(its), a, b)
        key = cache(self.stored.key)
        for one in shared_passages(compared, self.asked):
            keys = key(own[a[one.pair]]), key(its[b[one.pair]])
            yield (*keys, one.words, one.coverage, one.b_coverage), one.passages


def _compared(job: _Comparing, pairs: Numbers) -> Iterator[list[FoundPair]]:
    """The pairs that a job finds, block by block."""
    stored = job.stored
    blocks = parts_of(stored.documents["count"][pairs & _LOW], stored.limits.passage_windows)
    files = [stored.spool.descriptor]
    with _workers(job, stored.limits, files) as pool:
        for found, cuts in pool.results((pairs[block] for block in blocks), _AHEAD):
            for cut in cuts:
                warn_of_limit(cut)
            yield found


def _workers(job: Job[Any, Any], limits: Limits, files: Sequence[int] = ()) -> Workers[Any, Any]:
    count = min(default_workers(), limits.passage_processes) if CAN_SHARE else 0
    return Workers(job, count, files=files)
