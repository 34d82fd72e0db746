"""Bucket keys: equal for equal bands, and only for them; collisions follow the S-curve."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import oracles
import pytest
from helpers import pairs_of_hashes
from hypothesis import given
from hypothesis import strategies as st

from lshdb.model import Construction, Shingles, SketchName
from lshdb.sketching.banding import bucket_keys
from lshdb.sketching.constructions import candidate_probability
from lshdb.sketching.minhash import make_sketch

Signatures = npt.NDArray[np.uint32]

CONSTRUCTIONS = st.builds(Construction, rows=st.integers(1, 9), bands=st.integers(1, 9))
SEEDS = st.integers(0, (1 << 63) - 1)


def random_signatures(documents: int, lanes: int, seed: int = 7) -> Signatures:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << 32, size=(documents, lanes), dtype=np.uint32)


def key_by_definition(lanes: list[int], band: int, rows: int, bands: int, seed: int) -> int:
    """The key of one band in plain integers, as a signed one."""
    factors = oracles.constants(seed, "bands", rows * bands)[band * rows :]
    (multiplier,) = oracles.constants(seed, "bucket keys", 1)
    key = sum(lane * factor for lane, factor in zip(lanes, factors, strict=False)) % (1 << 64)
    key = (key ^ (key >> 32)) * multiplier % (1 << 64)
    return key - (1 << 64) if key >> 63 else key


@given(CONSTRUCTIONS, SEEDS, st.integers(0, 5), st.integers(0, 99))
def test_keys_are_those_of_the_definition(
    construction: Construction, seed: int, documents: int, unused: int
) -> None:
    rows, bands = construction.rows, construction.bands
    signatures = random_signatures(documents, construction.lanes + unused)
    keys = bucket_keys(signatures, construction, seed)
    assert keys.dtype == np.int64
    assert keys.shape == (documents, bands)
    for lanes, own in zip(signatures.tolist(), keys.tolist(), strict=True):
        for band, key in enumerate(own):
            cut = lanes[band * rows : (band + 1) * rows]
            assert key == key_by_definition(cut, band, rows, bands, seed)


def same_bucket(sketch: SketchName, ones: Shingles, others: Shingles) -> npt.NDArray[np.bool_]:
    """In which bands pairs of sets share a bucket, bool[pairs, bands]."""
    signatures = (make_sketch(sketch, 128, 1).signatures(each) for each in (ones, others))
    keys = [bucket_keys(each, Construction(rows=6, bands=16), 1) for each in signatures]
    shared: npt.NDArray[np.bool_] = keys[0] == keys[1]
    return shared


@pytest.mark.parametrize("sketch", ["fast", "minhash"])
@pytest.mark.parametrize("percent", [40, 50, 60, 65, 70, 75, 80, 90])
def test_collisions_follow_the_s_curve(sketch: SketchName, percent: int) -> None:
    """The share of pairs that become candidates is a binomial mean.

    With N pairs its standard error is sqrt(p (1 - p) / N); by Bernstein's inequality it strays
    by more than 4.5 of them, plus 4.5^2 / 6N for curves near 0 or 1, in fewer than 1 of 10,000
    draws. The draws are fixed by the seed.
    """
    pairs, union = 2_000, 400
    ones, others = pairs_of_hashes(percent, pairs, union * percent // 100, union)
    collided = same_bucket(sketch, ones, others).any(axis=1).mean()
    curve = candidate_probability(percent / 100, Construction(rows=6, bands=16))
    sigmas = 4.5
    bound = sigmas * math.sqrt(curve * (1 - curve) / pairs) + sigmas**2 / (6 * pairs)
    assert abs(collided - curve) < bound
    one_off = candidate_probability(percent / 100, Construction(rows=5, bands=16))
    assert percent != 60 or abs(collided - one_off) > bound, "the bound separates 5 rows from 6"
