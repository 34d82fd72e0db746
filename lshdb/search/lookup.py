"""The one place that looks up documents by codes: buckets, fingerprints or rare words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from lshdb.shingling.arrays import IntArray, Lanes, expand_ranges, sizes_of
from lshdb.sketching import banding, constructions
from lshdb.store.lookups import StoreReader


class Members(NamedTuple):
    """The documents that have some of n codes.

    Attributes:
        code: int64[r], the index of a code, ascending.
        doc_ids: int64[r], of a document that has it.
    """

    code: IntArray
    doc_ids: IntArray


class IndexCodes(Protocol):
    """Codes of an index, all of one kind."""

    def members(
        self, reader: StoreReader, first: int | None, max_rows: int | None
    ) -> tuple[IntArray, IntArray]:
        """See `members`: the fields of `Members`."""


@dataclass(frozen=True, slots=True)
class BucketCodes:
    """Buckets, by int64[n] as lshdb.sketching.banding.bucket_codes gives them."""

    codes: IntArray

    def members(
        self, reader: StoreReader, first: int | None, max_rows: int | None
    ) -> tuple[IntArray, IntArray]:
        """See IndexCodes."""
        return reader.documents_of_buckets(self.codes, first, max_rows)


@dataclass(frozen=True, slots=True)
class FingerprintCodes:
    """Fingerprints of an index of passages, by their values int64[n]."""

    values: IntArray

    def members(
        self, reader: StoreReader, first: int | None, max_rows: int | None
    ) -> tuple[IntArray, IntArray]:
        """See IndexCodes."""
        code, doc_ids = reader.documents_of_fingerprints(self.values, first)
        return code[:max_rows], doc_ids[:max_rows]


@dataclass(frozen=True, slots=True)
class RareWords:
    """Terms of an index of rare words, and the doc_id after which documents are looked for."""

    terms: Sequence[str]
    after: int = 0

    def members(
        self, reader: StoreReader, first: int | None, max_rows: int | None
    ) -> tuple[IntArray, IntArray]:
        """See IndexCodes; nobody wants a part of these."""
        assert first is None
        assert max_rows is None
        return reader.documents_of_terms(self.terms, self.after)


def members(
    reader: StoreReader, codes: IndexCodes, first: int | None = None, max_rows: int | None = None
) -> Members:
    """The documents that have some codes.

    Args:
        reader: the database.
        codes: n of one kind.
        first: how many documents of each code are read, those added first; None for all.
        max_rows: how many rows are read in all; None for all of them.
    """
    return Members(*codes.members(reader, first, max_rows))


class BucketMembers(NamedTuple):
    """The documents in the buckets of n signatures, one after another.

    Attributes:
        sizes: int64[n, b], how many were read of the bucket in each band.
        doc_ids: int64[r], by signature, then by band, then ascending.
    """

    sizes: IntArray
    doc_ids: IntArray

    def origins(self) -> tuple[IntArray, IntArray]:
        """The signature and the band of each row, int64[r] both."""
        count, bands = self.sizes.shape
        return np.divmod(np.repeat(np.arange(count * bands), self.sizes.ravel()), bands)

    def ranks(self) -> IntArray:
        """The index of each row in its bucket, from 0: int64[r]."""
        sizes = self.sizes.ravel()
        return expand_ranges(np.zeros_like(sizes), sizes)


def buckets_of(store: StoreReader, signature: Lanes) -> banding.BucketKeys:
    """The bucket keys int64[b] of a signature [k]."""
    settings = store.settings
    keys: banding.BucketKeys = banding.bucket_keys(
        signature[np.newaxis], settings.construction, settings.seed
    )[0]
    return keys


def bucket_members(
    store: StoreReader, keys: banding.BucketKeys, first: int | None = None
) -> BucketMembers:
    """The documents in the buckets of n signatures.

    Args:
        store: the database.
        keys: int64[n, b], of the signatures. A bucket that several have is read once.
        first: how many documents of each bucket are read, those added first; None for all.
    """
    members_read = bucket_members_up_to(store, keys, None, first)
    assert members_read is not None
    return members_read


def bucket_members_up_to(
    store: StoreReader, keys: banding.BucketKeys, max_rows: int | None, first: int | None = None
) -> BucketMembers | None:
    """The same, or None if there are more rows than `max_rows`."""
    buckets = banding.bucket_codes(np.arange(keys.shape[1]), keys).ravel()
    if len(keys) == 1 and max_rows is None:
        bucket, doc_ids = members(store, BucketCodes(buckets), first)
        return BucketMembers(
            np.bincount(bucket, minlength=len(buckets)).reshape(keys.shape), doc_ids
        )
    inverse = np.arange(len(buckets))
    if len(keys) > 1:
        buckets, inverse = np.unique(buckets, return_inverse=True)
    read = None if max_rows is None else max_rows + 1
    bucket, doc_ids = members(store, BucketCodes(buckets), first, read)
    begins = bucket.searchsorted(np.arange(len(buckets) + 1))
    sizes = sizes_of(begins)[inverse]
    if max_rows is not None and (len(bucket) > max_rows or sizes.sum() > max_rows):
        return None
    if len(keys) > 1:
        doc_ids = doc_ids[expand_ranges(begins[inverse], sizes)]
    return BucketMembers(sizes.reshape(keys.shape), doc_ids)


def candidate_ids(store: StoreReader, signature: Lanes) -> IntArray:
    """Documents that share a bucket with a signature, or enough of them: int64[c], ascending."""
    in_buckets = bucket_members(store, buckets_of(store, signature)[np.newaxis])
    _, bands = in_buckets.origins()
    return constructions.candidates_among(bands, in_buckets.doc_ids, store.settings.construction)
