"""Comparing band rows with those that signatures make, without holding either in memory.

The rows of a band are a set of pairs (bucket key, doc_id). Two sets are equal if the sums of the
hashes of their pairs are: different ones have equal sums by chance in 2^-64, with hashes that are
drawn anew each time, so that no file can be made to deceive. There is a sum for each band and each
of 1,024 parts of the documents; only parts that differ are then compared pair by pair.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

PARTS: Final = 1024
"""A document is in the part doc_id % 1024."""
MASK: Final = PARTS - 1


class Pairs:
    """The hash of pairs of a bucket key and a doc_id, drawn at random."""

    def __init__(self) -> None:
        self._constants = [np.uint64(secrets.randbits(64) | 1) for _ in range(5)]

    def hashes(self, bucket_keys: Integers, doc_ids: Integers) -> npt.NDArray[np.uint64]:
        """uint64 of the shape that the arguments have together."""
        a, b, c, d, e = self._constants
        x = bucket_keys.view(np.uint64) * a ^ (doc_ids.view(np.uint64) * b + c)
        x ^= x >> np.uint64(32)
        x *= d
        x ^= x >> np.uint64(29)
        x *= e
        x ^= x >> np.uint64(32)
        return x


class BandSums:
    """The sums for each band and part of the documents."""

    def __init__(self, bands: int, pairs: Pairs) -> None:
        self._pairs = pairs
        self._sums = np.zeros(bands * PARTS, dtype=np.uint64)

    def add_band(self, band_no: int, bucket_keys: Integers, doc_ids: Integers) -> None:
        """Add rows int64[n] of one band."""
        hashes = self._pairs.hashes(bucket_keys, doc_ids)
        np.add.at(self._sums, band_no * PARTS + (doc_ids & MASK), hashes)

    def add_documents(self, doc_ids: Integers, bucket_keys: Integers) -> None:
        """Add all rows of documents int64[n], bucket keys int64[n, bands]."""
        hashes = self._pairs.hashes(np.ascontiguousarray(bucket_keys), doc_ids[:, np.newaxis])
        first = np.arange(bucket_keys.shape[1]) * PARTS
        places = first + (doc_ids & MASK)[:, np.newaxis]
        np.add.at(self._sums, places.reshape(-1), hashes.reshape(-1))

    def differing(self, other: BandSums) -> dict[int, Integers]:
        """The bands that differ, and in each the parts that do."""
        places = np.flatnonzero(self._sums != other._sums)
        bands = places // PARTS
        return {band: places[bands == band] & MASK for band in np.unique(bands).tolist()}


def compare(
    wanted: tuple[Integers, Integers], stored: Iterator[tuple[Integers, Integers]]
) -> tuple[npt.NDArray[np.bool_], Integers]:
    """What is missing of the rows of a band, and what is there too much.

    Args:
        wanted: doc_ids int64[n], distinct and in order, and their bucket keys int64[n].
        stored: bucket keys int64[m] and doc_ids int64[m], some at a time.

    Returns:
        bool[n], the missing ones; and int64[x, 2], bucket keys and doc_ids that are too much.
    """
    doc_ids, keys = wanted
    missing = np.ones(len(doc_ids), dtype=np.bool_)
    surplus = [np.empty((0, 2), dtype=np.int64)]
    for stored_keys, stored_ids in stored:
        places = np.searchsorted(doc_ids, stored_ids)
        inside = places < len(doc_ids)
        right = np.zeros(len(stored_ids), dtype=np.bool_)
        at = places[inside]
        right[inside] = (doc_ids[at] == stored_ids[inside]) & (keys[at] == stored_keys[inside])
        missing[places[right]] = False
        surplus.append(np.column_stack([stored_keys[~right], stored_ids[~right]]))
    return missing, np.concatenate(surplus)
