"""The stored documents similar to others: candidates, estimates, verification, ranking.

A query is a batch of one. The buckets of some thousand documents are looked up together, so that a
page of the table is read once for all of them; signatures, contents and keys of candidates are read
once each.

A bucket may hold 100,000 documents: copies of one, or documents under one heading. If only the best
matches are wanted, only the first documents of such a bucket are read, and only the most promising
of these are compared. Documents in smaller buckets are never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lshdb import errors, offers
from lshdb.columns import objects_of
from lshdb.model import Match
from lshdb.options import QueryOptions, RankingOptions, WeightedOptions
from lshdb.read.metadata import picked
from lshdb.search import cut_notes, similarity
from lshdb.search.lookup import TooManyAtOnce, bucket_members
from lshdb.search.pair_filters import PairFilter
from lshdb.sketch import banding, constructions, minhash, signing
from lshdb.sketch.settings import Settings, plain_settings
from lshdb.store.lookups import DocumentRow, StoreReader
from lshdb.store.readonly_sql import DocumentFilter
from lshdb.store.store import Store
from lshdb.text.arrays import (
    NO_NUMBERS,
    IntArray,
    Lanes,
    Mask,
    Shares,
    chunks,
    expand_ranges,
    first_of_each,
)
from lshdb.text.content import cleaned, digest, encoded
from lshdb.text.hashing import distinct
from lshdb.text.shingling import Content

if TYPE_CHECKING:
    from lshdb.read.batch import Batch

_MAX_TOP = 1 << 31
"""More matches than any file has."""
_QUERY_PAIRS = 1 << 13
"""Pairs compared at once: 256 bytes each, of signatures, fit in a cache."""
_FEW_DOCUMENTS = 16
"""Up to this many documents are compared with one query without the bookkeeping of `Exact`, with
which a query that finds one or two of 20,000 documents of 3 KB takes 1.2 times as long."""


@dataclass(frozen=True, slots=True)
class QueryBatch:
    """The documents of n queries.

    Attributes:
        stored: their stored forms; empty if only signatures are known.
        digests: of these, 16 bytes each; known also of a stored document whose content is not kept.
        signed: their signatures, with the bucket keys of the queried file.
        doc_id: of the one document of a query by its key, or -1.
        files: by the index of each that is a file, what says that its bytes are those of another;
            see `StoreReader.bytes_digests`.
    """

    stored: Sequence[str]
    digests: Sequence[bytes]
    signed: signing.Signed
    doc_id: int = -1
    files: Mapping[int, str | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.signed.shingles)

    def part(self, first: int, last: int) -> QueryBatch:
        """The documents between two indices."""
        signed = self.signed.take(np.arange(first, last))
        files = {index - first: self.files[index] for index in self.files if index >= first}
        return QueryBatch(self.stored[first:last], self.digests[first:last], signed, files=files)


class QueryPairs(NamedTuple):
    """Pairs of a query and a document that may be similar, c of them.

    Attributes:
        doc_ids: int64[m], ascending.
        query: int64[c], the indices of the queries, ascending.
        document: int64[c], the indices of the documents in `doc_ids`, ascending for each query.
        rest: bool[c], whether the two share only buckets that were read in part.
        bands: int64[c], in how many bands the two share a bucket.
        estimates: float64[c], of the similarities.
        similarities: float64[c], exact or the estimates.
        measured: float64[c], another measure of an app: the containments, or `weighted` of records.
    """

    doc_ids: IntArray
    query: IntArray
    document: IntArray
    rest: Mask
    bands: IntArray
    estimates: Shares
    similarities: Shares
    measured: Shares

    @classmethod
    def of(
        cls, doc_ids: IntArray, queries: IntArray, documents: IntArray, rest: Mask
    ) -> QueryPairs:
        """Pairs of which no more is known yet."""
        none = np.zeros(len(queries))
        return cls(doc_ids, queries, documents, rest, none.astype(np.int64), none, none, none)

    def chosen(self, which: Mask | IntArray) -> QueryPairs:
        """Some of the pairs."""
        columns: tuple[Any, ...] = self[1:]
        return QueryPairs(self.doc_ids, *(column[which] for column in columns))

    def without_rest(self, limit: int, values: Shares | IntArray) -> QueryPairs:
        """Of the documents of each query in large buckets only, those with the largest values."""
        if not self.rest.any():
            return self
        kept, rest = ~self.rest, np.flatnonzero(self.rest)
        kept[rest[first_of_each(self.query[rest], limit, -values[rest])]] = True
        return self.chosen(kept)

    def ranked(self, values: Shares, ties: Shares, top: int | None, minimum: float) -> QueryPairs:
        """The pairs whose values are high enough, the highest first, at most `top` of a query.

        `ties` order pairs of equal values, and then the order of addition.
        """
        (enough,) = (values >= minimum).nonzero()
        keys = self.document[enough], -ties[enough], -values[enough]
        return self.chosen(enough[first_of_each(self.query[enough], top, *keys)])


Found = tuple[QueryPairs, dict[int, list[errors.Cut]]]
"""The matches of all queries, and what limits left out, by the index of the query."""


@dataclass(eq=False)
class BySimilarity:
    """Ranks matches by their similarity; an app has another order.

    Attributes:
        level: float64[n], what matches of each query must reach. It rises to the last of the best.
        highest: a value that no later document exceeds, nor one of equal value that comes before.
    """

    level: Shares
    highest: float = 1

    def needed(self, pairs: QueryPairs) -> Shares:
        """The similarities by which pairs reach the level, float64[c]."""
        return self.level[pairs.query]

    def values(self, pairs: QueryPairs, *, exact: bool) -> Shares:  # noqa: ARG002
        """What pairs are ranked by, float64[c], from their similarities, exact or estimated."""
        return pairs.similarities

    def ranked(self, pairs: QueryPairs, top: int | None, minimum: float) -> QueryPairs:
        """The pairs that reach a value, best first."""
        return pairs.ranked(pairs.measured, pairs.estimates, top, minimum)


def measure_of(store: StoreReader) -> Any:
    """What weighs documents by rarity, an object of an app; None without one.

    It has `weigh` and `of_matches` (see apps.passages.weights). That of a file of records, in which
    it decides what is similar, also has `check`, `matches`, `pairs` and `scorer` (apps.records).

    Args:
        store: read in the caller's transaction.

    Raises:
        UsageError: the app for records is missing.
    """
    if store.settings.records:
        return offers.offered(offers.SEARCHES, "records")(store)
    if not store.settings.passages or not offers.is_there(offers.TABLES["fingerprints"]):
        return None
    return offers.offered(offers.SEARCHES, "weighted")(store)


def ranking(settings: Settings, weighted: WeightedOptions) -> Callable[..., Iterable[Any]] | None:
    """What chooses and orders results by these options; None if they ask for nothing.

    Raises:
        UsageError: the app is missing, or the index.
    """
    if not weighted.sort and weighted.min_weighted is None:
        return None
    rank: Callable[..., Iterable[Any]] = offers.offered(offers.SEARCHES, "sort")(settings)
    return rank


def search(
    store: Store, query: RankingOptions, wanted: QueryOptions | Batch | Lanes
) -> list[Match]:
    """The matches of a document, of one that was just read, or of a signature [k], best first."""
    condition = query.similar.condition
    reads = store.reading() if condition.where is None else store.snapshot(condition)
    with reads as snapshot:
        reader, keep = snapshot or (store, None)
        ((matches, cuts),) = answers(reader, query, _query_batch(reader, wanted), keep)
    for cut in cuts:
        errors.warn_of_limit(cut)
    return matches


def row_of_key(store: StoreReader, key: str) -> DocumentRow:
    """The stored document of a key; KeyNotFound if there is none."""
    row = store.document(key)
    if row is None:
        raise store.not_found(key)
    return row


def _query_batch(store: StoreReader, wanted: QueryOptions | Batch | Lanes) -> QueryBatch:
    """The document of a query, or a signature, as a batch of one."""
    settings = store.settings
    if isinstance(wanted, np.ndarray):
        return QueryBatch([], [], _signed(wanted, 1, settings))
    if not isinstance(wanted, QueryOptions):
        return _batch_of_content(wanted.contents[0], settings, wanted.files)
    if wanted.content is not None:
        return _batch_of_content(wanted.content, settings, {})
    assert wanted.key is not None
    row = row_of_key(store, wanted.key)
    stored = [] if row.content is None else [row.content]
    _, digests, bytes_digests = store.identities(np.array([row.doc_id]))
    signed = _signed(row.signature, row.shingles, settings)
    return QueryBatch(stored, digests, signed, row.doc_id, dict(enumerate(bytes_digests)))


def _signed(signature: Lanes | None, shingles: int, settings: Settings) -> signing.Signed:
    """One signature [k] with its bucket keys; None for a document without shingles."""
    if signature is None or minhash.is_empty(signature):
        empty = np.full(settings.permutations, minhash.EMPTY, dtype=np.uint32)
        signature, shingles = empty.astype(settings.lane_type), 0
    signatures, construction = signature[np.newaxis], settings.construction
    keys = banding.bucket_keys(signatures, construction, settings.seed)
    return signing.Signed(signatures, np.array([shingles]), keys, construction)


def _batch_of_content(
    content: Content, settings: Settings, files: Mapping[int, str | None]
) -> QueryBatch:
    content = cleaned(content, settings.shingling)
    stored = encoded(content)
    signed = signing.sign([content], plain_settings(settings))
    return QueryBatch([stored], [digest(stored.encode())], signed, files=files)


def answers(
    store: StoreReader,
    query: RankingOptions,
    batch: QueryBatch,
    keep: DocumentFilter | None,
) -> Iterator[tuple[list[Match], list[errors.Cut]]]:
    """The matches of each of n documents, in order, best first, and what limits cut of them.

    Args:
        store: read in the caller's transaction.
        query: the options for each document; its own document does not matter.
        batch: the documents.
        keep: the condition of the query, if it has one.
    """
    if not len(batch):
        return
    request, rank = query, ranking(store.settings, query.weighted)
    if rank is not None:
        query = replace(query, similar=replace(query.similar, top=None))
    try:
        if store.settings.records and batch.stored:
            pairs, cuts = measure_of(store).matches(query, batch, keep)
        elif query.containment:
            find = offers.offered(offers.SEARCHES, "containment")
            pairs, cuts = find(store, query, batch, keep)
        else:
            threshold = query.similar.threshold or store.settings.threshold
            pairs, cuts = candidates(store, query, batch, keep, threshold)
            order = BySimilarity(np.full(len(batch), threshold))
            pairs = scored(store, query, batch, pairs, order)
    except TooManyAtOnce:
        middle = len(batch) // 2
        for half in (batch.part(0, middle), batch.part(middle, len(batch))):
            yield from answers(store, request, half, keep)
        return
    matches = _matches(store, query, batch, pairs)
    for index, count in enumerate(np.bincount(pairs.query, minlength=len(batch)).tolist()):
        matches_of_query = [*islice(matches, count)]
        if rank is not None:
            ranked = rank(matches_of_query, request.weighted, request.similar.top)
            matches_of_query = [*ranked]
        # No unread document is better than equal ones, which were added before it.
        certain = len(matches_of_query) == query.similar.top and all(
            match.similarity == 1 for match in matches_of_query
        )
        yield matches_of_query, [] if certain else cuts.get(index, [])


def candidates(
    store: StoreReader,
    query: RankingOptions,
    batch: QueryBatch,
    keep: DocumentFilter | None,
    min_similarity: float,
) -> Found:
    """The candidates of all queries, and what limits left out, by the index of the query.

    If only the best are wanted, only the first documents of each bucket are read.

    Args:
        store, query, batch, keep: see `answers`.
        min_similarity: of an exhaustive search.

    Raises:
        TooManyAtOnce: several queries have too many.
    """
    if query.exhaustive:
        if len(batch) > 1:
            raise TooManyAtOnce
        doc_ids = _all_documents(store, batch, min_similarity)
        return pairs_of_query(doc_ids[allowed(doc_ids, batch, keep)]), {}
    top, max_documents, first = query.similar.top, _MAX_TOP, None
    if top is not None and keep is None:
        # The best of those that match a condition may be anywhere in a large bucket. One more, as
        # a stored document is not among its own matches.
        max_documents = max(store.limits.query_first, min(top, _MAX_TOP) + 1)
        first = max_documents + 1
    rows = store.limits.query_rows if len(batch) > 1 else None
    members = bucket_members(store, batch.signed.bucket_keys, first, rows)
    large = members.sizes > max_documents
    min_bands = store.settings.construction.min_bands
    if len(batch) == 1 and min_bands == 1 and not large.any():
        # Most queries, where no row's bucket matters.
        doc_ids = distinct(members.doc_ids)
        return pairs_of_query(doc_ids[allowed(doc_ids, batch, keep)]), {}
    cut = large.sum(axis=1)
    (query_index, band), member_ids = members.origins(), members.doc_ids
    cuts: dict[int, list[errors.Cut]] = {}
    if cut.any():
        sizes = members.sizes.ravel()
        left = expand_ranges(np.zeros_like(sizes), sizes) < max_documents
        query_index, band, member_ids = query_index[left], band[left], member_ids[left]
        of_each = np.flatnonzero(cut).tolist()
        cuts = {i: [cut_notes.query_cut(int(cut[i]), max_documents)] for i in of_each}
    doc_ids, of_row = np.unique(member_ids, return_inverse=True)
    named, of_row, shared = np.unique(
        query_index * len(doc_ids) + of_row, return_inverse=True, return_counts=True
    )
    rest = np.ones(len(named), dtype=np.bool_)
    rest[of_row[~large[query_index, band]]] = False
    pairs = QueryPairs.of(doc_ids, *np.divmod(named, max(1, len(doc_ids))), rest)
    # Not all members of a large bucket are known: any document may be in it.
    kept = shared + cut[pairs.query] >= min_bands
    kept &= allowed(doc_ids, batch, keep)[pairs.document]
    return pairs.chosen(kept).without_rest(max_documents, shared[kept]), cuts


def pairs_of_query(doc_ids: IntArray) -> QueryPairs:
    """The pairs of one query with documents that were not found in buckets."""
    queries = np.zeros(len(doc_ids), dtype=np.int64)
    return QueryPairs.of(doc_ids, queries, np.arange(len(queries)), queries > 0)


def allowed(doc_ids: IntArray, batch: QueryBatch, keep: DocumentFilter | None) -> Mask:
    """Which documents may be matches, bool[n]."""
    others: Mask = doc_ids != batch.doc_id
    return others if keep is None else others & keep(doc_ids)


def _all_documents(store: StoreReader, batch: QueryBatch, min_similarity: float) -> IntArray:
    """All documents whose estimates do not rule out a similarity to a query, int64[n]."""
    parts = [NO_NUMBERS]
    if batch.signed.shingles[0]:
        minimum = similarity.min_estimate(min_similarity, store.settings)
        for doc_ids, signatures in store.all_signatures():
            scores = similarity.estimates(batch.signed.signatures[0], signatures)
            parts.append(doc_ids[scores >= minimum])
    return np.concatenate(parts)


def scored(
    store: StoreReader,
    query: RankingOptions,
    batch: QueryBatch,
    pairs: QueryPairs,
    order: BySimilarity,
    exact: similarity.Exact | None = None,
    *,
    in_buckets: bool = True,
) -> QueryPairs:
    """The matches among candidates, the best of each query first.

    Args:
        store, query, batch: see `answers`.
        pairs: the candidates.
        order: by what they are ranked.
        exact: of the queries and all documents of the pairs, if it is there.
        in_buckets: whether they need buckets that make the construction true.
    """
    top, filter_of = query.similar.top, None
    if query.similar.distinguish:
        filter_of = offers.offered(offers.SEARCHES, "distinguish")(store.settings)
    pairs = estimated(store, batch, pairs, order.needed, in_buckets and not query.exhaustive)
    if top is not None:
        limit = max(store.limits.query_best, min(top, _MAX_TOP) + 1)
        pairs = pairs.without_rest(limit, pairs.estimates)
    pairs = pairs._replace(similarities=pairs.estimates)
    pairs = pairs._replace(measured=order.values(pairs, exact=False))
    few = exact is None and len(batch) == 1 and len(pairs.query) <= _FEW_DOCUMENTS
    if query.similar.estimate or not store.settings.content:
        pass
    elif few and filter_of is None:
        scores = similarity.similarities(store, batch.stored[0], pairs.doc_ids[pairs.document])
        pairs = pairs._replace(similarities=scores, measured=scores)
    else:
        if exact is None:
            used, document = np.unique(pairs.document, return_inverse=True)
            pairs = pairs._replace(doc_ids=pairs.doc_ids[used], document=document)
            exact = exact_of(store, batch, pairs.doc_ids, len(pairs.query))
        pairs = _verified(store, top, pairs, order, exact, filter_of and filter_of(exact.contents))
    return order.ranked(pairs, top, query.similar.threshold or store.settings.threshold)


def _verified(
    store: StoreReader,
    top: int | None,
    pairs: QueryPairs,
    order: BySimilarity,
    exact: similarity.Exact,
    pair_filter: PairFilter | None,
) -> QueryPairs:
    """The pairs with exact values, but those that cannot be among the best.

    They are verified in the order of their estimates, and with `top` only as long as one of the
    rest can still be among the best.
    """
    if top is not None:
        pairs = order.ranked(pairs, None, 0)
    count = len(exact.same) - len(pairs.doc_ids)
    scores, values = np.zeros((2, len(pairs.query)))
    rank = np.arange(len(pairs.query)) - pairs.query.searchsorted(pairs.query)
    waiting, level = np.arange(len(rank)), order.level
    first = len(rank) if top is None else max(store.limits.verified_first, 2 * top)
    while len(waiting):
        now, waiting = waiting[rank[waiting] < first], waiting[rank[waiting] >= first]
        verified = pairs.chosen(now)
        documents, needed = verified.document + count, order.needed(verified) * (1 - 1e-9)
        similarities = exact.scores(verified.query, documents, needed)
        if pair_filter is not None:
            (similar,) = similarities.nonzero()
            kept = pair_filter.keep(verified.query[similar], documents[similar])
            similarities[similar[~kept]] = 0
        scores[now] = similarities
        values[now] = order.values(verified._replace(similarities=similarities), exact=True)
        if top is not None and len(waiting):
            best = first_of_each(pairs.query, top, -values)
            queries = pairs.query[best]
            last = best[np.arange(len(queries)) - queries.searchsorted(queries) == top - 1]
            level[pairs.query[last]] = np.maximum(level[pairs.query[last]], values[last])
            left = pairs.chosen(waiting)
            possible = left.estimates >= similarity.min_estimate(order.needed(left), store.settings)
            waiting = waiting[possible & (level[left.query] < order.highest)]
        first *= 4
    return pairs._replace(similarities=scores, measured=values)


def estimated(
    store: StoreReader,
    batch: QueryBatch,
    pairs: QueryPairs,
    needed: Callable[[QueryPairs], Shares],
    in_buckets: bool,
) -> QueryPairs:
    """The candidates that may be as similar as needed, with their estimates and bands.

    If they must be `in_buckets`, those that make the construction true.
    """
    settings, construction = store.settings, store.settings.construction
    parts: list[QueryPairs] = []
    for documents in chunks(len(pairs.doc_ids), store.limits.documents_read):
        signatures = store.signatures_of(pairs.doc_ids[documents])
        here = (pairs.document >= documents.start) & (pairs.document < documents.stop)
        (indices,) = here.nonzero()
        for part in chunks(len(indices), _QUERY_PAIRS):
            part_of_pairs = pairs.chosen(indices[part])
            query_lanes = batch.signed.signatures[part_of_pairs.query]
            agree = query_lanes == signatures[part_of_pairs.document - documents.start]
            shares = minhash.estimate(
                agree.sum(axis=1, dtype=np.uint16), settings.permutations, settings.lane_bits
            )
            part_of_pairs = part_of_pairs._replace(estimates=shares)
            kept = shares >= similarity.min_estimate(needed(part_of_pairs), settings)
            agree, part_of_pairs = agree[kept], part_of_pairs.chosen(kept)
            collided = constructions.collided_bands(agree, construction)
            part_of_pairs = part_of_pairs._replace(bands=collided.sum(axis=1))
            if construction.higher and in_buckets:
                part_of_pairs = part_of_pairs.chosen(constructions.evaluate(collided, construction))
            parts.append(part_of_pairs)
    if len(parts) < 2:
        return parts[0] if parts else pairs.chosen(np.arange(0))
    return QueryPairs(
        pairs.doc_ids, *map(np.concatenate, zip(*(columns[1:] for columns in parts), strict=True))
    )


def exact_of(
    store: StoreReader, batch: QueryBatch, doc_ids: IntArray, pairs: int | None
) -> similarity.Exact:
    """Exact similarities of n queries, by number from 0, and m documents, numbered from n on.

    Args:
        store: has the documents.
        batch: the queries.
        doc_ids: int64[m], the documents.
        pairs: how many are compared; None if that is unknown.
    """
    shingles, digests = store.sizes(doc_ids)
    query_digests = np.frombuffer(b"".join(batch.digests), dtype=digests.dtype)
    same = similarity.canonical_ids(np.append(query_digests, digests))
    contents = contents_of(store, batch, doc_ids)
    sizes = np.append(batch.signed.shingles, shingles)
    return similarity.Exact(contents, same, sizes, store, pairs)


def _matches(
    store: StoreReader, query: RankingOptions, batch: QueryBatch, pairs: QueryPairs
) -> Iterator[Match]:
    """The matches of all queries, with what is stored of their documents."""
    doc_ids = pairs.doc_ids[pairs.document]
    fields, is_exact = query.similar.fields, store.settings.content and not query.similar.estimate
    keys, texts, bytes_digests = store.identities(doc_ids)
    same_text, identical = _sameness(store, batch, pairs, texts, bytes_digests)
    columns: dict[str, Sequence[Any]] = {
        "key": keys,
        "similarity": pairs.similarities.tolist(),
        "exact": [is_exact] * len(doc_ids),
        "estimate": pairs.estimates.tolist(),
        "bands": pairs.bands.tolist(),
        "identical": identical,
        "same_text": same_text,
    }
    if query.containment:
        columns["containment"] = pairs.measured.tolist()
    if batch.stored and (measure := measure_of(store)) is not None:
        columns["weighted"], columns["weighted_share"] = measure.of_matches(batch, pairs).tolist()
    if fields:
        stored = store.metadata_of(doc_ids, fields)
        columns["metadata"] = [picked(row, fields) for row in stored]
    return objects_of(columns, Match)


def contents_of(
    store: StoreReader, batch: QueryBatch, doc_ids: IntArray
) -> Callable[[IntArray], list[str]]:
    """What gives the contents of n queries, by number from 0, and of documents, from n on.

    It holds nothing else: what shingles were made of must not keep these in memory.
    """
    stored, count = batch.stored, len(batch)

    def contents(numbers: IntArray) -> list[str]:
        of_queries, of_documents = numbers[numbers < count], numbers[numbers >= count] - count
        return [*(stored[i] for i in of_queries.tolist()), *store.contents(doc_ids[of_documents])]

    return contents


def _sameness(
    store: StoreReader,
    batch: QueryBatch,
    pairs: QueryPairs,
    text_digests: Sequence[bytes],
    bytes_digests: Sequence[str | None],
) -> tuple[list[bool], list[bool]]:
    """Which of c pairs have the same text, and which the same bytes, by the documents' digests."""
    same_text, identical = ([False] * len(pairs.query) for _ in range(2))
    if batch.digests and not store.settings.shingling.foreign:
        for pair, query in enumerate(pairs.query.tolist()):
            same_text[pair] = batch.digests[query] == text_digests[pair]
            if same_text[pair]:
                query_bytes = batch.files.get(query, batch.digests[query].hex())
                identical[pair] = query_bytes == bytes_digests[pair] is not None
    return same_text, identical
