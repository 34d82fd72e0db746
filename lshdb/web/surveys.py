"""Surveys of a whole file, for pages that show parts of it: clusters, pairs, facets.

A survey takes long for a million documents. It is computed once (lshdb.web.results), as columns:
filtering and sorting them takes milliseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.json_text import dumps
from lshdb.model import Cluster, Verdict
from lshdb.progress import Progress
from lshdb.search.pairs import Request, all_clusters, pair_blocks
from lshdb.sources.metadata import from_json
from lshdb.store.store import Store

Numbers: TypeAlias = npt.NDArray[np.int64]
Shares: TypeAlias = npt.NDArray[np.float64]

MAX_PAIRS: Final = 1_000_000
"""Pairs to examine, in the order of addition."""
BEST_PAIRS: Final = 100_000
"""Pairs kept of these, the most similar: some 30 MB."""
_BINS: Final = 20
_AT_ONCE: Final = 10_000
_FACETS: Final = 12
"""Maximum fields of metadata to offer, the first found."""
_VALUES: Final = 40
"""Maximum different values of an offered field."""
_LONGEST_VALUE: Final = 100
VERDICTS: Final[tuple[Verdict | None, ...]] = (None, "keep", "drop", "different")


@dataclass(frozen=True, slots=True)
class Facet:
    """A field of metadata with few values.

    Attributes:
        codes: int16[n], for each of n documents the code of its value; -1 for none.
        values: as text, each with its code.
    """

    codes: npt.NDArray[np.int16]
    values: dict[str, int] = field(default_factory=dict)

    def counts(self) -> list[tuple[str, int]]:
        """The values with the number of documents that have them, the most frequent first."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        found = zip(self.values, counts.tolist(), strict=True)
        return sorted(found, key=lambda each: -each[1])


@dataclass(frozen=True, slots=True)
class ClusterSurvey:
    """All C clusters, in the order of their first members, and their n members, one after another.

    Some 100 bytes a member; as objects, clusters take four times as much.

    Attributes:
        threshold: the similarity that connects them.
        exact: whether similarities are exact.
        keys: n, of the members.
        similarities: float64[n], to the kept ones.
        identical: bool[n], whether they have the same content as the kept ones.
        decided: uint8[n], the places of the decisions about them in VERDICTS.
        begins: int64[C], where the members of each begin.
        kept: int64[C], which member of each is kept.
        lowest: float64[C], the lowest similarity of another member to the kept one.
        lengths: int64[n], in bytes of the stored contents; 0 without.
        facets: by field.
    """

    threshold: float
    exact: bool
    keys: list[str]
    similarities: Shares
    identical: npt.NDArray[np.bool_]
    decided: npt.NDArray[np.uint8]
    begins: Numbers
    kept: Numbers
    lowest: Shares
    lengths: Numbers
    facets: dict[str, Facet]

    def __len__(self) -> int:
        """How many clusters there are."""
        return len(self.begins)

    def members(self, place: int) -> slice:
        """Where the members of a cluster are."""
        end = self.begins[place + 1] if place + 1 < len(self) else len(self.keys)
        return slice(int(self.begins[place]), int(end))

    def keep(self, place: int) -> str:
        """The key of the kept member of a cluster."""
        return self.keys[int(self.kept[place])]

    def cluster(self, place: int) -> Cluster:
        """A cluster, as Database.clusters gives it."""
        own = self.members(place)
        others = np.delete(self.similarities[own], self.kept[place] - own.start)
        return Cluster(
            cluster=place + 1,
            keep=self.keep(place),
            members=tuple(self.keys[own]),
            similarities=tuple(self.similarities[own].tolist()),
            lowest=float(self.lowest[place]),
            mean=float(others.mean()),
            below=int((others < self.threshold).sum()),
            exact=self.exact,
            identical=tuple(self.identical[own].tolist()),
            decided=tuple(VERDICTS[code] for code in self.decided[own].tolist()),
        )

    def places_of(self, keys: Container[str]) -> dict[str, int]:
        """The places of the clusters that some documents are in, by key."""
        members = [at for at, key in enumerate(self.keys) if key in keys]
        places = (np.searchsorted(self.begins, members, side="right") - 1).tolist()
        return {self.keys[at]: place for at, place in zip(members, places, strict=True)}

    @property
    def sizes(self) -> Numbers:
        """How many members each has, int64[C]."""
        return np.diff(np.append(self.begins, len(self.keys)))

    def any_of(self, members: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which clusters have one of some members, bool[n]: bool[C]."""
        if not len(self.begins):
            return np.zeros(0, dtype=np.bool_)
        found: npt.NDArray[np.bool_] = np.logical_or.reduceat(members, self.begins)
        return found

    def redundant(self) -> tuple[int, int]:
        """How many documents are so similar to the kept one of their cluster, and their bytes.

        These are the ones that `lshdb clusters --drop-list` names.
        """
        gone = (self.similarities >= self.threshold) & (self.decided == VERDICTS.index(None))
        gone[self.kept] = False
        gone |= self.decided == VERDICTS.index("drop")
        return int(gone.sum()), int(self.lengths[gone].sum())


@dataclass(frozen=True, slots=True)
class PairSurvey:
    """The best of all pairs, n of them, the most similar first.

    Attributes:
        a, b: their keys.
        similarities: float64[n].
        identical: bool[n].
        exact: whether similarities are exact.
        facets: by field, for the documents of `a` and then those of `b`.
        found: how many pairs there are, or were examined.
        cut: whether there may be more.
        histogram: how many pairs have which similarity, from 0 to 1 in bins of 0.05.
    """

    a: list[str]
    b: list[str]
    similarities: Shares
    identical: npt.NDArray[np.bool_]
    exact: bool
    facets: dict[str, Facet]
    found: int
    cut: bool
    histogram: tuple[int, ...]


def survey_clusters(store: Store, request: Request, progress: Progress) -> ClusterSurvey:
    """Find all clusters."""
    keys: list[str] = []
    scores, lowest = array("d"), array("d")
    identical, decided = bytearray(), bytearray()
    begins, kept = array("q"), array("q")
    exact = False
    for one in all_clusters(store, request, progress):
        begins.append(len(keys))
        kept.append(len(keys) + one.members.index(one.keep))
        keys += one.members
        scores.extend(one.similarities)
        identical += bytes(one.identical)
        decided += bytes(map(VERDICTS.index, one.decided))
        lowest.append(one.lowest)
        exact = one.exact
    doc_ids, facets = _metadata(store, keys, progress)
    lengths = np.zeros(len(keys), dtype=np.int64)
    present = np.flatnonzero(doc_ids > 0)
    lengths[present] = store.byte_lengths(doc_ids[present])
    return ClusterSurvey(
        store.settings.threshold if request.threshold is None else request.threshold,
        exact,
        keys,
        np.frombuffer(scores, dtype=np.float64),
        np.frombuffer(identical, dtype=np.bool_),
        np.frombuffer(decided, dtype=np.uint8),
        np.frombuffer(begins, dtype=np.int64),
        np.frombuffer(kept, dtype=np.int64),
        np.frombuffer(lowest, dtype=np.float64),
        lengths,
        facets,
    )


def survey_pairs(store: Store, threshold: float | None, progress: Progress) -> PairSurvey:
    """Find the most similar of all pairs."""
    request = Request(threshold, False, ignore_decisions=True)
    a: list[str] = []
    b: list[str] = []
    scores, identical = np.zeros(0), np.zeros(0, dtype=np.bool_)
    counts = np.zeros(_BINS, dtype=np.int64)
    found = 0
    exact = cut = False
    for block in pair_blocks(store, request, progress):
        exact = block.exact
        found += len(block.a)
        places = np.minimum((block.similarities * _BINS).astype(np.int64), _BINS - 1)
        counts += np.bincount(places, minlength=_BINS)
        a += block.a
        b += block.b
        scores = np.concatenate([scores, block.similarities])
        identical = np.concatenate([identical, block.identical])
        if cut := found >= MAX_PAIRS:
            break
        if len(a) > 2 * BEST_PAIRS:
            a, b, scores, identical = _best(a, b, scores, identical)
    a, b, scores, identical = _best(a, b, scores, identical)
    _, facets = _metadata(store, a + b, progress)
    return PairSurvey(a, b, scores, identical, exact, facets, found, cut, tuple(counts.tolist()))


def _best(
    a: list[str], b: list[str], scores: Shares, identical: npt.NDArray[np.bool_]
) -> tuple[list[str], list[str], Shares, npt.NDArray[np.bool_]]:
    order = np.argsort(-scores, kind="stable")[:BEST_PAIRS]
    places = order.tolist()
    return [a[i] for i in places], [b[i] for i in places], scores[order], identical[order]


def _metadata(
    store: Store, keys: Sequence[str], progress: Progress
) -> tuple[Numbers, dict[str, Facet]]:
    """The doc_ids of documents, int64[n], -1 for one that is gone, and their facets."""
    doc_ids = np.full(len(keys), -1, dtype=np.int64)
    facets: dict[str, Facet] = {}
    seen: set[str] = set()
    for start in range(0, len(keys), _AT_ONCE):
        progress(start, len(keys), "documents' metadata read")
        some = keys[start : start + _AT_ONCE]
        known = store.known(some)
        for place, key in enumerate(some, start):
            if (one := known.get(key)) is None:
                continue
            doc_ids[place] = one.doc_id
            for name, value in (from_json(one.metadata) or {}).items():
                if name not in seen and len(seen) < _FACETS:
                    seen.add(name)
                    facets[name] = Facet(np.full(len(keys), -1, dtype=np.int16))
                if name not in facets or (text := _value(value)) is None:
                    continue
                values = facets[name].values
                if text in values or len(values) < _VALUES:
                    facets[name].codes[place] = values.setdefault(text, len(values))
                else:
                    del facets[name]
    return doc_ids, facets


def _value(value: Any) -> str | None:
    """A value of metadata as text, None if it cannot be a facet."""
    if value is None or isinstance(value, list | dict):
        return None
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= _LONGEST_VALUE else None
