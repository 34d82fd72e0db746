"""Many queries at once: the results of `query.answer` for each, in a fraction of its time.

The buckets of some thousand documents are looked up band by band, in the order of their keys, so
that a page of the table is read once for all of them; signatures, contents and keys of candidates
are read once each. `scripts/bench many` shows what that saves.

Queries that touch large buckets are answered one by one, with the limits of single queries, unless
a limit is given here; so are those that compare with all documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from lshdb.errors import Cut, limits_to
from lshdb.groups import regrouped
from lshdb.model import Match
from lshdb.options import QueryOptions, RankingOptions
from lshdb.search.buckets import Candidates, Keep
from lshdb.search.limits import query_cut
from lshdb.search.query import (
    Mask,
    Scored,
    answer,
    can_match,
    finds_runs,
    metadata_of,
)
from lshdb.search.similarity import (
    Estimates,
    Exact,
    Shares,
    Signatures,
    canonical_ids,
    containment_at,
    similarity_at,
)
from lshdb.shingling.arrays import IntArray, expand_ranges
from lshdb.shingling.content import from_stored
from lshdb.sketching.constructions import candidates_among
from lshdb.sketching.signing import Signed
from lshdb.store.lookups import StoreReader


@dataclass(frozen=True, slots=True)
class Asked:
    """The documents of n queries.

    Attributes:
        stored: their stored forms.
        digests: of these, 16 bytes each.
        signed: their signatures, with the bucket keys of the queried file.
    """

    stored: Sequence[str]
    digests: Sequence[bytes]
    signed: Signed

    def part(self, first: int, last: int) -> Asked:
        """The documents between two places."""
        places = np.arange(first, last)
        return Asked(self.stored[first:last], self.digests[first:last], self.signed.take(places))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of a query and a stored document that are candidates, ordered by both; c of them.

    Attributes:
        one: int64[c], the places of the queries.
        other: int64[c], the places of the documents among `doc_ids`.
        doc_ids: int64[m], the documents, ascending.
        bands: int64[c], in how many bands each pair shares a bucket.
        alone: bool[n], which queries are answered alone; they have no pairs here.
        cut: bool[n], for which queries some documents of a bucket are missing.
    """

    one: IntArray
    other: IntArray
    doc_ids: IntArray
    bands: IntArray
    alone: Mask
    cut: Mask


def answers(
    store: StoreReader,
    query: RankingOptions,
    asked: Asked,
    keep: Keep | None,
    on_cut: Callable[[Cut], object],
    listed: int | None = None,
) -> Iterator[list[Match]]:
    """The matches of each of n documents, in order, best first.

    Args:
        store: read in the caller's transaction.
        query: the options for each document; its own document does not matter.
        asked: the documents.
        keep: the condition of the query, if it has one.
        on_cut: called with what a limit left out of one answer.
        listed: compare with only this many first documents of each bucket, as dedup does, so that
            queries with large buckets are looked up with the others. Otherwise as single queries.
    """
    count = len(asked.stored)
    alone = query.exhaustive or finds_runs(store.settings, query)
    pairs = None if alone else _candidates(store, asked, keep, listed)
    if pairs is None and count > 1 and not alone:
        middle = count // 2
        yield from answers(store, query, asked.part(0, middle), keep, on_cut, listed)
        yield from answers(store, query, asked.part(middle, count), keep, on_cut, listed)
        return
    if pairs is not None:
        matches, counts, left = _found(store, query, asked, pairs, listed)
    for place, stored in enumerate(asked.stored):
        if pairs is None or left[place]:
            content = from_stored(stored, store.settings.shingling)
            with limits_to(on_cut):
                own = answer(store, regrouped(query, QueryOptions, content=content), keep)
            yield own
        else:
            if listed is not None and pairs.cut[place]:
                on_cut(query_cut(1, listed))
            yield list(islice(matches, counts[place]))


def _candidates(
    store: StoreReader, asked: Asked, keep: Keep | None, listed: int | None
) -> _Pairs | None:
    """The candidates of all queries; None if their buckets have too many rows at once."""
    keys, count = asked.signed.bucket_keys, len(asked.stored)
    # An empty document is in no bucket; all empty ones have the same signature.
    wanted = np.flatnonzero(asked.signed.shingles)
    alone, cut = np.zeros((2, count), dtype=np.bool_)
    most = store.limits.query_first if listed is None else listed
    rows = _rows(store, keys, wanted) or _rows(store, keys, wanted, most + 1)
    if rows is None:
        return None
    one, band_nos, doc_ids, rank = rows
    if listed is None:
        alone |= np.bincount(one, minlength=count) > most
        left = ~alone[one]
    else:
        left = rank < most
        cut[one[~left]] = True
    if not left.all():
        one, band_nos, doc_ids = one[left], band_nos[left], doc_ids[left]
    doc_ids, other = np.unique(doc_ids, return_inverse=True)
    named = one * len(doc_ids) + other
    named, bands = candidates_among(band_nos, named, store.settings.construction)
    one, other = np.divmod(named, max(1, len(doc_ids)))
    if keep is not None:
        kept = keep(doc_ids)[other]
        one, other, bands = one[kept], other[kept], bands[kept]
    return _Pairs(one, other, doc_ids, bands, alone, cut)


def _rows(
    store: StoreReader, keys: IntArray, wanted: IntArray, first: int | None = None
) -> tuple[IntArray, IntArray, IntArray, IntArray] | None:
    """The band rows of the buckets of queries at some places; None if there are too many.

    Args:
        store: the database.
        keys: int64[n, b], the bucket keys of all queries.
        wanted: int64[w], the places.
        first: rows to read of each bucket; None for all.

    Returns:
        int64[r] each: the places of the queries, the bands, the doc_ids, the ranks of these in
        their buckets, from 0.
    """
    columns = [(wanted[:0], wanted[:0], wanted[:0], wanted[:0])]
    left = store.limits.query_rows
    for band in range(keys.shape[1]):
        # Queries that share a bucket read it once.
        buckets, own = np.unique(keys[wanted, band], return_inverse=True)
        if first is None:
            place, found = store.members_of_buckets(band, buckets, left + 1)
        else:
            place, found = store.first_of_buckets(band, buckets, first)
        begins = np.searchsorted(place, np.arange(len(buckets) + 1))
        sizes = np.diff(begins)[own]
        left -= int(sizes.sum())
        if left < 0 or len(place) > store.limits.query_rows:
            return None
        places = expand_ranges(begins[own], sizes)
        ranks = places - np.repeat(begins[own], sizes)
        columns.append((np.repeat(wanted, sizes), np.full(len(places), band), found[places], ranks))
    one, bands, doc_ids, rank = map(np.concatenate, zip(*columns, strict=True))
    return one, bands, doc_ids, rank


def _found(
    store: StoreReader, query: RankingOptions, asked: Asked, pairs: _Pairs, listed: int | None
) -> tuple[Iterator[Match], list[int], list[bool]]:
    """The matches among the candidates, how many each query has, and which are answered alone."""
    settings, count = store.settings, len(asked.stored)
    threshold = settings.threshold if query.threshold is None else query.threshold
    exact = settings.content and not query.estimate
    shingles, digests = store.sizes(pairs.doc_ids)
    own_digests = np.frombuffer(b"".join(asked.digests), dtype=digests.dtype)
    same = canonical_ids(np.concatenate([own_digests, digests]))
    verified, estimating = _scorers(store, asked, pairs.doc_ids, same, shingles)

    # Numbers below n are queries, the others stored documents.
    one, other = pairs.one, pairs.other + count
    estimated = estimating.scores(one, other, threshold)
    del estimating
    size, of_other = None, None
    if query.containment:
        queries, place = np.unique(one, return_inverse=True)
        size, of_other = verified.distinct(queries)[place], shingles[pairs.other]
    alone = pairs.alone
    contained: Shares | None = None
    if exact:
        given = 0 if size is None else size
        possible = can_match(estimated, threshold, settings.permutations, given, of_other)
        if query.top is not None and listed is None:
            # A single query compares these first, and may leave out some of the others.
            most = max(store.limits.verified_first, 2 * query.top)
            alone = alone | (np.bincount(one[possible], minlength=count) > most)
            possible &= ~alone[one]
        chosen = np.flatnonzero(possible)
        one, other, estimated = one[chosen], other[chosen], estimated[chosen]
        least: Shares | float = threshold
        if size is not None and of_other is not None:
            least = similarity_at(threshold, size[chosen], of_other[chosen]) * (1 - 1e-9)
        similarities, contained = verified.compared(one, other, least)
        if size is None:
            contained = None
    else:
        chosen = np.arange(len(one))
        similarities = estimated
        if size is not None and of_other is not None:
            contained = containment_at(estimated, size, of_other)
    del verified

    found = Candidates(pairs.doc_ids[other - count], pairs.bands[chosen], estimated)
    scored = Scored(found, one, similarities, contained).best(query.top, threshold)
    stored = np.searchsorted(pairs.doc_ids, scored.found.doc_ids)
    identical = same[scored.queries] == same[stored + count]
    used, place = np.unique(stored, return_inverse=True)
    keys = store.keys_of(pairs.doc_ids[used])
    metadata = metadata_of(store, query, pairs.doc_ids[used])
    places = place.tolist()
    matches = scored.matches(
        exact, (keys[i] for i in places), identical, (metadata[i] for i in places)
    )
    counts = np.bincount(scored.queries, minlength=count)
    return matches, counts.tolist(), alone.tolist()


def _scorers(
    store: StoreReader, asked: Asked, doc_ids: IntArray, same: IntArray, shingles: IntArray
) -> tuple[Exact, Estimates]:
    """Compare n queries (numbers below n) and m stored documents, by their numbers."""
    count, settings = len(asked.stored), store.settings

    def contents(numbers: IntArray) -> list[str]:
        own, stored = numbers[numbers < count], numbers[numbers >= count] - count
        return [asked.stored[i] for i in own.tolist()] + [*store.contents(doc_ids[stored])]

    def signatures(numbers: IntArray) -> Signatures:
        own, stored = numbers[numbers < count], numbers[numbers >= count] - count
        return np.concatenate([asked.signed.signatures[own], store.signatures_of(doc_ids[stored])])

    numbers = np.arange(len(same))
    sizes = np.concatenate([asked.signed.shingles, shingles])
    return (
        Exact(contents, numbers, same, sizes, settings, store.limits),
        Estimates(signatures, numbers, same, settings.permutations, store.limits),
    )
