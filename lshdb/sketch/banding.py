"""Banding: a signature is cut into bands of rows, and each band is hashed to a bucket key."""

import numpy as np

from lshdb.sketch.constructions import Construction
from lshdb.text import arrays
from lshdb.text.hashing import constants

BucketKeys = arrays.IntArray

_32 = np.uint64(32)


def bucket_keys(signatures: arrays.Lanes, construction: Construction, seed: int) -> BucketKeys:
    """The bucket key of each band of each signature.

    Band i takes lanes i r to (i+1) r - 1. Its key is the mixed sum of the lanes, each times its own
    constant: equal bands have equal keys, different ones with probability 2^-48, and equal lanes
    in different bands have different keys.

    48 bits are enough: among 100 million documents a query then finds a false candidate by a
    collision of keys once in 235,000 times (12 bands x 10^8 / 2^48), and all pairs, 5 x 10^15, meet
    213 of them, each dropped when it is verified. SQLite stores such a key in six bytes, not eight.
    32 bits would not be enough: they would save 24 bytes a document, a twentieth, and every fourth
    query would read a false candidate (12 x 10^8 / 2^32 = 0.28), all pairs 14 million of them.

    Args:
        signatures: [n, k], k at least the construction's lanes; further lanes are not used.
        construction: the number of bands b and of rows r.
        seed: the seed of the constants.

    Returns:
        int64[n, b], from -2^47 to below 2^47, as SQLite's integers are signed.
    """
    rows, bands = construction.rows, construction.bands
    factors = constants(seed, "bands", rows * bands).reshape(bands, rows)
    lanes = signatures[:, : rows * bands].reshape(len(signatures), bands, rows)
    keys = np.zeros((len(signatures), bands), dtype=np.uint64)
    for row in range(rows):
        keys += lanes[:, :, row] * factors[:, row]
    keys ^= keys >> _32
    keys *= constants(seed, "bucket keys", 1)[0]
    # In place: the array is as large as the signatures.
    signed = keys.view(np.int64)
    signed >>= 16
    return signed


def bucket_codes(keys: BucketKeys) -> BucketKeys:
    """One number for each band and its bucket key of 48 bits, [.., b], in the order of both."""
    codes: BucketKeys = (np.arange(keys.shape[-1]) << 48) + keys
    return codes
