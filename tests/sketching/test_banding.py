"""Bucket keys: equal for equal bands, and only for them."""

from __future__ import annotations

import numpy as np
import oracles
from hypothesis import given
from hypothesis import strategies as st

from lshdb.shingling.arrays import Lanes
from lshdb.sketching.banding import bucket_codes, bucket_keys
from lshdb.sketching.constructions import Construction

CONSTRUCTIONS = st.builds(Construction, rows=st.integers(1, 9), bands=st.integers(1, 9))
SEEDS = st.integers(0, (1 << 63) - 1)


def random_signatures(documents: int, lanes: int, seed: int = 7, bits: int = 16) -> Lanes:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << bits, size=(documents, lanes), dtype=f"u{bits // 8}")


@given(CONSTRUCTIONS, SEEDS, st.integers(0, 5), st.integers(0, 99), st.sampled_from([16, 32]))
def test_keys_are_those_of_the_definition(
    construction: Construction, seed: int, documents: int, unused: int, bits: int
) -> None:
    rows, bands = construction.rows, construction.bands
    signatures = random_signatures(documents, construction.lanes + unused, bits=bits)
    keys = bucket_keys(signatures, construction, seed)
    assert keys.dtype == np.int64
    assert keys.shape == (documents, bands)
    for lanes, own in zip(signatures.tolist(), keys.tolist(), strict=True):
        assert own == oracles.bucket_keys(lanes, f"and {rows}, or {bands}", seed)
        for band, key in enumerate(own):
            code = bucket_codes(band, np.array([key]))
            assert code.tolist() == [(band << 48) + key]
