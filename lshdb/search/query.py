"""Finding the stored documents similar to one: candidates, estimates, verification, ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.model import Content, Match, Settings
from lshdb.options import Parameters, QueryOptions, RankingOptions
from lshdb.search.buckets import (
    Candidates,
    Keep,
    all_documents,
    all_in_buckets,
    best_in_buckets,
    with_others,
)
from lshdb.search.limits import query_cut, runs_cut
from lshdb.search.similarity import (
    Shares,
    containment,
    containment_at,
    jaccard,
    min_estimate,
    shared_with_stored,
    similarity_at,
)
from lshdb.shingling.arrays import IntArray
from lshdb.shingling.content import cleaned, digest, encoded, from_stored
from lshdb.shingling.hashing import secret_seed
from lshdb.shingling.shingles import distinct_shingles
from lshdb.shingling.winnowing import fingerprints
from lshdb.sketching.minhash import EMPTY
from lshdb.sketching.signing import sign
from lshdb.sources.metadata import picked
from lshdb.store.conditions import Condition
from lshdb.store.lookups import DocumentRow, StoreReader
from lshdb.store.store import Store

Mask: TypeAlias = npt.NDArray[np.bool_]
Lanes: TypeAlias = npt.NDArray[np.uint32]

_MAX_TOP: Final = 1 << 62
"""More matches than any file has; SQLite takes no larger numbers."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The document of a query.

    Attributes:
        hashes: uint64[any], its distinct shingles under `secret_seed`, sorted; None if they are
            not needed.
        signature: uint32[k]; None if it is empty.
        size: how many distinct shingles it has, as far as known.
        doc_id: its own, or -1.
        content: None if only its signature is known.
    """

    hashes: npt.NDArray[np.uint64] | None
    signature: npt.NDArray[np.uint32] | None
    size: int
    doc_id: int
    content: Content | None


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates of one query or several, with their similarities; c of them.

    Attributes:
        found: the candidates.
        queries: int64[c], the place of the query of each.
        similarities: float64[c], exact or estimated.
        containments: float64[c]; None if they are not asked for.
    """

    found: Candidates
    queries: IntArray
    similarities: Shares
    containments: Shares | None

    def best(self, top: int | None, threshold: float) -> Scored:
        """Those that reach the threshold, best first, at most `top` for each query."""
        first, second, contained = self.similarities, self.found.estimates, self.containments
        if contained is not None:
            first, second = contained, self.similarities
        order = np.lexsort((self.found.doc_ids, -second, -first, self.queries))
        order = order[first[order] >= threshold]
        if top is not None:
            own = self.queries[order]
            order = order[np.arange(len(order)) - np.searchsorted(own, own) < top]
        return Scored(
            self.found.chosen(order),
            self.queries[order],
            self.similarities[order],
            None if contained is None else contained[order],
        )

    def matches(
        self,
        exact: bool,
        keys: Iterable[str],
        identical: Mask,
        metadata: Iterable[dict[str, Any] | None],
    ) -> Iterator[Match]:
        """The matches, from the keys and the other columns of their documents."""
        contained = self.containments
        return map(
            Match,
            keys,
            self.similarities.tolist(),
            repeat(exact),
            self.found.estimates.tolist(),
            self.found.bands.tolist(),
            repeat(None) if contained is None else contained.tolist(),
            identical.tolist(),
            metadata,
        )


def search(store: Store, query: RankingOptions, signature: Lanes | None = None) -> list[Match]:
    """The matches of a query, or of a signature uint32[k] in place of its document, best first."""
    if query.where is None:
        with store.reading():
            return answer(store, query, None, signature)
    with store.where(query.where, query.parameters) as (reader, condition):
        return answer(reader, query, condition.matching, signature)


@contextmanager
def snapshot(
    store: Store, where: str | None, parameters: Parameters
) -> Iterator[tuple[StoreReader, Condition | None]]:
    """A reader of one state of the file, on its own connection, and the condition of a query.

    The caller may write to the file while it reads the answers.
    """
    store.check_open()
    if where is None:
        with store.beside() as reader:
            yield reader, None
    else:
        with store.where(where, parameters) as (reader, condition):
            yield reader, condition


def answer(
    store: StoreReader, query: RankingOptions, keep: Keep | None, signature: Lanes | None = None
) -> list[Match]:
    """The same, in the caller's transaction, for the documents that match `keep`."""
    exact = store.settings.content and not query.estimate
    if query.containment and store.settings.shingling.foreign:
        raise UsageError("containment needs contents; this database has only signatures")
    asked = _document_of(store, query, exact, signature)
    if asked.signature is None:
        return []
    found = _candidates(store, query, asked.signature, keep)
    if finds_runs(store.settings, query) and asked.content is not None:
        found = _with_runs(store, asked.signature, str(asked.content), found, keep)
    if asked.doc_id >= 0:
        found = found.chosen(found.doc_ids != asked.doc_id)
    threshold = store.settings.threshold if query.threshold is None else query.threshold
    if exact:
        scored = _verified(store, query, asked, found, threshold)
    else:
        contained = None
        if query.containment:
            shingles = store.sizes(found.doc_ids)[0]
            contained = containment_at(found.estimates, asked.size, shingles)
        none = np.zeros(len(found.doc_ids), dtype=np.int64)
        scored = Scored(found, none, found.estimates, contained)
    scored = scored.best(query.top, threshold)
    # No unread document is better than equal ones, which were added before it.
    certain = len(scored.queries) == query.top and bool(scored.similarities.min() == 1)
    if found.cut and not certain:
        warn_of_limit(query_cut(found.cut, found.read))
    doc_ids = scored.found.doc_ids
    keys, metadata = store.keys_of(doc_ids), metadata_of(store, query, doc_ids)
    return [*scored.matches(exact, keys, _identical(store, asked, scored.found), metadata)]


def _identical(store: StoreReader, asked: _Asked, found: Candidates) -> Mask:
    """Which of n matches have the same content as the document of the query."""
    identical = np.zeros(len(found.doc_ids), dtype=np.bool_)
    # Only useful if all lanes agree: computing a digest loads OpenSSL.
    possible = np.flatnonzero(found.estimates == 1)
    if len(possible) and not store.settings.shingling.foreign:
        if asked.doc_id >= 0:
            own = store.sizes(np.array([asked.doc_id]))[1][0].tobytes()
        elif asked.content is not None:
            own = digest(encoded(asked.content).encode())
        else:
            return identical
        digests = store.sizes(found.doc_ids[possible])[1]
        identical[possible] = [one == own for one in digests.tolist()]
    return identical


def metadata_of(
    store: StoreReader, query: RankingOptions, doc_ids: npt.NDArray[np.int64]
) -> list[dict[str, Any] | None]:
    """The fields of these documents that a query asks for; None for each if it asks for none."""
    if not query.fields:
        return [None] * len(doc_ids)
    return [picked(one, query.fields) for one in store.metadata_of(doc_ids, query.fields)]


def row_of_key(store: StoreReader, key: str) -> DocumentRow:
    """The stored document of a key; KeyNotFound if there is none."""
    row = store.document(key)
    if row is None:
        raise store.not_found(key)
    return row


def _document_of(
    store: StoreReader, query: RankingOptions, exact: bool, signature: Lanes | None
) -> _Asked:
    if signature is not None:
        is_empty = bool((signature == EMPTY).all())
        return _Asked(None, None if is_empty else signature, 0, -1, None)
    assert isinstance(query, QueryOptions)
    shingling = store.settings.shingling
    content: Content | None = None
    if query.key is not None:
        row = row_of_key(store, query.key)
        signature, size, doc_id = row.signature, row.shingles, row.doc_id
        if row.content is not None:
            content = from_stored(row.content, shingling)
    else:
        assert query.content is not None
        content = cleaned(query.content, shingling)
        signed = sign([content], store.settings)
        signature, size, doc_id = signed.signatures[0], int(signed.shingles[0]), -1
        if not size:
            signature = None
    hashes = None
    if content is not None and (exact or query.containment):
        hashes = distinct_shingles([content], shingling, secret_seed()).hashes
        size = len(hashes)
    return _Asked(hashes, signature, size, doc_id, content)


def finds_runs(settings: Settings, query: RankingOptions) -> bool:
    """Whether candidates of a query are also documents that share a run of words with it."""
    return query.containment and not query.exhaustive and settings.passages > 0


def _with_runs(
    store: StoreReader,
    signature: npt.NDArray[np.uint32],
    text: str,
    found: Candidates,
    keep: Keep | None,
) -> Candidates:
    """The candidates, and all documents that share a fingerprint with a text.

    A fingerprint that more than `query_first` documents have leads to none.
    """
    settings, most = store.settings, store.limits.query_first
    own = fingerprints([text], settings.shingling, settings.passages, settings.seed).values
    place, doc_ids = store.documents_of_fingerprints(own, most + 1)
    hot = np.bincount(place, minlength=len(own)) > most
    if hot.any():
        warn_of_limit(runs_cut(int(hot.sum()), settings.passages, most))
    doc_ids = np.unique(doc_ids[~hot[place]])
    if keep is not None:
        doc_ids = doc_ids[keep(doc_ids)]
    return with_others(store, signature, found, doc_ids)


def _candidates(
    store: StoreReader, query: RankingOptions, signature: npt.NDArray[np.uint32], keep: Keep | None
) -> Candidates:
    if query.exhaustive:
        return all_documents(store, signature, keep)
    if query.top is None or keep is not None:
        # The best of those that match a condition may be anywhere in a large bucket.
        return all_in_buckets(store, signature, keep)
    # One more, as a stored document is not among its own matches.
    return best_in_buckets(store, signature, min(query.top, _MAX_TOP) + 1)


def _verified(
    store: StoreReader, query: RankingOptions, asked: _Asked, found: Candidates, threshold: float
) -> Scored:
    """The exact scores of the candidates that can be matches, judged by estimate.

    They are verified in the order of their estimates, and with `top` only as long as one of the
    rest can still be among the best.
    """
    assert asked.hashes is not None
    lanes = store.settings.permutations
    expected, shingles = found.estimates, None
    if query.containment:
        shingles = store.sizes(found.doc_ids)[0]
        expected = containment_at(expected, asked.size, shingles)
    waiting = np.lexsort((found.doc_ids, -expected))
    first = store.limits.verified_first
    at_once = len(waiting) if query.top is None else max(first, 2 * query.top)
    shared, sizes = np.zeros((2, len(waiting)), dtype=np.int64)
    level = threshold
    done = waiting[:0]
    while True:
        possible = can_match(found.estimates, level, lanes, asked.size, shingles)
        waiting = waiting[possible[waiting]]
        now, waiting = waiting[:at_once], waiting[at_once:]
        shared[now], sizes[now] = shared_with_stored(store, asked.hashes, found.doc_ids[now])
        done = np.concatenate([done, now])
        similarities, contained = jaccard(shared[done], asked.size, sizes[done]), None
        if query.containment:
            contained = containment(shared[done], asked.size)
        if query.top is not None and len(done) >= query.top:
            decisive = similarities if contained is None else contained
            level = max(level, float(np.sort(decisive)[-query.top]))
        # At level 1, the rest of the equal documents were added later, and rank behind these.
        if not len(waiting) or (level == 1 and not query.containment):
            none = np.zeros(len(done), dtype=np.int64)
            return Scored(found.chosen(done), none, similarities, contained)
        at_once *= 4


def best(matches: Iterable[Match], top: int | None) -> list[Match]:
    """The matches of several files, best first; equal ones keep their order."""
    return sorted(matches, key=_rank)[:top]


def _rank(match: Match) -> tuple[float, float]:
    if match.containment is None:
        return -match.similarity, -match.estimate
    return -match.containment, -match.similarity


def can_match(
    estimates: Shares, level: float, lanes: int, size: int | IntArray, shingles: IntArray | None
) -> Mask:
    """Which candidates may reach a level, by their estimates with MARGIN: bool[n].

    Args:
        estimates: float64[n], of their similarities.
        level: a similarity; a containment if `shingles` are given.
        lanes: of a signature.
        size: how many distinct shingles the query has, or int64[n], for each query.
        shingles: int64[n], how many the candidates have, an upper bound on distinct ones.
    """
    if shingles is None:
        return estimates >= min_estimate(level, lanes)
    implied = similarity_at(level, size, shingles)
    possible = estimates >= min_estimate(np.minimum(implied, 1), lanes)
    possible &= shingles >= level * size * (1 - 1e-9)
    return possible
