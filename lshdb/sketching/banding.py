"""Banding: a signature is cut into bands of rows, and each band is hashed to a bucket key."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.model import Construction
from lshdb.shingling.hashing import constants

BucketKeys: TypeAlias = npt.NDArray[np.int64]

_32 = np.uint64(32)


def bucket_keys(
    signatures: npt.NDArray[np.uint32], construction: Construction, seed: int
) -> BucketKeys:
    """The bucket key of each band of each signature.

    Band i takes lanes i r to (i+1) r - 1. Its key is the mixed sum of the lanes, each times its own
    constant: equal bands have equal keys, different ones with probability about 2^-60, and equal
    lanes in different bands have different keys.

    Args:
        signatures: uint32[n, k], k at least the construction's lanes; further lanes are not used.
        construction: the number of bands b and of rows r.
        seed: the seed of the constants.

    Returns:
        int64[n, b]: as SQLite's integers are signed, keys are read as signed.
    """
    rows, bands = construction.rows, construction.bands
    factors = constants(seed, "bands", rows * bands).reshape(bands, rows)
    lanes = signatures[:, : rows * bands].reshape(len(signatures), bands, rows)
    keys = np.zeros((len(signatures), bands), dtype=np.uint64)
    for row in range(rows):
        keys += lanes[:, :, row] * factors[:, row]
    keys ^= keys >> _32
    keys *= constants(seed, "bucket keys", 1)[0]
    return keys.view(np.int64)
