"""The similarities of many pairs of stored documents: exact from contents, or estimated.

Documents are named by their numbers (lshdb.search.candidates). What is read of them is kept as
long as there is room, and all of it forgotten when there is none: pairs come in the order of
their documents, so that what is needed next was mostly read just now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from lshdb.model import Construction, Settings, Shingles
from lshdb.search.candidates import Numbers
from lshdb.search.overlaps import most_shared, parities, shared
from lshdb.shingling.content import from_stored
from lshdb.shingling.shingles import distinct_shingles
from lshdb.sketching.constructions import evaluate

Scores = npt.NDArray[np.float64]

_HASHES: Final = 24_000_000
"""Distinct shingle hashes kept, 8 bytes each; more only where two documents have more."""
_READ: Final = 1_000_000
"""Shingles in the documents that are read in one go."""
_PARITIES: Final = 128_000_000
"""Bytes that the parities of all documents take at the most."""
_SIGNATURES: Final = 64_000_000
"""Bytes of signatures kept."""
_PAIRS: Final = 1 << 13
"""Pairs of signatures compared in one go."""


class Scorer(Protocol):
    """Tells the similarities of pairs."""

    def scores(self, one: Numbers, other: Numbers, least: float) -> Scores:
        """The Jaccard similarity of pairs int64[c] of numbers, float64[c].

        Where it is below `least`, any number below `least` may stand for it. It is fastest where
        pairs with the same `one` stand together.
        """


class Reader(Protocol):
    """Reads documents, by numbers of its own; these are told in ascending order."""

    lanes: int

    def contents(self, doc_ids: Numbers, /) -> list[str]:
        """The stored contents of documents int64[n]."""

    def signatures(self, doc_ids: Numbers, /) -> npt.NDArray[np.uint32]:
        """The signatures uint32[n, lanes] of documents int64[n]."""


class Exact:
    """Exact similarities, of documents whose contents are kept.

    Documents with the same content are told by their digests. A pair of others is first bounded
    by sizes and parities (lshdb.search.overlaps); sets are compared only if it may reach `least`.

    Attributes:
        sizes: int64[m], how many distinct shingles each document has, or before it was read, a
            number that is not less.
    """

    def __init__(
        self,
        reader: Reader,
        doc_ids: npt.NDArray[np.int64],
        same: Numbers,
        shingles: npt.NDArray[np.int64],
        settings: Settings,
    ) -> None:
        """`same` has one number for equal documents, `shingles` their counts, int64[m] both."""
        self._reader = reader
        self._doc_ids = doc_ids
        self._same = same
        self._settings = settings
        self.sizes = shingles.copy()
        self._read = np.zeros(len(doc_ids), dtype=np.bool_)
        self._parities = np.zeros((len(doc_ids), _words(shingles)), dtype=np.uint64)
        self._hashes = np.empty(_HASHES, dtype=np.uint64)  # takes memory as it is filled
        self._starts = np.full(len(doc_ids), -1)
        self._used = 0

    def scores(self, one: Numbers, other: Numbers, least: float) -> Scores:
        """See Scorer.scores."""
        found = np.zeros(len(one))
        found[self._same[one] == self._same[other]] = 1.0
        different = np.flatnonzero(found == 0)
        a, b = one[different], other[different]
        self._read_unread(a, b)
        possible = most_shared(self.sizes, self._parities, a, b)
        chosen = self._jaccard(possible, a, b) >= least
        different, a, b = different[chosen], a[chosen], b[chosen]
        for part, documents in _fitting(a, b, self.sizes, _HASHES):
            self._keep(documents)
            both = shared(self._hashes, self._starts, self.sizes, a[part], b[part])
            found[different[part]] = self._jaccard(both, a[part], b[part])
        return found

    def sets(self, documents: Numbers) -> Iterator[tuple[Numbers, Shingles]]:
        """The distinct shingle hashes of documents int64[n], some at a time, with their numbers."""
        for some in _batches(documents, self.sizes):
            self._keep(some)
            sizes = self.sizes[some]
            ends = np.cumsum(sizes)
            at = np.repeat(self._starts[some] - ends + sizes, sizes)
            at += np.arange(len(at))
            yield some, Shingles(self._hashes[at], np.append(0, ends))

    def _jaccard(self, both: Numbers, one: Numbers, other: Numbers) -> Scores:
        union = self.sizes[one] + self.sizes[other] - both
        similarity: Scores = both / np.maximum(union, 1)
        return similarity

    def _read_unread(self, one: Numbers, other: Numbers) -> None:
        """Read all documents that were never read."""
        wanted = ~self._read
        documents = _marked(one, other, len(self._doc_ids))
        for some in _batches(documents[wanted[documents]], self.sizes):
            self._make_room(int(self.sizes[some].sum()))
            self._take(some)

    def _keep(self, documents: Numbers) -> None:
        """Have the hashes of these documents, which fit, in memory at once."""
        missing = documents[self._starts[documents] < 0]
        if self._used + self.sizes[missing].sum() > len(self._hashes):
            self._make_room(int(self.sizes[documents].sum()))
            missing = documents[self._starts[documents] < 0]
        for some in _batches(missing, self.sizes):
            self._take(some)

    def _make_room(self, count: int) -> None:
        """Have room for so many more hashes."""
        if self._used + count <= len(self._hashes):
            return
        self._starts[:] = -1
        self._used = 0
        if count > len(self._hashes):
            self._hashes = np.empty(count, dtype=np.uint64)

    def _take(self, documents: Numbers) -> None:
        """Read documents, for whose hashes there is room."""
        shingling = self._settings.shingling
        stored = self._reader.contents(self._doc_ids[documents])
        contents = [from_stored(text, shingling) for text in stored]
        del stored
        own = distinct_shingles(contents, shingling, self._settings.seed)
        fresh = ~self._read[documents]
        if fresh.any():
            self.sizes[documents] = np.diff(own.offsets)
            self._parities[documents] = parities(own, self._parities.shape[1])
            self._read[documents] = True
        self._hashes[self._used : self._used + len(own.hashes)] = own.hashes
        self._starts[documents] = self._used + own.offsets[:-1]
        self._used += len(own.hashes)


class Estimates:
    """Estimated similarities, from signatures."""

    def __init__(self, reader: Reader, doc_ids: npt.NDArray[np.int64], same: Numbers) -> None:
        """`same` int64[m] has one number for equal documents, whose signatures are equal."""
        self._reader = reader
        self._doc_ids = doc_ids
        self._same = same
        self._rows = np.full(len(doc_ids), -1)
        self._ones = np.ones(len(doc_ids), dtype=np.int64)
        self._lanes = reader.lanes
        most = max(2, min(len(doc_ids), _SIGNATURES // (4 * self._lanes)))
        self._signatures = np.empty((most, self._lanes), dtype=np.uint32)
        self._used = 0

    def scores(self, one: Numbers, other: Numbers, least: float) -> Scores:  # noqa: ARG002
        """See Scorer.scores; an estimate costs the same whatever the least is."""
        found = np.ones(len(one))
        for part, agree in self._agreement(one, other):
            found[part] = agree.sum(axis=1, dtype=np.uint16) / self._lanes
        return found

    def share_bucket(
        self, one: Numbers, other: Numbers, construction: Construction
    ) -> npt.NDArray[np.bool_]:
        """Whether pairs int64[c] share a bucket, or those that make a cascade true, bool[c]."""
        found = np.ones(len(one), dtype=np.bool_)
        shape = (-1, construction.bands, construction.rows)
        for part, agree in self._agreement(one, other):
            lanes = agree[:, : construction.lanes].reshape(shape)
            bands: npt.NDArray[np.bool_] = np.logical_and.reduce(lanes, axis=2)
            found[part] = evaluate(bands, construction)
        return found

    def _agreement(
        self, one: Numbers, other: Numbers
    ) -> Iterator[tuple[Numbers, npt.NDArray[np.bool_]]]:
        """Which lanes agree, bool[p, k], of pairs at places int64[p]; of all but equal ones."""
        different = np.flatnonzero(self._same[one] != self._same[other])
        for start in range(0, len(different), _PAIRS):
            places = different[start : start + _PAIRS]
            a, b = one[places], other[places]
            for part, documents in _fitting(a, b, self._ones, len(self._signatures)):
                self._keep(documents)
                rows = self._rows[a[part]], self._rows[b[part]]
                yield places[part], self._signatures[rows[0]] == self._signatures[rows[1]]

    def _keep(self, documents: Numbers) -> None:
        missing = documents[self._rows[documents] < 0]
        if self._used + len(missing) > len(self._signatures):
            self._rows[:] = -1
            self._used, missing = 0, documents
        for start in range(0, len(missing), _PAIRS):
            some = missing[start : start + _PAIRS]
            rows = np.arange(self._used, self._used + len(some))
            self._signatures[rows] = self._reader.signatures(self._doc_ids[some])
            self._rows[some] = rows
            self._used += len(some)


def _words(shingles: npt.NDArray[np.int64]) -> int:
    """64-bit words for the parities of a document: four cells for each shingle of a mean one."""
    if not len(shingles):
        return 1
    wanted = int(4 * shingles.mean()) // 64
    most = _PARITIES // (8 * len(shingles))
    return 1 << max(2, min(wanted.bit_length(), most.bit_length() - 1, 5))


def _marked(one: Numbers, other: Numbers, count: int) -> Numbers:
    """The distinct documents of pairs, ascending."""
    marks = np.zeros(count, dtype=np.bool_)
    marks[one] = True
    marks[other] = True
    return np.flatnonzero(marks)


def _batches(documents: Numbers, sizes: npt.NDArray[np.int64]) -> Iterator[Numbers]:
    """Cut documents into batches of about as many shingles as are read in one go."""
    ends = np.cumsum(sizes[documents])
    first = 0
    while first < len(documents):
        begun = ends[first] - sizes[documents[first]]
        last = max(first + 1, int(np.searchsorted(ends, begun + _READ, side="right")))
        yield documents[first:last]
        first = last


def _fitting(
    one: Numbers, other: Numbers, sizes: npt.NDArray[np.int64], room: int
) -> Iterator[tuple[slice, Numbers]]:
    """Cut pairs into parts whose documents have no more than the room, or are one pair alone."""
    waiting = [(0, len(one))] if len(one) else []
    while waiting:
        first, last = waiting.pop()
        documents = _marked(one[first:last], other[first:last], len(sizes))
        if last - first == 1 or sizes[documents].sum() <= room:
            yield slice(first, last), documents
        else:
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
