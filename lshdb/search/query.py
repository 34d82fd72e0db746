"""Finding the stored documents similar to one: candidates, estimates, verification, ranking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.model import Content, Match, Settings
from lshdb.search.buckets import (
    Candidates,
    Keep,
    all_documents,
    all_in_buckets,
    best_in_buckets,
    with_others,
)
from lshdb.search.limits import QUERY_FIRST, query_cut, runs_cut
from lshdb.search.similarity import (
    Shares,
    containment,
    containment_at,
    jaccard,
    least_estimate,
    shared_with_stored,
    similarity_at,
)
from lshdb.shingling.arrays import Numbers
from lshdb.shingling.content import cleaned, digest, encoded, from_stored
from lshdb.shingling.shingles import distinct_shingles
from lshdb.shingling.winnowing import fingerprints
from lshdb.sketching.minhash import EMPTY
from lshdb.sketching.signing import sign
from lshdb.sources.metadata import picked
from lshdb.store.lookups import DocumentRow, StoreReader
from lshdb.store.rows import Parameters
from lshdb.store.store import Store

VERIFIED_FIRST: Final = 64
"""Documents verified before checking whether more can be among the best: some ms."""
_MAX_TOP: Final = 1 << 62
"""More matches than any file has; SQLite takes no larger numbers."""


@dataclass(frozen=True, slots=True)
class Query:
    """The arguments of `Database.query`; see there. Invalid ones raise UsageError.

    The threshold None is the database's own when the query begins.
    """

    content: Content | None
    key: str | None
    top: int | None
    threshold: float | None
    estimate: bool
    exhaustive: bool
    containment: bool = False
    signature: npt.NDArray[np.uint32] | None = None
    where: str | None = None
    parameters: Parameters = ()
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.content, self.key, self.signature)) != 1:
            raise UsageError("a query takes either a document or a key")
        if self.top is not None and self.top < 1:
            raise UsageError(f"top {self.top} is below 1")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(f"threshold {self.threshold:g} is not above 0 and at most 1")
        if self.where is None and self.parameters:
            raise UsageError("parameters need an expression: give where")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The document of a query.

    Attributes:
        hashes: uint64[any], its distinct shingles, sorted; None if they are not needed.
        signature: uint32[k]; None if it is empty.
        size: how many distinct shingles it has, as far as known.
        doc_id: its own, or -1.
        content: of a given document; None for a stored one.
        text: its text, if runs of it are searched.
    """

    hashes: npt.NDArray[np.uint64] | None
    signature: npt.NDArray[np.uint32] | None
    size: int
    doc_id: int
    content: Content | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class _Scores:
    """Scores of some of the candidates: their places int64[n], and float64[n] each."""

    places: Numbers
    similarities: Shares
    containments: Shares | None

    @property
    def decisive(self) -> Shares:
        """The scores that the threshold applies to."""
        return self.similarities if self.containments is None else self.containments


def search(store: Store, query: Query) -> list[Match]:
    """The matches of a query, best first."""
    if query.where is None:
        with store.reading():
            return answer(store, query, None)
    with store.where(query.where, query.parameters) as (reader, condition):
        return answer(reader, query, condition.matching)


def answer(store: StoreReader, query: Query, keep: Keep | None) -> list[Match]:
    """The same, in the caller's transaction, for the documents that match `keep`."""
    exact = store.settings.content and not query.estimate
    if query.containment and store.settings.shingling.foreign:
        raise UsageError("containment needs contents; this database has only signatures")
    asked = _document_of(store, query, exact)
    if asked.signature is None:
        return []
    found = _candidates(store, query, asked.signature, keep)
    if asked.text is not None:
        found = _with_runs(store, asked.signature, asked.text, found, keep)
    if asked.doc_id >= 0:
        found = found.chosen(found.doc_ids != asked.doc_id)
    threshold = store.settings.threshold if query.threshold is None else query.threshold
    if exact:
        scores = _verified(store, query, asked, found, threshold)
    else:
        scores = _estimated(store, query, asked, found)
    scores = _best(found, scores, query.top, threshold)
    keys = store.keys_of(found.doc_ids[scores.places])
    metadata = metadata_of(store, query, found.doc_ids[scores.places])
    identical = _identical(store, asked, found.chosen(scores.places))
    if found.cut and not _is_certain(scores, query.top):
        warn_of_limit(query_cut(found.cut, found.read))
    found = found.chosen(scores.places)
    contained: list[float | None] = [None] * len(keys)
    if scores.containments is not None:
        contained = [*scores.containments.tolist()]
    rows = zip(
        keys,
        scores.similarities.tolist(),
        found.estimates.tolist(),
        found.bands.tolist(),
        contained,
        identical,
        metadata,
        strict=True,
    )
    return [
        Match(key, similarity, exact, estimate, bands, share, same, fields)
        for key, similarity, estimate, bands, share, same, fields in rows
    ]


def _identical(store: StoreReader, asked: _Asked, found: Candidates) -> list[bool]:
    """Which of n matches have the same content as the document of the query."""
    identical = np.zeros(len(found.doc_ids), dtype=np.bool_)
    # Only useful if all lanes agree: computing a digest loads OpenSSL.
    possible = np.flatnonzero(found.estimates == 1)
    known = asked.content is not None or asked.doc_id >= 0
    if len(possible) and known and not store.settings.shingling.foreign:
        if asked.content is None:
            own = store.sizes(np.array([asked.doc_id]))[1][0].tobytes()
        else:
            own = digest(encoded(asked.content).encode())
        digests = store.sizes(found.doc_ids[possible])[1]
        identical[possible] = [one == own for one in digests.tolist()]
    return [bool(one) for one in identical.tolist()]


def metadata_of(
    store: StoreReader, query: Query, doc_ids: npt.NDArray[np.int64]
) -> list[dict[str, Any] | None]:
    """The fields of these documents that a query asks for; None for each if it asks for none."""
    if not query.fields:
        return [None] * len(doc_ids)
    return [picked(one, query.fields) for one in store.metadata_of(doc_ids)]


def row_of_key(store: StoreReader, key: str) -> DocumentRow:
    """The stored document of a key; KeyNotFound if there is none."""
    row = store.document(key)
    if row is None:
        raise store.not_found(key)
    return row


def _document_of(store: StoreReader, query: Query, exact: bool) -> _Asked:
    if query.signature is not None:
        is_empty = bool((query.signature == EMPTY).all())
        return _Asked(None, None if is_empty else query.signature, 0, -1)
    shingling = store.settings.shingling
    needed = exact or query.containment
    if query.key is not None:
        row = row_of_key(store, query.key)
        hashes = None
        if needed and row.content is not None:
            hashes = _hashes(store, from_stored(row.content, shingling))
        size = row.shingles if hashes is None else len(hashes)
        text = row.content if finds_runs(store.settings, query) else None
        return _Asked(hashes, row.signature, size, row.doc_id, text=text)
    assert query.content is not None
    document = cleaned(query.content, shingling)
    signed = sign([document], store.settings)
    signature = signed.signatures[0] if signed.shingles[0] else None
    hashes = _hashes(store, document) if needed else None
    text = str(document) if finds_runs(store.settings, query) else None
    return _Asked(hashes, signature, 0 if hashes is None else len(hashes), -1, document, text)


def finds_runs(settings: Settings, query: Query) -> bool:
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

    A fingerprint that more than QUERY_FIRST documents have leads to none.
    """
    settings = store.settings
    own = fingerprints([text], settings.shingling, settings.passages, settings.seed).values
    place, doc_ids = store.documents_of_fingerprints(own, QUERY_FIRST + 1)
    hot = np.bincount(place, minlength=len(own)) > QUERY_FIRST
    if hot.any():
        warn_of_limit(runs_cut(int(hot.sum()), settings.passages))
    doc_ids = np.unique(doc_ids[~hot[place]])
    if keep is not None:
        doc_ids = doc_ids[keep(doc_ids)]
    return with_others(store, signature, found, doc_ids)


def _hashes(store: StoreReader, document: Content) -> npt.NDArray[np.uint64]:
    return distinct_shingles([document], store.settings.shingling, store.settings.seed).hashes


def _candidates(
    store: StoreReader, query: Query, signature: npt.NDArray[np.uint32], keep: Keep | None
) -> Candidates:
    if query.exhaustive:
        return all_documents(store, signature, keep)
    if query.top is None or keep is not None:
        # The best of those that match a condition may be anywhere in a large bucket.
        return all_in_buckets(store, signature, keep)
    # One more, as a stored document is not among its own matches.
    return best_in_buckets(store, signature, min(query.top, _MAX_TOP) + 1)


def _estimated(store: StoreReader, query: Query, asked: _Asked, found: Candidates) -> _Scores:
    """The scores of all candidates, by their signatures."""
    contained = None
    if query.containment:
        shingles = store.sizes(found.doc_ids)[0]
        contained = containment_at(found.estimates, asked.size, shingles)
    return _Scores(np.arange(len(found.doc_ids)), found.estimates, contained)


def _verified(
    store: StoreReader, query: Query, asked: _Asked, found: Candidates, threshold: float
) -> _Scores:
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
    at_once = len(waiting) if query.top is None else max(VERIFIED_FIRST, 2 * query.top)
    shared, sizes = np.zeros((2, len(waiting)), dtype=np.int64)
    level = threshold
    done = waiting[:0]
    while True:
        possible = can_match(found.estimates, level, lanes, asked.size, shingles)
        waiting = waiting[possible[waiting]]
        now, waiting = waiting[:at_once], waiting[at_once:]
        shared[now], sizes[now] = shared_with_stored(store, asked.hashes, found.doc_ids[now])
        done = np.concatenate([done, now])
        scores = _Scores(
            done,
            jaccard(shared[done], asked.size, sizes[done]),
            containment(shared[done], asked.size) if query.containment else None,
        )
        if not len(waiting):
            return scores
        if query.top is not None and len(done) >= query.top:
            level = max(level, float(np.sort(scores.decisive)[-query.top]))
        if level == 1 and not query.containment:
            # The rest of the equal documents were added later, and rank behind these.
            return scores
        at_once *= 4


def best(matches: Iterable[Match], top: int | None) -> list[Match]:
    """The matches of several files, best first; equal ones keep their order."""
    return sorted(matches, key=_rank)[:top]


def _rank(match: Match) -> tuple[float, float]:
    if match.containment is None:
        return -match.similarity, -match.estimate
    return -match.containment, -match.similarity


def can_match(
    estimates: Shares, level: float, lanes: int, size: int | Numbers, shingles: Numbers | None
) -> npt.NDArray[np.bool_]:
    """Which candidates may reach a level, by their estimates with MARGIN: bool[n].

    Args:
        estimates: float64[n], of their similarities.
        level: a similarity; a containment if `shingles` are given.
        lanes: of a signature.
        size: how many distinct shingles the query has, or int64[n], for each query.
        shingles: int64[n], how many the candidates have, an upper bound on distinct ones.
    """
    if shingles is None:
        return estimates >= least_estimate(level, lanes)
    implied = similarity_at(level, size, shingles)
    possible = estimates >= least_estimate(np.minimum(implied, 1), lanes)
    possible &= shingles >= level * size * (1 - 1e-9)
    return possible


def _best(found: Candidates, scores: _Scores, top: int | None, threshold: float) -> _Scores:
    """The scores that reach the threshold, best first, at most `top`."""
    doc_ids, estimates = found.doc_ids[scores.places], found.estimates[scores.places]
    if scores.containments is None:
        order = np.lexsort((doc_ids, -estimates, -scores.similarities))
    else:
        order = np.lexsort((doc_ids, -scores.similarities, -scores.containments))
    order = order[scores.decisive[order] >= threshold][:top]
    return _Scores(
        scores.places[order],
        scores.similarities[order],
        None if scores.containments is None else scores.containments[order],
    )


def _is_certain(scores: _Scores, top: int | None) -> bool:
    """Whether no unread document can be better: these are equal, and were added first."""
    return len(scores.places) == top and float(scores.similarities.min()) == 1
