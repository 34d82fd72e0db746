"""The documents in the buckets of signatures."""

from typing import NamedTuple

import numpy as np

from lshdb.sketch import banding, constructions
from lshdb.store.lookups import StoreReader
from lshdb.text import arrays


class BucketMembers(NamedTuple):
    """The documents in the buckets of n signatures, one after another.

    Attributes:
        sizes: int64[n, b], how many were read of the bucket in each band.
        doc_ids: int64[r], by signature, then by band, then ascending.
    """

    sizes: arrays.IntArray
    doc_ids: arrays.IntArray

    def origins(self) -> tuple[arrays.IntArray, arrays.IntArray]:
        """The signature and the band of each row, int64[r] both."""
        count, bands = self.sizes.shape
        return np.divmod(np.repeat(np.arange(count * bands), self.sizes.ravel()), bands)


def buckets_of(store: StoreReader, signature: arrays.Lanes) -> banding.BucketKeys:
    """The bucket keys int64[b] of a signature [k]."""
    settings = store.settings
    keys: banding.BucketKeys = banding.bucket_keys(
        signature[np.newaxis], settings.construction, settings.seed
    )[0]
    return keys


class TooManyAtOnce(Exception):
    """Several queries, whose candidates are too many to be in memory together."""


def bucket_members(
    store: StoreReader,
    keys: banding.BucketKeys,
    first: int | None = None,
    max_rows: int | None = None,
) -> BucketMembers:
    """The documents in the buckets of n signatures.

    Args:
        store: the database.
        keys: int64[n, b], of the signatures. A bucket that several have is read once.
        first: how many documents of each bucket are read, those added first; None for all.
        max_rows: how many rows may be read; None for any number.

    Raises:
        TooManyAtOnce: there are more rows.
    """
    buckets, several = banding.bucket_codes(keys).ravel(), len(keys) > 1
    if several:  # those of one signature are in order, and differ
        buckets, inverse = np.unique(buckets, return_inverse=True)
    read = None if max_rows is None else max_rows + 1
    bucket, doc_ids = store.documents_of_buckets(buckets, first, read)
    begins = bucket.searchsorted(np.arange(len(buckets) + 1))
    sizes = arrays.sizes_of(begins)
    if several:
        sizes = sizes[inverse]
    if max_rows is not None and (len(bucket) > max_rows or sizes.sum() > max_rows):
        raise TooManyAtOnce
    if several:
        doc_ids = doc_ids[arrays.expand_ranges(begins[inverse], sizes)]
    return BucketMembers(sizes.reshape(keys.shape), doc_ids)


def candidate_ids(store: StoreReader, signature: arrays.Lanes) -> arrays.IntArray:
    """Documents that share a bucket with a signature, or enough of them: int64[c], ascending."""
    in_buckets = bucket_members(store, buckets_of(store, signature)[np.newaxis])
    _, bands = in_buckets.origins()
    return constructions.candidates_among(bands, in_buckets.doc_ids, store.settings.construction)
